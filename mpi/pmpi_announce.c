/* Puts COMM records, which describe a communicator, window or file, before the first record that names it. Called by the
 * wrappers. */
#include "mpi/pmpi_announce.h"

#include <string.h>

#include "mpi/pmpi_collector.h"

void pp_comm_set_name(struct pp_comm *c, const char *name)
{
	size_t n = strnlen(name, sizeof c->name - 1);

	memcpy(c->name, name, n);
	c->name[n] = 0;
	pp_comm_describe(c);
	if (atomic_load_explicit(&c->announced, memory_order_relaxed) == PP_COMM_ANNOUNCED_ALL)
		atomic_store_explicit(&c->announced, PP_COMM_ANNOUNCED_MEMBERS, memory_order_relaxed);
}

/* Members as runs of equal stride; 0: too many runs. */
static uint16_t fill_runs(const struct pp_comm *c, struct pp_ring_comm *row)
{
	uint16_t n = 0;

	for (int32_t i = 0; i < c->member_count;) {
		int32_t stride = i + 1 < c->member_count ? c->members[i + 1] - c->members[i] : 0, last = i;

		if (n == PP_RING_COMM_RUNS)
			return 0;
		while (last + 1 < c->member_count && c->members[last + 1] - c->members[last] == stride)
			last++;
		row->run[n].first = c->members[i];
		row->run[n].count = last - i + 1;
		row->run[n++].stride = stride;
		i = last + 1;
	}
	return n;
}

void pp_comm_describe(const struct pp_comm *c)
{
	struct pp_ring_comm row = {.id = c->id, .size = c->member_count};
	const char *path = c->kind == PP_COMM_IS_FILE && c->path ? strrchr(c->path, '/') : NULL;
	const char *name = path ? path + 1 : c->kind == PP_COMM_IS_FILE && c->path ? c->path : c->name;

	if (!pp_mpi_collector)
		return;
	row.runs = fill_runs(c, &row);
	row.flags = (uint16_t)((c->inter ? PP_RING_COMM_INTER : 0) | (c->kind == PP_COMM_IS_WINDOW ? PP_RING_COMM_WINDOW : 0) |
	                       (c->kind == PP_COMM_IS_FILE ? PP_RING_COMM_FILE : 0));
	memcpy(row.name, name, strnlen(name, sizeof(row.name) - 1));
	pp_mpi_collector->comm(&row);
}

static void put_comm(const struct pp_comm *c, uint32_t is_name, const void *text, uint32_t length)
{
	struct pp_record r = {.tick = pp_tick_now(), .kind = PP_RECORD_COMM, .length = length};
	uint32_t inside = length < PP_TEXT_INLINE ? length : PP_TEXT_INLINE;

	r.comm.comm = c->id;
	r.comm.size = (uint32_t)c->member_count;
	r.comm.is_name = is_name;
	memcpy(r.comm.text, text, inside);
	pp_mpi_put(&r, (const char *)text + inside, length - inside);
}

void pp_comm_announce(struct pp_comm *c)
{
	uint32_t before = atomic_exchange_explicit(&c->announced, PP_COMM_ANNOUNCED_ALL, memory_order_relaxed);

	if (before == PP_COMM_ANNOUNCED_NOTHING)
		put_comm(c, PP_COMM_MEMBERS, c->members, (uint32_t)c->member_count * sizeof *c->members);
	if (before == PP_COMM_ANNOUNCED_ALL)
		return;
	if (c->kind == PP_COMM_IS_FILE)
		put_comm(c, PP_COMM_FILE, c->path, (uint32_t)strlen(c->path));
	else if (c->kind == PP_COMM_IS_WINDOW)
		put_comm(c, PP_COMM_WINDOW, c->name, (uint32_t)strlen(c->name));
	else if (c->is_unknown)
		put_comm(c, PP_COMM_UNKNOWN, c->name, (uint32_t)strlen(c->name));
	else if (c->name[0])
		put_comm(c, PP_COMM_NAME, c->name, (uint32_t)strlen(c->name));
}

void pp_comm_announce_near(const struct pp_comm *c, const int32_t *world, uint32_t n)
{
	put_comm(c, PP_COMM_NEAR, world, n * (uint32_t)sizeof *world);
}
