#!/usr/bin/python3
"""The dashboard and the alerts of examples/grafana against the metrics that a job writes. Run by ctest package_grafana."""
import json
import os
import re
import shutil
import sys

from package import SOURCE, check, good, jobs, run

WHERE = os.path.join(SOURCE, "examples", "grafana")
OF_PROMETHEUS = {"instance", "job", "exported_job"}


def metrics(place):
    """Labels of each metric of a job with a straggler."""
    path = os.path.join(place.scratch, "podprof.prom")
    program = [os.path.join(place.bin, "c_mpi_train"), "--quiet", "--steps", "12", "--slow-rank", "1", "--slow-us", "20000"]
    good(run(place.mpirun(2, place.under(place.new_logs(), program, "--metrics", path))))
    with open(path, encoding="utf-8") as f:
        return {m[1]: set(re.findall(r'(\w+)="', m[2] or "")) for m in re.finditer(r"^(podprof_\w+)(\{.*\})? \S+$", f.read(), re.M)}


def check_query(query, known, place):
    names = re.findall(r"\bpodprof_\w+", query)
    check(names and set(names) <= set(known), f"no job writes {sorted(set(names) - set(known))}: {query}")
    check(query.count("(") == query.count(")") and query.count("{") == query.count("}"), query)
    labels = {label for group in re.findall(r"(?:by|on) ?\(([^)]*)\)", query) for label in group.split(", ")}
    labels |= set(re.findall(r'[{,]\s*(\w+)=', query))
    check(labels <= set.union(OF_PROMETHEUS, *(known[name] for name in names)), f"no metric in it has the labels {labels}: {query}")


def dashboard(place, full):
    known = metrics(place)
    check("podprof_session_straggler_wait_seconds" in known, known)
    with open(os.path.join(WHERE, "podprof.json"), encoding="utf-8") as f:
        board = json.load(f)
    panels = board["panels"]
    check(len({p["id"] for p in panels}) == len(panels) and all(p["title"] and p["description"] for p in panels), "panels without a name of their own")
    taken = {}
    for p in panels:
        at = p["gridPos"]
        for cell in ((x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])):
            check(cell not in taken and cell[0] < 24, f"'{p['title']}' lies on '{taken.get(cell)}', or beyond the right edge")
            taken[cell] = p["title"]
        for target in p["targets"]:
            check_query(target["expr"].replace("$__range_s", "1").replace("$__range", "1h"), known, place)
    used = set(re.findall(r"podprof_\w+", json.dumps(panels)))
    check(used == set(known), f"the dashboard does not show {sorted(set(known) - used)}")


def alerts(place, full):
    known = metrics(place)
    path = os.path.join(WHERE, "alerts.yml")
    with open(path, encoding="utf-8") as f:
        text = f.read()
    queries = re.findall(r"^ +expr: (.*)$", text, re.M)
    check(len(queries) == len(re.findall(r"- alert: \w+$", text, re.M)) == 3, text)
    for query in queries:
        check_query(query, known, place)
    try:
        import yaml
    except ImportError:
        yaml = None
    if yaml:
        check([len(group["rules"]) for group in yaml.safe_load(text)["groups"]] == [3], text)
    if shutil.which("promtool"):
        good(run(["promtool", "check", "rules", path]))


CASES = {"dashboard": dashboard, "alerts": alerts}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__))
