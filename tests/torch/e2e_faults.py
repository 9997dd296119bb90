#!/usr/bin/python3
"""PyTorch jobs that end badly or live in odd places: what they print, how they end and what they raise is as without podprof, and what was
recorded until then is there. Run by ctest torch_faults."""
import json
import os
import re
import signal
import sys
import time

import torchjobs as tj
from e2e import h5
import jobs
from jobs import check, session_of

STEPS = 12
# Python's own: a worker process that ends while the tracker of semaphores takes one down, with and without podprof.
TRACKER = re.compile(r"^.*resource_tracker.*\n(?:  warnings\.warn\(.*\n)?", re.M)
# A traceback through torch's backward pass has a frame of podprof's wrapper more, and nothing else.
OWN_FRAME = re.compile(r'^(?:\[rank\d+\]: )?  File "[^"]*/podprof/_torch[a-z_]*\.py", line \d+, in .*\n(?:(?:\[rank\d+\]: )?    .*\n)*', re.M)


def both(place, words, env=None, ranks=0, limit=60.0):
    """The command bare, then under podprof: (logs, result) where they do not differ. `words`: of small.py, or a whole command."""
    command = tj.python(tj.script("small.py"), *words) if isinstance(words, list) else list(words)
    results, logs = [], place.new_logs()
    for under in (False, True):
        one = place.under(logs, command) if under else command
        own = {"MEET": os.path.join(place.scratch, f"meet{place.count}{under}"), **(env or {})}
        results.append(tj.run(place.mpirun(ranks, one) if ranks else one, own, limit))
    results[1].err = OWN_FRAME.sub("", results[1].err)
    for one in results:
        one.err = TRACKER.sub("", one.err)
    wrong = jobs.compare(*results)
    check(not wrong, (wrong, results[0].transcript(), results[1].transcript()))
    return logs, results[1]


def steps(logs, count=STEPS, ranks=1):
    session = session_of(logs)
    with h5(session) as f:
        check(tj.steps_of(f) == list(range(count)) and f["worker/rank"].shape[0] == ranks, (tj.steps_of(f), f["worker/rank"][()]))
        check(tj.rules_of(f) == {tj.LOADER}, tj.rules_of(f))
        said = tj.names(f["quality/warning"][()]) if "quality/warning" in f else []
        return said, tj.names(f["op/name"][()]) if "op" in f else []


def own_sitecustomize(place, full):
    """The user's own is run too, and is the module of that name."""
    own = os.path.join(place.scratch, "own")
    os.makedirs(own)
    with open(os.path.join(own, "sitecustomize.py"), "w", encoding="ascii") as f:
        f.write("import sys\nprint('own', __file__.endswith('/own/sitecustomize.py'), sys.modules['sitecustomize'].__name__)\n")
    logs, got = both(place, [], {"PYTHONPATH": own})
    check(got.out.startswith("own True sitecustomize\n"), got.out)
    steps(logs)


def flags(place, full):
    """Python that does not look at PYTHONPATH, or at no site: the shim is not there, and nothing is amiss."""
    paths = tj.run(tj.python("-c", "import torch; print(torch.__file__)")).out
    site = os.path.dirname(os.path.dirname(paths.strip()))
    for flag in ("-S", "-I", "-E")[:3 if full else 2]:
        both(place, tuple(tj.python(flag, tj.script("small.py"))), {"PYTHONPATH": site} if flag == "-S" else None)


def workers(place, full):
    """Processes of the DataLoader are no ranks and mark no steps."""
    for context in ("fork", "spawn", "forkserver")[:3 if full else 2]:
        logs, _ = both(place, ["plain", "1", context])
        steps(logs)


def helper(place, full):
    """A Python that the program starts says and does what it would."""
    logs, got = both(place, ["helper"])
    check(got.out.startswith("1\n"), got.out)
    steps(logs)


def exception(place, full):
    """Rank 1 raises in step 8."""
    _, got = both(place, ["raise:1"], ranks=2)
    check(got.code == 1 and "ValueError: asked for" in got.err, got.transcript())
    logs, got = both(place, ["raise:0"])
    check(got.code == 1, got.transcript())
    steps(logs, 9)


def exit_at_once(place, full):
    logs, got = both(place, ["exit3"])
    check(got.code == 3, got.transcript())
    steps(logs, 8)  # nobody saw the end of the ninth


def interrupted(place, full):
    """^C, as a terminal sends it: to Python, and to mpirun."""
    for ranks in (0, 2)[:2 if full else 1]:
        results = []
        for under in (False, True):
            command = tj.python(tj.script("small.py"), "hang")
            command = place.under(place.new_logs(), command) if under else command
            process = jobs.start(place.mpirun(ranks, command) if ranks else command, tj.ENV)
            out = process.files[0]
            check(jobs.wait_until(lambda o=out: os.fstat(o.fileno()).st_size >= 6 * max(1, ranks), 30), "it does not begin")
            time.sleep(0.3)
            process.send_signal(signal.SIGINT)
            results.append(jobs.finish(process, 60))
        results[1].err = OWN_FRAME.sub("", results[1].err)
        wrong = jobs.compare(*results)
        check(not wrong, (wrong, results[1].transcript()))
        check(ranks or results[1].code == -signal.SIGINT and "KeyboardInterrupt" in results[1].err, results[1].transcript())


