/* The blocks of all files to one session; see analyze.h. Called by launchers/cmd_analyze.c. */
#include "aggregate/session/analyze_merge.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "aggregate/analyze/finish.h"
#include "aggregate/dataset/block.h"
#include "aggregate/dataset/merge.h"
#include "aggregate/dataset/status.h"
#include "aggregate/read/trace_options.h"
#include "aggregate/session/analyze.h"
#include "aggregate/session/analyze_clock.h"
#include "aggregate/session/analyze_order.h"
#include "aggregate/session/page.h"
#include "aggregate/write/text/text.h"
#include "core/base/forked.h"
#include "core/base/partition.h"
#include "core/base/shell_word.h"
#include "core/ring/intern.h"
#include "core/step/step_mark.h"

enum { FILES_NAMED = 3 };

struct parts { /* parts[files] is of the files that were not read */
	struct pp_dataset *part;
	size_t parts;
	size_t unread;
	struct pp_analyze_clocks clocks;
};

/* `why` less the path, which has no room there: the file has its name in the line for the user. */
static int add_missing(struct pp_dataset *d, const struct pp_analyze_file *file)
{
	const char *path = strstr(file->why, file->path), *reason = path ? strstr(path + strlen(file->path), "': ") : NULL;
	char status[sizeof(d->worker->status)];

	if (reason)
		snprintf(status, sizeof(status), PP_STATUS_MISSING "cannot read its file: %.60s", reason + 3);
	else
		snprintf(status, sizeof(status), PP_STATUS_MISSING "%.80s", file->why);
	return pp_dataset_add_missing(d, file->rank, file->glance.host, status);
}

/* Ranks are known only when all files are read. */
static void renumber(struct pp_dataset *d, int32_t from, int32_t to)
{
	struct pp_table table[PP_TABLES];

	pp_dataset_tables(d, table);
	for (int id = 0; id < PP_TABLES; id++)
		for (size_t c = 0; c < table[id].desc->columns; c++) {
			const struct pp_column *column = &table[id].desc->column[c];

			if (id == PP_TABLE_worker || column->type != PP_TYPE_WORKER || !column->count)
				continue;
			for (size_t r = 0; r < table[id].rows; r++) {
				int32_t *rank = pp_column_at(column, &table[id], r);

				*rank = *rank == from ? to : *rank;
			}
		}
	for (size_t w = 0; w < d->workers; w++)
		d->worker[w].rank = d->worker[w].rank == from ? to : d->worker[w].rank;
}

static int read_parts(struct pp_analyze_file *file, size_t files, struct pp_intern *names, struct parts *p, struct pp_err *err)
{
	struct pp_dataset *missing;

	p->part = calloc(files + 1, sizeof(*p->part));
	if (!p->part)
		return pp_err_set(err, -ENOMEM, "cannot merge %zu files: no memory", files);
	for (size_t i = 0; i < files; i++) {
		struct pp_err one = {""};

		if (file[i].block && pp_block_read(file[i].block, file[i].size, names, &p->part[p->parts], &one)) {
			snprintf(file[i].why, sizeof(file[i].why), "cannot analyse '%s': %.900s", file[i].path, one.text);
			free(file[i].block);
			file[i].block = NULL;
		}
		if (file[i].block && file[i].rank != file[i].read_as && p->part[p->parts].workers == 1)
			renumber(&p->part[p->parts], file[i].read_as, file[i].rank);
		p->parts += file[i].block != NULL;
	}
	missing = &p->part[p->parts];
	missing->names = names;
	for (size_t i = 0; i < files; i++)
		if (!file[i].block && add_missing(missing, &file[i]))
			return pp_err_set(err, -ENOMEM, "cannot merge %zu files: no memory", files);
	pp_dataset_sort_workers(missing);
	p->unread = missing->workers;
	return 0;
}

/* Files without a date begin with the earliest of the others; so do all where dates are further apart than times may be. */
static void set_epochs(struct parts *p, const char **ret_warning)
{
	int64_t first = 0, last = 0;

	for (size_t i = 0; i < p->parts; i++) {
		int64_t epoch = p->part[i].epoch_realtime_ns;

		if (epoch && (!first || epoch < first))
			first = epoch;
		if (epoch > last)
			last = epoch;
	}
	for (size_t i = 0; p->part && i <= p->parts; i++)
		if (!p->part[i].epoch_realtime_ns || last - first > PP_TABLE_TIME_MAX / 4)
			p->part[i].epoch_realtime_ns = first;
	*ret_warning = last - first > PP_TABLE_TIME_MAX / 4 ? PP_WARNING_DATES_FAR : NULL;
}

