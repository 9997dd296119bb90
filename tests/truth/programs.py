"""What jobs do: a pattern of operations of each rank, a fault in its work, noise. One description for the job, which job.c runs, and for
the truth, whose needs schedule.py knows. Used by scripts/truth."""
import random

WORK, FAULT = 20.0, 16.0  # ms of a step: usual work, and what a fault adds
TENTH = 0.1 * WORK / FAULT  # for comparisons: a rank whose work grew by 10 %
SMALL, INSIDE, MIDDLE, LARGE = 64, 800, 40_000, 128 << 10  # bytes; INSIDE leaves the sender once the receiver is in MPI, MIDDLE, too, on one host
LINK = 1, 2  # the hosts from and to which a fault of a link is


class Op:
    """One operation of one rank. `base` and `extra`: ns of work, as usual and by the fault."""

    def __init__(self, rank, kind, args, step):
        self.rank, self.kind, self.args, self.step = rank, kind, args, step
        self.base = self.extra = 0
        self.start = self.end = 0


class Program:
    def __init__(self, ranks, steps, fault, noise, seed, hosts=1):
        self.P, self.steps, self.noise, self.hosts = ranks, steps, noise, hosts
        self.random = random.Random(seed)
        self.fault = FAULTS[fault](self)
        self.ops, self.members, self.step = [[] for _ in range(ranks)], {0: [list(range(ranks))]}, -1
        self.tree = {}  # of collectives: flat or binomial

    def op(self, rank, kind, *args):
        o = Op(rank, kind, args, self.step)
        self.ops[rank].append(o)
        return o

    def each(self, kind, *args):
        for r in range(self.P):
            self.op(r, kind, *args)

    def work(self, rank, share=1.0, faulty=True):
        """Part of the step's work, and with `faulty` the same part of the fault."""
        usual = WORK * share * 1e6
        o = self.op(rank, "work", 0)
        o.base = max(0, int(self.random.gauss(usual, self.noise * usual)))
        o.extra = int(self.fault(rank, self.step) * FAULT * share * 1e6) if faulty else 0
        o.args = (o.base + o.extra,)

    def compute(self, share=1.0, faulty=True):
        for r in range(self.P):
            self.work(r, share, faulty)

    def kernel(self, rank, stream, share=1.0, faulty=True, part=1.0):
        """The same on a device: `part` of the step's fault."""
        usual = WORK * share * 1e6
        o = self.op(rank, "kernel", stream, 0)
        o.base = max(0, int(self.random.gauss(usual, self.noise * usual)))
        o.extra = int(self.fault(rank, self.step) * FAULT * part * 1e6) if faulty else 0
        o.args = stream, o.base + o.extra

    def split(self, number, color):
        groups = {}
        for r in range(self.P):
            self.op(r, "split", number, color(r))
            groups.setdefault(color(r), []).append(r)
        self.members[number] = list(groups.values())

    def group(self, number, rank):
        return next(g for g in self.members[number] if rank in g)

    def beside(self, rank):
        return (rank - 1) % self.P, (rank + 1) % self.P

    def each_step(self):
        for s in range(self.steps):
            self.step = s
            self.each("step", s)
            yield s
        self.each("end")
        self.step = -1

    def text(self, rank):
        return "".join(f"{o.kind} {' '.join(str(int(a)) for a in o.args)}\n" for o in self.ops[rank])


# ---- patterns -------------------------------------------------------------------------------------------------------------
def collective(p, kind="allreduce", size=SMALL, root=0):
    for _ in p.each_step():
        p.compute()
        p.each(kind, 0, size, root)
        if kind in ("reduce", "bcast", "gather", "scatter", "scan", "exscan"):
            p.each("barrier", 0, 0, 0)


def halo(p, end="waitall", order="recv send", size=SMALL, before=None):
    for _ in p.each_step():
        p.compute()
        post_halo(p, order, size)
        p.each(end)
        if before:
            before(p)


def post_halo(p, order, size, tag=0):
    for r in range(p.P):
        for kind in order.split():
            for peer, t in zip(p.beside(r), (0, 1)):
                p.op(r, "i" + kind, peer, tag + (t if kind == "recv" else 1 - t), size)


