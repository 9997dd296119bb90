/* podprof run: makes log directory, spool, keeper and environment, then execs the application. No failure may keep the job from
 * running: it prints one line, and the application starts with the user's environment. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aggregate/keeper/spawn.h"
#include "core/base/parse.h"
#include "core/base/step_windows.h"
#include "core/ring/ring_file.h"
#include "launchers/cmd.h"
#include "launchers/options/options.h"
#include "launchers/run/env_plan.h"
#include "launchers/run/file_limit.h"
#include "launchers/run/job.h"
#include "launchers/run/launcher_hosts.h"
#include "launchers/run/loadable.h"
#include "launchers/run/rendezvous.h"
#include "launchers/run/run_checks.h"
#include "launchers/run/spool.h"

const struct pp_options_verb pp_verb_run = {
        .name = "podprof run",
        .arguments = "[--] CMD [ARG...]",
        .doc = "Run CMD with podprof's collector in it: one rank of a job (mpirun -n 8 podprof run -- ./train) or the launcher of "
               "all of them (podprof run -- mpirun -n 8 ./train). The exit code is CMD's."
               "\vOptions of CMD stay CMD's. Each option may also be set as PODPROF_NAME in the environment.",
        .groups = PP_OPT_RUN,
        .command = 1,
};

static int may_speak;

static void tell(const char *sentence)
{
	if (may_speak)
		pp_say("%s", sentence);
}

/* Looks for the command as a shell does: 0, or ENOENT or EACCES. */
static int look_for(const char *command)
{
	const char *path = getenv("PATH");
	char file[PATH_MAX];
	struct stat st;
	int why = ENOENT;

	if (!*command)
		return ENOENT;
	if (strchr(command, '/')) {
		if (stat(command, &st)) /* what is neither missing nor forbidden, exec is to judge */
			return errno == EACCES ? EACCES : errno == ENOENT || errno == ENOTDIR ? ENOENT : 0;
		return S_ISDIR(st.st_mode) || (access(command, X_OK) && errno == EACCES) ? EACCES : 0;
	}
	for (path = path ? path : "/bin:/usr/bin"; path; path = strchr(path, ':') ? strchr(path, ':') + 1 : NULL) {
		int length = (int)strcspn(path, ":");

		if (snprintf(file, sizeof(file), "%.*s%s%s", length, path, length ? "/" : "", command) >= (int)sizeof(file))
			continue;
		if (stat(file, &st) || S_ISDIR(st.st_mode))
			continue;
		if (!access(file, X_OK) || errno != EACCES)
			return 0;
		why = EACCES;
	}
	return why;
}

static int not_runnable(const char *command, int why)
{
	if (why == ENOENT) {
		if (may_speak && strchr(command, '/') && !access(command, F_OK))
			pp_say("cannot start '%s': the interpreter of its first line is missing. Nothing was run; correct that "
			       "line.",
			       command);
		else if (may_speak)
			pp_say("cannot start '%s': not found. Nothing was run; check the name, or write its path.", command);
		return PP_EXIT_NOT_FOUND;
	}
	if (may_speak)
		pp_say("cannot start '%s': %s. Nothing was run; is it a program that you may execute?", command, pp_why(why));
	return PP_EXIT_NOT_RUNNABLE;
}

/* --every needs a window to repeat. Returns an exit code, or -1: all is well. */
static int check_windows(const struct pp_options *options)
{
	struct pp_step_windows windows = {0};
	struct pp_err err = {""};
	int64_t every = 0;

	if (*options->value[PP_OPT_ID_STEPS])
		pp_step_windows_parse(options->value[PP_OPT_ID_STEPS], &windows, NULL);
	pp_parse_int(options->value[PP_OPT_ID_EVERY], &every, NULL);
	if (!pp_step_windows_repeat(&windows, every, &err))
		return -1;
	if (options->source[PP_OPT_ID_EVERY] == PP_FROM_COMMAND_LINE || options->source[PP_OPT_ID_STEPS] == PP_FROM_COMMAND_LINE) {
		if (may_speak)
			pp_say("%s. Nothing was started.", err.text);
		return PP_EXIT_USAGE;
	}
	if (may_speak)
		pp_say("environment variable PODPROF_EVERY is ignored: %s.", err.text);
	return -1;
}

