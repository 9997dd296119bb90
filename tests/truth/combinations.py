"""Which jobs there are: pattern, fault, ranks and noise, by name. CHOSEN run in ctest, ALL by scripts/truth --all."""
import zlib

import devices
import programs

STEPS = 24


class Job:
    """`noise`: percent of the work. `unmarked`: the job marks no step. `hosts`: pretend hosts with clocks of their own. `load`: busy processes
    per core beside it. `pair`: the other of two jobs that are compared."""

    def __init__(self, pattern, fault="one", ranks=4, noise=2, unmarked=False, hosts=1, load=0, steps=STEPS, run="", pair=None):
        self.pattern, self.fault, self.ranks, self.noise, self.unmarked, self.hosts = pattern, fault, ranks, noise, unmarked, hosts
        self.load, self.pair = load, pair
        self.seed = 0
        self.steps, self.is_device = steps, pattern in devices.PATTERNS
        self.name = f"{pattern}-{fault}-{ranks}-{noise}" + "-unmarked" * unmarked + f"-hosts{hosts}" * (hosts > 1) + f"-load{load}" * (load > 0)
        self.name += f"-steps{steps}" * (steps != STEPS) + run

    def program(self):
        p = programs.Program(self.ranks, self.steps, self.fault, self.noise / 100, zlib.crc32(self.name.encode()) + self.seed,
                             self.hosts)
        (devices.PATTERNS if self.is_device else programs.PATTERNS)[self.pattern](p)
        return p


SOLVERS = ("lulesh", "hpcg", "lammps", "minife", "exchange_sum")
BETWEEN_HOSTS = ("halo.middle", "halo.middle.waitany", "halo.middle.waiteach", "shift.middle", "exchange_sum")
ON_ONE = [p for p in programs.PATTERNS if "middle" not in p]
MANY_FAULTS = ("allreduce", "halo.recv_send", "halo.testsome", "ring", "reduce_bcast.tree", "pipeline", "lulesh", "hpcg")
FEW_FAULTS = ("none", "one", "first", "two", "rotating", "sudden")
OTHERS = [f for f in programs.FAULTS if f not in FEW_FAULTS + ("host", "link", "tenth")]
HOST_JOBS = [Job(p, f, hosts=4) for p in BETWEEN_HOSTS for f in ("none", "one", "link")]
HOST_JOBS += [Job(p, f, hosts=4) for p in ("halo.large", "shift.large", "pipeline.large") for f in ("none", "link")]
HOST_JOBS += [Job("halo.middle", f, ranks=8, hosts=4) for f in ("none", "link")]
HOST_JOBS += [Job(p, f, ranks=n, hosts=2) for p in ("allreduce", "halo.send_recv", "hpcg")
              for f, n in (("host", 4), ("none", 4), ("one", 8))]

DEVICE_JOBS = [Job(p, f) for p in devices.PATTERNS for f in ("middle", "two", "none", "sudden", "rotating")]

# On a busy machine, nobody may be accused who was not late.
LOADED = [Job(p, "none", ranks=n, noise=k, load=load) for load in (0, 1, 2) for p, k in (("allreduce", 5), ("halo.recv_send", 10), ("hpcg", 3))
          for n in (2, 4, 8, 16)]
LOADED += [Job("lulesh", "none", ranks=16, noise=5, load=load) for load in (0, 1, 2)] + [Job("ring", "none", ranks=8, noise=5, load=2)]

# For diff: each job again, and again with more work on one rank.
PAIRS = []
for name in ("allreduce", "halo.recv_send", "ring", "hpcg", "lulesh", "minife", "shift", "neighbor", "reduce_bcast", "iallreduce"):
    before = Job(name, "none", ranks=8, steps=40)
    PAIRS += [before, Job(name, "none", ranks=8, steps=40, run="-again", pair=before), Job(name, "tenth", ranks=8, steps=40, pair=before)]

# In ctest: each pattern once, with a fault that takes turns, and what is special
TURNS = ("one", "first", "two", "one", "middle", "sudden")
CHOSEN = [Job(p, TURNS[i % len(TURNS)]) for i, p in enumerate(ON_ONE) if p not in ("allreduce.large", "barrier", "allgather", "exscan", "reduce_scatter")]
CHOSEN += [Job(p, "none") for p in ("allreduce", "halo.recv_send", "halo.testsome", "iallreduce")]
CHOSEN += [Job(p, f) for p, f in (("allreduce", "rotating"), ("allreduce", "every5"), ("halo.send_recv", "drift"))]
CHOSEN += [Job("allreduce", ranks=2), Job("ring", ranks=8)]
CHOSEN += [Job(p, unmarked=True) for p in ("hpcg", "lulesh", "lammps", "minife")]
CHOSEN += [Job("halo.middle.waiteach", "link", hosts=4), Job("halo.large", "link", hosts=4), Job("halo.middle", hosts=4), Job("allreduce", "host", hosts=2),
           Job("hpcg", "none", hosts=2)]
CHOSEN += [Job("nccl", "middle"), Job("nccl", "none"), Job("nccl.host", "one"), Job("nccl.layers", "middle"), Job("nccl.pipeline", "middle"),
           Job("nccl.exchange", "two")]

ALL = list({j.name: j for j in CHOSEN + [Job(p, f) for p in ON_ONE for f in FEW_FAULTS]
            + [Job(p, f) for p in MANY_FAULTS for f in OTHERS]
            + [Job(p, ranks=n) for p in MANY_FAULTS for n in (2, 3, 8)]
            + [Job(p, f, noise=10) for p in MANY_FAULTS for f in ("none", "one")]
            + [Job(p, f, unmarked=True) for p in SOLVERS for f in ("one", "none", "two")] + HOST_JOBS + DEVICE_JOBS + LOADED
            + PAIRS}.values())
