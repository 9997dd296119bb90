/* Reads the headers of a live job's rings, and prints and parses lines of the list of ranks; see live.h. */
#include "aggregate/keeper/live.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/keeper/ranks.h"
#include "aggregate/keeper/spool.h"
#include "core/base/plain.h"
#include "core/source/mpi_call.h"

enum { RINGS_BYTES = 1 << 20 };
#define MOST_STEPS ((uint64_t)1 << 50) /* between two readings; a larger number is damaged */

struct pace { /* one ring's steps since the last list */
	int64_t step, first_step;
	int64_t changed_ns, first_ns; /* when the number was seen to change; first_ns 0: not since the last list */
	int64_t moved;                /* steps since first_ns */
	int known;
};

struct pp_live {
	struct pp_spool_view view;
	char path[512];
	struct pace *pace;
	size_t paces;
};

int pp_live_open(const char *spool, struct pp_live **ret_live, struct pp_err *err)
{
	struct pp_live *l = calloc(1, sizeof(*l));

	if (!l)
		return pp_err_set(err, -ENOMEM, "no memory to look at '%s'", spool);
	snprintf(l->path, sizeof(l->path), "%s", spool);
	l->view.path = l->path;
	l->view.rings = pp_rings_new(RINGS_BYTES);
	if (!l->view.rings) {
		free(l);
		return pp_err_set(err, -ENOMEM, "no memory to look at '%s'", spool);
	}
	pp_rings_private(l->view.rings);
	*ret_live = l;
	return 0;
}

void pp_live_close(struct pp_live *l)
{
	if (!l)
		return;
	pp_spool_view_release(&l->view);
	free(l->pace);
	free(l);
}

static int more_paces(struct pp_live *l)
{
	size_t count = pp_rings_count(l->view.rings);
	struct pace *pace = count > l->paces ? realloc(l->pace, count * sizeof(*pace)) : l->pace;

	if (!pace)
		return -ENOMEM;
	if (count > l->paces)
		memset(pace + l->paces, 0, (count - l->paces) * sizeof(*pace));
	l->pace = pace;
	l->paces = count;
	return 0;
}

static void look_at(struct pace *p, int64_t step, int64_t now_ns)
{
	if (!p->known) {
		*p = (struct pace){.step = step, .changed_ns = now_ns, .known = 1};
		return;
	}
	if (step == p->step)
		return;
	if (p->first_ns)
		p->moved += step > p->step && (uint64_t)step - (uint64_t)p->step < MOST_STEPS ? step - p->step : 1;
	else
		p->first_ns = now_ns;
	p->step = step;
	p->changed_ns = now_ns;
}

void pp_live_look(struct pp_live *l, int64_t now_ns)
{
	size_t count = pp_rings_count(l->view.rings);

	for (size_t i = 0; i < count && i < l->paces; i++)
		look_at(&l->pace[i], pp_ranks_step(pp_rings_header(l->view.rings, i)), now_ns);
}

static void say_where(const struct pp_ring_header *h, struct pp_live_rank *r)
{
	uint32_t threads = pp_ring_thread_used(h), at = 0;
	struct pp_where where;

	while (at < threads && at < PP_RING_THREADS && !(h->thread[at].is_main && pp_slot_state(&h->thread[at]) == PP_THREAD_LIVE))
		at++;
	if (at >= threads || at >= PP_RING_THREADS)
		return;
	where = h->thread[at].where;
	if (!where.call)
		return;
	snprintf(r->call, sizeof(r->call), "%s", pp_mpi_call_info(where.call - 1u)->name);
	r->comm = where.comm;
	r->sequence = where.sequence;
	r->peer = where.peer;
}

static void fill(struct pp_live *l, size_t i, int64_t now_ns, struct pp_live_rank *r)
{
	const struct pp_ring_header *h = pp_rings_header(l->view.rings, i);
	struct pace *p = &l->pace[i];

	*r = (struct pp_live_rank){.rank = h->rank, .size = h->size, .pid = h->pid, .peer = -1, .step = p->step};
	snprintf(r->host, sizeof(r->host), "%.71s", h->host);
	pp_plain(r->host, "");
	r->recording = pp_ring_recording(h) != 0;
	r->marks = pp_ring_step_marks(h) != 0;
	if (pp_ring_state(h) == PP_RANK_ENDING) {
		r->state = PP_LIVE_ENDED;
		r->exit_status = pp_ring_exit_status(h);
	} else if (pp_ranks_has_ended(&l->view, i)) {
		r->state = PP_LIVE_GONE;
	}
	r->still_ns = now_ns - p->changed_ns;
	if (p->moved > 0)
		r->step_ns = (p->changed_ns - p->first_ns) / p->moved;
	/* The next list's times begin where this one's ended. */
	p->first_ns = p->first_ns ? p->changed_ns : 0;
	p->moved = 0;
	if (r->state == PP_LIVE_RUNNING)
		say_where(h, r);
}

