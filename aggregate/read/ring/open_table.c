/* Open-addressed table with backward shift. Called by range.c and mpi.c. Its rows stand in their places, and leave it soon: with
 * core/base/map.h a start and its end took 8.5 ns here, not 6. */
#include "aggregate/read/ring/open_table.h"

#include <stdlib.h>

static size_t home(const struct pp_open_table *t, uint64_t id)
{
	return (size_t)((id * 0x9e3779b97f4a7c15u) >> 20) & (t->places - 1);
}

static void place_at(struct pp_open_table *t, struct pp_open open)
{
	size_t at = home(t, open.id);

	while (t->place[at].span)
		at = (at + 1) & (t->places - 1);
	t->place[at] = open;
}

static int grow(struct pp_open_table *t)
{
	struct pp_open_table bigger = {.places = t->places ? t->places * 2 : 64, .used = t->used};

	bigger.place = calloc(bigger.places, sizeof(*bigger.place));
	if (!bigger.place)
		return -1;
	for (size_t i = 0; i < t->places; i++)
		if (t->place[i].span)
			place_at(&bigger, t->place[i]);
	free(t->place);
	*t = bigger;
	return 0;
}

int pp_open_put(struct pp_open_table *t, uint64_t id, struct pp_span *span, struct pp_track *track)
{
	if (t->used >= PP_OPEN_MOST || (2 * (t->used + 1) > t->places && grow(t)))
		return -1;
	place_at(t, (struct pp_open){id, span, track});
	t->used++;
	return 0;
}

struct pp_open *pp_open_find(const struct pp_open_table *t, uint64_t id)
{
	if (!t->used)
		return NULL;
	for (size_t at = home(t, id); t->place[at].span; at = (at + 1) & (t->places - 1))
		if (t->place[at].id == id)
			return &t->place[at];
	return NULL;
}

void pp_open_remove(struct pp_open_table *t, struct pp_open *open)
{
	size_t hole = (size_t)(open - t->place), at = hole;

	for (;;) {
		size_t want;

		at = (at + 1) & (t->places - 1);
		if (!t->place[at].span)
			break;
		want = home(t, t->place[at].id);
		/* May it move into the hole? Only if its home is not between the hole and its place. */
		if (((at - want) & (t->places - 1)) < ((at - hole) & (t->places - 1)))
			continue;
		t->place[hole] = t->place[at];
		hole = at;
	}
	t->place[hole].span = NULL;
	t->used--;
}

void pp_open_moved(struct pp_open_table *t, uint64_t id, struct pp_span *moved)
{
	struct pp_open *open = pp_open_find(t, id);

	if (open && moved)
		open->span = moved;
	else if (open)
		pp_open_remove(t, open);
}

size_t pp_open_close(struct pp_open_table *t, const struct pp_track *track)
{
	size_t ended = 0;

	for (size_t i = 0; i < t->places; i++)
		while (t->place[i].span && t->place[i].track == track) {
			pp_track_end_span(t->place[i].span, track->last, PP_SPAN_CUT_END);
			pp_open_remove(t, &t->place[i]);
			ended++;
		}
	return ended;
}

void pp_open_release(struct pp_open_table *t)
{
	free(t->place);
	*t = (struct pp_open_table){0};
}
