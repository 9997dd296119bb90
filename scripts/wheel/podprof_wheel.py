"""Wheels of podprof: builds with CMake, installs into a scratch prefix and packs it. pip calls this through pyproject.toml.
PODPROF_BUILD_DIR names a build tree that is ready; without it one is made and thrown away."""
import base64
import hashlib
import os
import platform
import re
import subprocess
import tarfile
import tempfile
import zipfile

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DATE = (2026, 11, 21, 0, 0, 0)  # one date for all members: the same files give the same wheel


def _version():
    text = open(os.path.join(SOURCE, "CMakeLists.txt"), encoding="utf-8").read()
    return re.search(r"project\(podprof VERSION ([0-9.]+)", text).group(1)


def _prefix(scratch):
    """Everything that cmake --install installs."""
    build, prefix = os.environ.get("PODPROF_BUILD_DIR"), os.path.join(scratch, "prefix")
    if not build:
        build = os.path.join(scratch, "build")
        subprocess.run(["cmake", "-S", SOURCE, "-B", build, "-DCMAKE_BUILD_TYPE=Release", "-DBUILD_TESTING=OFF", "-DPODPROF_CARRY=ON",
                        "-DCMAKE_INSTALL_LIBDIR=lib"], check=True)
        subprocess.run(["cmake", "--build", build, "--parallel", str(os.cpu_count() or 1)], check=True)
    subprocess.run(["cmake", "--install", build, "--prefix", prefix, "--strip"], check=True)
    return prefix


def _tag(prefix):
    """The newest glibc that a program or library asks for is the oldest that will do."""
    minor = 17
    for directory in ("bin", "lib"):
        for where, _, names in os.walk(os.path.join(prefix, directory)):
            for name in names:
                data = open(os.path.join(where, name), "rb").read()
                if data[:4] == b"\x7fELF":
                    minor = max([minor, *(int(v) for v in re.findall(rb"\0GLIBC_2\.(\d+)", data))])
    return f"py3-none-manylinux_2_{minor}_{platform.machine()}"


def _metadata():
    readme = open(os.path.join(SOURCE, "README.md"), encoding="utf-8").read()
    return (f"Metadata-Version: 2.1\nName: podprof\nVersion: {_version()}\n"
            "Summary: profile a whole training job: every rank, one window, one answer\nLicense: Apache-2.0\nRequires-Python: >=3.8\n"
            f"Description-Content-Type: text/markdown\n\n{readme}")


def _members(prefix, tag):
    """(name in the wheel, bytes, mode): programs go to the scripts of the environment, the rest below its prefix."""
    base = f"podprof-{_version()}"
    for where, directories, names in os.walk(prefix):
        directories.sort()
        for name in sorted(names):
            path = os.path.join(where, name)
            inside = os.path.relpath(path, prefix)
            place = f"{base}.data/scripts/{name}" if inside.startswith("bin/") else f"{base}.data/data/{inside}"
            yield place, open(path, "rb").read(), 0o755 if inside.startswith("bin/") else 0o644
    for name in ("LICENSE", "NOTICE"):
        yield f"{base}.dist-info/{name}", open(os.path.join(SOURCE, name), "rb").read(), 0o644
    yield f"{base}.dist-info/METADATA", _metadata().encode(), 0o644
    yield (f"{base}.dist-info/WHEEL", f"Wheel-Version: 1.0\nGenerator: podprof_wheel\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(), 0o644)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    with tempfile.TemporaryDirectory(prefix="podprof-wheel-") as scratch:
        prefix = _prefix(scratch)
        tag = _tag(prefix)
        file = f"podprof-{_version()}-{tag}.whl"
        rows = []
        with zipfile.ZipFile(os.path.join(wheel_directory, file), "w", zipfile.ZIP_DEFLATED) as wheel:
            def put(name, data, mode):
                info = zipfile.ZipInfo(name, DATE)
                info.external_attr = (0o100000 | mode) << 16
                info.compress_type = zipfile.ZIP_DEFLATED
                wheel.writestr(info, data)

            for name, data, mode in _members(prefix, tag):
                put(name, data, mode)
                digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
                rows.append(f"{name},sha256={digest},{len(data)}\n")
            record = f"podprof-{_version()}.dist-info/RECORD"
            put(record, ("".join(rows) + f"{record},,\n").encode(), 0o644)
    return file


def build_sdist(sdist_directory, config_settings=None):
    """What git knows."""
    base = f"podprof-{_version()}"
    names = subprocess.run(["git", "ls-files", "-z"], cwd=SOURCE, stdout=subprocess.PIPE, check=True).stdout.decode().split("\0")
    path = os.path.join(sdist_directory, base + ".tar.gz")
    with tarfile.open(path, "w:gz", format=tarfile.PAX_FORMAT) as tar, tempfile.TemporaryDirectory() as scratch:
        with open(os.path.join(scratch, "PKG-INFO"), "w", encoding="utf-8") as info:
            info.write(_metadata())
        tar.add(os.path.join(scratch, "PKG-INFO"), f"{base}/PKG-INFO")
        for name in filter(None, names):
            tar.add(os.path.join(SOURCE, name), f"{base}/{name}")
    return os.path.basename(path)
