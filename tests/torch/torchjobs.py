"""What the drivers of tests/torch share: the Python with torch, the example and the strangers' scripts under podprof, what every session of a
PyTorch job has. PODPROF_TORCH_PYTHON names that Python."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
for part in ("guest", "session"):
    sys.path.insert(0, os.path.join(HERE, "..", part))

import e2e  # noqa: E402
import jobs  # noqa: E402
from jobs import check  # noqa: E402

PYTHON = os.environ.get("PODPROF_TORCH_PYTHON", "")
EXAMPLE = os.path.join(HERE, "..", "..", "examples", "pytorch_ddp", "train.py")
ENV = {"OMP_NUM_THREADS": 1}
LOADER, OPTIMIZER = "torch: DataLoader", "torch: optimizer"


def script(name):
    return os.path.join(HERE, "scripts", name)


def python(*words):
    return [PYTHON, *words]


def torchrun(ranks, *words, options=("--standalone",)):
    return python("-m", "torch.distributed.run", "--nproc-per-node", str(ranks), *options, *words)


def run(command, env=None, limit=60.0):
    return jobs.run(command, {**ENV, **(env or {})}, limit)


def names(values):
    return [e2e.text(v) for v in values]


def categories(f, steps=None):
    """Median ns over steps: {category: [of each worker]}."""
    b = f["breakdown"]
    cells, kinds = b["exclusive_ns"][()], names(b["category"][()])
    return {kind: [e2e.median(cells[:, w, i]) for w in range(cells.shape[1])] for i, kind in enumerate(kinds)}


def waited_for(f):
    """The rank that came last in the most steps, and the share of the steps in which it did. A sum of times would be decided by the one step in
    which a busy machine starts a loader's worker late."""
    late = f["breakdown/late_ns"][()].clip(0)
    check(late.sum() > 0, "nobody was waited for")
    last = [int(row.argmax()) for row in late if row.max() > 0]
    rank = max(set(last), key=last.count)
    return rank, last.count(rank) / len(last)


def check_silent(kinds, planted_ms, slow):
    """Times are compared only where ranks that work alike compute and read a step in less than what the slow ones (ranks) take more."""
    alike = [w for w in range(len(kinds["Input"])) if w not in slow]
    usual = max(kinds["Input"][w] + kinds["Host compute"][w] for w in alike)
    if usual > 1e6 * planted_ms:
        raise jobs.Skipped(f"steps and calls are right; for times the machine is too busy: a step takes {usual / 1e6:.0f} ms, not below {planted_ms} ms")


def steps_of(f):
    return [int(n) for n in f["breakdown/step"][()]]


def rules_of(f):
    return set(names(f["worker/step_rule"][()]))


def check_session(session, ranks, steps, rule=LOADER):
    """Ranks delivered, steps exactly these, by this rule, present everywhere; nothing lost; what holds for every dataset."""
    e2e.check_dataset(session, workers=ranks, steps=steps)
    with e2e.h5(session) as f:
        check(rules_of(f) == {rule}, rules_of(f))
        check(names(f["worker/status"][()]) == ["delivered"] * ranks, names(f["worker/status"][()]))
        check((f["breakdown/present"][()] == 1).all(), f"cells are absent: {f['breakdown/present'][()]}")
        violations = int(f["quality/violations"][()]), int(f["quality/causality_violated"][()])
        check(violations == (0, 0), f"causality violations: {violations}")


def main(cases, description):
    if not jobs.has_module(PYTHON, "torch"):
        print("skipped: no Python with torch: scripts/install-deps makes one in .venv")
        return jobs.SKIP
    return jobs.main(cases, description)
