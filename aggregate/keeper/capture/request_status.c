/* Watches the ranks for a second, then lists what they do; see request_status.h. */
#include "aggregate/keeper/capture/request_status.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "aggregate/keeper/capture/request_client.h"
#include "aggregate/keeper/cluster/pod.h"
#include "aggregate/keeper/live.h"
#include "core/base/now.h"
#include "core/source/mpi_call.h"

enum { LOOK_MS = 1000, LINE = 512 };

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * (int64_t)1000000000 + t.tv_nsec;
}

static int anybody(const struct pp_requests *r)
{
	for (int i = 0; i < PP_REQUEST_SLOTS; i++)
		if (r->client[i].state == PP_CLIENT_LOOKS)
			return 1;
	return 0;
}

/* A rank of another host: what its keeper reported when the second began, and now. */
static void from_elsewhere(const struct pp_pod_rank *p, const struct pp_requests_seen *seen, size_t seens, int32_t size,
                           struct pp_live_rank *r)
{
	int64_t moved = 0;

	*r = (struct pp_live_rank){.rank = p->rank,
	                           .size = size,
	                           .pid = p->pid,
	                           .state = p->gone ? PP_LIVE_GONE : PP_LIVE_RUNNING,
	                           .recording = p->recording,
	                           .marks = p->marks,
	                           .step = p->step,
	                           .peer = -1};
	snprintf(r->host, sizeof(r->host), "%s", p->host);
	for (size_t i = 0; i < seens; i++)
		if (seen[i].rank == p->rank && seen[i].step != INT64_MIN)
			moved = p->step - seen[i].step;
	r->still_ns = LOOK_MS * INT64_C(1000000);
	if (moved > 0)
		r->step_ns = r->slow_ns = r->still_ns / moved;
	if (moved > 0 || !p->where.call)
		return;
	snprintf(r->call, sizeof(r->call), "%s", pp_mpi_call_info(p->where.call - 1u)->name);
	r->comm = p->where.comm;
	r->sequence = p->where.sequence;
	r->peer = p->where.peer;
}

static void see_elsewhere(struct pp_requests *r)
{
	size_t ranks = 0;
	const struct pp_pod_rank *rank = pp_pod_ranks(r->pod, &ranks);

	free(r->seen);
	r->seen = calloc(ranks + 1, sizeof(*r->seen));
	r->seens = r->seen ? ranks : 0;
	for (size_t i = 0; i < r->seens; i++)
		r->seen[i] = (struct pp_requests_seen){.rank = rank[i].rank, .step = rank[i].step};
}

/* Adds the ranks of other hosts and sorts the list. */
static long add_elsewhere(struct pp_requests *r, struct pp_live_rank **list, long count)
{
	size_t ranks = 0;
	const struct pp_pod_rank *rank = pp_pod_ranks(r->pod, &ranks);
	struct pp_live_rank *more = count > 0 && ranks ? realloc(*list, ((size_t)count + ranks) * sizeof(*more)) : NULL;

	if (!more)
		return count;
	for (size_t i = 0; i < ranks; i++)
		from_elsewhere(&rank[i], r->seen, r->seens, more[0].size, &more[count + (long)i]);
	*list = more;
	pp_live_sort(more, count + (long)ranks);
	return count + (long)ranks;
}

/* One text: many small sends fill a socket long before their bytes do. NULL: no memory. */
static char *text_of(const struct pp_live_rank *list, long count)
{
	size_t room = 16 + (size_t)(count > 0 ? count : 0) * LINE, n = 0;
	char *text = malloc(room);

	if (!text || count < 0) {
		free(text);
		return NULL;
	}
	n = (size_t)snprintf(text, room, "done\n");
	for (long i = 0; i < count; i++) {
		int line = pp_live_put(&list[i], text + n, LINE);

		n += line < LINE ? (size_t)line : 0;
	}
	text[n] = '\0';
	return text;
}

static void answer_all(struct pp_requests *r, const struct pp_live_rank *list, long count)
{
	char *text = text_of(list, count);

	for (int i = 0; i < PP_REQUEST_SLOTS; i++) {
		struct pp_client *c = &r->client[i];

		if (c->state != PP_CLIENT_LOOKS)
			continue;
		if (text)
			pp_client_put(c, text);
		else
			pp_client_say(c, "failed\nthe keeper has no memory to look at the ranks");
		pp_client_leave(c);
	}
	free(text);
}

void pp_requests_status(struct pp_requests *r)
{
	struct pp_live_rank *list = NULL;
	long count = -1;

	if (!r->live && !anybody(r))
		return;
	if (!r->live) {
		r->live_ms = pp_now_ms();
		see_elsewhere(r);
		if (!pp_live_open(r->spool, &r->live, NULL) && pp_live_list(r->live, now_ns(), &list) >= 0) {
			free(list);
			return;
		}
	}
	if (r->live)
		pp_live_look(r->live, now_ns());
	if (r->live && pp_now_ms() - r->live_ms < LOOK_MS)
		return;
	if (r->live)
		count = add_elsewhere(r, &list, pp_live_list(r->live, now_ns(), &list));
	answer_all(r, list, count);
	free(list);
	pp_live_close(r->live);
	r->live = NULL;
}
