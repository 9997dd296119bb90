"""Says to C which process groups there are, and where a tensor has its size, so that the methods of torch's backends are recorded when they
are called (core/source/torch/c10d.h). Called by _torch.py when groups were made and when recording goes on."""
import ctypes
import sys

_PROBES = ((3, 2003, "float32", 6), (5, 4099, "float64", 7), (7, 8209, "bfloat16", 15))  # rows, columns, type, its number in c10
_OURS = ("gloo", "nccl")  # what torch calls the backends of c10d_method.def


class Groups:
    """works: None before the first group, then whether its methods come through our library."""

    def __init__(self, torch, shim):
        self.torch, self.shim = torch, shim
        self.works, self.has_bytes = None, False
        self.known = {}  # name of a group -> its members

    def learn(self):
        """Groups that were made since."""
        c10d = sys.modules.get("torch.distributed.distributed_c10d")
        if c10d is None or self.works is False:
            return
        for group, name in list(c10d._world.pg_names.items()):
            members = tuple(c10d.get_process_group_ranks(group))
            if members and self.known.get(name) != members:
                self.known[name] = members
                self._name(group, name, members)

    def forget(self):
        """Groups were destroyed, and their names may come again."""
        self.known.clear()

    def _name(self, group, name, members):
        if self.works is None:
            self._probe()
        text = getattr(group, "group_desc", "")
        text = text if text and text != "undefined" else "group " + name
        array = (ctypes.c_int32 * len(members))(*members)
        for backend in _backends(self.torch, group):
            self.shim.torch_group(None, None, 0, None)  # forgets what was asked before
            kind = backend.name() if hasattr(backend, "name") else ""
            try:
                (backend if hasattr(backend, "_get_sequence_number_for_group") else group)._get_sequence_number_for_group()
            except Exception:  # a backend that does not count
                continue
            if self.shim.torch_group(("%s/%s" % (name, kind)).encode(), text.encode(), len(members), array):
                self.works = True
            elif self.works is None and kind in _OURS:
                self.works = False

    def _probe(self):
        """Finds where a tensor has its number of elements and its type."""
        torch = self.torch
        try:
            tensors = [torch.empty(rows, columns, dtype=getattr(torch, kind), device="meta") for rows, columns, kind, _ in _PROBES]
            count = len(tensors)
            self.has_bytes = bool(self.shim.torch_tensors(
                (ctypes.c_uint64 * count)(*(tensor._cdata for tensor in tensors)),
                (ctypes.c_int64 * count)(*(rows * columns for rows, columns, _, _ in _PROBES)),
                (ctypes.c_int32 * count)(*(number for _, _, _, number in _PROBES)), count))
        except Exception:
            self.has_bytes = False


def _backends(torch, group):
    """A group has one for each kind of device, and they may be the same."""
    try:
        return list({id(one): one for one in (group._get_backend(torch.device(kind)) for kind in _kinds(group))}.values()) or [group]
    except Exception:  # an older torch: its default backend answers
        return [group]


def _kinds(group):
    return [getattr(kind, "type", kind) for kind in group._device_types]
