#!/usr/bin/python3
"""podprof's NCCL plug-in and NVIDIA's libnccl, which has its debug information: our declarations against it, and its own code loads the
plug-in and calls it. No device runs. Run by ctest gpu_nccl_real; PODPROF_NVIDIA_WHEELS names the directory nvidia of the wheels, also of an
older NCCL, which has fewer versions."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "guest"))
import jobs
from jobs import Skipped, check, run, session_of

HERE = os.path.dirname(os.path.abspath(__file__))
WHEELS = os.environ.get("PODPROF_NVIDIA_WHEELS", "")
LIBRARY = os.path.join(WHEELS, "nccl/lib/libnccl.so.2")

FUNCTIONS = ["PluginInit", "PluginFinalize", "StartGroupApiEvent", "StopGroupApiEvent", "RecordGroupApiEventState", "StartCollApiEvent",
             "StopCollApiEvent", "StartP2pApiEvent", "StopP2pApiEvent", "StartKernelLaunchEvent", "StopKernelLaunchEvent", "StartGroupEvent",
             "StopGroupEvent", "StartTaskEvents", "StopTaskEvents", "StartKernelChEvent", "StopKernelChEvent"]
MEMBERS = {
    "ncclComm": "commHash nNodes nRanks rank config.commName profilerContext",
    "ncclInfo": "coll count datatype root comm",
    "ncclKernelPlan": "comm collTaskQueue.head p2pTaskQueue.head",
    "ncclTaskColl": "next func count root datatype nMaxChannels nWarps algorithm protocol eActivationMask groupApiEventHandle collApiEventHandle nChannels "
                    "eventHandle",
    "ncclProfilerWorkOp": "channelId eActivationMask taskEventHandle profilerContext",
    "ncclProxyArgs": "subs",
    "ncclProxySubArgs": "channelId eActivationMask taskEventHandle profilerContext",
    "ncclTaskP2p": "next func count root datatype eActivationMask groupApiEventHandle p2pApiEventHandle nChannels",
    "ncclProfilerApiState_t": "profilerGroupDepth eActivationMask groupApiEventHandle p2pApiEventHandle collApiEventHandle",
}
VALUES = ["ncclFuncAllReduce", "ncclFuncBroadcast", "ncclFuncSend", "ncclFuncRecv", "ncclFloat32", "ncclFloat64", "ncclInt8"]

# our struct: NCCL's, and our members that are NCCL's by another name
COLL = ("coll.sequence=coll.seqNumber coll.function=coll.func coll.send=coll.sendBuff coll.receive=coll.recvBuff coll.count coll.root coll.datatype "
        "coll.channels=coll.nChannels coll.warps=coll.nWarps coll.algorithm=coll.algo coll.protocol=coll.proto ")
P2P = "p2p.function=p2p.func p2p.buffer=p2p.buff p2p.datatype p2p.count p2p.peer "
PROXY = "proxy_op.pid=proxyOp.pid kernel_channel.channel=kernelCh.channelId "
NEW = (COLL + P2P + PROXY + "p2p.channels=p2p.nChannels kernel_channel.timer=kernelCh.pTimer coll.group=coll.parentGroup p2p.group=p2p.parentGroup "
       "group_api.is_captured=groupApi.graphCaptured group_api.depth=groupApi.groupDepth coll_api.function=collApi.func coll_api.count=collApi.count "
       "coll_api.datatype=collApi.datatype coll_api.root=collApi.root coll_api.stream=collApi.stream coll_api.is_captured=collApi.graphCaptured "
       "p2p_api.function=p2pApi.func p2p_api.count=p2pApi.count p2p_api.datatype=p2pApi.datatype p2p_api.stream=p2pApi.stream "
       "p2p_api.is_captured=p2pApi.graphCaptured kernel_launch.stream=kernelLaunch.stream ")
CE = ("ce_coll.sequence=ceColl.seqNumber ce_coll.function=ceColl.func ce_coll.send=ceColl.sendBuff ce_coll.receive=ceColl.recvBuff "
      "ce_coll.count=ceColl.count ce_coll.root=ceColl.root ce_coll.datatype=ceColl.datatype ce_coll.strategy=ceColl.syncStrategy ")
HEAD = "type parent=parentObj rank "
OURS = {
    "ncclProfilerEventDescr_v3_t": ("pp_nccl_event_v3", HEAD + COLL.replace("coll.channels=coll.nChannels", "coll.channels=coll.nMaxChannels") + P2P +
                                    PROXY + "coll.name coll.comm=coll.commHash p2p.name p2p.comm=p2p.commHash"),
    "ncclProfilerEventDescr_v4_t": ("pp_nccl_event_v4", HEAD + COLL + P2P + PROXY + "p2p.channels=p2p.nChannels kernel_channel.timer=kernelCh.pTimer"),
    "ncclProfilerEventDescr_v5_t": ("pp_nccl_event", HEAD + NEW),
    "ncclProfilerEventDescr_v6_t": ("pp_nccl_event", HEAD + NEW + CE),
    "ncclProfilerEventDescr_v7_t": ("pp_nccl_event", HEAD + NEW + CE + "coll_api.tag=collApi.userTag p2p_api.tag=p2pApi.userTag"),
}
STATES = {f"ncclProfilerEventStateArgs_v{v}_t": ("pp_nccl_state", "kernel_channel.timer=kernelCh.pTimer") for v in (4, 5, 6, 7)}
PLUGINS = {f"ncclProfiler_v{v}_t": ("pp_nccl_plugin", "name init start=startEvent stop=stopEvent state=recordEventState finalize") for v in (3, 4, 5, 6, 7)}
EVENTS = {"PP_NCCL_GROUP": "Group", "PP_NCCL_COLL": "Coll", "PP_NCCL_P2P": "P2p", "PP_NCCL_PROXY_OP": "ProxyOp", "PP_NCCL_PROXY_STEP": "ProxyStep",
          "PP_NCCL_PROXY_CTRL": "ProxyCtrl", "PP_NCCL_KERNEL_CHANNEL": "KernelCh", "PP_NCCL_NET_PLUGIN": "NetPlugin", "PP_NCCL_GROUP_API": "GroupApi",
          "PP_NCCL_COLL_API": "CollApi", "PP_NCCL_P2P_API": "P2pApi", "PP_NCCL_KERNEL_LAUNCH": "KernelLaunch", "PP_NCCL_CE_COLL": "CeColl",
          "PP_NCCL_CE_SYNC": "CeSync", "PP_NCCL_CE_BATCH": "CeBatch", "PP_NCCL_KERNEL_PHASE": "KernelPhase"}

# runs in gdb: offset and size of a member, which may be in an unnamed union or a bit-field
GDB = """
import gdb, json, re
want = json.loads(%r)
def field(t, path):
    at = 0
    for word in path.split('.'):
        at, t, size = find(t.strip_typedefs(), word, at)
    return [at, size]