/* Files of one host, and those that share collectives, get one time. Dates that are too far apart are none. */
static int join_clocks(struct parts *p, const char **ret_warning, struct pp_err *err)
{
	uint8_t *date = calloc(p->parts + 1, 1);
	int rc;

	if (!date)
		return pp_err_set(err, -ENOMEM, "cannot merge %zu files: no memory", p->parts);
	for (size_t i = 0; i < p->parts; i++)
		date[i] = p->part[i].epoch_realtime_ns != 0;
	set_epochs(p, ret_warning);
	for (size_t i = 0; i < p->parts && *ret_warning; i++)
		date[i] = 0;
	rc = pp_analyze_clocks_join(p->part, date, p->parts, &p->clocks, err);
	free(date);
	return rc;
}

static int has_step(const struct pp_dataset *d, int64_t number)
{
	size_t low = PP_PARTITION(d->steps, at, d->step[at].number < number);

	return low < d->steps && d->step[low].number == number;
}

/* Is there a step that all parts with steps have? */
static int share_a_step(const struct parts *p)
{
	const struct pp_dataset *first = NULL;

	for (size_t i = 0; i < p->parts && !first; i++)
		if (p->part[i].steps)
			first = &p->part[i];
	for (size_t s = 0; first && s < first->steps; s++) {
		size_t i = 0;

		while (i < p->parts && (!p->part[i].steps || has_step(&p->part[i], first->step[s].number)))
			i++;
		if (i == p->parts)
			return 1;
	}
	return !first;
}

static int is_whole_recording(const struct pp_dataset *d)
{
	return !strcmp(d->step_rule, pp_step_rule_name(PP_STEP_RULE_WINDOW));
}

/* The program marked its steps: neither a pattern nor the recording stands for them. */
static int is_marked(const struct pp_dataset *d)
{
	static const enum pp_step_rule guess[] = {PP_STEP_RULE_RANGE, PP_STEP_RULE_OPTIMIZER, PP_STEP_RULE_PERIOD,
	                                          PP_STEP_RULE_MESSAGES};

	for (size_t i = 0; i < sizeof(guess) / sizeof(guess[0]); i++) {
		const char *name = pp_step_rule_name(guess[i]);
		size_t length = strlen(name);

		if (!strncmp(d->step_rule, name, length) && (!d->step_rule[length] || d->step_rule[length] == ':'))
			return 0;
	}
	return d->steps && !is_whole_recording(d);
}

/* Its note of what its steps are does not hold for the session. */
static void drop_warning(struct pp_dataset *d)
{
	size_t remaining = 0;

	for (size_t i = 0; i < d->warnings; i++)
		if (!strstr(d->warning[i].warning, PP_STEPS_ONE) && !strstr(d->warning[i].warning, PP_STEPS_EXACT))
			d->warning[remaining++] = d->warning[i];
	d->warnings = remaining;
}

/* What is left of a part without steps: its ranks, file, warnings and memory, and pipelines of tf.data, which need none. */
static void drop_steps(struct pp_dataset *d, int is_marked)
{
	const uint64_t remaining = UINT64_C(1) << PP_TABLE_worker | UINT64_C(1) << PP_TABLE_host_clock |
	                           UINT64_C(1) << PP_TABLE_warning | UINT64_C(1) << PP_TABLE_trace_file |
	                           UINT64_C(1) << PP_TABLE_allocator | UINT64_C(1) << PP_TABLE_memory_timeline |
	                           UINT64_C(1) << PP_TABLE_memory_peak;
	struct pp_table table[PP_TABLES];

	for (size_t i = 0; i < d->communicators; i++)
		free(d->communicator[i].member);
	pp_dataset_tables(d, table);
	for (int id = 0; id < PP_TABLES; id++)
		if (id < PP_TABLE_tf_data_pipeline && !(remaining >> id & 1))
			pp_table_release(&table[id]);
	pp_dataset_take_tables(d, table);
	free(d->exposed);
	d->exposed = NULL;
	d->exposeds = 0;
	d->startup_ns = 0;
	for (size_t w = 0; w < d->workers; w++)
		if (!strcmp(d->worker[w].status, PP_STATUS_DELIVERED))
			snprintf(d->worker[w].status, sizeof(d->worker[w].status),
			         is_marked ? PP_STATUS_PARTIAL "its file marks no steps, and others do"
			                   : PP_STATUS_PARTIAL
			                 "the steps of its file are found by another rule than those of others");
}

