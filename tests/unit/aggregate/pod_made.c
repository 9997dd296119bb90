/* Datasets of made-up jobs; see pod_made.h. Called by tests and benches of tools. */
#include "tests/unit/aggregate/pod_made.h"

#include <stdlib.h>

#include "core/base/grow.h"
#include "core/call/mpi_call.h"

static void *need(void *memory)
{
	if (!memory)
		abort();
	return memory;
}

void pp_made_begin(struct pp_made_job *m, size_t ranks, size_t per_host, int64_t first, size_t steps)
{
	int32_t *all = need(calloc(ranks + 1, sizeof(*all)));

	*m = (struct pp_made_job){.ranks = ranks, .steps = steps};
	m->rank = need(calloc(ranks + 1, sizeof(*m->rank)));
	m->d.names = need(pp_intern_new());
	m->d.workers = ranks;
	m->d.ranks_asked = m->d.ranks_delivered = (int32_t)ranks;
	m->d.worker = need(calloc(ranks + 1, sizeof(*m->d.worker)));
	m->d.steps = steps;
	m->d.step = need(calloc(steps + 1, sizeof(*m->d.step)));
	m->d.cell = need(calloc(ranks * steps + 1, sizeof(*m->d.cell)));
	m->d.step_confidence = 1;
	snprintf(m->d.step_rule, sizeof(m->d.step_rule), "podprof_step");
	for (size_t s = 0; s < steps; s++)
		m->d.step[s].number = first + (int64_t)s;
	for (size_t r = 0; r < ranks; r++) {
		struct pp_row_worker *w = &m->d.worker[r];

		all[r] = w->rank = (int32_t)r;
		w->local_rank = (int32_t)(r % per_host);
		w->cores = w->host_cores = (int32_t)per_host;
		w->records = 1;
		snprintf(w->host, sizeof(w->host), "h%zu", r / per_host);
		snprintf(w->status, sizeof(w->status), "delivered");
		snprintf(w->device, sizeof(w->device), "CPU");
		m->rank[r].step = -1;
	}
	pp_made_communicator(m, "MPI_COMM_WORLD", all, (uint32_t)ranks);
	free(all);
}

uint64_t pp_made_communicator(struct pp_made_job *m, const char *name, const int32_t *member, uint32_t size)
{
	size_t n = m->d.communicators;
	struct pp_row_communicator *c = m->d.communicator = need(pp_grow(m->d.communicator, n, &m->communicator_room, sizeof(*c)));

	m->sequence = need(realloc(m->sequence, (n + 1) * sizeof(*m->sequence)));
	m->sequence[n] = 0;
	c[n] = (struct pp_row_communicator){.id = n + 1, .size = size};
	c[n].name = pp_intern_put((struct pp_intern *)m->d.names, name, strlen(name));
	c[n].member = need(calloc(size + 1, sizeof(*c[n].member)));
	memcpy(c[n].member, member, size * sizeof(*member));
	snprintf(c[n].role, sizeof(c[n].role), "%s", n ? "part" : "world");
	m->d.communicators = n + 1;
	return n + 1;
}

static struct pp_row_cell *cell_of(struct pp_made_job *m, size_t rank)
{
	return m->rank[rank].step < 0 ? NULL : &m->d.cell[(size_t)m->rank[rank].step * m->ranks + rank];
}

void pp_made_step_begin(struct pp_made_job *m, size_t rank, size_t step)
{
	struct pp_row_cell *cell = &m->d.cell[step * m->ranks + rank];

	m->rank[rank].step = (int64_t)step;
	cell->present = 1;
	cell->begin_ns = m->rank[rank].now;
}

void pp_made_step_end(struct pp_made_job *m, size_t rank)
{
	struct pp_row_cell *cell = cell_of(m, rank);

	cell->end_ns = m->rank[rank].now;
	cell->step_ns = cell->end_ns - cell->begin_ns;
	cell->bottleneck = 1;
	for (int c = 1; c <= PP_CATEGORIES; c++)
		if (cell->exclusive_ns[c] > cell->exclusive_ns[cell->bottleneck])
			cell->bottleneck = (int8_t)c;
	m->rank[rank].step = -1;
}

