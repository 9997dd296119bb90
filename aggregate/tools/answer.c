/* Makes the sentences of a session's answer; see answer.h. */
#include "aggregate/tools/answer.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "aggregate/analyze/coverage.h"
#include "aggregate/dataset/dataset.h"
#include "aggregate/dataset/status.h"
#include "aggregate/dataset/table/word.h"
#include "aggregate/tools/finding_word.h"
#include "aggregate/tools/recommend.h"
#include "aggregate/tools/sums.h"
#include "aggregate/tools/tf_data_text.h"
#include "aggregate/tools/usual_step.h"
#include "core/base/known.h"
#include "core/base/level.h"
#include "core/base/shell_word.h"
#include "core/base/units.h"
#include "core/base/utf8.h"
#include "core/ring/intern.h"
#include "core/step/step_name.h"

enum {
	MOST_STATUSES = 2,
	LARGE_CLOCK_PERCENT = 1,
	LARGE_OF_WAIT_PERCENT = 10,
	LARGE_DEFAULT_PERCENT = 5,
	ERROR_PART = 100,
	ROOM = 1024
};

static const char *const loss_what[] = {
#define PP_LOSS(symbol, column, what) what,
#include "core/ring/loss.def"
#undef PP_LOSS
};

/* The iterator that the slowest call of tf.data waited for. 0: tf.data is not known to be the cause. */
static int say_tf_data(const struct pp_dataset *d, const struct pp_sums *s, int32_t rank, const char *session, char *text,
                       size_t size)
{
	const struct pp_row_tf_data_pipeline *p = pp_tf_data_cause(d, s, rank);
	const char *type = p ? pp_intern_text(d->names, p->type, NULL) : "";
	char on[32] = "";

	if (p && d->workers > 1)
		snprintf(on, sizeof(on), " on rank %" PRId32, p->worker);
	if (p)
		snprintf(text, size, "%.*s of tf.data%s: %s: podprof report --table tf_data_pipeline %s", pp_utf8_fit(type, 40),
		         type, on, pp_intern_text(d->names, p->advice, NULL), session);
	return p != NULL;
}

/* One rank delays the others: what to compare. */
static void after_rank(const struct pp_dataset *d, const struct pp_sums *s, const struct pp_row_finding *f, const char *session,
                       char *text, size_t size)
{
	const int32_t rank = f->finding_worker;
	const int category = (uint8_t)f->finding_reason;
	char marked[48] = "these ranks do";

	if (pp_recommend_rank(d, rank, category, session, text, size))
		return;
	switch (category) {
	case PP_CATEGORY_INPUT:
		if (say_tf_data(d, s, rank, session, text, size))
			break;
		snprintf(text, size,
		         "compare the input files, the shard and the data-loader workers of rank %" PRId32 " with another rank's",
		         rank);
		break;
	case PP_CATEGORY_OUTPUT:
		snprintf(text, size, "compare what rank %" PRId32 " writes, and where, with another rank", rank);
		break;
	case PP_CATEGORY_OTHER:
		if (f->finding_ranks == 1)
			snprintf(marked, sizeof(marked), "rank %" PRId32 " does", rank);
		snprintf(text, size, "mark what %s in this time (podprof.h, NVTX or podprof.range()), and record again", marked);
		break;
	default:
		if (d->trace_files) {
			snprintf(text, size,
			         "compare the operators of rank %" PRId32 " with another rank's: podprof report --table op %s",
			         rank, session);
			break;
		}
		snprintf(text, size, "compare the ranges of rank %" PRId32 " with another rank's in the timeline: podprof view %s",
		         rank, session);
	}
}

/* Is most of the time of input operations of that kind? */
static int mostly_is(const struct pp_dataset *d, int category)
{
	const struct pp_row_input_stage *most = NULL;

	for (size_t i = 0; i < d->input_stages; i++)
		if (d->input_stage[i].worker < 0 && (!most || d->input_stage[i].self_ns > most->self_ns))
			most = &d->input_stage[i];
	return most && most->category == category;
}

