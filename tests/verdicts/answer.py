"""What podprof says of the files of a case, and the wants of cases: each is a function of an Answer that returns "" or what is wrong.
Used by cases.py and verdicts.py."""
import glob
import json
import math
import os
import re
import subprocess

import h5py

TIMEOUT = 60
STEP_TABLES = {"op": "row_op", "kernel": "row_kernel"}


class Got:
    """A program that ended."""

    def __init__(self, words, where):
        env = {k: v for k, v in os.environ.items() if not k.startswith("PODPROF_")}
        done = subprocess.run(words, capture_output=True, timeout=TIMEOUT, cwd=where, env={**env, "XDG_CACHE_HOME": os.path.join(where, "cache")})
        self.words, self.code = words, done.returncode
        self.out, self.err = done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")


class Answer:
    """The newest session of a log directory, and what the commands printed."""

    def __init__(self, binary, where):
        self.binary, self.where, self.logs = binary, where, os.path.join(where, "logs")
        self.got, self.tables, self.last = None, {}, None

    def run(self, *words):
        self.last = Got([self.binary, *words], self.where)
        return self.last

    def analyze(self, *words):
        self.got = self.run("analyze", *words, "-o", self.logs)

    @property
    def sessions(self):
        """Newest last: by the date of their data, as their names are."""
        return sorted(os.path.dirname(p) for p in glob.glob(os.path.join(self.logs, "podprof", "*", "pod.h5")))

    @property
    def session(self):
        made = self.sessions
        if not made:
            raise Missing(f"no session was written; exit code {self.got.code}: {self.got.err.strip()[-300:]}")
        return made[-1]

    @property
    def summary(self):
        with open(os.path.join(self.session, "summary.txt"), encoding="utf-8") as f:
            return f.read()

    @property
    def json(self):
        if "json" not in self.tables:
            self.tables["json"] = json.loads(self.run("report", "--json", self.session).out)
        return self.tables["json"]

    def table(self, name):
        """Rows of a table as dicts; rows by worker of /op and /kernel have the cells of their group too."""
        if name in self.tables:
            return self.tables[name]
        with h5py.File(os.path.join(self.session, "pod.h5"), "r") as f:
            group = SHARED.get(name, name)
            columns = {k: cells(v) for k, v in f[group].items()} if group in f else {}
        single = {k: v for k, v in columns.items() if not isinstance(v, list)}
        columns = {k: v for k, v in columns.items() if isinstance(v, list)}
        along = columns.get(STEP_TABLES.get(name))
        if along:
            groups = len(columns[name])
            columns = {k: [v[at] for at in along] if len(v) == groups and (len(v) != len(along) or k in GROUPED) else v for k, v in columns.items()}
        long = len(columns[LEADING[name]]) if columns.get(LEADING.get(name)) else max((len(v) for v in columns.values()), default=0)
        columns = {k: v for k, v in columns.items() if len(v) == long}
        rows = [dict(zip(columns, row)) for row in zip(*columns.values())]
        self.tables[name] = rows
        self.tables[name + "/"] = single
        return rows

    def single(self, name, value):
        self.table(name)
        return self.tables[name + "/"].get(value)

    def exclusive(self, category, rank=None):
        """(ns, ns of the steps) of all steps, of one rank or of all."""
        with h5py.File(os.path.join(self.session, "pod.h5"), "r") as f:
            b = f["breakdown"]
            at = [text(c) for c in b["category"][:]].index(category)
            ranks = list(b["worker"][:])
            pick = [i for i, r in enumerate(ranks) if rank is None or r == rank]
            return int(b["exclusive_ns"][:, pick, at].sum()), int(b["step_ns"][:, pick].sum())


SHARED = {"arrival": "collective"}  # tables in the group of another
LEADING = {"arrival": "row", "collective": "event", "communicator": "communicator"}  # the dimension of a table's rows, where it has several
GROUPED = ("name", "op", "category", "source", "side", "type", "activity", "precision", "registers", "static_shared_bytes", "dynamic_shared_bytes",
           "block_x", "block_y", "block_z", "grid_x", "grid_y", "grid_z", "by")


class Missing(Exception):
    """The answer has no such thing."""


def text(value):
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def cells(data):
    if data.shape == ():
        value = data[()]
        return text(value) if isinstance(value, bytes) else value
    return [text(v) for v in data[:]] if data.dtype.kind == "O" else data[:].tolist()


