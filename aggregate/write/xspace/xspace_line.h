/* What the lines of an XSpace file share: the file that is written, its steps, times, stats. In: a session. Used by xspace.c,
 * xspace_rank.c and xspace_device.c. */
#pragma once

#include "aggregate/write/writer.h"
#include "aggregate/write/xspace/xspace_names.h"
#include "core/capture/span.h"
#include "core/step/attr_flat.h"
#include "proto/xspace_stream.h"

struct pp_xlabel { /* one step as this file shows it, edge steps included */
	int64_t number;
	int64_t group;                   /* group_id: the number, or its index where the number does not fit 32 bits */
	uint32_t segment;                /* value of pp_attr_segment.step */
	const struct pp_step_cell *cell; /* [ranks] */
};

/* A step beside the window: shown, and in no table. */
static inline int pp_xlabel_is_edge(const struct pp_xlabel *l)
{
	return l->segment == PP_ATTR_EDGE_BEFORE || l->segment == PP_ATTR_EDGE_AFTER;
}

struct pp_xopen {         /* a range around the next events */
	int64_t end_ps;   /* as written */
	int64_t end;      /* ns, as recorded */
	uint8_t category; /* for the ranges inside, from the innermost range that has one; 0: none */
};

struct pp_xplaced { /* a step in order of a rank's time: numbers may go back, lines may not */
	int64_t begin, end;
	const struct pp_xlabel *label;
};

struct pp_xfile {
	const struct pp_output *out;
	struct pp_xstream stream;
	struct pp_xnames names;  /* of the plane that is written */
	struct pp_xlabel *label; /* [labels] */
	size_t labels;
	int32_t steps_of;    /* rank whose steps are the file's; -1: the only one, which needs no name */
	int64_t line;        /* ids given so far */
	uint64_t unplaced;   /* overlapping spans beyond the limit of lines per rank */
	uint64_t not_finite; /* values of counters: xprof's JSON has no NaN and no infinity */
	struct pp_xopen *stack;
	size_t stack_size;
	struct pp_name_cache categories; /* of the names */
	const struct pp_rank *rank;      /* whose lines are written */
	size_t rank_index;
	size_t comm_at; /* index of the communicator that was found last */
};

/* XSpace has 64 bits of ps: 106 days since the job's epoch. Later times are clamped. */
static inline int64_t pp_xps(int64_t ns)
{
	const int64_t most = INT64_MAX / 1000 - 1;

	return ns <= 0 ? 0 : (ns < most ? ns : most) * 1000;
}

/* Stats of an event, left out where it has no room. */
static inline void pp_xstat_int(struct pp_xevent *e, uint8_t id, int64_t value)
{
	if (e->stats < PP_XEVENT_STATS)
		e->stat[e->stats++] = (struct pp_xstat){.id = id, .kind = PP_XSTAT_INT, .i = value};
}

static inline void pp_xstat_uint(struct pp_xevent *e, uint8_t id, uint64_t value)
{
	if (e->stats < PP_XEVENT_STATS)
		e->stat[e->stats++] = (struct pp_xstat){.id = id, .kind = PP_XSTAT_UINT, .u = value};
}

static inline void pp_xstat_text(struct pp_xfile *f, struct pp_xevent *e, uint8_t id, enum pp_xtext_kind kind, uint64_t key)
{
	if (e->stats < PP_XEVENT_STATS)
		e->stat[e->stats++] = (struct pp_xstat){.id = id, .kind = PP_XSTAT_REF, .u = pp_xnames_text(&f->names, kind, key)};
}

/* The step's number; `grouped`: as xprof counts it, a marker with its name. */
void pp_xstat_step(struct pp_xfile *f, struct pp_xevent *e, const struct pp_xlabel *l, int grouped, int is_marker);

/* Key of a range's or a call's name. */
static inline uint64_t pp_xname_key(const struct pp_span *s)
{
	return s->kind == PP_SPAN_MPI || s->kind == PP_SPAN_REQUEST ? PP_XNAME_KEY_CALL | s->mpi.call : s->name;
}

/* A launch of a rank is one end of an arrow, what it launched the other: numbers are unique in the job. */
static inline uint64_t pp_xflow(int32_t rank, uint64_t correlation, int is_launch)
{
	const uint64_t in = 1, out = 2, gpu_launch = 9,
	               id = ((uint64_t)(uint32_t)rank & 0xffffff) << 32 | (correlation & 0xffffffff);

	return gpu_launch << 58 | id << 2 | (is_launch ? out : in);
}

/* Makes labels of `out`'s steps, in order, with the edge steps at both ends. */
int pp_xfile_labels(struct pp_xfile *f, struct pp_err *err);
/* The steps of a rank in order of time (malloc'd; NULL: no memory). */
struct pp_xplaced *pp_xplace_steps(const struct pp_xfile *f, size_t index, size_t *ret_count);

/* The step that a span begins in, or NULL; found by walking, as spans come in order of begin. */
static inline const struct pp_xplaced *pp_xstep_at(const struct pp_xplaced *p, size_t steps, size_t *at, int64_t begin)
{
	while (*at < steps && p[*at].end <= begin)
		(*at)++;
	return *at < steps && p[*at].begin <= begin ? &p[*at] : NULL;
}

/* A plane with names of its own; end it with pp_xplane_end(), which takes what this returns and writes them. That: 0, or
 * -ENOMEM. */
uint64_t pp_xplane_begin(struct pp_xfile *f, int64_t id, const char *name);
int pp_xplane_end(struct pp_xfile *f, uint64_t begun, struct pp_err *err);
/* Stats of the open plane. */
void pp_xplane_text(struct pp_xfile *f, enum pp_xstat_id id, const char *text);
void pp_xplane_uint(struct pp_xfile *f, enum pp_xstat_id id, uint64_t value);
/* A line; end it with pp_xstream_end(). `id` 0: the next number. */
uint64_t pp_xline_begin(struct pp_xfile *f, int64_t id, const char *name);
