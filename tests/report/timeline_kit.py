"""The page's timeline as Python reads it: its data, chunks unpacked, a made-up timeline put into a real page. Used by report_timeline.py and
tests/bench/page.py."""
import base64
import json
import re
import zlib

import numpy as np

MARK = re.compile(r'<script[^>]*id="pod"[^>]*>(.*?)</script>', re.S)
EVENT = [("begin", "T"), ("length", "T"), ("self", "T"), ("track", "u4"), ("name", "u4"), ("detail", "u4"), ("depth", "u2"), ("kind", "u1"),
         ("category", "u1"), ("flags", "u1")]
DETAIL = [("comm", "u4"), ("sequence", "u4"), ("request", "u4"), ("peer", "u4"), ("last", "u4"), ("tag", "u4"), ("has", "u4"), ("wait", "T"),
          ("bound", "f8"), ("sent", "f8"), ("received", "f8")]
FLOW = [("from", "u4"), ("to", "u4"), ("kind", "u1")]


def data(page):
    with open(page, encoding="utf-8") as f:
        return json.loads(MARK.search(f.read()).group(1))


def column(raw, at, kind, n):
    kind = np.dtype("<" + kind)
    planes = np.frombuffer(raw, np.uint8, n * kind.itemsize, at).reshape(kind.itemsize, n)
    return np.ascontiguousarray(planes.T).reshape(-1).view(kind), at + n * kind.itemsize


def unpack(chunk):
    """{"events", "details", "flows"}, each {name: array}. All bytes must be used."""
    raw, at, found = zlib.decompress(base64.b64decode(chunk["lazy"]), -15), 0, {}
    for part, columns in (("events", EVENT), ("details", DETAIL), ("flows", FLOW)):
        found[part] = {}
        for name, kind in columns:
            kind = ("f8" if chunk["wide"] else "u4") if kind == "T" else kind
            found[part][name], at = column(raw, at, kind, chunk[part])
    assert at == len(raw), f"{len(raw) - at} bytes are left of the chunk"
    return found


def events(timeline):
    """Every event of the page in the order of its number: rank, track, begin, end, self, name, depth, kind, category, flags, and the columns
    of its detail or None."""
    rows = []
    for c in timeline["chunk"]:
        assert c["first"] == len(rows), f"chunk begins at event {c['first']}, not {len(rows)}"
        part = unpack(c)
        e, d = part["events"], part["details"]
        for i in range(c["events"]):
            at = int(e["detail"][i]) - 1
            begin = c["begin"] + int(e["begin"][i])
            rows.append({"rank": timeline["rank"][timeline["track"][e["track"][i]]["rank"]]["rank"], "track": int(e["track"][i]), "begin": begin,
                         "end": begin + int(e["length"][i]), "self": int(e["self"][i]), "name": timeline["name"][e["name"][i]],
                         "depth": int(e["depth"][i]), "kind": int(e["kind"][i]), "category": int(e["category"][i]),
                         "flags": int(e["flags"][i]), "step": c["step"],
                         "detail": {k: v[at] for k, v in d.items()} if at >= 0 else None})
    return rows


def flows(timeline):
    found = []
    for c in timeline["chunk"]:
        f = unpack(c)["flows"]
        found += [(int(a), int(b), int(k)) for a, b, k in zip(f["from"], f["to"], f["kind"])]
    return found


def put_into(page, timeline, to):
    """Writes a copy of a page with this timeline, JSON text, instead of its own."""
    with open(page, encoding="utf-8") as f:
        text = f.read()
    found = MARK.search(text)
    own = json.loads(found.group(1))
    own.pop("timeline", None)
    own.pop("timeline_why", None)
    rest = json.dumps(own).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    with open(to, "w", encoding="utf-8") as f:
        f.write(text[:found.start(1)] + rest[:-1] + ',"timeline":' + timeline.strip() + "}" + text[found.end(1):])


if __name__ == "__main__":  # timeline_kit.py PAGE TIMELINE.json OUT
    import sys
    with open(sys.argv[2], encoding="utf-8") as source:
        put_into(sys.argv[1], source.read(), sys.argv[3])
