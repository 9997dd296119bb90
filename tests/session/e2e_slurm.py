#!/usr/bin/python3
"""podprof analyze under a real Slurm: ranks of srun share the files, or refuse. Run by ctest session_slurm. Needs root and Slurm."""
import os
import sys

from e2e_analyze import dump, folder
import jobs
from jobs import check, run, session_of
from slurm import Slurm

RANKS = 3


def shared(place, full):
    """srun --mpi=pmix: files dealt out to ranks on two nodes, merged at rank 0, equal to one process (ranks that had not met would be a
    warning in /quality). A batch script is one process."""
    where = folder(place, "many", ranks=5)
    alone, under_srun, batch = (place.new_logs() for _ in range(3))
    words = [place.podprof(), "analyze", where, "--session", "s", "-o"]
    got = run([*words, alone, "--processes", "1"])
    check(got.code == 0, got.transcript())
    want = dump(session_of(alone))
    with Slurm(place, 2, 2) as slurm:
        if not slurm.has_pmix():
            raise jobs.Skipped("this Slurm has no plug-in for PMIx")
        got = slurm.run(["srun", "--mpi=pmix", "-N", "2", "-n", str(RANKS), *words, under_srun])
        check(got.code == 0 and len(got.podprof_lines()) == len(set(got.podprof_lines())), got.transcript())
        script = os.path.join(place.scratch, "script")
        with open(script, "w", encoding="ascii") as f:
            f.write("#!/bin/sh\nexec " + " ".join([*words, batch]) + "\n")
        got = slurm.run(["sbatch", "--wait", "-n", "2", "-o", os.path.join(place.scratch, "batch.out"), script])
        check(got.code == 0, got.transcript() + open(os.path.join(place.scratch, "batch.out")).read())
    for logs in (under_srun, batch):
        rows = dump(session_of(logs))
        differ = [k for k in rows if rows[k] != want.get(k)] + [k for k in want if k not in rows]
        check(not differ, f"{logs} and one process differ in {differ}")


def refused(place, full):
    """Ranks that have no PMI are one job each, which would all write: one sentence, and nothing is written."""
    logs = place.new_logs()
    with Slurm(place, 1, 2) as slurm:
        got = slurm.run(["srun", "--mpi=none", "-n", "2", place.podprof(), "analyze", folder(place, "two"), "-o", logs])
        check(got.code == 64 and len(got.podprof_lines()) == 1, got.transcript())
        check("srun --mpi=pmix -n 2 podprof analyze" in got.err and "MPI_Init" not in got.err, got.transcript())
        check(not os.path.exists(logs), jobs.tree(logs))
        got = slurm.run(["srun", "--mpi=none", "-n", "1", place.podprof(), "analyze", folder(place, "two"), "-o", logs])
        check(got.code == 0, got.transcript())


if __name__ == "__main__":
    sys.exit(jobs.main({f.__name__: f for f in (shared, refused)}, __doc__))
