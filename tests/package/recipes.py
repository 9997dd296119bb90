#!/usr/bin/python3
"""The recipes of cmake/packages, which nobody builds here: their versions, options of CMake, libraries and paths are those of the tree. Run by ctest
package_recipes."""
import ast
import os
import re
import shutil
import sys

from package import SOURCE, check, good, install, jobs, run

WHERE = os.path.join(SOURCE, "cmake", "packages")
# A library that the build looks for, and its name in each recipe.
LIBRARIES = {"hdf5": ("hdf5-devel", "hdf5+hl~mpi", "hdf5"), "zlib": ("zlib-devel", "zlib-api", "zlib"), "zmq": ("zeromq-devel", "libzmq", "zeromq"),
             "sodium": ("libsodium-devel", "libsodium", "libsodium"), "protobuf-c": ("protobuf-c-devel", "protobuf-c", "libprotobuf-c"),
             "yajl": ("yajl-devel", "yajl", "yajl"), "archive": ("libarchive", "libarchive", "libarchive")}
RECIPES = ("podprof.spec", "spack/package.py", "meta.yaml", "Containerfile", "Apptainer")


def recipe(name):
    with open(os.path.join(WHERE, name), encoding="utf-8") as f:
        return f.read()


def lists():
    text = ""
    for directory, _, files in os.walk(SOURCE):
        if re.search(r"/(build[^/]*|\.git|\.venv|tests)(/|$)", directory[len(SOURCE):]):
            continue
        for name in files:
            if name == "CMakeLists.txt" or name.endswith(".cmake"):
                with open(os.path.join(directory, name), encoding="utf-8") as f:
                    text += f.read()
    return text


def agree(place, full):
    """With the tree, and with what podprof needs."""
    cmake = lists()
    version = re.search(r"project\(podprof VERSION ([0-9.]+)", cmake)[1]
    least = re.search(r"cmake_minimum_required\(VERSION ([0-9.]+)", open(os.path.join(SOURCE, "CMakeLists.txt"), encoding="utf-8").read())[1]
    for name in RECIPES:
        text = recipe(name)
        for option in re.findall(r"PODPROF_[A-Z_]+", text):
            check(re.search(r"\b%s\b" % option, cmake), f"{name}: no option {option} in the build")
        check("Not built by podprof's own tests" in text, f"{name} does not say that it was not built")
        if name in RECIPES[:3]:
            check(version in text and least in text, f"{name} is of another version than {version}, or of a CMake other than {least}")
    for library, names in LIBRARIES.items():
        for name, wanted in zip(RECIPES, names):
            check(wanted in recipe(name), f"{name} lacks {library}")
    for name in RECIPES[3:]:
        for script in re.findall(r"\bscripts/\S+", recipe(name)):
            check(os.access(os.path.join(SOURCE, script), os.X_OK), f"{name}: no {script}")


def files_of_rpm(place, full):
    """All that is installed belongs to one of the packages, and all that they list is installed."""
    where = os.path.join(place.scratch, "prefix")
    install(place, where)
    macros = {"bindir": "bin", "includedir": "include", "libdir": "lib", "datadir": "share", "docdir": "share/doc", "mandir": "share/man"}
    lines = [line.removeprefix("%dir ") for line in recipe("podprof.spec").split("%files", 1)[1].splitlines()]
    listed = [line for line in lines if line.startswith("%{_")]
    patterns = []
    for line in listed:
        path = re.sub(r"%\{_(\w+)\}", lambda m: macros[m[1]], line).strip()
        patterns.append(re.escape(path).replace(r"\*", ".*") + (".*" if path.endswith("/") else ""))
    files = [os.path.relpath(os.path.join(d, n), where) for d, _, names in os.walk(where) for n in names]
    for name in files:
        check(any(re.fullmatch(p, name) for p in patterns), f"podprof.spec has no line for {name}")
    for pattern in patterns:
        check(any(re.match(pattern, name) for name in files), f"podprof.spec: nothing is installed as {pattern}")
    if shutil.which("rpmspec"):
        good(run(["rpmspec", "-P", os.path.join(WHERE, "podprof.spec")]))


def syntax(place, full):
    """As far as tools for it are here."""
    tree = ast.parse(recipe("spack/package.py"))
    check([node.name for node in tree.body if isinstance(node, ast.ClassDef)] == ["Podprof"], "spack wants one class, named as the package")
    try:
        import yaml
    except ImportError:
        yaml = None
    if yaml:
        text = re.sub(r"\{\{ ?(\w+)(\(.*?\))? ?\}\}", r"\1", re.sub(r"\{%.*?%\}", "", recipe("meta.yaml")))
        made = yaml.safe_load(text)
        check(set(made) == {"package", "source", "build", "requirements", "test", "about"}, str(made))
    stages = re.findall(r"^FROM \S+(?: AS (\w+))?$", recipe("Containerfile"), re.M)
    check(stages == ["build", ""] and set(re.findall(r"--from=(\w+)", recipe("Containerfile").split("\n", 4)[4])) == {"build"}, str(stages))


CASES = {"agree": agree, "files_of_rpm": files_of_rpm, "syntax": syntax}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__))
