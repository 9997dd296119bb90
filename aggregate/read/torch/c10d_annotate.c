/* Finds the collective that an annotation belongs to; see c10d_annotate.h. Called by c10d.c. Its time is of the wall clock, which
 * NTP may run up to 500 ppm faster or slower than ours, so an older record has a larger error when it is reported. So records
 * are read from the newest back: the error of a record is that of the one before, plus what the clock may have drifted in
 * between. */
#include "aggregate/read/torch/c10d_annotate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/compare.h"
#include "core/base/grow.h"
#include "core/base/partition.h"
#include "core/capture/capture.h"
#include "core/capture/side.h"
#include "core/ring/intern.h"

enum { GROUPS_MOST = 256, AGAIN_MOST = 64 };
enum { READING_NS = 2000, PER_RATE = 2000 /* 500 ppm */, LOOKBACK = 16 };
#define TIME_MOST ((int64_t)1 << 61)

struct drift {
	int64_t low, high; /* to be added to an annotation's time */
	int64_t age;
};

PP_COMPARE_BY_2(compare_annotations, struct pp_annotation, time, sequence)

/* Calls that begin at or before `time`. */
static size_t begun_by(const struct c10d *c, int64_t time)
{
	return PP_PARTITION(c->calls, at, c->call[at].span->begin <= time);
}

static int64_t distance(const struct pp_span *span, int64_t time)
{
	return time < span->begin ? span->begin - time : time > span->end ? time - span->end : 0;
}

/* Of the calls that may be meant: first those of the same operation, then the nearest, then the latest; NULL: none. */
static struct c10d_call *meant(const struct c10d *c, const struct pp_annotation *annotation, const struct drift *d)
{
	int64_t middle = annotation->time + d->low + (d->high - d->low) / 2;
	struct c10d_call *best = NULL;
	size_t at = begun_by(c, annotation->time + d->high);

	for (size_t tried = 0; at-- > 0 && tried < LOOKBACK; tried++) {
		struct c10d_call *call = &c->call[at];
		int agrees = call->operation == c10d_operation(annotation->call);

		if (call->span->end < annotation->time + d->low || c10d_is_peer_to_peer(c10d_name_of(c, call->span)->call))
			continue;
		if (!best || (agrees && best->operation != c10d_operation(annotation->call)) ||
		    (agrees == (best->operation == c10d_operation(annotation->call)) &&
		     distance(call->span, middle) < distance(best->span, middle)))
			best = call;
	}
	return best;
}

static void widen(struct drift *d, const struct pp_annotation *annotation)
{
	if (d->age < 0 || annotation->age_ns < d->age) { /* it was reported at another time */
		d->low = -READING_NS - annotation->age_ns / PER_RATE;
		d->high = READING_NS + annotation->age_ns / PER_RATE;
	} else {
		d->low -= (annotation->age_ns - d->age) / PER_RATE;
		d->high += (annotation->age_ns - d->age) / PER_RATE;
	}
	d->age = annotation->age_ns;
}

static void narrow(struct drift *d, const struct pp_annotation *annotation, const struct pp_span *span)
{
	int64_t low = span->begin - annotation->time - READING_NS, high = span->end - annotation->time + READING_NS;

	if (low > d->low)
		d->low = low;
	if (high < d->high)
		d->high = high;
}

struct group { /* while its records are read */
	uint64_t id;
	uint32_t last, times; /* sequence number; how often it has begun again */
};

/* Adds the group with that id once more, under another id. */
static int add_again(struct c10d *c, uint64_t id, uint64_t again, uint32_t times)
{
	struct pp_rank *rank = c->rank;
	struct pp_comm *comm, *of;
	char name[120];
	size_t at = 0;
	int n;

	while (at < rank->comms && rank->comm[at].id != id)
		at++;
	if (at == rank->comms)
		return 0;
	if (PP_RESIZE(rank->comm, rank->comms + 1))
		return -ENOMEM;
	of = &rank->comm[at];
	comm = &rank->comm[rank->comms];
	*comm = *of;
	comm->id = again;
	n = snprintf(name, sizeof(name), "%.100s #%u", pp_intern_text(c->texts, of->name, NULL), (unsigned)times + 1);
	comm->name = pp_intern_put(c->texts, name, (size_t)n);
	if (of->member) {
		comm->member = malloc((of->size + (size_t)1) * sizeof(*of->member));
		if (!comm->member)
			return -ENOMEM;
		memcpy(comm->member, of->member, of->size * sizeof(*of->member));
	}
	rank->comms++;
	return 0;
}

int c10d_part(struct c10d *c)
{
	struct group group[GROUPS_MOST];
	uint32_t groups = 0, agains = 0;

	for (size_t i = 0; i < c->rank->annotations; i++) {
		struct pp_annotation *annotation = &c->rank->annotation[i];
		uint64_t id = annotation->comm, again;
		uint32_t g = 0;
		int is_new;

		while (g < groups && group[g].id != id)
			g++;
		if (g == GROUPS_MOST)
			continue;
		if (g == groups)
			group[groups++] = (struct group){.id = id};
		is_new = annotation->sequence < group[g].last;
		group[g].last = annotation->sequence;
		group[g].times += (uint32_t)is_new;
		if (!group[g].times || !id)
			continue;
		again = (id ^ group[g].times * 0x9e3779b97f4a7c15u) | 1;
		annotation->comm = agains < AGAIN_MOST ? again : 0;
		if (is_new && agains++ < AGAIN_MOST && add_again(c, id, again, group[g].times) < 0)
			return -ENOMEM;
	}
	return 0;
}

void c10d_annotate(struct c10d *c)
{
	struct pp_rank *rank = c->rank;
	struct drift d = {.age = -1};

	if (!rank->annotations)
		return;
	qsort(rank->annotation, rank->annotations, sizeof(*rank->annotation), compare_annotations);
	for (size_t i = rank->annotations; i-- > 0;) {
		const struct pp_annotation *annotation = &rank->annotation[i];
		struct c10d_call *call;

		/* Such an age exists only where the clock was set meanwhile. */
		if (annotation->age_ns < 0 || annotation->age_ns > TIME_MOST || annotation->time > TIME_MOST ||
		    annotation->time < -TIME_MOST || !annotation->comm)
			continue;
		widen(&d, annotation);
		call = meant(c, annotation, &d);
		if (!call)
			continue;
		narrow(&d, annotation, call->span);
		call->annotation = annotation; /* of several annotations the first */
		call->operation = c10d_operation(annotation->call);
		if (annotation->done)
			call->done = annotation->done;
	}
}
