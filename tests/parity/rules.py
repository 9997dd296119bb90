"""What xprof does otherwise than podprof, as rules about numbers. A rule explains a difference where both sides are what the rule says: each is
computed here from the trace's events. No rule knows a file's name. Rows: docs/tools.md. Used by scripts/parity."""
import collections
import re

STEP_US = 1.0
MOST_ROWS = 500  # of operators that xprof lists of a side
DERIVED, DERIVED_LINES = 0xdeadbeef, 390
PRIORITY = {"Device compute": 140, "Output": 130, "Device to device": 120, "wait": 110, "Device collectives": 100, "Input": 80, "unshown": 70, "Host compute": 10}
NOT_REAL = ("EagerExecute", "EagerLocalExecute", "EagerKernelExecute", "FunctionRun")
Event = collections.namedtuple("Event", "plane tid begin ns label name args")  # times in ns, with 3 digits; label: what its viewer shows


def events_of(trace_events):
    """Events of xprof's trace, without the lines that it derives for its viewer."""
    plane = {e["pid"]: e["args"]["name"] for e in trace_events if e.get("name") == "process_name"}
    made = {(e["pid"], e["tid"]) for e in trace_events if e.get("name") == "thread_name" and e["args"]["name"].startswith("Framework ")}
    return [Event(plane.get(e["pid"], ""), e["tid"], round(e["ts"] * 1000, 3), round(e["dur"] * 1000, 3), str(e["name"]), full(e), e.get("args") or {})
            for e in trace_events if e.get("ph") == "X" and not is_derived(e["tid"]) and (e["pid"], e["tid"]) not in made]


def full(e):
    """A step has its number as label, a name that is long a short one: then the name is an argument."""
    return str((e.get("args") or {}).get("long_name", e["name"]))


def instants_of(trace_events):
    """Events without a length: of a group, they count in xprof's sweep."""
    plane = {e["pid"]: e["args"]["name"] for e in trace_events if e.get("name") == "process_name"}
    return [Event(plane.get(e["pid"], ""), e["tid"], round(e["ts"] * 1000, 3), 0, str(e["name"]), full(e), e.get("args") or {})
            for e in trace_events if e.get("ph") == "i" and not is_derived(e["tid"])]


def steps_line(trace_events):
    """{group: (begin, end)} of the lines Steps, of all devices the longest."""
    made = {}
    for e in trace_events:
        if e.get("ph") == "X" and e.get("tid") == DERIVED and "group_id" in (e.get("args") or {}):
            group, begin, end = int(e["args"]["group_id"]), e["ts"] * 1000, (e["ts"] + e["dur"]) * 1000
            if group not in made or end - begin > made[group][1] - made[group][0]:
                made[group] = begin, end
    return made


def is_derived(tid):
    return 0 <= tid - DERIVED < DERIVED_LINES


def group_of(e):
    try:
        return int(e.args["group_id"])
    except (KeyError, ValueError):
        return -1


def device_type(name):
    low = name.lower()
    for word, kind in (("memcpyhtod", "Input"), ("memcpydtoh", "Output"), ("memcpydtod", "Device to device")):
        if ":" not in name and low.startswith(word):
            return kind
    return "Device collectives" if low.startswith("nccl") else "Device compute"


def any_copy(name):
    """The same, also for copies as CUPTI's tracer names them."""
    return device_type(re.sub(r"(?i)^memcpy(\w)2(\w)", r"Memcpy\1To\2", name))


def host_type(name):
    kind = name.rsplit(":", 1)[-1]
    if kind.startswith("InfeedEnqueue") or name.startswith("MemcpyHToD"):
        return "Input"
    if name.startswith("MemcpyHToH"):
        return "unshown"
    return "wait" if name.lower().startswith("iteratorgetnext") else "Host compute"


def is_marker(e):
    return "step_name" in e.args or (e.name.startswith(("train", "test", "TraceContext")) and "/" not in e.name)