/* Of the rules by which steps were found, file by file, the one of most files; of equally many the first one. */
static const char *rule_of_most(const struct parts *p)
{
	const char *most = "";
	size_t files = 0;

	for (size_t i = 0; i < p->parts; i++) {
		size_t n = 0;

		for (size_t k = 0; k < p->parts && p->part[i].steps && !is_whole_recording(&p->part[i]); k++)
			n += p->part[k].steps && !strcmp(p->part[k].step_rule, p->part[i].step_rule);
		if (n <= files)
			continue;
		files = n;
		most = p->part[i].step_rule;
	}
	return most;
}

/* As in a live job, ranks that mark no step have none where others mark steps: steps of another rule are others, and the whole
 * recording is no step beside these, and would hide them. Where nothing is marked, one rule holds for all. Returns how many files
 * are left out. A part without steps says nothing of the rule. */
static size_t leave_out_unmarked(struct parts *p, int *ret_marked)
{
	char rule[sizeof(p->part->step_rule)];
	size_t marked = 0, left_out = 0;

	snprintf(rule, sizeof(rule), "%s", rule_of_most(p));
	for (size_t i = 0; i < p->parts; i++)
		marked += is_marked(&p->part[i]);
	*ret_marked = marked > 0;
	for (size_t i = 0; i < p->parts && rule[0]; i++) {
		struct pp_dataset *d = &p->part[i];

		if (marked ? is_marked(d) : d->steps && !strcmp(d->step_rule, rule))
			continue;
		left_out += d->steps > 0;
		if (d->steps)
			drop_steps(d, marked || is_whole_recording(d));
		drop_warning(d);
		d->step_rule[0] = '\0';
	}
	return left_out;
}

/* Gives the part's steps the numbers 0, 1, 2 ...; rows that name a step follow. */
static void number_by_order(struct pp_dataset *d)
{
	struct pp_table table[PP_TABLES];

	pp_dataset_tables(d, table);
	for (int id = 0; id < PP_TABLES; id++)
		for (size_t c = 0; c < table[id].desc->columns; c++) {
			const struct pp_column *column = &table[id].desc->column[c];

			if (id == PP_TABLE_step || strcmp(column->name, "step") != 0 || column->type != PP_TYPE_I64 ||
			    !column->count)
				continue;
			for (size_t r = 0; r < table[id].rows; r++) {
				int64_t *number = pp_column_at(column, &table[id], r);

				for (size_t s = 0; s < d->steps; s++)
					if (d->step[s].number == *number) {
						*number = (int64_t)s;
						break;
					}
			}
		}
	for (size_t s = 0; s < d->steps; s++)
		d->step[s].number = (int64_t)s;
}

/* As many as the files say that the job has: the world of a rank, or a group of ranks. */
static int32_t ranks_of_job(const struct pp_dataset *d, int32_t in_files)
{
	int32_t most = in_files > (int32_t)d->workers ? in_files : (int32_t)d->workers;

	for (size_t i = 0; i < d->communicators; i++) {
		const uint32_t size = d->communicator[i].size;

		if (size > (uint32_t)most && size <= PP_TRACE_RANKS_MOST)
			most = (int32_t)size;
	}
	return most;
}

