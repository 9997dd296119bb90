"""libpodprof.so, loaded already: podprof_api() and podprof_shim() as objects with Python functions. A function that an older library
lacks does nothing. Only calls that may wait release the GIL."""
import ctypes
import sys

_C = ctypes
_API = (  # struct podprof_api: name, result, arguments
    ("step_begin", None, _C.c_int64),
    ("step_end", None),
    ("range_push", None, _C.c_char_p, _C.c_int),
    ("range_pop", None),
    ("mark", None, _C.c_char_p),
    ("counter", None, _C.c_char_p, _C.c_double),
    ("recording", _C.c_int),
    ("window_start", None, _C.c_char_p),
    ("window_stop", None),
    ("profile_steps", None, _C.c_int64, _C.c_int64),
)
_SHIM = (  # struct podprof_shim
    ("state", _C.c_uint32),
    ("claim", _C.c_uint32),
    ("now", _C.c_uint64),
    ("step_begin", _C.c_uint32, _C.c_int64, _C.c_uint64),
    ("step_end", _C.c_uint32),
    ("is_edge", _C.c_int, _C.c_int64),
    ("step_rule", None, _C.c_char_p),
    ("group", _C.c_uint64, _C.c_char_p, _C.c_uint32, _C.POINTER(_C.c_int32)),
    ("collective", _C.c_int, _C.c_char_p, _C.c_int64, _C.c_uint64, _C.c_uint32, _C.c_uint64, _C.c_uint64, _C.c_int32),
    ("remark", None, _C.c_char_p),
    ("say", None, _C.c_char_p),
    ("spool", _C.c_char_p),
    ("want_net", None),
    ("step_end_at", _C.c_uint32, _C.c_uint64),
    ("claim_group", _C.c_uint32, _C.c_int32, _C.c_int32, _C.c_int),
    ("finish", None, _C.c_int),
    ("torch_tensors", _C.c_int, _C.POINTER(_C.c_uint64), _C.POINTER(_C.c_int64), _C.POINTER(_C.c_int32), _C.c_int),
    ("torch_group", _C.c_uint64, _C.c_char_p, _C.c_char_p, _C.c_uint32, _C.POINTER(_C.c_int32)),
    ("execution", None, _C.c_uint64, _C.c_uint32, _C.c_uint64, _C.c_uint32),
    ("waited", None, _C.c_uint64, _C.c_uint64, _C.c_uint32, _C.c_uint32),
    ("rank", _C.c_int),
    ("torch_groups", None),
    ("calls_begin", _C.c_int, _C.c_char_p, _C.c_char_p),
    ("calls_end", None),
    ("calls_on_begin", _C.c_void_p),
    ("calls_on_end", _C.c_void_p),
    ("calls_on_profile", _C.c_int),
    ("range", None, _C.c_char_p, _C.c_int, _C.c_uint64, _C.c_uint64),
    ("file_reads", _C.c_uint64),
    ("file_reads_of_all", _C.c_uint64),
    ("file_read_ticks", _C.c_uint64),
    ("file_read_ticks_of_all", _C.c_uint64),
    ("file_reads_start", _C.c_int),
    ("python_calls", _C.c_uint64),
    ("python_loop", None, _C.c_uint64, _C.c_uint64, _C.c_uint64),
)
_WAITS = ("claim", "claim_group", "finish", "step_begin", "step_end", "window_start", "window_stop")  # may start a keeper, or exchange data with other ranks
_WORD = _C.sizeof(_C.c_void_p)

IS_RANK, RECORDING, EXPLICIT, OPERATORS, PYTHON = 1, 2, 4, 8, 16
BY_NAME, DEVICE_COMPUTE, HOST_COMPUTE, INPUT, OUTPUT, COMPILATION, OTHER, HOST_COMMUNICATION = 0, 1, 4, 6, 7, 8, 9, 10


class Door:
    """One table of the library: its functions as attributes."""

    def __init__(self, address, rows):
        size = _C.c_uint64.from_address(address).value
        for i, (name, result, *arguments) in enumerate(rows):
            at = 8 + i * _WORD
            function = _C.c_void_p.from_address(address + at).value if size >= at + _WORD else None
            if function:
                kind = _C.CFUNCTYPE if name in _WAITS else _C.PYFUNCTYPE
                setattr(self, name, kind(result, *arguments)(function))
            else:
                setattr(self, name, _none if result is None else _zero)


def _none(*_):
    return None


def _zero(*_):
    return 0


def _open(name, rows, needed):
    try:
        entry = getattr(_C.PyDLL(None), name)
    except (AttributeError, OSError):
        return None
    entry.restype = _C.c_void_p
    address = entry()
    if not address or _C.c_uint64.from_address(address).value < 8 + needed * _WORD:
        return None
    return Door(address, rows)


_doors = {}


def api():
    """podprof.h, or None where the library is not in this process. As there, a table without recording() is none."""
    if "api" not in _doors:
        _doors["api"] = _open("podprof_api", _API, 7)
    return _doors["api"]


def shim():
    """shim.h, or None."""
    if "shim" not in _doors:
        _doors["shim"] = _open("podprof_shim", _SHIM, len(_SHIM))
    return _doors["shim"]


def at_end_of_child(finish):
    """A child of multiprocessing that is a rank may end by _exit(): does the exit handlers' work before."""
    multiprocessing, util = sys.modules.get("multiprocessing"), sys.modules.get("multiprocessing.util")
    if util is not None and multiprocessing.parent_process() is not None:
        util.Finalize(None, finish, exitpriority=-1000)


def status():
    """Exit code of such a child, as far as known."""
    error = sys.exc_info()[1]
    return 0 if error is None or isinstance(error, SystemExit) and not error.code else 1
