#!/usr/bin/python3
"""Programs of another C library and of the compilers' sanitizers: they run as without podprof, they are recorded, and as helpers inside
a rank they harm nothing. Run by ctest guest_loaders."""
import os
import shutil
import subprocess
import sys

import jobs
from jobs import Skipped, check, compare, run, session_of

MARKED = {"GUEST_MARK": "1"}
# Helpers get the rank's whole environment, so they mark nothing here: a marking process would be the rank.
BARE = {"GUEST_MARK": "0"}


def made(place, name, compiler, *flags, source="lone.c"):
    """The program built by `compiler`; None: this compiler cannot, or the program does not run here without podprof either."""
    path = os.path.join(place.scratch, name)
    root = os.path.dirname(os.path.dirname(place.source))
    built = subprocess.run([compiler, "-std=c11", "-D_GNU_SOURCE", "-O1", "-g", "-I" + root, *flags, "-o", path, place.script(source), "-pthread",
                            "-ldl"], capture_output=True, text=True, check=False)
    return path if built.returncode == 0 else None


def musl(place):
    if not shutil.which("musl-gcc"):
        raise Skipped("no musl-gcc (musl-tools)")
    path = made(place, "lone_musl", "musl-gcc")
    check(path, "musl-gcc did not build lone.c")
    return path


def same(place, command, env):
    base, logs = run(command, env), place.new_logs()
    got = run(place.under(logs, command), env)
    wrong = compare(base, got)
    check(not wrong, f"{' '.join(command)}: {'; '.join(wrong)}\n{got.transcript()}")
    return logs, got


def other_libc(place, full):
    """The loader of another C library finds all that the collector wants; threads, children and statuses are recorded as ever."""
    program = musl(place)
    for mode in ("normal", "threads", "fork", "exec_self"):
        logs, _ = same(place, [program, mode], MARKED)
        session_of(logs)
    same(place, [program, "normal"], BARE)


def other_libc_helper(place, full):
    """Programs of both libraries in one rank."""
    program, ours = musl(place), place.program("lone")
    for helper, rank in ((program, ours), (ours, program)):
        logs, _ = same(place, ["/bin/sh", "-c", f"GUEST_MARK=0 {helper} normal && exec {rank} normal"], MARKED)
        session_of(logs)


def runtimes(place):
    """(name, program) of each sanitizer, with its shared and its static runtime, as the compilers of this machine have them."""
    clang = next((c for c in ("clang", "clang-14") if shutil.which(c)), None)
    forms = [("gcc", "address", ()), ("gcc", "address", ("-static-libasan",)), ("gcc", "thread", ()), ("gcc", "undefined", ()),
             ("gcc", "leak", ())]
    if clang:
        found = subprocess.run([clang, "-print-resource-dir"], capture_output=True, text=True, check=False).stdout.strip()
        shared = ("-shared-libsan", f"-Wl,-rpath,{found}/lib/linux")
        forms += [(clang, "address", ()), (clang, "address", shared), (clang, "thread", ()), (clang, "undefined", ()), (clang, "undefined", shared),
                  (clang, "memory", ())]
    for number, (compiler, kind, flags) in enumerate(forms):
        path = made(place, f"lone{number}", compiler, f"-fsanitize={kind}", *flags)
        if path and run([path, "normal"], MARKED).code == 0:
            yield " ".join((compiler, kind, *flags)), path


def sanitizers(place, full):
    seen = 0
    for name, path in runtimes(place):
        for mode in ("normal", "threads", "fork") if full else ("fork",):
            logs, got = same(place, [path, mode], MARKED)
            check("Sanitizer" not in got.err, f"{name}: {got.transcript()}")
            session_of(logs)
        seen += 1
    if not seen:
        raise Skipped("no compiler here builds a sanitizer's program that runs")


def sanitizer_options(place, full):
    """ASAN_OPTIONS is the user's, and may be set anywhere between podprof run and the program."""
    path = made(place, "lone_asan", "gcc", "-fsanitize=address")
    if not path or run([path, "normal"]).code:
        raise Skipped("gcc builds no program with AddressSanitizer")
    show = ["/bin/sh", "-c", "echo ${ASAN_OPTIONS-unset}"]
    check(run(place.under(place.new_logs(), show)).out == "unset\n", "podprof set ASAN_OPTIONS")
    for command in (["env", "ASAN_OPTIONS=detect_leaks=0", path, "normal"],
                    ["/bin/sh", "-c", f"ASAN_OPTIONS=detect_leaks=0 exec {path} normal"],
                    place.under(place.new_logs(), [path, "normal"]),
                    place.mpirun(2, [path, "normal"], "-x", "ASAN_OPTIONS=detect_leaks=0")):
        logs, _ = same(place, command, MARKED)
        session_of(logs)
    logs, _ = same(place, ["/bin/sh", "-c", f"GUEST_MARK=0 {path} normal && exec {place.program('lone')} normal"], MARKED)
    session_of(logs)


def sanitizer_mpi(place, full):
    """Ranks that call MPI, built with AddressSanitizer: what MPI itself leaks is not podprof's."""
    compiler = shutil.which("mpicc.openmpi") or "mpicc"
    path = made(place, "mpi_asan", compiler, "-fsanitize=address", source="mpi_ends.c")
    env = {"ASAN_OPTIONS": "detect_leaks=0"}
    if not path or run(place.mpirun(2, [path, "normal"]), env).code:
        raise Skipped("no MPI program with AddressSanitizer runs here")
    for mode in ("normal", "threads", "abort5"):
        command = [path, mode]
        base, logs = run(place.mpirun(2, command), env), place.new_logs()
        got = run(place.mpirun(2, place.under(logs, command)), env)
        wrong = compare(base, got)
        check(not wrong, f"{mode}: {'; '.join(wrong)}\n{got.transcript()}")
        session_of(logs)


CASES = {
    "other_libc": other_libc, "other_libc_helper": other_libc_helper, "sanitizers": sanitizers, "sanitizer_options": sanitizer_options,
    "sanitizer_mpi": sanitizer_mpi,
}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__))
