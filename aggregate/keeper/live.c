/* Reads the headers of a live job's rings, and prints and parses lines of the list of ranks; see live.h. */
#include "aggregate/keeper/live.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/spool/place.h"
#include "aggregate/spool/ranks.h"
#include "aggregate/spool/still.h"
#include "core/base/compare.h"
#include "core/base/now.h"
#include "core/base/plain.h"
#include "core/call/mpi_call.h"

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
	l->view.is_private = 1;
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
	size_t count = pp_spool_count(&l->view);
	struct pace *pace = count > l->paces ? realloc(l->pace, count * sizeof(*pace)) : l->pace;

	if (!pace)
		return -ENOMEM;
	if (count > l->paces)
		memset(pace + l->paces, 0, (count - l->paces) * sizeof(*pace));
	l->pace = pace;
	l->paces = count;
	return 0;
}

static void sample_pace(struct pace *p, int64_t step, int64_t now_ns)
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

void pp_live_sample(struct pp_live *l, int64_t now_ns)
{
	size_t count = pp_spool_count(&l->view);

	pp_still_check_all(&l->view, pp_now_ms(), 0);
	for (size_t i = 0; i < count && i < l->paces; i++)
		sample_pace(&l->pace[i], pp_ranks_step(pp_spool_header(&l->view, i)), now_ns);
}

static void name_call(char *to, size_t size, unsigned call)
{
	snprintf(to, size, "%s", call ? pp_mpi_call_info(call - 1)->name : "");
}

void pp_live_place(struct pp_live_rank *r, const struct pp_still *s, int64_t now_ms)
{
	const struct pp_where *w = &s->where;

	name_call(r->call, sizeof(r->call), w->call ? w->call : pp_still_polls(w->last) ? w->last : 0);
	name_call(r->last, sizeof(r->last), w->last);
	name_call(r->waits, sizeof(r->waits), w->waits);
	r->comm = w->comm;
	r->sequence = w->sequence;
	r->peer = w->peer;
	r->waits_sequence = w->waits_sequence;
	r->other_more = w->peers_more != 0;
	for (int i = 0; i < PP_WHERE_PEERS; i++)
		r->other[i] = i < w->peers ? w->peer_of[i] : -1;
	r->place_ns = (now_ms - s->since_ms) * INT64_C(1000000);
}

void pp_live_comm(struct pp_live_rank *r, const struct pp_ring_comm *row)
{
	size_t n = 0;

	r->comm_size = row->size > 0 ? row->size : 0;
	r->comm_flags = row->flags;
	snprintf(r->comm_name, sizeof(r->comm_name), "%s", row->name);
	pp_plain(r->comm_name, "");
	for (int i = 0; i < row->runs && n + 40 < sizeof(r->members); i++)
		n += (size_t)snprintf(r->members + n, sizeof(r->members) - n, "%d:%d:%d,", row->run[i].first, row->run[i].count,
		                      row->run[i].stride);
	if (n + 40 >= sizeof(r->members))
		r->members[0] = '\0';
}

static void say_place(const struct pp_live *l, size_t i, struct pp_live_rank *r)
{
	const struct pp_ring_header *h = pp_spool_header(&l->view, i);
	struct pp_still *s = pp_still_of(&l->view, i);
	int64_t now_ms = pp_now_ms();
	struct pp_ring_comm row;

	r->end = l->view.rank[i].gone ? l->view.rank[i].end : -1;
	if (!s)
		return;
	pp_live_place(r, s, now_ms);
	if (r->state == PP_LIVE_RUNNING)
		r->process = pp_still_process(s, &l->view.rank[i], now_ms);
	if (pp_place_comm(h, r->comm, &row))
		pp_live_comm(r, &row);
	pp_live_nccl_put(h, r->nccl, sizeof(r->nccl));
}

static void fill(struct pp_live *l, size_t i, int64_t now_ns, struct pp_live_rank *r)
{
	const struct pp_ring_header *h = pp_spool_header(&l->view, i);
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
	say_place(l, i, r);
}

