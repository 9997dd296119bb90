/* Shares of several hosts: together they are what one keeper makes of all ranks with clocks that are not joined; the order and
 * grouping of merging change nothing; ranks that are missing or claimed twice; and shares that somebody changed. */
#include "aggregate/analyze/finish.h"
#include "aggregate/dataset/merge.h"

#include <errno.h>
#include <zlib.h>

#include "core/capture/side.h"
#include "tests/unit/aggregate/dataset/merge_kit.h"

enum { RANKS = 4, HALF = 2, STEPS = 12 };

static int32_t everybody[RANKS] = {0, 1, 2, 3};
static int32_t low[HALF] = {0, 1}, high[HALF] = {2, 3};
static int32_t ring[RANKS][2] = {{1, 3}, {0, 2}, {1, 3}, {0, 2}}, other[RANKS] = {1, 0, 3, 2};

static struct pp_span *add_call(struct pp_capture *c, size_t r, const char *name, uint64_t comm, uint32_t sequence, int64_t at,
                                int64_t end)
{
	struct pp_span *span = add_mpi(c, r, name, sequence, at, end);

	span->mpi.comm = comm;
	span->mpi.sent = kit_random(8) ? kit_random(5000) : 0;
	span->mpi.received = kit_random(8) ? span->mpi.received : 0;
	span->mpi.flags = kit_random(8) ? 0 : PP_MPI_FROM_SOME;
	if (sequence % 7 == 3)
		span->mpi.flags |= r % 2 ? PP_MPI_SIDE_FIRST : PP_MPI_SIDE_SECOND;
	if (!strcmp(name, "MPI_Bcast") && r % HALF == 0 && (comm != 77 || r == 0))
		span->flags |= PP_SPAN_IS_ROOT;
	return span;
}

/* A training job: in each step a range, a collective of all and one of the host's ranks, a message to the next rank. */
static struct pp_capture capture_of_all(void)
{
	static const char *const call[] = {"MPI_Allreduce", "MPI_Bcast",   "MPI_Reduce",
	                                   "MPI_Scan",      "MPI_Barrier", "MPI_Neighbor_alltoallv"};
	struct pp_capture c = make_capture(RANKS);

	c.epoch_realtime_ns = 1700000000000000000;
	for (size_t r = 0; r < RANKS; r++) {
		c.rank[r].domain = r >= HALF;
		c.rank[r].records = 100;
		c.rank[r].comms = 2;
		c.rank[r].comm = calloc(2, sizeof(*c.rank[r].comm));
		c.rank[r].operation = calloc(STEPS, sizeof(*c.rank[r].operation));
		c.rank[r].comm[0] = (struct pp_comm){.id = 77, .size = RANKS, .member = everybody, .near = ring[r], .nears = 2};
		c.rank[r].comm[1] = (struct pp_comm){.id = r < HALF ? 78 : 79,
		                                     .size = HALF,
		                                     .member = r < HALF ? low : high,
		                                     .near = &other[r],
		                                     .nears = 1,
		                                     .near_known = 1};
		c.rank[r].comm[0].near_known = kit_random(4) != 0;
	}
	for (int64_t s = 0; s < STEPS; s++) {
		for (size_t r = 0; r < RANKS; r++) {
			int64_t at = s * 100000, late = (int64_t)kit_random(20000), hosts = (int64_t)kit_random(20000);
			struct pp_span *span;

			add_step(&c, r, s, at, at + 100000);
			add_range(&c, r, 0, r % 2 ? "forward" : "backward", at + 10, at + 20000);
			add_call(&c, r, call[s % 6], r < HALF ? 78 : 79, (uint32_t)s, at + 20000 + late, at + 45000);
			span = add_call(&c, r, call[(s + 1) % 6], 77, (uint32_t)s, at + 50000 + hosts, at + 80000);
			span->mpi.request = (uint32_t)s + 1;
			c.rank[r].operation[c.rank[r].operations++] = (struct pp_operation){.request = (uint32_t)s + 1,
			                                                                    .device_ns = (int64_t)kit_random(1000),
			                                                                    .channels = (uint8_t)kit_random(9),
			                                                                    .how = 0x23};
			span = add_mpi(&c, r, r % 2 ? "MPI_Recv" : "MPI_Send", 0, at + 85000, at + 90000);
			span->mpi.comm = 0;
			span->mpi.peer = (int32_t)(s % 2 ? r ^ 1 : r % 2 ? (r + RANKS - 1) % RANKS : (r + 1) % RANKS);
			if (s % 3 == 0)
				span->mpi.peer = (int32_t)(r ^ (RANKS - 1));
		}
	}
	return c;
}

