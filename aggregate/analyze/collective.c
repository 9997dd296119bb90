/* One operation of all ranks out of every rank's own call, joined by communicator and sequence number: arrivals, exits, who waited
 * for whom. Called by dataset.c. The rule of waiting and the bandwidths: docs/steps.md. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/analyze/join.h"
#include "aggregate/analyze/request.h"
#include "core/source/mpi_call.h"

static int compare_member(const void *a, const void *b)
{
	const struct pp_member *x = a, *y = b;

	if (x->comm != y->comm)
		return x->comm < y->comm ? -1 : 1;
	if (x->sequence != y->sequence)
		return x->sequence < y->sequence ? -1 : 1;
	if (x->worker != y->worker)
		return x->worker < y->worker ? -1 : 1;
	return (x->arrival > y->arrival) - (x->arrival < y->arrival);
}

/* People read collectives as they came. */
static int compare_first(const void *a, const void *b)
{
	const struct pp_collective *x = a, *y = b;

	if (x->first_ns != y->first_ns)
		return x->first_ns < y->first_ns ? -1 : 1;
	return (x->row_first > y->row_first) - (x->row_first < y->row_first);
}

static void add_member(struct pp_join *j, size_t r, uint32_t t, uint32_t i, const struct pp_requests *requests)
{
	const struct pp_span *span = &j->in->capture->rank[r].thread[t].span[i];
	struct pp_member m = {
	        .comm = span->comm,
	        .sequence = span->sequence,
	        .worker = j->worker_of[r],
	        .thread = t,
	        .span = i,
	        .arrival = span->begin,
	        .exit = span->end,
	        .exit_known = !(span->flags & PP_SPAN_CUT_END),
	        .is_root = (span->flags & PP_SPAN_IS_ROOT) != 0,
	        .call = span->call,
	};

	if (pp_mpi_call_info(span->call)->nonblocking) {
		const struct pp_done *done = pp_requests_find(requests, span->request);

		m.request = span->request;
		m.exit_known = done != NULL;
		if (done)
			m.exit = done->span->end;
	}
	j->member[j->members++] = m;
}

/* All ranks' calls of collectives, in one order. */
static int list_members(struct pp_join *j, struct pp_requests *requests)
{
	const struct pp_capture *capture = j->in->capture;
	size_t room = 1;

	for (int filling = 0; filling < 2; filling++) {
		if (filling && !(j->member = calloc(room, sizeof(*j->member))))
			return -ENOMEM;
		for (size_t r = 0; r < capture->ranks; r++) {
			for (uint32_t t = 0; t < capture->rank[r].threads; t++) {
				const struct pp_thread *thread = &capture->rank[r].thread[t];

				if (!pp_thread_may_have(thread, PP_SPAN_BIT(PP_SPAN_MPI)))
					continue;
				for (uint32_t i = 0; i < thread->spans; i++) {
					const struct pp_span *span = &thread->span[i];

					if (span->kind != PP_SPAN_MPI || !span->comm || (span->flags & PP_SPAN_FAILED) ||
					    !pp_mpi_class_joins(pp_mpi_call_info(span->call)->class))
						continue;
					if (filling)
						add_member(j, r, t, i, &requests[r]);
					else
						room++;
				}
			}
		}
	}
	qsort(j->member, j->members, sizeof(*j->member), compare_member);
	return 0;
}

static int comm_rank(const struct pp_comm *comm, int32_t world_rank)
{
	for (uint32_t i = 0; comm && comm->member && i < comm->size; i++)
		if (comm->member[i] == world_rank)
			return (int)i;
	return world_rank;
}

/* Index of the member with the latest arrival of those below `rank` in the communicator; n: there is none. */
static size_t last_below(const struct pp_member *m, size_t n, int32_t rank)
{
	size_t last = n;

	for (size_t k = 0; k < n; k++)
		if (m[k].blame < rank && (last == n || m[k].arrival > m[last].arrival))
			last = k;
	return last;
}

/* All ranks make the call, but none need wait for all: a fence with an assertion, a write that each does by itself. */
static int may_leave_early(enum pp_mpi_class class)
{
	return class == PP_MPI_FENCE || pp_mpi_class_is_file(class);
}

/* Index of the member that came last of those that came before `time`; n: there is none. */
static size_t last_before(const struct pp_member *m, size_t n, int64_t time)
{
	size_t last = n;

	for (size_t k = 0; k < n; k++)
		if (m[k].arrival <= time && (last == n || m[k].arrival > m[last].arrival))
			last = k;
	return last;
}

