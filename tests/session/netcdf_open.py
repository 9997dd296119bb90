#!/usr/bin/python3
"""What Debian's own netCDF makes of pod.h5: netcdf_open.py POD_H5... xarray with netCDF4, ncdump, nccopy, h5py. Exit 77: it is not
installed (apt-get install netcdf-bin python3-netcdf4 python3-xarray python3-h5py)."""
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))


def run(*words):
    got = subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=100)
    assert got.returncode == 0, f"{' '.join(words)}: {got.returncode}\n{got.stdout[-1000:]}\n{got.stderr[-2000:]}"
    return got.stdout


def dump(path):
    """All of the file as text, but for its name and what only nccopy writes."""
    return [line for line in run("ncdump", "-n", "pod", path).splitlines() if ":_NCProperties" not in line]


def texts(f):
    """Each column of texts by its path."""
    found = {}
    f.visititems(lambda name, item: found.__setitem__(name, item) if isinstance(item, h5py.Dataset) and item.dtype.kind == "O" and
                 h5py.check_string_dtype(item.dtype) else None)
    return found


def check(path, scratch):
    copy = os.path.join(scratch, "copy.nc")
    run(sys.executable, "-B", os.path.join(here, "xarray_open.py"), path, "netcdf4")
    run("nccopy", path, copy)
    whole = dump(path)
    assert dump(copy) == whole, f"nccopy's file of {path} differs"
    assert not any("NIL" in line for line in whole), "a text is no text"
    with h5py.File(path) as f:
        columns = texts(f)
        assert columns and not any(item.dtype.kind == "S" for group in f.values() for item in group.values()), "a text of fixed length"
        for name, item in columns.items():  # as the README's example reads them
            assert all(isinstance(text, bytes) and text.decode() is not None for text in item[()]), name
        if "breakdown" in f:
            assert [c.decode() for c in f["breakdown/category"]][9] == "Host communication"


if not (shutil.which("ncdump") and shutil.which("nccopy") and all(importlib.util.find_spec(m) for m in ("netCDF4", "xarray", "h5py"))):
    print("no netcdf-bin, python3-netcdf4, python3-xarray or python3-h5py here")
    sys.exit(77)
import h5py  # noqa: E402

for one in sys.argv[1:]:
    with tempfile.TemporaryDirectory() as directory:
        check(one, directory)
print("Debian's netCDF opens it")