def want(title):
    """Names what a want says, for messages."""
    def made(check):
        check.title = title
        return check
    return made


# -- sentences


def says(pattern):
    return want(f"summary says /{pattern}/")(lambda a: "" if re.search(pattern, a.summary, re.M | re.I) else "it does not")


def silent(pattern):
    def check(a):
        found = re.search(f"^.*({pattern}).*$", a.summary, re.M | re.I)
        return found[0].strip()[:160] if found else ""
    return want(f"summary does not say /{pattern}/")(check)


def first(pattern):
    """The first sentence: what limits the job."""
    def check(a):
        found = re.search(r"^ +Bottleneck: +(.*)$", a.summary, re.M)
        return "" if found and re.search(pattern, found[1], re.I) else f"it is: {found[1][:140] if found else 'none'}"
    return want(f"Bottleneck is /{pattern}/")(check)


def first_not(pattern):
    def check(a):
        found = re.search(r"^ +Bottleneck: +(.*)$", a.summary, re.M)
        return found[1][:140] if found and re.search(pattern, found[1], re.I) else ""
    return want(f"Bottleneck is not /{pattern}/")(check)


def prints(pattern):
    """What analyze, or the last command, printed."""
    def check(a):
        said = a.last.out + a.last.err
        return "" if re.search(pattern, said, re.M | re.I) else f"it printed: {said.strip()[-200:]}"
    return want(f"prints /{pattern}/")(check)


def prints_not(pattern):
    def check(a):
        said = a.last.out + a.last.err
        return said.strip()[-200:] if re.search(pattern, said, re.M | re.I) else ""
    return want(f"does not print /{pattern}/")(check)


def code(number):
    return want(f"exit code {number}")(lambda a: "" if a.last.code == number else f"{a.last.code}: {a.last.err.strip()[-200:]}")


# -- numbers


def near(value, wanted, tolerance):
    return value is not None and not math.isnan(value) and abs(value - wanted) <= tolerance


def share(category, percent, tolerance=0.6, rank=None):
    def check(a):
        ns, of = a.exclusive(category, rank)
        return "" if of and near(100 * ns / of, percent, tolerance) else f"{100 * ns / of if of else math.nan:.1f} %"
    return want(f"{category} is {percent} % of the steps")(check)


def time_of(category, us, rank=None, tolerance=0.002):
    def check(a):
        ns, _ = a.exclusive(category, rank)
        return "" if near(ns / 1000, us, tolerance) else f"{ns / 1000:.3f} us"
    return want(f"{category} takes {us} us in all steps")(check)


def steps(number, rule=None, first_number=None):
    def check(a):
        rows = a.table("step")
        with h5py.File(os.path.join(a.session, "pod.h5"), "r") as f:
            numbers = f["step/step"][:].tolist() if "step" in f else []
            found = text(f.attrs["step_rule"])
        wrong = [] if len(numbers) == number else [f"{len(numbers)} steps"]
        wrong += [] if rule is None or re.search(rule, found, re.I) else [f"rule '{found}'"]
        wrong += [] if first_number is None or numbers[:1] == [first_number] else [f"first is {numbers[:1]}"]
        return ", ".join(wrong) + (f" (rule '{found}', {len(rows)} rows)" if wrong else "")
    return want(f"{number} steps" + (f" by /{rule}/" if rule else "") + ("" if first_number is None else f" from {first_number}"))(check)


def found_rule(a):
    with h5py.File(os.path.join(a.session, "pod.h5"), "r") as f:
        return text(f.attrs["step_rule"])


def rule(pattern):
    return want(f"steps are by /{pattern}/")(lambda a: "" if re.search(pattern, found_rule(a), re.I) else f"rule '{found_rule(a)}'")


def between(what, least, most):
    """That number of report --json."""
    return want(f"{least} to {most} {what}")(lambda a: "" if least <= (a.json[what] or 0) <= most else f"{a.json[what]}")


def known(what):
    """That value of report --json is known."""
    return want(f"{what} is known")(lambda a: "" if a.json[what] is not None else "it is not")


def unknown(what):
    return want(f"{what} is unknown")(lambda a: "" if a.json[what] is None else f"{a.json[what]}")


def device_rows(*devices):
    """Some table has rows of each of the devices of a process."""
    def check(a):
        with h5py.File(os.path.join(a.session, "pod.h5"), "r") as f:
            for name, group in f.items():
                if hasattr(group, "keys") and "device" in group and group["device"].dtype.kind in "iu" and set(devices) <= set(group["device"][:].tolist()):
                    return ""
        return "no table has"
    return want(f"rows of devices {devices}")(check)


