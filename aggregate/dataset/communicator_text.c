/* Names communicators by what a reader knows of them. See communicator_text.h. */
#include "aggregate/dataset/communicator_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/rank_list.h"
#include "core/base/utf8.h"
#include "core/ring/intern.h"

enum { NAME_BYTES = 24, RANKS_BYTES = 40 };

static int is_alike(const struct pp_row_communicator *a, const struct pp_row_communicator *b)
{
	return a->size == b->size && a->name == b->name && !strcmp(a->role, b->role) && a->member && b->member &&
	       !memcmp(a->member, b->member, a->size * sizeof(*a->member));
}

/* "rank 3", "ranks 0-3"; of those that are known. 0: none is. */
static int put_members(const struct pp_row_communicator *c, char *text, size_t size)
{
	char list[RANKS_BYTES] = "";
	struct pp_rank_text ranks = {.to = list, .size = sizeof(list)};
	size_t known;

	for (uint32_t i = 0; c->member && i < c->size; i++)
		if (c->member[i] >= 0)
			pp_rank_text_add(&ranks, c->member[i]);
	known = pp_rank_text_end(&ranks);
	if (known != c->size || !known)
		return 0;
	snprintf(text, size, "rank%s %s", known > 1 ? "s" : "", list);
	return 1;
}

const char *pp_communicator_text(const struct pp_dataset *d, uint64_t id, char *text)
{
	const struct pp_row_communicator *c = pp_dataset_communicator(d, id);
	const char *kind, *name;
	char ranks[RANKS_BYTES + 8], named[NAME_BYTES + 8] = "";
	size_t alike = 0;

	if (!c) {
		snprintf(text, PP_COMMUNICATOR_TEXT, "an unknown communicator");
		return text;
	}
	for (size_t i = 0; i < d->communicators; i++)
		alike += is_alike(c, &d->communicator[i]);
	kind = !strcmp(c->role, "window") || !strcmp(c->role, "file") ? c->role : "communicator";
	name = pp_intern_text(d->names, c->name, NULL);
	if (*name)
		snprintf(named, sizeof(named), " '%.*s'", pp_utf8_fit(name, NAME_BYTES), name);
	if (!put_members(c, ranks, sizeof(ranks)))
		snprintf(ranks, sizeof(ranks), "%" PRIu32 " rank%s", c->size, c->size == 1 ? "" : "s");
	if (alike > 1)
		snprintf(text, PP_COMMUNICATOR_TEXT, "one of %zu %ss%s of %s", alike, kind, named, ranks);
	else
		snprintf(text, PP_COMMUNICATOR_TEXT, "%s%s of %s", kind, named, ranks);
	return text;
}