TEST(like_one_keeper)
{
	for (int round = 0; round < 20 && !test_failures; round++) {
		struct pp_capture all = capture_of_all(), part[2] = {all, all};
		struct made whole, half[2];
		struct pp_intern *names = pp_intern_new();
		struct pp_dataset back[2], d;
		int64_t waited = 0, near = 0;
		const struct pp_dataset *const parts[] = {&back[0], &back[1]}, *const swapped[] = {&back[1], &back[0]};

		build(&whole, &all, STEPS - 1, 0);
		part[0].ranks = part[1].ranks = HALF;
		part[1].rank += HALF;
		for (int p = 0; p < 2; p++) {
			build(&half[p], &part[p], STEPS - 1, 1);
			travel(&half[p].d, names, &back[p]);
		}
		CHECK_INT(pp_dataset_merge(round % 2 ? parts : swapped, 2, &d, NULL), 0);
		CHECK_INT(pp_dataset_finish(&d, NULL), 0);
		CHECK(d.workers == RANKS && d.ranks_delivered == RANKS && d.ranks_asked == RANKS);
		compare_workers(&whole.d, &d);
		compare_cells(&whole.d, &d);
		compare_collectives(&whole.d, &d);
		compare_tables(&whole.d, &d);
		compare_clocks(&whole.d, &d);
		CHECK(d.collectives == 3 * STEPS && d.channels > 2 && d.communicators == 3 && d.communicator[0].size == RANKS);
		CHECK_STR(d.communicator[0].role, "world");
		for (size_t w = 0; w < RANKS; w++) {
			CHECK((d.worker[w].bound_ns == PP_BOUND_UNKNOWN) == (w >= HALF));
			CHECK((d.worker[w].domain == d.worker[0].domain) == (w < HALF));
			waited += d.late[w].wait_ns;
		}
		CHECK(waited > 0);
		for (size_t i = 0; i < d.collectives; i++)
			if (pp_mpi_call_info(d.collective[i].operation)->class == PP_MPI_NEAR)
				near += d.collective[i].wait_ns;
		CHECK(near > 0 && d.neighbours > RANKS);
		pp_dataset_release(&d);
		for (int p = 0; p < 2; p++) {
			pp_dataset_release(&back[p]);
			drop(&half[p], HALF);
		}
		drop(&whole, RANKS);
		free_capture(&all);
		pp_intern_free(names);
	}
}

/* Only one host came: its sends to the other count, and the ranks that did not come are rows. */
TEST(one_host_only)
{
	struct pp_capture all = capture_of_all(), part = all;
	struct made half;
	const struct pp_dataset *const one[] = {&half.d};
	struct pp_dataset d;
	int unseen = 0, sent = 0, said = 0;

	part.ranks = HALF;
	build(&half, &part, STEPS - 1, 1);
	for (size_t i = 0; i < half.d.channels; i++)
		unseen += half.d.channel[i].unseen;
	CHECK(unseen > 0 && half.d.warnings == 0);
	CHECK_INT(pp_dataset_merge(one, 1, &d, NULL), 0);
	CHECK_INT(pp_dataset_finish(&d, NULL), 0);
	CHECK(d.workers == RANKS && d.ranks_delivered == HALF);
	CHECK(strstr(d.worker[3].status, "missing: no record") != NULL && d.worker[0].status[0] == 'd');
	for (size_t i = 0; i < d.channels; i++)
		sent += d.channel[i].source < HALF && d.channel[i].destination >= HALF;
	CHECK(sent > 0);
	for (size_t i = 0; i < d.warnings; i++)
		said += strstr(d.warning[i].warning, "2 of 4 ranks are missing") != NULL;
	CHECK_INT(said, 1);
	pp_dataset_release(&d);
	drop(&half, HALF);
	free_capture(&all);
}

static struct pp_dataset part_of(struct pp_intern *names, int32_t part)
{
	struct pp_dataset d = kit_dataset(names, 1 + kit_random(3), kit_random(8), kit_random(20));

