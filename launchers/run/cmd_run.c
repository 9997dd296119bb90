/* podprof run: makes log directory, spool, keeper and environment, then execs the application. No failure may keep the job from
 * running: it prints one line, and the application starts with the user's environment. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "aggregate/keeper/capture/timed.h"
#include "aggregate/keeper/spawn.h"
#include "aggregate/spool/job.h"
#include "aggregate/spool/join.h"
#include "aggregate/spool/layout.h"
#include "aggregate/spool/options.h"
#include "aggregate/spool/root.h"
#include "aggregate/spool/run_file.h"
#include "aggregate/spool/sweep.h"
#include "aggregate/spool/view.h"
#include "core/base/now.h"
#include "core/base/parse.h"
#include "core/base/signal_name.h"
#include "core/base/step_windows.h"
#include "core/base/why.h"
#include "core/ring/ring_file.h"
#include "core/step/user_rules.h"
#include "launchers/cmd.h"
#include "launchers/options/options.h"
#include "launchers/options/say.h"
#include "launchers/run/env_plan.h"
#include "launchers/run/file_limit.h"
#include "launchers/run/launcher_hosts.h"
#include "launchers/run/logdir.h"
#include "launchers/run/program.h"
#include "launchers/run/rendezvous.h"
#include "launchers/run/task_words.h"

const struct pp_options_verb pp_verb_run = {
        .name = "podprof run",
        .arguments = "[--] CMD [ARG...]",
        .doc = "Run CMD and record it. CMD is the program of one rank or the launcher of all ranks. The exit code is CMD's."
               "\vOptions after CMD are passed to CMD. Times take s, ms, m or h, and sizes K, M or G. A variable in brackets sets "
               "the same option: PODPROF_STEPS=10:20 means --steps 10:20.",
        .groups = PP_OPT_RUN,
        .command = 1,
};

enum { SEGMENTS = 128, SCRIPTS = 4, SECOND = 1000000000, START_S = 5 /* between the starts of ranks of one job */ };

static int may_speak;

static void warn(const char *sentence)
{
	if (may_speak)
		pp_say("%s", sentence);
}

static int not_runnable(const char *command, int why)
{
	if (why == ENOENT) {
		if (may_speak && strchr(command, '/') && !access(command, F_OK))
			pp_say("cannot start '%s': the interpreter in its first line does not exist. Nothing was started; "
			       "correct that "
			       "line.",
			       command);
		else if (may_speak)
			pp_say("cannot start '%s': not found. Nothing was started; check the name, or write its path.", command);
		return PP_EXIT_NOT_FOUND;
	}
	if (may_speak)
		pp_say("cannot start '%s': %s. Nothing was started; check that you may execute it.", command, pp_why(why));
	return PP_EXIT_NOT_RUNNABLE;
}

/* The interpreter of a script's first line; 0: it is none. */
static int interpreter(const char *head, char file[PATH_MAX])
{
	size_t length;

	if (strncmp(head, "#!", 2) != 0)
		return 0;
	head += 2 + strspn(head + 2, " \t");
	length = strcspn(head, " \t\r\n");
	if (!length || length >= PATH_MAX)
		return 0;
	memcpy(file, head, length);
	file[length] = '\0';
	return 1;
}

