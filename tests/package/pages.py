#!/usr/bin/python3
"""Man pages and shell completion against the help that the program prints. Run by ctest package_pages."""
import glob
import os
import re
import shutil
import sys

from package import build_of, check, good, jobs, run

VERBS = ("run", "report", "capture", "status", "hang", "diff", "fleet", "export", "view", "analyze", "salvage", "doctor", "slurm",
         "completion")


def options_of(place, verb):
    """The long options that --help prints."""
    return set(re.findall(r"^  (?:-., )?(--[a-z-]+)", good(run([place.podprof(), verb, "--help"])).out, re.M)) - {"--help"}


def pages(place):
    found = sorted(glob.glob(os.path.join(build_of(place), "man", "*.1")))
    check([os.path.basename(p) for p in found] == sorted(["podprof.1", *(f"podprof-{v}.1" for v in VERBS)]), f"pages: {found}")
    return found


def mandoc(place, full):
    """mandoc has nothing to say, not even in style."""
    if not shutil.which("mandoc"):
        raise jobs.Skipped("no mandoc here: apt-get install mandoc")
    got = run(["mandoc", "-Tlint", "-Wall", *pages(place)])
    check(got.code == 0 and not got.out and not got.err, got.transcript())


def groff(place, full):
    """man itself formats every page without a warning."""
    if not shutil.which("groff"):
        raise jobs.Skipped("no groff here")
    for page in pages(place):
        got = good(run(["groff", "-man", "-Tutf8", "-ww", "-z", page]))
        check(not got.err, got.transcript())


def complete(place, full):
    """No option, verb, variable or exit code is missing from its page."""
    for verb in VERBS:
        text = open(os.path.join(build_of(place), "man", f"podprof-{verb}.1")).read()
        for option in options_of(place, verb):
            check(option.replace("-", "\\-") in text, f"podprof-{verb}.1 does not know {option}")
        for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "EXAMPLES", "SEE ALSO"):
            check(re.search(rf"\n\.SH {section}\n(?!\.SH)", text), f"podprof-{verb}.1 has no {section}, or an empty one")
    text = open(os.path.join(build_of(place), "man", "podprof.1")).read()
    for name in set(re.findall(r"PODPROF_[A-Z_]+", good(run([place.podprof(), "--help"])).out)):
        check(name in text, f"podprof.1 does not know {name}")
    for word in ("pod.h5", "/dev/shm/podprof", "FILES", "ENVIRONMENT", *(f"podprof\\-{verb}" for verb in VERBS)):
        check(word in text, f"podprof.1 says nothing of {word}")


BASH = """
{setup}
source {script} || exit 1
COMP_WORDS=({words}) COMP_CWORD={last} COMP_LINE="{line}" COMP_POINT={point}
_podprof
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def bash_words(place, line, loaded=True):
    """What bash offers behind `line` ('=' is a word of its own there)."""
    words = [w for part in line.split(" ") for w in re.split("(=)", part) if w or not part]
    if line.endswith("="):
        words.append("")
    setup = "source /usr/share/bash-completion/bash_completion" if loaded else ""
    text = BASH.format(setup=setup, script=os.path.join(build_of(place), "completion", "podprof"), last=len(words) - 1, line=line,
                       words=" ".join(f"'{w}'" for w in words), point=len(line))
    got = good(run(["bash", "-c", text], cwd=place.scratch))
    return sorted(set(got.out.split()))


def bash(place, full):
    """Verbs, options, their values, directories, and the command of `run` with its own arguments."""
    script = os.path.join(build_of(place), "completion", "podprof")
    os.makedirs(os.path.join(place.scratch, "logs", "podprof"))
    got = good(run(["bash", "-c", f"source {script}; complete -p podprof"]))
    check("_podprof podprof" in got.out, got.transcript())
    got = good(run(["bash", "-n", script]))
    for verb in VERBS:
        want = sorted(o for o in options_of(place, verb))
        have = [w.rstrip("=") for w in bash_words(place, f"podprof {verb} --") if w != "--help"]
        check(have == want, f"{verb}: {have} instead of {want}")
    for line, want in (("podprof ", [*VERBS, "help", "--help", "--version"]), ("podprof re", ["report"]), ("podprof run --steps", ["--steps="]),
                       ("podprof run --xspace=", ["host", "rank"]), ("podprof run --xspace h", ["host"]), ("podprof run -o lo", ["logs"]),
                       ("podprof run --output=lo", ["logs"]), ("podprof report lo", ["logs"]),
                       ("podprof report --html=lo", ["logs"]), ("podprof report logs/", ["logs/podprof"]),
                       ("podprof run --steps ", []), ("podprof completion ", ["bash", "fish", "zsh"]), ("podprof help st", ["status"]), ("podprof slurm task-", ["task-epilog", "task-prolog"]),
                       ("podprof export --tool=m", ["memory_profile"]), ("podprof report --table slow", ["slowest"]), ("podprof export --categories Inp", ["Input"]), ("podprof doctor x", []),
                       ("podprof run --steps=1:2 mkdi", ["mkdir"]), ("podprof run --steps 1:2 -- mkdi", ["mkdir"])):
        have = bash_words(place, line, False)
        check(have == sorted(want), f"'{line}' offers {have} instead of {sorted(want)}")
    if os.path.exists("/usr/share/bash-completion/bash_completion"):
        have = bash_words(place, "podprof run -o logs -- ls --recurs")
        check("--recursive" in have, f"behind the command, its own options are offered: {have}")


def others(place, full):
    """zsh and fish read their scripts, and every option is in them."""
    for shell, name in (("zsh", "_podprof"), ("fish", "podprof.fish")):
        path = os.path.join(build_of(place), "completion", name)
        text = open(path).read()
        for verb in VERBS:
            check(verb in text, f"{name} does not know {verb}")
            for option in options_of(place, verb):
                check(option[2:] in text, f"{name} does not know {option}")
        if shutil.which(shell):
            good(run([shell, "-n", path]))


CASES = {"mandoc": mandoc, "groff": groff, "complete": complete, "bash": bash, "others": others}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__))