/* No rank delays the others: what is worth shortening, or naming. */
static void after_largest(const struct pp_dataset *d, const struct pp_sums *s, int category, const char *session, char *text,
                          size_t size)
{
	if (pp_recommend_largest(d, s, category, session, text, size))
		return;
	switch (category) {
	case PP_CATEGORY_INPUT:
		if (say_tf_data(d, s, -1, session, text, size))
			break;
		snprintf(text, size, "%s, or make a batch cheaper to load",
		         mostly_is(d, PP_INPUT_ON_DEMAND)
		                 ? "read batches ahead, in workers of the data loader: now the step itself reads them"
		         : mostly_is(d, PP_INPUT_IN_ADVANCE)
		                 ? "the data loader is slower than the rest of the step: use more of its workers"
		                 : "input comes later than the step needs it: read further ahead, with more threads or processes");
		break;
	case PP_CATEGORY_OUTPUT:
		snprintf(text, size, "write less often, or while the next step computes");
		break;
	case PP_CATEGORY_HOST_COMMUNICATION:
		snprintf(text, size, "list the collectives that took longest: podprof report --table collective %s", session);
		break;
	case PP_CATEGORY_OTHER:
		snprintf(text, size, "mark what the ranks do in this time (podprof.h, NVTX or podprof.range()), and record again");
		break;
	case PP_REASON_BETWEEN_STEPS:
		snprintf(text, size, "see in the timeline what happens between the steps: podprof view %s", session);
		break;
	default:
		if (d->trace_files)
			snprintf(text, size, "list the operators with most self time: podprof report --table op %s", session);
		else
			snprintf(text, size, "find the longest ranges of a step in the timeline: podprof view %s", session);
	}
}

static void say_next(const struct pp_dataset *d, const struct pp_sums *s, const struct pp_row_finding *f, const char *session,
                     char *text, size_t size)
{
	if (!f) {
		snprintf(text, size,
		         d->steps ? "read what that podprof found: podprof report %s"
		                  : "see why the ranks have no complete step: podprof report --table worker %s",
		         session);
		return;
	}
	switch (f->kind) {
	case PP_FINDING_PERSISTENT:
	case PP_FINDING_SUDDEN:
	case PP_FINDING_GROWING:
		after_rank(d, s, f, session, text, size);
		break;
	case PP_FINDING_NOISE:
	case PP_FINDING_PROGRESS:
		snprintf(text, size, "%s", f->finding_next);
		break;
	case PP_FINDING_LINK:
		snprintf(text, size, "%s: podprof report --table channel %s", f->finding_next, session);
		break;
	case PP_FINDING_UNSPLIT:
		if (f->finding_reason == PP_CATEGORY_DEVICE_COLLECTIVE)
			after_largest(d, s, f->finding_reason, session, text, size);
		else if (strstr(f->finding, "point-to-point"))
			snprintf(text, size, "list the messages by sender and receiver: podprof report --table channel %s",
			         session);
		else
			snprintf(text, size, "list the operations by their time: podprof report --table budget %s", session);
		break;
	case PP_FINDING_NOT_RECORDED:
		snprintf(text, size,
		         "run the job with an MPI that 'podprof doctor' names, or mark communication by podprof_range_push_as()");
		break;
	case PP_FINDING_INPUT:
	case PP_FINDING_OUTPUT:
	case PP_FINDING_CATEGORY:
		after_largest(d, s, f->finding_reason, session, text, size);
		break;
	default:
		snprintf(text, size, "%s: podprof view %s", f->finding_next, session);
	}
}

static int is_killed(const struct pp_row_worker *w, const void *none)
{
	(void)none;
	return !strncmp(w->status, PP_STATUS_KILLED, strlen(PP_STATUS_KILLED));
}

/* The rank that explains most: a launcher may send SIGKILL to the others where one crashes or calls MPI_Abort. NULL: none was
 * killed. */
static const struct pp_row_worker *to_blame(const struct pp_dataset *d)
{
	const struct pp_row_worker *aborted = NULL, *killed = NULL;

	for (size_t w = 0; w < d->workers; w++) {
		const struct pp_row_worker *one = &d->worker[w];

		if (is_killed(one, NULL) && !strstr(one->status, "SIGKILL"))
			return one;
		if (!killed && is_killed(one, NULL))
			killed = one;
		if (!aborted && !strcmp(one->status, PP_STATUS_ABORTED))
			aborted = one;
	}
	return killed && aborted ? aborted : killed;
}

