/* Which collective is meant by what a framework told of one; see c10d_private.h. Called by c10d.c.
 * Its time is of the wall clock, which runs up to 500 ppm faster or slower than ours while it is set right, and the older the
 * record was when it was told, the more it is off. So records are taken from the newest one back: what a record may be off is
 * what the one before it was, and what the clock may have gone since. */
#include <stdlib.h>

#include "aggregate/read/c10d_private.h"

enum { READING_NS = 2000, PER_RATE = 2000 /* 500 ppm */, LOOK_BACK = 16 };
#define TIME_MOST ((int64_t)1 << 61)

struct drift {
	int64_t low, high; /* to be added to a told time */
	int64_t age;
};

static int compare_told(const void *a, const void *b)
{
	const struct pp_told *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return (x->sequence > y->sequence) - (x->sequence < y->sequence);
}

/* Calls that begin at or before `time`. */
static size_t begun_by(const struct c10d *c, int64_t time)
{
	size_t low = 0, high = c->calls;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (c->call[middle].span->begin <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int64_t apart(const struct pp_span *span, int64_t time)
{
	return time < span->begin ? span->begin - time : time > span->end ? time - span->end : 0;
}

/* Of the calls that may be meant: of the same word first, then the nearest, then the latest; NULL: none. */
static struct c10d_call *meant(const struct c10d *c, const struct pp_told *told, const struct drift *d)
{
	int64_t middle = told->time + d->low + (d->high - d->low) / 2;
	struct c10d_call *best = NULL;
	size_t at = begun_by(c, told->time + d->high);

	for (size_t looked = 0; at-- > 0 && looked < LOOK_BACK; looked++) {
		struct c10d_call *call = &c->call[at];
		int agrees = call->word == c10d_word(told->call);

		if (call->span->end < told->time + d->low || c10d_is_peer_to_peer(c10d_name_of(c, call->span)->call))
			continue;
		if (!best || (agrees && best->word != c10d_word(told->call)) ||
		    (agrees == (best->word == c10d_word(told->call)) && apart(call->span, middle) < apart(best->span, middle)))
			best = call;
	}
	return best;
}

static void widen(struct drift *d, const struct pp_told *told)
{
	if (d->age < 0 || told->age_ns < d->age) { /* it was told at another time */
		d->low = -READING_NS - told->age_ns / PER_RATE;
		d->high = READING_NS + told->age_ns / PER_RATE;
	} else {
		d->low -= (told->age_ns - d->age) / PER_RATE;
		d->high += (told->age_ns - d->age) / PER_RATE;
	}
	d->age = told->age_ns;
}

static void narrow(struct drift *d, const struct pp_told *told, const struct pp_span *span)
{
	int64_t low = span->begin - told->time - READING_NS, high = span->end - told->time + READING_NS;

	if (low > d->low)
		d->low = low;
	if (high < d->high)
		d->high = high;
}

void c10d_tell(struct c10d *c)
{
	struct pp_rank *rank = c->rank;
	struct drift d = {.age = -1};

	if (!rank->tolds)
		return;
	qsort(rank->told, rank->tolds, sizeof(*rank->told), compare_told);
	for (size_t i = rank->tolds; i-- > 0;) {
		const struct pp_told *told = &rank->told[i];
		struct c10d_call *call;

		/* Only a clock that was set meanwhile tells before it began. */
		if (told->age_ns < 0 || told->age_ns > TIME_MOST || told->time > TIME_MOST || told->time < -TIME_MOST ||
		    !told->comm)
			continue;
		widen(&d, told);
		call = meant(c, told, &d);
		if (!call)
			continue;
		narrow(&d, told, call->span);
		call->told = told; /* of several the first */
		call->word = c10d_word(told->call);
	}
}