def exchange(p):
    """Receives from all ranks are posted before the work; blocking sends go into them."""
    for _ in p.each_step():
        for r in range(p.P):
            for peer in range(p.P):
                if peer != r:
                    p.op(r, "irecv", peer, 0, INSIDE)
        p.compute()
        for r in range(p.P):
            for peer in range(p.P):
                if peer != r:
                    p.op(r, "send", peer, 0, INSIDE)
        p.each("waitany")


def overlapped_halo(p):
    """Post, work on what needs no neighbour, then wait."""
    for _ in p.each_step():
        post_halo(p, "recv send", SMALL)
        p.compute()
        p.each("waitall")


def shift(p, size=SMALL):
    for _ in p.each_step():
        p.compute()
        for r in range(p.P):
            p.op(r, "sendrecv", (r + 1) % p.P, 0, size, (r - 1) % p.P)


def shift_replace(p):
    for _ in p.each_step():
        p.compute()
        for r in range(p.P):
            p.op(r, "sendrecv_replace", (r + 1) % p.P, 0, SMALL, (r - 1) % p.P)


def ring(p):
    for _ in p.each_step():
        p.compute()
        for _ in range(2 * (p.P - 1)):
            for r in range(p.P):
                p.op(r, "sendrecv", (r + 1) % p.P, 0, SMALL, (r - 1) % p.P)


