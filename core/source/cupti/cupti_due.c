/* Launches that wait for their records; see cupti_due.h. Called by cupti_decode.c and cupti_session.c. */
#include "core/source/cupti/cupti_due.h"

#include <string.h>

enum { CALL = 1, RECORD = 2, NEAR = 4 /* numbers of calls that may be one launch */ };

void pp_cupti_due_reset(struct pp_cupti_due *d)
{
	memset(d, 0, sizeof(*d));
}

/* CUPTI counts up and wraps: numbers that share a place are far apart. */
static uint32_t see(struct pp_cupti_due *d, uint32_t correlation, uint8_t what)
{
	uint32_t at = correlation % PP_CUPTI_DUE_PLACES;

	if (!correlation)
		return PP_CUPTI_DUE_PLACES;
	if (d->place[at].correlation != correlation) {
		d->place[at].correlation = correlation;
		d->place[at].state = 0;
	}
	/* Used again: the record is the one's before, unless it came first. */
	if (what == CALL && d->place[at].state == (CALL | RECORD))
		d->place[at].state = 0;
	d->complete += d->place[at].state == (CALL | RECORD) - what;
	d->place[at].state |= what;
	return at;
}

void pp_cupti_due_call(struct pp_cupti_due *d, uint32_t correlation, uint32_t tid, uint64_t begin, uint64_t end)
{
	uint32_t at = see(d, correlation, CALL);

	if (at == PP_CUPTI_DUE_PLACES)
		return;
	d->place[at].begin = begin;
	d->place[at].end = end;
	d->place[at].tid = tid;
}

void pp_cupti_due_record(struct pp_cupti_due *d, uint32_t correlation)
{
	see(d, correlation, RECORD);
}

void pp_cupti_due_capture(struct pp_cupti_due *d, int is_end, uint64_t time)
{
	uint32_t last = (d->captures + PP_CUPTI_CAPTURES - 1) % PP_CUPTI_CAPTURES;

	if (is_end) {
		if (d->captures && !d->capture[last].end)
			d->capture[last].end = time;
		return;
	}
	if (d->captures && !d->capture[last].end) /* a second thread captures too */
		return;
	last = d->captures++ % PP_CUPTI_CAPTURES;
	d->capture[last].begin = time;
	d->capture[last].end = 0;
}

static int is_captured(const struct pp_cupti_due *d, uint64_t time)
{
	for (uint32_t i = 0; i < PP_CUPTI_CAPTURES && i < d->captures; i++)
		if (d->capture[i].begin <= time && (!d->capture[i].end || time < d->capture[i].end))
			return 1;
	return 0;
}

/* Is it one launch with a call around it, or inside, that has a record? */
static int has_by_other(const struct pp_cupti_due *d, uint32_t at)
{
	for (uint32_t i = 0; i <= 2 * NEAR; i++) {
		uint32_t other = (at + PP_CUPTI_DUE_PLACES - NEAR + i) % PP_CUPTI_DUE_PLACES;

		if (d->place[other].state == (CALL | RECORD) && d->place[other].tid == d->place[at].tid &&
		    d->place[other].begin < d->place[at].end && d->place[at].begin < d->place[other].end)
			return 1;
	}
	return 0;
}

uint32_t pp_cupti_due_missing(const struct pp_cupti_due *d)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < PP_CUPTI_DUE_PLACES; i++)
		n += d->place[i].state == CALL && !is_captured(d, d->place[i].begin) && !has_by_other(d, i);
	return n;
}