/* A killed rank comes before all advice on speed. Returns the length. */
static size_t say_killed(const struct pp_dataset *d, char *text, size_t size)
{
	const struct pp_row_worker *one = to_blame(d);
	char ranks[96];
	int length;

	if (!one)
		return 0;
	if (!is_killed(one, NULL))
		length = snprintf(text, size, "find out why rank %d called MPI_Abort: see its stderr. Then ", one->rank);
	else if (!strstr(one->status, "SIGKILL"))
		length = snprintf(text, size, "find out why rank %d died: see its stderr and its core dump. Then ", one->rank);
	else if (pp_dataset_list_ranks(d, is_killed, NULL, ", ", ranks, sizeof(ranks)) > 1)
		length = snprintf(text, size,
		                  "find out why %s were killed: some launchers kill all ranks after one fails, which stderr shows; "
		                  "'dmesg' on host %s tells if memory ran out. Then ",
		                  ranks, one->host);
	else
		length = snprintf(text, size, "find out why rank %d was killed: 'dmesg' on host %s tells if memory ran out. Then ",
		                  one->rank, one->host);
	return length > 0 && (size_t)length < size ? (size_t)length : 0;
}

/* Who waits because of the ranks that the first finding names. */
static void say_straggler(const struct pp_row_finding *f, struct pp_answer *a)
{
	char wait[PP_TEXT_UNIT], error[PP_TEXT_UNIT];

	a->straggler_rank = -1;
	if (!f || !pp_finding_names_ranks(f) || !f->waiters)
		return;
	a->straggler_rank = f->finding_worker;
	a->straggler_ns = (int64_t)((double)f->finding_wait_ns * f->waiters * f->of_steps);
	pp_text_time(wait, f->finding_wait_ns);
	snprintf(a->straggler, sizeof(a->straggler), "%s. %" PRIu32 " other %s %s because of %s in %s step", f->who, f->waiters,
	         f->waiters == 1 ? "rank waits" : "ranks wait", wait, f->finding_ranks == 1 ? "it" : "them",
	         f->of_steps > 1 ? "a usual" : "the");
	if (pp_is_known(f->finding_error_ns) && f->finding_error_ns > f->finding_wait_ns / ERROR_PART)
		snprintf(a->straggler + strlen(a->straggler), sizeof(a->straggler) - strlen(a->straggler),
		         ". The clocks may change that by up to %s", pp_text_time(error, f->finding_error_ns));
}

/* How the level of the steps' times goes, if not steadily. */
static const char *say_course(const struct pp_dataset *d, const struct pp_usual_steps *u, char *text, size_t size)
{
	char before[PP_TEXT_UNIT], level[PP_TEXT_UNIT];

	pp_text_time(before, llrint(u->course.before));
	pp_text_time(level, llrint(u->course.level));
	text[0] = '\0';
	if (u->course.course == PP_COURSE_SUDDEN)
		snprintf(text, size, "; %s before step %" PRId64, before, d->step[u->course.onset].number);
	else if (u->course.course == PP_COURSE_GROWING)
		snprintf(text, size, "; from %s to %s", before, level);
	return text;
}

static void say_step(const struct pp_dataset *d, const struct pp_usual_steps *u, struct pp_answer *a)
{
	const char *whose = d->workers > 1 ? "slowest rank, " : "";
	const char *kind = pp_step_kind_name(pp_usual_steps_kind(d));
	char median[PP_TEXT_UNIT], spread[PP_TEXT_UNIT], course[96];

	a->usual_steps = u->usuals;
	a->usual_ns = llrint(u->usual_ns);
	a->spread_ns = llrint(u->spread_ns);
	pp_text_time(median, a->usual_ns);
	pp_text_time(spread, a->spread_ns);
	if (d->steps == 1)
		snprintf(a->step, sizeof(a->step), "%s (%sone step)", median, whose);
	else if (d->steps)
		snprintf(a->step, sizeof(a->step), "%s (%smedian of %zu%s%s%s steps; half IQR %s)%s", median, whose, u->usuals,
		         u->usuals < d->steps ? " usual" : "", kind[0] ? " " : "", kind, spread,
		         say_course(d, u, course, sizeof(course)));
}

/* An estimate: "; in the ranks about 2.52 us per step (210 records of 12 ns, 0.03 % of it)". */
static void say_recording(const struct pp_dataset *d, const struct pp_sums *s, char *text, size_t size)
{
	struct pp_recording r = pp_sums_recording(d, s);
	char each[PP_TEXT_UNIT], all[PP_TEXT_UNIT], share[24] = "below 0.01";

	text[0] = '\0';
	if (r.ns <= 0)
		return;
	pp_text_time(all, llround(r.ns));
	pp_text_time(each, llround(r.record_ns));
	if (r.percent >= 0.01)
		snprintf(share, sizeof(share), "%.2f", r.percent);
	snprintf(text, size, "; in the ranks about %s per step (%.*f records of %s, %s %% of it)", all, r.records < 10, r.records,
	         each, share);
}

