/* TOLD and REMARK records, and names with sizes behind them: what becomes of them, and of those that no shim writes. */
#include "core/call/mpi_call.h"
#include "core/capture/capture.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"
#include "core/clock/clock_map.h"
#include "tests/unit/aggregate/read/ring/rings_kit.h"

static void put_annotation(struct maker *m, pp_tick tick, uint16_t call, int64_t age, uint64_t sent)
{
	struct pp_record r = {
	        .tick = tick,
	        .kind = PP_RECORD_ANNOTATION,
	        .annotation = {.comm = 5, .sent = sent, .received = 8, .age_ns = age, .sequence = 3, .root = -1, .call = call}};

	maker_put(m, 0, &r, NULL, 0);
}

static void put_remark(struct maker *m, const char *text)
{
	struct pp_record r = {.tick = 5000, .kind = PP_RECORD_REMARK};

	maker_put(m, 0, &r, text, (uint32_t)strlen(text));
}

TEST(annotation)
{
	struct pp_clock_map map = {.tick0 = 1000, .num = 1};
	struct maker m;
	struct pp_capture c;

	maker_open(&m, path_of("told.ring"), 0, 1, 1, 8);
	maker_thread(&m, 0, 10);
	put_annotation(&m, 3000, PP_C10D_FIRST + 1, 700, 64);
	put_annotation(&m, 3001, PP_C10D_FIRST + 1, INT64_MIN, 64);
	put_annotation(&m, 3002, PP_C10D_FIRST + 1, INT64_MAX, 64);
	put_annotation(&m, 3003, 1, 0, 64); /* a call of MPI */
	put_annotation(&m, 3004, UINT16_MAX, 0, 64);
	put_annotation(&m, 3005, PP_C10D_FIRST + 1, 0, (uint64_t)-4);
	snprintf(m.header->step_rule, sizeof(m.header->step_rule), "torch: DataLoader");
	m.header->steps_by_shim = 1;
	c = finished(&m);
	CHECK_INT(c.rank[0].annotations, 3);
	CHECK_INT(c.rank[0].lost[PP_LOSS_BAD_RECORD], 3);
	CHECK_STR(c.rank[0].step_rule, "torch: DataLoader");
	CHECK_INT(c.rank[0].annotation[0].sent, 64);
	CHECK_INT(c.rank[0].annotation[0].sequence, 3);
	pp_clock_map_rank(&map, &c.rank[0]);
	CHECK_INT(c.rank[0].annotation[0].time, 2000 - 700);
	CHECK(c.rank[0].annotation[1].time == INT64_MAX);
	CHECK(c.rank[0].annotation[2].time == 2002 - INT64_MAX);
	pp_capture_release(&c);
}

TEST(too_many)
{
	enum { MANY = (1 << 20) + 1 };
	struct maker m;
	struct pp_capture c;

	maker_open(&m, path_of("many.ring"), 0, 1, 1, 4096);
	maker_thread(&m, 0, 10);
	for (int i = 0; i < MANY; i++)
		put_annotation(&m, 3000 + (pp_tick)i, PP_C10D_FIRST + 1, 0, 1);
	c = finished(&m);
	CHECK_INT(c.rank[0].annotations, (1 << 19) + 1);
	CHECK_INT(c.rank[0].lost[PP_LOSS_EVICTED], 1 << 19);
	CHECK_INT(c.rank[0].annotation[c.rank[0].annotations - 1].time, 3000 + MANY - 1);
	CHECK_STR(c.rank[0].step_rule, "");
	pp_capture_release(&c);
}