/* Until whose arrival each member waits. */
static void set_waiting(struct pp_join *j, struct pp_member *m, size_t n, enum pp_mpi_class class, size_t last)
{
	const struct pp_comm *comm = pp_join_comm(&j->in->capture->rank[j->rank_of[m[0].worker]], m[0].comm);
	size_t root = n;

	for (size_t i = 0; i < n; i++) {
		if (m[i].is_root && root == n)
			root = i;
		if (class == PP_MPI_PREFIX) /* holds the rank in the communicator until all have found whom they need */
			m[i].blame = comm_rank(comm, j->d->worker[m[i].worker].rank);
	}
	for (size_t i = 0; i < n; i++) {
		size_t needs = n; /* nobody */

		if (class == PP_MPI_FROM_ROOT)
			needs = root;
		else if (class == PP_MPI_PREFIX)
			needs = last_below(m, n, m[i].blame);
		else if (class != PP_MPI_TO_ROOT || i == root)
			needs = last;
		/* Out before the last one came: it did not wait for that one. */
		if (may_leave_early(class) && m[i].exit_known && m[i].exit < m[last].arrival - j->in->bound_ns)
			needs = last_before(m, n, m[i].exit);
		m[i].until = (int64_t)needs;
	}
	for (size_t i = 0; i < n; i++) {
		const struct pp_member *needs = m[i].until < (int64_t)n ? &m[m[i].until] : NULL;

		m[i].until = m[i].arrival;
		m[i].blame = -1;
		if (!needs || needs->arrival <= m[i].arrival)
			continue;
		m[i].until = needs->arrival < m[i].exit ? needs->arrival : m[i].exit;
		m[i].blame = (int32_t)needs->worker;
	}
}

/* Other hosts have members too: who came last is not known here. */
static int is_whole(const struct pp_join *j, const struct pp_member *m, size_t n)
{
	const struct pp_comm *comm = pp_join_comm(&j->in->capture->rank[j->rank_of[m[0].worker]], m[0].comm);

	return !j->in->partial || (comm && comm->size <= n);
}

/* Between clocks that are not joined no arrival is earlier or later: nobody is said to wait. */
static int is_joined(const struct pp_join *j, struct pp_member *m, size_t n)
{
	int joined = is_whole(j, m, n);

	for (size_t i = 1; i < n; i++)
		joined &= j->d->worker[m[i].worker].domain == j->d->worker[m[0].worker].domain;
	for (size_t i = 0; i < n && !joined; i++) {
		m[i].until = m[i].arrival;
		m[i].blame = -1;
	}
	return joined;
}

/* nccl-tests' factor from algorithm bandwidth to bus bandwidth. */
static double bus_factor(const char *call, int32_t ranks)
{
	double n = ranks;

	if (pp_join_ends_with(call, "llreduce"))
		return 2 * (n - 1) / n;
	if (strstr(call, "allgather") || strstr(call, "alltoall") || strstr(call, "educe_scatter") || strstr(call, "ather") ||
	    strstr(call, "catter"))
		return (n - 1) / n;
	return 1;
}

/* Number of the step of the last to come, else of any; INT64_MIN: none. */
static int64_t step_of(const struct pp_join *j, const struct pp_member *m, size_t n, size_t last)
{
	for (size_t i = 0; i < n; i++) {
		const struct pp_member *who = &m[(last + i) % n];
		int64_t step = pp_join_step_at(j, (size_t)j->rank_of[who->worker], who->arrival);

		if (step >= 0)
			return j->d->step_number[step];
	}
	return INT64_MIN;
}

