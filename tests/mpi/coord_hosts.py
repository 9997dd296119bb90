#!/usr/bin/python3
"""Jobs of mpirun on two pretend hosts: who agrees through MPI, and that no job waits for a rank without podprof.
Run by ctest mpi.coord_hosts. Needs root."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "guest"))
import jobs  # noqa: E402
from hosts import Hosts  # noqa: E402
from jobs import check, finish, run, start, wait_until  # noqa: E402

RANKS = 4


def program(place, *arguments):
    return [place.program("coord_program"), *arguments]


def right(got, lines=RANKS):
    check(got.code == 0 and not got.timed_out and got.out.count("sums are right") == lines, got.transcript())


def whys(place, hosts, name):
    """The reasons that the ranks of a host have in their headers."""
    look = ("import glob\nfor f in glob.glob('/dev/shm/podprof-0/*/rank-*.ring'):\n"
            " print(next((w for w in (b'several hosts', b'a rank does not record') if w in open(f, 'rb').read(1 << 18)), b'mpi').decode())")
    return run(hosts.on(name, [jobs.PYTHON, "-c", look])).out.splitlines()


def agreement(place, full):
    """A capture of a running job: ranks of both hosts fix its steps by one operation."""
    logs, stop = place.new_logs(), os.path.join(place.scratch, "stop")
    with Hosts(place, 2) as hosts:
        job = start(hosts.on(hosts.front, hosts.mpirun(RANKS, place.under(logs, program(place, "init", "1000")), "-x", "PP_STOP=" + place.scratch)))
        check(wait_until(lambda: all(whys(place, hosts, n) == ["mpi"] * 2 for n in hosts.names), 20), "ranks do not come up")
        asked = []

        def ask():  # until the first step is marked there is none to count from
            asked[:] = [run(hosts.on(hosts.names[0], [place.podprof(), "capture", logs, "--steps", "+5"]), limit=30)]
            return "no rank marks any" not in asked[0].err
        wait_until(ask, 20)
        asked = asked[0]
        logged = run(hosts.on(hosts.names[0], ["sh", "-c", "cat /dev/shm/podprof-0/*/keeper.log"])).out
        with open(stop, "w", encoding="ascii"):
            pass
        right(finish(job))
        check(asked.code == 0, asked.transcript())
        check("ranks agreed on steps" in logged, logged)


def separate(place, full):
    """podprof on some ranks, behind scripts, or not able to record on one host: the job is as it would be."""
    logs = place.new_logs()
    with Hosts(place, 2) as hosts:
        def job(*command):
            got = run(hosts.on(hosts.front, hosts.mpirun(RANKS, command)), limit=60)
            right(got)
            check(got.seconds < 50, got.transcript())

        some = 'test $OMPI_COMM_WORLD_RANK = 2 || exec "$0" "$@"; shift 6; exec "$@"'
        without = 'test $OMPI_COMM_WORLD_RANK = 2 && unset LD_PRELOAD; exec "$0" "$@"'
        job("sh", "-c", some, *place.under(logs, program(place, "init", "0"), "--wait", "0"))
        job(*place.under(logs, ["sh", "-c", without, *program(place, "init", "0")], "--wait", "0"))
        unwritable = place.new_logs()
        os.makedirs(unwritable)
        run(hosts.on(hosts.names[1], ["mount", "-t", "tmpfs", "-o", "ro", "none", unwritable]))
        job(*place.under(unwritable, program(place, "init", "0"), "--wait", "0"))
        first = hosts.mpirun(2, place.under(logs, program(place, "init", "0"), "--wait", "0"))
        right(run(hosts.on(hosts.front, [*first, ":", "-n", "2", *program(place, "init", "0")]), limit=60))


if __name__ == "__main__":
    sys.exit(jobs.main({"agreement": agreement, "apart": separate}, __doc__.splitlines()[0]))
