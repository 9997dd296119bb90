#!/usr/bin/python3
"""The first use of each kind of user, in a clean directory with an installed podprof: types the commands of the page for that user, as they
stand there, and reaches the answer. Run by ctest package_firstuse."""
import os
import re
import shutil
import sys

from package import SOURCE, build_of, check, good, install, jobs, library_dir, run

sys.path.insert(0, os.path.join(SOURCE, "tests", "session"))
from slurm import Slurm  # noqa: E402

# What a user with a core for each rank does not need.
CROWDED = {"OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none", "OMPI_MCA_mpi_yield_when_idle": "1",
           "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}


class Page:
    def __init__(self, name):
        self.name = name
        with open(os.path.join(SOURCE, name), encoding="utf-8") as f:
            self.text = f.read()

    def section(self, heading):
        found = re.search(rf"^(#+) {re.escape(heading)}\n(.*?)(?=^#{{1,2}} |\Z)", self.text, re.M | re.S)
        check(found, f"{self.name} has no section '{heading}'")
        return found[2]

    def typed(self, heading, words):
        """The first command of that section that has the words, without its comment: an indented line, a line of a block, a cell."""
        text = self.section(heading)
        lines = re.findall(r"^ {4,}(\S.*)$", text, re.M) + re.findall(r"`([^`\n]+)`", text) + \
            [line for block in re.findall(r"^```(?:text)?\n(.*?)^```", text, re.M | re.S) for line in block.splitlines()]
        command = next((re.sub(r"\s{2,}#.*", "", line).strip() for line in lines if words in line), None)
        check(command, f"{self.name}, '{heading}' has no command with '{words}'")
        return command

    def code(self, language):
        found = re.search(rf"^```{language}\n(.*?)^```", self.text, re.M | re.S)
        check(found, f"{self.name} has no block of {language}")
        return found[1]


def is_busy():
    """Others use the cores."""
    return os.getloadavg()[0] > 3 * len(os.sched_getaffinity(0))


class Desk:
    """A clean directory of a user whose PATH has the installed podprof."""

    def __init__(self, place, env=None, path=""):
        self.at, self.prefix = os.path.join(place.scratch, "desk"), os.path.join(place.scratch, "prefix")
        os.mkdir(self.at)
        install(place, self.prefix)
        self.plugins = library_dir(self.prefix)
        libraries = os.path.dirname(self.plugins)
        self.env = {**CROWDED, "PATH": f"{self.prefix}/bin:{path}{os.environ['PATH']}:/usr/sbin", "LD_LIBRARY_PATH": libraries,
                    "PKG_CONFIG_PATH": f"{libraries}/pkgconfig", **(env or {})}

    def file(self, name, text, mode=0o644):
        with open(os.path.join(self.at, name), "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(os.path.join(self.at, name), mode)

    def type(self, command, limit=300.0):
        return run(["bash", "-c", command], self.env, limit=limit, cwd=self.at)

    def has(self, *programs):
        for program in programs:
            if not shutil.which(program, path=self.env["PATH"]):
                raise jobs.Skipped(f"no {program} here")

    def answer(self, command, words):
        """`command` names it as the bottleneck. Where others use the cores, that may be they: then it is one of the other findings."""
        got = good(self.type(command))
        said = {name: " ".join(re.findall(rf"^  {name}: +(.*(?:\n {{14}}.*)*)", got.out, re.M)) for name in ("Bottleneck", "Also")}
        if words not in said["Bottleneck"] and is_busy():
            if words not in said["Also"]:
                raise jobs.Skipped(f"the machine is too busy: {said['Bottleneck']}")
            return
        check(words in said["Bottleneck"], f"'{words}' is not in '{said['Bottleneck']}'\n{got.out}")


SOLVER_C = """#include <mpi.h>
#include <unistd.h>
%s
static void work(int rank, int slow)
{
    double mine = rank, all;

    usleep(rank == slow ? 100000 : 100);
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int rank, steps = 25;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    %s
    return MPI_Finalize();
}
"""
SOLVER_F90 = """program solver
use mpi
%s
implicit none
integer :: step, steps = 25, rank, ierr
call MPI_Init(ierr)
call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
%s
call MPI_Finalize(ierr)
contains
subroutine work()
   use, intrinsic :: iso_c_binding
   interface
      integer(c_int) function usleep(us) bind(c)
         import
         integer(c_int), value :: us
      end function
   end interface
   double precision :: mine, total
   if (rank == 5) ierr = usleep(100000)
   mine = rank
   call MPI_Allreduce(mine, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
end subroutine
end program
"""
SOLVER_PY = """from mpi4py import MPI
import time
%s
"""


def mpi(place, full):
    """docs/mpi.md: a C solver, marked, compiled and recorded, with rank 3 late; then one in Fortran with rank 5, and both compared."""
    page, desk = Page("docs/mpi.md"), Desk(place)
    desk.has("mpicc", "mpirun", "pkg-config")
    include, loop = page.code("c").split("\n\n", 1)
    desk.file("solver.c", SOLVER_C % (include, loop.replace("...", "work(rank, 3);")))
    good(desk.type(page.typed("Mark steps", "mpicc ")))
    got = good(desk.type(page.typed("Record", "--steps 10:20")))
    check("steps 10..19 captured on 8 of 8 ranks" in got.err and len(got.err.splitlines()) == 2, got.transcript())
    desk.answer(page.typed("Read the result", "podprof report"), "rank 3, Input: ")
    os.rename(f"{desk.at}/logs", f"{desk.at}/old_logs")
    desk.has("mpif90")
    use, loop = page.code("fortran").split("\n", 1)
    desk.file("solver.f90", SOLVER_F90 % (use, loop.replace("...", "call work()")))
    os.remove(f"{desk.at}/solver")
    good(desk.type(page.typed("Mark steps", "mpif90 ")))
    good(desk.type(page.typed("Record", "-o logs -- ./solver")))
    desk.answer(page.typed("Read the result", "podprof report"), "rank 5, Input: ")
    os.rename(f"{desk.at}/logs", f"{desk.at}/new_logs")
    got = good(desk.type(page.typed("Compare", "podprof diff old_logs")))
    check(re.search(r"^ +(Ranks: +)?rank 5: Input \+", got.out, re.M) or is_busy(), got.transcript())


def mpi4py(place, full):
    """docs/mpi.md: the same for Python."""
    if not jobs.has_module(jobs.PYTHON, "mpi4py"):
        raise jobs.Skipped("no mpi4py here")
    page, desk = Page("docs/mpi.md"), Desk(place)
    loop = page.code("python").replace("steps)", "25)").replace("...", "time.sleep(0.1 * (MPI.COMM_WORLD.rank == 2))") + "    MPI.COMM_WORLD.allreduce(1)\n"
    desk.file("solver.py", SOLVER_PY % loop)
    good(desk.type(page.typed("Record", "solver.py")))
    desk.answer(page.typed("Read the result", "podprof report"), "rank 2, Input: ")


TRAIN = """import runpy, sys
sys.argv[1:] = "--steps 35 --slow-input-rank 2 --slow-input-ms 150".split()
runpy.run_path("example.py", run_name="__main__")
"""
TRACES = """import os, sys, tempfile, time, torch, torch.distributed as dist
from torch.profiler import ProfilerActivity, profile, record_function, schedule
torch.set_num_threads(1)
store, size = tempfile.mkdtemp(), 3
rank = next((r for r in range(1, size) if os.fork() == 0), 0)
dist.init_process_group("gloo", init_method=f"file://{store}/meet", rank=rank, world_size=size)
os.makedirs("traces", exist_ok=True)
a = torch.ones(8)
with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=0, warmup=2, active=12),
             on_trace_ready=lambda p: p.export_chrome_trace(f"traces/rank{rank}.pt.trace.json")) as p:
    for _ in range(14):
        with record_function("augment"):
            time.sleep(0.1 if rank == 1 else 0.001)
        dist.all_reduce(a.clone())
        p.step()
dist.barrier()
time.sleep(0.2)
if rank == 0:
    for _ in range(size - 1):
        os.wait()
os._exit(0)
"""


def torch_python():
    """The directory of a python with torch."""
    python = os.environ.get("PODPROF_TORCH_PYTHON") or os.path.join(SOURCE, ".venv", "bin", "python3")
    if not jobs.has_module(python, "torch"):
        raise jobs.Skipped("no python with torch: scripts/install-deps, or PODPROF_TORCH_PYTHON")
    return os.path.dirname(python)


def pytorch(place, full):
    """docs/frameworks.md: a training script as it is, whose rank 2 makes its batches late."""
    page, desk = Page("docs/frameworks.md"), Desk(place, path=torch_python() + ":")
    desk.has("mpirun")
    shutil.copy(os.path.join(SOURCE, "examples", "pytorch_ddp", "train.py"), f"{desk.at}/example.py")
    desk.file("train.py", TRAIN)
    title = "PyTorch, JAX, TensorFlow and Keras: no change to the script"
    got = good(desk.type(page.typed(title, "mpirun -n 4 podprof run")))
    check("steps 10..29 captured on 4 of 4 ranks" in got.err, got.transcript())
    desk.answer(page.typed(title, "podprof report"), "rank 2, Input: ")


def traces(place, full):
    """docs/tools.md: traces of torch.profiler on disk, of a job whose rank 1 computes longer."""
    page, desk = Page("docs/tools.md"), Desk(place, path=torch_python() + ":")
    desk.file("job.py", TRACES)
    good(desk.type("python job.py"))
    desk.answer(page.typed("Traces of other profilers", "podprof report traces/"), "rank 1")
    check(not [n for n in os.listdir(f"{desk.at}/traces") if not n.endswith(".pt.trace.json")], os.listdir(f"{desk.at}/traces"))
    good(desk.type(page.typed("Traces of other profilers", "podprof analyze traces/")))
    desk.answer("podprof report", "rank 1")


def slurm(place, full):
    """docs/slurm.md: an administrator sets podprof up, with the lines that the check prints, and a user records a job with a late rank."""
    page, desk = Page("docs/slurm.md"), Desk(place)
    if not os.path.exists(os.path.join(desk.plugins, "spank_podprof.so")):
        raise jobs.Skipped("podprof was built without slurm/spank.h (apt-get install libslurm-dev)")
    here = ((("/usr/lib/x86_64-linux-gnu/podprof", desk.plugins), ("/usr/share/podprof", f"{desk.prefix}/share/podprof")))
    lines = [page.typed("For administrators", words) for words in ("spank_podprof.so", "Prolog=", "Epilog=")]
    for there, mine in here:
        lines = [line.replace(there, mine) for line in lines]
    with Slurm(place, 1, 8) as site:
        if not site.has_pmix():
            raise jobs.Skipped("this Slurm has no plug-in for PMIx")
        desk.env.update(site.env)
        got = desk.type(page.typed("For administrators", "podprof slurm check"))
        for line in lines:
            check(got.code == 1 and line in got.out, f"'{line}' is not in: {got.transcript()}")
        for name, text in (("plugstack.conf", lines[:1]), ("slurm.conf", [*lines[1:], f"PlugStackConfig={site.at}/plugstack.conf"])):
            with open(f"{site.at}/{name}", "a", encoding="ascii") as f:
                f.write("\n".join(text) + "\n")
        good(desk.type(page.typed("For administrators", "scontrol reconfigure")))
        good(desk.type(page.typed("For administrators", "podprof slurm check")))
        train = os.path.join(build_of(place), "bin", "c_mpi_train")
        desk.file("train", f"#!/bin/sh\nexec {os.path.realpath(train)} --quiet --steps 30 --slow-rank 3 --slow-us 100000\n", 0o755)
        got = good(desk.type(page.typed("For users", "--podprof=steps=10:20,output=logs")))
        check("steps 10..19 captured on 8 of 8 ranks" in got.err, got.transcript())
    desk.answer(page.typed("For users", "podprof report"), "rank 3, Host compute: ")


CASES = {"mpi": mpi, "mpi4py": mpi4py, "pytorch": pytorch, "traces": traces, "slurm": slurm}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__))
