/* Writes two lines for a clean run, a third for problems; two where a file is missing. Called by session.c. */
#include "aggregate/session/message.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "aggregate/analyze/coverage.h"
#include "aggregate/dataset/status.h"
#include "aggregate/write/text/text.h"
#include "core/base/plain.h"
#include "core/base/shell_word.h"
#include "core/base/units.h"
#include "core/base/utf8.h"
#include "core/ring/intern.h"

enum { RANKS_NAMED = 6, REASONS_NAMED = 2, PLACES_NAMED = 2 };

static void add(char *to, size_t size, const char *between, const char *fmt, ...) __attribute__((format(printf, 4, 5)));

static void add(char *to, size_t size, const char *between, const char *fmt, ...)
{
	size_t n = strlen(to);
	va_list args;

	if (n && n + strlen(between) < size) {
		memcpy(to + n, between, strlen(between) + 1);
		n += strlen(between);
	}
	va_start(args, fmt);
	vsnprintf(to + n, size - n, fmt, args);
	va_end(args);
	pp_plain(to + n, ""); /* newlines are added between them */
}

void pp_message_copy(char *to, size_t size, const char *from)
{
	if (to && size) {
		snprintf(to, size, "%s", from);
		pp_plain(to, "");
	}
}

const char *pp_message_cure(int code)
{
	switch (-code) {
	case ENOSPC:
	case EDQUOT:
		return "Free space, or use -o";
	case EFBIG:
		return "Raise the limit on file sizes (ulimit -f)";
	case EMFILE:
	case ENFILE:
		return "Raise the limit on open files (ulimit -n)";
	case EACCES:
	case EPERM:
	case EROFS:
		return "Make it writable, or use -o";
	case ENOTDIR:
	case ENAMETOOLONG:
		return "Use another directory for -o";
	case ENOMEM:
		return "Leave more memory to podprof on this host";
	default:
		return "Look at the disk of -o and the memory of this host";
	}
}

void pp_message_file(struct pp_message *m, const char *file, int code, const char *sentence)
{
	add(code ? m->lacking : m->there, sizeof(m->there), ", ", "%s", file);
	if (code && !m->failure[0])
		snprintf(m->failure, sizeof(m->failure), "%s. %s", sentence, pp_message_cure(code));
	m->code = m->code ? m->code : code;
}

void pp_message_moved(struct pp_message *m, const char *to, const char *why)
{
	char host[72] = "this node";

	gethostname(host, sizeof(host) - 1);
	snprintf(m->moved, sizeof(m->moved), "%s", to);
	pp_message_add(m, "the session is in '%s' of %s: %.480s", to, host, why);
}

/* One clock needs no line. */
static void say_clocks(struct pp_message *m, const struct pp_dataset *d)
{
	size_t unjoined = 0, compared = 0;
	char bound[PP_TEXT_UNIT];

	for (size_t i = 0; i < d->host_clocks; i++) {
		unjoined += d->host_clock[i].host_bound_ns == PP_BOUND_UNKNOWN;
		compared += d->host_clock[i].host_bound_ns > 0 && d->host_clock[i].host_bound_ns != PP_BOUND_UNKNOWN;
	}
	pp_text_time(bound, d->pair_bound_ns);
	if (compared && unjoined)
		add(m->head, sizeof(m->head), ", ", "clock error <= %s on %zu of them", bound, d->host_clocks - unjoined);
	else if (compared)
		add(m->head, sizeof(m->head), ", ", "clock error <= %s", bound);
	else if (unjoined)
		add(m->head, sizeof(m->head), ", ", "clocks of %zu of them not compared", unjoined);
}

