"""Other libraries that wrap MPI, under the stand-in guest: layers.py MPIRUN PRELOAD DIRECTORY KIND. The program prints what it prints without
podprof, the library writes its file, and each call of the program is recorded once. KIND: what layer.c is built as, or OTHERS: libraries of
others. PODPROF_MPIP and PODPROF_DARSHAN name libmpiP.so and libdarshan.so."""
import glob
import os
import re
import subprocess
import sys
import tempfile

MPIRUN, PRELOAD, DIRECTORY, KIND = sys.argv[1:5]
PYTHON = "/usr/bin/python3"
LARGE = "Allreduce " if KIND == "LARGE" else ""
CALLS = f"Init Barrier Allreduce Allreduce Bcast Scan {LARGE}Pcontrol Finalize".split()
# Of a library in front of podprof what it calls is recorded, too.
FRONT = f"Init Reduce Barrier Allreduce Allreduce Bcast Allreduce Scan {LARGE}Pcontrol Reduce Finalize".split()
PLUGIN = "import ctypes, sys; sys.exit(ctypes.CDLL(sys.argv[1], ctypes.RTLD_%s).zoo_main(0, None))"
MPI4PY = """
from mpi4py import MPI
w = MPI.COMM_WORLD
import array
out = array.array("d", [0.0])
w.Allreduce(array.array("d", [1.0]), out)
print("rank %d of %d: sum %g" % (w.rank, w.Get_size(), out[0]))
"""
failed = []


class Job:
    """Two ranks of a command: what it prints, and the files that the library and the stand-in guest write."""

    def __init__(self, command, preload, more=None):
        with tempfile.TemporaryDirectory() as where:
            env = dict(os.environ, PP_LAYER=where + "/layer", PP_FAKE_LOG=where + "/log", **(more or {}))
            line = [MPIRUN, "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1", "--timeout", "50", "-n", "2"]
            for name in more or {}:
                line += ["-x", name]
            if preload:
                line += ["-x", "LD_PRELOAD=" + ":".join(preload)]
            done = subprocess.run(line + command, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, cwd=where)
            self.code, self.err = done.returncode, done.stderr
            # mpirun may write the line of a rank behind another one's without a newline between them
            self.out = sorted(line.strip() for line in re.split("(?=rank )", done.stdout) if line.startswith("rank "))
            self.files = {os.path.basename(f): read(f) for f in sorted(glob.glob(where + "/*")) if "/log." not in f}
            logs = [read(f) for f in sorted(glob.glob(where + "/log.*"))]
            self.calls = [re.findall(r"^mpi MPI_(\w+)", log, re.M) for log in logs]
            self.named = [re.findall(r"^remark MPI is also wrapped by (.*)", log, re.M) for log in logs]


