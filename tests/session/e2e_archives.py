#!/usr/bin/python3
"""podprof analyze on archives and packed files made here, whole, damaged and hostile: which traces are found, what is said, and that
nothing is written under a member's name. Run by ctest session_archives."""
import ctypes
import gzip
import io
import lzma
import os
import struct
import sys
import tarfile
import warnings
import zipfile

from e2e import h5, read, text
from e2e_analyze import analyze, folder, kineto, put
import jobs
from jobs import check, run, session_of


def varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out + bytes([n]))


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def xspace(steps=3, host="vm"):
    """Steps of 1 us on a thread of Python."""
    events = b"".join(field(4, field(1, 1) + field(2, s * 1000000) + field(3, 900000) + field(4, field(1, 1) + field(4, s))) for s in range(steps))
    plane = field(2, "/host:CPU") + field(3, field(1, 1) + field(2, "python") + events)
    plane += field(4, field(1, 1) + field(2, field(1, 1) + field(2, "train"))) + field(5, field(1, 1) + field(2, field(1, 1) + field(2, "step_num")))
    return field(1, plane) + field(4, host)


def zstd(data):
    """A frame of Zstandard with blocks that are not packed."""
    out = b"\x28\xb5\x2f\xfd\xa0" + struct.pack("<I", len(data))
    for at in range(0, len(data), 100000):
        part = data[at:at + 100000]
        out += struct.pack("<I", (at + 100000 >= len(data)) | len(part) << 3)[:3] + part
    return out


def zipped(members, how=zipfile.ZIP_DEFLATED):
    out = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(out, "w", how) as z:
        warnings.simplefilter("ignore")  # of equal names
        for name, data in members:
            z.writestr(zipfile.ZipInfo(name), data, how)
    return out.getvalue()


def tarred(members):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as t:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            t.addfile(info, io.BytesIO(data))
    return out.getvalue()


def two(pack=None):
    pack = pack or (lambda data: data)
    return [(f"run/rank{r}.json" + (".gz" if pack is gzip.compress else ""), pack(kineto(r).encode())) for r in (1, 0)]


def files_of(session):
    with h5(session) as f:
        return [text(t) for t in f["trace_file/name"][()]]


def numbers(session):
    with h5(session) as f:
        return {name: f[name][()].tolist() for name in ("worker/rank", "step/step", "breakdown/exclusive_ns", "trace_file/events")}


def every_kind(place, full):
    """Each kind of archive gives what a directory gives, and a packed file what the file gives."""
    logs = place.new_logs()
    analyze(place, logs, folder(place, "plain"))
    wanted = numbers(session_of(logs))
    tar = tarred(two())
    kinds = {"a.zip": zipped(two()), "stored.zip": zipped(two(), zipfile.ZIP_STORED), "packed.zip": zipped(two(gzip.compress)), "a.tar": tar,
             "a.tar.gz": gzip.compress(tar), "a.tgz": gzip.compress(tar), "a.tar.zst": zstd(tar), "a.tar.xz": lzma.compress(tar),
             "no_name_for_it": gzip.compress(tar)}
    for name, data in kinds.items():
        logs = place.new_logs()
        got = analyze(place, logs, put(place, name, data))
        check(numbers(session_of(logs)) == wanted, name)
        check("steps 10..13 of 2 ranks" in got.err, got.transcript())
        ends = [f.split("/" + name)[-1] for f in files_of(session_of(logs))]
        check(sorted(e.replace(".gz", "") for e in ends) == ["/run/rank0.json", "/run/rank1.json"], ends)
    logs = place.new_logs()
    put(place, "packed/rank0.pt.trace.json.zst", zstd(kineto(0).encode()))
    put(place, "packed/rank1.pt.trace.json.zst", zstd(kineto(1).encode()))
    analyze(place, logs, os.path.join(place.scratch, "packed"))
    check(numbers(session_of(logs)) == wanted, "two .zst")


def both_formats(place, full):
    """XSpace as Kineto; a directory with archives and files; sessions of JAX in an archive are sessions; what is no trace is counted."""
    logs = place.new_logs()
    put(place, "mixed/hosts.tar", tarred([("a.xplane.pb", xspace(host="a")), ("notes.txt", b"x"), ("config.json", b"{}"), ("._a.xplane.pb", b"\0")]))
    put(place, "mixed/c.xplane.pb", xspace(host="c"))
    put(place, "mixed/b.xplane.pb.zst", zstd(xspace(host="b")))
    put(place, "mixed/other.zip", zipped([("readme.md", b"text")]))
    got = analyze(place, logs, os.path.join(place.scratch, "mixed"))
    check("steps 0..2 of 3 ranks on 3 hosts, from 3 files" in got.err, got.transcript())
    check("3 files in archives are no traces, and left out" in read(session_of(logs), "summary.txt"), read(session_of(logs), "summary.txt"))
    sessions = put(place, "sessions.zip", zipped([(f"plugins/profile/{s}/vm.xplane.pb", xspace()) for s in ("one", "two")]))
    got = analyze(place, place.new_logs(), sessions, code=64)
    check("the files are of 2 sessions" in got.err, got.transcript())
    got = analyze(place, place.new_logs(), put(place, "none.zip", zipped([("a.txt", b"x")])), code=1)
    check("none.zip' has no trace" in got.err, got.transcript())