void pp_made_work(struct pp_made_job *m, size_t rank, enum pp_category category, int64_t ns)
{
	struct pp_row_cell *cell = cell_of(m, rank);

	m->rank[rank].now += ns;
	if (cell) {
		cell->exclusive_ns[category] += ns;
		m->rank[rank].lap[category] += ns;
	} else {
		m->rank[rank].between += ns;
	}
}

void pp_made_begin_all(struct pp_made_job *m, size_t step)
{
	for (size_t r = 0; r < m->ranks; r++)
		pp_made_step_begin(m, r, step);
}

void pp_made_end_all(struct pp_made_job *m)
{
	for (size_t r = 0; r < m->ranks; r++)
		pp_made_step_end(m, r);
}

void pp_made_work_all(struct pp_made_job *m, enum pp_category category, int64_t ns)
{
	for (size_t r = 0; r < m->ranks; r++)
		pp_made_work(m, r, category, ns);
}

/* Row of a rank in the operation at hand; it leaves at `exit`, and waited until `until` for `late`. */
static void add_row(struct pp_made_job *m, size_t rank, int64_t until, int64_t exit, size_t late)
{
	struct pp_made_rank *r = &m->rank[rank];
	struct pp_row_cell *cell = cell_of(m, rank), *late_cell = cell ? &m->d.cell[(size_t)r->step * m->ranks + late] : NULL;
	struct pp_row_collective *c = &m->d.collective[m->d.collectives];
	struct pp_row_arrival *a = m->d.arrival = need(pp_grow(m->d.arrival, m->d.arrivals, &m->arrival_room, sizeof(*a)));
	int64_t wait = until > r->now ? until - r->now : 0;

	a += m->d.arrivals++;
	*a = (struct pp_row_arrival){.worker = (int32_t)rank, .arrival_ns = r->now, .exit_ns = exit, .late_rank = -1};
	for (int k = 1; k <= PP_CATEGORIES; k++)
		a->local_us[k] = (uint32_t)((r->lap[k] + 500) / 1000);
	a->between_us = (uint32_t)((r->between + 500) / 1000);
	memset(r->lap, 0, sizeof(r->lap));
	r->between = 0;
	if (wait)
		a->late_rank = (int32_t)late;
	c->wait_ns += wait;
	c->transfer_ns += exit - r->now - wait;
	c->row_count++;
	if (cell) {
		a->exposed_wait_ns = wait;
		cell->wait_ns += wait;
		cell->transfer_ns += exit - r->now - wait;
		cell->exclusive_ns[PP_CATEGORY_HOST_COMMUNICATION] += exit - r->now;
		r->lap[PP_CATEGORY_HOST_COMMUNICATION] += exit - r->now;
	} else {
		r->between += exit - r->now;
	}
	if (wait && late_cell) {
		late_cell->late_ns += wait;
		late_cell->late_error_ns += m->bound_ns;
	}
	r->now = exit;
}

static struct pp_row_collective *add_operation(struct pp_made_job *m, const char *name, uint64_t communicator, uint64_t bytes)
{
	struct pp_row_collective *c = m->d.collective =
	        need(pp_grow(m->d.collective, m->d.collectives, &m->collective_room, sizeof(*c)));

	c += m->d.collectives;
	*c = (struct pp_row_collective){
	        .communicator = communicator, .bytes = bytes, .root = -1, .bound_ns = m->bound_ns, .row_first = m->d.arrivals};
	while (strcmp(pp_mpi_call_info(c->operation)->name, name) != 0)
		c->operation++;
	return c;
}

static int64_t step_number(const struct pp_made_job *m, size_t rank)
{
	return m->rank[rank].step < 0 ? INT64_MIN : m->d.step[m->rank[rank].step].number;
}

static void end_operation(struct pp_made_job *m, struct pp_row_collective *c, int64_t first, size_t last, int64_t last_ns,
                          int64_t end)
{
	c->ranks = (int32_t)c->row_count;
	c->first_ns = first;
	c->last_ns = last_ns;
	c->last_worker = (int32_t)last;
	c->end_ns = end;
	if (c->bytes && end > last_ns) {
		c->algbw = (double)c->bytes * 1e9 / (double)(end - last_ns);
		c->busbw = c->algbw * (c->message ? 1 : pp_mpi_call_bus_factor(c->operation, c->ranks));
	}
	m->d.collectives++;
}

