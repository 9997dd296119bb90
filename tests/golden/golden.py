#!/usr/bin/python3
"""Recorded rings in, every table of pod.h5 out as text, compared with NAME.txt. Run by ctest golden.NAME.

    golden.py --bin BIN [NAME...]             compare
    golden.py --bin BIN --update [NAME...]    write NAME.txt as it is now: look at the diff before you commit it
    golden.py --bin BIN --record NAME         run the program of NAME, write NAME.tar.xz and NAME.txt
    golden.py --join PROGRAM [NAME...]        compare the whole with its halves joined, as PROGRAM (join_tables.c) writes them

A recording is the spool of a job that no keeper read. Its ticks are CLOCK_MONOTONIC_RAW, so that salvage measures no clock and every
number is exact."""
import argparse
import difflib
import glob
import os
import re
import subprocess
import sys
import tarfile
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(HERE, "..", "guest"))

import jobs  # noqa: E402

try:
    import h5py
    import numpy as np
except ImportError:
    print("skipped: python3-h5py is not installed")
    sys.exit(jobs.SKIP)

# What a run of the test has of its own, or of the machine that recorded: that it is there is compared, not its value.
OWN = {"/podprof_version", "/epoch_realtime_ns", "/quality/keeper_cpu_ns", "/quality/keeper_rss_bytes", "/quality/record_cost_ps", "/worker/pid", "/worker/version"}
# Size of a file before the zeros at its end were left out.
SIZE = "podprof.size"
UNKNOWN = (-2 ** 63,)  # of int64; a time that never was too
TORCH = os.path.join(TOP, ".venv", "bin")
# Name: command, run in a directory that holds the programs and scripts that it names; {bin} is the build's bin directory.
RECORDINGS = {
    "train": ("mpirun -n 2 ./c_mpi_train --steps 6", ["{bin}/c_mpi_train"]),
    "waits": ("mpirun -n 3 ./waits behind marked", ["{bin}/../tests/guest/waits"]),
    "sendrecv": ("mpirun -n 2 ./sendrecv", ["{bin}/../tests/guest/sendrecv"]),
    "nvtx": ("./nvtx_marks steps", ["{bin}/../tests/guest/nvtx_marks"]),
    "torch": ("python3 -m torch.distributed.run --nproc-per-node 2 --master-addr 127.0.0.1 --master-port 29517 --no-python python3 train.py --steps 4", ["examples/pytorch_ddp/train.py"]),
}


def environment(podprof, scratch):
    """What `podprof run` would give to the ranks, without its keeper."""
    got = subprocess.run([podprof, "run", "-o", scratch, "--spool", os.path.join(scratch, "first"), "--wait", "0", "--", "env", "-0"],
                         env=jobs.clean_environment(), check=True, capture_output=True, text=True)
    env = dict(v.split("=", 1) for v in got.stdout.split("\0") if "=" in v)
    env = {k: v for k, v in env.items() if k not in ("PODPROF_PROGRAM", "PODPROF_JOB")}
    env.update({"PODPROF_SPOOL": os.path.join(scratch, "spool"), "PODPROF_TICK": "raw", "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo",
                "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none",
                "PATH": TORCH + ":" + env["PATH"]})
    return env


def record(podprof, name):
    """The host has a name of its own, and the command no path: a recording tells nothing of where it was made."""
    command, needs = RECORDINGS[name]
    with tempfile.TemporaryDirectory(prefix="golden-") as scratch:
        env = environment(podprof, scratch)
        os.mkdir(os.path.join(scratch, "spool"))
        with open(os.path.join(scratch, "spool", "options"), "w", encoding="ascii") as f:
            f.write(f"OUTPUT=logs\nSESSION={name}\nSTEPS=\nWAIT=0\nJOB=golden\nCOMMAND={command}\n")
        for need in needs:
            path = os.path.normpath(os.path.join(TOP, need.format(bin=os.path.dirname(podprof))))
            os.symlink(path, os.path.join(scratch, os.path.basename(path)))
        subprocess.run(["unshare", "-r", "-u", "sh", "-c", "hostname golden && exec " + command], cwd=scratch, env=env, check=True)
        with tarfile.open(os.path.join(HERE, name + ".tar.xz"), "w:xz", format=tarfile.PAX_FORMAT, preset=9) as tar:
            for path in sorted(glob.glob(os.path.join(scratch, "spool", "*"))):
                pack(tar, path)


def pack(tar, path):
    with open(path, "rb") as f:
        data = f.read()
    info, kept = tarfile.TarInfo(os.path.basename(path)), data.rstrip(b"\0")
    info.size, info.mode, info.pax_headers = len(kept), 0o600, {SIZE: str(len(data))}
    with tempfile.TemporaryFile() as f:
        f.write(kept)
        f.seek(0)
        tar.addfile(info, f)