	for (size_t w = 0; w < d.workers; w++) {
		d.worker[w].rank = d.worker[w].rank / 2 * 3 + part;
		d.worker[w].domain = (int32_t)kit_random(2);
	}
	CHECK_INT(pp_dataset_clocks(&d), 0);
	d.epoch_realtime_ns += (int64_t)kit_random(1000000);
	for (size_t i = 0; i < d.files; i++)
		d.file[i].worker = d.worker[0].rank;
	for (size_t i = 0; i < d.neighbours; i++)
		d.neighbour[i].worker = d.worker[0].rank;
	for (size_t i = 0; i < d.ops; i++)
		d.op[i].worker = d.worker[i % d.workers].rank;
	for (size_t i = 0; i < d.memories; i++)
		d.memory[i].worker = d.process_sample[i].sample_worker = d.worker[0].rank;
	for (size_t i = 0; i < d.processes; i++)
		d.process[i].worker = d.worker[0].rank;
	for (size_t i = 0; i < d.windows; i++)
		d.window[i].worker = d.worker[i].rank;
	CHECK_INT(pp_dataset_seal(&d), 0);
	for (size_t i = 0; i < d.collectives; i++) {
		struct pp_row_collective *c = &d.collective[i];

		c->communicator = 77;
		c->sequence = (uint32_t)i;
		c->operation = (uint16_t)(i % 5);
		for (uint32_t k = 0; k < c->row_count; k++)
			d.arrival[c->row_first + k].worker = d.worker[d.workers - c->row_count + k].rank;
	}
	CHECK_INT(pp_dataset_late(&d), 0);
	return d;
}

TEST(associative)
{
	for (int i = 0; i < 200 && !test_failures; i++) {
		struct pp_intern *names = pp_intern_new();
		struct pp_dataset a = part_of(names, 0), b = part_of(names, 1), c = part_of(names, 2), way[4], ab, bc;
		const struct pp_dataset *const all[] = {&a, &b, &c};
		struct pp_dataset *const spent[] = {&ab, &c};
		void *bytes[4] = {NULL};
		size_t size[4] = {0};

		ab = merge_two(&a, &b);
		bc = merge_two(&b, &c);
		way[0] = merge_two(&ab, &c);
		way[1] = merge_two(&a, &bc);
		CHECK_INT(pp_dataset_merge(all, 3, &way[2], NULL), 0);
		CHECK_INT(pp_dataset_merge_spend(spent, 2, &way[3], NULL), 0);
		CHECK(!ab.cell && !ab.files && !ab.memory && !c.cell); /* they went */
		for (int k = 0; k < 4; k++)
			CHECK_INT(pp_block_write(&way[k], &bytes[k], &size[k], NULL), 0);
		CHECK(size[0] == size[1] && size[0] == size[2]);
		CHECK(!memcmp(bytes[0], bytes[1], size[0]) && !memcmp(bytes[0], bytes[2], size[0]));
		CHECK(size[0] == size[3] && !memcmp(bytes[0], bytes[3], size[0]));
		for (int k = 0; k < 4; k++) {
			free(bytes[k]);
			pp_dataset_release(&way[k]);
		}
		pp_dataset_release(&ab);
		pp_dataset_release(&bc);
		pp_dataset_release(&a);
		pp_dataset_release(&b);
		pp_dataset_release(&c);
		pp_intern_free(names);
	}
}

/* A host of another epoch: all that its clock tells is of the job's when it is merged, and the worker finds it. */
TEST(clocks_of_epochs)
{
	struct pp_intern *names = pp_intern_new();
	struct pp_dataset a = part_of(names, 0), b = part_of(names, 1), d;
	size_t last = b.workers - 1;
	struct pp_row_host_clock from = {.hops = 0};
	const struct pp_row_host_clock *to;

	b.host_clocks = b.clock_samples = b.clock_stretches = b.clock_walls = b.clock_changes = 0;
	while (!from.samples || !from.pairs || !from.changes || !from.stretches) {
		pp_host_clock_release(&from);
		kit_clock(&from, 9);
	}
	CHECK_INT(pp_dataset_add_clock(&b, &from), 0);
	for (size_t w = 0; w < b.workers; w++)
		b.worker[w].host_clock = w == last;
	b.epoch_realtime_ns = a.epoch_realtime_ns + 1000;
	a.worker[0].rank = 0;
	d = merge_two(&b, &a);
	last = pp_dataset_worker(&d, b.worker[last].rank);
	CHECK(d.epoch_realtime_ns == a.epoch_realtime_ns && d.worker[last].host_clock >= 1 &&
	      d.worker[last].host_clock <= d.host_clocks);
	to = &d.host_clock[d.worker[last].host_clock - 1];
	CHECK_STR(to->name, "host9");
	CHECK(to->sample[0].time_ns - from.sample[0].time_ns == 1000 && to->sample[0].t1 == from.sample[0].t1);
	CHECK(to->stretch[0].begin_ns - from.stretch[0].begin_ns == 1000 && to->stretch[0].end_ns - from.stretch[0].end_ns == 1000);
	CHECK(to->pair[0].wall_time_ns - from.pair[0].wall_time_ns == 1000 &&
	      to->pair[0].wall_realtime_ns == from.pair[0].wall_realtime_ns);
	CHECK(to->change[0].from_ns - from.change[0].from_ns == 1000 && to->change[0].to_ns - from.change[0].to_ns == 1000);
	CHECK(to->host_offset_ns - from.host_offset_ns == 1000 && to->host_bound_ns == from.host_bound_ns);
	pp_host_clock_release(&from);
	pp_dataset_release(&d);
	pp_dataset_release(&a);
	pp_dataset_release(&b);
	pp_intern_free(names);
}