/* Numbers are the dataset's: a window of time may have other complete steps on this host than on all. */
static void say_head(struct pp_message *m, const struct pp_dataset *d, const struct pp_steps *steps)
{
	const char *whole = pp_coverage_base(d);
	char coverage[PP_COVERAGE_TEXT];

	pp_coverage_text(d, coverage, sizeof(coverage));
	if (!d->steps)
		snprintf(m->what, sizeof(m->what), "no complete step");
	else if (steps->rule == PP_STEP_RULE_WINDOW && coverage[0])
		snprintf(m->what, sizeof(m->what), "the last %s as one step", coverage);
	else if (steps->rule == PP_STEP_RULE_WINDOW)
		snprintf(m->what, sizeof(m->what), "%s as one step", strcmp(whole, "the run") ? whole : "the whole run");
	else
		pp_text_steps(d, m->what, sizeof(m->what));
	if (coverage[0] && (!d->steps || steps->rule != PP_STEP_RULE_WINDOW))
		add(m->what, sizeof(m->what), " ", "(%s kept)", coverage);
	m->delivered = d->ranks_delivered;
	m->asked = d->ranks_asked;
	m->hosts = pp_dataset_hosts(d);
	m->hosts += !m->hosts;
	snprintf(m->head, sizeof(m->head), "%s captured on %d of %d rank%s, %zu host%s", m->what, m->delivered, m->asked,
	         m->asked == 1 ? "" : "s", m->hosts, m->hosts == 1 ? "" : "s");
	say_clocks(m, d);
}

/* "3 ranks missing: rank 1, 4, 5", a sentence for each reason why ranks are not whole, and where such ranks ended. */
static void say_ranks(struct pp_message *m, const struct pp_dataset *d)
{
	char list[200] = "", place[384];
	int count = 0;

	for (size_t i = 0; i < d->workers; i++)
		if (pp_worker_is_missing(&d->worker[i]) && count++ < RANKS_NAMED)
			add(list, sizeof(list), ", ", "%d", (int)d->worker[i].rank);
	if (count)
		add(m->must_know, sizeof(m->must_know), "; ", "%d rank%s missing: rank %s%s", count, count == 1 ? "" : "s", list,
		    count > RANKS_NAMED ? " and others" : "");
	if (count && d->rendezvous[0] && strncmp(d->rendezvous, "invited ", 8) != 0)
		add(m->must_know, sizeof(m->must_know), "; ", "%s", d->rendezvous);
	for (size_t n = 0; n < REASONS_NAMED && pp_status_sentence(d, n, list, sizeof(list)); n++)
		add(m->must_know, sizeof(m->must_know), "; ", "%s", list);
	for (size_t n = 0; n < PLACES_NAMED && pp_status_place(d, n, place, sizeof(place)); n++)
		add(m->must_know, sizeof(m->must_know), "; ", "%s", place);
}

/* The number of records is unknown: ranks are counted. */
static void say_cut(struct pp_message *m, const struct pp_dataset *d)
{
	char list[200] = "";
	int count = 0;

	for (size_t i = 0; i < d->workers; i++)
		if (d->worker[i].dropped[PP_LOSS_RING_CUT] && count++ < RANKS_NAMED)
			add(list, sizeof(list), ", ", "%d", (int)d->worker[i].rank);
	if (count)
		add(m->must_know, sizeof(m->must_know), "; ",
		    "the ring file of rank %s%s was truncated while it recorded: later records are lost", list,
		    count > RANKS_NAMED ? " and others" : "");
}

/* Steps that a rank lacks between others. Why its steps end is in its status. */
static void say_holes(struct pp_message *m, const struct pp_dataset *d)
{
	size_t holes = 0, step = 0, worker = 0;

	for (size_t w = 0; d->cell && w < d->workers; w++) {
		size_t last = d->steps;

		for (size_t s = 0; s < d->steps; s++) {
			if (!d->cell[s * d->workers + w].present)
				continue;
			if (last < s && s - last > 1) {
				step = holes ? step : last + 1;
				worker = holes ? worker : w;
				holes += s - last - 1;
			}
			last = s;
		}
	}
	if (holes)
		add(m->must_know, sizeof(m->must_know), "; ", "step %" PRId64 " is incomplete on rank %d", d->step[step].number,
		    (int)d->worker[worker].rank);
	if (holes > 1)
		add(m->must_know, sizeof(m->must_know), "", ", and so are %zu other steps of ranks", holes - 1);
}

