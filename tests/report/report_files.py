#!/usr/bin/python3
"""Files of the report without a browser: fresh, old, elsewhere, unwritable; and pod.h5 files that cannot be read. Run by ctest report_files."""
import gzip
import json
import os
import random
import re
import shutil
import struct
import sys
import time

import h5py
import numpy as np

from kit import check, jobs, make
import pods


def session(place, pod=None):
    place.count += 1
    return (pod or pods.Pod(workers=3, steps=3)).write(os.path.join(place.scratch, f"session{place.count}"))


def report(place, directory, *options):
    return jobs.run([place.podprof(), "report", *options, directory])


def again(place, full):
    """Made when missing, kept when fresh, made anew when older than the dataset; no .part is left; stdout is the summary alone."""
    directory = session(place)
    page = make(place, directory)
    first = os.stat(page)
    got = report(place, directory)
    check(got.code == 0 and got.out == "a summary\n" and os.stat(page).st_ino == first.st_ino, got.transcript())
    os.utime(page, ns=(1, os.stat(os.path.join(directory, "pod.h5")).st_mtime_ns - 1))
    make(place, directory)
    check(os.stat(page).st_ino != first.st_ino, "an old page was kept")
    check(sorted(os.listdir(directory)) == ["pod.h5", "report.html", "summary.txt"], os.listdir(directory))
    other = os.path.join(place.scratch, "elsewhere.html")
    got = report(place, directory, "--html", other)
    check(got.code == 0 and open(other, "rb").read() == open(page, "rb").read() and other in got.err, got.transcript())


def refused(place, directory, *words):
    """One sentence that names the file and the cure, exit code not 0, no page, no .part."""
    got = report(place, directory)
    lines = got.err.splitlines()
    check(got.code == 1 and len(lines) == 1 and lines[0].startswith("podprof: cannot read"), got.transcript())
    for word in ("pod.h5", *words):
        check(word in lines[0], f"'{word}' is not in: {lines[0]}")
    check(got.out == "a summary\n", f"the summary was lost: {got.out}")
    check(not [n for n in os.listdir(directory) if "report" in n], os.listdir(directory))


