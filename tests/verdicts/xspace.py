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
