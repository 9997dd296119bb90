/* podprof doctor: one row a thing, ok, limited or no, and the command that mends it. Exit 0 where nothing is "no". */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "core/base/tick.h"
#include "launchers/cmd.h"
#include "launchers/env_plan.h"
#include "launchers/options.h"
#include "launchers/spool.h"

const struct pp_options_verb pp_verb_doctor = {
        .name = "podprof doctor",
        .arguments = "",
        .doc = "Say what of podprof works on this node, and the command that mends what does not.",
};

enum verdict { OK, LIMITED, NO };

static int worst;

static void row(const char *thing, enum verdict verdict, const char *cure, const char *fmt, ...)
        __attribute__((format(printf, 4, 5)));

static void row(const char *thing, enum verdict verdict, const char *cure, const char *fmt, ...)
{
	static const char *const words[] = {"ok", "limited", "no"};
	char text[PP_SPOOL_PATH + 256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	printf("  %-10s %-8s %s\n", thing, words[verdict], text);
	if (verdict != OK)
		printf("  %-10s %-8s   mend: %s\n", "", "", cure);
	if ((int)verdict > worst)
		worst = verdict;
}

/* First line of a command's output; 0 where it ended well. */
static int first_line(const char *command, char *ret_line, size_t size)
{
	char rest[512];
	FILE *f = popen(command, "re");

	*ret_line = '\0';
	if (!f)
		return -1;
	if (fgets(ret_line, (int)size, f))
		ret_line[strcspn(ret_line, "\n")] = '\0';
	while (fgets(rest, sizeof(rest), f))
		;
	return pclose(f) || !*ret_line ? -1 : 0;
}

/* A module's version by the first python3 that has it. */
static int python_module(const char *module, char *ret_version, size_t size, const char **ret_python)
{
	static const char *const pythons[] = {"python3", "/usr/bin/python3"};
	char command[256];

	for (size_t i = 0; i < 2; i++) {
		snprintf(command, sizeof(command), "timeout 20 %s -c 'import %s as m; print(m.__version__)' 2>/dev/null",
		         pythons[i], module);
		*ret_python = pythons[i];
		if (!first_line(command, ret_version, size))
			return 0;
	}
	return -1;
}

static void check_libraries(void)
{
	char self[PATH_MAX];
	char *library = NULL, *mpi = NULL;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	struct pp_err err = {""};

	self[n > 0 ? n : 0] = '\0';
	if (pp_env_find_libraries(self, &library, &mpi, &err))
		row("collector", NO, "cmake --build build", "%s", err.text);
	else if (strpbrk(library, ": "))
		row("collector", NO, "build or install podprof in a directory without blank and colon", "'%s' cannot be preloaded",
		    library);
	else
		row("collector", OK, "", "podprof %s, %s", PODPROF_VERSION, library);
	if (library && !mpi)
		row("MPI", LIMITED, "sudo apt-get install libopenmpi-dev && cmake -S . -B build && cmake --build build",
		    "podprof was built without MPI: only marked steps and ranges are seen");
	free(library);
	free(mpi);
}

static void check_mpi(void)
{
	char line[256];

	if (first_line("timeout 20 mpirun --version 2>/dev/null", line, sizeof(line)))
		row("MPI", LIMITED, "sudo apt-get install openmpi-bin",
		    "no mpirun here: jobs of other launchers and single processes only");
	else if (!strstr(line, "(Open MPI) 4.") && !strstr(line, "(Open MPI) 5."))
		row("MPI", LIMITED, "run the job with Open MPI 4 or 5", "%s: its calls are passed through unseen", line);
	else
		row("MPI", OK, "", "%s", line);
}

static void check_python(void)
{
	char version[64];
	const char *python;

	if (python_module("mpi4py", version, sizeof(version), &python))
		row("mpi4py", LIMITED, "sudo apt-get install python3-mpi4py", "not found: Python jobs without MPI only");
	else
		row("mpi4py", OK, "", "%s (%s)", version, python);
	if (python_module("h5py", version, sizeof(version), &python))
		row("HDF5", LIMITED, "sudo apt-get install python3-h5py", "%s writes pod.h5; no h5py here to read it",
		    PODPROF_HDF5_VERSION);
	else
		row("HDF5", OK, "", "%s writes pod.h5; h5py %s reads it (%s)", PODPROF_HDF5_VERSION, version, python);
}

static void check_clock(void)
{
	char source[64] = "unknown";
	FILE *f = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");

	if (f) {
		if (fgets(source, sizeof(source), f))
			source[strcspn(source, "\n")] = '\0';
		fclose(f);
	}
	pp_tick_init();
	if (pp_tick_kind == PP_TICK_TSC)
		row("clock", OK, "", "TSC (the kernel keeps its time by it: clocksource %s)", source);
	else if (getenv("PODPROF_TICK"))
		row("clock", LIMITED, "unset PODPROF_TICK",
		    "CLOCK_MONOTONIC_RAW (PODPROF_TICK asks for it): about twice the cost of an event");
	else
		row("clock", LIMITED, "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource",
		    "CLOCK_MONOTONIC_RAW (the TSC is not provably the kernel's clock: clocksource %s): about twice the cost of an "
		    "event",
		    source);
}

static void check_spool(void)
{
	const double mib = 1024.0 * 1024.0;
	char path[64];
	struct statvfs fs;
	struct stat st;
	double size, room;

	if (statvfs("/dev/shm", &fs) || access("/dev/shm", W_OK)) {
		row("spool", LIMITED, "sudo mount -t tmpfs -o mode=1777 tmpfs /dev/shm",
		    "no writable /dev/shm: rings stand in the node's tmp, on disk");
		return;
	}
	size = (double)fs.f_blocks * (double)fs.f_frsize / mib;
	room = (double)fs.f_bavail * (double)fs.f_frsize / mib;
	snprintf(path, sizeof(path), "/dev/shm/podprof-%u", (unsigned)geteuid());
	if (!lstat(path, &st) && st.st_uid != geteuid()) {
		row("spool", NO, "podprof run --spool DIR, with a directory of your own", "'%s' belongs to user %u", path,
		    (unsigned)st.st_uid);
		return;
	}
	if (room < 64)
		row("spool", LIMITED, "sudo mount -o remount,size=1G /dev/shm",
		    "/dev/shm: %.0f of %.0f MiB free, rings get an eighth of it", room, size);
	else
		row("spool", OK, "", "/dev/shm: %.0f of %.0f MiB free, mine: %s", room, size, path);
}

static void check_limits(void)
{
	struct rlimit files = {0}, file_size = {0};

	getrlimit(RLIMIT_NOFILE, &files);
	getrlimit(RLIMIT_FSIZE, &file_size);
	if (file_size.rlim_cur != RLIM_INFINITY && file_size.rlim_cur < 1024 * 1024 * 1024)
		row("limits", LIMITED, "ulimit -f unlimited", "files may have %llu MiB only: rings and pod.h5 may not fit",
		    (unsigned long long)file_size.rlim_cur >> 20);
	else if (files.rlim_cur < 256)
		row("limits", LIMITED, "ulimit -n 1024", "%llu open files: the keeper needs one for every rank of the host",
		    (unsigned long long)files.rlim_cur);
	else
		row("limits", OK, "", "%llu open files, file size %s", (unsigned long long)files.rlim_cur,
		    file_size.rlim_cur == RLIM_INFINITY ? "unlimited" : "large enough");
}

static void check_xprof(void)
{
	char version[64];
	const char *python;
	int major_part = 0, minor_part = 0, patch = 0;

	if (python_module("xprof", version, sizeof(version), &python)) {
		row("xprof", LIMITED, "python3 -m venv ~/xprof && ~/xprof/bin/pip install 'xprof>=2.23.3'",
		    "not found: summary and pod.h5 need none; XSpace files open in any later xprof");
		return;
	}
	sscanf(version, "%d.%d.%d", &major_part, &minor_part, &patch);
	if (major_part * 1000000 + minor_part * 1000 + patch < 2023003)
		row("xprof", LIMITED, "python3 -m pip install --upgrade 'xprof>=2.23.3'", "%s is older than 2.23.3", version);
	else
		row("xprof", OK, "", "%s (%s)", version, python);
}

static int list_spool(const struct pp_spool_state *state, void *data)
{
	char cure[3 * PP_SPOOL_PATH + 64];
	int *left = data;

	if (state->life == PP_SPOOL_RECORDING || state->life == PP_SPOOL_WRITING || state->life == PP_SPOOL_DONE)
		return 0;
	++*left;
	if (state->rings)
		snprintf(cure, sizeof(cure), "podprof salvage %s -o %s && rm -r %s", state->path,
		         *state->output ? state->output : "DIR", state->path);
	else
		snprintf(cure, sizeof(cure), "rm -r %s", state->path);
	row("left over", LIMITED, cure, "%s: %d ring%s of a job without keeper%s%s", state->path, state->rings,
	    state->rings == 1 ? "" : "s", state->life == PP_SPOOL_FAILED ? ": " : "",
	    state->life == PP_SPOOL_FAILED ? state->message : "");
	return 0;
}

static void print_options(void)
{
	struct pp_options options;

	for (int i = 0; i < PP_OPTS; i++) {
		options.value[i] = pp_opt_table[i].fallback;
		options.source[i] = PP_FROM_DEFAULT;
	}
	puts("\nOptions as a job started here would have them:");
	pp_options_environment(&options, PP_OPT_RUN, NULL);
	for (int i = 0; i < PP_OPTS; i++)
		if (pp_opt_table[i].groups & PP_OPT_RUN)
			printf("  %-24s %-20s %s\n", pp_opt_table[i].env, *options.value[i] ? options.value[i] : "-",
			       options.source[i] == PP_FROM_ENVIRONMENT ? "environment" : "default");
}

static void warn_environment(const char *sentence)
{
	row("options", LIMITED, "unset that variable, or correct it", "%s", sentence);
}

int pp_cmd_doctor(int argc, char **argv)
{
	struct pp_options options;
	int first, left = 0, rc = pp_options_parse(&pp_verb_doctor, argc, argv, &options, &first);

	if (rc >= 0)
		return rc;
	if (first < argc) {
		pp_say("doctor takes no argument: '%s'. Type 'podprof doctor'.", argv[first]);
		return PP_EXIT_USAGE;
	}
	check_libraries();
	check_mpi();
	check_python();
	check_clock();
	check_spool();
	check_limits();
	check_xprof();
	pp_options_environment(&options, PP_OPT_RUN, warn_environment);
	pp_spool_each(list_spool, &left);
	if (!left)
		row("left over", OK, "", "no spool of a dead job");
	print_options();
	return worst == NO ? PP_EXIT_FAILED : PP_EXIT_OK;
}
