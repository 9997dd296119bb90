"""The truth of a job from its program and its own log: what each operation needed, how long each rank waited, and what a repaired fault
would have saved. An operation ends when what it needs has begun and its transfer is over. Nothing of podprof is read here. Used by
scripts/truth.

    start = end of the operation before + local work          end = max(start, starts of its needs) + transfer
"""
import os
import struct
from collections import defaultdict
from statistics import median

LOCAL = {"work", "step", "split", "graph", "inter", "window", "send_init", "recv_init", "allreduce_init"}  # no operations of the steps
ENDS = {"waitall", "waitany", "waiteach", "testsome", "test"}
TO_ALL = {"bcast", "scatter"}
TO_ROOT = {"reduce", "gather"}
BEFORE = {"scan", "exscan"}
INLINE, EAGER = 256, 60_000  # bytes: what is larger leaves the sender only when the receiver is inside MPI; on one host, and between hosts
STALL = 500_000  # ns that a sleep or a transfer took too long: from there on they make the rank late


def read_logs(program, place):
    """Each operation's start and end, ns; False if a rank wrote no log."""
    for r, ops in enumerate(program.ops):
        try:
            with open(os.path.join(place, f"log.{r}"), "rb") as f:
                times = f.read()
        except OSError:
            return False
        if len(times) != 16 * len(ops):
            return False
        for o, (o.start, o.end) in zip(ops, struct.iter_unpack("qq", times)):
            pass
    return True


def below(rank, above):
    """Is `above` on the way from rank to root 0 in MPI_Reduce's binomial tree, where a parent has the lowest bit cleared?"""
    while rank:
        rank &= rank - 1
        if rank == above:
            return True
    return False


def sources(rank):
    """The ranks through which rank gets the data of root 0 in MPI_Bcast's binomial tree, where a parent has the highest bit cleared."""
    while rank:
        rank ^= 1 << (rank.bit_length() - 1)
        yield rank


