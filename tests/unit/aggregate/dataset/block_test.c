/* Blocks: datasets made at random come back equal, what is no block or a changed one is refused with a sentence; what it takes. */
#include "aggregate/dataset/block.h"
#include "aggregate/dataset/describe_job.h"

#include <errno.h>
#include <zlib.h>

#include "aggregate/dataset/table/table_bytes.h"
#include "tests/unit/aggregate/dataset/block_kit.h"
#include "tests/unit/aggregate/dataset/table_same.h"

#define EQUAL(n, a, b) CHECK((n) == 0 || !memcmp(a, b, (n) * sizeof(*(a))))

static void same_name(const struct pp_dataset *a, uint32_t x, const struct pp_dataset *b, uint32_t y)
{
	CHECK_STR(pp_intern_text(b->names, y, NULL), pp_intern_text(a->names, x, NULL));
}

static void same_texts(const struct pp_dataset *a, const struct pp_dataset *b)
{
	CHECK_STR(b->session, a->session);
	CHECK_STR(b->job, a->job);
	CHECK_STR(b->command, a->command);
	for (size_t i = 0; i < a->workers; i++) {
		CHECK_STR(b->worker[i].host, a->worker[i].host);
		CHECK_STR(b->worker[i].status, a->worker[i].status);
		CHECK_STR(b->worker[i].options, a->worker[i].options);
		CHECK_STR(b->worker[i].command, a->worker[i].command);
		CHECK_STR(b->worker[i].clock, a->worker[i].clock);
		CHECK_STR(b->worker[i].memory_note, a->worker[i].memory_note);
		CHECK_INT(b->worker[i].remarks, a->worker[i].remarks);
		CHECK(!memcmp(b->worker[i].remark, a->worker[i].remark, sizeof(a->worker[i].remark)));
		CHECK(b->worker[i].domain == a->worker[i].domain && b->worker[i].own_bound_ns == a->worker[i].own_bound_ns);
		CHECK(b->worker[i].rank == a->worker[i].rank && b->worker[i].pid == a->worker[i].pid);
		CHECK(b->worker[i].bound_ns == a->worker[i].bound_ns && b->worker[i].offset_ns == a->worker[i].offset_ns);
		CHECK(b->worker[i].records == a->worker[i].records);
		CHECK(b->worker[i].recorded_ns == a->worker[i].recorded_ns && b->worker[i].kept_ns == a->worker[i].kept_ns);
		CHECK(b->worker[i].cores == a->worker[i].cores && b->worker[i].host_cores == a->worker[i].host_cores);
		EQUAL(PP_LOSSES, a->worker[i].dropped, b->worker[i].dropped);
	}
	for (size_t i = 0; i < a->warnings; i++)
		CHECK_STR(b->warning[i].warning, a->warning[i].warning);
}

static void same_tables(const struct pp_dataset *a, const struct pp_dataset *b)
{
	for (size_t i = 0; i < a->communicators; i++) {
		const struct pp_row_communicator *x = &a->communicator[i], *y = &b->communicator[i];

		same_name(a, x->name, b, y->name);
		CHECK(x->id == y->id && x->size == y->size && !x->member == !y->member);
		if (x->member)
			EQUAL(x->size, x->member, y->member);
	}
}

static void same_clocks(const struct pp_dataset *a, const struct pp_dataset *b)
{
	CHECK_INT(b->host_clocks, a->host_clocks);
	for (size_t i = 0; i < a->host_clocks && !test_failures; i++)
		kit_same_clock(&a->host_clock[i], &b->host_clock[i]);
	for (size_t w = 0; w < a->workers; w++)
		CHECK_INT(b->worker[w].host_clock, a->worker[w].host_clock);
}