/* Does the kernel give it rights that its caller has not? Then the loader looks at no path of LD_PRELOAD. */
static int has_other_rights(const char *file)
{
	struct stat st;

	if (stat(file, &st))
		return 0;
	if (st.st_mode & S_ISUID && st.st_uid != getuid())
		return 1;
	if ((st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && st.st_gid != getgid())
		return 1;
	return getuid() && getxattr(file, "security.capability", NULL, 0) > 0;
}

/* 1: without a loader; 0: with one, or no ELF file that could be read. */
static int is_static(int fd, const Elf64_Ehdr *head)
{
	Elf64_Phdr segment[SEGMENTS];
	size_t bytes = head->e_phnum * sizeof(segment[0]);

	if (head->e_phentsize != sizeof(segment[0]) || !head->e_phnum || head->e_phnum > SEGMENTS ||
	    pread(fd, segment, bytes, (off_t)head->e_phoff) != (ssize_t)bytes)
		return 0;
	for (size_t i = 0; i < head->e_phnum; i++)
		if (segment[i].p_type == PT_INTERP)
			return 0;
	return 1;
}

static const char *fault(const char *file, int fd, const Elf64_Ehdr *head)
{
	if (memcmp(head->e_ident, ELFMAG, SELFMAG) != 0)
		return NULL;
	if (has_other_rights(file))
		return "is setuid, setgid or has capabilities, so the loader ignores podprof. Run a copy without these rights";
	if (head->e_ident[EI_CLASS] != ELFCLASS64)
		return sizeof(void *) == 8 ? "is a 32-bit program; podprof records 64-bit programs. Build it for 64 bit" : NULL;
	if ((head->e_type == ET_EXEC || head->e_type == ET_DYN) && is_static(fd, head))
		return "is statically linked, so podprof cannot be loaded into it. Link it without -static";
	return NULL;
}

/* Can the collector be loaded? LD_PRELOAD does not reach static programs, those with other rights and those of another word size.
 * 0: no; `why` is the sentence that says so, and what to do. `file` becomes the interpreter, of a script. */
static int is_loadable(char *file, char *why, size_t size)
{
	const char *what = NULL;

	for (int i = 0; i < SCRIPTS; i++) {
		union {
			char text[PATH_MAX + 16];
			Elf64_Ehdr elf;
		} head = {""};
		int fd = open(file, O_RDONLY | O_CLOEXEC);
		ssize_t n = fd < 0 ? -1 : pread(fd, head.text, sizeof(head.text) - 1, 0);

		if (n >= (ssize_t)sizeof(head.elf))
			what = fault(file, fd, &head.elf);
		else if (n < 0 && has_other_rights(file)) /* often one that may be run, but not read */
			what = "is setuid, setgid or has capabilities, so the loader ignores podprof. Run a copy without these "
			       "rights";
		if (fd >= 0)
			close(fd);
		if (what || n <= 0 || !interpreter(head.text, file))
			break;
	}
	if (what)
		snprintf(why, size, "'%s' %s. Nothing is recorded, unless it starts other programs", file, what);
	return !what;
}

/* --every needs a window to repeat. Returns an exit code, or -1: all is well. */
static int check_windows(const struct pp_options *options)
{
	struct pp_step_windows windows = options->job.windows;
	struct pp_err err = {""};

	if (!pp_step_windows_repeat(&windows, options->job.every, &err))
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

/* An option that cannot be followed: an exit code, or -1: it is one of the environment and at its default now. */
static int refuse(struct pp_options *options, enum pp_opt_id id, const char *why)
{
	const struct pp_opt *row = &pp_opt_table[id];

	if (options->source[id] == PP_FROM_COMMAND_LINE) {
		if (may_speak)
			pp_say("option --%s: %s. Nothing was started.", row->name, why);
		return PP_EXIT_USAGE;
	}
	if (may_speak)
		pp_say("environment variable %s is ignored: %s.", row->env, why);
	pp_options_reset(options, id);
	return -1;
}

/* Why this option cannot be followed; "": it can. */
static void find_fault(const struct pp_options *o, enum pp_opt_id id, char *why, size_t size)
{
	const char *value = o->text[id];
	struct pp_err err = {""};
	int64_t ns = 0;
	int number;

	why[0] = '\0';
	if (id == PP_OPT_ID_SIGNAL) {
		if (pp_signal_parse(value, &number, &err))
			snprintf(why, size, "%s", err.text);
		return;
	}
	if (o->job.windows.count)
		snprintf(why, size, "it cannot be combined with --steps. Give one of them");
	else if (id == PP_OPT_ID_AT && *o->job.delay.text)
		snprintf(why, size, "it cannot be combined with --delay. Give one of them");
	else if (id == PP_OPT_ID_AT && pp_timed_parse_at(value, pp_clock_ns(CLOCK_REALTIME), &ns, &err))
		snprintf(why, size, "%s", err.text);
	else if (id == PP_OPT_ID_AT && ns <= pp_clock_ns(CLOCK_REALTIME) - (int64_t)START_S * SECOND)
		snprintf(why, size, "'%s' is in the past. For another day give @SECONDS since 1970: date +@%%s -d tomorrow", value);
	else if (id == PP_OPT_ID_DURATION && !o->job.duration.ns)
		snprintf(why, size, "'%s' must be greater than zero, for example 2s", value);
}

static int check_times(struct pp_options *options)
{
	static const enum pp_opt_id ids[] = {PP_OPT_ID_DELAY, PP_OPT_ID_DURATION, PP_OPT_ID_AT, PP_OPT_ID_SIGNAL};
	char why[400];

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		if (!*options->text[ids[i]])
			continue;
		find_fault(options, ids[i], why, sizeof(why));
		if (!*why)
			continue;
		if (refuse(options, ids[i], why) >= 0)
			return PP_EXIT_USAGE;
		unsetenv(pp_opt_table[ids[i]].env); /* ranks read it too */
	}
	return -1;
}

/* Steps are counted while the job runs only to find those of --steps. Returns an exit code, or -1: all is well. */
static int check_step_rule(struct pp_options *options)
{
	if (!options->verb.by_collectives || options->job.windows.count)
		return -1;
	return refuse(options, PP_OPT_ID_STEP_RULE, "'collectives' needs --steps, for example --steps 10:20");
}

static int asks_for_windows(const struct pp_options *options)
{
	return options->job.windows.count || *options->job.delay.text || *options->job.duration.text || *options->job.at;
}

/* Lookback needs a job that is recorded all the time. Returns an exit code, or -1: all is well. */
static int check_lookback(struct pp_options *options)
{
	static const enum pp_opt_id ids[] = {PP_OPT_ID_KEEP, PP_OPT_ID_TRIGGER};

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		const char *why = NULL;

		if (!*options->text[ids[i]])
			continue;
		if (ids[i] == PP_OPT_ID_KEEP && !options->job.keep_ns)
			why = "it must be greater than zero, for example 30s";
		else if (asks_for_windows(options))
			why = "it cannot be combined with --steps, --delay, --duration or --at. Give one of them";
		if (why && refuse(options, ids[i], why) >= 0)
			return PP_EXIT_USAGE;
	}
	return -1;
}