TEST(remarks)
{
	char big[400];
	struct maker m;
	struct pp_capture c;

	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	memcpy(big + 157, "\xe2\x82\xac", 3); /* a character that does not fit */
	maker_open(&m, path_of("remarks.ring"), 0, 1, 1, 8);
	maker_thread(&m, 0, 10);
	put_remark(&m, "this torch has no recorder");
	put_remark(&m, "this torch has no recorder");
	put_remark(&m, "");
	put_remark(&m, "two\nlines \xff");
	put_remark(&m, big);
	put_remark(&m, "four");
	put_remark(&m, "five");
	put_remark(&m, "six");
	memset(m.header->step_rule, 0xff, sizeof(m.header->step_rule)); /* not terminated, no text */
	m.header->steps_by_shim = 1;
	c = finished(&m);
	CHECK_INT(c.rank[0].remarks, 6);
	CHECK_STR(c.rank[0].remark[0], "this torch has no recorder");
	CHECK_STR(c.rank[0].remark[1], "two lines \xef\xbf\xbd");
	CHECK(strlen(c.rank[0].remark[2]) < sizeof(c.rank[0].remark[2]) && c.rank[0].remark[2][156] == 'x');
	CHECK_STR(c.rank[0].remark[3], "four");
	CHECK_INT(strlen(c.rank[0].step_rule), 63);
	pp_capture_release(&c);
}

static void push(struct maker *m, pp_tick tick, int source, const char *name)
{
	struct pp_record r = {.tick = tick, .kind = PP_RECORD_PUSH, .range = {.source = (uint8_t)source}};

	maker_put(m, 0, &r, name, (uint32_t)strlen(name));
	maker_pop(m, 0, tick + 1);
}

static void check_name(const struct pp_capture *c, size_t i, const char *name, const char *payload)
{
	const struct pp_span *s = &c->rank[0].thread[0].span[i];

	CHECK_STR(name_of(c, s), name);
	CHECK_INT(s->range.payload_type, payload ? PP_PAYLOAD_EXT : PP_PAYLOAD_NONE);
	if (payload)
		CHECK_STR(pp_intern_text(c->payloads, (uint32_t)s->range.payload, NULL), payload);
}

TEST(names_with_sizes)
{
	struct pp_record number = {.tick = 8000, .kind = PP_RECORD_PAYLOAD, .payload = {.type = PP_PAYLOAD_UINT32, .size = 4}};
	struct maker m;
	struct pp_capture c;

	maker_open(&m, path_of("sizes.ring"), 0, 1, 1, 8);
	maker_thread(&m, 0, 10);
	push(&m, 2000, PP_SOURCE_NVTX, "aten::mm, op_id = 12, seq = 3, sizes = [[2, 3], [3, 4]]");
	push(&m, 3000, PP_SOURCE_ITT, "aten::mm, sizes = [[2, 3]]");
	push(&m, 4000, PP_SOURCE_ITT, "aten::mm");
	push(&m, 5000, PP_SOURCE_API, "mine, seq = 3");
	push(&m, 6000, PP_SOURCE_ITT, ", seq = 3");
	push(&m, 7000, PP_SOURCE_ITT, "f(a, b), sequel = 3, seq =");
	maker_put(&m, 0, &number, "\7\0\0\0", 4);
	push(&m, 8000, PP_SOURCE_NVTX, "own, seq = 9");
	push(&m, 9000, PP_SOURCE_NVTX, "end, seq = ");
	c = finished(&m);
	CHECK_INT(c.rank[0].thread[0].spans, 8);
	check_name(&c, 0, "aten::mm", "op_id = 12, seq = 3, sizes = [[2, 3], [3, 4]]");
	check_name(&c, 1, "aten::mm", "sizes = [[2, 3]]");
	CHECK_INT(c.rank[0].thread[0].span[0].name, c.rank[0].thread[0].span[2].name);
	check_name(&c, 2, "aten::mm", NULL);
	check_name(&c, 3, "mine, seq = 3", NULL);
	check_name(&c, 4, ", seq = 3", NULL);
	check_name(&c, 5, "f(a, b), sequel = 3, seq =", NULL);
	CHECK_STR(name_of(&c, &c.rank[0].thread[0].span[6]), "own");
	CHECK_INT(c.rank[0].thread[0].span[6].range.payload_type, PP_PAYLOAD_UINT32);
	CHECK_INT(c.rank[0].thread[0].span[6].range.payload, 7);
	check_name(&c, 7, "end", "seq = ");
	pp_capture_release(&c);
}

int main(void)
{
	if (rings_kit_begin())
		return 1;
	annotation();
	too_many();
	remarks();
	names_with_sizes();
	return rings_kit_end();
}
