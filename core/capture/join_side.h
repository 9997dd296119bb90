/* Joins one side array of two ranks, by its row of side.def. Called by join.c only. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct pp_rank;
struct pp_side_array;

struct pp_side_join {
	char *rows; /* room for the rows of both */
	size_t count;
	size_t from;      /* rows of the second rank */
	uint32_t *place;  /* [from] index of its row in `rows` */
	uint32_t *sorted; /* rows of the first rank by their keys, where equal ones are one */
};

/* Takes the memory. -ENOMEM: pp_side_join_release() frees what there is. */
int pp_side_join_prepare(struct pp_side_join *j, const struct pp_side_array *side, const struct pp_rank *into,
                         const struct pp_rank *from);
/* Moves the rows of `from` to `into`. Cannot fail. */
void pp_side_join(struct pp_side_join *j, const struct pp_side_array *side, struct pp_rank *into, struct pp_rank *from);
/* Frees what was not given to a rank. */
void pp_side_join_release(struct pp_side_join *j);
/* Replaces ids of names by `name` of them. */
void pp_side_renumber(const struct pp_side_array *side, struct pp_rank *rank, const uint32_t *name);