def read(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        return f.read()


def check(name, right, *evidence):
    if not right:
        failed.append(name)
        print(name, *evidence, sep="\n  ")


def with_podprof(layer, at):
    """The preloaded libraries, `layer` in front of podprof's, behind them, or not among them."""
    ours = PRELOAD.split(":")
    front = len(ours) - 2  # a sanitizer's runtime must stand first
    return ours[:front] + [layer] + ours[front:] if at == "front" else ours + [layer] if at == "behind" else ours


def compare(name, command, layer=None, at=None, calls=None, named=KIND + ".so"):
    bare = Job(command, [layer] if layer else [])
    seen = Job(command, with_podprof(layer, at))
    check(name, bare.code == 0 and bare.files, "bare:", bare.code, bare.out, bare.err)
    check(name, (seen.code, seen.out, seen.files) == (bare.code, bare.out, bare.files), bare.out, bare.files, seen.code, seen.out, seen.files,
          seen.err)
    check(name, seen.calls == 2 * [calls or CALLS], "recorded:", seen.calls)
    check(name, seen.named == 2 * [[named]], "named:", seen.named)
    return bare


def own():
    """A library of ours (layer.c) in each place."""
    layer, plain = f"{DIRECTORY}/{KIND}.so", f"{DIRECTORY}/{KIND}.plain"
    bare = compare("linked", [f"{DIRECTORY}/{KIND}.linked"])
    if KIND == "LARGE":
        check("changes large sums", any("large 2.75" in line for line in bare.out), bare.out)
        compare("linked, bound at once", ["env", "LD_BIND_NOW=1", f"{DIRECTORY}/{KIND}.linked"])
    check("changes sums", any("of 20: sum 2.5" in line for line in bare.out), bare.out)
    check("knows what stands behind a level", "region 2.5 4916" in bare.files.get("layer.0", ""), bare.files)
    compare("preloaded behind", [plain], layer, "behind")
    compare("preloaded in front", [plain], layer, "front", FRONT)
    compare("in the program", [f"{DIRECTORY}/{KIND}.static"], calls=FRONT, named=KIND + ".static")
    for scope in ("LOCAL", "GLOBAL") if KIND == "PMPI" else ("LOCAL",):
        compare("plugin, RTLD_" + scope, [PYTHON, "-B", "-c", PLUGIN % scope, f"{DIRECTORY}/{KIND}.plugin"])
    if KIND == "PMPI":
        no_search(plain)
        mpi_comes_first(plain)
    if KIND == "PMPI" and subprocess.run([PYTHON, "-c", "import mpi4py"], stderr=subprocess.DEVNULL, check=False).returncode == 0:
        compare("mpi4py", [PYTHON, "-B", "-c", MPI4PY], layer, "behind", ["Init_thread", "Allreduce", "Finalize"])


def no_search(plain):
    """The names of MPI libraries that are not loaded are not looked for: a file of that name, which blocks who opens it, stays closed."""
    with tempfile.TemporaryDirectory() as where:
        for name in ("libmpi.so.12", "libmpich.so.12"):
            os.mkfifo(os.path.join(where, name))
        seen = Job([plain], with_podprof(None, None), {"LD_LIBRARY_PATH": where + ":" + os.environ.get("LD_LIBRARY_PATH", "")})
    check("no search", seen.code == 0 and seen.calls == 2 * [CALLS], seen.code, seen.out, seen.err)


def mpi_comes_first(plain):
    """Where MPI was global before, a plugin calls it and not the library that the plugin brings."""
    mpi = re.search(r"libmpi\.so\S* => (\S+)", subprocess.run(["ldd", plain], capture_output=True, text=True, check=True).stdout)[1]
    command = [PYTHON, "-B", "-c", PLUGIN % "LOCAL", f"{DIRECTORY}/{KIND}.plugin"]
    bare, seen = (Job(command, preload) for preload in ([mpi], with_podprof(mpi, "behind")))
    check("MPI comes first", bare.code == 0 and len(bare.out) == 2 and not bare.files, bare.code, bare.out, bare.files, bare.err)
    check("MPI comes first", (seen.code, seen.out, seen.files) == (0, bare.out, {}), bare.out, seen.code, seen.out, seen.files, seen.err)
    check("MPI comes first", seen.calls == 2 * [CALLS] and seen.named == 2 * [[]], seen.calls, seen.named)


def lines_of_trace(text):
    """What libompitrace prints, without addresses and in no order of ranks."""
    return sorted(re.sub(r"\b(buffer|sendbuf|recvbuf) [0-9a-f]+", "", line) for line in text.splitlines() if line.startswith("MPI_"))


def ompitrace():
    found = glob.glob("/usr/lib/*/libompitrace.so.40")
    if not found:
        return "libompitrace"
    plain = [f"{DIRECTORY}/PMPI.plain"]
    # It needs libmpi and does not say so: preloaded in front it finds it in the program.
    for at in ("behind", "front"):
        bare, seen = Job(plain, found), Job(plain, with_podprof(found[0], at))
        trace = lines_of_trace(bare.err)
        check(f"libompitrace {at}", trace and (seen.code, seen.out, lines_of_trace(seen.err)) == (0, bare.out, trace), bare.err, seen.out, seen.err)
        check(f"libompitrace {at}: calls", seen.calls == 2 * [CALLS], seen.calls)
        check(f"libompitrace {at}: name", seen.named == 2 * [["libompitrace.so.40"]], seen.named)
    return None


def of_variable(name, count, more):
    """A library whose file is `name`'s value: it writes as many files as bare, and they count the same calls."""
    layer = os.environ.get(name)
    if not layer:
        return name
    for at in ("behind", "front"):
        bare, seen = (Job([f"{DIRECTORY}/PMPI.plain"], preload, more) for preload in ([layer], with_podprof(layer, at)))
        counted = [count(text) for text in bare.files.values()]
        check(f"{layer} {at}", counted and (seen.code, seen.out, [count(t) for t in seen.files.values()]) == (0, bare.out, counted), counted,
              bare.err, [count(t) for t in seen.files.values()], seen.out, seen.err)
        if at == "behind":
            check(f"{layer} {at}: calls", seen.calls == 2 * [CALLS], seen.calls)
    return None


def mpip_calls(report):
    part = report.partition("Aggregate Time")[2].partition("Aggregate Sent")[0]
    return sorted(set(re.findall(r"^(\w+) +\d+ ", part, re.M)))


def others():
    absent = [a for a in (ompitrace(), of_variable("PODPROF_MPIP", mpip_calls, {}),
                          of_variable("PODPROF_DARSHAN", lambda text: bool(text), {"DARSHAN_LOGPATH": "."})) if a]
    if absent:
        print("not here: " + ", ".join(absent))
    return 77 if len(absent) == 3 else 0


skip = others() if KIND == "OTHERS" else own()
sys.exit(1 if failed else skip or 0)
