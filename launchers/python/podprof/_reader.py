"""Sessions as DataFrames, for notebooks and reports. Loaded at the first podprof.open(): no job that is recorded ever imports it.
Numbers come from the program podprof, so that both say the same: this file computes nothing. Needs no h5py."""
import json
import os
import subprocess
from typing import Any, Dict, List, Optional, Sequence, Union

from .__main__ import candidates

__all__ = ["PodprofError", "Session", "sessions"]


class PodprofError(Exception):
    """What podprof said, in its own sentence."""


def _program() -> str:
    for program in candidates():
        if os.path.isfile(program) and os.access(program, os.X_OK):
            return program
    raise PodprofError("no program 'podprof' beside this package or in PATH. Install podprof, with pip or with cmake --install.")


def _ask(*words: str) -> Any:
    """The JSON that podprof prints. A session that is not whole (exit code 2) is one."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PODPROF_") and name != "LD_PRELOAD"}
    got = subprocess.run([_program(), *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, check=False)
    text = got.stdout.decode("utf-8", "replace")
    if not text.strip():
        lines = [line[len("podprof: "):] for line in got.stderr.decode("utf-8", "replace").splitlines() if line.startswith("podprof: ")]
        raise PodprofError(lines[-1] if lines else "podprof %s ended with code %d and said nothing" % (words[0], got.returncode))
    return json.loads(text)


def _frame(columns: Dict[str, List[Any]]) -> Any:
    """A pandas.DataFrame; without pandas a dict of numpy arrays, without numpy one of lists. Unknown is NA, nan or None."""
    try:
        import pandas
    except ImportError:
        return {name: _array(values) for name, values in columns.items()}
    made = {}
    for name, values in columns.items():
        if values and all(value is None for value in values):
            values = [float("nan")] * len(values)
        is_whole = all(value is None or type(value) is int for value in values)
        made[name] = pandas.array(values, dtype="Int64") if is_whole and None in values else values
    return pandas.DataFrame(made, columns=list(columns))


def _array(values: List[Any]) -> Any:
    try:
        import numpy
    except ImportError:
        return values
    if None in values and all(value is None or isinstance(value, (int, float)) for value in values):
        return numpy.array([float("nan") if value is None else value for value in values])
    return numpy.array(values)


class Session:
    """A session of podprof. `where`: a log directory (its newest session is taken), a session, a pod.h5, or traces of other profilers.
    Raises PodprofError. Tables are read when they are asked for, and have the names and units of `podprof report --table`."""

    def __init__(self, where: Union[str, "os.PathLike[str]"] = "podprof_logs") -> None:
        self.where = os.fspath(where)
        self.info: Dict[str, Any] = _ask("report", "--json", self.where)  # all that `podprof report --json` prints
        self.path: str = self.info["path"]
        self.name: str = self.info["session"]
        self._units: Dict[str, Dict[str, str]] = {}
        self._columns: Dict[str, Dict[str, List[Any]]] = {}

    def __repr__(self) -> str:
        return "<podprof session %s: %s>" % (self.name, self.verdict)

    @property
    def verdict(self) -> str:
        """The sentence behind "Bottleneck:"."""
        return str(self.info["verdict"]["text"])

    @property
    def findings(self) -> List[Dict[str, Any]]:
        """All causes, the first being the verdict's: kind, rank, category, gain_ns, text and more."""
        return list(self.info["findings"])

    @property
    def cautions(self) -> List[str]:
        """What the verdict depends on."""
        return list(self.info["qualifiers"])

    @property
    def ranks(self) -> Any:
        """A row per rank: rank, host, status, steps, step_ns, wait_ns, kept_others_waiting_ns, and the time of each category in ns."""
        columns: Dict[str, List[Any]] = {}
        for at, row in enumerate(self.info["rank"]):
            flat = {**row, **row["categories"]}
            del flat["categories"]
            for name, value in flat.items():
                columns.setdefault(name, [None] * at).append(value)
        return _frame(columns)

    @property
    def steps(self) -> Any:
        """A row per step and rank that has it: step, worker, begin_ns, end_ns, step_ns, wait_ns, and the time of each category in ns."""
        columns = self._table("cell")
        there = [i for i, present in enumerate(columns["present"]) if present]
        return _frame({name: [values[i] for i in there] for name, values in columns.items() if name != "present"})

    def table(self, name: str) -> Any:
        """Any table of the session: "op", "kernel", "collective", ... An unknown name raises PodprofError with the names of all."""
        return _frame(self._table(name))

    def units(self, name: str) -> Dict[str, str]:
        """Units of the columns of a table, "" where they have none."""
        self._table(name)
        return dict(self._units[name])

    def compare(self, *others: Union["Session", str, "os.PathLike[str]"], options: Sequence[str] = ()) -> Dict[str, Any]:
        """What `podprof diff --json` says of this session (A) and the others (B, ...)."""
        paths = [other.path if isinstance(other, Session) else os.fspath(other) for other in others]
        return dict(_ask("diff", "--json", *options, self.path, *paths))

    def _table(self, name: str) -> Dict[str, List[Any]]:
        if name not in self._columns:
            read = _ask("report", "--table", name, "--format", "json", self.path)
            if "columns" not in read:
                raise PodprofError("'%s' is a group of tables: %s" % (name, ", ".join(table["table"] for table in read["tables"])))
            self._units[name] = {}
            self._columns[name] = self._spread(name, read["rows"], read["columns"])
        return self._columns[name]

    def _spread(self, table: str, rows: int, columns: List[Dict[str, Any]]) -> Dict[str, List[Any]]:
        """A column with several values in a row becomes one for each; those of categories have their names."""
        spread: Dict[str, List[Any]] = {}
        categories = list(self.info["categories"])
        for column in columns:
            name, data = column["name"], column["data"]
            width = len(data) // rows if rows else 1
            for i in range(width if width > 1 else 1):
                one = name if width <= 1 else categories[i] if name == "exclusive_ns" and width == len(categories) else "%s_%d" % (name, i)
                spread[one] = data[i::width] if width > 1 else data
                self._units[table][one] = column["unit"]
        return spread


def sessions(logdir: Union[str, "os.PathLike[str]"] = "podprof_logs") -> Any:
    """A row per session of a log directory, the newest first: session, path, date, command, ranks, steps, verdict and more."""
    columns: Dict[str, List[Any]] = {}
    for at, row in enumerate(_ask("report", "--list", "--json", os.fspath(logdir))):
        verdict: Optional[Dict[str, Any]] = row.get("verdict")
        for name, value in {**row, "verdict": verdict["text"] if verdict else None}.items():
            columns.setdefault(name, [None] * at).append(value)
        for values in columns.values():
            values.extend([None] * (at + 1 - len(values)))
    return _frame(columns)
