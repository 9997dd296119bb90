/* podprof analyze FILES-OR-DIRS... -o DIR: makes a session from files of other profilers, by aggregate/session/analyze.h. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregate/session/analyze.h"
#include "aggregate/session/analyze_merge.h"
#include "aggregate/session/files.h"
#include "aggregate/spool/layout.h"
#include "core/base/compare.h"
#include "core/base/shell_word.h"
#include "core/base/step_windows.h"
#include "core/step/user_rules.h"
#include "launchers/analyze/inputs.h"
#include "launchers/analyze/several.h"
#include "launchers/analyze/windows.h"
#include "launchers/analyze/workers.h"
#include "launchers/brief/brief_print.h"
#include "launchers/cmd.h"
#include "launchers/options/options.h"
#include "launchers/options/say.h"
#include "launchers/run/logdir.h"

enum { WARNINGS = 10, WARNING_BYTES = 256 };

const struct pp_options_verb pp_verb_analyze = {
        .name = "podprof analyze",
        .arguments = "FILE|DIR...",
        .doc = "Make a session from traces that other profilers wrote: XSpace (.xplane.pb) of TensorFlow, JAX and xprof, and "
               "Kineto JSON of PyTorch, plain, .gz or .zst. All files become one session, each file one rank.\v"
               "A directory is searched for such files, and so is an archive (.zip, .tar, .tar.gz, .tar.zst).",
        .groups = PP_OPT_ANALYZE,
};

struct warnings { /* for /quality */
	char text[WARNINGS][WARNING_BYTES];
	const char *list[WARNINGS + 1];
	size_t count;
};

static char *add_warning(struct warnings *n)
{
	n->list[n->count] = n->text[n->count];
	return n->text[n->count++];
}

static void show(const struct pp_workers_seen *seen)
{
	pp_progress("%zu of %zu files read, %d %%", seen->files, seen->files_all,
	            seen->bytes_all ? (int)(100.0 * (double)seen->bytes / (double)seen->bytes_all) : 100);
}

static size_t cores(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) ? 1 : (size_t)CPU_COUNT(&set);
}

/* Files of several sessions are several answers. Those of several directories may be of one job: what was read tells it. 0, or an
 * exit code after one line. */
static int refuse(const struct pp_inputs *in, int is_read)
{
	char word[300];

	if (in->session_count < 2 || (is_read ? pp_windows_are_at_once(in) : !pp_windows_are_two_answers(in)))
		return 0;
	pp_say("the files are of %zu sessions%s, and one is analysed at a time: give its directory, for "
	       "example 'podprof analyze %s'.",
	       in->session_count, in->session_count == 3 ? " or more" : "",
	       pp_shell_word(in->sessions[in->session_count - 1], word, sizeof(word)));
	return PP_EXIT_USAGE;
}

/* "imagenet" of logs/imagenet/; "": the current directory. */
static void name_job(const char *word, char *job, size_t size)
{
	size_t length = strlen(word), at;

	while (length > 1 && word[length - 1] == '/')
		length--;
	for (at = length; at > 0 && word[at - 1] != '/'; at--)
		;
	snprintf(job, size, "%.*s", (int)(length - at), word + at);
}

static void warn_of_inputs(const struct pp_inputs *in, int own_ranks, struct warnings *warnings)
{
	size_t twice = 0;

	for (size_t i = 0; i < in->files; i++) {
		if (in->file[i].why[0])
			continue;
		for (size_t k = 0; k < i; k++)
			if (!in->file[k].why[0] && !strcmp(in->file[i].glance.host, in->file[k].glance.host)) {
				twice++;
				break;
			}
	}
	if (!own_ranks && in->files > 1)
		snprintf(add_warning(warnings), WARNING_BYTES,
		         "the files do not give their ranks: ranks are numbered in the order of the files' names");
	if (in->unread)
		snprintf(add_warning(warnings), WARNING_BYTES, "%zu director%s could not be read: traces in %s are missing",
		         in->unread, in->unread == 1 ? "y" : "ies", in->unread == 1 ? "it" : "them");
	if (in->bad_words)
		snprintf(add_warning(warnings), WARNING_BYTES, "%zu of the paths given %s not analysed: %.180s", in->bad_words,
		         in->bad_words == 1 ? "was" : "were", in->bad_word);
	if (in->member_others)
		snprintf(add_warning(warnings), WARNING_BYTES, "%zu file%s in archives %s, and left out", in->member_others,
		         in->member_others == 1 ? "" : "s", in->member_others == 1 ? "is no trace" : "are no traces");
	if (in->damaged_archives)
		snprintf(add_warning(warnings), WARNING_BYTES, "%zu archive%s damaged: traces behind the damage are missing",
		         in->damaged_archives, in->damaged_archives == 1 ? " is" : "s are");
	if (in->repeated)
		snprintf(add_warning(warnings), WARNING_BYTES, "%zu file%s given twice, and read once", in->repeated,
		         in->repeated == 1 ? " was" : "s were");
	if (in->copies)
		snprintf(add_warning(warnings), WARNING_BYTES,
		         "%zu trace%s for a viewer left out: the XSpace file beside it has the same events", in->copies,
		         in->copies == 1 ? "" : "s");
	if (twice && !own_ranks)
		snprintf(add_warning(warnings), WARNING_BYTES,
		         "%zu file%s of a host that another file is of too: each is a rank of its own", twice,
		         twice == 1 ? " is" : "s are");
}

