"""A Slurm of this machine alone, for tests: munged, slurmctld and a slurmd for each node, none of them a service. Needs root. The nodes are
pretended, on one host, or the pretend hosts of hosts.py. Used by e2e_slurm*.py and e2e_spank*.py."""
import os
import re
import shutil
import socket
import subprocess

import jobs
from jobs import Skipped

CONF = """ClusterName=podprof
SlurmctldHost={host}({address})
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={at}/munge.socket
CredType=cred/munge
StateSaveLocation={at}/state
SlurmdSpoolDir={at}/spool-%n
TmpFS={at}/tmp-%n
SlurmctldPidFile={at}/slurmctld.pid
SlurmdPidFile={at}/slurmd-%n.pid
SlurmctldLogFile={at}/slurmctld.log
SlurmdLogFile={at}/slurmd-%n.log
ProctrackType={track}
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,bf_interval=1
SlurmdParameters=config_overrides
MpiDefault=none
FirstJobId={first}
ReturnToService=2
"""
PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "sbatch", "salloc", "scancel", "squeue", "sinfo", "scontrol")
# Open MPI tells hosts apart by their names, and these nodes have one: memory that ranks of two nodes share would be mixed up.
ENV = {"OMPI_MCA_btl": "tcp,self", "OMPI_MCA_mpi_yield_when_idle": "1"}
# What srun says only where the job before still has the node: how often depends on the machine.
WAITS = re.compile(r"^srun: (?:job \d+ (?:queued and waiting|has been allocated)|Job \d+ step creation (?:temporarily|still) disabled|Step created for job)"
                   r".*\r?\n", re.M)


def free_ports(count):
    """Numbers that no socket has now."""
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def first_job():
    """Spools and cgroups have the numbers of jobs in their names: those of two Slurms of this machine differ."""
    return 1000 + os.getpid() % 50000 * 1000


class Slurm:
    """with Slurm(place, nodes, cores) as slurm: slurm.run(["srun", "-n", "2", ...]). Skips where the programs are absent or do not come up."""

    def __init__(self, place, nodes, cores, lines="", plugins="", hosts=None, track="proctrack/linuxproc", files=None):
        """lines: more of slurm.conf; plugins: plugstack.conf; hosts: a node on each of them, and slurmctld and srun on their front end;
        files: names and texts of more files beside slurm.conf."""
        self.at, self.cores, self.daemons = os.path.join(place.scratch, "slurm"), cores, []
        self.hosts, self.names = hosts, hosts.names if hosts else [f"n{i}" for i in range(nodes)]
        self.nodes, self.lines, self.plugins, self.track = len(self.names), lines, plugins, track
        self.files = files or {}
        # A container engine's bridge, for example, leads nowhere: Open MPI would try it too.
        self.env = {**ENV, "OMPI_MCA_btl_tcp_if_include": "eth0" if hosts else "lo", "SLURM_CONF": self.at + "/slurm.conf"}

    def __enter__(self):
        path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
        self.found = {p: shutil.which(p, path=path) for p in PROGRAMS}
        if os.geteuid():
            raise Skipped("a Slurm of one's own needs root")
        if None in self.found.values():
            raise Skipped(f"without {', '.join(p for p in PROGRAMS if not self.found[p])} of Slurm and munge")
        try:
            self.up()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in reversed(self.daemons):
            try:
                daemon.wait(5)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()

    def on(self, node, command):
        """The command on that node; None: on the front end."""
        return self.hosts.on(node or self.hosts.front, command) if self.hosts else command

    def daemon(self, *words, node=None):
        with open(f"{self.at}/daemons.out", "a") as out:
            self.daemons.append(subprocess.Popen(self.on(node, [self.found[words[0]], *words[1:]]), env=jobs.clean_environment(self.env), stdin=subprocess.DEVNULL,
                                                 stdout=out, stderr=out))

    def configure(self):
        host, ports = self.hosts.front if self.hosts else socket.gethostname().split(".")[0], free_ports(1 + self.nodes)
        os.makedirs(self.at + "/state")
        for name in self.names:
            os.makedirs(f"{self.at}/spool-{name}")
            os.makedirs(f"{self.at}/tmp-{name}")
        with open(self.at + "/munge.key", "wb", opener=lambda p, flags: os.open(p, flags, 0o600)) as f:
            f.write(os.urandom(128))
        with open(self.at + "/slurm.conf", "w") as f:
            f.write(CONF.format(at=self.at, first=first_job(), host=host, port=ports[0], track=self.track, address=host if self.hosts else "127.0.0.1"))
            for name, port in zip(self.names, ports[1:]):
                where = f"NodeAddr={name}" if self.hosts else f"NodeHostname={host} NodeAddr=127.0.0.1"
                f.write(f"NodeName={name} {where} Port={port} CPUs={self.cores} State=UNKNOWN\n")
            if self.plugins:
                f.write(f"PlugStackConfig={self.at}/plugstack.conf\n")
            f.write(self.lines)
            f.write(f"PartitionName=p Nodes={','.join(self.names)} Default=YES State=UP\n")
        with open(self.at + "/plugstack.conf", "w") as f:
            f.write(self.plugins)
        for name, text in {"cgroup.conf": "CgroupAutomount=no\nCgroupPlugin=cgroup/v1\n", **self.files}.items():
            with open(f"{self.at}/{name}", "w") as f:
                f.write(text)

    def up(self):
        self.configure()
        self.daemon("munged", "--foreground", "--force", f"--key-file={self.at}/munge.key", f"--socket={self.at}/munge.socket",
                    f"--pid-file={self.at}/munged.pid", f"--log-file={self.at}/munged.log", f"--seed-file={self.at}/munge.seed")
        jobs.wait_until(lambda: os.path.exists(self.at + "/munge.socket"))
        self.daemon("slurmctld", "-D", "-i")
        for name in self.names:
            self.daemon("slurmd", "-D", "-N", name, node=name)
        if not jobs.wait_until(self.is_idle, 30, 0.1):
            raise Skipped("no Slurm comes up here: " + self.last_line())
        plain = self.run(["srun", "-n", "1", "true"])
        if plain.code:
            raise Skipped("srun does not run here: " + plain.transcript())

    def has_pmix(self):
        listed = self.run(["srun", "--mpi=list"])
        return "pmix" in listed.out + listed.err

    def is_idle(self):
        if any(d.poll() is not None for d in self.daemons):
            raise Skipped("no Slurm comes up here: " + self.last_line())
        return self.run(["sinfo", "-h", "-t", "idle", "-o", "%D"]).out.strip() == str(self.nodes)

    def last_line(self):
        with open(f"{self.at}/daemons.out", errors="replace") as f:
            lines = f.read().strip().splitlines()
        return lines[-1] if lines else "it says nothing"

    def start(self, command, env=None):
        return jobs.start(self.on(None, [self.found[command[0]], *command[1:]]), {**self.env, **(env or {})}, cwd=self.at)

    def finish(self, job):
        """Skips where slurmd made no container for the job: some kernels refuse it ("ns base mount failed: Invalid argument") if the mount namespace
        of the job was made on another CPU than that of slurmd."""
        got = jobs.finish(job)
        got.err = WAITS.sub("", got.err)
        if "are still not ready" in got.err:
            raise Skipped("Slurm makes no container for this job here: " + got.transcript())
        return got

    def run(self, command, env=None):
        return self.finish(self.start(command, env))
