"""`python -m podprof WORDS` is `podprof WORDS`: this process becomes the program. Needs nothing else of the package."""
import os
import shutil
import sys


def candidates():
    """Programs in the order of search: the package's own installation, this environment, PATH."""
    where = os.path.dirname(os.path.abspath(__file__))
    for _ in range(5):  # PREFIX/lib/python3.13/site-packages/podprof, PREFIX/lib/x86_64-linux-gnu/podprof/python/podprof
        where = os.path.dirname(where)
        yield os.path.join(where, "bin", "podprof")
    yield os.path.join(sys.prefix, "bin", "podprof")
    found = shutil.which("podprof")
    if found:
        yield found


def main():
    why = "no program 'podprof' beside this package, in '%s' or in PATH" % os.path.join(sys.prefix, "bin")
    for program in candidates():
        if not (os.path.isfile(program) and os.access(program, os.X_OK)):
            continue
        try:
            os.execv(program, [program] + sys.argv[1:])
        except OSError as e:
            why = "cannot start '%s': %s" % (program, e.strerror)
            break
    sys.stderr.write("python -m podprof: %s. Install podprof anew, with pip or with cmake --install\n" % why)
    return 127


if __name__ == "__main__":
    sys.exit(main())
