#!/usr/bin/python3
"""Four virtual hosts (network namespaces on a bridge), three of them in time namespaces hours away from the first, compare their clocks.
Called by ctest as unit.aggregate.clock_hosts: clock_hosts.py PROGRAM. Needs root, ip(8) and unshare(1)."""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../net"))
import net_hosts  # noqa: E402
from net_hosts import HOSTS, NAME  # noqa: E402

PORT = 7878
MOVED_S = (0, 7200, 100, 3600)


def start(h, program, *words):
    inside = ["ip", "netns", "exec", "%sh%d" % (NAME, h)]
    if MOVED_S[h]:
        inside += ["unshare", "--time", "--monotonic", str(MOVED_S[h]), "--fork"]
    return subprocess.Popen(inside + [program] + [str(w) for w in words], stdout=subprocess.PIPE, text=True)


def facts(process):
    out = process.communicate(timeout=60)[0]
    assert process.returncode == 0, "exit %d: %s" % (process.returncode, out)
    printed = {}
    for name, value in (line.split() for line in out.splitlines()):
        printed.setdefault(name, []).append(float(value))
    return printed


def main():
    if os.geteuid() != 0 or not shutil.which("ip") or not shutil.which("unshare"):
        print("skipped: virtual hosts need root, ip(8) and unshare(1)")
        return 77
    if subprocess.run(["unshare", "--time", "--monotonic", "100", "--fork", "true"], stderr=subprocess.DEVNULL).returncode:
        print("skipped: time namespaces are not allowed here")
        return 77
    try:
        net_hosts.up()
    except subprocess.CalledProcessError as e:
        net_hosts.down()
        print("skipped: no network namespaces here: %s" % e.stderr.strip())
        return 77
    processes = []
    try:
        processes = [start(0, sys.argv[1], "root", HOSTS - 1, PORT, "10.77.0.1")]
        # The first address is each host's own too: whoever sends there reaches himself.
        processes += [start(h, sys.argv[1], h, MOVED_S[h] * 10 ** 9, PORT, "172.17.0.1 10.77.0.1") for h in range(1, HOSTS)]
        printed = [facts(p) for p in processes]
    finally:
        for p in processes:
            p.kill()
        net_hosts.down()
    print("root: rounds of %s ms, %.2f ms CPU each" % (", ".join("%.1f" % ms for ms in printed[0]["round_ms"]), printed[0]["cpu_ms"][0]))
    for h in range(1, HOSTS):
        one = {name: value[0] for name, value in printed[h].items()}
        print("host %d, %d s ahead: %d instants, worst error %d ns, largest bound %d ns, %d trips" % (
            h, MOVED_S[h], one["instants"], one["worst"], one["bound"], one["trips"]))
        assert one["above"] == 0, "an error above its bound"
        assert one["instants"] > 50 and one["trips"] >= 100
        assert one["same"] == 2, "three clocks that are not the root's were taken for it"
    return 0


if __name__ == "__main__":
    sys.exit(main())
