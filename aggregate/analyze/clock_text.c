/* Sentences on hosts' clocks; see clock_text.h. Called by quality.c and write/text/text_clock.c. */
#include "aggregate/analyze/clock_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "aggregate/dataset/status.h"
#include "core/base/units.h"
#include "core/clock/band.h"
#include "core/clock/wall.h"

enum { MOST_CHANGES = 4, MOST_HOSTS = 8, NAMED_HOSTS = 4 }; /* most warnings of one host, and of the job */

static const int64_t MISSED_NS = 6000000000; /* clocks are compared every 5 s while ranks record, and at a window's end */

static int is_broken(const struct pp_row_host_clock *c)
{
	unsigned flags = 0;

	for (size_t i = 0; i < c->samples; i++)
		flags |= c->sample[i].sample_flags;
	for (size_t i = 0; i < c->stretches; i++)
		flags |= c->stretch[i].stretch_flags;
	return (flags & PP_BAND_BROKEN) != 0;
}

int pp_clock_is_salvaged(const struct pp_dataset *d)
{
	for (size_t w = 0; w < d->workers; w++)
		if (!strncmp(d->worker[w].status, PP_STATUS_SALVAGED, strlen(PP_STATUS_SALVAGED)))
			return 1;
	return 0;
}

const char *pp_clock_why(const struct pp_dataset *d, const struct pp_row_host_clock *c, char text[PP_CLOCK_TEXT])
{
	if (pp_clock_is_salvaged(d))
		snprintf(text, PP_CLOCK_TEXT, "no comparison that its keeper left can be used");
	else if (!c->trips && !c->lost)
		snprintf(text, PP_CLOCK_TEXT,
		         "no packet was sent: no free UDP port on it or on rank 0's host, or it started too late");
	else if (!c->trips)
		snprintf(text, PP_CLOCK_TEXT, "no reply to %" PRIu64 " UDP packets", c->lost);
	else if (is_broken(c))
		snprintf(text, PP_CLOCK_TEXT, "its clock jumped or changed rate during the window");
	else if (c->impossible >= c->trips)
		snprintf(text, PP_CLOCK_TEXT, "%" PRIu64 " of %" PRIu64 " replies carried inconsistent timestamps", c->impossible,
		         c->trips);
	else if (!c->samples)
		snprintf(text, PP_CLOCK_TEXT, "none of %" PRIu64 " replies arrived before the window was written", c->trips);
	else
		snprintf(text, PP_CLOCK_TEXT, "%" PRIu64 " replies do not cover the whole window", c->trips);
	return text;
}

/* Adds ", between 1.20 s and 2.20 s of the window"; only the known end where the change may lie outside the window. */
static void say_when(const struct pp_dataset *d, const struct pp_row_clock_change *change, char *text, size_t size)
{
	int64_t window = d->window_end_ns - d->window_begin_ns, from = change->from_ns - d->window_begin_ns,
	        to = change->to_ns - d->window_begin_ns;
	char a[PP_TEXT_UNIT], b[PP_TEXT_UNIT];

	if (from <= 0 && to >= window)
		text[0] = '\0';
	else if (from <= 0)
		snprintf(text, size, ", before %s of the window", pp_text_time(a, to));
	else if (to >= window)
		snprintf(text, size, ", after %s of the window", pp_text_time(a, from));
	else
		snprintf(text, size, ", between %s and %s of the window", pp_text_time(a, from), pp_text_time(b, to));
}

const char *pp_clock_change(const struct pp_dataset *d, const struct pp_row_host_clock *c, const struct pp_row_clock_change *change,
                            char text[PP_CLOCK_TEXT])
{
	char by[PP_TEXT_UNIT], error[PP_TEXT_UNIT], when[80];

	say_when(d, change, when, sizeof(when));
	pp_text_time(by, change->by_ns);
	pp_text_time(error, change->error_ns);
	if (change->event == PP_WALL_SUSPENDED)
		snprintf(text, PP_CLOCK_TEXT, "host %.40s was suspended for %s%s (error <= %s)", c->name, by, when, error);
	else
		snprintf(text, PP_CLOCK_TEXT, "the wall clock of host %.40s was set by %s%s%s (error <= %s)", c->name,
		         change->by_ns > 0 ? "+" : "", by, when, error);
	return text;
}