static int is_whole(const struct pp_inputs *in)
{
	if (in->unread || in->bad_words || in->damaged_archives)
		return 0;
	for (size_t i = 0; i < in->files; i++)
		if (in->file[i].why[0])
			return 0;
	return 1;
}

/* The signals that end a program wait until the session is whole. */
static int write_session(struct pp_inputs *in, const struct pp_analyze_options *o, const struct warnings *warnings)
{
	struct pp_err err = {""};
	char text[3072] = "";
	sigset_t ends, before;
	int damaged = 0, rc;

	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	sigprocmask(SIG_BLOCK, &ends, &before);
	rc = pp_analyze_write(in->file, in->files, o, warnings->list, &damaged, text, sizeof(text), &err);
	pp_say_lines(text);
	if (rc)
		pp_say("%s. No session was written.", err.text);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (!rc && o->ret_directory && pp_brief_print(o->ret_directory))
		rc = -EIO;
	return rc ? PP_EXIT_FAILED : is_whole(in) && !damaged ? PP_EXIT_OK : PP_EXIT_PARTIAL;
}

/* All files, each once, on all ranks; rank 0 then has what they gave. */
static void read_all(struct pp_several *s, struct pp_inputs *in, const struct pp_analyze_options *o, size_t processes)
{
	size_t *index = malloc((in->files + 1) * sizeof(*index)), count = 0;
	int shows = isatty(STDERR_FILENO), rc;
	struct pp_err err = {""};

	for (size_t i = 0; i < in->files; i++) /* as the file says, else any number of its own */
		in->file[i].rank = in->file[i].glance.rank >= 0 ? in->file[i].glance.rank : (int32_t)i;
	for (size_t i = 0; index && i < in->files; i++)
		if (!in->file[i].why[0] && pp_several_is_mine(s, in, i))
			index[count++] = i;
	rc = index ? pp_workers_read(in->file, index, count, processes, o, shows ? show : NULL, &err)
	           : pp_err_set(&err, -ENOMEM, "no memory for the list of files");
	pp_progress_end();
	free(index);
	if (rc)
		pp_say("%s.", err.text); /* its files are missing then */
	rc = pp_several_gather_all(s, in, &err);
	if (rc)
		pp_say("%s.", err.text);
}

static int write_window(const struct pp_several *s, struct pp_inputs *in, const struct pp_analyze_options *o)
{
	struct warnings warnings = {.count = 0};
	int own = 0;

	pp_analyze_number(in->file, in->files, &own);
	warn_of_inputs(in, own, &warnings);
	if (s->why_alone[0])
		snprintf(add_warning(&warnings), WARNING_BYTES, "%s", s->why_alone);
	return write_session(in, o, &warnings);
}

PP_COMPARE_BY(compare_process, struct pp_analyze_file, process)

