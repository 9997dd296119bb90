#!/usr/bin/python3
"""Jobs in containers of real engines: podman, apptainer, charliecloud, bubblewrap. Each has this host's /usr, a root that may not be written, and
what the engine sets by default: PID 1, /dev/shm of 64 MB, /proc/sys that may not be written. The job is the same with podprof, and the session is
whole; two containers of one job, with the same pids inside, are one session. Run by ctest session_engines; an engine that is absent is skipped."""
import glob
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "guest"))
import jobs  # noqa: E402
from claim import workers  # noqa: E402
from jobs import Skipped, check, compare, run, session_of, sessions  # noqa: E402


def image(place):
    """A root file system of links into this host's /usr."""
    root = os.path.join(place.scratch, "image")
    for name in ("usr", "etc", "tmp", "dev", "proc", "sys", "var", "root", "run", place.scratch, os.path.dirname(place.bin)):
        os.makedirs(os.path.join(root, name.lstrip("/")), exist_ok=True)
    for name in ("bin", "lib", "lib64", "sbin"):
        if not os.path.lexists(os.path.join(root, name)):
            os.symlink("usr/" + name, os.path.join(root, name))
    for name in ("passwd", "group", "hosts", "resolv.conf"):
        with open(os.path.join(root, "etc", name), "a", encoding="ascii"):
            pass
    return root


def binds(place):
    return sorted({place.scratch, os.path.dirname(place.bin)})


def podman(place):
    """crun refuses hosts that have both versions of cgroups; runc does not."""
    nofile = ["--ulimit", "nofile=1024:1024", "--ulimit", "nproc=4096:4096"]  # the defaults are above the limits of some hosts
    words = ["--rm", *nofile, "--network", "host", "--env-host", "--read-only", "-v", "/usr:/usr:ro", "-v", "/etc:/etc:ro"]
    words += [w for b in binds(place) for w in ("-v", f"{b}:{b}")] + ["--rootfs", image(place)]
    first = ["podman", "run", *words]
    return [first, ["podman", "--cgroup-manager", "cgroupfs", "--runtime", "runc", "run", *words], ["podman", "run", "--cgroups", "disabled", *words]]


def apptainer(place):
    words = ["exec", "--contain", "--pid", "--ipc", *[w for b in ["/usr:/usr:ro", "/etc:/etc:ro", *binds(place)] for w in ("-B", b)], image(place)]
    return [["apptainer", *words], ["singularity", *words]]


def charliecloud(place):
    return [["env", "USER=" + os.environ.get("USER", "root"), "ch-run", *[w for b in ["/usr", *binds(place)] for w in ("-b", f"{b}:{b}")], image(place), "--"]]


def bubblewrap(place):
    words = ["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--as-pid-1", "--ro-bind", "/", "/", "--proc", "/proc"]
    words += ["--dev", "/dev", "--size", str(64 << 20), "--tmpfs", "/dev/shm", "--tmpfs", "/var/tmp"]
    return [["bwrap", *words, *[w for b in binds(place) for w in ("--bind", b, b)]]]


class Engine:
    def __init__(self, place, ways):
        said = ""
        for words in ways(place):
            program = words[2] if words[0] == "env" else words[0]
            if not shutil.which(program):
                said = said or f"no {program} here"
                continue
            got = subprocess.run([*words, "/bin/true"], capture_output=True, text=True, timeout=60, check=False)
            if not got.returncode:
                self.words = words
                return
            said = f"{program} starts no container here: " + (got.stderr.strip().splitlines() or ["?"])[-1]
        raise Skipped(said)


def lone(place, engine):
    """One process, which is PID 1 or its only child: exit code, output and session."""
    command = ["/bin/sh", "-c", '"$0" steps 6 20; exit 3', place.program("arrival")]
    base = run([*engine.words, *command])
    logs = place.new_logs()
    got = run([*engine.words, *place.under(logs, command)])
    wrong = compare(base, got)
    check(base.code == 3 and not wrong, "; ".join(wrong) + "\nunder podprof: " + got.transcript() + "\nbase: " + base.transcript())
    check(sorted(workers(session_of(logs))) == [0], got.transcript())


def two(place, engine):
    """Two containers of one job with one log directory: their ranks have the same pids, and are in one session."""
    command, logs = [place.program("arrival"), "steps", "32", "100"], place.new_logs()
    got = run(place.mpirun(2, [*engine.words, *place.under(logs, command)]))
    check(got.code == 0 and sorted(got.out.split("\n")) == ["", "rank 0 ends", "rank 1 ends"], got.transcript())
    check(sorted(workers(session_of(logs))) == [0, 1], f"{sessions(logs)}: {got.transcript()}")
    check(not glob.glob(os.path.join(logs, ".podprof-*.rendezvous")), jobs.tree(logs))


def case(ways, what):
    def made(place, full):
        if what is two and ways is not bubblewrap and not full:
            raise Skipped("a long one")
        what(place, Engine(place, ways))
    return made


CASES = {"podman_lone": case(podman, lone), "podman_two": case(podman, two), "apptainer_lone": case(apptainer, lone), "apptainer_two": case(apptainer, two),
         "charliecloud_lone": case(charliecloud, lone), "charliecloud_two": case(charliecloud, two), "bubblewrap_lone": case(bubblewrap, lone),
         "bubblewrap_two": case(bubblewrap, two)}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__))