static int merge_parts(struct parts *p, struct pp_dataset *ret_dataset, struct pp_err *err)
{
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers, one a part */
	const struct pp_dataset **list = calloc(p->parts + 2, sizeof(*list));
	struct pp_dataset merged = {.names = NULL};
	int32_t in_files;
	int rc;

	if (!list)
		return pp_err_set(err, -ENOMEM, "cannot merge %zu files: no memory", p->parts);
	for (size_t i = 0; i <= p->parts; i++)
		list[i] = &p->part[i];
	rc = pp_dataset_merge(list, p->parts + 1, &merged, err);
	/* NOLINTNEXTLINE(bugprone-multi-level-implicit-pointer-conversion): the pointers, not what they point to */
	free(list);
	if (rc)
		return rc;
	in_files = merged.ranks_asked;
	merged.ranks_asked = 0; /* ranks of which there is no file have no row */
	rc = pp_analyze_clocks_set(&p->clocks, &merged, err);
	if (!rc)
		rc = pp_dataset_finish(&merged, err);
	if (rc) {
		pp_dataset_release(&merged);
		return rc;
	}
	merged.ranks_asked = ranks_of_job(&merged, in_files);
	*ret_dataset = merged;
	return 0;
}

static void name_session(const struct pp_dataset *d, const struct pp_analyze_options *o, char *name, size_t size)
{
	time_t when = d->epoch_realtime_ns ? (time_t)((d->epoch_realtime_ns + d->window_begin_ns) / 1000000000) : time(NULL);
	struct tm tm;

	if (*o->session) {
		snprintf(name, size, "%s", o->session);
		return;
	}
	pp_local_time(when, &tm);
	strftime(name, size, "%Y_%m_%d_%H_%M_%S", &tm);
}

/* "32 files, 31 of them read: steps 0..9 of 31 ranks on 31 hosts", where they are, and what was not read. */
static void say(const struct pp_analyze_file *file, size_t files, const struct pp_dataset *d, const struct parts *p,
                const struct pp_message *m, const struct pp_output *out, char *text, size_t size)
{
	char steps[64] = "no complete step", word[PP_SESSION_PATH];
	size_t n, named = 0;

	if (d->steps && strcmp(d->step_rule, pp_step_rule_name(PP_STEP_RULE_WINDOW)) == 0)
		snprintf(steps, sizeof(steps), "the whole recording as one step");
	else if (d->steps)
		pp_text_steps(d, steps, sizeof(steps));
	n = (size_t)snprintf(text, size, "%s of %d rank%s on %zu host%s, from %zu file%s", steps, (int)d->ranks_delivered,
	                     d->ranks_delivered == 1 ? "" : "s", pp_dataset_hosts(d), pp_dataset_hosts(d) == 1 ? "" : "s", p->parts,
	                     p->parts == 1 ? "" : "s");
	if (n < size)
		n += (size_t)snprintf(text + n, size - n, "\n%s/podprof/%s  (podprof report %s)", out->logdir, out->session,
		                      pp_shell_word(out->logdir, word, sizeof(word)));
	if (m->failure[0] && n < size)
		n += (size_t)snprintf(text + n, size - n, "\nit has %s, but not %s: %s", m->there, m->lacking, m->failure);
	for (size_t i = 0; i < files && n < size && named < FILES_NAMED; i++)
		if (!file[i].block && ++named)
			n += (size_t)snprintf(text + n, size - n, "\n%s", file[i].why);
	if (p->unread > named && n < size)
		n += (size_t)snprintf(text + n, size - n, "\n%zu more file%s not read: %s listed as missing", p->unread - named,
		                      p->unread - named == 1 ? " was" : "s were",
		                      p->unread - named == 1 ? "its rank is" : "their ranks are");
	for (size_t i = 0; i < d->trace_files && n < size; i++) {
		const struct pp_row_trace_file *t = &d->trace_file[i];
		const char *damage = pp_intern_text(d->names, t->damage, NULL);

		if (!*damage || named++ >= 2 * FILES_NAMED)
			continue;
		n += (size_t)snprintf(text + n, size - n,
		                      "\n'%s' is damaged at byte %" PRIu64 ": %s. What could be read was analysed",
		                      pp_intern_text(d->names, t->name, NULL), t->damaged_at, damage);
	}
}