def rows_columns(p):
    """Two rows of communicators, then the columns across them."""
    half = p.P // 2
    p.split(1, lambda r: r // half)
    p.split(2, lambda r: r % half)
    for _ in p.each_step():
        p.compute(0.8)
        p.each("allreduce", 1, SMALL, 0)
        p.compute(0.2)
        p.each("allreduce", 2, SMALL, 0)


def reduce_bcast(p, tree="flat", between=False):
    p.tree = {"reduce": tree, "bcast": tree}
    for _ in p.each_step():
        p.compute(1.0, not between)
        p.each("reduce", 0, SMALL, 0)
        if between:
            for r in range(p.P):
                p.work(r, 0.5, True)
        p.each("bcast", 0, SMALL, 0)


def gather_scatter(p):
    for _ in p.each_step():
        p.compute()
        p.each("gather", 0, SMALL, 0)
        p.each("scatter", 0, SMALL, 0)


def neighbor(p):
    p.each("graph", 1)
    p.members[1] = [list(range(p.P))]
    for _ in p.each_step():
        p.compute()
        p.each("neighbor", 1, SMALL, 0)


def pipeline(p, size=SMALL, parts=4):
    """A stage a rank, forward only, parts of a batch one after the other."""
    for _ in p.each_step():
        for _ in range(parts):
            for r in range(p.P):
                if r:
                    p.op(r, "recv", r - 1, 0, size)
                p.work(r, 1.0 / parts)
                if r < p.P - 1:
                    p.op(r, "send", r + 1, 0, size)
        p.each("allreduce", 0, SMALL, 0)


def one_f_one_b(p, parts=4):
    """Forward and backward of parts, each stage alternating once its pipe is full."""
    for _ in p.each_step():
        for r in range(p.P):
            ahead = min(parts, p.P - r)
            order = ["f"] * ahead + ["b", "f"] * (parts - ahead) + ["b"] * ahead
            for what in order:
                source, target = (r - 1, r + 1) if what == "f" else (r + 1, r - 1)
                if 0 <= source < p.P:
                    p.op(r, "recv", source, "fb".index(what), SMALL)
                p.work(r, (1.0 if what == "f" else 2.0) / parts / 3)
                if 0 <= target < p.P:
                    p.op(r, "isend", target, "fb".index(what), SMALL)
            p.op(r, "waitall")
        p.each("allreduce", 0, SMALL, 0)


def iallreduce(p, late=False):
    """Start, work over it, Wait. late: the fault is between start and Wait."""
    for _ in p.each_step():
        p.compute(0.7 if not late else 0.3, not late)
        p.each("iallreduce", 0, SMALL, 0)
        p.compute(0.3 if not late else 1.0, late)
        p.each("waitall")


def persistent(p):
    for r in range(p.P):
        for peer, t in zip(p.beside(r), (0, 1)):
            p.op(r, "recv_init", peer, t, SMALL)
        for peer, t in zip(p.beside(r), (0, 1)):
            p.op(r, "send_init", peer, 1 - t, SMALL)
    for _ in p.each_step():
        p.compute()
        p.each("startall")
        p.each("waitkept")


def persistent_sum(p):
    p.each("allreduce_init", 0, SMALL, 0)
    for _ in p.each_step():
        p.compute()
        p.each("startall")
        p.each("waitkept")


def inter(p):
    p.each("inter", 1)
    p.members[1] = [list(range(p.P))]
    for _ in p.each_step():
        p.compute()
        p.each("allreduce", 1, SMALL, 0)


def workers(p):
    """Rank 0 probes for and receives what each rank has made, and answers all."""
    for _ in p.each_step():
        p.compute()
        for r in range(1, p.P):
            p.op(0, "probe", r, 0)
            p.op(0, "recv", r, 0, SMALL)
            p.op(r, "send", 0, 0, SMALL)
            p.op(r, "recv", 0, 1, SMALL)
        for r in range(1, p.P):
            p.op(0, "send", r, 1, SMALL)


def collectors(p):
    """Rank 0 polls for messages of all ranks, takes them as they come, and answers all."""
    for _ in p.each_step():
        p.compute()
        p.op(0, "collect", p.P - 1, 0, SMALL)
        for r in range(1, p.P):
            p.op(r, "send", 0, 0, SMALL)
            p.op(r, "recv", 0, 1, SMALL)
        for r in range(1, p.P):
            p.op(0, "send", r, 1, SMALL)


def fence(p):
    p.each("window")
    p.each("fence")
    for _ in p.each_step():
        p.compute()
        for r in range(p.P):
            p.op(r, "put", (r + 1) % p.P)
        p.each("fence")


def pscw(p):
    p.each("window")
    for _ in p.each_step():
        p.compute()
        p.each("post")
        p.each("access")
        for r in range(p.P):
            p.op(r, "put", (r + 1) % p.P)
        p.each("complete")
        p.each("exposed")


def lock(p):
    """Each rank adds to rank 0's window under a lock, after its work; then all meet."""
    p.each("window")
    for _ in p.each_step():
        p.compute()
        p.each("lock", 0)
        p.each("put", 0)
        p.each("unlock", 0)
        p.each("barrier", 0, 0, 0)


def ibarrier(p):
    for _ in p.each_step():
        p.compute()
        p.each("ibarrier", 0, 0, 0)
        p.each("test")


def lulesh(p):
    """Three exchanges with the neighbours and one minimum of the time step."""
    for _ in p.each_step():
        for k in range(3):
            p.compute(1 / 3)
            post_halo(p, "recv send", 2048, 2 * k)
            p.each("waitall")
        p.each("allreduce", 0, 8, 0)


def hpcg(p):
    """Exchange, product, two dot products."""
    for _ in p.each_step():
        post_halo(p, "recv send", 1024)
        p.each("waitall")
        p.compute(0.7)
        p.each("allreduce", 0, 8, 0)
        p.compute(0.3)
        p.each("allreduce", 0, 8, 0)


def lammps(p):
    """Exchange with each neighbour apart; every fifth step thermodynamic sums."""
    for s in p.each_step():
        for r in range(p.P):
            p.op(r, "sendrecv", (r + 1) % p.P, 0, 2000, (r - 1) % p.P)
        for r in range(p.P):
            p.op(r, "sendrecv", (r - 1) % p.P, 1, 2000, (r + 1) % p.P)
        p.compute()
        if s % 5 == 4:
            p.each("allreduce", 0, 48, 0)


def minife(p):
    """Conjugate gradients: dot, exchange, product, dot."""
    for _ in p.each_step():
        p.compute(0.2)
        p.each("allreduce", 0, 8, 0)
        post_halo(p, "recv send", 1024)
        p.each("waitall")
        p.compute(0.8)
        p.each("allreduce", 0, 8, 0)


def solver_of_hosts(p):
    """Exchange with the neighbours, and a sum every fourth step."""
    for s in p.each_step():
        p.compute()
        post_halo(p, "recv send", MIDDLE)
        p.each("waiteach")
        if s % 4 == 3:
            p.each("allreduce", 0, 8, 0)


def of(make, **more):
    return lambda p: make(p, **more)


PATTERNS = {
    "allreduce": collective,
    "allreduce.large": of(collective, size=LARGE),
    "barrier": of(collective, kind="barrier"),
    "alltoall": of(collective, kind="alltoall"),
    "allgather": of(collective, kind="allgather"),
    "reduce_scatter": of(collective, kind="reduce_scatter", size=1024),
    "scan": of(collective, kind="scan"),
    "exscan": of(collective, kind="exscan"),
    "bcast": of(collective, kind="bcast"),
    "gather": of(collective, kind="gather"),
    "halo.recv_send": halo,
    "halo.send_recv": of(halo, order="send recv"),
    "halo.large": of(halo, size=LARGE),
    "halo.waitany": of(halo, end="waitany"),
    "halo.waiteach": of(halo, end="waiteach"),
    "halo.testsome": of(halo, end="testsome"),
    "halo.overlap": overlapped_halo,
    "halo.persistent": persistent,
    "exchange": exchange,
    "shift": shift,
    "shift.large": of(shift, size=LARGE),
    "ring": ring,
    "rows_columns": rows_columns,
    "reduce_bcast": reduce_bcast,
    "reduce_bcast.tree": of(reduce_bcast, tree="binomial"),
    "reduce_bcast.between": of(reduce_bcast, tree="binomial", between=True),
    "gather_scatter": gather_scatter,
    "neighbor": neighbor,
    "pipeline": pipeline,
    "pipeline.large": of(pipeline, size=LARGE),
    "1f1b": one_f_one_b,
    "iallreduce": iallreduce,
    "iallreduce.late": of(iallreduce, late=True),
    "inter": inter,
    "workers": workers,
    "fence": fence,
    "pscw": pscw,
    "lock": lock,
    "ibarrier": ibarrier,
    "halo.middle": of(halo, size=MIDDLE),
    "halo.middle.waitany": of(halo, end="waitany", size=MIDDLE),
    "halo.middle.waiteach": of(halo, end="waiteach", size=MIDDLE),
    "shift.middle": of(shift, size=MIDDLE),
    "exchange_sum": solver_of_hosts,
    "lulesh": lulesh,
    "hpcg": hpcg,
    "lammps": lammps,
    "minife": minife,
    "persistent_sum": persistent_sum,
    "shift.replace": shift_replace,
    "collectors": collectors,
}


# ---- faults: (program) -> rank, step -> times FAULT ------------------------------------------------------------------------
def at(*which):
    return lambda p: lambda r, s: float(r in [w % p.P for w in which])


def fault_random(p):
    late = [p.random.randrange(p.P) for _ in range(p.steps)]
    return lambda r, s: float(r == late[s])


FAULTS = {
    "none": lambda p: lambda r, s: 0.0,
    "one": at(3),
    "first": at(0),
    "last": at(-1),
    "middle": at(2),
    "two": at(1, -2),
    "rotating": lambda p: lambda r, s: float(r == s % p.P),
    "random": fault_random,
    "every5": lambda p: lambda r, s: 2.0 * (r == 1 and s % 5 == 2),
    "every20": lambda p: lambda r, s: 5.0 * (r == 1 and s % 20 == 10),
    "sudden": lambda p: lambda r, s: float(r == 1 and s >= p.steps // 2),
    "drift": lambda p: lambda r, s: 2.0 * s / p.steps * (r == 1),
    "start": lambda p: lambda r, s: 6.0 * (r == 1 and s == 0),
    "host": lambda p: lambda r, s: float(r % p.hosts == 1),  # ranks go around the hosts
    "link": lambda p: lambda r, s: 0.0,
    "tenth": lambda p: lambda r, s: TENTH * (r == 3),
}
