/* Checks other software on this node for podprof doctor: NVTX, Python modules, HDF5, xprof. Called by cmd_doctor.c. */
#include "launchers/doctor/doctor_tools.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launchers/doctor/doctor_command.h"
#include "launchers/doctor/doctor_row.h"

/* A module's version by the first python3 that has it. */
static int python_module(const char *module, char *ret_version, size_t size, const char **ret_python)
{
	static const char *const pythons[] = {"python3", "/usr/bin/python3"};
	char command[256];

	for (size_t i = 0; i < 2; i++) {
		snprintf(command, sizeof(command), "timeout 20 %s -c 'import %s as m; print(m.__version__)' 2>/dev/null",
		         pythons[i], module);
		*ret_python = pythons[i];
		if (!pp_doctor_line(command, ret_version, size))
			return 0;
	}
	return -1;
}

static void check_nvtx(void)
{
	const char *other = getenv("NVTX_INJECTION64_PATH");

	if (other && *other)
		pp_doctor_row("NVTX", PP_DOCTOR_OK, "", "NVTX3 ranges are recorded, then passed on to %s", other);
	else
		pp_doctor_row("NVTX", PP_DOCTOR_OK, "", "NVTX3 ranges are recorded without a change of the program");
}

static void check_python(void)
{
	char version[64];
	const char *python;

	if (python_module("mpi4py", version, sizeof(version), &python))
		pp_doctor_row("mpi4py", PP_DOCTOR_LIMITED, "sudo apt-get install python3-mpi4py",
		              "not installed: needed only for Python jobs that use MPI");
	else
		pp_doctor_row("mpi4py", PP_DOCTOR_OK, "", "%s (%s)", version, python);
	if (python_module("h5py", version, sizeof(version), &python))
		pp_doctor_row("HDF5", PP_DOCTOR_LIMITED, "sudo apt-get install python3-h5py",
		              "%s writes pod.h5. h5py is not installed (optional; reads pod.h5 in Python)", PODPROF_HDF5_VERSION);
	else
		pp_doctor_row("HDF5", PP_DOCTOR_OK, "", "%s writes pod.h5. h5py %s reads it (%s)", PODPROF_HDF5_VERSION, version,
		              python);
}

static void check_xprof(void)
{
	char version[64];
	const char *python;
	int major_part = 0, minor_part = 0, patch = 0;

	if (python_module("xprof", version, sizeof(version), &python)) {
		pp_doctor_row("xprof", PP_DOCTOR_LIMITED, "python3 -m venv ~/xprof && ~/xprof/bin/pip install 'xprof>=2.23.3'",
		              "not installed (optional; needed only to open the trace)");
		return;
	}
	sscanf(version, "%d.%d.%d", &major_part, &minor_part, &patch);
	if (major_part * 1000000 + minor_part * 1000 + patch < 2023003)
		pp_doctor_row("xprof", PP_DOCTOR_LIMITED, "python3 -m pip install --upgrade 'xprof>=2.23.3'",
		              "%s is older than 2.23.3 (optional; needed only to open the trace)", version);
	else
		pp_doctor_row("xprof", PP_DOCTOR_OK, "", "%s (%s)", version, python);
}

void pp_doctor_tools(void)
{
	check_nvtx();
	check_python();
	check_xprof();
}