/* The keeper runs as long as the job: its share of a window's time says nothing, its share of a whole run does. */
static void say_overhead(const struct pp_dataset *d, const struct pp_sums *s, struct pp_answer *a)
{
	int64_t run_ns = d->window_end_ns - d->window_begin_ns;
	char cpu[PP_TEXT_UNIT], kept[PP_COVERAGE_TEXT];
	int whole = !pp_coverage_text(d, kept, sizeof(kept)) && !strcmp(pp_coverage_base(d), "the run") && run_ns >= 1000000000;

	pp_text_time(cpu, d->keeper_cpu_ns);
	if (d->trace_files)
		snprintf(a->overhead, sizeof(a->overhead), "unknown for the job. This analysis took %s of CPU time", cpu);
	else if (whole)
		snprintf(a->overhead, sizeof(a->overhead), "keeper %s CPU (%.1f %% of one core over the run)", cpu,
		         pp_sums_percent(d->keeper_cpu_ns, run_ns));
	else
		snprintf(a->overhead, sizeof(a->overhead), "keeper %s CPU since the job began", cpu);
	say_recording(d, s, a->overhead + strlen(a->overhead), sizeof(a->overhead) - strlen(a->overhead));
}

/* As recorded on the rank with most steps of the highest level. */
static void say_level(const struct pp_dataset *d, const struct pp_sums *s, struct pp_answer *a)
{
	const struct pp_row_worker *w = NULL;
	size_t steps = 0, n;

	for (size_t i = 0; i < d->workers; i++)
		if (!w || d->worker[i].level > w->level ||
		    (d->worker[i].level == w->level && d->worker[i].level_steps > w->level_steps)) {
			w = &d->worker[i];
			steps = (size_t)s->worker_steps[i];
		}
	a->level[0] = '\0';
	if (!w || !w->level || !steps)
		return;
	if (w->level == PP_LEVEL_STEPS) {
		snprintf(a->level, sizeof(a->level), "steps (--level): operators were not recorded");
		return;
	}
	if (w->level == PP_LEVEL_PYTHON)
		snprintf(a->level, sizeof(a->level), "python (--level): calls of Python functions were recorded, too");
	n = strlen(a->level);
	if ((size_t)w->level_steps < steps)
		snprintf(a->level + n, sizeof(a->level) - n, "%s in %d of %zu steps; the tables of operators are of these",
		         n ? "," : "operators were recorded", (int)w->level_steps, steps);
}

/* The next qualifier; the last that fit are kept, the rest is counted. */
static void __attribute__((format(printf, 2, 3))) qualify(struct pp_answer *a, const char *fmt, ...)
{
	va_list arguments;

	if (a->qualifiers == PP_QUALIFIERS) {
		a->more++;
		return;
	}
	va_start(arguments, fmt);
	vsnprintf(a->qualifier[a->qualifiers++], PP_QUALIFIER_TEXT, fmt, arguments);
	va_end(arguments);
}

static void qualify_ranks(const struct pp_dataset *d, struct pp_answer *a)
{
	int (*const sentence[])(const struct pp_dataset *d, size_t n, char *text, size_t size) = {pp_status_sentence,
	                                                                                          pp_status_missing};
	char text[PP_QUALIFIER_TEXT] = "";

	for (size_t i = 0; i < sizeof(sentence) / sizeof(sentence[0]); i++) {
		for (size_t n = 0; n < MOST_STATUSES && sentence[i](d, n, text, sizeof(text)); n++)
			qualify(a, "%s", text);
		if (sentence[i](d, MOST_STATUSES, text, sizeof(text)))
			qualify(a, "more ranks are %s: podprof report --table worker %s", i ? "missing" : "incomplete", a->session);
	}
}

