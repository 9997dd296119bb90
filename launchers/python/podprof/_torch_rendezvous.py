"""Rendezvous of the keepers of several hosts through the job's store: rank 0 puts its keeper's invitation there, the first rank of each
other host takes it, as mpi/coord_invite.c does through MPI. Called by _torch.py after init_process_group and at step edges."""
import os
import stat
import time

_MOST = 4084  # bytes of an invitation, as through MPI
_PATIENCE_S, _GIVE_UP_S = 1.0, 120.0  # inside init_process_group, and after it
_LOCAL_RANK = ("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID", "MPI_LOCALRANKID")
_LOCAL_SIZE = ("LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS")


def _number(names):
    for name in names:
        value = os.environ.get(name, "")
        if value.isdigit():
            return int(value)
    return -1


class Rendezvous:
    """look() until is_over."""

    def __init__(self, torch, shim):
        distributed = torch.distributed
        self.shim, self.is_over = shim, True
        self.rank, size, here = distributed.get_rank(), distributed.get_world_size(), _number(_LOCAL_SIZE)
        if here <= 0 or size <= here or (self.rank and _number(_LOCAL_RANK) != 0):
            return  # one host, or another rank's task
        self.spool = os.fsdecode(shim.spool() or b"")
        if not self.spool:
            return
        self.store = distributed.distributed_c10d._get_default_store()
        self.key = "podprof/invite/" + os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        self.is_over = False
        self.began, self.next, self.pause = time.monotonic(), 0.0, 0.1
        if self.rank == 0:
            shim.want_net()
        while not self.is_over and time.monotonic() - self.began < _PATIENCE_S:
            self._try()
            if not self.is_over:
                time.sleep(0.02)

    def check(self):
        """At a step edge: a compare, and sometimes look()."""
        now = time.monotonic()
        if now < self.next:
            return
        self.next, self.pause = now + self.pause, min(self.pause * 2, 5.0)
        self._try()
        if now - self.began > _GIVE_UP_S:
            self.is_over = True

    def _try(self):
        try:
            if self.rank == 0:
                text = _read(os.path.join(self.spool, "invite"))
                if text:
                    self.store.set(self.key, text)
                    self.is_over = True
            elif self.store.check([self.key]):
                self.is_over = True
                _write(self.spool, "invite-store", self.store.get(self.key))
        except Exception:  # the store is gone, or has no check(): other transports remain
            self.is_over = True


def _read(path):
    """A file of this user's keeper; complete, since it is renamed into place."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return b""
    try:
        s = os.fstat(fd)
        if not stat.S_ISREG(s.st_mode) or s.st_uid != os.geteuid() or not 0 < s.st_size <= _MOST:
            return b""
        text = os.read(fd, s.st_size)
        return text if len(text) == s.st_size else b""
    finally:
        os.close(fd)


def _write(spool, name, text):
    if not 0 < len(text) <= _MOST:
        return
    part = os.path.join(spool, name + ".part")
    try:
        os.unlink(part)  # of a rank that was killed here
    except OSError:
        pass
    fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        os.fchmod(fd, 0o600)
        whole = os.write(fd, text) == len(text)
    finally:
        os.close(fd)
    if whole:
        os.rename(part, os.path.join(spool, name))
    else:
        os.unlink(part)
