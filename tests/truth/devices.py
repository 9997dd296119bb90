"""Programs and truth of jobs on devices: a stream runs its kernels one after the other, and the kernel of a collective ends on all ranks when
the last rank's has started and its transfer is over. Times of kernels come from the stand-in of the driver, those of the host from the job.
Used by scripts/truth."""
import os
import statistics
from collections import defaultdict

from schedule import STALL

COMPUTE, COMM = 7, 13  # streams
COUNT = 16 << 20  # elements of 4 bytes
LAUNCH_NS = 4000
BUS = {  # times the bytes of one rank's part
    "nccl.allreduce": ("ncclAllReduce", lambda n: 2 * (n - 1) / n),
    "nccl.allgather": ("ncclAllGather", lambda n: n - 1),
    "nccl.reducescatter": ("ncclReduceScatter", lambda n: n - 1),
    "nccl.broadcast": ("ncclBroadcast", lambda n: 1),
}
BUSBW_RIGHT, BUSBW_ACCEPTABLE = 0.05, 0.10


# ---- patterns -------------------------------------------------------------------------------------------------------------
def nccl(p, host_late=False, kinds=("nccl.allreduce",)):
    """Forward and backward, the collectives of the gradients, the optimiser; the host waits for the device."""
    p.each("device")
    for _ in p.each_step():
        p.compute(1.0 if host_late else 0.05, host_late)
        for r in range(p.P):
            p.kernel(r, COMPUTE, 0.9 if not host_late else 0.1, not host_late)
            for kind in kinds:
                p.op(r, kind, COUNT, COMPUTE)
            p.kernel(r, COMPUTE, 0.02, False)
            p.op(r, "sync", COMPUTE)


