#!/usr/bin/python3
"""Runs a checkout of MPICH's public conformance suite (its directory test/mpi) under Open MPI, each program bare and under podprof, and lists
what differs (exit code, stdout, stderr without podprof's lines) and what a session says that cannot be true (suite_truth.py, needs python3-h5py).
Usage: mpich_suite.py SUITE --bin build/bin [--keep DIR] [DIRECTORY|PROGRAM ...]

The suite is not part of podprof: clone it from https://github.com/pmodels/mpich. It needs no configure: the programs are compiled by mpicc,
one by one, from the directories' testlist and Makefile.am. Programs that do not compile (MPICH's own extensions) are left out and
listed, as are those that fail alike without podprof. A difference counts when no bare run of three ended as any of three runs under podprof did.
Exit code: 1 with a difference or a session at fault, 77 where the suite is not there."""
import argparse
import collections
import concurrent.futures
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "guest"))
import jobs  # noqa: E402

try:
    import suite_truth
except ImportError:
    suite_truth = None

DIRECTORIES = ["attr", "basic", "coll", "comm", "datatype", "errhan", "errors", "group", "info", "init", "io", "part", "pt2pt", "rma", "session",
               "spawn", "threads", "topo"]
# What the suite's configure would find on a Linux with this MPI: facts of the platform, in the names that its sources ask for.
CONFIGURED = ["HAVE_STDARG_H", "HAVE_STDINT_H", "HAVE_STDIO_H", "HAVE_STDLIB_H", "HAVE_STRING_H", "HAVE_STRINGS_H", "HAVE_UNISTD_H", "HAVE_MEMORY_H",
              "HAVE_SYS_TIME_H", "HAVE_SYS_RESOURCE_H", "HAVE_SYS_STAT_H", "HAVE_SYS_TYPES_H", "HAVE_PTHREAD_H", "HAVE_PTHREAD_BARRIER_INIT",
              "HAVE_NETDB_H", "HAVE_NETINET_IN_H", "HAVE_SYS_SOCKET_H", "HAVE_ARPA_INET_H", "HAVE_ERRNO_H", "HAVE_FCNTL_H", "HAVE_GETRUSAGE",
              "HAVE_STRDUP", "HAVE_USLEEP", "HAVE_LONG_DOUBLE", "HAVE_LONG_LONG", "HAVE_LONG_LONG_INT", "HAVE_INT64_T", "HAVE_MPI_WIN_CREATE",
              "HAVE_MPI_SPAWN", "HAVE_MPI_IO", "STDC_HEADERS", "HAVE_STDBOOL_H", "HAVE_COMPLEX_H", "HAVE__BOOL", "HAVE_FLOAT__COMPLEX",
              "HAVE_DOUBLE__COMPLEX", "HAVE_LONG_DOUBLE__COMPLEX", "HAVE_RANDOM", "HAVE_SRANDOM"]
DATATYPES = "MPI_INT,MPI_INT:4+MPI_DOUBLE:8"
UTIL = ["util/mtest.c", "util/mtest_common.c", "util/dtypes.c", "util/mtest_single.c", "util/mtest_thread.c", "util/run_mpitests.c",
        "dtpools/src/dtpools.c", "dtpools/src/dtpools_misc.c", "dtpools/src/dtpools_init_verify.c", "dtpools/src/dtpools_desc.c",
        "dtpools/src/dtpools_attr.c", "dtpools/src/dtpools_custom.c"]


class Test:
    """One line of a testlist: program, number of ranks, arguments and environment, as its runtests script reads them."""

    def __init__(self, directory, words):
        self.directory, self.program = directory, words[0]
        self.ranks = int(words[1]) if len(words) > 1 and words[1].isdigit() else 2
        pairs = [w.split("=", 1) for w in words[1:] if "=" in w]
        self.arguments = [v for k, v in pairs if k == "arg"]
        self.env = dict(v.split("=", 1) for k, v in pairs if k == "env" and "=" in v)
        self.limit = max([60] + [int(v) for k, v in pairs if k == "timeLimit" and v.isdigit()])

    def name(self):
        return "/".join([self.directory, self.program]) + " ".join(["", str(self.ranks), *self.arguments, *(f"{k}={v}" for k, v in self.env.items())])


