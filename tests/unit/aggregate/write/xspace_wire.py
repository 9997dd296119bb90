"""Reads XSpace files with nothing but the wire format: dicts of what podprof writes, every text checked to be UTF-8, every length to fit.
Used by write_check.py."""
import struct


def varint(b, i):
    v = s = 0
    while True:
        v |= (b[i] & 0x7F) << s
        s += 7
        i += 1
        if b[i - 1] < 0x80:
            return v, i


def signed(v):
    return v - (1 << 64) if v >= 1 << 63 else v


def fields(b):
    """(field, value) of a message; value is int, float or bytes."""
    i = 0
    while i < len(b):
        key, i = varint(b, i)
        if key & 7 == 0:
            v, i = varint(b, i)
        elif key & 7 == 1:
            v, i = struct.unpack_from("<d", b, i)[0], i + 8
        elif key & 7 == 2:
            n, i = varint(b, i)
            v, i = b[i : i + n], i + n
            assert len(v) == n, "a length that reaches past its message"
        else:
            raise AssertionError(f"wire type {key & 7}")
        yield key >> 3, v
    assert i == len(b)


def names(b):
    m = {"id": 0, "name": "", "display": ""}
    for f, v in fields(dict(fields(b))[2]):
        if f == 1:
            m["id"] = v
        else:
            m[{2: "name", 3: "description", 4: "display"}[f]] = v.decode()
    assert m["id"] == dict(fields(b))[1] and m["id"] > 0, m
    return m


def event(b):
    e = {"id": 0, "begin": 0, "duration": 0, "stats": []}
    for f, v in fields(b):
        if f == 4:
            e["stats"].append(dict(fields(v)))
        else:
            e[{1: "id", 2: "begin", 3: "duration"}[f]] = signed(v)
    return e


def line(b):
    made = {"id": 0, "name": "", "events": []}
    for f, v in fields(b):
        if f == 4:
            made["events"].append(event(v))
        elif f == 2:
            made["name"] = v.decode()
        elif f == 1:
            made["id"] = signed(v)
    return made


def plane(b):
    p = {"name": "", "lines": [], "events": {}, "stats": {}, "values": []}
    for f, v in fields(b):
        if f == 2:
            p["name"] = v.decode()
        elif f == 3:
            p["lines"].append(line(v))
        elif f in (4, 5):
            m = names(v)
            table = p["events" if f == 4 else "stats"]
            assert m["id"] not in table, "two metadata of one id"
            table[m["id"]] = m
        elif f == 6:
            p["values"].append(dict(fields(v)))
    return p


def read(path):
    with open(path, "rb") as f:
        data = f.read()
    planes, hosts, warnings = [], [], []
    for f, v in fields(data):
        if f == 1:
            planes.append(plane(v))
        else:
            {3: warnings, 4: hosts}[f].append(v.decode())
    return planes, hosts, warnings
