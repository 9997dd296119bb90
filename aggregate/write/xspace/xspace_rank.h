/* The lines of one rank in an XSpace plane. In: a rank's spans, steps and segments. Out: XLines, streamed. Called by xspace.c. */
#pragma once

#include "aggregate/write/writer.h"
#include "aggregate/write/xspace/xspace_names.h"
#include "core/step/attr_flat.h"
#include "proto/xspace_stream.h"

struct pp_xlabel { /* one step as this file shows it, edge steps included */
	int64_t number;
	int64_t group;                   /* group_id: the number, or its index where the number does not fit 32 bits */
	uint32_t segment;                /* value of pp_attr_segment.step */
	const struct pp_step_cell *cell; /* [ranks] */
};

struct pp_xopen {         /* a range around the next events */
	int64_t end_ps;   /* as written */
	int64_t end;      /* ns, as recorded */
	uint8_t category; /* for the ranges inside, from the innermost range that has one; 0: none */
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
	struct pp_xopen *stack;
	size_t stack_size;
	struct pp_name_cache categories; /* of the names */
	const struct pp_rank *rank;      /* whose lines are written */
	size_t rank_index;
	size_t comm_at; /* index of the communicator that was found last */
};

/* Makes labels of `out`'s steps, in order, with the edge steps at both ends. */
int pp_xfile_labels(struct pp_xfile *f, struct pp_err *err);
/* `grouped`: this rank's breakdown carries group_id and step_name, so its steps are the file's. */
int pp_xfile_rank(struct pp_xfile *f, size_t rank_index, int grouped, struct pp_err *err);
