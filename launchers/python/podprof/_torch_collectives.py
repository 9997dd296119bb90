"""Annotates collectives with group, sequence number and bytes, which torch's ranges lack. In: entries of torch's flight recorder since
recording went on. Out: shim.group() and shim.collective(). Called by _torch.py before recording may go off, and at exit."""
import ctypes
import json
import sys
import time

_FIRST_KEY = b'{"collective_seq_id"'  # of an entry
_BYTES = {"Float": 4, "Double": 8, "Half": 2, "BFloat16": 2, "Long": 8, "Int": 4, "Short": 2, "Char": 1, "Byte": 1, "Bool": 1,
          "ComplexFloat": 8, "ComplexDouble": 16, "ComplexHalf": 4, "UInt16": 2, "UInt32": 4, "UInt64": 8}
_OFTEN = 1000  # collectives: the recorder holds 2000 by default


class Collectives:
    def __init__(self, torch, shim, recorded):
        self.torch, self.shim = torch, shim
        self.recorded = recorded  # _torch_groups: whether C records them when they begin
        self.last = -1  # record_id of the last entry that was read
        self.since = 0  # earlier entries belong to no window
        self.read_at = 0  # sum of the groups' sequence numbers when they were read
        self.groups = {}  # of this recording period: name and members -> id
        self.members = {}  # of the program: name -> world ranks
        self.reported = set()

    def begin(self):
        """Recording has gone on."""
        self.since = time.time_ns()
        self.recorded.learn()
        if self.recorded.works:
            self.shim.torch_groups()
            if not self.recorded.has_bytes:
                self._remark("podprof does not know where this torch has the sizes of tensors: its collectives are recorded without bytes")
            return
        if self.recorded.works is False:
            self._remark("podprof does not know the collectives' functions of this torch: they come from torch's flight recorder, and only "
                         "from windows of steps that the program has ended itself")
        self.groups.clear()
        self.read_at = self._count()

    def is_due(self):
        """Are there many new entries? 0.2 us per group."""
        return not self.recorded.works and self._count() - self.read_at >= _OFTEN

    def _groups(self):
        c10d = sys.modules.get("torch.distributed.distributed_c10d")
        return list(c10d._world.pg_names.items()) if c10d is not None and hasattr(c10d, "_world") else []

    def _count(self):
        count = 0
        for group, _ in self._groups():
            try:
                count += group._get_sequence_number_for_group()
            except Exception:
                continue  # a rank outside of the group, or a backend that does not count
        return count

    def has_news(self):
        return not self.recorded.works and self._count() != self.read_at

    def collect(self):
        self.read_at = self._count()
        dump = getattr(sys.modules.get("torch._C._distributed_c10d"), "_dump_fr_trace_json", None)
        if dump is None:
            self._remark("this torch has no flight recorder: its collectives are recorded without bytes and are not joined over ranks")
            return
        self._learn_members()
        for entry in self._new(dump(True, False)):
            self.last = max(self.last, entry.get("record_id", -1))
            if entry.get("time_created_ns", 0) >= self.since and not entry.get("is_p2p"):
                self._annotate(entry)

    def _new(self, text):
        """Entries after the last one read; only these are parsed."""
        text = text.encode() if isinstance(text, str) else text
        at = text.find(b'"record_id":%d,' % self.last) if self.last >= 0 else 0
        known = at >= 0
        at = text.find(_FIRST_KEY, max(at, 0))
        if at < 0:
            return [] if known else json.loads(text).get("entries", [])
        entries = json.JSONDecoder().raw_decode("[" + text[at:].decode("utf-8", "replace"))[0]
        if not known and entries:
            lost = entries[0].get("record_id", 0) - self.last - 1
            if lost > 0 and self.read_at:
                self._remark("torch's flight recorder overran: %d collectives are recorded without bytes and are not joined over "
                             "ranks (TORCH_FR_BUFFER_SIZE makes it larger)" % lost)
        return entries

    def _learn_members(self):
        """While the groups live."""
        distributed = self.torch.distributed
        for group, name in self._groups():
            self.members[name] = distributed.get_process_group_ranks(group)  # the name may be another group's now

    def _group(self, name, text):
        ranks = tuple(self.members.get(name) or ())
        if (name, ranks) not in self.groups:
            array = (ctypes.c_int32 * len(ranks))(*ranks)
            self.groups[name, ranks] = self.shim.group(text.encode(), len(ranks), array) if ranks else 0
        return self.groups[name, ranks]

    def _annotate(self, entry):
        name, text = (list(entry.get("process_group") or []) + ["", ""])[:2]
        group = self._group(name, text if text and text != "undefined" else "group " + name)
        work = entry.get("profiling_name", "")
        if not group:
            self._remark("a process group was gone before podprof knew its members: its collectives are not joined over ranks")
            return
        result = self.shim.collective(work.encode(), entry["time_created_ns"], group, max(entry.get("collective_seq_id", 1) - 1, 0),
                                    _size(entry, "input"), _size(entry, "output"), -1)
        if result == 1:
            self._remark("a collective that podprof does not know ('%s') is recorded as a range only" % work)

    def _remark(self, text):
        if text not in self.reported:
            self.reported.add(text)
            self.shim.remark(text.encode())


def _size(entry, which):
    total = 0
    types = entry.get(which + "_dtypes") or ["Float"]
    for i, sizes in enumerate(entry.get(which + "_sizes") or []):
        elements = 1
        for n in sizes:
            elements *= n
        total += elements * _BYTES.get(types[min(i, len(types) - 1)], 1)
    return total