def listed(suite, directory):
    """Tests of a directory and of the directories that it lists. Left out: comments, doubles, and what tunes MPICH itself."""
    for name in ("testlist.in", "testlist"):
        path = os.path.join(suite, directory, name)
        if os.path.exists(path):
            break
    else:
        return []
    tests = {}
    for line in open(path, errors="replace"):
        words = re.sub(r"@\w+@", "", line.split("#")[0]).split()
        if len(words) == 1 and os.path.isdir(os.path.join(suite, directory, words[0])):
            tests.update((t.name(), t) for t in listed(suite, os.path.join(directory, words[0])))
        elif words and not any(w.startswith("env=MPIR_") for w in words):
            test = Test(directory, words)
            tests.setdefault(test.name(), test)
    return list(tests.values())


def rules(suite, directory):
    """{program: (sources, -D flags)} where the directory's Makefile.am says more than that PROGRAM.c makes PROGRAM."""
    path, said = os.path.join(suite, directory, "Makefile.am"), {}
    if not os.path.exists(path):
        return said
    text = re.sub(r"\\\n", " ", open(path, errors="replace").read())
    for program, what, value in re.findall(r"^(\w+)_(SOURCES|CPPFLAGS)\s*=\s*(.*)$", text, flags=re.M):
        sources, flags = said.get(program, ([], []))
        words = value.split()
        said[program] = ([w for w in words if w.endswith(".c")], flags) if what == "SOURCES" else (sources, [w for w in words if w.startswith("-D")])
    return said


class Suite:
    def __init__(self, path, out):
        self.path, self.out = os.path.abspath(path), out
        self.include = ["-I" + os.path.join(out, "include")] + ["-I" + os.path.join(self.path, d) for d in ("include", "dtpools/include")]
        self.flags = ["-w", "-O1", "-g", "-std=gnu11", "-DDTP_MPI_DATATYPE=" + DATATYPES, *self.include]
        self.objects = []

    def mpicc(self, *words):
        compiler = shutil.which("mpicc.openmpi") or "mpicc"
        return subprocess.run([compiler, *self.flags, *words], capture_output=True, text=True, errors="replace")

    def configure(self):
        os.makedirs(os.path.join(self.out, "include"), exist_ok=True)
        with open(os.path.join(self.out, "include", "mpitestconf.h"), "w") as f:
            f.write("".join(f"#define {n} 1\n" for n in CONFIGURED))
            f.write("#define THREAD_PACKAGE_NAME THREAD_PACKAGE_POSIX\n#define POINTERINT_t long\n#define MTEST_HAVE_MIN_MPI_VERSION(a, b) "
                    "((MPI_VERSION == (a) && MPI_SUBVERSION >= (b)) || MPI_VERSION > (a))\n")
        # what configure makes besides: nothing of it is needed, but the sources include it
        for name in ("include/mtest_mpix.h", "dtpoolsconf.h"):
            open(os.path.join(self.out, name), "w").close()
        for source in UTIL:
            if not os.path.exists(os.path.join(self.path, source)):
                continue
            made = os.path.join(self.out, source.replace("/", "_") + ".o")
            got = self.mpicc("-c", os.path.join(self.path, source), "-o", made)
            if got.returncode:
                print(f"not built: {source}: {first_error(got.stderr)}")
            elif "single" not in source:
                self.objects.append(made)
        # Programs have a main() or a run() that run_mpitests.c calls; the linker takes from an archive what is missing.
        self.archive = os.path.join(self.out, "libsuite.a")
        subprocess.run(["ar", "rcs", self.archive, *self.objects], check=True)

    def build(self, directory, program, said):
        """The path of the program, or None and why not."""
        made = os.path.join(self.path, directory, program)
        if os.access(made, os.X_OK) and not os.path.isdir(made):
            return made, None  # somebody configured and built the suite
        sources, flags = said.get(program, ([], []))
        paths = [os.path.join(self.path, directory, s) for s in sources or [program + ".c"]]
        if not all(os.path.exists(p) for p in paths):
            return None, "no source of that name"
        made = os.path.join(self.out, directory.replace("/", "_") + "_" + program)
        got = self.mpicc("-I" + os.path.join(self.path, directory), *flags, *paths, self.archive, "-o", made, "-lpthread", "-lm")
        return (None, "does not compile with this MPI") if got.returncode else (made, None)


