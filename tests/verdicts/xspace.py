"""Writes XSpace files (.xplane.pb) of given planes, lines, events and stats: the protobuf bytes by hand. Used by samples.py.

Times are us; of a line since its `at`, in ns. Stats: int, float, str, bytes by the Python type, ("uint", n), ("ref", text). Same calls give the
same bytes.
"""
import struct


def varint(n):
    n &= (1 << 64) - 1
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def number(field, n):
    return varint(field << 3) + varint(n)


def block(field, data):
    data = data.encode() if isinstance(data, str) else data
    return varint(field << 3 | 2) + varint(len(data)) + data


class Plane:
    def __init__(self, name, plane_id=0):
        self.name, self.id = name, plane_id
        self.stat_ids, self.event_ids, self.event_more, self.lines, self.stats = {}, {}, {}, [], []

    def stat(self, name, value):
        kind, value = value if isinstance(value, tuple) else (type(value).__name__, value)
        head = number(1, self.stat_ids.setdefault(name, len(self.stat_ids) + 1))
        if kind == "float":
            return head + varint(2 << 3 | 1) + struct.pack("<d", value)
        if kind == "ref":
            return head + number(7, self.stat_ids.setdefault(value, len(self.stat_ids) + 1))
        return head + (block(5, value) if kind == "str" else block(6, value) if kind == "bytes" else number(3 if kind == "uint" else 4, value))

    def says(self, **stats):
        """Stats of the plane itself."""
        self.stats += [self.stat(n, v) for n, v in stats.items()]
        return self

    def about(self, name, display="", **stats):
        """Display name and stats that all events of this name have."""
        self.event_ids.setdefault(name, len(self.event_ids) + 1)
        self.event_more[name] = (block(4, display) if display else b"") + b"".join(block(5, self.stat(n, v)) for n, v in stats.items())
        return self

    def line(self, name, events, line_id=1, at=0, display=""):
        """events: (name, begin us, us[, {stat: value}])"""
        made = [number(1, line_id), block(2, name), number(3, at)]
        for event in sorted(events, key=lambda e: (e[1], -e[2])):
            stats = event[3] if len(event) > 3 else {}
            made.append(block(4, number(1, self.event_ids.setdefault(event[0], len(self.event_ids) + 1)) + number(2, round(event[1] * 1e6)) +
                              number(3, round(event[2] * 1e6)) + b"".join(block(4, self.stat(n, v)) for n, v in stats.items())))
        if display:
            made.append(block(11, display))
        self.lines.append(b"".join(made))
        return self

    def bytes(self):
        made = [number(1, self.id), block(2, self.name)] + [block(3, line) for line in self.lines]
        for name, i in self.event_ids.items():
            made.append(block(4, number(1, i) + block(2, number(1, i) + block(2, name) + self.event_more.get(name, b""))))
        for name, i in self.stat_ids.items():
            made.append(block(5, number(1, i) + block(2, number(1, i) + block(2, name))))
        return b"".join(made + [block(6, s) for s in self.stats])


def space(planes, host="", errors=(), warnings=()):
    return b"".join([block(1, p.bytes()) for p in planes] + [block(2, e) for e in errors] + [block(3, w) for w in warnings] +
                    ([block(4, host)] if host else []))


# -- programs of XLA: HloProto

TYPES = {"f32": 11, "bf16": 16, "u32": 8}


def shape(text):
    """f32[8,128], or a list of such: a tuple."""
    if isinstance(text, (list, tuple)):
        return number(2, 13) + b"".join(block(4, shape(t)) for t in text)
    kind, dimensions = text.rstrip("]").split("[")
    return number(2, TYPES[kind]) + b"".join(number(3, int(d)) for d in dimensions.split(",") if d)


def instruction(name, opcode, gives, groups=None, pairs=(), iota=None, channel=1, is_global=True):
    """groups: lists of numbers; iota: (groups, members, array, order of its dimensions)."""
    made = block(1, name) + block(2, opcode) + block(3, shape(gives)) + (number(26, channel) if channel else b"")
    devices = b"".join(block(1, b"".join(number(1, i) for i in g)) for g in groups or ())
    if iota:
        devices = block(2, number(1, iota[0]) + number(2, iota[1]) + block(3, b"".join(map(varint, iota[2]))) + block(4, b"".join(map(varint, iota[3]))))
    made += b"".join(block(52, number(1, a) + number(2, b)) for a, b in pairs)
    return made + (number(71, 1) if is_global else b"") + (block(87, devices) if groups is not None or iota else b"")


def hlo(name, instructions, devices=(), others=()):
    """A module of two computations, the first its entry, on one replica whose partitions are these devices."""
    computations = [b"".join(block(2, i) for i in of) + number(5, 17 + k) for k, of in enumerate((instructions, others))]
    assignment = number(1, 1) + number(2, len(devices)) + b"".join(block(3, number(1, d)) for d in devices) if devices else b""
    return block(1, block(1, name) + b"".join(block(3, c) for c in computations) + number(5, 3) + number(6, 17) + (block(15, assignment) if devices else b""))


def programs(*modules):
    """The plane that has them: (number, name, HloProto)."""
    plane = Plane("/host:metadata", 1)
    for n, name, proto in modules:
        plane.about(f"{name}({n})", **{"Hlo Proto": proto, "program_id": n})
    return plane
