/* Packs the events of the page's timeline, one chunk per step; see timeline.h, and timeline.c for the layout. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/analyze/bounds.h"
#include "aggregate/report/data/timeline.h"
#include "aggregate/write/json.h"

enum { BYTE = 1, SHORT = 2, WORD = 4, DOUBLE = 8, TIMES = 3, EVENT_BYTES = 3 * WORD + SHORT + 3, FLOW_BYTES = 2 * WORD + 1 };
enum { DETAIL_BYTES = 7 * WORD + 3 * DOUBLE };

struct chunk {
	const struct pp_page_part *part;
	const struct pp_timeline *t;
	struct pp_page_names *names;
	const uint32_t *event; /* of the timeline, [events] */
	size_t events, details, flows;
	const uint32_t *flow; /* of the timeline, [flows] */
	int64_t begin, end;
	int wide;
	uint64_t *bits;       /* [most of the counts] a column */
	unsigned char *bytes; /* all columns */
	size_t at;
};

static const struct pp_timeline_event *event_of(const struct chunk *c, size_t i)
{
	return &c->t->event[c->event[i]];
}

static const struct pp_timeline_detail *detail_of(const struct chunk *c, const struct pp_timeline_event *e)
{
	return e->detail ? &c->t->detail[e->detail - 1] : NULL;
}

static uint64_t wait_of(const struct pp_timeline_event *e, const struct pp_timeline_detail *d)
{
	return d->has & PP_TIMELINE_HAS_WAIT && d->until_ns > e->begin_ns ? (uint64_t)(d->until_ns - e->begin_ns) : 0;
}

