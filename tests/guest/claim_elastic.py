#!/usr/bin/python3
"""Starts ranks as torchrun does, and starts all of them again when one fails: claim_elastic.py RANKS RESTARTS COMMAND...
The command gets RANK, WORLD_SIZE, LOCAL_RANK, TORCHELASTIC_RUN_ID and TORCHELASTIC_RESTART_COUNT; the last rank of each round but the
last one is killed. Run by claim.py."""
import os
import signal
import subprocess
import sys
import time


def main():
    ranks, restarts, command = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    for count in range(restarts + 1):
        running = []
        for rank in range(ranks):
            env = {**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(ranks), "LOCAL_WORLD_SIZE": str(ranks),
                   "TORCHELASTIC_RUN_ID": "none", "TORCHELASTIC_RESTART_COUNT": str(count)}
            running.append(subprocess.Popen(command, env=env))
        if count < restarts:
            time.sleep(0.6)
            running[-1].send_signal(signal.SIGKILL)
            running[-1].wait()
            for p in running:
                p.terminate()
        codes = [p.wait() for p in running]
        print(f"round {count}: {codes}", flush=True)
    return 1 if any(codes) else 0


sys.exit(main())
