"""Run by every Python below `podprof run` before its main program: watches for frameworks, then runs the user's own sitecustomize."""
import os
import sys


def _watch():
    """Installs the import hook. The package _podprof is the directory podprof under a name unused by programs."""
    package = type(sys)("_podprof")
    package.__path__ = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "podprof")]
    sys.modules["_podprof"] = package
    from _podprof import _hook

    _hook.install()


def _run_the_next():
    """Runs the sitecustomize that Python would have found without this one, as sys.modules["sitecustomize"]."""
    here = os.path.dirname(os.path.abspath(__file__))
    ours, path = sys.modules.pop("sitecustomize", None), list(sys.path)
    sys.path[:] = [entry for entry in path if os.path.abspath(entry) != here]
    without = list(sys.path)
    try:
        __import__("sitecustomize")
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
        sys.modules.setdefault("sitecustomize", ours)
    finally:
        if sys.path == without:
            sys.path[:] = path
        else:  # it changed the path: ours returns to its place
            sys.path.insert(min(path.index(here) if here in path else 0, len(sys.path)), here)


if os.environ.get("PODPROF_SPOOL"):
    try:
        _watch()
    except Exception:  # the program runs without it
        pass
_run_the_next()