static void say_losses(struct pp_message *m, const struct pp_dataset *d)
{
	static const enum pp_loss cause[] = {PP_LOSS_RING_FULL, PP_LOSS_NO_SPACE, PP_LOSS_NO_THREAD, PP_LOSS_BAD_RECORD,
	                                     PP_LOSS_KEEPER_GONE};
	static const char *const what[] = {"ring full", "no space for the ring", "too many threads", "bad records",
	                                   "keeper ended before it wrote them"};

	for (size_t c = 0; c < sizeof(cause) / sizeof(cause[0]); c++) {
		uint64_t lost = 0, most = 0;
		int32_t rank = 0;

		for (size_t i = 0; i < d->workers; i++) {
			lost += d->worker[i].dropped[cause[c]];
			if (d->worker[i].dropped[cause[c]] > most) {
				most = d->worker[i].dropped[cause[c]];
				rank = d->worker[i].rank;
			}
		}
		if (lost)
			add(m->must_know, sizeof(m->must_know), "; ", "%s on rank %d%s: %" PRIu64 " records lost, see quality",
			    what[c], (int)rank, lost > most ? " and others" : "", lost);
	}
}

void pp_message_session(struct pp_message *m, const struct pp_dataset *d, const struct pp_steps *steps,
                        const struct pp_intern *names, const char *logdir, const char *session)
{
	char covered[64] = "", word[sizeof(m->where)];

	if (steps->covered > 0)
		snprintf(covered, sizeof(covered), ", covering %.0f %% of the recorded time", 100 * steps->covered);
	say_head(m, d, steps);
	snprintf(m->session, sizeof(m->session), "%s", session);
	if (m->failure[0])
		snprintf(m->where, sizeof(m->where), "%s/podprof/%s", logdir, session);
	else
		snprintf(m->where, sizeof(m->where), "%s/podprof/%s  (podprof report %s)", logdir, session,
		         pp_shell_word(logdir, word, sizeof(word)));
	say_ranks(m, d);
	say_losses(m, d);
	say_holes(m, d);
	say_cut(m, d);
	if (steps->rule == PP_STEP_RULE_RANGE)
		add(m->must_know, sizeof(m->must_know), "; ", "no step marks: steps are the range '%.*s'",
		    pp_utf8_fit(pp_intern_text(names, steps->rule_name, NULL), 60), pp_intern_text(names, steps->rule_name, NULL));
	else if (steps->rule == PP_STEP_RULE_OPTIMIZER)
		add(m->must_know, sizeof(m->must_know), "; ", "no step marks: steps are updates by the optimizer %.*s",
		    pp_utf8_fit(pp_intern_text(names, steps->rule_name, NULL), 60), pp_intern_text(names, steps->rule_name, NULL));
	else if (steps->rule == PP_STEP_RULE_PERIOD || steps->rule == PP_STEP_RULE_MESSAGES)
		add(m->must_know, sizeof(m->must_know), "; ",
		    "no step marks: steps are a repeating pattern of %" PRIu32 " %s%s%s, confidence %.2f", steps->period,
		    steps->rule == PP_STEP_RULE_PERIOD ? "collective" : "call", steps->period == 1 ? "" : "s", covered,
		    steps->confidence);
	else if (steps->rule == PP_STEP_RULE_WINDOW && d->steps_asked_last <= d->steps_asked_first)
		return; /* the first line has them, and no steps were requested */
	else if (steps->rule == PP_STEP_RULE_WINDOW && strstr(d->options, "--step-rule=collectives") &&
	         !strstr(steps->remark, "pattern"))
		add(m->must_know, sizeof(m->must_know), "; ",
		    "--step-rule collectives: no repeating pattern was found in the messages and the collectives on "
		    "MPI_COMM_WORLD, so the run is treated as one step. Mark steps with podprof_step_begin(), in Python with "
		    "podprof.steps()");
	else if (steps->remark[0] && (steps->rule == PP_STEP_RULE_WINDOW || !steps->steps))
		add(m->must_know, sizeof(m->must_know), "; ", "%s", steps->remark);
	else if (steps->rule == PP_STEP_RULE_WINDOW)
		add(m->must_know, sizeof(m->must_know), "; ",
		    "no step marks: call podprof_step_begin(), or mark steps by an NVTX range");
}