def overlap(p, buckets=4, layers=1):
    """Each bucket's collective on a stream of its own, while the layers of the next bucket are computed."""
    p.each("device")
    for _ in p.each_step():
        p.compute(0.05, False)
        for r in range(p.P):
            p.kernel(r, COMPUTE, 0.25, False)
            for _ in range(buckets):
                for _ in range(layers):
                    p.kernel(r, COMPUTE, 0.7 / buckets / layers, True, 1.0 / buckets / layers)
                p.op(r, "streamwait", COMM, COMPUTE)
                p.op(r, "nccl.allreduce", COUNT // buckets, COMM)
            p.op(r, "streamwait", COMPUTE, COMM)
            p.kernel(r, COMPUTE, 0.02, False)
            p.op(r, "sync", COMPUTE)


def pipeline(p, parts=4):
    """A stage a GPU, parts of a batch one after the other, a collective at the end."""
    p.each("device")
    for _ in p.each_step():
        for r in range(p.P):
            for _ in range(parts):
                if r:
                    p.op(r, "nccl.recv", COUNT // 64, COMPUTE, r - 1)
                p.kernel(r, COMPUTE, 0.9 / parts, True, 1.0 / parts)
                if r < p.P - 1:
                    p.op(r, "nccl.send", COUNT // 64, COMPUTE, r + 1)
            p.op(r, "nccl.allreduce", COUNT // 16, COMPUTE)
            p.op(r, "sync", COMPUTE)


def exchange(p):
    """With the ranks beside, sends and receives in one group, then a collective of all every fourth step."""
    p.each("device")
    for s in p.each_step():
        p.compute(0.05, False)
        for r in range(p.P):
            p.kernel(r, COMPUTE, 0.9)
            p.op(r, "nccl.exchange", COUNT // 64, COMPUTE, *p.beside(r))
            if s % 4 == 3:
                p.op(r, "nccl.allreduce", COUNT // 16, COMPUTE)
            p.op(r, "sync", COMPUTE)


def sharded(p, layers=4):
    """Fully sharded: each layer's parameters are gathered on one stream while the layer before is computed; backward its gradients are scattered
    on another one."""
    gather, scatter = COMM, COMM + 1
    p.each("device")
    for _ in p.each_step():
        p.compute(0.05, False)
        for r in range(p.P):
            for _ in range(2):
                p.op(r, "nccl.allgather", COUNT // layers // p.P, gather)
            for layer in range(layers):
                p.op(r, "streamwait", COMPUTE, gather)
                if layer < layers - 2:
                    p.op(r, "nccl.allgather", COUNT // layers // p.P, gather)
                p.kernel(r, COMPUTE, 0.3 / layers, True, 1.0 / layers)
            for layer in range(layers):
                p.kernel(r, COMPUTE, 0.6 / layers, False)
                p.op(r, "streamwait", scatter, COMPUTE)
                p.op(r, "nccl.reducescatter", COUNT // layers // p.P, scatter)
            p.op(r, "streamwait", COMPUTE, scatter)
            p.kernel(r, COMPUTE, 0.02, False)
            p.op(r, "sync", COMPUTE)


PATTERNS = {
    "nccl.sharded": sharded,
    "nccl": nccl,
    "nccl.host": lambda p: nccl(p, host_late=True),
    "nccl.zero": lambda p: nccl(p, kinds=("nccl.reducescatter", "nccl.allgather")),
    "nccl.overlap": overlap,
    "nccl.layers": lambda p: overlap(p, layers=8),
    "nccl.pipeline": pipeline,
    "nccl.exchange": exchange,
}


def is_launch(o):
    return o.kind == "kernel" or o.kind.startswith("nccl.")


# ---- truth ----------------------------------------------------------------------------------------------------------------
class Rank:
    """Where a rank is in a replay: its host's time and next operation, its streams' kernels that wait, and their last ends."""

    def __init__(self, ops):
        self.ops, self.next, self.time = ops, 0, ops[0].start
        self.queue, self.ended, self.waits = defaultdict(list), defaultdict(list), {}
        self.free, self.measured, self.launched = defaultdict(int), defaultdict(int), defaultdict(int)


class Schedule:
    def __init__(self, program, place):
        self.program = program
        for r, ops in enumerate(program.ops):
            kernels, number = self.kernels(os.path.join(place, f"kernels.{r}")), 0
            for o in ops:
                number += is_launch(o) or o.kind == "sync"
                o.kernel = kernels[number] if is_launch(o) else None
        self.calls = list(zip(*([o for o in ops if o.kind in BUS] for ops in program.ops)))
        self.extra = {o: o.extra for ops in program.ops for o in ops if o.extra}
        self.needs = {o: c for c in self.calls + self.messages() for o in c}  # whose kernels have to run, its own included
        for call in zip(*([o for o in ops if o.kind == "nccl.exchange"] for ops in program.ops)):
            for o in call:
                self.needs[o] = [o] + [call[r] for r in program.beside(o.rank)]

    @staticmethod
    def kernels(path):
        with open(path, encoding="ascii") as f:
            rows = [[int(x) for x in line.split()] for line in f]
        return {number: (called, start, end) for number, called, start, end in rows}

    def messages(self):
        """Pairs of a send and its receive, whose kernels need each other."""
        sides = defaultdict(lambda: ([], []))
        for ops in self.program.ops:
            for o in ops:
                if o.kind == "nccl.send":
                    sides[o.rank, o.args[2]][0].append(o)
                elif o.kind == "nccl.recv":
                    sides[o.args[2], o.rank][1].append(o)
        return [pair for sent, received in sides.values() for pair in zip(sent, received)]

    # ---- what was measured ----
    def late(self):
        """rank -> ns by which it was late in all: the fault, and the machine's."""
        sums = defaultdict(int)
        for ops in self.program.ops:
            last = ops[0].start
            for o in ops:
                sums[o.rank] += o.extra + max(0, o.start - last - STALL)
                if o.kind == "work":
                    sums[o.rank] += max(0, o.end - o.start - o.base - o.extra - STALL)
                last = o.end
        return sums

    def wait(self):
        """(step, rank) -> ns of waiting in kernels of collectives that no other kernel of the rank hides."""
        return self.exposed({o: o.kernel[1:] for ops in self.program.ops for o in ops if o.kernel})

    def exposed(self, times):
        cells = defaultdict(int)
        computing = defaultdict(list)
        for o, (start, end) in times.items():
            if o.kind == "kernel":
                computing[o.rank].append((start, end))
        for o, needed in self.needs.items():
            start, end = times[o][0], max(times[m][0] for m in needed)
            hidden = sum(max(0, min(end, e) - max(start, s)) for s, e in computing[o.rank] if e > start and s < end)
            cells[o.step, o.rank] += end - start - hidden
        return cells

    def busbw(self):
        """Name of an operation -> bytes per second, the median."""
        found = defaultdict(list)
        for call in self.calls:
            time = max(o.kernel[2] for o in call) - max(o.kernel[1] for o in call)
            name, factor = BUS[call[0].kind]
            found[name].append(4 * call[0].args[0] * factor(self.program.P) / time * 1e9)
        return {name: statistics.median(v) for name, v in found.items()}

    # ---- replay ----
    def replay(self, less, is_ideal=False):
        """(ns of a step, start and end of each kernel), where less(operation) ns of its work are gone; on an ideal network a kernel of a
        collective ends once all have started."""
        ranks, times, started = [Rank(ops) for ops in self.program.ops], {}, {}
        moved = True
        while moved:
            moved = False
            for rank in ranks:
                moved |= self.host(rank, less)
                for stream in list(rank.queue):
                    moved |= self.stream(rank, stream, less, times, started, is_ideal)
        first = min(o.start for ops in self.program.ops for o in ops if o.kind == "step")
        return (max(r.time for r in ranks) - first) / self.program.steps, times

    @staticmethod
    def host(rank, less):
        moved = False
        while rank.next < len(rank.ops):
            o = rank.ops[rank.next]
            before = rank.ops[rank.next - 1].end if rank.next else o.start
            begin, took = rank.time + o.start - before, o.end - o.start
            if o.kind == "sync":
                if len(rank.ended[o.args[0]]) < rank.launched[o.args[0]]:
                    break
                rank.time = max(begin, rank.free[o.args[0]]) + o.end - max(o.start, rank.measured[o.args[0]])
            elif is_launch(o):
                stream = o.args[0] if o.kind == "kernel" else o.args[1]
                rank.queue[stream].append((o, begin + o.kernel[0] - o.start + LAUNCH_NS, rank.waits.pop(stream, None)))
                rank.launched[stream] += 1
                rank.time = begin + took
            else:
                if o.kind == "streamwait":
                    rank.waits[o.args[0]] = (o.args[1], rank.launched[o.args[1]])
                rank.time = begin + took - (less(o) if o.kind == "work" else 0)
            rank.next += 1
            moved = True
        return moved

    def stream(self, rank, stream, less, times, started, is_ideal):
        moved = False
        while rank.queue[stream]:
            o, start, other = rank.queue[stream][0]
            if other and len(rank.ended[other[0]]) < other[1]:
                break
            if o not in started:
                if other and other[1]:
                    start = max(start, rank.ended[other[0]][other[1] - 1])
                started[o] = max(start, rank.free[stream])
                moved = True
            if o.kind == "kernel":
                end = started[o] + o.kernel[2] - o.kernel[1] - less(o)
            else:
                needed = self.needs[o]
                if any(m not in started for m in needed):
                    break
                end = max(started[m] for m in needed) + (0 if is_ideal else o.kernel[2] - max(m.kernel[1] for m in needed))
            times[o] = started[o], end
            rank.free[stream] = end
            rank.ended[stream].append(end)
            rank.measured[stream] = o.kernel[2]
            rank.queue[stream].pop(0)
            moved = True
        return moved

    def mean_step(self, repaired=()):
        """ns of a step, if the ranks in `repaired` had no fault."""
        return self.replay(lambda o: o.extra if o.rank in repaired else 0)[0]

    def efficiency(self):
        """Parallel efficiency, load balance and transfer efficiency after POP: kernels that compute, all steps, an ideal network."""
        step, useful = self.mean_step(), [0] * self.program.P
        for ops in self.program.ops:
            for o in ops:
                if o.kind == "kernel":
                    useful[o.rank] += (o.kernel[2] - o.kernel[1]) / self.program.steps
        mean = sum(useful) / self.program.P
        return mean / step, mean / max(useful), max(self.replay(lambda o: 0, is_ideal=True)[0], *useful) / step

    def part_of(self, ranks):
        """The part of all waiting that would be gone if these ranks had no fault."""
        whole = sum(self.exposed(self.replay(lambda o: 0)[1]).values())
        return 1 - sum(self.exposed(self.replay(lambda o: o.extra if o.rank in ranks else 0)[1]).values()) / whole if whole else 0.0