void pp_made_collective(struct pp_made_job *m, uint64_t communicator, const char *name, uint64_t bytes, int64_t transfer_ns)
{
	const struct pp_row_communicator *comm = &m->d.communicator[communicator - 1];
	struct pp_row_collective *c = add_operation(m, name, communicator, bytes);
	size_t last = (size_t)comm->member[0];
	int64_t first = m->rank[last].now, until;

	for (uint32_t i = 0; i < comm->size; i++) {
		size_t rank = (size_t)comm->member[i];

		last = m->rank[rank].now > m->rank[last].now ? rank : last;
		first = m->rank[rank].now < first ? m->rank[rank].now : first;
	}
	until = m->rank[last].now;
	c->sequence = m->sequence[communicator - 1]++;
	c->step = step_number(m, last);
	for (uint32_t i = 0; i < comm->size; i++)
		add_row(m, (size_t)comm->member[i], until, until + transfer_ns, last);
	end_operation(m, c, first, last, until, until + transfer_ns);
}

void pp_made_message(struct pp_made_job *m, size_t source, size_t destination, int32_t tag, uint64_t bytes, int64_t transfer_ns,
                     int is_eager)
{
	struct pp_row_collective *c = add_operation(m, "MPI_Send", 1, bytes);
	int64_t sent = m->rank[source].now, received = m->rank[destination].now, later = sent > received ? sent : received;
	size_t last = sent > received ? source : destination;
	int64_t begin = is_eager ? sent : later, end = begin + transfer_ns > received ? begin + transfer_ns : received;

	c->message = 1;
	c->source = (int32_t)source;
	c->destination = (int32_t)destination;
	c->tag = tag;
	c->sequence = (uint32_t)m->d.collectives; /* orders them; unique is enough here */
	c->step = step_number(m, last);
	for (int i = 0; i < 2; i++) { /* rows are ordered by rank */
		int is_sender = (source < destination) == !i;
		size_t rank = is_sender ? source : destination;

		if (is_sender)
			add_row(m, rank, is_eager ? sent : later, is_eager ? sent + 1000 : end, destination);
		else
			add_row(m, rank, later, end, source);
		m->d.arrival[m->d.arrivals - 1].is_root = is_sender;
	}
	end_operation(m, c, sent < received ? sent : received, last, later, end);
}

static int by_first(const void *a, const void *b)
{
	const struct pp_row_collective *x = a, *y = b;

	if (x->first_ns != y->first_ns)
		return x->first_ns < y->first_ns ? -1 : 1;
	return (x->row_first > y->row_first) - (x->row_first < y->row_first);
}

struct pp_dataset pp_made_end(struct pp_made_job *m)
{
	struct pp_dataset *d = &m->d;
	int first = 1;

	if (d->collectives)
		qsort(d->collective, d->collectives, sizeof(*d->collective), by_first);
	for (size_t i = 0; i < m->ranks * m->steps; i++) {
		const struct pp_row_cell *cell = &d->cell[i];

		if (!cell->present)
			continue;
		d->window_begin_ns = first || cell->begin_ns < d->window_begin_ns ? cell->begin_ns : d->window_begin_ns;
		d->window_end_ns = first || cell->end_ns > d->window_end_ns ? cell->end_ns : d->window_end_ns;
		first = 0;
	}
	if (pp_dataset_late(d))
		abort();
	free(m->rank);
	free(m->sequence);
	return *d;
}

void pp_made_files(struct pp_dataset *d, enum pp_category category)
{
	for (size_t i = 0; i < d->steps * d->workers; i++) {
		struct pp_row_cell *cell = &d->cell[i];

		cell->exclusive_ns[category] += cell->exclusive_ns[PP_CATEGORY_HOST_COMMUNICATION];
		cell->exclusive_ns[PP_CATEGORY_HOST_COMMUNICATION] = 0;
		cell->wait_ns = cell->transfer_ns = cell->late_ns = cell->late_error_ns = 0;
	}
	for (size_t i = 0; i < d->arrivals; i++)
		d->arrival[i].exposed_wait_ns = 0;
}