static void fill_collective(struct pp_join *j, struct pp_member *m, size_t n, struct pp_collective *c)
{
	struct pp_dataset *d = j->d;
	const struct pp_mpi_call *info = pp_mpi_call_info(m[0].call);
	const struct pp_comm *comm = pp_join_comm(&j->in->capture->rank[j->rank_of[m[0].worker]], m[0].comm);
	int known = !comm || comm->size <= n; /* else the last to come may be one that we have not */
	size_t last = 0;

	*c = (struct pp_collective){
	        .comm = m[0].comm, .call = m[0].call, .sequence = m[0].sequence, .ranks = (int32_t)n, .root = -1};
	c->first_ns = m[0].arrival;
	c->end_ns = INT64_MIN;
	c->bound_ns = j->in->bound_ns;
	c->row_first = d->rows;
	c->row_count = (uint32_t)n;
	for (size_t i = 0; i < n; i++) {
		const struct pp_span *span = &j->in->capture->rank[j->rank_of[m[i].worker]].thread[m[i].thread].span[m[i].span];

		if (m[i].arrival < c->first_ns)
			c->first_ns = m[i].arrival;
		if (m[i].arrival > m[last].arrival)
			last = i;
		if (m[i].exit > c->end_ns)
			c->end_ns = m[i].exit;
		if (m[i].is_root)
			c->root = d->worker[m[i].worker].rank;
		if (span->sent > c->bytes)
			c->bytes = span->sent;
		if (span->received > c->bytes)
			c->bytes = span->received;
		known &= m[i].exit_known;
		d->row[d->rows++] = (struct pp_collective_row){d->worker[m[i].worker].rank, m[i].arrival, m[i].exit};
	}
	c->last_ns = m[last].arrival;
	c->last_worker = d->worker[m[last].worker].rank;
	set_waiting(j, m, n, info->class, last);
	if (!is_joined(j, m, n)) {
		c->bound_ns = PP_BOUND_UNKNOWN;
		c->last_worker = -1;
	}
	for (size_t i = 0; i < n; i++) {
		c->wait_ns += m[i].until - m[i].arrival;
		c->transfer_ns += m[i].exit - m[i].until;
	}
	for (size_t i = 0; i < n && info->class == PP_MPI_ALL && c->bound_ns != PP_BOUND_UNKNOWN; i++) {
		if (m[i].exit_known && m[i].exit < c->last_ns - c->bound_ns) {
			d->violations++;
			break;
		}
	}
	if (known && c->bytes && c->end_ns - c->last_ns > c->bound_ns) {
		c->algbw = (double)c->bytes * 1e9 / (double)(c->end_ns - c->last_ns);
		c->busbw = c->algbw * bus_factor(info->name, c->ranks);
	}
	c->step = step_of(j, m, n, last);
}

static struct pp_call *calls_of(struct pp_join *j, size_t r, uint32_t t)
{
	if (!j->call[r][t])
		j->call[r][t] = calloc(j->in->capture->rank[r].thread[t].spans, sizeof(struct pp_call));
	return j->call[r][t];
}

/* What a call waits for; a Wait for several collectives waits for the last of them. */
static int note_call(struct pp_join *j, size_t r, uint32_t t, uint32_t span, const struct pp_member *m, int64_t until)
{
	struct pp_call *call = calls_of(j, r, t);

	if (!call)
		return -ENOMEM;
	call += span;
	if (m->blame < 0) /* it waited for nobody: of a Wait too that began before the operation, on another thread */
		until = INT64_MIN;
	if (call->need == PP_NEED_NONE || until > call->until) {
		call->until = until;
		call->blame = m->blame;
		call->need = PP_NEED_UNTIL;
	}
	return 0;
}

static int note_member(struct pp_join *j, const struct pp_member *m, const struct pp_requests *requests)
{
	size_t r = (size_t)j->rank_of[m->worker];
	const struct pp_done *done;

	if (!pp_mpi_call_info(m->call)->nonblocking)
		return note_call(j, r, m->thread, m->span, m, m->until);
	/* The call that starts it waits for nobody: it is transfer. */
	if (note_call(j, r, m->thread, m->span, m, INT64_MIN) < 0)
		return -ENOMEM;
	done = pp_requests_find(&requests[r], m->request);
	if (!done || done->wait_span == UINT32_MAX)
		return 0;
	return note_call(j, r, done->wait_thread, done->wait_span, m, m->until);
}

int pp_join_collectives(struct pp_join *j)
{
	size_t ranks = j->in->capture->ranks;
	struct pp_requests *requests = calloc(ranks + 1, sizeof(*requests));
	int rc = requests ? 0 : -ENOMEM;

	for (size_t r = 0; r < ranks && rc == 0; r++)
		rc = pp_requests_init(&requests[r], &j->in->capture->rank[r]);
	if (rc == 0)
		rc = list_members(j, requests);
	if (rc < 0)
		goto out;
	j->d->collective = calloc(j->members + 1, sizeof(*j->d->collective));
	j->d->row = calloc(j->members + 1, sizeof(*j->d->row));
	rc = j->d->collective && j->d->row ? 0 : -ENOMEM;
	for (size_t i = 0, n; i < j->members && rc == 0; i += n) {
		for (n = 1; i + n < j->members; n++)
			if (j->member[i + n].comm != j->member[i].comm || j->member[i + n].sequence != j->member[i].sequence)
				break;
		fill_collective(j, &j->member[i], n, &j->d->collective[j->d->collectives++]);
	}
	for (size_t i = 0; i < j->members && rc == 0; i++)
		rc = note_member(j, &j->member[i], requests);
	if (rc == 0)
		qsort(j->d->collective, j->d->collectives, sizeof(*j->d->collective), compare_first);
out:
	for (size_t r = 0; requests && r < ranks; r++)
		pp_requests_release(&requests[r]);
	free(requests);
	return rc;
}
