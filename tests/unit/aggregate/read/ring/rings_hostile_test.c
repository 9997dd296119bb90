/* Ring files that no guest wrote so: damaged at random, cut, of another version. Nothing crashes, nothing is endless. */
#include <errno.h>
#include <sys/wait.h>

#include "core/call/mpi_call.h"
#include "tests/unit/aggregate/read/ring/hostile_kit.h"
#include "tests/unit/aggregate/read/ring/rings_kit.h"

static uint64_t seed = 12345;

static uint32_t dice(uint32_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % n;
}

static void damage(struct maker *m, int round)
{
	uint32_t *word = (uint32_t *)m->header;
	size_t words = m->bytes / 4;

	switch (round % 5) {
	case 0: /* links and counts */
		for (uint32_t i = 1; i <= m->header->chunk_limit; i++) {
			struct pp_chunk *c = maker_chunk(m, i);

			atomic_store(&c->next, dice(8));
			atomic_store(&c->committed, dice(2000));
		}
		break;
	case 1: /* a circle */
		for (uint32_t i = 1; i <= m->header->chunk_limit; i++)
			atomic_store(&maker_chunk(m, i)->next, i % m->header->chunk_limit + 1);
		break;
	case 2: /* any record */
		for (int i = 0; i < 3000; i++)
			word[PP_RING_HEADER_BYTES / 4 + dice((uint32_t)(words - PP_RING_HEADER_BYTES / 4))] = dice(UINT32_MAX);
		break;
	case 3: /* notes: what payloads mean */
		for (int i = 0; i < 400; i++)
			((uint8_t *)m->header->definition)[dice(600)] = (uint8_t)dice(256);
		m->header->definitions_used = dice(4) ? dice(PP_RING_DEFINITIONS) : dice(UINT32_MAX);
		break;
	default: /* slots */
		for (int i = 0; i < 200; i++)
			((uint32_t *)m->header->thread)[dice(4 * 48)] = dice(20);
		m->header->thread_used = dice(UINT32_MAX);
		m->header->chunk_used = dice(UINT32_MAX);
		break;
	}
}

/* A record of any kind, its words at random, small ones often: half of them are indexes and sizes. */
static void throw_record(struct maker *m, pp_tick tick)
{
	struct pp_record r = {.tick = tick, .kind = (uint16_t)(1 + dice(PP_RECORD_KINDS))};
	uint32_t *word = (uint32_t *)r.text, length = dice(3) ? 0 : dice(600);
	char text[600];

	for (size_t i = 0; i < PP_RECORD_CONT_TEXT / 4; i++)
		word[i] = dice(3) ? dice(20) : dice(UINT32_MAX);
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)dice(256);
	if (r.kind == PP_RECORD_TEXT)
		r.kind = PP_RECORD_PAYLOAD;
	if (r.kind == PP_RECORD_MPI && dice(8))
		r.mpi.end = tick + dice(1000);
	if (r.kind == PP_RECORD_PAYLOAD) {
		r.payload.domain = (uint16_t)dice(PP_RING_DOMAINS + 2);
		r.payload.type = (uint16_t)dice(PP_PAYLOAD_EXT + 2);
	}
	maker_put(m, dice(2), &r, text, r.kind == PP_RECORD_PAYLOAD ? dice(sizeof(text)) : length);
}

/* What devices ran and did, with numbers that are wrong here and there. */
static void throw_device(struct maker *m, pp_tick tick)
{
	struct pp_record r = {.tick = tick, .kind = (uint16_t)(PP_RECORD_DEVICE + dice(7))};
	uint32_t *word = (uint32_t *)r.text, length = 0;
	char text[300];

	for (size_t i = 0; i < PP_RECORD_CONT_TEXT / 4; i++)
		word[i] = dice(9) ? dice(4) : dice(UINT32_MAX);
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)(dice(9) ? dice(4) : dice(256));
	if (r.kind == PP_RECORD_DEVICE || r.kind == PP_RECORD_DEVICE_CALL)
		r.device.end = r.device_call.end = tick + dice(1000);
	if (r.kind == PP_RECORD_DEVICE)
		r.device.activity = (uint8_t)dice(7);
	if (r.kind == PP_RECORD_DEVICE_CALL)
		r.device_call.tid = 10 + dice(3);
	if (r.kind == PP_RECORD_DEVICE_NAME || r.kind == PP_RECORD_DEVICE_INFO)
		length = dice(sizeof(text));
	maker_put(m, dice(2), &r, text, length);
}