def first_error(text):
    return next((line for line in text.split("\n") if "error" in line), text[:200])


class Runner:
    def __init__(self, suite, podprof, logs):
        self.suite, self.podprof, self.logs, self.count = suite, podprof, logs, 0
        self.sessions, self.faults = 0, collections.Counter()

    def once(self, test, program, under):
        """What the run gave, without what differs from run to run."""
        command = [jobs.MPIRUN, "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1", "-n", str(test.ranks)]
        self.count += 1
        logs = os.path.join(self.logs, str(self.count))
        command += [self.podprof, "run", "-o", logs, "--"] if under else []
        scratch = tempfile.mkdtemp(dir=self.logs)
        for name in os.listdir(os.path.join(self.suite.path, test.directory)):
            if name.endswith(".txt"):  # what some programs read
                shutil.copy(os.path.join(self.suite.path, test.directory, name), scratch)
        got = jobs.run(command + [program, *test.arguments], {**test.env, "MPITEST_RETURN_WITH_CODE": "1"}, test.limit + (20 if under else 0), cwd=scratch)
        shutil.rmtree(scratch, ignore_errors=True)
        said = [line for line in got.podprof_lines() if "captured on" not in line and "podprof report" not in line]
        if under and not got.code and not got.timed_out and suite_truth:
            self.look(test, logs, got.podprof_lines())
        shutil.rmtree(logs, ignore_errors=True)
        if got.timed_out:
            return ("no end in %d s" % test.limit, (), ()), said
        numbers = [re.sub(r"0x[0-9a-f]+|\d+", "N", line) for line in got.sorted_out()]
        return ("exit %d" % got.code, tuple(numbers), tuple(sorted(set(got.other_err())))), said

    def look(self, test, logs, said):
        """Prints and counts what the sessions of a run that ended well say wrong."""
        found = []
        sessions = jobs.sessions(logs) or (jobs.wait_until(lambda: jobs.sessions(logs)) if any("captured on" in line for line in said) else [])
        for session in sessions:
            # A call that fails on some ranks, as programs of errors/ want it, is not joined there.
            found += [f for f in suite_truth.faults(session) if f[0] != "unmatched" or not test.directory.startswith(("errors", "errhan"))]
        for line in said:
            ranks = re.search(r"captured on (\d+) of (\d+) ranks", line)
            if ranks and ranks[1] != ranks[2]:
                found.append(("missing", line))
        if not sessions and not said:
            found.append(("silent", "neither a session nor a sentence that says why"))
        self.sessions += len(sessions)
        self.faults.update({kind for kind, _ in found})
        for kind, sentence in found:
            print(f"WRONG: {test.name()}: {kind}: {sentence}", flush=True)

    def compare(self, test, program):
        """'' where a run under podprof ends as a bare one does, else what differs; what podprof said besides, and how the bare one ended."""
        bare, under, said = [], [], []
        for _ in range(3):
            bare.append(self.once(test, program, False)[0])
            result, more = self.once(test, program, True)
            under.append(result)
            said += more
            for part in (3, 2):  # stderr of a program that dies is a matter of chance: exit code and stdout are not
                if any(b[:part] == u[:part] for b in bare for u in under) and (part == 3 or len(bare) == 3):
                    return "", said, bare[-1][0]
        b, u = bare[-1], under[-1]
        what = f"{b[0]} without podprof, {u[0]} under it" if b[0] != u[0] else "other output: " + "; ".join(sorted(set(u[1]) ^ set(b[1]))[:3])
        return what, said, b[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", help="directory test/mpi of MPICH's sources")
    parser.add_argument("only", nargs="*", help="directories or programs (DIRECTORY/PROGRAM): only these")
    parser.add_argument("--bin", required=True, metavar="DIR", help="where podprof is")
    parser.add_argument("--keep", metavar="DIR", help="build here and keep what was built (default: a temporary directory)")
    args = parser.parse_intermixed_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # as Ctrl-C: the job under way ends too
    if not os.path.exists(os.path.join(args.suite, "coll")):
        print(f"skipped: '{args.suite}' is no directory test/mpi of MPICH's sources: there is no 'coll' in it")
        return jobs.SKIP
    if not os.access(os.path.join(args.bin, "podprof"), os.X_OK):
        parser.error(f"no podprof in '{args.bin}': build it first; --bin is the directory of the program")
    tests = [t for d in DIRECTORIES for t in listed(args.suite, d)]
    for one in args.only:
        if not any(one in names_of(t) for t in tests):
            parser.error(f"'{one}' is in no testlist: give a directory (coll) or a program (coll/allred)")
    out = os.path.abspath(args.keep or tempfile.mkdtemp(prefix="podprof-suite-"))
    try:
        return 1 if build_and_run(args, out, [t for t in tests if not args.only or names_of(t) & set(args.only)]) else 0
    finally:
        if not args.keep:
            shutil.rmtree(out, ignore_errors=True)


def names_of(test):
    return {test.directory.split("/")[0], test.directory, f"{test.directory}/{test.program}"}


def build_and_run(args, out, wanted):
    suite = Suite(args.suite, out)
    suite.configure()
    said = {d: rules(suite.path, d) for d in {t.directory for t in wanted}}
    names = sorted({(t.directory, t.program) for t in wanted})
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        built = dict(zip(names, pool.map(lambda n: suite.build(*n, said[n[0]]), names)))
    left = {}
    for name, (_, why) in built.items():
        if why:
            left.setdefault(why, []).append("/".join(name))
    wrong = run_all(suite, args, [(t, built[(t.directory, t.program)][0]) for t in wanted if built[(t.directory, t.program)][0]])
    for why, programs in sorted(left.items()):
        print(f"left out, {why}: {len(programs)}: {' '.join(programs)}")
    return wrong


def run_all(suite, args, tests):
    """The number of differences and of sessions' faults."""
    logs = tempfile.mkdtemp(prefix="podprof-suite-logs-")
    runner = Runner(suite, os.path.abspath(os.path.join(args.bin, "podprof")), logs)
    differing, failing = 0, []
    try:
        for test, program in tests:
            what, said, bare = runner.compare(test, program)
            if what:
                differing += 1
                print(f"DIFFERS: {test.name()}: {what}", flush=True)
            elif bare != "exit 0":
                failing.append(f"{test.name()} ({bare})")
            for line in sorted(set(said)):
                print(f"said: {test.name()}: {line}", flush=True)
    finally:
        shutil.rmtree(logs, ignore_errors=True)
    programs = len({program for _, program in tests})
    print(f"{len(tests)} tests of {programs} programs, {differing} differ under podprof, {runner.count} runs")
    if failing:
        print(f"fail alike without podprof: {len(failing)}: {', '.join(failing)}")
    if suite_truth:
        kinds = ", ".join(f"{kind} {n}" for kind, n in sorted(runner.faults.items()))
        print(f"{runner.sessions} sessions of runs that ended well, faults found in them: {kinds or 'none'}")
    else:
        print("sessions were not looked at: Python finds no h5py (python3-h5py)")
    return differing + sum(runner.faults.values())


if __name__ == "__main__":
    sys.exit(main())