def unreadable(place, full):
    """Cut at any length, foreign, newer, damaged inside."""
    directory = session(place)
    path = os.path.join(directory, "pod.h5")
    with open(path, "rb") as f:
        whole = f.read()
    for length in (0, 1, 7, 100, 600, len(whole) // 2, len(whole) - 1):
        with open(path, "wb") as f:
            f.write(whole[:length])
        refused(place, directory, "HDF5 file" if length < 8 else "again")
    with open(path, "wb") as f:
        f.write(b"PK\3\4 a zip is no dataset" * 100)
    refused(place, directory, "not an HDF5 file", "podprof wrote")
    with h5py.File(path, "w") as f:
        f["x"] = np.arange(9)
    refused(place, directory, "another program")
    with open(path, "wb") as f:
        f.write(whole)
    with h5py.File(path, "r+") as f:
        f.attrs["format_version"] = np.int64(99)
    refused(place, directory, "newer podprof", "99")
    os.remove(path)
    got = report(place, directory)
    check(got.code == 0 and got.out == "a summary\n" and "pod.h5" in got.err and len(got.err.splitlines()) == 1, got.transcript())


def flipped(place, full):
    """Bytes changed anywhere: a page or one sentence, whatever HDF5 itself does with them."""
    directory, chance = session(place), random.Random(7)
    path, page = os.path.join(directory, "pod.h5"), os.path.join(directory, "report.html")
    with open(path, "rb") as f:
        whole = f.read()
    for i in range(400 if full else 40):
        bad = bytearray(whole)
        for _ in range(chance.choice((1, 3, 20))):
            bad[chance.randrange(len(bad) if i % 2 else 8000)] = chance.randrange(256)
        with open(path, "wb") as f:
            f.write(bad)
        got = jobs.run([place.podprof(), "report", "--html", page, directory])
        said = got.podprof_lines()
        check(got.code in (0, 1) and len(said) == 1 and got.out == "a summary\n", got.transcript())
        check((page in said[0]) if got.code == 0 else said[0].startswith("podprof: cannot"), got.transcript())
        check(not os.path.exists(page + ".part"), "a .part was left")


def hurt(whole, i, chance):
    """One way to damage a file: bits flipped, bytes changed, cut, a part overwritten by noise, zeros or ones."""
    bad, where = bytearray(whole), len(whole) if i % 2 else min(len(whole), 40000)  # its metadata come first
    if i % 5 == 0:
        for _ in range(chance.choice((1, 3, 20))):
            bad[chance.randrange(where)] ^= 1 << chance.randrange(8)
    elif i % 5 == 1:
        for _ in range(chance.choice((1, 3, 20))):
            bad[chance.randrange(where)] = chance.randrange(256)
    elif i % 5 == 2:
        del bad[chance.randrange(len(bad)):]
    else:
        at, n = chance.randrange(where), chance.choice((8, 64, 512, 2048, 8192))
        n = min(n, len(bad) - at)
        bad[at:at + n] = chance.randbytes(n) if i % 5 == 3 else chance.choice((b"\0", b"\xff")) * n
    return bad


def damaged(place, full):
    """A job's own pod.h5, damaged in many ways: each verb that reads it ends by itself, with a page or one sentence of its own."""
    logs, chance = place.new_logs(), random.Random(28)
    got = jobs.run(place.under(logs, [place.program("steps"), "5", "1"]))
    check(got.code == 0, got.transcript())
    directory = jobs.session_of(logs)
    path, page = os.path.join(directory, "pod.h5"), os.path.join(place.scratch, "damaged.html")
    with open(path, "rb") as f:
        whole = f.read()
    for i in range(800 if full else 40):
        with open(path, "wb") as f:
            f.write(hurt(whole, i, chance))
        for words in (["--html", page, directory], ["--list", logs]):
            got = jobs.run([place.podprof(), "report", *words], limit=120)
            said = got.err.splitlines()
            check(not got.timed_out and got.code in (0, 1), f"{i}: {got.transcript()}")
            check(len(said) <= 1 and all(line.startswith("podprof: ") for line in said), f"{i}: {got.transcript()}")
            check(words[0] == "--list" or said[0].startswith("podprof: cannot") == (got.code == 1), f"{i}: {got.transcript()}")
        check(not [n for n in (*os.listdir(directory), *os.listdir(place.scratch)) if n.endswith(".part")], f"{i}: a .part was left")


def endless(place, full):
    """Where HDF5 never comes back: it is ended, and no .part is left, nor by who does not wait for that."""
    directory = session(place)
    path = os.path.join(directory, "pod.h5")
    with open(path, "rb") as f:
        whole = bytearray(f.read())
    heap = whole.index(b"GCOL") + 16
    whole[heap:heap + 4080] = bytes(4080)  # objects without a length, one after the other
    with open(path, "wb") as f:
        f.write(whole)
    impatient = jobs.start([place.podprof(), "report", directory])
    time.sleep(1)
    check(impatient.poll() is None, "HDF5 takes this file")
    impatient.kill()
    jobs.finish(impatient)
    refused(place, directory, "CPU time", "damaged")
    logs = place.new_logs()  # nor does a keeper that looks for the session before its own
    os.makedirs(os.path.join(logs, "podprof"))
    for i in range(4):
        shutil.copytree(directory, os.path.join(logs, "podprof", f"old{i}"))
    got = jobs.run(place.under(logs, [place.program("steps"), "5", "1"]), {"TORCHELASTIC_RUN_ID": "again", "TORCHELASTIC_RESTART_COUNT": "1"}, limit=120)
    check(got.code == 0 and "steps 0..4 captured" in got.err, got.transcript())


def formats(place, full):
    """Format 1 has texts of fixed length, format 2 of variable length: the page is the same. A real file of format 1 is read too."""
    page = {}
    for version in (1, 2):
        with open(make(place, session(place, pods.Pod(workers=3, steps=3, missing=(1,), version=version)))) as f:
            page[version] = re.sub(r'"timeline_why":"[^"]*"|"pod_bytes":[0-9]+', '', f.read())  # of the directory, and of the format
        check(f'"format_version":{version},' in page[version] and '"node1"' in page[version], f"no format {version}")
    check(page[1] == page[2].replace('"format_version":2,', '"format_version":1,'), "the pages of the two formats differ")
    directory = session(place)
    with gzip.open(place.script("format1.h5.gz")) as packed, open(os.path.join(directory, "pod.h5"), "wb") as f:
        f.write(packed.read())
    with open(make(place, directory)) as f, h5py.File(os.path.join(directory, "pod.h5")) as pod:
        text = f.read()
        names = [n.decode() for n in pod["op/name"][:]]
        check('"format_version":1,' in text and "MPI_Allreduce" in names, names)
        for name in (*names[:20], pod["worker/host"][0].decode()):
            check(name in text, f"'{name[:50]}' is not on the page")


def heaps(place, full):
    """Damaged texts: lengths and references of HDF5's heaps of any value. A page or one sentence."""
    directory = session(place, pods.Pod(workers=40, steps=3))
    path = os.path.join(directory, "pod.h5")
    with open(path, "rb") as f:
        whole = f.read()
    places = [m.start() for m in re.finditer(b"GCOL", whole)]
    check(places, "no text is in a heap")
    for at in places if full else places[::len(places) - 1 or 1]:
        for offset, value in ((8, 0), (8, 2 ** 63), (16, 2 ** 64 - 1), (24, 2 ** 32), (24, 2 ** 16), (24, 2 ** 64 - 1)):
            bad = bytearray(whole)
            bad[at + offset: at + offset + 8] = struct.pack("<Q", value)
            with open(path, "wb") as f:
                f.write(bad)
            got = report(place, directory)
            check(got.code in (0, 1) and len(got.podprof_lines()) == 1 and got.out == "a summary\n", f"heap {at}+{offset}: {got.transcript()}")
            check(not [n for n in os.listdir(directory) if ".part" in n], os.listdir(directory))
    with open(path, "wb") as f:
        f.write(whole)
    with h5py.File(path) as f:
        names = [f["worker/host"], f["breakdown/category"], f["collective/operation"]]
        references = [n.id.get_offset() + 16 * i for n in names for i in range(n.size)]  # length, address of the heap, index
    for lengths in (2 ** 32 - 1, 2 ** 20 - 1, 100, 0) if full else (2 ** 31, 100):
        bad = bytearray(whole)
        for at in references:
            bad[at: at + 4] = struct.pack("<I", lengths)
        with open(path, "wb") as f:
            f.write(bad)
        got = report(place, directory)
        check(got.code in (0, 1) and len(got.podprof_lines()) == 1 and got.out == "a summary\n", f"lengths {lengths}: {got.transcript()}")


def crooked(place, full):
    """Groups that do not fit each other, columns of the wrong kind: a sentence, never a crash."""
    def change(name, values):
        pod = pods.Pod(workers=3, steps=3)

        def spoil(f, p):
            del f[name]
            if values is not None:
                f[name] = values
        pod.extra = spoil
        return session(place, pod)
    for name, values in (("breakdown/exclusive_ns", np.zeros((3, 3, 4), np.int64)), ("breakdown/step", np.array([b"a", b"b", b"c"])),
                         ("breakdown/step_ns", np.zeros((2, 3), np.int64)), ("worker/rank", np.zeros((5,), np.int32)), ("worker/host", np.arange(3)),
                         ("clock/bound_ns", np.array([1.5, 2.5, 3.5]))):
        refused(place, change(name, values), "again") if name != "worker/host" else refused(place, change(name, values), "worker/host")
    few = change("worker/rank", np.zeros((1,), np.int32))  # /breakdown is of three: their numbers are no steps of the one
    with h5py.File(os.path.join(few, "pod.h5"), "a") as f:
        for group in [g for g in ("step",) if g in f]:
            del f[group]
        for column in [f"{g}/{c}" for g in ("worker", "clock", "quality") if g in f for c in f[g] if f[g][c].shape[:1] == (3,)]:
            del f[column]
    refused(place, few, "/breakdown does not fit /worker")
    for name, values in (("collective/row_first", np.array([2 ** 63, 5, 7], np.uint64)), ("collective/wait_ns", None), ("quality/dropped", None),
                         ("breakdown/late_ns", None), ("clock/bound_ns", None), ("quality/absent", np.arange(5)), ("collective/step", np.zeros((3, 2)))):
        make(place, change(name, values))


def unwritable(place, full):
    """A directory that may not be written: the summary, one sentence, and --html helps."""
    directory = session(place)
    got = report(place, directory, "--html", "/proc/nothing/report.html")
    check(got.code == 1 and got.out == "a summary\n" and len(got.err.splitlines()) == 1 and "/proc/nothing" in got.err, got.transcript())
    got = report(place, directory, "--html", place.scratch)
    check(got.code == 1 and got.err == f"podprof: cannot write '{place.scratch}': is a directory.\n", got.transcript())
    if os.geteuid() == 0:
        return  # root may write everywhere
    os.chmod(directory, 0o555)
    got = report(place, directory)
    os.chmod(directory, 0o755)
    check(got.code == 0 and "--html FILE" in got.err and got.out == "a summary\n", got.transcript())


def tables(place, full):
    """One table as CSV and JSON; one that the file lacks, columns that it lacks, a name that there is not, a form without a table."""
    directory = session(place)
    got = report(place, directory, "--table", "slowest")
    check(got.code == 0 and got.out == "step,worker,over_ns\n" and "pod.h5' has no table 'slowest': no step is complete on two ranks" in got.err, got.transcript())
    got = report(place, directory, "--table", "clock_change")
    check(got.code == 0 and "has no table 'clock_change': no data was recorded for it, or" in got.err, got.transcript())
    with h5py.File(os.path.join(directory, "pod.h5"), "a") as f:
        if "communicator" in f:
            del f["communicator"]
    got = report(place, directory, "--table", "communicator")
    check(got.code == 0 and "has no table 'communicator': no communicator was recorded" in got.err, got.transcript())
    with h5py.File(os.path.join(directory, "pod.h5"), "a") as f:
        group = f.create_group("slowest")
        group["step"], group["worker"] = np.array([4, 5], np.int64), np.array([1, 0], np.int32)
    got = report(place, directory, "--table", "slowest")
    check(got.code == 0 and got.out == "step,worker,over_ns\n4,1,0\n5,0,0\n", got.transcript())
    check("has no values for these columns, which are unknown or 0 here: over_ns." in got.err, got.transcript())
    with h5py.File(os.path.join(directory, "pod.h5"), "a") as f:
        f["slowest/over_ns"] = np.array([70, 80], np.int64)
    got = report(place, directory, "--table", "slowest", "--format", "json")
    found = {c["name"]: c["data"] for c in json.loads(got.out)["columns"]}
    check(got.code == 0 and not got.err and found == {"step": [4, 5], "worker": [1, 0], "over_ns": [70, 80]}, got.transcript())
    got = report(place, directory, "--table", "breakdown", "--format", "json")  # a group of one table, and one of several
    check(got.code == 0 and json.loads(got.out)["table"] == "cell", got.transcript())
    got = report(place, directory, "--table", "clock", "--format", "json")
    found = json.loads(got.out)
    check(found["group"] == "clock" and "host_clock" in [t["table"] for t in found["tables"]], got.transcript())
    got = report(place, directory, "--table", "nope")
    check(got.code == 64 and not got.out and "unknown table: 'nope'. Choose one of: worker, step, " in got.err, got.transcript())
    got = report(place, directory, "--format", "json")
    check(got.code == 64 and not got.out and "Give --table NAME too" in got.err, got.transcript())


if __name__ == "__main__":
    sys.exit(jobs.main({"again": again, "unreadable": unreadable, "formats": formats, "heaps": heaps, "flipped": flipped, "damaged": damaged, "endless": endless, "crooked": crooked, "unwritable": unwritable, "tables": tables}, __doc__))