/* What PyTorch and its shim write, in no order, with values that are wrong here and there. */
static void throw_framework(struct maker *m, pp_tick tick)
{
	static const char *const name[] = {"c10d::allreduce_",
	                                   "gloo:all_reduce",
	                                   "c10d::send, seq = 3, sizes = [[2]]",
	                                   "gloo:send",
	                                   "backward",
	                                   "c10d::broadcast_",
	                                   "gloo:broadcast",
	                                   "c10d::wait",
	                                   "nccl:all_reduce",
	                                   "aten::mm, seq = ",
	                                   "_c10d_functional::wait_tensor"};
	struct pp_record r = {.tick = tick, .kind = PP_RECORD_PUSH};
	const char *text = name[dice(sizeof(name) / sizeof(name[0]))];

	r.range.source = dice(6) ? PP_SOURCE_ITT : (uint8_t)dice(256);
	r.range.domain = (uint16_t)dice(2);
	if (dice(2)) {
		r.kind = dice(3) ? PP_RECORD_POP : PP_RECORD_GAP;
		text = "";
	} else if (!dice(4)) {
		static const int64_t age[] = {0, -1, 500, 50000, INT64_MAX, INT64_MIN, (int64_t)1 << 61};

		r.kind = PP_RECORD_ANNOTATION;
		r.annotation = (struct pp_record_annotation){.comm = dice(4),
		                                             .sent = dice(8) ? dice(1000) : UINT64_MAX,
		                                             .age_ns = age[dice(7)],
		                                             .sequence = dice(4) ? dice(5) : UINT32_MAX,
		                                             .root = dice(3) ? -1 : (int32_t)(dice(3) - 1),
		                                             .call = (uint16_t)(PP_C10D_FIRST + dice(40))};
		text = "";
	} else if (!dice(6)) {
		r.kind = PP_RECORD_REMARK;
	}
	maker_put(m, dice(2), &r, text, (uint32_t)strlen(text));
}

/* A schema, so that payloads and notes are read at all. */
static void put_definition(struct maker *m)
{
	struct pp_ring_definition row = {.kind = PP_DEFINITION_SCHEMA, .width = 8, .count = 2, .id = 1 + dice(8), .name = 4};
	struct pp_ring_entry entry[2] = {{.type = dice(80), .flags = dice(20), .detail = dice(9), .offset = dice(16), .name = 4},
	                                 {.type = dice(80), .flags = dice(20), .detail = dice(9), .offset = dice(16), .name = 4}};
	char *to = (char *)m->header->definition;

	row.bytes = (uint16_t)((sizeof(row) + sizeof(entry) + 12 + 7) / 8 * 8);
	memcpy(to, &row, sizeof(row));
	memcpy(to + sizeof(row), entry, sizeof(entry));
	memcpy(to + sizeof(row) + sizeof(entry), "one two name", 12);
	m->header->definitions_used = row.bytes;
}

static int rounds(void)
{
	const char *asked = getenv("PODPROF_FUZZ"); /* more of them, by hand */

	return asked ? (int)strtol(asked, NULL, 10) : 200;
}

TEST(fuzz)
{
	for (int round = 0, most = rounds(); round < most; round++) {
		struct maker m;
		struct pp_rings *r = pp_rings_new(256 * 1024);
		struct pp_capture c;

		maker_open(&m, path_of("fuzz.ring"), 0, 1, 1, 6);
		maker_thread(&m, 0, 10);
		maker_thread(&m, 1, 11);
		put_definition(&m);
		memset(m.header->step_rule, (int)dice(256), sizeof(m.header->step_rule));
		m.header->steps_by_shim = dice(2);
		snprintf(m.header->domain[1].text, sizeof(m.header->domain[1].text), "PyTorch");
		for (int i = 0; i < 1200; i++) {
			int kind = 1 + (int)dice(13);
			char name[200];

			if (round % 3 && dice(3)) {
				throw_device(&m, 2000 + 10 * (pp_tick)i);
				continue;
			}
			if (round % 4 > 1 && dice(8)) {
				throw_framework(&m, 2000 + 10 * (pp_tick)i);
				continue;
			}
			if (dice(2)) {
				throw_record(&m, 2000 + 10 * (pp_tick)i);
				continue;
			}
			memset(name, (int)dice(256), sizeof(name));
			name[dice(sizeof(name))] = '\0';
			maker_range(&m, dice(2), kind == PP_RECORD_TEXT ? 1 : kind, 2000 + 10 * (pp_tick)i, (uint16_t)dice(3),
			            dice(50), name);
		}
		if (round % 2)
			damage(&m, round / 2);
		CHECK_INT(pp_rings_open(r, m.path, NULL), 0);
		for (int i = 0; i < 3; i++)
			pp_rings_drain(r, 0, NULL);
		if (round % 3 == 0) {
			if (truncate(m.path, PP_RING_HEADER_BYTES + (off_t)dice(5) * 40000))
				CHECK(0);
			pp_rings_drain(r, 0, NULL);
		}
		CHECK_INT(pp_rings_finish(r, &c, NULL), 0);
		hostile_order(&c);
		pp_rings_free(r);
		hostile_analyse(&c, round % 20 ? NULL : path_of("out"));
		pp_capture_release(&c);
		maker_close(&m);
	}
}

static void make_two_threads(struct maker *m)
{
	maker_open(m, path_of("cut.ring"), 1, 2, 1234, 6);
	maker_thread(m, 0, 10);
	maker_thread(m, 1, 11);
	for (int i = 0; i < 3000; i++) {
		maker_push(m, i & 1, 2000 + 10 * (pp_tick)i, "range");
		maker_pop(m, i & 1, 2005 + 10 * (pp_tick)i);
	}
}

