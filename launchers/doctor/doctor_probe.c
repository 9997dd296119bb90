/* Checks podprof itself for podprof doctor: its libraries, and whether a job of one process is recorded. Called by cmd_doctor.c. */
#include "launchers/doctor/doctor_probe.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/now.h"
#include "core/base/why.h"
#include "launchers/cmd.h"
#include "launchers/doctor/doctor_row.h"
#include "launchers/run/env_plan.h"

enum { PROBE_SECONDS = 30, PAUSE_MS = 20 };

static void check_libraries(const char *self)
{
	char *library = NULL, *mpi = NULL;
	struct pp_err err = {""};

	if (pp_env_find_libraries(self, &library, &mpi, &err))
		pp_doctor_row("collector", PP_DOCTOR_NO, "install all of podprof again; in a build tree: cmake --build build", "%s",
		              err.text);
	else if (strpbrk(library, ": "))
		pp_doctor_row("collector", PP_DOCTOR_NO, "install podprof in a directory without blanks and colons",
		              "'%s' cannot be preloaded", library);
	else
		pp_doctor_row("collector", PP_DOCTOR_OK, "", "podprof %s, %s", PODPROF_VERSION, library);
	free(library);
	free(mpi);
}

/* Doctor may run inside a job: the probe must not count as a rank of it. */
static int is_foreign(const char *variable)
{
	static const char *const begins[] = {"PODPROF_",
	                                     "OMPI_",
	                                     "PMIX_",
	                                     "PMI_",
	                                     "SLURM_",
	                                     "LD_PRELOAD=",
	                                     "NVTX_INJECTION64_PATH=",
	                                     "CUDA_INJECTION64_PATH=",
	                                     "INTEL_LIBITTNOTIFY64=",
	                                     "RANK=",
	                                     "LOCAL_",
	                                     "WORLD_",
	                                     "MV2_",
	                                     "TORCHELASTIC_"};

	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
		if (!strncmp(variable, begins[i], strlen(begins[i])))
			return 1;
	return 0;
}

static void start_probe(const char *self, const char *directory, int out)
{
	char *argv[] = {(char *)self, "run", "-o", (char *)directory, "--session", "probe", "--", (char *)self, "probe", NULL};
	int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
	char **own = environ;

	for (char **e = environ; *e; e++)
		if (!is_foreign(*e))
			*own++ = *e;
	*own = NULL;
	setpgid(0, 0); /* a probe that hangs is ended with all that it started */
	if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 || dup2(out, STDERR_FILENO) < 0)
		_exit(PP_EXIT_NOT_RUNNABLE);
	execv(self, argv);
	_exit(PP_EXIT_NOT_RUNNABLE);
}

/* Exit code of the probe; -1: it had to be ended. */
static int run_probe(const char *self, const char *directory, int out)
{
	pid_t pid = fork();
	int status = 0;

	if (!pid)
		start_probe(self, directory, out);
	if (pid < 0)
		return -1;
	for (int i = 0; i < PROBE_SECONDS * 1000 / PAUSE_MS; i++) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
		pp_nap_ms(PAUSE_MS);
	}
	if (kill(-pid, SIGKILL))
		kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return -1;
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st, (void)flag, (void)ftw;
	remove(path);
	return 0;
}

/* Reads the probe's output as one line, without lines that name its files, which are about to be removed. */
static void read_words(int out, char *ret_words, size_t size)
{
	ssize_t n = pread(out, ret_words, size - 1, 0);

	ret_words[n > 0 ? n : 0] = '\0';
	for (char *c = ret_words; *c; c++)
		if (*c == '\n')
			*c = c[1] ? ' ' : '\0';
}

static void judge_probe(const char *directory, int code, int out)
{
	static const char *const files[] = {"pod.h5", "summary.txt"};
	const char *repair = "podprof run -o /tmp/podprof-try -- podprof probe, and read its error";
	char path[PATH_MAX], words[1024];
	struct stat st;

	read_words(out, words, sizeof(words));
	if (code < 0) {
		pp_doctor_row("recording", PP_DOCTOR_NO, repair, "a test job of one process did not end within %d s: %s",
		              PROBE_SECONDS, words);
		return;
	}
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "%s/podprof/probe/%s", directory, files[i]);
		if (!stat(path, &st) && st.st_size > 0)
			continue;
		pp_doctor_row("recording", PP_DOCTOR_NO, repair, "a test job of one process left no %s (exit code %d): %s",
		              files[i], code, *words ? words : "no message");
		return;
	}
	pp_doctor_row("recording", PP_DOCTOR_OK, "", "a test job of 3 steps was recorded and written");
}

static void check_recording(const char *self)
{
	const char *tmp = getenv("TMPDIR");
	char directory[512], file[544];
	int out, code;

	if (snprintf(directory, sizeof(directory), "%s/podprof-doctor-XXXXXX", tmp && *tmp ? tmp : "/tmp") >=
	            (int)sizeof(directory) ||
	    !mkdtemp(directory)) {
		pp_doctor_row("recording", PP_DOCTOR_LIMITED, "export TMPDIR=DIR, with a directory of your own",
		              "not tested: cannot create a directory in %s: %s", tmp && *tmp ? tmp : "/tmp", pp_why(errno));
		return;
	}
	snprintf(file, sizeof(file), "%s/output", directory);
	out = open(file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (out >= 0) {
		code = run_probe(self, directory, out);
		judge_probe(directory, code, out);
		close(out);
	} else {
		pp_doctor_row("recording", PP_DOCTOR_LIMITED, "export TMPDIR=DIR, with a directory of your own",
		              "not tested: %s: %s", file, pp_why(errno));
	}
	nftw(directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

void pp_doctor_self(void)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n <= 0) {
		pp_doctor_row("collector", PP_DOCTOR_NO, "sudo mount -t proc proc /proc",
		              "podprof cannot find itself: '/proc/self/exe': %s", pp_why(errno));
		return;
	}
	self[n] = '\0';
	check_libraries(self);
	check_recording(self);
}
