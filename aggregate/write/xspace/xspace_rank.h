/* The lines of one rank in an XSpace plane. In: a rank's spans, steps and segments. Out: XLines, streamed. Called by xspace.c. */
#pragma once

#include "aggregate/write/writer.h"
#include "aggregate/write/xspace/xspace_names.h"
#include "proto/xspace_stream.h"

struct pp_xlabel { /* one step as this file shows it, edge steps included */
	int64_t number;
	int64_t group;                   /* group_id: the number, or its index where the number does not fit 32 bits */
	uint32_t segment;                /* value of pp_attr_segment.step */
	const struct pp_step_cell *cell; /* [ranks] */
};

struct pp_xfile {
	const struct pp_output *out;
	struct pp_xstream stream;
	struct pp_xnames names;
	struct pp_xlabel *label; /* [labels] */
	size_t labels;
	int64_t line;        /* ids given so far */
	uint64_t unplaced;   /* overlapping spans beyond the limit of lines per rank */
	uint64_t not_finite; /* values of counters: xprof's JSON has no NaN and no infinity */
	uint64_t *stack;     /* ends of open parents, ps */
	size_t stack_size;
	const struct pp_rank *rank; /* whose lines are written */
	size_t comm_at;             /* index of the communicator that was found last */
};

struct pp_xplaced { /* a step in order of a rank's time: numbers may go back, lines may not */
	int64_t begin, end;
	const struct pp_xlabel *label;
};

/* XSpace has 64 bits of ps: 106 days since the job's epoch. Later times are clamped. */
static inline int64_t pp_xfile_ps(int64_t ns)
{
	const int64_t most = INT64_MAX / 1000 - 1;

	return ns <= 0 ? 0 : (ns < most ? ns : most) * 1000;
}

/* Makes labels of `out`'s steps, in order, with the edge steps at both ends. */
int pp_xfile_labels(struct pp_xfile *f, struct pp_err *err);
/* `grouped`: this rank's breakdown carries group_id and step_name, so its steps are the file's. */
int pp_xfile_rank(struct pp_xfile *f, size_t rank_index, int grouped, struct pp_err *err);

/* Parts of a rank's lines. The steps of a rank in order of time (malloc'd; NULL: no memory); the breakdown line; memory as a
 * counter; a line (end it with pp_xstream_end()); stats of an event, left out where it has no room. */
struct pp_xplaced *pp_xfile_place(const struct pp_xfile *f, size_t rank_index, size_t *ret_count);
void pp_xfile_breakdown(struct pp_xfile *f, size_t rank_index, const struct pp_xplaced *p, size_t steps, int grouped);
void pp_xfile_memory(struct pp_xfile *f, const struct pp_rank *r);
uint64_t pp_xfile_line(struct pp_xfile *f, const char *name);
/* xspace_clock.c: stats of the plane that has these ranks of the capture. */
void pp_xfile_clock(struct pp_xfile *f, const size_t *rank, size_t ranks);

static inline void pp_xfile_int(struct pp_xevent *e, uint8_t id, int64_t value)
{
	if (e->stats < PP_XEVENT_STATS)
		e->stat[e->stats++] = (struct pp_xstat){.id = id, .kind = PP_XSTAT_INT, .i = value};
}

static inline void pp_xfile_uint(struct pp_xevent *e, uint8_t id, uint64_t value)
{
	if (e->stats < PP_XEVENT_STATS)
		e->stat[e->stats++] = (struct pp_xstat){.id = id, .kind = PP_XSTAT_UINT, .u = value};
}

static inline void pp_xfile_text(struct pp_xfile *f, struct pp_xevent *e, uint8_t id, enum pp_xtext_kind kind, uint64_t key)
{
	if (e->stats < PP_XEVENT_STATS)
		e->stat[e->stats++] = (struct pp_xstat){.id = id, .kind = PP_XSTAT_REF, .u = pp_xnames_text(&f->names, kind, key)};
}
