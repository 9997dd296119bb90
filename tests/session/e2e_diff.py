#!/usr/bin/python3
"""podprof diff of real jobs: equal ones, one with a slow rank, other numbers of ranks, trends, damaged files. Run by ctest session_diff."""
import html as html_module
import json
import os
import random
import re
import shutil
import sys

import h5py

from e2e import good, train
import jobs
from jobs import check, run, session_of

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "report"))
import chromium  # noqa: E402

def record(place, ranks=4, words=(), options=("--steps", "20:80")):
    logs = place.new_logs()
    good(train(place, logs, ranks, ("--steps", "100", "--quiet", *words), options))
    return logs


def diff(place, *words, code=0, lines=0):
    got = run([place.podprof(), "diff", *words])
    check(got.code == code and len(got.err.splitlines()) == lines, f"exit code {got.code}, not {code}\n{got.transcript()}")
    return got


def compare(place, *words, code=0):
    return json.loads(diff(place, "--json", *words, code=code).out)


def equal(place, full):
    """Equal jobs have no difference. A load that begins or ends between two of them is one, so three that agree may take more than three. They
    sleep: how long four ranks compute on two cores differs from run to run."""
    wanted, logs, different = 6 if full else 3, [], []
    while len(logs) < wanted:
        check(len(different) < 16, different)
        logs.append(record(place, words=("--work-us", "1000")))
        for a in logs[:-1]:
            got = run([place.podprof(), "diff", "--json", "--fail-above", "5%", a, logs[-1]])
            check(got.code in (0, 1, 3), got.transcript())
            d = json.loads(got.out)
            check((got.code == 3) == (d["check"]["result"] == "failed"), got.transcript())
            check(d["result"] in ("longer", "shorter", "no_difference", "undecided"), got.out)
            check(not [e for e in d["environment"] if "core" not in e["what"]], d["environment"])
            if d["result"] in ("longer", "shorter"):
                different.append(d["text"])
                logs = logs[-1:]
                break
    for other in (logs[0], copy(place, logs[0], "twice")[0]):
        says = f"A and B are the same session, {os.path.basename(session_of(logs[0]))}: there is nothing to compare"
        check(f"Result:     {says}\n" in diff(place, logs[0], other).out, diff(place, logs[0], other).out)
        check(compare(place, logs[0], other)["text"] == says, other)
    check("same session" not in compare(place, logs[0], logs[1])["text"], logs)
    same = compare(place, logs[0], logs[0])
    check(same["result"] == "no_difference" and not same["ranks_changed"] and not same["environment"] and not same["operators"], same)


def slow(place, full):
    """A rank that sleeps 4 ms per step is found, named, and fails the check, and without it the check passes. A busy machine may hide it, name
    another rank too, or leave only the short steps to be compared, of which none passes."""
    for attempt in range(8):
        a, b = record(place), record(place, words=("--slow-rank", "3", "--slow-us", "4000"))
        d = json.loads(run([place.podprof(), "diff", "--json", "--fail-above", "5%", a, b]).out)
        compute = [r["change_ns"] for r in d["ranks_changed"] if r["quantity"] == "Host compute"]
        if d["result"] == "longer" and {r["rank"] for r in d["ranks_changed"]} == {3} and compute and compute[0] < 20e6 and \
                run([place.podprof(), "diff", "--fail-above", "5%", b, a]).code == 0:
            break
    check(d["result"] == "longer" and d["check"]["result"] == "failed", d)
    check({r["rank"] for r in d["ranks_changed"]} == {3}, d["ranks_changed"])
    check(compute and 3.5e6 < compute[0] < 20e6, d["ranks_changed"])
    check([e["what"] for e in d["environment"]][0] == "command", d["environment"])
    got = diff(place, "--fail-above", "5", a, b, code=3)
    check(re.search(r"Result: +B is slower than A: \+", got.out) and re.search(r"Check: .*: failed: ", got.out), got.transcript())
    check(re.search(r"Ranks: +rank 3: Host compute \+", got.out) and "\x1b" not in got.out and "|" not in got.out, got.transcript())
    got = diff(place, "--fail-above", "5%", b, a)
    check("A" in got.out and "faster" in got.out and "Check:      --fail-above 5%: passed" in got.out, got.transcript())
    check("passed" in diff(place, "--fail-above", "99999%", a, b).out, "a limit of 1000 times")
    trend = compare(place, a, a, b)
    check([(p["short_step"] or p["step"])["result"] for p in trend["against_before"]] == ["no_difference", "longer"], trend["against_before"])
    got = diff(place, a, a, b)
    check(re.search(r"^  C +\d+ .* longer", got.out, re.M), got.transcript())