struct run {
	struct pp_options options;
	struct pp_job job;
	struct pp_env_plan plan;
	char logdir[PP_SPOOL_PATH], spool[PP_SPOOL_PATH];
	char *library, *mpi_library, *io_library, *shim;
	char **words; /* mpirun's command line with the variables to pass on; NULL: unchanged */
	int registered;
	int made_logdir; /* it was missing */
	int spans;       /* its ranks may be on several hosts */
	int nested;      /* inside of another podprof run */
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
		pp_say("hosts of this job cannot find each other through this process: %s. They still can through MPI, or "
		       "through a log "
		       "directory that all hosts see.",
		       why.text);
	return 0;
}

/* A job has one log directory, that of its first process: names another one that was given. */
static void warn_other_output(const struct run *run)
{
	char there[PP_SPOOL_PATH];

	if (run->options.source[PP_OPT_ID_OUTPUT] == PP_FROM_DEFAULT ||
	    pp_spool_read_option(run->spool, "OUTPUT", there, sizeof(there)) || !strcmp(there, run->logdir) ||
	    !pp_spool_is_first(run->spool, "said-output"))
		return;
	pp_say("this job already writes into '%s': -o '%s' is ignored. Give all parts of a job the same -o.", there, run->logdir);
}

/* A job whose spool is gone before the epilog is recorded all the same. */
static void warn_place(const struct run *run)
{
	enum pp_spool_root_why why;

	if (!may_speak || *run->options.verb.spool || !getenv("SLURM_JOB_ID"))
		return;
	pp_spool_root_find(&why);
	if (why == PP_SPOOL_ROOT_PLAIN || strncmp(run->spool, PP_SPOOL_ROOT_SHM "/", strlen(PP_SPOOL_ROOT_SHM "/")) != 0 ||
	    !pp_spool_is_first(run->spool, "said-place"))
		return;
	pp_say("the epilog may find no records if this job is killed: its " PP_SPOOL_ROOT_SHM
	       " does not stay, and its " PP_SPOOL_ROOT_STAYS " %s. Give --spool a directory of the node that stays.",
	       why == PP_SPOOL_ROOT_NONE ? "neither" : "cannot be used");
}