def rule_not(pattern):
    def check(a):
        with h5py.File(os.path.join(a.session, "pod.h5"), "r") as f:
            found = text(f.attrs["step_rule"])
        return f"rule '{found}'" if re.search(pattern, found, re.I) else ""
    return want(f"steps are not by /{pattern}/")(check)


def step_time(us, tolerance=1.0):
    """The median."""
    def check(a):
        found = a.json["step_median_ns"]
        return "" if found is not None and near(found / 1000, us, tolerance) else f"{found} ns"
    return want(f"a step takes {us} us")(check)


def rows_of(a, table, picked):
    return [r for r in a.table(table) if all(re.search(v, str(r.get(k))) if isinstance(v, str) else r.get(k) == v for k, v in picked.items())]


def kernels(number, us=None, **picked):
    """Occurrences in /kernel, of rows whose columns match."""
    def check(a):
        rows = rows_of(a, "kernel", picked)
        found, ns = sum(r["occurrences"] for r in rows), sum(r["total_ns"] for r in rows)
        wrong = [] if found == number else [f"{found} kernels"]
        wrong += [] if us is None or near(ns / 1000, us, 0.002) else [f"{ns / 1000} us"]
        names = sorted({f"{r['name']} ({r['activity']})" for r in a.table("kernel")})[:5] if wrong else ""
        return ", ".join(wrong) + (f" of {names}" if wrong else "")
    return want(f"{number} in /kernel {picked or ''}" + ("" if us is None else f" of {us} us"))(check)


def outside(number):
    """Kernels that begin in no step."""
    return want(f"{number} kernels outside of steps")(lambda a: "" if a.single("kernel", "outside") == number else f"{a.single('kernel', 'outside')}")


def op(name, calls=None, us=None, side="Host", **columns):
    """Operators of that name: their calls, total time, and columns by regex."""
    def check(a):
        rows = rows_of(a, "op", {"name": name, "side": side})
        if calls == 0:
            return f"{len(rows)} rows" if rows else ""
        if not rows:
            return "no such operator; there are " + ", ".join(sorted({r["name"] for r in a.table("op")})[:6])
        wrong = [f"{k} is {r.get(k)}" for r in rows for k, v in columns.items() if not re.search(v, str(r.get(k, "missing")), re.I)]
        found, ns = sum(r["calls"] for r in rows), sum(r["total_ns"] for r in rows)
        wrong += [] if calls is None or found == calls else [f"{found} calls"]
        wrong += [] if us is None or near(ns / 1000, us, 0.002) else [f"{ns / 1000} us"]
        return ", ".join(wrong[:4])
    return want(f"operator /{name}/ " + " ".join(f"{k}={v}" for k, v in {"calls": calls, "us": us, **columns}.items() if v is not None))(check)


def column(table, name):
    def check(a):
        with h5py.File(os.path.join(a.session, "pod.h5"), "r") as f:
            return "" if table in f and name in f[table] else f"there are {' '.join(list(f[table])) if table in f else 'no rows'}"[:200]
    return want(f"/{table} has the column {name}")(check)


def cell(table, picked, name, wanted, tolerance=0):
    """That cell of all rows of a table that match: a number, or a regex."""
    def check(a):
        rows = rows_of(a, table, picked)
        if not rows:
            return f"no such row of {len(a.table(table))}"
        good = (lambda v: v is not None and re.search(wanted, str(v), re.I)) if isinstance(wanted, str) else lambda v: near(v, wanted, tolerance)
        wrong = [r.get(name) for r in rows if not good(r.get(name))]
        return f"{wrong[:3]}" if wrong else ""
    return want(f"/{table} {picked or ''} has {name} = {wanted}")(check)


def count(table, number, **picked):
    return want(f"{number} rows in /{table} {picked or ''}")(lambda a: "" if len(rows_of(a, table, picked)) == number else f"{len(rows_of(a, table, picked))}")


def ranks(*numbers):
    def check(a):
        found = [r["rank"] for r in a.table("worker")]
        return "" if found == list(numbers) else f"{found}"
    return want(f"ranks are {list(numbers)}")(check)


def sessions(number):
    return want(f"{number} sessions")(lambda a: "" if len(a.sessions) == number else f"{len(a.sessions)}")


def truth(title, function):
    """What no want above says: function returns "" or what is wrong."""
    return want(title)(function)
