/* Launches by their content; see launch_table.h. Called by the readers of rings, XSpace and Kineto. */
#include "aggregate/read/launch_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/grow.h"
#include "core/base/hash.h"
#include "core/capture/side.h"

static size_t hash_of(const struct pp_launch *l)
{
	uint64_t hash = pp_hash(PP_HASH_BEGIN, l, sizeof(*l));

	return (size_t)(hash ^ hash >> 32);
}

static int grow(struct pp_launch_table *t)
{
	size_t places = t->places ? 2 * t->places : 256;
	uint32_t *place = calloc(places, sizeof(*place));

	if (!place)
		return -ENOMEM;
	for (size_t i = 0; i < t->launches; i++) {
		size_t at = hash_of(&t->launch[i]) & (places - 1);

		while (place[at])
			at = (at + 1) & (places - 1);
		place[at] = (uint32_t)i + 1;
	}
	free(t->place);
	t->place = place;
	t->places = places;
	return 0;
}

uint32_t pp_launch_put(struct pp_launch_table *t, const struct pp_launch *launch)
{
	struct pp_launch *more;
	size_t at;

	if (2 * (t->launches + 1) > t->places && grow(t))
		return 0;
	at = hash_of(launch) & (t->places - 1);
	for (; t->place[at]; at = (at + 1) & (t->places - 1))
		/* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): it has no padding, and its only float no two zeros */
		if (!memcmp(&t->launch[t->place[at] - 1], launch, sizeof(*launch)))
			return t->place[at];
	more = pp_grow(t->launch, t->launches, &t->room, sizeof(*more));
	if (!more)
		return 0;
	t->launch = more;
	t->launch[t->launches++] = *launch;
	t->place[at] = (uint32_t)t->launches;
	return t->place[at];
}

void pp_launch_release(struct pp_launch_table *t)
{
	free(t->launch);
	free(t->place);
	*t = (struct pp_launch_table){0};
}