def sweep(spans, begin, end):
    """Exclusive ns by type as xprof sweeps: ends before begins at one time, so an event without length leaves its type on until the
    next edge at which its type ends."""
    edges = sorted([(b, 1, k) for b, e, k in spans] + [(e, 0, k) for b, e, k in spans], key=lambda x: (x[0], x[1]))
    active, top, made = collections.Counter(), None, collections.Counter()
    for i, (at, up, kind) in enumerate(edges[:-1]):
        active[kind] += 1 if up else -1
        if up:
            top = kind if top is None or PRIORITY[kind] > PRIORITY[top] else top
        elif kind == top and active[kind] <= 0:
            top = max((k for k in active if active[k] > 0), key=PRIORITY.get, default=None)
        if top:
            made[top] += max(0, min(edges[i + 1][0], end) - max(at, begin))
    return made


def union(spans):
    total, reach = 0, float("-inf")
    for b, e in sorted(spans):
        total += max(0, e - max(b, reach))
        reach = max(reach, e)
    return total


def is_close(a, b, tolerance=STEP_US):
    return len(a) == len(b) and all(abs(x - y) <= tolerance for x, y in zip(a, b))


class Rules:
    """Of one file: what xprof computes by its own rules from its trace, and which row explains a difference."""

    def __init__(self, trace_events, x, pod, rank):
        self.all, self.x, self.pod, self.rank = events_of(trace_events), x, pod, rank
        self.line = steps_line(trace_events)
        self.instants = [e for e in instants_of(trace_events) if e.plane == "/host:CPU"]
        self.host = [e for e in self.all if e.plane == "/host:CPU"]
        self.device = [e for e in self.all if e.plane.startswith("/device:GPU")]
        self.steps = pod.at.get(rank, [])
        self.groups = [int(r["stepnum"]) for r in x.steps]
        self.inputs = {r["name"] for r in pod.tables["op"] if r["worker"] == rank and r["category"] == "Input"}

    # -- xprof's side

    def markers(self):
        """{group: (begin, end)}: on a host without a device, events with a step's name; of each group the longest."""
        if self.x.is_gpu:
            return self.line
        made = {}
        for e in self.host:
            group = group_of(e)
            if group >= 0 and is_marker(e) and (group not in made or e.ns > made[group][1] - made[group][0]):
                made[group] = e.begin, e.begin + e.ns
        return made

    def theirs_of(self, naming=device_type):
        """[{category: us}] of xprof's steps: only what its grouping linked to the step."""
        spans = self.markers()
        by_group = collections.defaultdict(list)
        for e in self.device if self.x.is_gpu else self.host + self.instants:
            if self.x.is_gpu:
                by_group[group_of(e)].append((e.begin, e.begin + e.ns, naming(e.name)))
            elif not (e.name.startswith(("train", "test", "TraceContext")) and "/" not in e.name) and "step_name" not in e.args and not e.name.startswith(NOT_REAL):
                by_group[group_of(e)].append((e.begin, e.begin + e.ns, host_type(e.name)))
        made = []
        for group in self.groups:
            begin, end = spans.get(group, (0, 0))
            us = {k: v / 1000 for k, v in sweep(by_group[group], begin, end).items()}
            us["Input"] = us.get("Input", 0) + us.pop("wait", 0)
            us["All others"] = (end - begin) / 1000 - sum(us.values())
            us["Input and the host"] = us["Input"] + us["All others"]
            made.append(us)
        return made

    def whole(self, events, label=lambda n: n):
        """{name: [count, us, least, most]} of the whole file."""
        made = {}
        for e in events:
            row = made.setdefault(label(e.name), [0, 0.0, float("inf"), 0.0])
            row[0] += 1
            row[1] += e.ns / 1000
            row[2], row[3] = min(row[2], e.ns / 1000), max(row[3], e.ns / 1000)
        return made

    # -- rows: each gets the numbers that differ, and says which row explains all of them, or None

    def count(self, ours, theirs):
        """xprof has fewer steps than podprof: it needs marks and links that the file has not. Ours are events of the trace, to the ns."""
        if self.pod.step_rule == "window" and ours == [1] and theirs == [0] and not any("step_num" in e.args or "step_name" in e.args for e in self.all):
            return "window"
        spans = {(round(e.begin), round(e.ns)) for e in self.all}
        begins = {round(e.begin) for e in self.all}
        ends = {round(e.begin + e.ns) for e in self.all}
        ours_are = all((round(b), round(e - b)) in spans or (round(b) in begins and round(e) in ends) for b, e in self.steps)
        return "tolerant" if ours_are and theirs[0] < ours[0] else None

    def number(self, ours, theirs):
        if [n & 0xffffffff for n in ours] == [int(t) for t in theirs]:
            return "step-bits"
        named = {}
        for e in self.all:
            if group_of(e) >= 0 and ("step_num" in e.args or "step_name" in e.args):
                found = re.search(r"(\d+)$", str(e.args.get("step_num", e.args.get("step_name"))))
                if found:
                    named.setdefault(group_of(e), set()).add(int(found[1]))
        groups = sorted(named)
        theirs_are = all(int(t) in named for t in theirs) and groups == list(range(groups[0], groups[0] + len(groups))) if groups else False
        ours_are = theirs_are and all(o in named[int(t)] for o, t in zip(ours, theirs))
        return "group-number" if ours_are else None

    def category(self, name):
        def explain(ours, theirs):
            model = [us.get(name, 0) for us in self.theirs_of()]
            if not is_close(model, theirs):
                return None
            if self.x.is_gpu and not is_close([us.get(name, 0) for us in self.ours_of()], ours):
                return None
            if self.x.is_gpu:
                cupti = [us.get(name, 0) for us in self.theirs_of(any_copy)]
                return "copy-names" if not is_close(cupti, theirs) and is_close(cupti, ours) else "by-time"
            return self.host_category(name, ours)
        return explain

    def ours_of(self):
        """[{category: us}] of podprof's steps: everything on the devices, by time."""
        spans, made = [(e.begin, e.begin + e.ns, any_copy(e.name)) for e in self.device], []
        for begin, end in self.steps:
            us = {k: v / 1000 for k, v in sweep(spans, begin, end).items()}
            us["Input and the host"] = (end - begin) / 1000 - sum(v for k, v in us.items() if k != "Input")
            made.append(us)
        return made

    def host_category(self, name, ours):
        """Ours: All others is the time without any event. The rest is Input, at most the time of events that podprof calls so, and Host compute."""
        names = {n for n in self.inputs if not n.lower().startswith("iteratorgetnext")}
        rows = self.pod.steps[self.rank]
        inside = [[(max(e.begin, b), min(e.begin + e.ns, t)) for e in self.host if e.begin < t and e.begin + e.ns > b and (e.begin, e.begin + e.ns) != (b, t)]
                  for b, t in self.steps]
        idle = [(t - b - union(s)) / 1000 for (b, t), s in zip(self.steps, inside)]
        rest = [(t - b) / 1000 - i - us.get("Input", 0) for (b, t), i, (_, us, _) in zip(self.steps, idle, rows)]
        if not is_close({"All others": idle, "Host compute": rest}.get(name, ours), ours):
            return None
        if name == "All others":
            return "by-time"
        for (b, t), us in zip(self.steps, [{"Input": v} for v in ours] if name == "Input" else [us for _, us, _ in rows]):
            most = union([(max(e.begin, b), min(e.begin + e.ns, t)) for e in self.host if e.begin < t and e.begin + e.ns > b and
                          (e.name in self.inputs or op_name(e.name) in self.inputs or host_type(e.name) in ("wait", "Input"))]) / 1000
            if us.get("Input", 0) > most + STEP_US:
                return None
        if names:
            return "input-words"
        return "input-threads" if any(host_type(e.name) in ("wait", "Input") for e in self.host) else "by-time"

    def kernel(self, names, at):
        """xprof counts the whole file; ours is what begins in steps."""
        def explain(ours, theirs):
            whole = self.whole(self.device)
            inside = self.whole([e for e in self.device if any(b <= e.begin < t for b, t in self.steps)])
            zero = [0, 0, 0, 0]
            exact = 0 if at == 0 else STEP_US
            good = is_close([whole.get(n, zero)[at] for n in names], theirs, exact) and is_close([inside.get(n, zero)[at] for n in names], ours, exact)
            return "in-steps" if good else None
        return explain

    def kernels_of_ours(self, names):
        """xprof lists kernels whose events have launch details."""
        events = [e for e in self.device if e.name in names]
        return "kernel-details" if events and {e.name for e in events} == set(names) and not any(self.has_details(e) for e in events) else None

    def has_details(self, e):
        return any(e.args.get(k) for k in ("kernel_details", "regs", "block", "grid", "occ_pct")) or e.name in {r["kernel_name"] for r in self.x.kernels}

    def only_theirs(self, names):
        """What begins in no step of podprof's is not in its tables."""
        inside = {op_name(e.name) for e in self.all if any(b <= e.begin < t for b, t in self.steps)}
        inside |= {op_name(str(e.args[k])) for e in self.all for k in ("tf_op", "hlo_op") if k in e.args and any(b <= e.begin < t for b, t in self.steps)}
        return "in-steps" if not set(names) & inside else None

    def host_op(self, names, title):
        def explain(ours, theirs):
            if title == "self us":
                return self.nested(names, ours, theirs)
            at = 0 if title == "occurrences" else 1
            whole = self.whole(self.host, op_name)
            inside = self.whole([e for e in self.host if any(b <= e.begin < t for b, t in self.steps)], op_name)
            zero = [0, 0, 0, 0]
            exact = 0 if at == 0 else STEP_US
            if not is_close([inside.get(n, zero)[at] for n in names], ours, exact):
                return None
            if is_close([whole.get(n, zero)[at] for n in names], theirs, exact):
                return "in-steps"
            more = [t - whole.get(n, zero)[0] for n, t in zip(names, theirs)]
            events = sum(r["allocations"] + r["deallocations"] for r in self.pod.tables["allocator"] if r["worker"] == self.rank)
            return "memory-op" if at == 0 and min(more) >= 0 and sum(more) <= events else None
        return explain

    def nested(self, names, ours, theirs):
        """xprof takes only what has a type from an operator's time; podprof everything that is nested. Less than that is none of both."""
        typed, least, whole = self.self_times(lambda e: is_typed(e.name)), self.self_times(lambda e: True), self.whole(self.host, op_name)
        for n, a, b in zip(names, ours, theirs):
            most = whole.get(n, [0, 0])[1]
            if not (abs(b - typed.get(n, 0)) <= STEP_US or typed.get(n, 0) - STEP_US <= b <= most + STEP_US) or a > b + STEP_US or a > least.get(n, 0) + STEP_US:
                return None
        return "nested"

    def self_times(self, counts):
        made, lines = collections.Counter(), collections.defaultdict(list)
        for e in self.host:
            lines[e.tid].append(e)
        for events in lines.values():
            stack = []
            for e in sorted((e for e in events if counts(e)), key=lambda e: (e.begin, -e.ns)):
                while stack and stack[-1].begin + stack[-1].ns <= e.begin:
                    stack.pop()
                made[op_name(e.name)] += e.ns / 1000
                if stack:
                    made[op_name(stack[-1].name)] -= min(e.ns, stack[-1].begin + stack[-1].ns - e.begin) / 1000
                stack.append(e)
        return made

    def device_ops_of_ours(self, names):
        """xprof lists events with tf_op only, by the HLO module where the file has one: then the sums agree. The others have the name of what launched
        them, or their own."""
        known = {op_name(str(e.args["tf_op"])) for e in self.device if e.args.get("tf_op")}
        if not set(names) & known:
            ours = sum(r["total_ns"] for r in self.pod.tables["op"] if r["worker"] == self.rank and r["side"] == "Device" and op_name(r["name"]) not in known)
            without = sum(e.ns for e in self.device if not e.args.get("tf_op") and any(b <= e.begin < t for b, t in self.steps))
            if abs(ours - without) <= max(1, len(self.device)) or self.trace() == "unix-time":
                return "device-names"
        return self.hlo()

    def hlo(self):
        if not any(e.args.get("hlo_op") for e in self.device):
            return None
        ours = sum(r["total_ns"] for r in self.pod.tables["op"] if r["worker"] == self.rank and r["side"] == "Device") / 1000
        mine = sum(e.ns for e in self.device if not (e.args.get("tf_op") or e.args.get("hlo_op")) and any(b <= e.begin < t for b, t in self.steps)) / 1000
        theirs = sum(float(r["total_time"]) for r in self.x.ops if r["host_or_device"] == "Device")
        return "hlo-op" if abs(ours - mine - theirs) <= STEP_US * max(1, len(self.steps)) else None

    def host_ops_of_ours(self, names):
        """xprof lists names of the form NAME:TYPE and tf.data's iterators, and the 500 with most self time."""
        typed = {op_name(e.name) for e in self.host if is_typed(e.name)}
        listed = [float(r["total_self_time"]) for r in self.x.ops if r["host_or_device"] == "Host"]
        if not set(names) & typed:
            return "host-names"
        most = max(r["self_ns"] / 1000 for r in self.pod.tables["op"] if r["worker"] == self.rank and r["side"] == "Host" and op_name(r["name"]) in set(names) & typed)
        return "most-rows" if len(listed) >= MOST_ROWS - 1 and most <= min(listed) + STEP_US else None

    def unseen(self, rows):
        """Host planes that xprof does not show: what it lacks are podprof's rows of names that its trace has nowhere. rows: (name, number), ours."""
        shown = {e.name for e in self.all + self.instants} | {e.label for e in self.all}
        def explain(ours, theirs):
            more = sum(n for name, n in rows if name not in shown)
            return "host-plane" if more and abs(sum(ours) - sum(theirs) - more) <= max(1, len(rows)) else None
        return explain

    def hidden(self, pattern):
        """Events that xprof's trace leaves out: podprof has less time without any event, at most their length."""
        def explain(ours, theirs):
            most = sum(r["total_ns"] for r in self.pod.tables["op"] if r["worker"] == self.rank and r["side"] == "Host" and re.search(pattern, r["name"]))
            more = [t - o for o, t in zip(ours, theirs)]
            return "hidden-events" if min(more) >= -1 and sum(more) <= most + 1 else None
        return explain

    def cut(self, names, at):
        """The window without the profiler's own time: podprof's ranges end at its edges, and those that began before it are in it."""
        def explain(ours, theirs):
            if self.pod.step_rule != "window" or len(self.steps) != 1:
                return None
            b, t = self.steps[0]
            parts = collections.defaultdict(list)
            for e in self.all:
                if e.plane.startswith("/host:CPU") and e.ns > 0 and e.begin < t and e.begin + e.ns > b:
                    parts[e.label].append(min(e.begin + e.ns, t) - max(e.begin, b))
            model = [(len, sum, max)[at](parts[n]) if parts[n] else 0 for n in (names or list(parts))]
            model = model if names else [sum(model)]
            return "profiler-time" if is_close(model, ours, max(1, len(self.all) if at else 0)) else None
        return explain

    def memory(self, names):
        """xprof reads allocators of the plane /host:CPU only."""
        return "host-plane" if not self.host and not self.x.memory else None

    def trace(self):
        """Why xprof's trace cannot be compared, or None."""
        if any(e.plane.startswith("/host:CPU") and e.plane != "/host:CPU" for e in self.all):
            return "host-plane"
        if self.steps and self.all and min(e.begin for e in self.all) > 1e14:
            return "unix-time"
        wrapped = [((self.pod.epoch_ns + b) * 1000 % (1 << 64)) / 1000 for b, _ in self.steps[:1]]
        if wrapped and any(abs(e.begin - w) < 1e6 for e in self.all for w in wrapped) and min(e.begin for e in self.all) > 1e12:
            return "unix-time"
        return None


def is_typed(name):
    """NAME:TYPE by xprof's grammar: a name does not begin with '_'."""
    return name.startswith("Iterator::") or bool(re.fullmatch(r"[A-Za-z0-9.][A-Za-z0-9_./>-]*:[A-Za-z_0-9]*", name))


def first_of(*rules):
    """The row of the first rule that holds."""
    def explain(ours, theirs):
        return next((row for row in (rule(ours, theirs) for rule in rules) if row), None)
    return explain


def op_name(name):
    """The operator of NAME:TYPE, as xprof shows it."""
    return name if name.startswith("Iterator::") else name.rsplit(":", 1)[0] if re.fullmatch(r"[^:]+:[A-Za-z_0-9]*", name) else name


def joined(ours, alone, theirs):
    """xprof joins files by overlap of time: what it shows of a file are steps of that file alone; podprof joins by number."""
    return "joined" if all(any(abs(t - a) <= STEP_US for a in alone) for t in theirs) and all(any(abs(o - a) <= STEP_US for a in alone) for o in ours) else None
