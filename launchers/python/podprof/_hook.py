"""Installs a framework's adapter right after its import. Called by sitecustomize.py; imports nothing.
The import returns or raises the same as without it."""
import sys
from _thread import get_ident

_ADAPTERS = {
    "torch": "_torch",
    "torch._dynamo.callback": "_torch_late",
    "torch._dynamo.decorators": "_torch_late",
    "torch.distributed.checkpoint.state_dict_saver": "_torch_late",
    "jax": "_jax",
    "tensorflow.python.eager.polymorphic_function.polymorphic_function": "_tensorflow",
    "tensorflow.python.profiler.profiler_v2": "_profiler",
    "keras.src.callbacks.callback_list": "_keras",
    "keras.src.backend.jax.trainer": "_keras",
    "tf_keras.src.callbacks": "_keras",
}
_OF_IO = {"numpy._core.memmap": "_data_sources", "numpy.core.memmap": "_data_sources"}  # with --io yes


class _Loader:
    """The framework's loader, then the adapter. All other attributes are the framework's loader's."""

    def __init__(self, loader, name):
        self._loader, self._name = loader, name

    def __getattr__(self, name):
        return getattr(self._loader, name)

    @property
    def __class__(self):
        return type(self._loader)

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        spec = getattr(module, "__spec__", None)
        if spec is not None:
            spec.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        _adapt(self._name, module)


# Python leaves its import frames out of a traceback; this name makes it leave out ours too.
_Loader.exec_module.__code__ = _Loader.exec_module.__code__.replace(co_filename="<frozen importlib._bootstrap>")


class _Finder:
    """First on sys.meta_path until the frameworks are imported. Another finder may search the same name inside of find_spec(): those
    after this one answer it. State is per thread, since two may import at once."""

    def __init__(self):
        self.waited_for, self.searches = dict(_ADAPTERS), set()

    def find_spec(self, name, path=None, target=None):
        search = get_ident(), name
        if name not in self.waited_for or search in self.searches:
            return None
        self.searches.add(search)
        try:
            spec = _find(name, path, target, self)
        finally:
            self.searches.discard(search)
        if spec is not None and hasattr(spec.loader, "exec_module") and hasattr(spec.loader, "create_module"):
            spec.loader = _Loader(spec.loader, name)
        return spec

    def invalidate_caches(self):
        """Nothing is kept."""


_finder = _Finder()


def _find(name, path, target, but):
    for finder in list(sys.meta_path):
        if finder is not but and hasattr(finder, "find_spec"):
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                return spec
    return None


def _adapt(name, module):
    """A failure of ours prints one line. An interrupt is the program's."""
    adapter = _finder.waited_for.pop(name, None)
    if not _finder.waited_for and _finder in sys.meta_path:
        sys.meta_path.remove(_finder)
    if adapter is None:
        return
    try:
        __import__("_podprof." + adapter)
        sys.modules["_podprof." + adapter].install(module)
    except Exception as error:
        _complain("the adapter for %s failed: %s: %s. Not all of its steps, operators and collectives will be recorded." % (name, type(error).__name__, error))


def _complain(text):
    """Once per host, by its first process: rank 0 is not known yet."""
    import os

    try:
        os.close(os.open(os.path.join(os.environ["PODPROF_SPOOL"], "adapter-failed"), os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        os.write(2, ("podprof: %s\n" % text.replace("\n", " ")).encode(errors="replace"))
    except OSError:
        pass


def install():
    """Once, in a process below podprof run."""
    import os

    if os.environ.get("PODPROF_IO") == "yes":
        _finder.waited_for.update(_OF_IO)
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
