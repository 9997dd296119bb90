/* podprof arrive: hidden; a rank starts it on a host without a podprof run (core/coord/arrive.c). Makes the spool and its
 * options, starts the keeper, ends. Its argument is the rank's pid; it prints errors for rank 0 only. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "aggregate/keeper/spawn.h"
#include "aggregate/spool/job.h"
#include "aggregate/spool/join.h"
#include "aggregate/spool/layout.h"
#include "aggregate/spool/run_file.h"
#include "core/base/proc.h"
#include "core/base/why.h"
#include "launchers/cmd.h"
#include "launchers/options/options.h"
#include "launchers/options/say.h"
#include "launchers/run/logdir.h"
#include "launchers/run/rendezvous.h"

enum { SECONDS = 6 };

/* Undoes what it inherits from the rank: blocked and ignored signals, descriptors without close-on-exec. */
static void leave_the_job(void)
{
	struct sigaction start = {.sa_handler = SIG_DFL};
	sigset_t none;

	pp_close_from(3);
	for (int i = 1; i < NSIG; i++)
		sigaction(i, &start, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	alarm(SECONDS); /* the rank waits for us */
}

static void command_of(int pid, char *text, size_t size)
{
	char path[48];
	long n;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	n = pp_proc_read(path, text, size);
	for (long i = 0; i + 1 < n; i++)
		if (!text[i])
			text[i] = ' ';
}

static int arrive(struct pp_job *job, const struct pp_options *options, struct pp_err *err)
{
	char self[PATH_MAX], logdir[PP_SPOOL_PATH], spool[PP_SPOOL_PATH], text[4096];
	char *command[] = {text, NULL};
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	int rc;

	if (length <= 0)
		return pp_err_set(err, -errno, "cannot find the podprof program: '/proc/self/exe': %s", pp_why(errno));
	self[length] = '\0';
	command_of(job->pid, text, sizeof(text));
	rc = pp_logdir_open(options->text[PP_OPT_ID_OUTPUT], logdir, sizeof(logdir), NULL, err);
	if (!rc)
		rc = pp_spool_join(getenv("PODPROF_SPOOL"), 1, job, options->text, logdir, command, spool, sizeof(spool), err);
	if (!rc) {
		pp_rendezvous_pass(spool);
		rc = pp_keeper_start(spool, self, err);
	}
	if (rc)
		pp_spool_unregister(spool, job);
	return rc;
}

int pp_cmd_arrive(int argc, char **argv)
{
	struct pp_options options;
	struct pp_err err = {""};
	struct pp_job job;

	if (argc != 2 || !getenv("PODPROF_SPOOL") || !getenv("PODPROF_JOB")) {
		pp_say("'podprof arrive' is internal: ranks of a job start it. Type 'podprof run'.");
		return PP_EXIT_USAGE;
	}
	leave_the_job();
	pp_job_read(&job);
	job.pid = (int)strtol(argv[1], NULL, 10);
	pp_options_init(&options);
	pp_options_environment(&options, PP_OPT_RUN, NULL);
	if (!arrive(&job, &options, &err))
		return PP_EXIT_OK;
	if (job.rank <= 0)
		pp_say("%s. This host's ranks run unprofiled.", err.text);
	return PP_EXIT_FAILED;
}
