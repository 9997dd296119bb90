#!/usr/bin/python3
"""A release: its archive, the versions that the pages tell, and the sessions of 0.1.0. Run by ctest package_release and scripts/release.

session-0.1.0.tar.xz was recorded by podprof 0.1.0 itself, built from commit FIRST, the last of 0.1.0: c_mpi_train on 4 ranks, steps 10 to
29, without (before) and with (after) `--slow-rank 3 --slow-us 20000`, and the site log of both."""
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile

from package import SOURCE, cache, check, good, jobs, run

FIRST = "f6cf790a"
NUMBERS = {"`format_version` of `pod.h5`": ("aggregate/dataset/hdf5_layout.h", r"PP_H5_FORMAT_VERSION = (\d+)"),
           "`podprof_fleet` of site logs": ("aggregate/fleet/job.c", r"\bVERSION = (\d+)"),
           "`schema` of `report --json`": ("aggregate/report/brief.c", r"SCHEMA = (\d+)"),
           "`schema` of `diff --json`": ("launchers/diff/json.c", r"SCHEMA = (\d+)"),
           "rings in the spool": ("core/ring/ring_file.h", r"PP_RING_VERSION = (\d+)"),
           "tables that keepers send": ("aggregate/dataset/block.h", r"PP_BLOCK_VERSION = (\d+)")}


def text_of(name):
    with open(os.path.join(SOURCE, name), encoding="utf-8") as f:
        return f.read()