def unpack(name, spool):
    os.mkdir(spool, 0o700)
    with tarfile.open(os.path.join(HERE, name + ".tar.xz")) as tar:
        for info in tar:
            path = os.path.join(spool, os.path.basename(info.name))
            with open(path, "wb") as f:
                f.write(tar.extractfile(info).read())
                f.truncate(int(info.pax_headers[SIZE]))
            os.chmod(path, 0o600)


def word(value):
    if isinstance(value, bytes):
        return re.sub(r"(?<==)/[^ ]*", "PATH", value.decode()) or "''"
    return "?" if value in UNKNOWN else f"{value:.9g}" if isinstance(value, (float, np.floating)) else str(value)


def rows(values):
    """A line for each text, one for each row of an array, at most 16 numbers in each."""
    if values.dtype.kind in "OS":
        return [word(v) for v in values.reshape(-1)]
    flat = values.reshape(-1, values.shape[-1]) if values.ndim > 1 else values.reshape(1, -1)
    return [" ".join(word(v) for v in row[i:i + 16]) for row in flat for i in range(0, len(row), 16)]


def tables(path):
    """Every attribute of the root and every column, in the order of their names."""
    lines = []

    def show(name, values, more=""):
        values = np.asarray(values)
        kind = "text" if values.dtype.kind in "OS" else str(values.dtype)
        lines.append(f"{name} {kind} {'x'.join(map(str, values.shape))}{more}".rstrip())
        lines.extend("    " + row for row in ([] if name in OWN else rows(values)))

    def column(name, item):
        if isinstance(item, h5py.Dataset):
            dims = " ".join(d[0].name for d in item.dims if len(d))
            unit = word(item.attrs["units"]) if "units" in item.attrs else ""
            show("/" + name, item[()], f" [{dims}] {unit}")

    with h5py.File(path, "r") as f:
        for name in sorted(f.attrs):
            show("/" + name, f.attrs[name])
        f.visititems(column)
    return "\n".join(lines) + "\n"


def salvaged(podprof, name):
    with tempfile.TemporaryDirectory(prefix="golden-") as scratch:
        unpack(name, os.path.join(scratch, "spool"))
        got = jobs.run([podprof, "salvage", "spool", "-o", "logs", "--session", name], cwd=scratch)
        jobs.check(got.code == 0, f"{got.transcript()}\nIf the rings have another form now: golden.py --record {name}")
        logs = os.path.join(scratch, "logs")
        jobs.check_page(podprof, logs, os.path.join(logs, "podprof", name))
        return tables(os.path.join(logs, "podprof", name, "pod.h5"))


def differences(want, got, names):
    differ = list(difflib.unified_diff(want.splitlines(), got.splitlines(), *names, lineterm="", n=2))
    print("\n".join(differ[:200]) if differ else f"{names[0]}: {len(want.splitlines())} lines are the same")
    return 1 if differ else 0


def join(program, name):
    with tempfile.TemporaryDirectory(prefix="golden-") as scratch:
        unpack(name, os.path.join(scratch, "spool"))
        got = jobs.run([program, name, *sorted(glob.glob(os.path.join(scratch, "spool", "*.ring")))], cwd=scratch)
        jobs.check(got.code == 0, got.transcript())
        print(got.out, end="")
        whole, joined = (tables(os.path.join(scratch, part, "podprof", name, "pod.h5")) for part in ("whole", "joined"))
        return differences(whole, joined, (name, "its halves joined"))


def compare(podprof, name, update):
    path, text = os.path.join(HERE, name + ".txt"), salvaged(podprof, name)
    if update:
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return 0
    with open(path, encoding="utf-8") as f:
        want = f.read()
    differ = differences(want, text, (name + ".txt", "now"))
    if differ:
        print(f"{name}: if that is right, tests/golden/golden.py --bin {os.path.dirname(podprof)} --update {name}")
    return differ


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=os.path.join(TOP, "build", "bin"), help="directory of podprof")
    parser.add_argument("--join", metavar="PROGRAM")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("name", nargs="*", choices=[[], *RECORDINGS])
    args = parser.parse_args()
    podprof = os.path.join(os.path.abspath(args.bin), "podprof")
    for name in args.name if args.record else ():
        record(podprof, name)
    try:
        if args.join:
            return max(join(os.path.abspath(args.join), name) for name in args.name or RECORDINGS)
        return max(compare(podprof, name, args.update or args.record) for name in args.name or RECORDINGS)
    except jobs.Failed as reason:
        print(reason)
        return 1


sys.exit(main())