/* A session of each window. Files without numbers have those of their processes, which are the same in all windows. */
static int write_windows(const struct pp_several *s, struct pp_inputs *in, const struct pp_analyze_options *o)
{
	int windows = (int)pp_windows_find(in), failed = 0, partial = 0;

	for (int w = 0; w < windows; w++) {
		struct pp_inputs one = *in;
		int code;

		one.file = calloc(in->files + 1, sizeof(*one.file));
		one.files = 0;
		for (size_t i = 0; one.file && i < in->files; i++)
			if (in->file[i].window == (uint32_t)w) {
				one.file[one.files++] = in->file[i];
				in->file[i].block = NULL; /* it is freed below */
			}
		if (one.file && windows > 1)
			qsort(one.file, one.files, sizeof(*one.file), compare_process);
		code = one.file ? write_window(s, &one, o) : PP_EXIT_FAILED;
		failed += code == PP_EXIT_FAILED;
		partial += code == PP_EXIT_PARTIAL;
		for (size_t i = 0; i < one.files; i++)
			free(one.file[i].block); /* the rest is still that of `in` */
		free(one.file);
	}
	return failed == windows ? PP_EXIT_FAILED : failed || partial ? PP_EXIT_PARTIAL : PP_EXIT_OK;
}

/* Rank 0 finds what there is to do. 0, or an exit code after one line. */
static int prepare(char *const *word, size_t words, const struct pp_options *options, struct pp_inputs *in, char *logdir,
                   size_t size)
{
	struct pp_err err = {""};
	int rc = pp_inputs_find(word, words, in, &err);

	if (rc) {
		pp_say("%s. Nothing was analysed.", err.text);
		return PP_EXIT_FAILED;
	}
	rc = refuse(in, 0);
	if (rc)
		return rc;
	rc = pp_logdir_open(options->text[PP_OPT_ID_OUTPUT], logdir, size, NULL, &err);
	if (rc)
		pp_say("%s. Nothing was analysed; %s.", err.text, pp_logdir_cure(rc));
	return rc ? PP_EXIT_FAILED : PP_EXIT_OK;
}

static size_t processes_of(const struct pp_several *s, const struct pp_options *options)
{
	const int64_t asked = options->verb.processes;
	size_t each = cores() / (size_t)s->local_size;

	return asked > 0 ? (size_t)asked : each + !each;
}

/* What all ranks do. The exit code is rank 0's. */
static int analyze_all(struct pp_several *s, char *const *word, size_t words, const struct pp_options *options)
{
	struct pp_analyze_options o = {.options = "podprof analyze", .session = options->text[PP_OPT_ID_SESSION]};
	const struct pp_step_windows *windows = &options->job.windows;
	struct pp_inputs in = {.file = NULL};
	char logdir[PP_SPOOL_PATH] = "", job[128], directory[PP_SESSION_PATH];
	struct pp_err err = {""};
	int code = s->world.rank ? PP_EXIT_OK : prepare(word, words, options, &in, logdir, sizeof(logdir));

	code = pp_several_code_all(s, code);
	if (!code && pp_several_inputs_all(s, &in, &err)) {
		pp_say("%s. Nothing was analysed.", err.text);
		code = PP_EXIT_FAILED;
	}
	name_job(*word, job, sizeof(job));
	o.logdir = logdir;
	o.job = job;
	o.ret_directory = options->verb.json ? directory : NULL;
	if (windows->count) {
		o.steps_first = windows->first[0];
		o.steps_last = windows->last[windows->count - 1];
	}
	if (!code) {
		read_all(s, &in, &o, processes_of(s, options));
		code = s->world.rank ? PP_EXIT_OK : refuse(&in, 1);
		if (!code && !s->world.rank)
			code = write_windows(s, &in, &o);
		code = pp_several_code_all(s, code);
	}
	pp_inputs_release(&in);
	return code;
}

int pp_cmd_analyze(int argc, char **argv)
{
	struct pp_options options;
	struct pp_several several;
	struct pp_err err = {""};
	int first, code, rc = pp_options_parse(&pp_verb_analyze, argc, argv, &options, &first);

	if (rc >= 0)
		return rc;
	if (argc - first < 1) {
		pp_say("no file to analyse. Type 'podprof analyze FILE|DIR... -o DIR', for example 'podprof analyze "
		       "logs/plugins/profile/run1 -o podprof_logs'.");
		return PP_EXIT_USAGE;
	}
	pp_options_environment(&options, PP_OPT_ANALYZE, NULL);
	if (*options.verb.rules && pp_user_rules_load(options.verb.rules, &err)) {
		pp_say("%s. Nothing was analysed.", err.text);
		return PP_EXIT_USAGE;
	}
	code = pp_several_begin_all(&several);
	if (code)
		return code;
	code = several.idle ? PP_EXIT_OK : analyze_all(&several, argv + first, (size_t)(argc - first), &options);
	pp_several_end_all(&several);
	return code;
}