static int slower(const void *a, const void *b)
{
	const struct pp_live_rank *x = a, *y = b;

	if (x->state != y->state)
		return x->state < y->state ? -1 : 1;
	if (x->slow_ns != y->slow_ns)
		return x->slow_ns > y->slow_ns ? -1 : 1;
	if (x->step != y->step)
		return x->step < y->step ? -1 : 1;
	if (!x->step_ns && !x->call[0] != !y->call[0])
		return x->call[0] ? 1 : -1; /* a rank in no call waits for nobody */
	return x->rank - y->rank;
}

/* A rank that stands still behind all others is the slowest; one that stands still ahead of another waits for it. */
static void judge(struct pp_live_rank *list, long count)
{
	int64_t least = INT64_MAX;

	for (long i = 0; i < count; i++)
		if (list[i].state == PP_LIVE_RUNNING && list[i].marks && list[i].step < least)
			least = list[i].step;
	for (long i = 0; i < count; i++)
		list[i].slow_ns = list[i].step_ns ? list[i].step_ns : list[i].marks && list[i].step <= least ? INT64_MAX : 0;
}

void pp_live_sort(struct pp_live_rank *list, long count)
{
	judge(list, count);
	qsort(list, (size_t)count, sizeof(*list), slower);
}

/* Did the claim pass to a later ring of the same rank? */
static int is_replaced(const struct pp_rings *r, size_t i)
{
	const struct pp_ring_header *h = pp_rings_header(r, i);

	for (size_t k = 0; k < pp_rings_count(r); k++)
		if (pp_rings_header(r, k)->rank == h->rank && pp_rings_header(r, k)->open_tick > h->open_tick)
			return 1;
	return 0;
}

long pp_live_list(struct pp_live *l, int64_t now_ns, struct pp_live_rank **ret_list)
{
	struct pp_live_rank *list;
	long count = 0;

	pp_spool_scan(&l->view);
	if (more_paces(l))
		return -ENOMEM;
	pp_live_look(l, now_ns);
	list = calloc(l->paces + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < l->paces; i++)
		if (!is_replaced(l->view.rings, i))
			fill(l, i, now_ns, &list[count++]);
	pp_live_sort(list, count);
	*ret_list = list;
	return count;
}

int pp_live_put(const struct pp_live_rank *r, char *line, size_t size)
{
	char host[72];

	snprintf(host, sizeof(host), "%s", r->host[0] ? r->host : "?");
	for (char *p = host; *p; p++)
		if ((unsigned char)*p <= ' ' || *p == 0x7f)
			*p = '_';
	return snprintf(line, size,
	                "rank %d %d %d %s %d %d %d %d %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %s %" PRIx64 " %" PRIu32
	                " %" PRId32 "\n",
	                r->rank, r->size, r->pid, host, (int)r->state, r->exit_status, r->recording, r->marks, r->step, r->step_ns,
	                r->still_ns, r->slow_ns, r->call[0] ? r->call : "-", r->comm, r->sequence, r->peer);
}

int pp_live_get(const char *line, struct pp_live_rank *ret)
{
	struct pp_live_rank r = {.rank = 0};
	int state = 0;

	/* NOLINTNEXTLINE(cert-err34-c): what is out of range is out of range in the table too */
	if (sscanf(line,
	           "rank %d %d %d %71s %d %d %d %d %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %47s %" SCNx64 " %" SCNu32
	           " %" SCNd32,
	           &r.rank, &r.size, &r.pid, r.host, &state, &r.exit_status, &r.recording, &r.marks, &r.step, &r.step_ns,
	           &r.still_ns, &r.slow_ns, r.call, &r.comm, &r.sequence, &r.peer) != 16 ||
	    state < PP_LIVE_RUNNING || state > PP_LIVE_GONE)
		return -EINVAL;
	r.state = (enum pp_live_state)state;
	if (!strcmp(r.call, "-"))
		r.call[0] = '\0';
	*ret = r;
	return 0;
}