static uint64_t real(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static uint32_t comm_of(const struct chunk *c, uint64_t id)
{
	for (size_t i = 0; id && i < c->t->comms; i++)
		if (c->t->comm[i].id == id)
			return (uint32_t)i + 1;
	return 0;
}

static uint32_t name_of(struct pp_page_names *names, uint32_t name)
{
	if (name && !names->number[name]) {
		names->number[name] = names->n;
		names->name[names->n++] = name;
	}
	return name ? names->number[name] : 0;
}

/* Appends the column in `bits`. */
static void put(struct chunk *c, size_t n, size_t width)
{
	pp_json_plane(c->bytes + c->at, c->bits, n, width);
	c->at += n * width;
}

static void put_times(struct chunk *c, size_t n)
{
	for (size_t i = 0; c->wide && i < n; i++)
		c->bits[i] = real((double)c->bits[i]);
	put(c, n, c->wide ? DOUBLE : WORD);
}

/* A column of all events: `value` may use e, the event, and i. */
#define EVENTS(value)                                                                                                              \
	for (size_t i = 0; i < c->events; i++) {                                                                                   \
		const struct pp_timeline_event *e = event_of(c, i);                                                                \
		c->bits[i] = (uint64_t)(value);                                                                                    \
	}

/* A column of all details: `value` may use e and d, the detail. */
#define DETAILS(value)                                                                                                             \
	for (size_t i = 0, n = 0; i < c->events; i++) {                                                                            \
		const struct pp_timeline_event *e = event_of(c, i);                                                                \
		const struct pp_timeline_detail *d = detail_of(c, e);                                                              \
		(void)e;                                                                                                           \
		if (d)                                                                                                             \
			c->bits[n++] = (uint64_t)(value);                                                                          \
	}

static void put_events(struct chunk *c)
{
	uint64_t details = 0;

	EVENTS(e->begin_ns - c->begin)
	put_times(c, c->events);
	EVENTS(e->end_ns - e->begin_ns)
	put_times(c, c->events);
	EVENTS(e->self_ns < 0 ? 0 : e->self_ns)
	put_times(c, c->events);
	EVENTS(e->track)
	put(c, c->events, WORD);
	EVENTS(name_of(c->names, e->name))
	put(c, c->events, WORD);
	EVENTS(e->detail ? ++details : 0)
	put(c, c->events, WORD);
	EVENTS(e->depth)
	put(c, c->events, SHORT);
	EVENTS(e->kind)
	put(c, c->events, BYTE);
	EVENTS(e->category)
	put(c, c->events, BYTE);
	EVENTS(e->flags)
	put(c, c->events, BYTE);
}

static void put_details(struct chunk *c)
{
	DETAILS(comm_of(c, d->comm))
	put(c, c->details, WORD);
	DETAILS(d->sequence)
	put(c, c->details, WORD);
	DETAILS(d->request)
	put(c, c->details, WORD);
	DETAILS((uint32_t)(d->peer + 2))
	put(c, c->details, WORD);
	DETAILS(wait_of(e, d) ? (uint32_t)(d->last + 1) : 0)
	put(c, c->details, WORD);
	DETAILS((uint32_t)d->tag)
	put(c, c->details, WORD);
	DETAILS(d->has)
	put(c, c->details, WORD);
	DETAILS(wait_of(e, d))
	put_times(c, c->details);
	DETAILS(real(d->bound_ns == PP_BOUND_UNKNOWN ? (double)NAN : (double)d->bound_ns))
	put(c, c->details, DOUBLE);
	DETAILS(real((double)d->sent))
	put(c, c->details, DOUBLE);
	DETAILS(real((double)d->received))
	put(c, c->details, DOUBLE);
}

static void put_flows(struct chunk *c)
{
	for (size_t i = 0; i < c->flows; i++)
		c->bits[i] = c->part->number[c->t->flow[c->flow[i]].from];
	put(c, c->flows, WORD);
	for (size_t i = 0; i < c->flows; i++)
		c->bits[i] = c->part->number[c->t->flow[c->flow[i]].to];
	put(c, c->flows, WORD);
	for (size_t i = 0; i < c->flows; i++)
		c->bits[i] = c->t->flow[c->flow[i]].kind;
	put(c, c->flows, BYTE);
}

/* Its begin, end, number of details, and whether a time needs more than 32 bits. */
static void measure(struct chunk *c)
{
	c->begin = INT64_MAX;
	c->end = INT64_MIN;
	for (size_t i = 0; i < c->events; i++) {
		const struct pp_timeline_event *e = event_of(c, i);
		const struct pp_timeline_detail *d = detail_of(c, e);

		c->begin = e->begin_ns < c->begin ? e->begin_ns : c->begin;
		c->end = e->end_ns > c->end ? e->end_ns : c->end;
		c->details += d != NULL;
		c->wide |= e->self_ns > UINT32_MAX || (d && wait_of(e, d) > UINT32_MAX);
	}
	c->wide |= c->end - c->begin > UINT32_MAX;
}

static size_t largest(size_t a, size_t b)
{
	return a > b ? a : b;
}

static int put_chunk(FILE *to, struct chunk *c, int64_t step, size_t first)
{
	size_t time;
	int code = -ENOMEM;

	measure(c);
	time = c->wide ? DOUBLE : WORD;
	c->bits = malloc((largest(c->events, c->flows) + 1) * sizeof(*c->bits));
	c->bytes =
	        malloc(c->events * (EVENT_BYTES + TIMES * time) + c->details * (DETAIL_BYTES + time) + c->flows * FLOW_BYTES + 1);
	if (c->bits && c->bytes) {
		put_events(c);
		put_details(c);
		put_flows(c);
		fputs("{\"step\":", to);
		pp_json_int(to, step < 0 ? INT64_MIN : step);
		fputs(",\"begin\":", to);
		pp_json_int(to, c->begin);
		fputs(",\"end\":", to);
		pp_json_int(to, c->end);
		fprintf(to, ",\"first\":%zu,\"events\":%zu,\"details\":%zu,\"flows\":%zu,\"wide\":%d,\"lazy\":\"", first, c->events,
		        c->details, c->flows, c->wide);
		code = pp_json_deflated(to, c->bytes, c->at);
		fputs("\"}", to);
	}
	free(c->bits);
	free(c->bytes);
	return code;
}

/* Flows of the page by the chunk of their end: *ret_flow, and first[chunk]. Returns how many have an end outside of the page. */
static uint64_t sort_flows(const struct pp_page_part *part, uint32_t *flow, size_t *first)
{
	const struct pp_timeline *t = part->t;
	uint64_t left = 0;

	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < t->flows; i++) {
			const struct pp_timeline_flow *f = &t->flow[i];
			const size_t chunk = pp_page_chunk_of(t, &t->event[f->to]);

			if (part->number[f->from] == PP_PAGE_NO_EVENT || part->number[f->to] == PP_PAGE_NO_EVENT)
				left += !round;
			else if (round)
				flow[first[chunk]++] = (uint32_t)i;
			else
				first[chunk + 1]++;
		}
		for (size_t k = 0; !round && k <= t->steps; k++)
			first[k + 1] += first[k];
	}
	memmove(first + 1, first, (t->steps + 1) * sizeof(*first)); /* each chunk's end is the begin of the next */
	first[0] = 0;
	return left;
}

int pp_page_chunks(FILE *to, const struct pp_page_part *part, struct pp_page_names *names, int64_t *chunk, uint64_t *ret_flows)
{
	const struct pp_timeline *t = part->t;
	uint32_t *flow = calloc(t->flows + 1, sizeof(*flow));
	size_t *first = calloc(t->steps + 2, sizeof(*first));
	int64_t n = 0;
	int code = flow && first ? 0 : -ENOMEM;

	*ret_flows = code ? 0 : sort_flows(part, flow, first);
	fputc('[', to);
	for (size_t k = 0; k <= t->steps && !code; k++) {
		struct chunk c = {.part = part,
		                  .t = t,
		                  .names = names,
		                  .event = part->event + part->first[k],
		                  .events = part->first[k + 1] - part->first[k],
		                  .flow = flow + first[k],
		                  .flows = first[k + 1] - first[k]};

		if (k)
			chunk[k - 1] = c.events ? n : -1;
		if (!c.events)
			continue;
		if (n++)
			fputc(',', to);
		code = put_chunk(to, &c, (int64_t)k - 1, part->first[k]);
	}
	fputc(']', to);
	free(flow);
	free(first);
	return code;
}