def find(t, word, at):
    for f in t.fields():
        if f.name == word:
            return at + f.bitpos // 8, f.type, (f.bitsize // 8 if f.bitsize else f.type.sizeof)
        if not f.name:
            try:
                return find(f.type.strip_typedefs(), word, at + f.bitpos // 8)
            except KeyError:
                pass
    raise KeyError(word)
def number(text):
    return int(re.search(r'0x[0-9a-f]+', text).group(0), 16)
got = {'member': {}, 'size': {}, 'function': {}, 'tls': {}, 'variable': {}, 'value': {}}
for name, members in want['members'].items():
    try:
        t = gdb.lookup_type(name)
    except gdb.error:  # of another version
        continue
    got['size'][name] = t.sizeof
    for m in members:
        try:
            got['member'][name + '.' + m] = field(t, m)
        except KeyError:
            continue
for f in want['functions']:
    try:
        got['function'][f] = number(str(gdb.parse_and_eval('(void *)&' + f)))
    except gdb.error:
        continue
for v in want['tls']:
    try:
        got['tls'][v] = number(gdb.execute('info address ' + v, to_string=True))
    except gdb.error:
        continue
for v in want['variables']:
    got['variable'][v] = number(str(gdb.parse_and_eval('(void *)&' + v)))
for v in want['values']:
    try:
        got['value'][v] = int(gdb.parse_and_eval('(int)' + v))
    except gdb.error:
        continue
print('LAYOUT ' + json.dumps(got))
"""


def layout_of(place):
    """Places in the library, by its debug information."""
    path = os.path.join(place.scratch, "layout.json")
    if not os.path.exists(LIBRARY):
        raise Skipped("no libnccl of NVIDIA: it comes with pip")
    if not shutil.which("gdb"):
        raise Skipped("no gdb, which reads the library's debug information")
    if os.path.exists(path):
        with open(path, encoding="ascii") as f:
            return path, json.load(f)
    members = {name: text.split() for name, text in MEMBERS.items()}
    for name, (_, text) in {**OURS, **STATES, **PLUGINS}.items():
        members[name] = [word.split("=")[-1] for word in text.split()]
    want = {"members": members, "functions": ["ncclProfiler" + f for f in FUNCTIONS], "tls": ["ncclGroupDepth", "ncclProfilerApiState"],
            "variables": ["ncclProfilerEventMask"], "values": [*VALUES, *["ncclProfile" + e for e in EVENTS.values()], "ncclProfilerKernelChStop"]}
    script = os.path.join(place.scratch, "layout.py")
    with open(script, "w", encoding="ascii") as f:
        f.write(GDB % json.dumps(want))
    got = subprocess.run(["gdb", "-nx", "-batch", "-x", script, LIBRARY], capture_output=True, text=True, check=False)
    found = [line[7:] for line in got.stdout.splitlines() if line.startswith("LAYOUT ")]
    check(found, f"gdb: {got.stderr[-1000:]}")
    layout = json.loads(found[0])
    layout["value"].update({"NCCL_ALGO_RING": 1, "NCCL_PROTO_SIMPLE": 2})  # macros of NCCL's
    with open(path, "w", encoding="ascii") as f:
        json.dump(layout, f)
    return path, layout


def newest(layout):
    """The newest version of the interface that the library has."""
    return max(v for v in range(8) if f"ncclProfilerEventDescr_v{v}_t" in layout["size"] or not v)


def declarations(place, full):
    """core/source/nccl/nccl_abi.h says what the library's debug information says."""
    layout = layout_of(place)[1]
    lines = ['#include "core/source/nccl/nccl_abi.h"']
    for theirs, (ours, members) in {**OURS, **STATES, **PLUGINS}.items():
        if theirs not in layout["size"]:
            continue
        one = ("union " if ours == "pp_nccl_state" else "struct ") + ours
        for word in members.split():
            mine, its = (word + "=" + word).split("=")[:2]
            offset, size = layout["member"][f"{theirs}.{its}"]
            lines.append(f'_Static_assert(offsetof({one}, {mine}) == {offset}, "place of {mine} in {theirs}");')
            lines.append(f'_Static_assert(sizeof((({one} *)0)->{mine}) == {size}, "size of {mine} in {theirs}");')
    check(newest(layout) >= 3, layout["size"])
    lines += [f'_Static_assert({ours} == {layout["value"]["ncclProfile" + its]}, "{ours}");' for ours, its in EVENTS.items()
              if "ncclProfile" + its in layout["value"]]
    if "ncclProfilerKernelChStop" in layout["value"]:
        lines.append(f'_Static_assert(PP_NCCL_KERNEL_CHANNEL_STOP == {layout["value"]["ncclProfilerKernelChStop"]}, "state");')
    with tempfile.NamedTemporaryFile("w", suffix=".c") as f:
        f.write("\n".join(lines) + "\n")
        f.flush()
        got = run([os.environ.get("CC", "cc"), "-std=c11", "-D_GNU_SOURCE", "-fsyntax-only", "-I", os.path.join(HERE, "../.."), f.name])
    check(got.code == 0, got.transcript())


def names(place, full):
    """Each kernel of the library is in the list of names that tests/gpu/job.py and tests/unit/aggregate/read/demangle_test.c use."""
    with open(os.path.join(HERE, "nccl_kernels.txt"), encoding="ascii") as f:
        known = {line.split()[1] for line in f if not line.startswith("#")}
    with open(LIBRARY, "rb") as f:
        text = f.read()
    found = {m[1].decode() for m in re.finditer(rb"\0(_Z\d+nccl(?:Dev|Symk?Dev)?Kernel_\w+)\0", text)}
    check(len(found) > 50 and found <= known, sorted(found - known)[:5])


def table(place, logs, name):
    """Rows of a table, each a dict by column."""
    got = run([place.podprof(), "report", "--table", name, "--format", "json", session_of(logs)])
    check(got.code == 0, got.transcript())
    columns = json.loads(got.out)["columns"]
    return [{c["name"]: c["data"][i] for c in columns} for i in range(len(columns[0]["data"]))]


def summary(logs):
    with open(os.path.join(session_of(logs), "summary.txt"), encoding="utf-8") as f:
        return f.read()


def driven(place, case, *options, ranks=1, env=None, bare=False, logs=None, more=()):
    """A case of nccl_driver.py under podprof, or without it: log directory, event masks, result."""
    logs, path = logs or place.new_logs(), layout_of(place)[0]
    command = [jobs.PYTHON, "-B", os.path.join(HERE, "nccl_driver.py"), LIBRARY, path, case, *more]
    if ranks > 1:
        command = place.mpirun(ranks, command)
    env = {"PYTHONPATH": os.path.join(HERE, "../../launchers/python"), **(env or {})}
    with open(os.path.join(place.bin, "../lib/libpodprof.so"), "rb") as f:
        if bare and b"libasan.so" in f.read():
            raise Skipped("a library with AddressSanitizer cannot be loaded by NCCL alone")
    window = () if "--delay" in options else ("--steps", "4:7")
    got = run(command if bare else place.under(logs, command, *window, *options), env)
    if got.code == 77:
        raise Skipped("the library's thread-local variables are not found")
    said = [json.loads(text) for text in re.findall(r'\{"version.*?\}', got.out)]
    check(got.code == 0 and not got.timed_out and len(said) == ranks, got.transcript())
    check(bare or all(one["is_loaded"] for one in said), got.transcript())
    return logs, said[0]["masks"], got


def calls(place, logs):
    return {row["name"]: row["calls"] for row in table(place, logs, "op")}


def outside(place):
    """The library's mask outside windows: calls of collectives and messages, before version 5 their work."""
    return 0x600 if newest(layout_of(place)[1]) > 4 else 0x6


def plugin(place, full):
    """The library's own code chooses the newest version; outside windows it reports calls only, before version 5 work."""
    logs, masks, got = driven(place, "plain", env={"NCCL_DEBUG": "INFO"})
    version = newest(layout_of(place)[1])
    check(got.out.count(f"Loaded podprof (v{version})" if version > 4 else "loaded podprof") == 2, got.out[:2000])  # again after it was unloaded
    # before the first communicator, in 12 steps (recorded: one more on each side of the window), at the end
    check(masks[0] == masks[-1] == 0 and set(masks[1:4] + masks[9:-1]) == {outside(place)} and all(m & 0x800 for m in masks[4:9]), f"{masks}")
    check(calls(place, logs) == {"ncclAllReduce": 6, "ncclBroadcast": 3, "ncclSend": 3, "ncclRecv": 3}, calls(place, logs))
    rows = [r for r in table(place, logs, "collective") if not r["message"]]
    check([r["bytes"] for r in rows[:3]] == [4000, 4000, 1000] and len({(r["operation"], r["sequence"]) for r in rows}) == len(rows) == 15, rows)
    comms = table(place, logs, "communicator")
    check(len(comms) == 1 and (newest(layout_of(place)[1]) < 4 or comms[0]["name"] == "gradients" and comms[0]["size"] == 2), comms)
    check("none lost" in summary(logs), summary(logs))


def two_ranks(place, full):
    """Ranks of one communicator: their operations are one collective, their messages a channel."""
    if not shutil.which(jobs.MPIRUN):
        raise Skipped("no mpirun")
    logs = driven(place, "plain", ranks=2)[0]
    rows = table(place, logs, "collective")
    check(rows and all(r["ranks"] == 2 for r in rows), rows)
    ways = table(place, logs, "channel")
    check({(r["source"], r["destination"]): r["bytes"] for r in ways} == {(0, 1): 40000, (1, 0): 40000}, ways)


def chained(place, full):
    """A plug-in that the user has set sees all that it sees without podprof, in windows and outside; one that fails is left out."""
    if newest(layout_of(place)[1]) < 4:
        raise Skipped("the test's plug-in has the versions 4 to 6")
    env = {"NCCL_PROFILER_PLUGIN": place.program("nccl_chained.so")}

    def said(got):
        return [line for line in got.out.splitlines() if line.startswith("chained: ")]
    alone = said(driven(place, "plain", env=env, bare=True)[2])
    logs, _, got = driven(place, "plain", env=env)
    check(alone and "gradients rank 0 of 2" in alone[0] and " 0 wrong" in alone[0] and "36 collectives" in alone[0], alone)
    check(said(got) == alone, f"{said(got)} instead of {alone}")
    check(calls(place, logs)["ncclAllReduce"] == 6, calls(place, logs))
    logs, _, got = driven(place, "plain", env={**env, "CHAINED_FAIL": 1})
    check(not said(got) and calls(place, logs)["ncclAllReduce"] == 6, got.transcript())
    got = driven(place, "plain", env={"NCCL_PROFILER_PLUGIN": "/nowhere/plugin.so"})[2]
    check("cannot load the NCCL profiler plug-in '/nowhere/plugin.so'" in got.err, got.transcript())


def lines(place, full):
    """What the library itself reports outside windows counts on each communicator, and podprof status shows it."""
    version, logs = newest(layout_of(place)[1]), place.new_logs()
    got = driven(place, "lines", "--delay", "1h", logs=logs, more=[place.podprof(), "status", "--json", logs])[2]
    status = [json.loads(line[8:]) for line in got.out.splitlines() if line.startswith("status: ")]
    comms = {c["name"]: c for c in status[0]["jobs"][0]["ranks"][0]["nccl"]}
    check(len(comms) == 2, comms)  # the one that is gone has no line
    if version > 3:  # which has neither names nor sizes
        one, two = comms["first"], comms["second"]
        check(one["begun"] == one["ended"] == 36 and one["messages"] == 24 and one["size"] == 2 and one["call"] == "ncclBroadcast", comms)
        check((two["begun"], two["ended"], two["call"]) == ((13, 12, "ncclBroadcast") if version > 4 else (12, 12, "ncclAllReduce")), comms)
        check(one["root"] == 1 and one["bytes"] == 1000 and one["communicator"] == two["communicator"], comms)  # the driver has one hash


def pinned(place, full):
    """NCCL closes its plug-in with the last communicator. podprof stays, also where NCCL alone has loaded it."""
    library = os.path.join(place.bin, "../lib/libpodprof.so")
    got = driven(place, "plain", env={"NCCL_PROFILER_PLUGIN": library, "NCCL_DEBUG": "INFO"}, bare=True)[2]
    check("oaded podprof" in got.out and '"is_loaded": true' in got.out, got.out)


def faults(place, full):
    """Communicators that abort, a library that is unloaded, children, more communicators than there is room for."""
    logs = driven(place, "aborts")[0]
    check(calls(place, logs)["ncclAllReduce"] == 3, calls(place, logs))
    logs = driven(place, "unloads")[0]
    check("ncclAllReduce" not in calls(place, logs) and "steps 4..6 " in summary(logs), summary(logs))
    logs = driven(place, "forks")[0]
    check(calls(place, logs) == {"ncclAllReduce": 3}, calls(place, logs))
    logs = driven(place, "many")[0]
    check("more than 1024 communicators" in summary(logs), summary(logs))


def channels(place, full):
    """Times of the device by --nccl-times: operations whose channels do not all end count as lost, and their calls are there."""
    logs, masks, _ = driven(place, "channels", "--nccl-times", "yes")
    check(all(mask & 0x40 for mask in masks[4:9]) and set(masks[9:]) == {outside(place)}, f"{masks}")
    check(calls(place, logs)["ncclAllReduce"] == 3 * 3 + 8000, calls(place, logs))
    lost = re.search(r"Records: .*", summary(logs)).group(0).replace("\xa0", "").replace("\u202f", "")
    if newest(layout_of(place)[1]) < 4:  # which says how many channels there may be, so one is enough
        check("none lost" in lost, lost)
    else:
        check("8 005 lost" in lost and "gave them no begin or no end" in lost, lost)


def small_shm(place, full):
    """NCCL is not asked for times where /dev/shm has no room for its proxies: it would crash."""
    logs, masks, got = driven(place, "plain", "--nccl-times", "yes", env={"LD_PRELOAD": place.program("small_shm.so")})
    check(not any(mask & 0x40 for mask in masks) and calls(place, logs)["ncclAllReduce"] == 6, f"{masks}")
    check("--nccl-times yes is left out: /dev/shm has 8 MB free" in got.err, got.transcript())


def graph(place, full):
    """Each run of a CUDA graph is an operation without a call, and has no number; its capture is none."""
    if newest(layout_of(place)[1]) < 5:
        raise Skipped("this NCCL says nothing of captures")
    logs = driven(place, "graph")[0]
    check(calls(place, logs) == {"ncclAllReduce": 3 * 2} and not table(place, logs, "collective"), calls(place, logs))
    check("11 collectives of NCCL have no number" in summary(logs) and "none lost" in summary(logs), summary(logs))  # 5 steps, and the capture


def nvtx(place, full):
    """NCCL's own NVTX ranges, which older releases have instead of a plug-in."""
    logs = driven(place, "nvtx", env={"NCCL_PROFILER_PLUGIN": "none"})[0]
    rows = {row["name"]: row for row in table(place, logs, "op")}
    check(set(rows) == {"ncclAllReduce", "ncclGroupStart", "ncclGroupEnd"} and {row["source"] for row in rows.values()} == {"NVTX"}, rows)
    check(all(row["calls"] == 3 and row["category"] == "Host communication" for row in rows.values()), rows)


CASES = {"declarations": declarations, "names": names, "plugin": plugin, "two_ranks": two_ranks, "chained": chained, "lines": lines, "pinned": pinned,
         "faults": faults, "channels": channels, "small_shm": small_shm, "graph": graph, "nvtx": nvtx}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__))
