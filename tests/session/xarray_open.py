"""Opens groups of a pod.h5 with xarray by both netCDF readers and checks dims, coordinates and sums: xarray_open.py POD_H5. Run by e2e_xprof.py
with the Python of the build tree's virtual environment."""
import sys

import numpy
import xarray

path = sys.argv[1]
for engine in ("h5netcdf", "netcdf4"):
    with xarray.open_dataset(path, group="breakdown", engine=engine) as b:
        assert b["exclusive_ns"].dims == ("step", "worker", "category"), b["exclusive_ns"].dims
        assert {"step", "worker", "category"} <= set(b.coords), b.coords
        assert b["step"].dtype == numpy.int64 and b["worker"].dtype == numpy.int32, (b["step"].dtype, b["worker"].dtype)
        names = [c.decode() if isinstance(c, bytes) else str(c) for c in b["category"].values]
        assert "Host communication" in names and len(names) == 10, names
        off = abs(b["exclusive_ns"].sum("category") - b["step_ns"])
        assert int(off.max()) <= 1, f"sums are off by {int(off.max())} ns"
        assert b["exclusive_ns"].dtype == numpy.int64, f"a fill value made {b['exclusive_ns'].dtype} of int64"
    for group in ("worker", "clock", "step", "collective", "communicator", "quality"):
        with xarray.open_dataset(path, group=group, engine=engine) as g:
            assert g.sizes and g.coords, f"{group} has no coordinates"
            g.load()
    with xarray.open_dataset(path, group="step", engine=engine) as s:
        assert s["begin_ns"].dims == ("step", "worker"), s["begin_ns"].dims
print("xarray opens it")