TEST(claimed_twice)
{
	struct pp_intern *names = pp_intern_new();
	struct pp_dataset a = part_of(names, 0), b = part_of(names, 0), lost = {.names = names, .workers = 1}, d, e;
	int said = 0;

	snprintf(a.worker[0].status, sizeof(a.worker[0].status), "delivered");
	snprintf(b.worker[0].status, sizeof(b.worker[0].status), "delivered");
	b.worker[0].rank = a.worker[0].rank;
	b.worker[0].pid = a.worker[0].pid + 1;
	d = merge_two(&a, &b);
	CHECK_INT(d.worker[0].pid, a.worker[0].pid);
	for (size_t i = 0; i < d.warnings; i++)
		said += strstr(d.warning[i].warning, "the second one is dropped") != NULL;
	CHECK(said > 0);
	/* What came stands above a reason, a reason above none. */
	lost.worker = calloc(1, sizeof(*lost.worker));
	lost.worker[0].rank = 1000;
	lost.ranks_asked = 1002;
	snprintf(lost.worker[0].status, sizeof(lost.worker[0].status), "missing: its host was lost");
	e = merge_two(&lost, &d);
	CHECK_INT(pp_dataset_finish(&e, NULL), 0);
	CHECK_INT(e.workers, 1002);
	CHECK_STR(e.worker[1000].status, "missing: its host was lost");
	CHECK_STR(e.worker[a.worker[0].rank].status, "delivered");
	CHECK(strstr(e.worker[1001].status, "no record") != NULL);
	CHECK(pp_dataset_merge(NULL, 0, &e, NULL) == -EINVAL);
	pp_dataset_release(&e);
	pp_dataset_release(&lost);
	pp_dataset_release(&d);
	pp_dataset_release(&a);
	pp_dataset_release(&b);
	pp_intern_free(names);
}

/* Shares changed inside, with a head that is right: whatever is read can be merged. */
TEST(hostile_shares)
{
	const char *longer = getenv("PODPROF_LONG");
	int merged = 0, n_rounds = longer && *longer ? 100000 : 3000;

	for (int i = 0; i < n_rounds; i++) {
		struct pp_intern *names = pp_intern_new();
		struct pp_dataset good = part_of(names, 0), bad = part_of(names, 1), d, m;
		uint8_t *bytes = NULL, *inner;
		uint64_t n = 0;
		uLongf unpacked, packed;
		uint32_t checksum;
		void *made = NULL;
		size_t size = 0;

		CHECK_INT(pp_block_write(&bad, &made, &size, NULL), 0);
		memcpy(&n, (uint8_t *)made + 16, sizeof(n));
		unpacked = n;
		inner = malloc(n + 1);
		packed = compressBound(n);
		bytes = malloc(40 + packed);
		memcpy(bytes, made, 40);
		CHECK_INT(uncompress(inner, &unpacked, (uint8_t *)made + 40, size - 40), Z_OK);
		for (uint64_t k = 1 + kit_random(3); k; k--)
			inner[kit_random(n)] ^= (uint8_t)(1 << kit_random(8));
		CHECK_INT(compress2(bytes + 40, &packed, inner, n, 1), Z_OK);
		checksum = (uint32_t)crc32_z(0, bytes + 40, packed);
		n = packed;
		memcpy(bytes + 24, &n, sizeof(n));
		memcpy(bytes + 32, &checksum, sizeof(checksum));
		if (pp_block_read(bytes, 40 + packed, names, &d, NULL) == 0) {
			m = merge_two(&good, &d);
			m.ranks_asked &= 0xff;
			CHECK_INT(pp_dataset_finish(&m, NULL), 0);
			merged++;
			pp_dataset_release(&m);
			pp_dataset_release(&d);
		}
		free(bytes);
		free(inner);
		free(made);
		pp_dataset_release(&good);
		pp_dataset_release(&bad);
		pp_intern_free(names);
	}
	CHECK(merged > n_rounds / 20 && merged < n_rounds);
}

int main(void)
{
	like_one_keeper();
	one_host_only();
	associative();
	clocks_of_epochs();
	claimed_twice();
	hostile_shares();
	return test_end();
}