def first_screen(text, data):
    """Sentence, facts and the sections' lines stand in the file: no JavaScript is needed to read them."""
    plain = html_module.unescape(re.sub(r"<[^>]*>", "", re.search(r"<h1>(.*?)</h1>", text, re.S)[1]))
    check(plain.lower() == data["text"].lower().replace(" us", " \u00b5s") + ".", plain)
    facts = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", text))
    check(list(facts) == ["Change", "Noise floor", "Changed most", "Ranks that changed"] and all(facts.values()), facts)
    check((facts["Change"] == "undecided") == (data["result"] == "undecided"), facts)
    check(set(re.findall(r'<details class="section" id="(\w+)"><summary><b>[^<]+</b> <span>[^<]+', text)) >=
          {"steps", "surroundings", "categories", "ranks", "collectives"}, "sections")


def page(place, full):
    a, b = record(place, 2), record(place, 2)
    html = os.path.join(place.scratch, "diff.html")
    got = diff(place, "--html", html, a, b, lines=1)
    with open(html, encoding="utf-8") as f:
        text = f.read()
    data = json.loads(re.search(r'<script type="application/json" id="diff">(.*?)</script>', text, re.S)[1])
    check(data == compare(place, a, b) and "<!--" not in text and "http://" not in text.replace("http://www.w3.org/2000/svg", ""), html)
    first_screen(text, data)
    board = json.loads(re.search(r'<script type="application/json" id="board-data">(.*?)</script>', text, re.S)[1])
    check([r["run"] for r in board["runs"]] == ["A", "B"] and board["ranks"] == 2 and sorted(board["rank"]) == [0, 1], board)
    for r, run_ in zip(board["runs"], data["runs"]):
        check(len(r["regime"]) == run_["steps"] == sum(r["count"].values()) and r["count"]["u"] == r["regime"].count("u"), r)
    parts = [k for k in board["column"] if k["name"] != "step"]
    check(board["column"][0]["name"] == "step" and "waiting" in {k["name"] for k in parts}, board["column"])
    diff(place, "--html", html, a, a, lines=1)
    with open(html, encoding="utf-8") as f:
        facts = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", f.read()))
    check([facts[k] for k in ("Change", "Changed most", "Ranks that changed")] == ["no difference", "none", "none"], facts)
    diff(place, "--html", html, a, b, *[a] * 6, lines=1)
    with open(html, encoding="utf-8") as f:
        board = json.loads(re.search(r'id="board-data">(.*?)</script>', f.read(), re.S)[1])
    check("".join(r["run"] for r in board["runs"]) == "ADEFGH" and board["runs_left"] == 2, board)
    got = diff(place, "--html", os.path.join(place.scratch, "none", "diff.html"), a, b, code=1, lines=1)
    check("no such file or directory" in got.err and not os.path.exists(html + ".part"), got.transcript())