/* Evicted records are older than what the session holds: they say how much of the run it holds. */
static void qualify_losses(const struct pp_dataset *d, struct pp_answer *a)
{
	uint64_t lost = 0, records = 0, by[PP_LOSSES] = {0};
	size_t ranks = 0, worst = 0;
	char x[PP_TEXT_UNIT], y[PP_TEXT_UNIT], kept[PP_COVERAGE_TEXT];

	for (size_t w = 0; w < d->workers; w++) {
		uint64_t of_rank = 0;

		for (size_t c = 0; c < PP_LOSSES; c++) {
			by[c] += d->worker[w].dropped[c];
			of_rank += c == PP_LOSS_EVICTED ? 0 : d->worker[w].dropped[c];
		}
		lost += of_rank;
		ranks += of_rank > 0;
		records += d->worker[w].records;
	}
	for (size_t c = 0; c < PP_LOSSES; c++)
		if (c != PP_LOSS_EVICTED && (worst == PP_LOSS_EVICTED || by[c] > by[worst]))
			worst = c;
	if (lost)
		qualify(a, "%s records lost on %zu of %zu ranks (%s recorded)%s: %s", pp_text_count(x, lost), ranks, d->workers,
		        pp_text_count(y, records), by[worst] == lost ? "" : ", mostly", loss_what[worst]);
	if (by[PP_LOSS_EVICTED] && pp_coverage_text(d, kept, sizeof(kept)))
		qualify(a, "the session holds only the last %s: %s older records were dropped", kept,
		        pp_text_count(x, by[PP_LOSS_EVICTED]));
}

static void qualify_clock(const struct pp_dataset *d, const struct pp_sums *s, struct pp_answer *a)
{
	int32_t domains = pp_dataset_domains(d);
	const int64_t wait = s->cells ? pp_known_or(s->wait_ns, 0) / s->cells : 0;
	char error[PP_TEXT_UNIT], calls[PP_TEXT_UNIT];

	if (domains > 1 && d->uncompared)
		qualify(a, "%d groups of ranks have no common clock: whether %s calls waited for another group is unknown",
		        (int)domains, pp_text_count(calls, d->uncompared));
	else if (domains > 1)
		qualify(a, "%d groups of ranks have no common clock: waiting between them is %s", (int)domains,
		        d->device_between_clocks ? "reported only where lengths of kernels tell it" : "unknown");
	if (d->workers < 2 || s->median_ns <= 0)
		return;
	if (pp_sums_percent(d->pair_bound_ns, s->median_ns) > LARGE_CLOCK_PERCENT ||
	    pp_sums_percent(d->pair_bound_ns, wait) > LARGE_OF_WAIT_PERCENT)
		qualify(a, "clock error between ranks <= %s, %.0f %% of the step time: smaller waits are not attributed to a rank",
		        pp_text_time(error, d->pair_bound_ns), pp_sums_percent(d->pair_bound_ns, s->median_ns));
}

static void qualify_collectives(const struct pp_dataset *d, struct pp_answer *a)
{
	uint64_t unmatched = d->unsplit + d->doubled + d->mixed, calls = d->c10d.unannotated;

	if (unmatched)
		qualify(a, "%" PRIu64 " collectives could not be matched across ranks: their waiting is not counted", unmatched);
	if (calls)
		qualify(a,
		        "%" PRIu64 " of %" PRIu64 " calls of torch.distributed could not be matched across ranks: their waiting is "
		        "not counted",
		        calls, d->c10d.calls);
	if (d->violations)
		qualify(a, "%" PRIu64 " collectives end before their last arrival: the clock error is larger than stated",
		        d->violations);
	if (d->causality.violated)
		qualify(a,
		        "%" PRIu64 " of %" PRIu64
		        " exits from collectives precede a needed arrival by more than the clock error, which is too small there",
		        d->causality.violated, d->causality.pairs);
}

/* Ranks that share cores lose them to each other: the scheduler of the operating system decides who is late. */
static void qualify_cores(const struct pp_dataset *d, struct pp_answer *a)
{
	size_t hosts = 0, worst = 0, most = 0;

	for (size_t w = 0; w < d->workers; w++) {
		const struct pp_row_worker *one = &d->worker[w];
		size_t ranks = 0, before = 0;

		if (w && !strcmp(one->host, d->worker[w - 1].host)) /* ranks of a host mostly follow each other */
			continue;
		for (size_t i = 0; i < d->workers && one->host_cores > 0; i++) {
			if (strcmp(d->worker[i].host, one->host) != 0)
				continue;
			before += i < w;
			ranks++;
		}
		if (before || ranks <= (size_t)(one->host_cores > 0 ? one->host_cores : INT32_MAX))
			continue;
		hosts++;
		if (ranks > most) {
			most = ranks;
			worst = w;
		}
	}
	if (hosts == 1)
		qualify(a, "%zu ranks share %d core%s on host %s: ranks may be late only because they lack a core", most,
		        d->worker[worst].host_cores, d->worker[worst].host_cores == 1 ? "" : "s", d->worker[worst].host);
	else if (hosts)
		qualify(a,
		        "%zu hosts have more ranks than cores (%zu ranks on %d cores on host %s): ranks may be late only because "
		        "they lack a core",
		        hosts, most, d->worker[worst].host_cores, d->worker[worst].host);
}