static void check_cut(struct pp_rings *r, uint64_t least)
{
	const struct pp_ring_header *h = pp_rings_header(r, 0);
	struct pp_capture c;

	CHECK_INT(h->rank, 1);
	CHECK_INT(h->pid, 1234);
	CHECK_INT(h->tick_kind, PP_TICK_RAW);
	CHECK_STR(h->host, "host");
	CHECK_INT(pp_rings_finish(r, &c, NULL), 0);
	CHECK_INT(c.ranks, 1);
	CHECK_INT(c.rank[0].rank, 1);
	CHECK_INT(c.rank[0].size, 2);
	CHECK(c.rank[0].lost[PP_LOSS_RING_CUT] >= least);
	CHECK(c.rank[0].lost[PP_LOSS_RING_CUT] <= 2);
	CHECK_INT(c.rank[0].lost[PP_LOSS_BAD_RECORD], 0);
	hostile_order(&c);
	pp_capture_release(&c);
	pp_rings_free(r);
}

/* At any length, before or after the first look: the rank keeps its name, what is gone is counted. */
TEST(cut_short)
{
	static const off_t at[] = {0,
	                           1,
	                           100,
	                           4096,
	                           5000,
	                           100000,
	                           PP_RING_HEADER_BYTES - 1,
	                           PP_RING_HEADER_BYTES,
	                           PP_RING_HEADER_BYTES + 5000,
	                           PP_RING_HEADER_BYTES + PP_CHUNK_BYTES + 1};

	for (size_t i = 0; i < 2 * sizeof(at) / sizeof(at[0]); i++) {
		struct pp_rings *r = pp_rings_new(1 << 20);
		struct maker m;

		if (i / (sizeof(at) / sizeof(at[0])))
			pp_rings_private(r);
		make_two_threads(&m);
		CHECK_INT(pp_rings_open(r, m.path, NULL), 0);
		if (i % 3)
			pp_rings_drain(r, 0, NULL);
		if (truncate(m.path, at[i % (sizeof(at) / sizeof(at[0]))]))
			CHECK(0);
		for (int k = 0; k < 3; k++)
			pp_rings_drain(r, 0, NULL);
		check_cut(r, i % 3 ? 0 : 1);
		maker_close(&m);
	}
}

/* While the keeper reads. */
TEST(cut_meanwhile)
{
	for (int round = 0; round < 200; round++) {
		struct pp_rings *r = pp_rings_new(1 << 20);
		struct maker m;
		pid_t other;

		make_two_threads(&m);
		CHECK_INT(pp_rings_open(r, m.path, NULL), 0);
		other = fork();
		if (!other) {
			for (volatile int k = 0; k < round * 300; k++)
				;
			_exit(truncate(m.path, (off_t)dice(3) * 100000));
		}
		while (!waitpid(other, NULL, WNOHANG))
			pp_rings_drain(r, 0, NULL);
		pp_rings_drain(r, 0, NULL);
		check_cut(r, 0);
		maker_close(&m);
	}
}

TEST(bad_files)
{
	struct maker m;
	struct pp_rings *r = pp_rings_new(1 << 20);
	struct pp_err err = {""};

	CHECK_INT(pp_rings_open(r, path_of("none.ring"), &err), -ENOENT);
	maker_open(&m, path_of("bad.ring"), 0, 1, 1, 2);
	m.header->version = 99;
	CHECK_INT(pp_rings_open(r, m.path, &err), -EPROTO);
	CHECK(strstr(err.text, "version 99") != NULL);
	m.header->version = PP_RING_VERSION;
	m.header->rank = 7;
	CHECK_INT(pp_rings_open(r, m.path, &err), -EPROTO);
	m.header->rank = 0;
	m.header->size = INT32_MAX;
	CHECK_INT(pp_rings_open(r, m.path, &err), -EPROTO);
	CHECK(strstr(err.text, "impossible rank") != NULL);
	m.header->size = 1;
	m.header->tick_kind = PP_TICK_COUNTER == PP_TICK_TSC ? PP_TICK_CNTVCT : PP_TICK_TSC;
	CHECK_INT(pp_rings_open(r, m.path, &err), -EPROTO);
	CHECK(strstr(err.text, "another processor") != NULL);
	m.header->tick_kind = PP_TICK_RAW;
	m.header->magic[0] = 'x';
	CHECK_INT(pp_rings_open(r, m.path, &err), -EPROTO);
	if (truncate(m.path, 1000))
		CHECK(0);
	CHECK_INT(pp_rings_open(r, m.path, &err), -EAGAIN);
	CHECK_INT(pp_rings_count(r), 0);
	maker_close(&m);
	pp_rings_free(r);
}

int main(void)
{
	if (rings_kit_begin())
		return 1;
	fuzz();
	cut_short();
	cut_meanwhile();
	bad_files();
	return rings_kit_end();
}
