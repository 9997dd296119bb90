/* Metadata of events and stats by id, as tables of a plane, and what stats mean. Called by plane.c, value.c and lines.c. */
#pragma once

#include "aggregate/read/xspace/state.h"

/* Adds an entry of a plane's map; its message is not read until an event names it. */
void pp_xmeta_add(struct pp_xread *x, struct pp_xtable *t, const struct pp_field *entry);
/* After all entries, before any is looked for. */
void pp_xmeta_index(struct pp_xread *x, struct pp_xtable *t);
/* NULL: the table has no such id. The caller reads its message where it is not ready. */
struct pp_xmeta *pp_xmeta_find(struct pp_xtable *t, uint64_t id);
/* Reads the message: text, length, and what a stat means. Returns 1 where an event's metadata has stats of its own. */
int pp_xmeta_ready(struct pp_xread *x, const struct pp_xplane *p, struct pp_xmeta *m, int is_event);
/* The stat with this id, read; NULL: the plane has none. */
struct pp_xmeta *pp_xmeta_find_stat(struct pp_xread *x, struct pp_xplane *p, uint64_t id);
/* Entries that were read for the line x->lines are read again when an event names them: its damage counts again. */
void pp_xmeta_forget(const struct pp_xread *x, struct pp_xtable *t);
/* Frees the entries; the table may be used again. */
void pp_xmeta_release(struct pp_xtable *t);

/* The metadata with this small id that was looked at before; NULL: look for it. */
static inline struct pp_xmeta *pp_xtable_at(const struct pp_xtable *t, uint64_t id)
{
	struct pp_xmeta *m = id < t->places && t->place[id] ? &t->meta[t->place[id] - 1] : NULL;

	return m && m->is_ready ? m : NULL;
}

/* As pp_xmeta_find_stat(), without a call where it was read before. */
static inline struct pp_xmeta *pp_xmeta_stat(struct pp_xread *x, struct pp_xplane *p, uint64_t id)
{
	struct pp_xmeta *m = pp_xtable_at(&p->stats, id);

	return m ? m : pp_xmeta_find_stat(x, p, id);
}
