"""Finds out when a framework is imported, and installs its adapter right after. Called by sitecustomize.py; imports nothing.
What the import returns or raises is what it would have been."""
import sys
from _thread import get_ident

_ADAPTERS = {
    "torch": "_torch",
    "torch._dynamo.callback": "_torch_late",
    "torch._dynamo.decorators": "_torch_late",
    "torch.distributed.checkpoint.state_dict_saver": "_torch_late",
}


class _Loader:
    """The framework's loader, and the adapter after it. Whatever else is asked of it the framework's own answers."""

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


# Of an import that fails Python leaves its own frames out of the traceback; with this name it takes ours for one of them.
_Loader.exec_module.__code__ = _Loader.exec_module.__code__.replace(co_filename="<frozen importlib._bootstrap>")


class _Finder:
    """First on sys.meta_path until the frameworks are there. Another finder may ask for the same name inside of find_spec(): it is answered
    by those behind this one. Each thread has its own such search, since two may import at once."""

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
    """Our own failure is one line. An interrupt is the program's."""
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
    """Once a host: it is not known yet which process is rank 0, so the first one says it."""
    import os

    try:
        os.close(os.open(os.path.join(os.environ["PODPROF_SPOOL"], "adapter-failed"), os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        os.write(2, ("podprof: %s\n" % text.replace("\n", " ")).encode(errors="replace"))
    except OSError:
        pass


def install():
    """Once, in a process below podprof run."""
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