static void same_columns(const struct pp_dataset *a, const struct pp_dataset *b)
{
	struct pp_table x[PP_TABLES], y[PP_TABLES];

	pp_dataset_tables(a, x);
	pp_dataset_tables(b, y);
	for (int id = 0; id < PP_TABLES; id++)
		if (x[id].desc->made < PP_MADE_POD)
			CHECK_STR(first_difference(&x[id], a->names, &y[id], b->names), "");
}

static void same_bits(const struct pp_row_arrival *x, const struct pp_row_arrival *y)
{
	CHECK_INT(y->exposed, x->exposed);
	CHECK(x->shared == y->shared && x->is_root == y->is_root && x->exit_open == y->exit_open);
	CHECK(x->needs == y->needs && x->is_empty == y->is_empty && x->side == y->side);
}

static void same(const struct pp_dataset *a, const struct pp_dataset *b)
{
	CHECK(a->workers == b->workers && a->steps == b->steps && a->collectives == b->collectives && a->arrivals == b->arrivals);
	CHECK(a->channels == b->channels && a->communicators == b->communicators && a->files == b->files);
	CHECK(a->warnings == b->warnings);
	CHECK(a->epoch_realtime_ns == b->epoch_realtime_ns && a->steps_asked_first == b->steps_asked_first);
	CHECK(a->ranks_asked == b->ranks_asked && a->step_confidence == b->step_confidence);
	CHECK(!memcmp(&a->c10d, &b->c10d, sizeof(a->c10d)));
	CHECK(a->exposeds == b->exposeds && a->spawned == b->spawned && a->paused == b->paused);
	CHECK(a->keeper_rss_bytes == b->keeper_rss_bytes);
	if (test_failures)
		return;
	same_texts(a, b);
	same_tables(a, b);
	same_clocks(a, b);
	same_columns(a, b);
	for (size_t i = 0; i < a->arrivals && !test_failures; i++)
		same_bits(&a->arrival[i], &b->arrival[i]);
	EQUAL(a->exposeds, a->exposed, b->exposed);
	kit_same_tables(a, b, 1);
	for (size_t i = 0; i < a->channels; i++)
		CHECK_INT(b->channel[i].unseen, a->channel[i].unseen);
	kit_same_loaders(a, b);
}

TEST(round_trip)
{
	for (int i = 0; i < 200 && !test_failures; i++) {
		struct pp_intern *names = pp_intern_new(), *other = pp_intern_new();
		struct pp_dataset d = kit_dataset(names, kit_random(6), kit_random(20), kit_random(40)), back;
		struct pp_err err = {""};
		void *bytes = NULL;
		size_t size = 0;

		kit_name(other, "numbers of names differ from keeper to keeper", 0);
		CHECK_INT(pp_block_write(&d, &bytes, &size, &err), 0);
		CHECK_INT(pp_block_read(bytes, size, other, &back, &err), 0);
		CHECK_STR(err.text, "");
		same(&d, &back);
		pp_dataset_release(&back);
		pp_dataset_release(&d);
		pp_intern_free(names);
		pp_intern_free(other);
		free(bytes);
	}
}

/* Made-up rows in every table: a column that a description has and no code fills is sent too. */
static void make_up(struct pp_table *t, struct pp_intern *names)
{
	for (size_t rows = 0; rows < 3; rows++) {
		CHECK(pp_table_add(t) != NULL);
		for (size_t i = 0; i < t->desc->columns; i++) {
			const struct pp_column *c = &t->desc->column[i];

			if (c->type == PP_TYPE_CHARS && c->rule < PP_RULE_LATE)
				snprintf(pp_column_at(c, t, rows), c->count, "%d", (int)kit_random(9));
			for (size_t k = 0; c->rule < PP_RULE_LATE && c->type != PP_TYPE_CHARS && k < c->count; k++) {
				double real = (double)kit_random(100) / 100;
				int64_t v =
				        c->type == PP_TYPE_TEXT ? kit_name(names, "text", kit_random(3))
				        : c->type == PP_TYPE_FLAG || c->type == PP_TYPE_CODE || c->word || c->rule == PP_RULE_KEY
				                ? (int64_t)kit_random(2)
				                : (int64_t)(1 + kit_random(3));

				if (c->type == PP_TYPE_F64)
					memcpy(&v, &real, sizeof(v));
				(void)pp_column_store(c, t, rows, 1, k, &v);
			}
		}
		if (pp_table_fault(t)) { /* again, until the row is one */
			t->rows--;
			rows--;
		}
	}
}