static int asks_for_windows(const struct pp_options *options)
{
	return *options->value[PP_OPT_ID_STEPS] || *options->value[PP_OPT_ID_DELAY] || *options->value[PP_OPT_ID_DURATION] ||
	       *options->value[PP_OPT_ID_AT];
}

/* Lookback needs a job that is recorded all the time. Returns an exit code, or -1: all is well. */
static int check_lookback(struct pp_options *options)
{
	static const enum pp_opt_id ids[] = {PP_OPT_ID_KEEP, PP_OPT_ID_TRIGGER};
	int64_t keep = 1;

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		const char *value = options->value[ids[i]], *why = NULL;

		if (!*value)
			continue;
		if (ids[i] == PP_OPT_ID_KEEP)
			pp_parse_time(value, &keep, NULL);
		if (!keep)
			why = "no time holds nothing. As in 30s";
		else if (asks_for_windows(options))
			why = "it looks back on all that is recorded, a window of --steps, --delay, --duration or --at leaves "
			      "things out. Give one of them";
		if (!why)
			continue;
		if (options->source[ids[i]] == PP_FROM_COMMAND_LINE) {
			if (may_speak)
				pp_say("option --%s: %s. Nothing was started.", pp_opt_table[ids[i]].name, why);
			return PP_EXIT_USAGE;
		}
		if (may_speak)
			pp_say("environment variable %s is ignored: %s.", pp_opt_table[ids[i]].env, why);
		options->value[ids[i]] = pp_opt_table[ids[i]].fallback;
	}
	return -1;
}

struct run {
	struct pp_options options;
	struct pp_job job;
	struct pp_env_plan plan;
	char logdir[PP_SPOOL_PATH], spool[PP_SPOOL_PATH];
	char *library, *mpi_library, *shim;
	char **words; /* mpirun's command line with the variables to pass on; NULL: unchanged */
	int registered;
	int spans;  /* its ranks may be on several hosts */
	int nested; /* inside of another podprof run */
};

static const char *get_variable(const char *name)
{
	return getenv(name);
}

/* The keeper makes the keys of the rendezvous point, for ranks that may be on several hosts. */
static int start_keeper(struct run *run, const char *self, struct pp_err *err)
{
	struct pp_err why = {""};
	char *at;
	int rc;

	if (run->spans)
		pp_rendezvous_want(run->spool, run->nested);
	else if (run->nested)
		pp_rendezvous_pass(run->spool);
	rc = pp_keeper_start(run->spool, self, err);
	if (rc || !run->spans)
		return rc;
	at = pp_rendezvous_wait(run->spool, &why);
	if (at)
		pp_env_plan_replace(&run->plan, PP_RENDEZVOUS_VARIABLE, at);
	else if (may_speak)
		pp_say("hosts of this job cannot meet here: %s. They do through MPI, or in a log directory that all see.",
		       why.text);
	return 0;
}

/* A job has one log directory, that of its first process: names another one that was given. */
static void tell_other_output(const struct run *run)
{
	char there[PP_SPOOL_PATH];

	if (run->options.source[PP_OPT_ID_OUTPUT] == PP_FROM_DEFAULT ||
	    pp_spool_read_option(run->spool, "OUTPUT", there, sizeof(there)) || !strcmp(there, run->logdir) ||
	    !pp_spool_say_once(run->spool, "said-output"))
		return;
	pp_say("this job writes into '%s' already: -o '%s' is ignored. Give all parts of a job the same -o.", there, run->logdir);
}

