/* The rows of side.def as a table, and access to a rank's side arrays by it; see side.h. Called by core/capture and readers. */
#include "core/capture/side.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/capture/rank.h"
#include "core/capture/span.h"

enum { VALUE, KEY };

#define PP_SIDE(member, count, type, order, keep, same) static const struct pp_side_field member##_field[] = {
#define PP_SIDE_FIELD(type, field, kind, key)                                                                                      \
	{#field, PP_SIDE_TYPE_##kind, key, offsetof(struct type, field), sizeof(((struct type *)0)->field), 0},
#define PP_SIDE_PAIR(type, field, kind, key, with)                                                                                 \
	{#field,                                                                                                                   \
	 PP_SIDE_TYPE_##kind,                                                                                                      \
	 key,                                                                                                                      \
	 offsetof(struct type, field),                                                                                             \
	 sizeof(((struct type *)0)->field),                                                                                        \
	 offsetof(struct type, with)},
#define PP_SIDE_END()                                                                                                              \
	}                                                                                                                          \
	;
#include "core/capture/side.def"

const struct pp_side_array pp_side_arrays[PP_SIDE_IDS] = {
#define PP_SIDE(member, count, type, order, keep, same)                                                                            \
	{#member,                                                                                                                  \
	 offsetof(struct pp_rank, member),                                                                                         \
	 offsetof(struct pp_rank, count),                                                                                          \
	 sizeof(struct type),                                                                                                      \
	 PP_SIDE_##order,                                                                                                          \
	 PP_SIDE_##keep,                                                                                                           \
	 PP_SIDE_##same,                                                                                                           \
	 member##_field,                                                                                                           \
	 sizeof(member##_field) / sizeof(member##_field[0])},
#include "core/capture/side.def"
};

char *pp_side_rows(const struct pp_side_array *side, const struct pp_rank *rank)
{
	char *rows;

	memcpy(&rows, (const char *)rank + side->member, sizeof(rows));
	return rows;
}

size_t pp_side_count(const struct pp_side_array *side, const struct pp_rank *rank)
{
	size_t count;

	memcpy(&count, (const char *)rank + side->count, sizeof(count));
	return count;
}

void pp_side_set(const struct pp_side_array *side, struct pp_rank *rank, void *rows, size_t count)
{
	memcpy((char *)rank + side->member, &rows, sizeof(rows));
	memcpy((char *)rank + side->count, &count, sizeof(count));
}

int pp_side_append(struct pp_rank *rank, enum pp_side_id id, const void *rows, size_t count)
{
	const struct pp_side_array *side = &pp_side_arrays[id];
	size_t before = pp_side_count(side, rank);
	char *all;

	if (!count)
		return 0;
	all = realloc(pp_side_rows(side, rank), (before + count) * side->size);
	if (!all)
		return -ENOMEM;
	memcpy(all + before * side->size, rows, count * side->size);
	pp_side_set(side, rank, all, before + count);
	return 0;
}

void pp_side_release_rows(const struct pp_side_array *side, char *rows, size_t count)
{
	for (size_t f = 0; f < side->fields; f++)
		for (size_t i = 0; i < count && side->field[f].type == PP_SIDE_TYPE_RANKS; i++) {
			void *owned;

			memcpy(&owned, rows + i * side->size + side->field[f].offset, sizeof(owned));
			free(owned);
		}
}

void pp_side_release_all(struct pp_rank *rank)
{
	for (const struct pp_side_array *side = pp_side_arrays; side < pp_side_arrays + PP_SIDE_IDS; side++) {
		char *rows = pp_side_rows(side, rank);

		pp_side_release_rows(side, rows, pp_side_count(side, rank));
		free(rows);
		pp_side_set(side, rank, NULL, 0);
	}
}

const struct pp_side_field *pp_side_time(const struct pp_side_array *side)
{
	for (size_t f = 0; f < side->fields; f++)
		if (side->field[f].type == PP_SIDE_TYPE_TICK || side->field[f].type == PP_SIDE_TYPE_AGED)
			return &side->field[f];
	return NULL;
}

uint32_t *pp_side_index(struct pp_span *span, enum pp_side_id id)
{
	if (id == PP_SIDE_ID_message && (span->kind == PP_SPAN_MPI || span->kind == PP_SPAN_REQUEST) &&
	    span->mpi.flags & PP_MPI_HAS_MESSAGE)
		return &span->mpi.sequence;
	return id == PP_SIDE_ID_launch && span->kind == PP_SPAN_DEVICE ? &span->device.launch : NULL;
}
