#!/usr/bin/python3
"""The page's timeline, unpacked, is pod.h5's: waits of each step and rank, the late rank; and a page without event files says why. Run by
ctest report_timeline."""
import collections
import os
import shutil
import sys

import h5py

from kit import check, jobs, make, slow_train
import timeline_kit


def waits(timeline):
    """{(step, rank): ns waited for other ranks} in steps of the window, {rank: how often it was the last}."""
    found, last = collections.Counter(), collections.Counter()
    for e in timeline_kit.events(timeline):
        step, d = None if e["step"] is None else timeline["step"][e["step"]], e["detail"]
        if step and d and d["last"]:
            found[step["number"], e["rank"]] += int(d["wait"])
            last[int(d["last"]) - 1] += 1
    return found, last


def real(place, full):
    """Four ranks, rank 1 slow: each cell's waiting is that of /breakdown to the ns, and arrows lead to rank 1."""
    directory = jobs.session_of(slow_train(place))
    timeline = timeline_kit.data(os.path.join(directory, "report.html"))["timeline"]
    check(timeline and not timeline["left_out"], f"left out: {timeline and timeline['left_out']}")
    got, last = waits(timeline)
    with h5py.File(os.path.join(directory, "pod.h5")) as f:
        want = f["breakdown/wait_ns"][()].clip(0)
        check(want.sum() > 0, "nobody waited")
        for s, number in enumerate(f["breakdown/step"][()]):
            for r, rank in enumerate(f["worker/rank"][()]):
                check(got[int(number), int(rank)] == want[s, r], f"step {number}, rank {rank}: {got[int(number), int(rank)]}, not {want[s, r]}")
    check(last.most_common(1)[0][0] == 1, f"the last ranks are {last}")
    events = timeline_kit.events(timeline)
    flows = [f for f in timeline_kit.flows(timeline) if timeline["flow"][f[2]] == "collective"]
    waiting = [i for i, e in enumerate(events) if e["detail"] and e["detail"]["wait"] and e["detail"]["last"]]
    check(sorted(f[0] for f in flows) == waiting, "arrows do not begin at the calls that waited")
    check(all(events[b]["rank"] == int(events[a]["detail"]["last"]) - 1 for a, b, kind in flows), "an arrow leads to another rank")


def without(place, full):
    """The event files are gone, then back: the page says which are missing, and is made again when they are newer."""
    logs = slow_train(place)
    directory = jobs.session_of(logs)
    page, plugins = os.path.join(directory, "report.html"), os.path.join(logs, "plugins")
    shutil.move(plugins, plugins + "-off")
    os.unlink(page)
    make(place, directory)
    data = timeline_kit.data(page)
    check(data["timeline"] is None and "no event file in" in data["timeline_why"], data.get("timeline_why"))
    shutil.move(plugins + "-off", plugins)
    newest = os.stat(page).st_mtime_ns + 10 ** 9
    for at, _, names in os.walk(plugins):
        for name in names:
            os.utime(os.path.join(at, name), ns=(newest, newest))
    make(place, directory)
    check(timeline_kit.data(page)["timeline"], "the page was not made again")


if __name__ == "__main__":
    sys.exit(jobs.main({"real": real, "without": without}, __doc__))