/* By it a process knows that podprof run became it (core/unrecorded.c); its children have other pids. */
#define PID_VARIABLE "PODPROF_PID"

static void set_pid(void)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", (int)getpid());
	setenv(PID_VARIABLE, text, 1); /* without memory the keeper speaks for the process */
}

/* Without it no part of --io is switched on. */
static char *find_io(const struct run *run)
{
	char *path;

	if (strcmp(run->options.text[PP_OPT_ID_IO], "yes") != 0)
		return NULL;
	path = pp_env_find_io(run->library);
	if (!path && may_speak && pp_spool_is_first(run->spool, "said-io"))
		pp_say("--io yes is ignored: libpodprof-io.so is not beside '%s'. Install podprof completely.", run->library);
	return path;
}

/* Prepares everything except the environment itself; on failure `ret_cure` says what to do. */
static int prepare(struct run *run, char *const *command, const char **ret_cure, struct pp_err *err)
{
	char self[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	struct pp_env_plan_input in = {.spool = run->spool, .output = run->logdir, .options = &run->options, .get = get_variable};
	enum pp_forward how = pp_forward_how(command);
	int rc;

	*ret_cure = "raise the limit with 'ulimit -f'";
	rc = pp_file_limit_check(err);
	if (rc)
		return rc;
	*ret_cure = "type 'podprof doctor' for more";
	if (length <= 0)
		return pp_err_set(err, -errno, "cannot find the podprof program: '/proc/self/exe': %s", pp_why(errno));
	self[length] = '\0';
	rc = pp_env_find_libraries(self, &run->library, &run->mpi_library, err);
	if (rc)
		return rc;
	rc = pp_logdir_open(run->options.text[PP_OPT_ID_OUTPUT], run->logdir, sizeof(run->logdir), &run->made_logdir, err);
	*ret_cure = pp_logdir_cure(rc);
	if (rc)
		return rc;
	run->spans |= pp_launcher_spans(command);
	if (run->spans) /* a batch script has a rank, which its launcher is not */
		run->job.rank = -1;
	*ret_cure = "use --spool with a directory of your own";
	rc = pp_spool_join(run->options.verb.spool, run->nested && run->options.source[PP_OPT_ID_SPOOL] == PP_FROM_ENVIRONMENT,
	                   &run->job, run->options.text, run->logdir, command, run->spool, sizeof(run->spool), err);
	if (rc)
		return rc;
	run->registered = 1;
	if (run->made_logdir)
		pp_spool_is_first(run->spool, PP_SPOOL_MADE_LOGDIR);
	warn_other_output(run);
	warn_place(run);
	in.library = run->library;
	in.mpi_library = run->mpi_library;
	in.io_library = run->io_library = find_io(run);
	in.shim = run->shim = pp_env_find_shim(run->library);
	in.program = self;
	in.job = run->job.name;
	in.rendezvous = run->spans ? "" : NULL; /* only the name is passed on here; the keeper provides the value */
	rc = pp_env_plan_make(&in, &run->plan, err);
	if (!rc && how == PP_FORWARD_BY_LIST) /* last, as it names all others */
		rc = pp_env_plan_add(&run->plan, PP_FORWARD_LIST, pp_forward_list(&run->plan, get_variable), err);
	if (rc)
		return rc;
	*ret_cure = "type 'podprof doctor' for more";
	if (run->job.rank <= 0)
		pp_spool_sweep(run->spool);
	return start_keeper(run, self, err);
}

static int apply(struct run *run, char *const *command, struct pp_err *err)
{
	int rc = pp_env_plan_apply(&run->plan, err);

	if (!rc)
		set_pid(); /* not passed on to other hosts */
	if (!rc && pp_forward_how(command) == PP_FORWARD_BY_WORDS)
		run->words = pp_forward_words(&run->plan, command); /* without memory, ranks of other hosts run unprofiled */
	return rc;
}

static void release(struct run *run)
{
	pp_env_plan_release(&run->plan);
	free(run->library);
	free(run->mpi_library);
	free(run->io_library);
	free(run->shim);
	run->library = run->mpi_library = run->io_library = run->shim = NULL;
}

/* A file that cannot be used is refused before anything starts. Ranks may start elsewhere: its path becomes absolute. -1: go on. */
static int check_rules(struct pp_options *options)
{
	struct pp_err err = {""};
	char *path;

	if (!*options->verb.rules)
		return -1;
	if (pp_user_rules_load(options->verb.rules, &err)) {
		pp_say("%s. Nothing was started.", err.text);
		return PP_EXIT_USAGE;
	}
	path = realpath(options->verb.rules, NULL);
	if (path)
		options->text[PP_OPT_ID_RULES] = path; /* until exec */
	return -1;
}

/* Files that keepers write, which may start elsewhere: their paths become absolute. */
static void make_absolute(struct pp_options *options)
{
	static char made[2][PATH_MAX];
	static const enum pp_opt_id id[] = {PP_OPT_ID_SITE_LOG, PP_OPT_ID_METRICS};
	char here[PATH_MAX];

	for (size_t i = 0; i < sizeof(id) / sizeof(id[0]); i++) {
		const char *path = options->text[id[i]];

		if (*path && *path != '/' && getcwd(here, sizeof(here)) &&
		    snprintf(made[i], sizeof(made[i]), "%s/%s", here, path) < (int)sizeof(made[i]))
			options->text[id[i]] = made[i];
	}
}

/* What was given, and whether it can be followed. Returns an exit code, or -1: go on with the command in argv[*ret_first]. */
static int read_options(struct run *run, int argc, char **argv, int *ret_first)
{
	int rc = pp_options_parse(&pp_verb_run, argc, argv, &run->options, ret_first);

	if (rc >= 0)
		return rc;
	if (*ret_first >= argc) {
		pp_say("no command to run. Type for example 'podprof run -o logs -- python3 train.py'.");
		return PP_EXIT_USAGE;
	}
	pp_job_read(&run->job);
	run->nested = getenv("PODPROF_SPOOL") && getenv("PODPROF_JOB");
	if (!run->nested)
		unsetenv(PP_RENDEZVOUS_VARIABLE); /* left from another job */
	may_speak = run->job.speaks;
	pp_options_environment(&run->options, PP_OPT_RUN,
	                       run->nested ? NULL : warn); /* the outer podprof run has printed them already */
	rc = check_windows(&run->options);
	if (rc < 0)
		rc = check_times(&run->options);
	if (rc < 0)
		rc = check_lookback(&run->options);
	if (rc < 0)
		rc = check_step_rule(&run->options);
	if (rc < 0)
		rc = check_rules(&run->options);
	make_absolute(&run->options);
	return rc;
}

static void give_up(struct run *run, const char *cure, const struct pp_err *err)
{
	if (run->registered)
		pp_spool_unregister(run->spool, &run->job);
	if (run->made_logdir && *run->logdir)
		rmdir(run->logdir); /* fails where there is something in it */
	if (run->job.rank <= 0 && may_speak)
		pp_say("%s. The job runs unprofiled; %s.", err->text, cure);
}

static void say_not_loadable(const struct run *run, char file[PATH_MAX])
{
	char why[PATH_MAX + 256];

	if (may_speak && !is_loadable(file, why, sizeof(why)) && pp_spool_is_first(run->spool, PP_REPORTED_FILE))
		pp_say("%s.", why);
}

int pp_cmd_run(int argc, char **argv)
{
	struct run run = {.plan.count = 0};
	struct pp_err err = {""};
	const char *cure;
	char file[PATH_MAX];
	int first, rc = read_options(&run, argc, argv, &first);

	if (rc >= 0)
		return rc;
	rc = pp_program_find(argv[first], file);
	if (rc)
		return not_runnable(argv[first], rc);
	rc = prepare(&run, argv + first, &cure, &err);
	if (!rc)
		rc = apply(&run, argv + first, &err);
	if (rc) {
		give_up(&run, cure, &err);
		pp_env_stand_in(run.library, run.mpi_library, get_variable);
	} else {
		say_not_loadable(&run, file);
	}
	release(&run);
	pp_file_limit_restore();
	execvp(argv[first], run.words ? run.words : argv + first);
	rc = not_runnable(argv[first], errno);
	if (run.registered)
		pp_spool_unregister(run.spool, &run.job);
	return rc;
}

/* srun --multi-prog gives the name of its file and the text in it for a command. */
static int is_multi_prog(char *const *words)
{
	return words[1] && strpbrk(words[1], " \t\n");
}

/* For a launcher that starts the command itself; prints the variables that it needs, each as NAME=VALUE and a NUL. MODE is check
 * (only looks at the options), rank (PID becomes the command, empty if it is not known) or launcher (PID starts it on several
 * hosts). */
int pp_cmd_task(int argc, char **argv)
{
	struct run run = {.plan.count = 0};
	struct pp_err err = {""};
	const char *cure, *mode = argc > 5 ? argv[1] : "";
	int is_rank = !strcmp(mode, "rank"), is_launcher = !strcmp(mode, "launcher");
	char file[PATH_MAX], **words = is_rank || is_launcher || !strcmp(mode, "check") ? pp_task_words(argv[3], argv + 4) : NULL;
	int64_t pid = 0;
	int first, is_known, rc;

	if (!words || pp_parse_int(argv[2], &pid, NULL)) {
		pp_say("'podprof task' is internal: Slurm's plug-in and hooks start it. Type 'srun --podprof'.");
		return PP_EXIT_USAGE;
	}
	for (argc = 0; words[argc]; argc++)
		;
	rc = read_options(&run, argc, words, &first);
	if (rc >= 0 || (!is_rank && !is_launcher))
		return rc < 0 ? PP_EXIT_OK : rc;
	run.job.pid = (int)pid;
	run.spans = is_launcher;
	if (is_launcher) /* a batch script has a rank too */
		run.job.rank = run.job.local_rank = -1, run.job.size = run.job.local_size = 0;
	is_known = is_rank && !pp_program_find(words[first], file);
	if (is_rank && !is_known) {
		if (*words[first] && !is_multi_prog(words + first)) /* exec will say so */
			return PP_EXIT_OK;
		words[first] = (char *)"";
	}
	rc = prepare(&run, words + first, &cure, &err);
	if (rc) {
		may_speak = is_rank; /* the ranks try for themselves */
		give_up(&run, cure, &err);
		return PP_EXIT_FAILED;
	}
	if (is_known)
		say_not_loadable(&run, file);
	for (size_t i = 0; i < run.plan.count; i++)
		printf("%s=%s%c", run.plan.variable[i].name, run.plan.variable[i].value, '\0');
	if (is_rank)
		printf(PID_VARIABLE "=%d%c", run.job.pid, '\0');
	release(&run);
	return fflush(stdout) ? PP_EXIT_FAILED : PP_EXIT_OK;
}