TEST(each_column_arrives)
{
	for (int round = 0; round < 20; round++) {
		struct pp_intern *names = pp_intern_new(), *other = pp_intern_new();
		struct pp_table t[PP_TABLES], back[PP_TABLES];
		struct pp_block_io out = {.names = names}, in = {.reads = 1, .interned = other, .budget = 1 << 24};
		uint32_t *rank;

		for (int id = 0; id < PP_TABLES; id++) {
			t[id] = back[id] = (struct pp_table){.desc = pp_table_desc(id)};
			if (t[id].desc->made < PP_MADE_POD)
				make_up(&t[id], names);
		}
		rank = pp_names_rank(names);
		for (int id = 0; id < PP_TABLES; id++)
			if (t[id].desc->keys && t[id].desc->made < PP_MADE_PACKED)
				CHECK_INT(pp_table_seal(&t[id], rank), 0);
		pp_tables_bytes(&out, t, PP_TABLES, NULL, 0);
		CHECK_INT(out.fault, 0);
		in.bytes = out.bytes;
		in.size = out.at;
		pp_tables_bytes(&in, back, PP_TABLES, NULL, 0);
		CHECK_INT(in.fault, 0);
		for (int id = 0; id < PP_TABLES; id++) {
			if (t[id].desc->made < PP_MADE_POD)
				CHECK_STR(first_difference(&t[id], names, &back[id], other), "");
			free(t[id].row);
			free(back[id].row);
		}
		free(rank);
		free(out.bytes);
		pp_intern_free(names);
		pp_intern_free(other);
	}
}

static int refused(const void *bytes, size_t size, int code, const char *why)
{
	struct pp_intern *names = pp_intern_new();
	struct pp_dataset back;
	struct pp_err err = {""};
	int rc = pp_block_read(bytes, size, names, &back, &err);

	if (rc == 0)
		pp_dataset_release(&back);
	pp_intern_free(names);
	return rc == code && strstr(err.text, why) && !strchr(err.text, '\n');
}

/* The head of block.c: magic, version and byte order, sizes, checksum, schema of the tables. */
static void repair_head(uint8_t *bytes, size_t unpacked, size_t packed)
{
	uint64_t sizes[2] = {unpacked, packed};
	uint32_t last[2] = {(uint32_t)crc32_z(0, bytes + 40, packed),
	                    pp_table_schema(pp_table_desc, PP_TABLES) ^ pp_table_schema(pp_job_desc, 1)};

	memcpy(bytes + 16, sizes, sizeof(sizes));
	memcpy(bytes + 32, last, sizeof(last));
}

