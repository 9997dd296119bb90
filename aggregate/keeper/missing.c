/* Finds ranks that do not record; see missing.h. It reports after 10 s, longer than a slow start takes. */
#include "aggregate/keeper/missing.h"

#include <stdio.h>
#include <stdlib.h>

#include "aggregate/keeper/cluster/pod_ranks.h"
#include "aggregate/spool/control.h"
#include "aggregate/spool/ranks.h"

enum { PATIENCE_MS = 10000 };

enum { ABSENT, CARRIED, HERE }; /* CARRIED: podprof run started it, but it has not become the rank so far */

static int64_t patience_ms(void)
{
	const char *text = getenv("PODPROF_PATIENCE_MS");
	int64_t ms = text ? strtoll(text, NULL, 10) : 0;

	return ms >= 100 && ms <= PATIENCE_MS ? ms : PATIENCE_MS;
}

/* An outer podprof run stands for all ranks of its host, and names none. */
static int mark(const struct pp_spool_view *v, const struct pp_pod *pod, char *state, int32_t size)
{
	size_t others = 0;
	const struct pp_pod_rank *other = pp_pod_ranks(pod, &others);
	int all = 0;

	for (size_t i = 0; i < v->runs; i++) {
		all |= v->run[i].file.rank < 0;
		if (v->run[i].file.rank >= 0 && v->run[i].file.rank < size)
			state[v->run[i].file.rank] = CARRIED;
	}
	for (size_t i = 0; i < pp_spool_count(v); i++)
		if (!pp_spool_is_excluded(v, i) && pp_spool_header(v, i)->rank >= 0 && pp_spool_header(v, i)->rank < size)
			state[pp_spool_header(v, i)->rank] = HERE;
	for (size_t i = 0; i < others; i++)
		if (other[i].rank >= 0 && other[i].rank < size)
			state[other[i].rank] = HERE;
	return all;
}

/* Prints "5-7, 9" as far as it fits. */
static void list_ranks(const char *state, int32_t size, char *text, size_t room)
{
	size_t n = 0;

	text[0] = '\0';
	for (int32_t i = 0, last; i < size && n + 32 < room; i = last + 1) {
		last = i;
		if (state[i] == HERE)
			continue;
		while (last + 1 < size && state[last + 1] != HERE)
			last++;
		n += (size_t)snprintf(text + n, room - n, last > i ? "%s%d-%d" : "%s%d", n ? ", " : "", (int)i, (int)last);
	}
	if (n + 32 >= room)
		snprintf(text + n, room - n, ", ...");
}

static void say(struct pp_control *control, const char *state, int32_t size, int32_t absent, int32_t missing)
{
	char ranks[96];

	list_ranks(state, size, ranks, sizeof(ranks));
	snprintf(control->notice, sizeof(control->notice),
	         absent ? "%d of %d ranks of this job have no podprof (rank%s %s): they will be missing from the session"
	                : "%d of %d ranks have recorded nothing so far (rank%s %s): no MPI call, step or range",
	         (int)missing, (int)size, missing == 1 ? "" : "s", ranks);
	pp_keeper_log("%s", control->notice);
	/* Release: a reader that sees the new count sees the whole sentence. */
	atomic_fetch_add_explicit(&control->notices, 1, memory_order_release);
}

/* Size of the job where rank 0 is here; 0: another keeper reports. */
static int32_t size_of(const struct pp_spool_view *v)
{
	int32_t size = 0;
	int zero = 0;

	for (size_t i = 0; i < pp_spool_count(v); i++) {
		const struct pp_ring_header *h = pp_spool_header(v, i);

		zero |= h->rank == 0;
		if (h->size > size)
			size = h->size;
	}
	return zero && size <= PP_RANKS_MOST ? size : 0;
}

void pp_missing_check(struct pp_missing *m, const struct pp_spool_view *v, const struct pp_pod *pod, struct pp_control *control,
                      int64_t now_ms)
{
	int32_t size, absent = 0, missing = 0;
	char *state;
	int all;

	if (m->reported || !pp_spool_count(v))
		return;
	if (!m->since_ms)
		m->since_ms = now_ms;
	if (now_ms - m->since_ms < patience_ms())
		return;
	size = size_of(v);
	if (size <= 0)
		return;
	m->reported = 1;
	state = calloc((size_t)size, 1);
	if (!state)
		return;
	all = mark(v, pod, state, size);
	for (int32_t i = 0; i < size; i++) {
		absent += state[i] == ABSENT && !all;
		missing += state[i] != HERE;
	}
	if (missing)
		say(control, state, size, absent, missing);
	free(state);
}

int32_t pp_missing_speaker(const struct pp_spool_view *v)
{
	int32_t first = INT32_MAX;

	for (size_t i = 0; i < pp_spool_count(v); i++)
		if (!pp_spool_is_excluded(v, i) && pp_spool_header(v, i)->rank < first)
			first = pp_spool_header(v, i)->rank;
	return pp_ranks_launched(v) > 0 && first < pp_ranks_launched(v) ? first : 0;
}

void pp_missing_text(const struct pp_spool_view *v, char *text, size_t size)
{
	int32_t ranks = pp_ranks_launched(v), absent = 0;
	char *state = calloc((size_t)ranks + 1, 1), list[96];

	text[0] = '\0';
	if (!state)
		return;
	mark(v, NULL, state, ranks);
	for (int32_t i = 0; i < ranks; i++) {
		absent += state[i] == ABSENT;
		state[i] = state[i] == ABSENT ? ABSENT : HERE;
	}
	list_ranks(state, ranks, list, sizeof(list));
	if (absent)
		snprintf(text, size, "rank%s %s ran without podprof. Write 'podprof run --' right before %s program too",
		         absent == 1 ? "" : "s", list, absent == 1 ? "its" : "their");
	free(state);
}
