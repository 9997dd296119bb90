"""A trace that torch.profiler writes here, read by kineto_dump: steps, operators and allocations are those of the JSON.
Usage: kineto.py KINETO_DUMP"""
import json
import os
import subprocess
import sys
import tempfile

try:
    import torch
    from torch.profiler import ProfilerActivity, profile, schedule
except ImportError as missing:
    print("skipped:", missing)
    sys.exit(77)


def record(path):
    model = torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=1, warmup=1, active=3), profile_memory=True,
                 record_shapes=True, with_stack=True, on_trace_ready=lambda p: p.export_chrome_trace(path)) as p:
        for _ in range(6):
            optimizer.zero_grad()
            model(torch.randn(8, 16)).sum().backward()
            optimizer.step()
            p.step()


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "host_1.pt.trace.json")
        record(path)
        out = subprocess.run([sys.argv[1], path], check=True, stdout=subprocess.PIPE, text=True).stdout
        with open(path, encoding="utf-8") as f:
            trace = json.load(f, parse_float=str, parse_int=str)
    got = [line.split("\t") for line in out.splitlines()]
    steps = [[int(v) for v in line[1:]] for line in got if line[0] == "step"]
    rest = {line[0]: line[1] for line in got if line[0] != "step"}
    events = trace["traceEvents"]
    base = int(trace["baseTimeNanoseconds"])
    timed = [e for e in events if e["ph"] == "X" and e["cat"] != "Trace"]
    memory = [e for e in events if e["name"] == "[memory]"]
    marks = sorted((int(e["name"].split("#")[1]), base + int(e["ts"].replace(".", "")), int(e["dur"].replace(".", "")))
                   for e in timed if e["name"].startswith("ProfilerStep#"))
    assert [tuple(s[:3]) for s in steps] == marks, (steps, marks)
    assert len(steps) == 3
    whole = sum(e["ph"] != "M" for e in events)  # the profiler's own frames are left out, and counted with what is derived
    assert int(rest["events"]) + int(rest["derived"]) == whole and int(rest["events"]) <= len(timed) + len(memory), (rest, whole)
    assert int(rest["events"]) > 0.9 * (len(timed) + len(memory)), (rest, len(timed))
    assert int(rest["allocations"]) == len(memory) > 0, rest
    assert rest["pid"] == next(e["pid"] for e in timed) and rest["producer"] == "PyTorch", rest
    assert rest["damaged"] == rest["untimed"] == "0" and rest["rank"] == "0", rest
    print(out)


if __name__ == "__main__":
    main()
