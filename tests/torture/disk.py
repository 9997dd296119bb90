"""A log directory on a tmpfs that fills at each of the writers in turn: whole files or none there, and the session on the node, with a line that
says so.
Needs root to mount; called by ctest."""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "guest"))
import jobs  # noqa: E402

import benches  # noqa: E402
import whole  # noqa: E402


def mount(size, where):
    return subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}k", "tmpfs", where], capture_output=True).returncode == 0


def one_size(place, size, want, where, fill=False):
    """The job with a log directory of so many KiB; the sentences that are wrong, and how many files came."""
    if not mount(size, where):
        raise jobs.Skipped("no right to mount a tmpfs")
    try:
        logs = os.path.join(where, "logs")
        command = [place.program("torture_job"), "0"]
        if fill:  # the job itself takes what is left, and is slow: the keeper makes its place for requests while the disk is full
            command = ["sh", "-c", f"cat /dev/zero >{where}/data 2>/dev/null; TORTURE_SLOW=1 exec {' '.join(command)}"]
        got = jobs.run([place.podprof(), "run", "-o", logs, "--", *command], limit=60)
        lines = got.podprof_lines()
        said = " ".join(lines)
        session, there = whole.Session(logs), whole.files(logs)
        wrong = benches.ended(got) + benches.sentences(lines, 3) + whole.parts(logs)
        wrong += [] if got.code == 0 and got.out == "12 steps done\n" else [f"the job: {got.transcript()}"]
        if there or "unprofiled" not in said:
            wrong += session.against(want, said)
        moved = re.search(r"the session is in '(/(?:var/)?tmp/podprof-sessions-[0-9]+)' of ", said)
        if session.missing and "unprofiled" not in said and not moved and set(session.missing) != {"report.html"}:
            wrong.append(f"not on this node: {said!r}")
        if moved:
            elsewhere = whole.Session(moved[1])
            wrong += elsewhere.missing + elsewhere.broken
            shutil.rmtree(moved[1])
        if session.missing and there:
            for path in there:
                name = "XSpace" if path.endswith(".pb") else os.path.basename(path)
                if name not in said.partition("has ")[2].partition("but not")[0]:
                    wrong.append(f"{name} is there, and not named: {said!r}")
        if not there and any(files for _, _, files in os.walk(os.path.join(logs, "podprof"))):
            wrong.append("something is left")
        return [f"{size} KiB: {w}" for w in wrong], len(there)
    finally:
        # Lazy: a keeper that has just given up may still be on its way out.
        subprocess.run(["umount", "-l", where], check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--guest", required=True)
    args = parser.parse_args()
    place = jobs.Place(args.bin, args.guest, os.path.dirname(os.path.abspath(__file__)))
    where = tempfile.mkdtemp(prefix="podprof-disk-")
    wrong, counts = [], set()
    try:
        logs = place.new_logs()
        got = jobs.run([place.podprof(), "run", "-o", logs, "--", place.program("torture_job"), "0"], limit=60)
        want = whole.Session(logs)
        jobs.check(got.code == 0 and not want.missing and not want.broken, f"on a disk with room: {got.transcript()}")
        room = sum(os.path.getsize(f) for f in whole.files(logs)) // 1024 + 8
        sizes, came = [4, 8, *range(12, room + 40, max(4, room // 16 // 4 * 4)), 4 * room + 256], {}
        while sizes:  # a tmpfs has pages of 4 KiB: between two sizes that are more than one file apart, look at each
            for size in sizes:
                more, came[size] = one_size(place, size, want, where)
                wrong += more
            tried = sorted(came)
            sizes = [at for a, b in zip(tried, tried[1:]) if came[b] > came[a] + 1 for at in range(a + 4, b, 4)]
        counts |= set(came.values())
        more, files = one_size(place, 2 * room, want, where, fill=True)
        wrong += more
        counts.add(files)
    except jobs.Skipped as reason:
        print(f"skipped: {reason}")
        return jobs.SKIP
    except jobs.Failed as reason:
        wrong.append(str(reason))
    finally:
        os.rmdir(where)
        place.clean()
    # Writers run at once: which of them gets the last pages differs from run to run, and one file alone may never come.
    if not wrong and not ({0, len(whole.NAMES)} < counts and len(counts) >= len(whole.NAMES)):
        wrong.append(f"the sizes do not reach the writers in turn: files {sorted(counts)}")
    print("\n".join(wrong) or f"ok, {sorted(counts)} files")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