static int write_session(const struct pp_analyze_file *file, size_t files, struct pp_dataset *d, const struct parts *p,
                         const struct pp_analyze_options *o, int *ret_damaged, char *text, size_t size, struct pp_err *err)
{
	struct pp_message message = {.session = ""};
	char wanted[128], name[160], directory[PP_SESSION_PATH];
	struct pp_output out = {.dataset = d, .logdir = o->logdir, .session = name};
	struct pp_err page = {""};
	int pod = 0, rc;

	name_session(d, o, wanted, sizeof(wanted));
	rc = pp_files_claim(o->logdir, wanted, name, sizeof(name), err);
	if (rc)
		return rc;
	snprintf(d->session, sizeof(d->session), "%.63s", name);
	rc = pp_files_write(&out, PP_WRITER_OF_JOB, &message, &pod, err);
	if (rc) {
		pp_files_unclaim(&out);
		return rc;
	}
	if (pod) {
		snprintf(directory, sizeof(directory), "%s/podprof/%s", o->logdir, name);
		rc = pp_session_page(directory, d, NULL, &page);
		pp_message_file(&message, "report.html", rc, page.text);
	}
	if (o->ret_directory)
		snprintf(o->ret_directory, PP_SESSION_PATH, "%s/podprof/%s", o->logdir, name);
	*ret_damaged += message.failure[0] != 0;
	say(file, files, d, p, &message, &out, text, size);
	return 0;
}

static void warn_untimed(struct pp_dataset *d)
{
	uint64_t n = 0;

	for (size_t i = 0; i < d->trace_files; i++)
		n += d->trace_file[i].untimed;
	if (n)
		pp_dataset_warn(d, "%" PRIu64 " event%s no valid time in the files, and %s left out", n, n == 1 ? " has" : "s have",
		                n == 1 ? "is" : "are");
}

int pp_analyze_write(struct pp_analyze_file *file, size_t files, const struct pp_analyze_options *o, const char *const *warning,
                     int *ret_damaged, char *text, size_t size, struct pp_err *err)
{
	struct pp_intern *names = pp_intern_new();
	struct parts p = {.part = NULL};
	struct pp_dataset d = {.names = NULL};
	const char *dates = NULL;
	int rc = names ? read_parts(file, files, names, &p, err)
	               : pp_err_set(err, -ENOMEM, "cannot merge %zu files: no memory", files);
	int renumbered = 0, marked = 0;
	size_t left_out = 0, ordered = 0;

	if (!rc && !p.parts)
		rc = pp_err_set(err, -ENODATA, "%s", file[0].why);
	if (!rc && pp_analyze_order_join(p.part, p.parts, &ordered))
		rc = pp_err_set(err, -ENOMEM, "cannot merge %zu files: no memory", files);
	if (!rc)
		rc = join_clocks(&p, &dates, err);
	if (!rc) {
		left_out = leave_out_unmarked(&p, &marked);
		renumbered = !share_a_step(&p);
		for (size_t i = 0; renumbered && i < p.parts; i++)
			number_by_order(&p.part[i]);
		rc = merge_parts(&p, &d, err);
	}
	if (!rc) {
		if (dates)
			pp_dataset_warn(&d, "%s", dates);
		if (left_out)
			pp_dataset_warn(&d, "%zu file%s no steps%s and others do: 'podprof analyze' of %s alone shows what it has",
			                left_out, left_out == 1 ? (marked ? " marks" : " has") : (marked ? "s mark" : "s have"),
			                marked ? "" : " by the rule of the job", left_out == 1 ? "it" : "each");
		if (ordered)
			pp_dataset_warn(&d,
			                "collectives of %zu group%s have no number in the files: all ranks have as many and "
			                "alike, and are joined in their order",
			                ordered, ordered == 1 ? "" : "s");
		if (renumbered)
			pp_dataset_warn(&d,
			                "no step number is in all files: each file's steps are numbered from 0, in their order");
		pp_analyze_clocks_warn(&p.clocks, &d);
		warn_untimed(&d);
		for (size_t i = 0; warning && warning[i]; i++)
			pp_dataset_warn(&d, "%s", warning[i]);
		snprintf(d.job, sizeof(d.job), "%s", o->job);
		snprintf(d.command, sizeof(d.command), "%s", o->job); /* the first word of the summary */
		pp_files_cost(&d, 1);
		pp_files_tools(&d);
		for (size_t i = 0; i < d.trace_files; i++)
			*ret_damaged += d.trace_file[i].damage != 0;
		rc = write_session(file, files, &d, &p, o, ret_damaged, text, size, err);
		pp_dataset_release(&d);
	}
	for (size_t i = 0; p.part && i <= p.parts; i++)
		pp_dataset_release(&p.part[i]);
	free(p.part);
	pp_analyze_clocks_release(&p.clocks);
	pp_intern_free(names);
	return rc;
}