def board(page, d):
    """What the heat map draws, the fixed line says and the table has is one number; links open closed sections."""
    page.js("document.querySelector('#heat canvas').focus()")
    said = page.js("document.getElementById('say').textContent")
    for key in ("ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"):
        page.js(f"document.querySelector('#heat canvas').dispatchEvent(new KeyboardEvent('keydown', {{key: '{key}', bubbles: true}}))")
    check(said.startswith("rank ") and page.js("document.getElementById('say').textContent").startswith("rank "), said)
    page.js("document.getElementById('numbers').open = true")
    page.wait("!!document.querySelector('#t-difference tbody tr')")
    check(page.js("document.querySelectorAll('#t-difference tbody tr').length") == d["ranks_compared"], "a row of each rank")
    worst = "Math.abs(Shown.column[1].b_ns[0] - Shown.column[1].a_ns[0] - Grid.change(1, 0))"
    check(page.js(worst) == 0 and "not steps" in page.js("document.getElementById('about').textContent"), "the difference")
    check(page.js("[...document.querySelectorAll('details.section')].filter(e => e.open).map(e => e.id).join()") == "steps,categories", "open")
    page.call("Emulation.setEmulatedMedia", media="print")
    lines = "[...document.querySelectorAll('details.section > summary')].every(s => s.offsetHeight > 0)"
    check(page.js(lines), "paper has the line of each section")
    page.call("Emulation.setEmulatedMedia", media="")
    page.js("document.querySelector('#collectives summary').click()")
    page.wait("!!document.querySelector('#t-collective tbody tr')")


def browser(place, full):
    """A real Chromium shows the page without a complaint, light and dark; tables sort, charts have a text."""
    if not chromium.PROGRAM:
        raise jobs.Skipped("no chromium (apt-get install chromium)")
    a, b = record(place, 2), record(place, 2)
    html = os.path.join(place.scratch, "browser.html")
    diff(place, "--html", html, a, b, a, lines=1)
    d = compare(place, a, b, a)
    page = chromium.Chromium()
    try:
        for theme in ("light", "dark"):
            page.open(html, f"#theme={theme}&open=steps,categories")
            check(page.js("document.documentElement.dataset.theme") == theme and not page.complaints(), page.complaints())
        check(page.js("document.querySelectorAll('#strips canvas').length") == 3, "a strip of each session")
        board(page, d)
        check(page.js("document.querySelectorAll('#t-runs tbody tr').length") == 3, "sessions")
        check("; C " in page.js("document.querySelector('#steps svg[role=img]').getAttribute('aria-label')"), "the chart's text")
        column = "[...document.querySelectorAll('#t-category tbody tr')].map(r => +r.children[1].dataset.v)"
        page.js("document.querySelectorAll('#t-category thead button')[1].click()")
        page.wait(f"{column}.every((v, i, all) => !i || all[i - 1] >= v)")
        check(len(page.js(column)) == sum(1 for n in d["against_first"][1]["roles"][0].values() if n["a_ns"] or n["b_ns"]), "categories")
        check(jobs.wait_until(lambda: page.js("document.documentElement.scrollWidth <= innerWidth")), "the page is wider than the window")
    finally:
        page.close()


def ranks(place, full):
    """Only ranks of both are compared one by one, and that is said."""
    a, b = record(place, 2), record(place, 3)
    d = compare(place, a, b)
    check(d["ranks_compared"] == 2 and {e["what"] for e in d["environment"]} >= {"ranks", "communicators' ranks"}, d)
    check("ranks 2 of B only as a part of all ranks" in diff(place, a, b).out, "which ranks")
    d = compare(place, "--map", "0-1=1-2", a, b)
    check(d["ranks_compared"] == 2 and d["only_in_first"] == "" and d["only_in_last"] == "0", d["only_in_last"])
    d = compare(place, "--map", "0=7,MPI_Allreduce=MPI_Bcast", a, b)
    check(d["ranks_compared"] == 0 and d["only_in_first"] == "0-1" and d["only_in_last"] == "0-2", d)
    check("MPI_Allreduce" in {c["call"] for c in d["collectives"]} and d["against_first"][0]["step"]["a_ns"] > 0, d)
    check("not equally many" in diff(place, "--map", "0-1=1", a, b, code=64, lines=1).err, "a bad map")


def few(place, full):
    """Less than 8 steps decide nothing."""
    a = record(place, 2, options=("--steps", "20:25"))
    check(compare(place, a, a)["result"] == "undecided", "5 steps")
    html = os.path.join(place.scratch, "few.html")
    diff(place, "--html", html, a, a, lines=1)
    with open(html, encoding="utf-8") as f:
        check("<dd>unknown</dd><dd class=\"n\">a session has less than 8 usual steps</dd>" in f.read(), "the noise floor")
    got = diff(place, "--fail-above", "5%", a, a, code=1, lines=1)
    check("less than 8 usual steps" in got.err and "undecided" in got.out, got.transcript())