/* Prepares everything except the environment itself; on failure `ret_cure` says what to do. */
static int prepare(struct run *run, char *const *command, const char **ret_cure, struct pp_err *err)
{
	char self[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	struct pp_env_plan_input in = {.spool = run->spool, .output = run->logdir, .options = &run->options, .get = get_variable};
	enum pp_forward how = pp_forward_how(command);
	int rc;

	*ret_cure = "raise it by 'ulimit -f'";
	rc = pp_file_limit_check(err);
	if (rc)
		return rc;
	*ret_cure = "'podprof doctor' says more";
	if (length <= 0)
		return pp_err_set(err, -errno, "cannot find itself: '/proc/self/exe': %s", pp_why(errno));
	self[length] = '\0';
	rc = pp_env_find_libraries(self, &run->library, &run->mpi_library, err);
	if (rc)
		return rc;
	rc = pp_logdir_open(run->options.value[PP_OPT_ID_OUTPUT], run->logdir, sizeof(run->logdir), err);
	*ret_cure = pp_logdir_cure(rc);
	if (rc)
		return rc;
	*ret_cure = "use --spool with a directory of your own";
	if (run->nested && run->options.source[PP_OPT_ID_SPOOL] == PP_FROM_ENVIRONMENT)
		rc = pp_spool_open_outer(run->options.value[PP_OPT_ID_SPOOL], &run->job, run->spool, sizeof(run->spool), err);
	else
		rc = pp_spool_open(run->options.value[PP_OPT_ID_SPOOL], &run->job, run->spool, sizeof(run->spool), err);
	if (!rc)
		rc = pp_spool_write_options(run->spool, &run->job, &run->options, run->logdir, command, err);
	if (!rc)
		rc = pp_spool_register(run->spool, &run->job, err);
	if (rc)
		return rc;
	run->registered = 1;
	tell_other_output(run);
	run->spans = pp_launcher_spans(command);
	in.library = run->library;
	in.mpi_library = run->mpi_library;
	in.shim = run->shim = pp_env_find_shim(run->library);
	in.program = self;
	in.job = run->job.name;
	in.rendezvous = run->spans ? "" : NULL; /* only the name is passed on here; the keeper provides the value */
	rc = pp_env_plan_make(&in, &run->plan, err);
	if (!rc && how == PP_FORWARD_BY_LIST) /* last, as it names all others */
		rc = pp_env_plan_add(&run->plan, PP_FORWARD_LIST, pp_forward_list(&run->plan, get_variable), err);
	if (rc)
		return rc;
	*ret_cure = "'podprof doctor' says more";
	if (run->job.rank <= 0)
		pp_spool_sweep(run->spool);
	rc = start_keeper(run, self, err);
	if (!rc)
		rc = pp_env_plan_apply(&run->plan, err);
	if (!rc && how == PP_FORWARD_BY_WORDS)
		run->words = pp_forward_words(&run->plan, command); /* without memory, ranks of other hosts run unprofiled */
	return rc;
}

static void release(struct run *run)
{
	pp_env_plan_release(&run->plan);
	free(run->library);
	free(run->mpi_library);
	free(run->shim);
	run->library = run->mpi_library = run->shim = NULL;
}

int pp_cmd_run(int argc, char **argv)
{
	struct run run = {.plan.count = 0};
	struct pp_err err = {""};
	const char *cure;
	char why[PATH_MAX + 256];
	int first, rc;

	rc = pp_options_parse(&pp_verb_run, argc, argv, &run.options, &first);
	if (rc >= 0)
		return rc;
	if (first >= argc) {
		pp_say("no command to run. Type 'podprof run -- CMD ARG...', as in 'podprof run -o logs -- python train.py'.");
		return PP_EXIT_USAGE;
	}
	pp_job_read(&run.job);
	run.nested = getenv("PODPROF_SPOOL") && getenv("PODPROF_JOB");
	if (!run.nested)
		unsetenv(PP_RENDEZVOUS_VARIABLE); /* left from another job */
	may_speak = run.job.speaks;
	pp_options_environment(&run.options, PP_OPT_RUN,
	                       run.nested ? NULL : tell); /* the outer podprof run has printed them already */
	rc = check_windows(&run.options);
	if (rc < 0)
		rc = pp_run_check_times(&run.options, may_speak);
	if (rc < 0)
		rc = check_lookback(&run.options);
	if (rc >= 0)
		return rc;
	rc = look_for(argv[first]);
	if (rc)
		return not_runnable(argv[first], rc);
	rc = prepare(&run, argv + first, &cure, &err);
	if (rc) {
		if (run.registered)
			pp_spool_unregister(run.spool, &run.job);
		if (run.job.rank <= 0)
			pp_say("%s. The job runs unprofiled; %s.", err.text, cure);
		pp_env_stand_in(run.library, run.mpi_library, get_variable);
	} else if (may_speak && !pp_loadable(argv[first], why, sizeof(why)) && pp_spool_say_once(run.spool, PP_SAID_FILE))
		pp_say("%s.", why);
	release(&run);
	pp_file_limit_restore();
	execvp(argv[first], run.words ? run.words : argv + first);
	rc = not_runnable(argv[first], errno);
	if (run.registered)
		pp_spool_unregister(run.spool, &run.job);
	return rc;
}