TEST(no_block)
{
	struct pp_intern *names = pp_intern_new();
	struct pp_dataset d = kit_dataset(names, 3, 10, 20);
	uint8_t *bytes = NULL;
	char want[64];
	void *made = NULL;
	size_t size = 0;

	CHECK_INT(pp_block_write(&d, &made, &size, NULL), 0);
	bytes = made;
	CHECK(refused("", 0, -EBADMSG, "no host's share"));
	CHECK(refused("HDF5 and then much more of something else", 41, -EBADMSG, "no host's share"));
	for (size_t cut = 40; cut < size; cut += 7)
		CHECK(refused(bytes, cut, -EBADMSG, "cut or changed"));
	for (size_t at = 40; at < size; at += 11) {
		bytes[at] ^= 4;
		CHECK(refused(bytes, size, -EBADMSG, "cut or changed"));
		bytes[at] ^= 4;
	}
	bytes[8]++;
	snprintf(want, sizeof(want), "version %d, not %d", PP_BLOCK_VERSION + 1, PP_BLOCK_VERSION);
	CHECK(refused(bytes, size, -ENOTSUP, want));
	bytes[8]--;
	bytes[12]++;
	CHECK(refused(bytes, size, -ENOTSUP, "byte order"));
	bytes[12]--;
	repair_head(bytes, (size_t)1 << 50, size - 40);
	CHECK(refused(bytes, size, -EBADMSG, "does not fit its contents"));
	/* Tools count by numbers with a name. */
	free(bytes);
	CHECK(d.op_idles > 0);
	d.op_idle[0].side = PP_SIDE_DEVICE + 1;
	CHECK_INT(pp_block_write(&d, &made, &size, NULL), 0);
	bytes = made;
	CHECK(refused(bytes, size, -EBADMSG, "side"));
	/* What no capture has is not sent. */
	d.cell[0].present = 1;
	d.cell[0].begin_ns = INT64_MAX;
	CHECK_INT(pp_block_write(&d, &made, &size, NULL), -EINVAL);
	pp_dataset_release(&d);
	pp_intern_free(names);
	free(bytes);
}

/* What is in the block of a dataset, to be freed. */
static uint8_t *unpacked(const struct pp_dataset *d, size_t *ret_size)
{
	void *bytes = NULL;
	size_t size = 0;
	uint64_t n = 0;
	uLongf length;
	uint8_t *inner;

	CHECK_INT(pp_block_write(d, &bytes, &size, NULL), 0);
	memcpy(&n, (uint8_t *)bytes + 16, sizeof(n));
	length = n;
	inner = malloc(n + 1);
	CHECK_INT(uncompress(inner, &length, (uint8_t *)bytes + 40, size - 40), Z_OK);
	free(bytes);
	*ret_size = n;
	return inner;
}

/* Changed inside, with a head that is right: read, or refused; what is read can be written again. */
static void mutate(const uint8_t *inner, size_t length, int *taken)
{
	size_t n = length < (1 << 24) ? length : 1 << 24;
	uLongf packed = compressBound(n + 8);
	uint8_t *copy = malloc(n + 8), *bytes = malloc(40 + packed);
	struct pp_intern *names = pp_intern_new();
	struct pp_dataset d;
	struct pp_err err = {""};
	size_t size = kit_random(8) ? n : kit_random(n + 8);

	memset(copy + n, 0, 8);
	memcpy(copy, inner, n);
	for (uint64_t k = 1 + kit_random(3); k; k--)
		copy[kit_random(n)] = (uint8_t)(kit_random(3) ? kit_random(256) : 0xff);
	memcpy(bytes, "ppblock\0\0\0\0\0\4\3\2\1", 16);
	bytes[8] = PP_BLOCK_VERSION;
	CHECK_INT(compress2(bytes + 40, &packed, copy, size, 1), Z_OK);
	repair_head(bytes, size, packed);
	if (pp_block_read(bytes, 40 + packed, names, &d, &err) == 0) {
		void *again = NULL;
		size_t again_size;

		(*taken)++;
		CHECK_INT(pp_block_write(&d, &again, &again_size, &err), 0);
		free(again);
		pp_dataset_release(&d);
	} else {
		CHECK(strstr(err.text, "a host's share is ") != NULL);
	}
	pp_intern_free(names);
	free(copy);
	free(bytes);
}

/* More with PODPROF_LONG. */
static int rounds(int n)
{
	const char *longer = getenv("PODPROF_LONG");

	return longer && *longer ? 100 * n : n;
}

