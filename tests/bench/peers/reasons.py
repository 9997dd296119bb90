#!/usr/bin/python3 -B
"""What bench.peers could not measure has one reason in plain words, on stdout and in docs/performance.md: never the text of an exception.

Usage: reasons.py PERFORMANCE_MD"""
import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile

import peers

EXCEPTION = r"Errno|Error\b|Traceback|out of range|Command '|<class|b'"


def said(stderr, make=None):
    """The line of lost_row() about a directory that make() has filled."""
    out = io.StringIO()
    with tempfile.TemporaryDirectory() as where, contextlib.redirect_stdout(out):
        if make:
            session = os.path.join(where, "logs", "podprof", "now")
            os.makedirs(session)
            make(os.path.join(session, "pod.h5"))
        assert peers.lost_row(where, stderr) == 0
    return out.getvalue().rstrip("\n")


def garbage(path):
    with open(path, "w", encoding="utf-8") as f:
        f.write("no HDF5")


def main():
    lost = "skipped: records that podprof lost beside its peers: "
    got = said("LTTng is loud\npodprof: the disk is full\n")
    assert got == lost + "podprof run wrote no session: the disk is full", got
    got = said("")
    assert got == lost + "podprof run wrote no session", got
    got = said("", garbage)
    assert re.fullmatch(re.escape(lost) + r"h5py (is not installed .*|cannot read the session's pod\.h5)", got), got
    for error in (FileNotFoundError(2, "no file"), subprocess.TimeoutExpired(["lttng"], 30),
                  subprocess.CalledProcessError(1, ["lttng"], stderr=b"Error of a\nsecond line")):
        got = peers.lttng_reason(error)
        assert "\n" not in got and not re.search(EXCEPTION.replace(r"Error\b|", ""), got), got
    with open(sys.argv[1], encoding="utf-8") as f:
        page = f.read()
    section = re.search(r"^### Not measured\n(.*?)<!--", page, flags=re.M | re.S)
    for line in section[1].splitlines() if section else ():
        assert not re.search(EXCEPTION, line), "docs/performance.md: " + line


if __name__ == "__main__":
    main()