def git(*words):
    return subprocess.run(["git", "-C", SOURCE, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)


def need_git():
    if not shutil.which("git") or git("rev-parse", "HEAD").returncode:
        raise jobs.Skipped("not a git checkout")


def versions(place, full):
    """Of each format the page tells what the source writes; the changes are those of this version."""
    version = re.search(r"project\(podprof VERSION ([0-9.]+)", text_of("CMakeLists.txt"))[1]
    check(good(run([place.podprof(), "--version"])).out == f"podprof {version}\n", "another version was built")
    check(re.search(r"^## (\S+)", text_of("CHANGELOG.md"), re.M)[1] == version, "CHANGELOG.md begins with another version")
    check(text_of("debian/changelog").startswith(f"podprof ({version})"), "debian/changelog begins with another version")
    rows = dict(re.findall(r"^\| (.+?) \| .+? \| (\d+) \|", text_of("docs/formats.md").split("## Versions")[1].split("\n## ")[0], re.M))
    check(f"of {version} |" in text_of("docs/formats.md"), "docs/formats.md tells the formats of another version")
    for name, (path, pattern) in NUMBERS.items():
        written = re.search(pattern, text_of(path))[1]
        check(rows.get(name) == written, f"{name}: docs/formats.md says {rows.get(name)}, {path} {written}")


def archive(place, full):
    """What git has of the commit, and nothing else."""
    need_git()
    got = good(run([os.path.join(SOURCE, "scripts", "release"), "--source", place.scratch]))
    path = got.out.strip()
    version = re.match(r"podprof-([0-9.]+)\.tar\.gz$", os.path.basename(path))[1]
    with tarfile.open(path) as tar:
        names = {m.name for m in tar.getmembers() if not m.isdir()}
        lists = tar.extractfile(f"podprof-{version}/CMakeLists.txt").read().decode()
    known = {f"podprof-{version}/{n}" for n in git("ls-tree", "-r", "-z", "--name-only", "HEAD").stdout.split("\0") if n}
    check(names == known, f"differs from the commit: {sorted(names ^ known)[:20]}")
    check(f"VERSION {version} " in lists, "its CMakeLists.txt is of another version")
    check(run([os.path.join(SOURCE, "scripts", "release"), "--bad"]).code == 64, "an unknown option is taken")


def old(place):
    with tarfile.open(place.script("session-0.1.0.tar.xz")) as tar:
        tar.extractall(place.scratch)
    where = os.path.join(place.scratch, "session-0.1.0")
    for name in ("before", "after"):
        place.changed.add(os.path.join(where, name, "pod.h5"))
    return where


def reads(place, full):
    """report, its page and tables, diff and fleet open what 0.1.0 wrote, and find in it what is there. --check says why it cannot."""
    where = old(place)
    page = os.path.join(place.scratch, "page.html")
    got = good(run([place.podprof(), "report", "--html", page, f"{where}/after"]))
    check("rank 3, Host compute" in open(page, encoding="utf-8").read(), got.transcript())
    said = json.loads(good(run([place.podprof(), "report", "--json", f"{where}/after"])).out)
    check(said["ranks"] == 4 and said["steps"] == 20 and len(said["rank"]) == 4 and said["step_numbers"] == "10..29", said)
    check(said["verdict"]["text"].startswith("unknown: an older podprof made this session") and said["next"].startswith("read what that podprof found"), said)
    ops = good(run([place.podprof(), "report", "--table", "op", f"{where}/after"])).out
    check("MPI_Allreduce" in ops, ops[:500])
    got = run([place.podprof(), "diff", "--json", f"{where}/before", f"{where}/after"])
    check(got.code == 0, got.transcript())
    check(json.loads(got.out)["schema"] == 2, got.transcript())
    got = run([place.podprof(), "diff", f"{where}/before", f"{where}/after"])
    check(got.code == 0 and re.search(r"rank 3: Host compute \+", got.out), got.transcript())
    fleet = json.loads(good(run([place.podprof(), "fleet", "--json", f"{where}/site.jsonl"])).out)
    check("vm" in json.dumps(fleet), fleet)
    got = run([place.podprof(), "report", "--check", f"{where}/after"])
    check(got.code != 0 and len(got.podprof_lines()) == 1 and "older podprof" in got.err, got.transcript())


def beside(place, full):
    """A session of today is compared with one of 0.1.0."""
    where, logs = old(place), place.new_logs()
    good(run(place.mpirun(4, place.under(logs, [os.path.join(place.bin, "c_mpi_train"), "--quiet", "--steps", "35"], "--steps", "10:30"))))
    got = good(run([place.podprof(), "diff", f"{where}/before", jobs.session_of(logs)]))
    check("c_mpi_train" in got.out and len(got.podprof_lines()) == len(got.err.splitlines()), got.transcript())


def refused(place, full):
    """0.1.0, built from its commit, refuses a session of today by one sentence that names this version. PODPROF_FIRST: its podprof, built."""
    podprof = os.environ.get("PODPROF_FIRST")
    if not podprof:
        if not full:
            raise jobs.Skipped("0.1.0 must be built for it: PODPROF_LONG=1, or PODPROF_FIRST names its podprof")
        need_git()
        if git("cat-file", "-e", FIRST).returncode:
            raise jobs.Skipped(f"this clone has no commit {FIRST}")
        source, build = os.path.join(place.scratch, "first"), os.path.join(place.scratch, "first", "build")
        os.mkdir(source)
        packed = subprocess.run(["git", "-C", SOURCE, "archive", FIRST], stdout=subprocess.PIPE, check=True).stdout
        subprocess.run(["tar", "-x", "-C", source], input=packed, check=True)
        good(run(["cmake", "-S", source, "-B", build, "-DBUILD_TESTING=OFF", "-DCMAKE_C_COMPILER_LAUNCHER=" + cache(place, "CMAKE_C_COMPILER_LAUNCHER")]))
        good(run(["cmake", "--build", build, "-j2", "--target", "podprof_cli"], limit=1500))
        podprof = os.path.join(build, "bin", "podprof")
    logs = place.new_logs()
    good(run(place.under(logs, [place.program("steps"), "5", "1"])))
    version = good(run([place.podprof(), "--version"])).out.split()[1]
    session = jobs.session_of(logs)
    for words in (["report", "--html", os.path.join(place.scratch, "page.html"), session], ["diff", session, session]):
        got = run([podprof, *words])
        check(got.code == 1 and len(got.err.splitlines()) == 1 and f"a newer podprof ({version}) wrote it" in got.err, got.transcript())


CASES = {"versions": versions, "archive": archive, "reads": reads, "beside": beside, "refused": refused}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__))
