/* What a framework reports of its collectives: group, number, bytes; and when its Work was complete, which is a row with the call
 * c10d::wait and the Work's number. In: ANNOTATION records, and REQUEST records of that call; above a limit the oldest are dropped.
 * Out: pp_rank.annotation, for aggregate/read/torch. */
#include <stddef.h>
#include <stdlib.h>

#include "aggregate/read/ring/reader.h"
#include "aggregate/read/ring/rows.h"
#include "aggregate/read/ring/track.h"
#include "core/call/mpi_call.h"
#include "core/capture/capture.h"
#include "core/capture/side.h"

enum { MOST = 1 << 20 }; /* far more than a useful window has */
#define BYTES_MOST ((uint64_t)1 << 62)

struct annotations { /* of a ring */
	struct pp_annotation *annotation;
	size_t annotations, room;
};

static int is_bad(const struct pp_record *r)
{
	const struct pp_record_annotation *t = &r->annotation;

	return t->call < PP_C10D_FIRST || t->call >= PP_NCCL_FIRST || !pp_mpi_call_is_known(t->call) || t->sent > BYTES_MOST ||
	       t->received > BYTES_MOST;
}

static void add(struct pp_track *track, const struct pp_annotation *row)
{
	struct annotations *p = pp_pair_state(track->pair, PP_READER_ANNOTATION, sizeof(*p));
	struct pp_annotation *more;

	if (!p) {
		track->pair->lost[PP_LOSS_EVICTED]++;
		return;
	}
	more = pp_rows_grow(p->annotation, &p->annotations, &p->room, sizeof(*more), MOST, &track->pair->lost[PP_LOSS_EVICTED]);
	if (!more)
		return;
	p->annotation = more;
	p->annotation[p->annotations++] = *row;
}

static void take(struct pp_track *track, const struct pp_record *r, const char *text, size_t length)
{
	const struct pp_record_annotation *t = &r->annotation;
	const struct pp_annotation row = {
	        .time = (int64_t)r->tick,
	        .age_ns = t->age_ns,
	        .comm = t->comm,
	        .sent = t->sent,
	        .received = t->received,
	        .sequence = t->sequence,
	        .root = t->root,
	        .call = t->call,
	};

	(void)text;
	(void)length;
	add(track, &row);
}

static void take_end(struct pp_track *track, const struct pp_record *r, const char *text, size_t length)
{
	const struct pp_annotation row = {
	        .time = (int64_t)r->tick, .correlation = r->request.request, .root = -1, .call = PP_C10D_FIRST};

	(void)text;
	(void)length;
	if (r->request.call == PP_C10D_FIRST)
		add(track, &row);
}

/* A framework reports a collective after its begin: what it has reported by now belongs to no later window. */
static void drop_between(struct pp_pair *pair, int64_t from, int64_t to)
{
	struct annotations *p = pair->state[PP_READER_ANNOTATION];

	if (p)
		pp_rows_drop(p->annotation, &p->annotations, sizeof(*p->annotation), offsetof(struct pp_annotation, time), from,
		             to);
}

static int finish(struct pp_pair *pair, struct pp_rank *rank, size_t first_thread)
{
	const struct annotations *p = pair->state[PP_READER_ANNOTATION];

	(void)first_thread;
	return p ? pp_side_append(rank, PP_SIDE_ID_annotation, p->annotation, p->annotations) : 0;
}

static void release(struct pp_pair *pair)
{
	struct annotations *p = pair->state[PP_READER_ANNOTATION];

	if (p)
		free(p->annotation);
}

static const struct pp_reader_kind kinds[] = {
        {.kind = PP_RECORD_ANNOTATION, .is_bad = is_bad, .take = take},
        {.kind = PP_RECORD_REQUEST, .take = take_end},
        {.kind = PP_RECORD_NONE},
};

const struct pp_reader_ops pp_reader_annotation = {
        .name = "annotation",
        .kinds = kinds,
        .drop_between = drop_between,
        .finish = finish,
        .release = release,
};