def copy(place, logs, name):
    to = os.path.join(place.scratch, name, "podprof", "broken")
    shutil.rmtree(os.path.dirname(os.path.dirname(to)), ignore_errors=True)
    shutil.copytree(session_of(logs), to)
    pod = os.path.join(to, "pod.h5")
    place.changed.add(pod)
    return to, pod


def noisy(place, full):
    """Steps that vary by half of their time hide 5 %, and that is the reason that is given."""
    pods = []
    for name in ("noisy", "noisier"):
        session, pod = copy(place, record(place, 2), name)
        pods.append(session)
        with h5py.File(pod, "r+") as f:
            draw = random.Random(name)
            times = [int(10e6 * (1 + draw.random())) for _ in f["step/step"]]
            for i, ns in enumerate(times):
                f["step/begin_ns"][i] = 10**9 + sum(times[:i])
                f["step/end_ns"][i] = 10**9 + sum(times[:i + 1])
                f["breakdown/step_ns"][i] = ns
    d = json.loads(run([place.podprof(), "diff", "--json", "--fail-above", "5%", *pods]).out)
    check(d["result"] == "undecided" and d["check"]["result"] == "undecided" and d["check"]["why"] == "noise", (d["result"], d["check"]))


def faults(place, full):
    logs = record(place, 2)
    for words in ((), (logs,), (logs,) * 27, ("--fail-above", "x", logs, logs), ("--fail-above", "-1%", logs, logs),
                  ("--fail-above", "nan", logs, logs), ("--steps", "1:2", logs, logs)):
        diff(place, *words, code=64, lines=1)
    check("no session has this name" in diff(place, logs, os.path.join(place.scratch, "nothing"), code=1, lines=1).err, "no session")
    session, pod = copy(place, logs, "cut")
    os.truncate(pod, 5000)
    for words in ((logs, session), (session, logs), (logs, session, logs)):
        got = diff(place, *words, code=1, lines=1)
        check(pod in got.err and not got.out, got.transcript())
    os.unlink(pod)
    check(pod in diff(place, logs, session, code=1, lines=1).err, "no pod.h5")
    session, pod = copy(place, logs, "stepless")
    with h5py.File(pod, "r+") as f:
        for group in ("step", "breakdown"):
            del f[group]
    check("it has no steps" in diff(place, logs, session, code=1, lines=1).err, "no steps")


def absurd(place, full):
    """Values that no job writes give an answer or one sentence."""
    logs = record(place, 2)
    for group, names in (("breakdown", ("exclusive_ns", "step_ns", "wait_ns", "late_ns", "transfer_ns")),
                         ("collective", ("wait_ns", "transfer_ns", "ranks", "communicator", "step", "operation", "bytes")),
                         ("worker", ("rank", "role", "cores")), ("op", ("self_ns", "calls", "worker", "row_op")), ("communicator", ("id", "size"))):
        for name in names:
            for value in (0, -1, 2**31 - 1, -2**63, 2**63 - 1):
                session, pod = copy(place, logs, "absurd")
                with h5py.File(pod, "r+") as f:
                    if name not in f[group] or f[group][name].dtype.kind not in "iu":
                        continue
                    v = f[group][name]
                    v[...] = (value + 2**63) % 2**64 - 2**63 if v.dtype == "int64" else value % 2 ** (8 * v.dtype.itemsize - 1)
                got = run([place.podprof(), "diff", logs, session])
                check(got.code in (0, 1) and len(got.err.splitlines()) == got.code and "crashed" not in got.err,
                      f"/{group}/{name} {value}\n{got.transcript()}")
                got = run([place.podprof(), "report", session])
                check(got.code in (0, 1) and "crashed" not in got.err, f"/{group}/{name} {value}\n{got.transcript()}")


CASES = {"equal": equal, "slow": slow, "page": page, "browser": browser, "ranks": ranks, "few": few, "noisy": noisy, "faults": faults, "absurd": absurd}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__))