def read_again(place, full):
    """The timeline reads members again, and report analyses an archive by itself; an archive that is given twice is read once."""
    archive = put(place, "again.zip", zipped(two()))
    logs = place.new_logs()
    got = analyze(place, logs, archive, archive)
    check("2 ranks" in got.err, got.transcript())
    out = os.path.join(place.scratch, "again.json")
    got = run([place.podprof(), "export", "--format", "chrome", logs, "-o", out])
    check(got.code == 0 and "gemm" in read(place.scratch, "again.json"), got.transcript())
    got = run([place.podprof(), "report", archive, "-o", place.new_logs()])
    check(got.code == 0 and "gemm" in got.out + got.err, got.transcript())


def names(place, full):
    """No name of a member is a path of the file system; equal names are different files."""
    outside = os.path.join(place.scratch, "escaped.json")
    members = [(outside, kineto(0).encode()), ("../../escaped.json", kineto(1).encode()), ("same.json", kineto(2).encode()),
               ("same.json", kineto(3).encode()), ("bad\x01\xff\n.json", kineto(4).encode()), ("x" * 300 + ".json", kineto(5).encode())]
    for name, data in (("n.tar", tarred(members)), ("n.zip", zipped(members))):
        before = {os.path.join(d, f) for d, _, files in os.walk(place.scratch) for f in files}
        logs = place.new_logs()
        got = analyze(place, logs, put(place, name, data))
        check("6 ranks" in got.err, got.transcript())
        shown = files_of(session_of(logs))
        check(len(set(shown)) == 6 and not any("/../" in f or any(c < " " for c in f) for f in shown), shown)
        left = {os.path.join(d, f) for d, _, files in os.walk(place.scratch) for f in files} - before
        check(not [f for f in left if "escaped" in f or "same" in f], left)


def damaged(place, full):
    """What stands before the damage is analysed, and podprof says that something is missing."""
    long = [(f"r{r}.json", kineto(r, steps=40, events=20).encode()) for r in range(3)]
    tar = tarred(long)
    cut = len(tar) - len(long[2][1]) // 2 - 10240
    for name, data in (("cut.tar", tar[:cut]), ("cut.tar.gz", gzip.compress(tar)[:-2000]), ("cut.zip", zipped(long)[:-3000])):
        logs = place.new_logs()
        got = analyze(place, logs, put(place, name, data), code=2)
        check("3 ranks" in got.err or "2 ranks" in got.err, got.transcript())
        with h5(session_of(logs)) as f:
            status = [text(t) for t in f["worker/status"][()]]
            check(status[0] == status[1] == "delivered", status)
            check(len(status) == 2 or status[2] != "delivered", status)
    logs = place.new_logs()
    got = analyze(place, logs, put(place, "cut.json.zst", zstd(kineto(0, steps=400).encode())[:-9]), code=2)
    check("1 rank" in got.err, got.transcript())
    got = analyze(place, place.new_logs(), put(place, "noise.zip", b"PK\3\4" + bytes(range(256)) * 9), code=1)
    check("noise.zip" in got.err, got.transcript())


def bombs(place, full):
    """Zeros are no trace, and not unpacked. A trace that becomes far larger than its archive is read to the limit, which is said."""
    zeros = bytes(1 << 26)
    logs = place.new_logs()
    got = analyze(place, logs, put(place, "zeros.zip", zipped([("x.json", zeros), ("y.json", kineto(0).encode())])))
    check("1 rank" in got.err, got.transcript())
    many = kineto(0).encode()[:-1] + b', "pad": [' + b"0," * (1 << 23) + b"0]}"
    once = lzma.compress(tarred([("spaces.json", many)]), preset=1)
    check(len(once) * 1032 < len(many), len(once))
    logs = place.new_logs()
    got = analyze(place, logs, put(place, "bomb.tar.xz", once), code=2)
    with h5(session_of(logs)) as f:
        check("1032 times" in text(f["trace_file/damage"][()][0]), f["trace_file/damage"][()])


def no_place(place, full):
    """TMPDIR that cannot be written is said with its name."""
    archive = put(place, "place.zip", zipped(two()))
    got = analyze(place, place.new_logs(), archive, prefix=["env", "TMPDIR=/proc/none"], code=1)
    check("/proc/none" in got.err and "TMPDIR" in got.err, got.transcript())


CASES = {f.__name__: f for f in (every_kind, both_formats, read_again, names, damaged, bombs, no_place)}

if __name__ == "__main__":
    try:
        ctypes.CDLL("libarchive.so.13")
    except OSError:
        print("libarchive is not installed")
        sys.exit(77)
    sys.exit(jobs.main(CASES, __doc__))