class Schedule:
    def __init__(self, program):
        self.program = program
        self.needs = defaultdict(list)
        self.collectives()
        self.persistent()
        self.messages()
        self.one_sided()
        self.nodes = [o for ops in program.ops for o in ops if o.kind not in LOCAL]
        for n in self.nodes:  # what had not begun at its end was no need
            self.needs[n] = [m for m in self.needs[n] if m is not n and m.start <= n.end]
        self.gaps()

    def of_group(self, kinds):
        """(communicator, its ranks in order, the operations of one call on each)."""
        p = self.program
        for number, groups in p.members.items():
            for group in groups:
                calls = [[o for o in p.ops[r] if o.kind in kinds and o.args[0] == number] for r in group]
                for call in zip(*calls):
                    yield group, call

    def collectives(self):
        p = self.program
        kinds = {"allreduce", "barrier", "alltoall", "allgather", "reduce_scatter", "neighbor", "iallreduce", "ibarrier"}
        for group, call in self.of_group(kinds | TO_ALL | TO_ROOT | BEFORE):
            kind = call[0].kind
            if kind[0] == "i":
                self.late_progress(call)
                continue
            for i, o in enumerate(call):
                for j, m in enumerate(call):
                    if kind in TO_ALL:
                        need = j == 0 or (p.tree.get(kind) == "binomial" and j in sources(i))
                    elif kind in TO_ROOT:
                        need = i == 0 or (p.tree.get(kind) == "binomial" and below(j, i))
                    elif kind in BEFORE:
                        need = j < i
                    else:
                        need = kind != "neighbor" or j in p.beside(i)
                    if need and i != j:
                        self.needs[o].append(m)

    def persistent(self):
        """Each Wait for a started collective needs all ranks' starts."""
        p = self.program
        if not any(o.kind == "allreduce_init" for o in p.ops[0]):
            return
        starts, ends = ([[o for o in ops if o.kind == kind] for ops in p.ops] for kind in ("startall", "waitkept"))
        for started, ended in zip(zip(*starts), zip(*ends)):
            for o in ended:
                self.needs[o] += [m for m in started if m.rank != o.rank]

    def completing(self, o):
        """The operation that completes what o began."""
        ops = self.program.ops[o.rank]
        return next(m for m in ops[ops.index(o):] if m.kind in ENDS)

    def late_progress(self, call):
        """A reduction to rank 0 and a broadcast from it by trees, which go on only while their inner ranks are inside MPI."""
        ends = [self.completing(o) for o in call]
        for i, n in enumerate(ends):
            through = set(sources(i)) | {r for r in range(0, len(call), 2) if r + 1 < len(call)} | {0}
            self.needs[n] += [o for j, o in enumerate(call) if j != i] + [ends[j] for j in through if j != i]

    def messages(self):
        """Receives need the start of the send; what is not small needs the receiver, too."""
        sent, received = defaultdict(list), defaultdict(list)
        for r, ops in enumerate(self.program.ops):
            pending, kept = [], []
            for o in ops:
                if o.kind in ("isend", "irecv"):
                    pending.append(o)
                elif o.kind in ("send_init", "recv_init"):
                    kept.append(o)
                elif o.kind == "startall":
                    began = o
                elif o.kind == "waitkept":
                    for k in kept:
                        self.side(sent, received, k, o, began)
                elif o.kind in ENDS:
                    for k in pending:
                        self.side(sent, received, k, o, k)
                    pending = []
                elif o.kind == "collect":
                    for source in set(range(self.program.P)) - {r}:
                        received[source, r, o.args[1]].append((o, o, o, o.args[2]))
                elif o.kind in ("send", "recv", "probe", "sendrecv", "sendrecv_replace"):
                    self.side(sent, received, o, o, o)
        for key, ends in received.items():
            for (m, done, _, size), (n, took, posted, _) in zip(sent[key], ends):
                self.needs[took].append(m)
                if size > (INLINE if (done.rank - took.rank) % self.program.hosts == 0 else EAGER):
                    self.needs[done] += [posted, took] + self.enters(took.rank, done.start)

    def enters(self, rank, time):
        """The first operation of the rank that is not over by then: it is inside MPI from its start on."""
        return [o for o in self.program.ops[rank] if o.kind not in LOCAL and o.end > time][:1]

    @staticmethod
    def side(sent, received, o, end, post):
        """`o` says peer, tag and bytes; `post` begins and `end` completes it."""
        if o.kind == "probe":
            return
        peer, tag, size = o.args[:3]
        if "send" in o.kind:
            sent[o.rank, peer, tag].append((post, end, post, size))
        if "recv" in o.kind:
            source = o.args[3] if o.kind.startswith("sendrecv") else peer
            received[source, o.rank, tag].append((post, end, post, size))

    def one_sided(self):
        p = self.program
        by = defaultdict(list)
        for ops in p.ops:
            count = defaultdict(int)
            for i, o in enumerate(ops):
                if o.kind in ("fence", "post", "access", "complete", "exposed"):
                    by[o.kind, count[o.kind]].append(o)
                    count[o.kind] += 1
                if o.kind == "probe":  # the send that its Recv, the next operation, takes
                    self.needs[o] += self.needs[ops[i + 1]]
        for (kind, k), calls in by.items():
            for o in calls:
                on = {"fence": "fence", "access": "post", "complete": "post", "exposed": "complete"}.get(kind)
                self.needs[o] += [m for m in by.get((on, k), ()) if kind == "fence" or m.rank in p.beside(o.rank)]
        holders = sorted(((o, ops[i + 2]) for ops in p.ops for i, o in enumerate(ops) if o.kind == "lock"), key=lambda h: h[0].end)
        for (_, released), (taken, _) in zip(holders, holders[1:]):
            self.needs[taken].append(released)

    def gaps(self):
        """Local work before each operation: all of it, of it the fault's, and what the machine added: sleeps that took too long, and the
        end of the operation before, if its transfer took longer than usual for its kind, while the rank had no core."""
        self.gap, self.extra, self.over, self.began = {}, {}, {}, {}
        usual = defaultdict(list)
        for n in self.nodes:
            usual[n.kind].append(n.end - min(self.ready(n), n.end))
        self.usual = usual = {k: median(v) for k, v in usual.items()}
        for ops in self.program.ops:
            last, extra, over = None, 0, 0
            self.began[ops[0].rank] = ops[0].start
            for o in ops:
                if o.kind in LOCAL:
                    extra += o.extra
                    over += max(0, o.end - o.start - o.base - o.extra - STALL) if o.kind == "work" else 0
                    continue
                self.gap[o], self.extra[o], self.over[o] = o.start - (last.end if last else self.began[o.rank]), extra, over
                last, extra, over = o, 0, max(0, o.end - min(self.ready(o), o.end) - usual[o.kind] - STALL)

    def ready(self, n):
        return max([n.start] + [m.start for m in self.needs[n]])

    def wait(self):
        """(step, rank) -> ns."""
        cells = defaultdict(int)
        for n in self.nodes:
            cells[n.step, n.rank] += min(self.ready(n), n.end) - n.start
        return cells

    def late(self):
        """rank -> ns by which it was late in all: the fault, and the machine's."""
        sums = defaultdict(int)
        for n in self.nodes:
            if n.step >= 0:
                sums[n.rank] += self.extra[n] + self.over[n]
        return sums

    def replay(self, less, quick=(), is_ideal=False):
        """(ns of a step, ns of all waiting), where less(operation) ns of the local work before it are gone, and transfers of the ranks in
        `quick` take no longer than usual; on an ideal network none takes any time."""
        events = sorted([(n.start, 0, n) for n in self.nodes] + [(n.end, 1, n) for n in self.nodes], key=lambda e: e[:2])
        start, end, last, waited = {}, {}, dict(self.began), 0
        for _, is_end, n in events:
            if is_end:
                transfer = n.end - min(self.ready(n), n.end)
                if n.rank in quick:
                    transfer = min(transfer, self.usual[n.kind])
                if is_ideal:
                    transfer = 0
                ready = max([start[n]] + [start[m] for m in self.needs[n]])
                waited += ready - start[n]
                last[n.rank] = end[n] = ready + transfer
            else:
                start[n] = last[n.rank] + max(0, self.gap[n] - less(n))
        first = min(o.start for ops in self.program.ops for o in ops if o.kind == "step")
        return (max(last.values()) - first) / self.program.steps, waited

    def mean_step(self, repaired=()):
        """ns of a step, if the ranks in `repaired` had no fault."""
        return self.replay(lambda n: self.extra[n] if n.rank in repaired else 0)[0]

    def efficiency(self):
        """Parallel efficiency, load balance and transfer efficiency after POP: local work of the ranks, all steps, an ideal network."""
        step, useful = self.mean_step(), defaultdict(int)
        for n in self.nodes:
            if n.step >= 0:
                useful[n.rank] += self.gap[n] / self.program.steps
        mean = sum(useful.values()) / self.program.P
        return mean / step, mean / max(useful.values()), max(self.replay(lambda n: 0, is_ideal=True)[0], *useful.values()) / step

    def part_of(self, ranks):
        """The part of all waiting that would be gone if these ranks were never late."""
        whole = self.replay(lambda n: 0)[1]
        return 1 - self.replay(lambda n: self.extra[n] + self.over[n] if n.rank in ranks else 0)[1] / whole if whole else 0.0