TEST(hostile_bytes)
{
	int taken = 0, n = rounds(40);

	for (int i = 0; i < n; i++) {
		struct pp_intern *names = pp_intern_new();
		struct pp_dataset d = kit_dataset(names, 1 + kit_random(4), kit_random(8), kit_random(8));
		size_t size = 0;
		uint8_t *inner;

		inner = unpacked(&d, &size);
		for (int k = 0; k < 200; k++)
			mutate(inner, size, &taken);
		free(inner);
		pp_dataset_release(&d);
		pp_intern_free(names);
	}
	CHECK(taken > n && taken < 200 * n - 100);
}

/* A few bytes that would become a great many: cells of one rank in very many steps, in which it never is. */
TEST(bombs)
{
	enum { STEPS = 3 << 20 };
	struct pp_intern *names = pp_intern_new();
	struct pp_dataset d = kit_dataset(names, 1, 0, 0);
	struct pp_err err = {""};
	void *bytes = NULL;
	size_t size = 0;

	free(d.step);
	free(d.cell);
	d.steps = STEPS;
	d.step = calloc(STEPS, sizeof(*d.step));
	d.cell = calloc(STEPS, sizeof(*d.cell));
	for (size_t i = 0; i < STEPS; i++)
		d.step[i].number = (int64_t)i;
	CHECK_INT(pp_block_write(&d, &bytes, &size, &err), 0);
	CHECK(size < 50000);
	CHECK(refused(bytes, size, -EBADMSG, "how much it would take is wrong"));
	free(bytes);
	pp_dataset_release(&d);
	pp_intern_free(names);
}

/* A host of a training job: 8 ranks, 100 steps, 12 collectives of all hosts in each, with the noise that clocks have. */
TEST(bytes_on_the_way)
{
	enum { RANKS = 8, STEPS = 100, CALLS = 12 };
	struct pp_intern *names = pp_intern_new();
	struct pp_dataset d = kit_dataset(names, RANKS, STEPS, 0);
	void *bytes = NULL;
	size_t size = 0, limit = STEPS * RANKS * 128 + STEPS * CALLS * RANKS * 8 + 4096;

	free(d.collective);
	free(d.arrival);
	free(d.exposed);
	d.collective = calloc(STEPS * CALLS, sizeof(*d.collective));
	d.arrival = calloc(STEPS * CALLS * RANKS, sizeof(*d.arrival));
	d.exposed = calloc(STEPS * CALLS * RANKS, sizeof(*d.exposed));
	for (size_t i = 0; i < STEPS * CALLS; i++) {
		struct pp_row_collective *c = &d.collective[d.collectives++];
		int64_t first = (int64_t)(i * 1000000 + kit_random(300000));

		*c = (struct pp_row_collective){
		        .communicator = 0x123456789abcdef, .sequence = (uint32_t)i, .bytes = 4 << 20, .row_count = RANKS};
		c->row_first = d.arrivals;
		for (int r = 0; r < RANKS; r++) {
			struct pp_row_arrival *row = &d.arrival[d.arrivals++];

			row->worker = d.worker[r].rank;
			row->arrival_ns = first + (int64_t)kit_random(30000);
			row->exit_ns = first + 400000 + (int64_t)kit_random(10000);
			row->exposed = (uint32_t)d.arrivals & PP_EXPOSED_MOST;
			d.exposed[d.exposeds++] = (struct pp_exposed){.begin_ns = row->arrival_ns,
			                                              .length_ns = (uint32_t)(row->exit_ns - row->arrival_ns),
			                                              .step = (uint32_t)(i / CALLS) & INT32_MAX};
		}
	}
	CHECK_INT(pp_block_write(&d, &bytes, &size, NULL), 0);
	fprintf(stderr, "%d (rank, step) and %d rows of cross-host collectives: %zu bytes, limit %zu\n", RANKS * STEPS,
	        STEPS * CALLS * RANKS, size, limit);
	CHECK(size <= limit);
	free(bytes);
	pp_dataset_release(&d);
	pp_intern_free(names);
}

int main(void)
{
	round_trip();
	each_column_arrives();
	no_block();
	hostile_bytes();
	bombs();
	bytes_on_the_way();
	return test_end();
}
