"""Opens each group of a pod.h5 with xarray and checks dims, coordinates, sums and texts: xarray_open.py POD_H5 ENGINE... Run with the
Python of the build tree's virtual environment (e2e_xprof.py) and with Debian's (netcdf_open.py)."""
import sys

import netCDF4
import numpy
import xarray

# Columns that can be unknown, and where they are: column of the group and whether it is a count that is 0 then.
UNKNOWN = {"collective": [("device_ns", "device_ranks"), ("exposed_ns", "exposed_ranks")], "memory": [("pss_bytes", "pss_present")],
           "process": [("rss_peak_bytes", "rss_present")], "channel": [("device_ns", "device_count"), ("error_ns", "seen")],
           "all_reduce": [("device_ns", "device_ranks"), ("duration_ns", "timed")], "input": [("loader_busy", "loader_samples")]}
ERRORS = {"clock": ["bound_ns", "host_bound_ns"], "collective": ["bound_ns"]}  # without a bound: unknown

path = sys.argv[1]
with netCDF4.Dataset(path) as f:
    groups = list(f.groups)
    assert f.format_version == 3 and f.format == "podprof pod dataset", (f.format_version, f.format)
for engine in sys.argv[2:]:
    for group in groups:
        with xarray.open_dataset(path, group=group, engine=engine) as g:
            assert g.sizes and g.coords or group == "quality", f"{group} has no coordinates"
            g.load()
            for name, column in g.variables.items():
                assert column.dtype.kind in "iufOU", f"/{group}/{name} is {column.dtype}"
                texts = column.values.ravel() if column.dtype.kind in "OU" else []
                assert all(isinstance(text, str) for text in texts), f"/{group}/{name}: {texts[:3]}"
            for name, known in UNKNOWN.get(group, []):
                assert (g[name].isnull() == (g[known] == 0)).all(), f"/{group}/{name}: {g[name].values}, {known} {g[known].values}"
            for name in ERRORS.get(group, []):
                assert name not in g or not (g[name] > 1e18).any(), f"/{group}/{name}: {g[name].values}"
    if "breakdown" not in groups:
        continue
    with xarray.open_dataset(path, group="breakdown", engine=engine) as b:
        assert b["exclusive_ns"].dims == ("step", "worker", "category"), b["exclusive_ns"].dims
        assert {"step", "worker", "category"} <= set(b.coords), b.coords
        assert b["step"].dtype == numpy.int64 and b["worker"].dtype == numpy.int32, (b["step"].dtype, b["worker"].dtype)
        names = list(b["category"].values)
        assert "Host communication" in names and len(names) == 10, names
        assert (b["exclusive_ns"].sel(category="Host compute") == b["exclusive_ns"][:, :, names.index("Host compute")]).all()
        off = abs(b["exclusive_ns"].sum("category") - b["step_ns"])
        assert int(off.max()) <= 1, f"sums are off by {int(off.max())} ns"
        assert b["exclusive_ns"].dtype == numpy.int64, f"a fill value made {b['exclusive_ns'].dtype} of int64"
        absent = b["present"] == 0
        assert b["wait_ns"].where(absent).isnull().all() and (b["wait_ns"] >= 0).sum() == b["wait_ns"].count(), b["wait_ns"]
    with xarray.open_dataset(path, group="step", engine=engine) as s:
        assert s["begin_ns"].dims == ("step", "worker"), s["begin_ns"].dims
print("xarray opens it")