/* Which steps are missing where records are. A program may begin at any number, and leave numbers out. */
static const char *lost_steps(const struct pp_dataset *d, int64_t last_step)
{
	int64_t first = d->step[0].number, last = d->step[d->steps - 1].number;

	if (last != last_step || (uint64_t)(last - first) != d->steps - 1)
		return "the others";
	return first ? "those before" : "0";
}

void pp_message_salvaged(struct pp_message *m, const struct pp_dataset *d, const struct pp_steps *steps, int64_t last_step)
{
	int asked = d->steps_asked_last > d->steps_asked_first, marked = steps->rule == PP_STEP_RULE_PODPROF;
	char rest[sizeof(m->must_know)], what[256];
	uint64_t lost = 0;
	size_t n;

	for (size_t i = 0; i < d->workers; i++)
		for (int c = 0; c < PP_LOSSES; c++)
			lost += d->worker[i].dropped[c];
	m->salvaged = 1;
	if (asked)
		n = (size_t)snprintf(what, sizeof(what), "steps: %" PRId64 " requested (%" PRId64 "..%" PRId64 "), %zu found",
		                     d->steps_asked_last - d->steps_asked_first, d->steps_asked_first, d->steps_asked_last - 1,
		                     marked ? d->steps : 0);
	else if (marked && last_step != INT64_MIN)
		n = (size_t)snprintf(what, sizeof(what), "steps: all requested (the last marked step is %" PRId64 "), %zu found",
		                     last_step, d->steps);
	else
		n = (size_t)snprintf(what, sizeof(what), "steps: all requested, %zu found", marked ? d->steps : 0);
	if (marked && d->steps)
		n += (size_t)snprintf(what + n, sizeof(what) - n, " (%" PRId64 "..%" PRId64 ")", d->step[0].number,
		                      d->step[d->steps - 1].number);
	if (asked)
		snprintf(what + n, sizeof(what) - n, ", %" PRId64 " lost",
		         d->steps_asked_last - d->steps_asked_first - (int64_t)(marked ? d->steps : 0));
	else if (marked && d->steps)
		snprintf(what + n, sizeof(what) - n, ", %s lost", lost ? lost_steps(d, last_step) : "0");
	snprintf(rest, sizeof(rest), "%s", m->must_know);
	snprintf(m->must_know, sizeof(m->must_know), "%s; %.380s", what, rest[0] ? rest : "no record was lost");
}

void pp_message_add(struct pp_message *m, const char *fmt, ...)
{
	char text[sizeof(m->must_know)];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	add(m->must_know, sizeof(m->must_know), "; ", "%s", text);
}

/* A file is missing: the first line has what was written, the second what was not. */
static void failed_text(const struct pp_message *m, char *text, size_t size)
{
	add(text, size, "", "%s%s%s", m->head, m->must_know[0] ? "; " : "", m->must_know);
	add(text, size, "\n", "%s: has %s, but not %s: %s", m->where, m->there, m->lacking, m->failure);
}

void pp_message_text(const struct pp_message *m, char *text, size_t size)
{
	const char *const line[] = {m->head, m->salvaged ? m->must_know : m->where, m->salvaged ? m->where : m->must_know};

	if (!text || !size)
		return;
	text[0] = '\0';
	if (m->failure[0]) {
		failed_text(m, text, size);
		return;
	}
	for (size_t i = 0; i < sizeof(line) / sizeof(line[0]); i++)
		if (line[i][0])
			add(text, size, "\n", "%s", line[i]);
}