static void warn_changes(struct pp_dataset *d, const struct pp_row_host_clock *c)
{
	uint64_t more = c->changes_lost;
	char text[PP_CLOCK_TEXT];

	for (size_t i = 0; i < c->changes; i++) {
		if (i < MOST_CHANGES)
			pp_dataset_warn(d, PP_CLOCK_WARNING "%s", pp_clock_change(d, c, &c->change[i], text));
		more += i >= MOST_CHANGES;
	}
	if (more)
		pp_dataset_warn(d, PP_CLOCK_WARNING "the wall clock of host %.72s changed %" PRIu64 " more times", c->name, more);
}

/* From the last comparison of a clock to the end of what was recorded; 0: it was compared after that, or needed no comparison. */
static int64_t since_compared(const struct pp_row_host_clock *c)
{
	if (!c->samples || !c->stretches || c->host_bound_ns == PP_BOUND_UNKNOWN)
		return 0;
	return c->stretch[c->stretches - 1].end_ns - c->sample[c->samples - 1].time_ns;
}

size_t pp_clock_last_compared(const struct pp_dataset *d, char text[PP_CLOCK_LAST])
{
	const int salvaged = pp_clock_is_salvaged(d);
	const int64_t missed = salvaged ? 0 : MISSED_NS;
	int64_t longest = 0, bound = 0;
	char names[200] = "", a[PP_TEXT_UNIT], b[PP_TEXT_UNIT];
	size_t hosts = 0;

	for (size_t i = 0; i < d->host_clocks; i++) {
		const struct pp_row_host_clock *c = &d->host_clock[i];
		int64_t since = since_compared(c), end = since > missed ? c->stretch[c->stretches - 1].bound_end_ns : 0;

		if (since <= missed)
			continue;
		if (hosts++ < NAMED_HOSTS)
			snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%.40s", hosts > 1 ? ", " : "", c->name);
		longest = since > longest ? since : longest;
		bound = end > bound ? end : bound;
	}
	if (hosts > NAMED_HOSTS)
		snprintf(names + strlen(names), sizeof(names) - strlen(names), " and %zu more", hosts - NAMED_HOSTS);
	snprintf(text, PP_CLOCK_LAST, "the clock%s of host%s %s %s last compared %s before %s last %s: clock error <= %s there",
	         hosts > 1 ? "s" : "", hosts > 1 ? "s" : "", names, hosts > 1 ? "were" : "was", pp_text_time(a, longest),
	         hosts > 1 ? "their" : "its", salvaged ? "record" : "step or call", pp_text_time(b, bound));
	return hosts;
}

void pp_quality_warn_clocks(struct pp_dataset *d)
{
	size_t changed = 0, separate = 0;
	char text[PP_CLOCK_TEXT], last[PP_CLOCK_LAST];

	for (size_t i = 0; i < d->host_clocks; i++) {
		const struct pp_row_host_clock *c = &d->host_clock[i];

		if (c->host_bound_ns == PP_BOUND_UNKNOWN && separate++ < MOST_HOSTS)
			pp_dataset_warn(
			        d, PP_CLOCK_WARNING "the clock of host %.72s could not be compared with that of rank 0's host: %s",
			        c->name, pp_clock_why(d, c, text));
	}
	if (separate > MOST_HOSTS)
		pp_dataset_warn(d, PP_CLOCK_WARNING "%zu more hosts have clocks that could not be compared", separate - MOST_HOSTS);
	if (pp_clock_last_compared(d, last))
		pp_dataset_warn(d, PP_CLOCK_WARNING "%s", last);
	for (size_t i = 0; i < d->host_clocks; i++)
		if ((d->host_clock[i].changes || d->host_clock[i].changes_lost) && changed++ < MOST_HOSTS)
			warn_changes(d, &d->host_clock[i]);
	if (changed > MOST_HOSTS)
		pp_dataset_warn(d, PP_CLOCK_WARNING "the wall clocks of %zu more hosts changed", changed - MOST_HOSTS);
	if (d->causality.violated) {
		pp_text_time(text, d->causality.worst_ns);
		pp_dataset_warn(
		        d,
		        PP_CLOCK_WARNING
		        "%" PRIu64 " of %" PRIu64
		        " collective calls ended before the last rank arrived, by up to %s more than the clock error allows",
		        d->causality.violated, d->causality.pairs, text);
	}
}