def hung(place, full):
    """Rank 1 of DDP stands still before its backward pass: podprof hang names the collective of the others, and rank 1."""
    logs = place.new_logs()
    env = {**tj.ENV, "MEET": os.path.join(place.scratch, f"meet{place.count}")}
    process = jobs.start(place.mpirun(3, place.under(logs, tj.python(tj.script("small.py"), "stall:1"))), env)

    def look(*words):
        return jobs.run([place.podprof(), "hang", "--after", "1s", *words, logs])

    def stuck():
        """In step 8: on a busy machine ranks wait long in earlier ones too."""
        got = look("--json")
        found = json.loads(got.out)["jobs"][0] if got.code == 4 else {"stuck": 0}
        return found if found["stuck"] == 2 and found["ranks"][1].get("step") == 8 else None

    try:
        found = jobs.wait_until(stuck, 60)
        check(found, look().transcript())
        one = [o for o in found["operations"] if o["stuck"]]
        check(len(one) == 1 and one[0]["kind"] == "c10d" and one[0]["call"] == "c10d::allreduce_", found)
        check(one[0]["in"] == [0, 2] and one[0]["not_in"] == [1] and found["causes"] == [1] and not found.get("unsure"), found)
        text = look().out
        check("c10d::allreduce_ number " in text and "First cause: rank 1, " in text, text)
        got = jobs.run([place.podprof(), "status", logs])
        check(got.out.count("  in c10d::allreduce_\n") == 2 and ", recording\n" in got.out, got.transcript())
    finally:
        process.terminate()
        jobs.finish(process, 60)


def hung_unseen(place, full):
    """The same outside of windows: what the processes of torch.distributed call is known there too."""
    logs = place.new_logs()
    env = {**tj.ENV, "MEET": os.path.join(place.scratch, f"meet{place.count}")}
    process = jobs.start(place.mpirun(2, place.under(logs, tj.python(tj.script("small.py"), "stall:1"), "--steps", "2:4")), env)
    try:
        got = jobs.wait_until(lambda: (lambda g: g if g.code == 4 and ", step 8" in g.out else None)(
            jobs.run([place.podprof(), "hang", "--after", "1s", logs])), 60)
        check(got and "c10d::allreduce_ number " in got.out and "First cause: rank 1, " in got.out, got and got.transcript())
    finally:
        process.terminate()
        jobs.finish(process, 60)


def own_profiler(place, full):
    """The program's torch.profiler has its trace, whole; podprof has its steps, and says for which it has no operators."""
    traces = [os.path.join(place.scratch, f"trace{i}.json") for i in range(2)]
    script, logs, found = tj.script("small.py"), place.new_logs(), []
    for i, path in enumerate(traces):
        command = tj.python(script, f"profiler:{path}")
        got = tj.run(place.under(logs, command) if i else command)
        check(got.code == 0, got.transcript())
        with open(path, encoding="utf-8") as f:
            found.append(sorted(e["name"] for e in json.load(f)["traceEvents"] if e.get("cat") == "cpu_op"))
    check(found[0] == found[1] and "aten::addmm" in found[0], set(found[0]) ^ set(found[1]))
    said, ops = steps(logs)
    check(any("torch.profiler" in s for s in said), said)
    check("aten::addmm" in ops, ops)
    with h5(session_of(logs)) as f:
        addmm = tj.names(f["op/name"][()]).index("aten::addmm")
        calls = [int(c) for c, row in zip(f["op/calls"][()], f["op/row_op"][()]) if row == addmm]
    check(sum(calls) == STEPS - 4, f"{calls} calls of addmm in {STEPS} steps, four of them under torch.profiler")


def without_itt(place, full):
    """A torch that tells nobody of its operators: steps and phases are there."""
    own = os.path.join(place.scratch, "own")
    os.makedirs(own)
    with open(os.path.join(own, "sitecustomize.py"), "w", encoding="ascii") as f:
        f.write("import os\nos.environ['INTEL_LIBITTNOTIFY64'] = '/none.so'\n")
    logs, _ = both(place, [], {"PYTHONPATH": own})
    _, ops = steps(logs)
    check("backward" in ops and not any(o.startswith("aten::") for o in ops), ops)


def other_collector(place, full):
    """The user's own collector of ITT, which is not there."""
    logs, _ = both(place, [], {"INTEL_LIBITTNOTIFY64": os.path.join(place.scratch, "none.so")})
    _, ops = steps(logs)
    check("aten::addmm" in ops, ops)


def no_torch(place, full):
    """A torch whose import fails: the program's exception, with the program's own lines only."""
    package = os.path.join(place.scratch, "fake", "torch")
    os.makedirs(package)
    with open(os.path.join(package, "__init__.py"), "w", encoding="ascii") as f:
        f.write("raise ImportError('libtorch_cpu.so: cannot open shared object file')\n")
    main = os.path.join(place.scratch, "main.py")
    with open(main, "w", encoding="ascii") as f:
        f.write("import sys\ntry:\n    import torch\nexcept ImportError as error:\n    print('caught', error, 'torch' in sys.modules)\nimport torch\n")
    _, got = both(place, tuple(tj.python(main)), {"PYTHONPATH": os.path.dirname(package)})
    check(got.code == 1 and "caught libtorch_cpu.so" in got.out, got.transcript())


CASES = {f.__name__: f for f in (own_sitecustomize, flags, workers, helper, exception, exit_at_once, interrupted, hung, hung_unseen, own_profiler,
                                 without_itt, other_collector, no_torch)}

if __name__ == "__main__":
    sys.exit(tj.main(CASES, __doc__))