PP_COMPARE(slower, struct pp_live_rank,
           PP_UP(state) ?: PP_DOWN(slow_ns) ?: PP_UP(step) ?: (x->step_ns ? 0 : PP_ORDER(!y->call[0], !x->call[0])) ?: PP_UP(rank))

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
static int is_replaced(const struct pp_spool_view *v, size_t i)
{
	const struct pp_ring_header *h = pp_spool_header(v, i);

	for (size_t k = 0; k < pp_spool_count(v); k++)
		if (pp_spool_header(v, k)->rank == h->rank && pp_spool_header(v, k)->open_tick > h->open_tick)
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
	pp_live_sample(l, now_ns);
	list = calloc(l->paces + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < l->paces; i++)
		if (!is_replaced(&l->view, i))
			fill(l, i, now_ns, &list[count++]);
	pp_live_sort(list, count);
	*ret_list = list;
	return count;
}

/* A text as one word of a line; "-" for none. */
static const char *word_of(const char *text, char *to, size_t size)
{
	snprintf(to, size, "%s", text[0] ? text : "-");
	for (char *p = to; *p; p++)
		if ((unsigned char)*p <= ' ' || *p == 0x7f)
			*p = '_';
	return to;
}

int pp_live_put(const struct pp_live_rank *r, char *line, size_t size)
{
	char host[72], name[84] = "", members[256], call[48], last[48], waits[48];
	int n, more = 0;

	snprintf(name, sizeof(name), "%s", r->comm_name);
	n = snprintf(line, size,
	             "rank %d %d %d %s %d %d %d %d %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %s %" PRIx64 " %" PRIu32
	             " %" PRId32 " %s %s %" PRIu32 " %d %d %d %d %d %" PRId64 " %d %d %d %d %d %s %s\n",
	             r->rank, r->size, r->pid, word_of(r->host[0] ? r->host : "?", host, sizeof(host)), (int)r->state,
	             r->exit_status, r->recording, r->marks, r->step, r->step_ns, r->still_ns, r->slow_ns,
	             word_of(r->call, call, sizeof(call)), r->comm, r->sequence, r->peer, word_of(r->last, last, sizeof(last)),
	             word_of(r->waits, waits, sizeof(waits)), r->waits_sequence, r->other[0], r->other[1], r->other[2], r->other[3],
	             r->other_more, r->place_ns, r->process, r->end, r->lost, r->comm_size, r->comm_flags,
	             word_of(r->members, members, sizeof(members)), r->comm_name[0] ? pp_plain(name, "") : "-");
	if (r->nccl[0] && n >= 0 && (size_t)n < size)
		more = snprintf(line + n, size - (size_t)n, "nccl %s\n", r->nccl);
	return n + more;
}

int pp_live_get_nccl(const char *line, struct pp_live_rank *rank)
{
	if (strncmp(line, "nccl ", 5) != 0)
		return -EINVAL;
	snprintf(rank->nccl, sizeof(rank->nccl), "%s", line + 5);
	return 0;
}

/* "-" is an empty text. */
static void unword(char *text)
{
	if (!strcmp(text, "-"))
		text[0] = '\0';
}

int pp_live_get(const char *line, struct pp_live_rank *ret)
{
	struct pp_live_rank r = {.rank = 0};
	int state = 0, process = 0;

	/* NOLINTNEXTLINE(cert-err34-c): what is out of range is out of range in the table too */
	if (sscanf(line,
	           "rank %d %d %d %71s %d %d %d %d %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %47s %" SCNx64 " %" SCNu32
	           " %" SCNd32 " %47s %47s %" SCNu32 " %d %d %d %d %d %" SCNd64 " %d %d %d %d %d %255s %83[^\n]",
	           &r.rank, &r.size, &r.pid, r.host, &state, &r.exit_status, &r.recording, &r.marks, &r.step, &r.step_ns,
	           &r.still_ns, &r.slow_ns, r.call, &r.comm, &r.sequence, &r.peer, r.last, r.waits, &r.waits_sequence, &r.other[0],
	           &r.other[1], &r.other[2], &r.other[3], &r.other_more, &r.place_ns, &process, &r.end, &r.lost, &r.comm_size,
	           &r.comm_flags, r.members, r.comm_name) != 32 ||
	    state < PP_LIVE_RUNNING || state > PP_LIVE_GONE)
		return -EINVAL;
	r.state = (enum pp_live_state)state;
	r.process = (char)(process > ' ' && process < 0x7f ? process : 0);
	unword(r.call);
	unword(r.last);
	unword(r.waits);
	unword(r.members);
	unword(r.comm_name);
	*ret = r;
	return 0;
}
