/* Checks MPI for podprof doctor: which MPIs the installed wrappers know, and which one mpirun starts. Called by cmd_doctor.c. */
#include "launchers/doctor/doctor_mpi.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/call/mpi_call.h"
#include "launchers/doctor/doctor_command.h"
#include "launchers/doctor/doctor_row.h"
#include "launchers/run/env_plan.h"

static const struct {
	const char *abi, *name, *package;
} known[] = {{"ompi", "Open MPI", "libopenmpi-dev"},
             {"mpich", "MPICH, Intel MPI and Cray MPICH", "libmpich-dev"},
             {"abi", "MPI 5's standard ABI", ""}};
enum { KNOWN = sizeof(known) / sizeof(known[0]) };

/* Is the object of an ABI beside libpodprof-mpi.so? */
static int is_installed(const char *mpi, const char *abi)
{
	const char *slash = strrchr(mpi, '/');
	char path[PATH_MAX];

	return slash &&
	       snprintf(path, sizeof(path), "%.*s/libpodprof-mpi-%s.so", (int)(slash - mpi), mpi, abi) < (int)sizeof(path) &&
	       !access(path, R_OK);
}

/* Path of libpodprof-mpi.so; NULL: podprof was built without MPI, or cannot be found. Free it. */
static char *find_wrappers(void)
{
	char self[PATH_MAX], *library = NULL, *mpi = NULL;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	struct pp_err err = {""};

	self[n > 0 ? n : 0] = '\0';
	if (n > 0 && !pp_env_find_libraries(self, &library, &mpi, &err))
		free(library);
	return mpi;
}

static void check_wrappers(const char *mpi)
{
	char names[128] = "";

	if (!mpi) {
		pp_doctor_row("MPI calls", PP_DOCTOR_LIMITED,
		              "sudo apt-get install libopenmpi-dev && cmake -S . -B build && cmake --build build",
		              "podprof was built without MPI: only step marks and ranges are recorded");
		return;
	}
	for (int i = 0; i < KNOWN; i++) {
		size_t length = strlen(names);

		if (is_installed(mpi, known[i].abi))
			snprintf(names + length, sizeof(names) - length, "%s%s", length ? "; " : "", known[i].name);
	}
	if (!names[0]) {
		pp_doctor_row("MPI calls", PP_DOCTOR_LIMITED, "install podprof again",
		              "no libpodprof-mpi-*.so beside %s: only step marks and ranges are recorded", mpi);
		return;
	}
	pp_doctor_row("MPI calls", PP_DOCTOR_OK, "", "%u calls are recorded of %s: %s", pp_mpi_call_count(), names, mpi);
}

/* Of `known`. */
int pp_doctor_mpi_kind(const char *line)
{
	if (strstr(line, "(Open MPI) 4.") || strstr(line, "(Open MPI) 5."))
		return 0;
	return strstr(line, "HYDRA") || strstr(line, "Intel(R) MPI") ? 1 : -1;
}

static void check_mpirun(const char *mpi)
{
	char line[256], path[512], fix[128];
	int kind;

	if (pp_doctor_line("timeout 20 mpirun --version 2>/dev/null", line, sizeof(line))) {
		pp_doctor_row("MPI", PP_DOCTOR_LIMITED, "sudo apt-get install openmpi-bin",
		              "no mpirun found: only jobs of other launchers and single processes can be recorded");
		return;
	}
	kind = pp_doctor_mpi_kind(line);
	if (kind == 1 && strstr(line, "HYDRA"))
		snprintf(line, sizeof(line), "mpirun of MPICH or a relative");
	if (pp_doctor_line("command -v mpirun", path, sizeof(path)))
		snprintf(path, sizeof(path), "mpirun");
	if (kind < 0) {
		pp_doctor_row("MPI", PP_DOCTOR_LIMITED, "sudo apt-get install openmpi-bin, and run the job with mpirun.openmpi",
		              "%s: its MPI calls are not recorded; step marks and ranges are", line);
	} else if (mpi && !is_installed(mpi, known[kind].abi)) {
		snprintf(fix, sizeof(fix), "sudo apt-get install %s && cmake -S . -B build && cmake --build build",
		         known[kind].package);
		pp_doctor_row("MPI", PP_DOCTOR_LIMITED, fix,
		              "%s (%s): its calls are not recorded, since libpodprof-mpi-%s.so is missing", line, path,
		              known[kind].abi);
	} else {
		pp_doctor_row("MPI", PP_DOCTOR_OK, "", "%s (%s)", line, path);
	}
}

static int is_of_mpi(const char *library)
{
	static const char *const begins[] = {"libmpi.", "libmpi_", "libmpich", "libpodprof-mpi."};

	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
		if (!strncmp(library, begins[i], strlen(begins[i])))
			return 1;
	return 0;
}

/* A library that LD_PRELOAD gives to the job is loaded into doctor, too. */
static void check_mpi_wrapper(void)
{
	void *wrapper = dlsym(RTLD_DEFAULT, "MPI_Init");
	const char *slash;
	Dl_info object;

	if (!wrapper || !dladdr(wrapper, &object))
		return;
	slash = strrchr(object.dli_fname, '/');
	if (!is_of_mpi(slash ? slash + 1 : object.dli_fname))
		pp_doctor_row("MPI wrapper", PP_DOCTOR_OK, "", "%s is preloaded and wraps MPI, too: podprof's wrappers go on to it",
		              object.dli_fname);
}

void pp_doctor_mpi(void)
{
	char *mpi = find_wrappers();

	check_wrappers(mpi);
	check_mpirun(mpi);
	check_mpi_wrapper();
	free(mpi);
}