static void qualify_steps(const struct pp_dataset *d, const struct pp_sums *s, struct pp_answer *a)
{
	int64_t unknown = 0;

	if (d->steps && d->step_confidence < 0.95 && strncmp(d->step_rule, "window", 6) != 0)
		qualify(a, "the steps are guessed by rule '%s' (confidence %.2f)", d->step_rule, d->step_confidence);
	for (size_t i = 0; i < d->unclassifieds; i++)
		unknown += d->unclassified[i].unclassified_ns;
	if (s->all_ns > 0 && pp_sums_percent(unknown, s->all_ns) >= LARGE_DEFAULT_PERCENT)
		qualify(a, "%.0f %% of step time is in ranges of unknown category, counted as Host compute",
		        pp_sums_percent(unknown, s->all_ns));
}

/* Where the command of a sentence begins; 0: it has none. */
static size_t command_in(const char *text)
{
	static const char *const begin[] = {": podprof ", ": mpirun "};

	for (size_t i = 0; i < sizeof(begin) / sizeof(begin[0]); i++) {
		const char *found = strstr(text, begin[i]);

		if (found)
			return (size_t)(found - text) + 2;
	}
	return 0;
}

/* The session's directory, as commands name it. */
static void say_where(const struct pp_dataset *d, const char *logdir, char *session, size_t size)
{
	char path[ROOM];
	int length = snprintf(path, sizeof(path), "%s/podprof/%s", logdir ? logdir : "LOGDIR", d->session);

	if (length < 0 || (size_t)length >= sizeof(path) || !*pp_shell_word(path, session, size))
		snprintf(session, size, "LOGDIR/podprof/SESSION");
}

/* What limits the job; of a session that an older podprof made, its summary says it. */
static void say_bottleneck(const struct pp_dataset *d, const struct pp_row_finding *f, struct pp_answer *a)
{
	if (f)
		snprintf(a->bottleneck, sizeof(a->bottleneck), "%s", f->finding);
	else if (d->steps)
		snprintf(a->bottleneck, sizeof(a->bottleneck),
		         "unknown: an older podprof made this session. Its summary.txt has the answer");
	else
		snprintf(a->bottleneck, sizeof(a->bottleneck), "unknown: no complete step was recorded");
	for (size_t i = 1; i < d->findings; i++) {
		/* what the step consists of, if something else limits it, answers nothing */
		if (d->finding[i].kind == PP_FINDING_CATEGORY)
			continue;
		if (a->alsos < PP_ALSOS)
			a->also[a->alsos++] = &d->finding[i];
		else
			a->more_findings++;
	}
}

int pp_answer_of(const struct pp_dataset *d, const struct pp_sums *s, const char *logdir, struct pp_answer *ret_answer)
{
	const struct pp_row_finding *f = d->findings ? d->finding : NULL;
	struct pp_answer *a = ret_answer;
	struct pp_usual_steps usual;
	size_t at;

	*a = (struct pp_answer){.finding = f, .gain_rank = -1};
	if (pp_usual_steps_find(d, &usual)) {
		pp_usual_steps_release(&usual);
		return -ENOMEM;
	}
	say_where(d, logdir, a->session, sizeof(a->session));
	say_bottleneck(d, f, a);
	if (f && pp_finding_names_ranks(f) && f->finding_ranks == 1 && f->finding_gain_ns > 0) {
		a->gain_rank = f->finding_worker;
		a->gain_ns = f->finding_gain_ns;
	}
	qualify_ranks(d, a);
	qualify_losses(d, a);
	qualify_clock(d, s, a);
	qualify_collectives(d, a);
	qualify_cores(d, a);
	qualify_steps(d, s, a);
	pp_pod_lines_of(d, f, &a->pod);
	say_straggler(f, a);
	at = say_killed(d, a->next, sizeof(a->next));
	say_next(d, s, f, a->session, a->next + at, sizeof(a->next) - at);
	a->command = command_in(a->next);
	say_step(d, &usual, a);
	say_level(d, s, a);
	say_overhead(d, s, a);
	pp_usual_steps_release(&usual);
	return 0;
}
