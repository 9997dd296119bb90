/* Finds when records of devices are missing; see device_cover.h. Called by device_link.c. */
#include "aggregate/read/ring/device_cover.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/compare.h"
#include "core/base/grow.h"
#include "core/capture/rank.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"

enum { NAMES_MOST = 64, NEVER_USES = 100 };

struct cover {
	struct pp_rank *rank;
	struct pp_cover_launch *launch; /* by begin */
	size_t launches;
	struct pp_device_gap *gap;
	size_t gaps, room;
	struct {
		uint32_t name;
		uint64_t uses, ran;
	} name[NAMES_MOST];
	size_t names;
	int any_ran;
	int64_t *next; /* by thread: start of the first operation that was launched later; INT64_MIN: none */
};

PP_COMPARE_BY(compare_launch, struct pp_cover_launch, begin)
PP_COMPARE_BY(compare_gap, struct pp_device_gap, begin)

static int add(struct cover *c, int64_t begin, int64_t end, uint64_t launches)
{
	if (end <= begin)
		return 0;
	if (PP_GROW(c->gap, c->gaps, c->room))
		return -ENOMEM;
	c->gap[c->gaps++] = (struct pp_device_gap){.begin = begin, .end = end, .launches = launches};
	return 0;
}

static void count_names(struct cover *c)
{
	for (size_t i = 0; i < c->launches; i++) {
		size_t at = 0;

		while (at < c->names && c->name[at].name != c->launch[i].name)
			at++;
		if (at == NAMES_MOST)
			continue;
		if (at == c->names)
			c->name[c->names++].name = c->launch[i].name;
		c->name[at].uses++;
		c->name[at].ran += c->launch[i].start != INT64_MIN;
		c->any_ran |= c->launch[i].start != INT64_MIN;
	}
}

/* Some calls launch nothing that has a record: they have none in all their uses, where others have. */
static int is_due(const struct cover *c, const struct pp_cover_launch *launch)
{
	size_t at = 0;

	if (!launch->is_launch)
		return 0;
	while (at < c->names && c->name[at].name != launch->name)
		at++;
	return at == c->names || c->name[at].ran || c->name[at].uses < NEVER_USES || !c->any_ran;
}

/* A stream runs in order: what has no record ran before the first operation of its stream that was launched later, so before the
 * last one of such operations of all streams. */
static int64_t latest(const struct cover *c)
{
	int64_t most = INT64_MIN;

	for (size_t t = 0; t < c->rank->threads; t++)
		most = c->next[t] > most ? c->next[t] : most;
	return most == INT64_MIN ? c->rank->recorded_to + 1 : most;
}

/* From the last launch to the first. */
static int find_missing(struct cover *c)
{
	size_t open = SIZE_MAX; /* the gap that the last missing launch began */

	for (size_t i = c->launches; i-- > 0;) {
		const struct pp_cover_launch *launch = &c->launch[i];
		int64_t end;

		if (launch->start != INT64_MIN) {
			c->next[launch->stream] = launch->start;
			continue;
		}
		if (!is_due(c, launch))
			continue;
		end = latest(c);
		if (c->gap && open != SIZE_MAX && c->gap[open].begin <= end) {
			c->gap[open].begin = launch->begin;
			c->gap[open].launches++;
			continue;
		}
		open = c->gaps;
		if (add(c, launch->begin, end > launch->end ? end : launch->end + 1, 1))
			return -ENOMEM;
	}
	return 0;
}

/* Of a rank that marks steps; INT64_MAX: it marks none. */
static int64_t longest_step(const struct pp_rank *rank)
{
	int64_t most = 0;

	for (size_t t = 0; t < rank->threads; t++)
		for (size_t k = 0; k < pp_thread_others(&rank->thread[t], PP_SPAN_BIT(PP_SPAN_STEP)); k++) {
			const struct pp_span *s = &rank->thread[t].span[pp_thread_other(&rank->thread[t], k)];

			if (s->kind == PP_SPAN_STEP && s->end - s->begin > most)
				most = s->end - s->begin;
		}
	return most ? most : INT64_MAX;
}

/* When all that was launched before `on` was over: when each stream had begun what was launched later. A stream to which nothing
 * was launched for as long as a step had nothing from before. */
static int64_t find_clean(struct cover *c, int64_t on, int64_t off)
{
	int64_t longest = longest_step(c->rank), until = longest > off - on ? off : on + longest, clean = on;

	for (size_t t = 0; t < c->rank->threads; t++)
		c->next[t] = INT64_MIN;
	for (size_t i = 0; i < c->launches && c->launch[i].begin <= until; i++) {
		const struct pp_cover_launch *launch = &c->launch[i];

		if (launch->begin < on || launch->start == INT64_MIN || c->next[launch->stream] != INT64_MIN)
			continue;
		c->next[launch->stream] = launch->start;
		clean = launch->start > clean ? launch->start : clean;
	}
	return clean < off ? clean : off;
}

/* Rows of when the library was on, each with the time since when the rank may have used its devices without records. */
static int find_off(struct cover *c, struct pp_device_gap *on, size_t ons)
{
	int64_t last = c->rank->open_tick, end = c->rank->recorded_to + 1;

	qsort(on, ons, sizeof(*on), compare_gap);
	for (size_t i = 0; i < ons; i++) {
		int64_t off = on[i].end ? on[i].end : i + 1 < ons ? on[i + 1].begin : end;

		if (i == 0 && (int64_t)on[i].launches > last)
			last = (int64_t)on[i].launches;
		if (add(c, last, on[i].is_idle ? on[i].begin : find_clean(c, on[i].begin, off), 0))
			return -ENOMEM;
		last = off;
	}
	return add(c, last, end, 0);
}

int pp_device_cover(struct pp_rank *rank, struct pp_cover_launch *launch, size_t launches)
{
	struct cover c = {.rank = rank, .launch = launch, .launches = launches};
	int rc = 0;

	if (!rank->gaps) /* recorded by a version that does not say when the library was on */
		return 0;
	c.next = calloc(rank->threads + 1, sizeof(*c.next));
	if (!c.next)
		return -ENOMEM;
	if (launches)
		qsort(launch, launches, sizeof(*launch), compare_launch);
	for (size_t t = 0; t < rank->threads; t++)
		c.next[t] = INT64_MIN;
	count_names(&c);
	rc = find_missing(&c);
	if (!rc)
		rc = find_off(&c, rank->gap, rank->gaps);
	free(c.next);
	if (rc) {
		free(c.gap);
		return rc;
	}
	free(rank->gap);
	if (c.gaps)
		qsort(c.gap, c.gaps, sizeof(*c.gap), compare_gap);
	rank->gap = c.gap;
	rank->gaps = c.gaps;
	return 0;
}
