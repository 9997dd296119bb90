/* Two halves of a capture with every side array filled give the whole; other tables of texts, an empty half, no memory. */
#include "core/capture/join.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/capture/capture.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"
#include "core/ring/intern.h"
#include "tests/test.h"
#include "tests/unit/core/capture/capture_dump.h"

/* malloc(), calloc() and realloc() of our code (linked with --wrap): the n-th call fails. */
static long calls, failing;
void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);

void *__wrap_malloc(size_t size)
{
	return ++calls == failing ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return ++calls == failing ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t size)
{
	return ++calls == failing ? NULL : __real_realloc(p, size);
}

enum { ROWS = 12, SPANS = 24, LAUNCHES = 3 * ROWS / 4 };
enum part { WHOLE, FIRST, SECOND };

static uint32_t put(struct pp_intern *t, const char *kind, size_t i)
{
	char text[32];

	snprintf(text, sizeof(text), "%s %zu", kind, i % 5);
	return pp_intern_put(t, text, strlen(text));
}

static void set_number(char *at, size_t size, int64_t value)
{
	memcpy(at, &value, size);
}

/* Field f of row i; a key, an order and a time grow with i. */
static void fill_field(struct pp_capture *c, char *row, const struct pp_side_field *field, size_t f, size_t i)
{
	char *at = row + field->offset;
	float narrow = (float)i + 0.5f;
	double wide = (double)i + 0.25;
	int32_t *ranks;

	switch (field->type) {
	case PP_SIDE_TYPE_TICK:
	case PP_SIDE_TYPE_AGED:
		set_number(at, sizeof(int64_t), 1000 + 10 * (int64_t)i);
		break;
	case PP_SIDE_TYPE_NAME:
		set_number(at, sizeof(uint32_t), put(c->names, field->name, i));
		break;
	case PP_SIDE_TYPE_F:
		memcpy(at, field->size == sizeof(wide) ? (void *)&wide : (void *)&narrow, field->size);
		break;
	case PP_SIDE_TYPE_TEXT:
	case PP_SIDE_TYPE_BYTES:
		snprintf(at, field->size, "%zu", i);
		break;
	case PP_SIDE_TYPE_RANKS:
		ranks = calloc(ROWS, sizeof(*ranks));
		for (int k = 0; k < ROWS; k++)
			ranks[k] = (int32_t)i + k;
		memcpy(at, &ranks, sizeof(ranks));
		break;
	case PP_SIDE_TYPE_U:
	case PP_SIDE_TYPE_I:
		set_number(at, field->size, field->is_key ? 1 + (int64_t)i : (int64_t)((i + f) % ROWS));
		break;
	case PP_SIDE_TYPE_BEFORE:
		break;
	}
}

/* Rows that are each once are in both halves, in part. */
static void fill_side(struct pp_capture *c, struct pp_rank *r, enum pp_side_id id, enum part part)
{
	const struct pp_side_array *side = &pp_side_arrays[id];
	size_t overlap = side->same == PP_SIDE_ONCE ? ROWS / 4 : 0;
	size_t from = part == SECOND ? ROWS / 2 - overlap : 0, to = part == FIRST ? ROWS / 2 + overlap : ROWS;
	char *rows = calloc(ROWS, side->size);

	for (size_t i = from; i < to; i++)
		for (size_t f = 0; f < side->fields; f++)
			fill_field(c, rows + (i - from) * side->size, &side->field[f], f, i);
	pp_side_set(side, r, rows, to - from);
}

static void add(struct pp_thread *t, struct pp_span span)
{
	t->first = t->spans ? t->first : span.begin;
	t->last = span.end;
	t->span[t->spans++] = span;
	t->kinds |= PP_SPAN_BIT(span.kind);
}

/* A host's thread with calls, ranges and marks, and a stream; the second half has them the other way round. */
static void fill_threads(struct pp_capture *c, struct pp_rank *r, enum part part)
{
	size_t host = part == SECOND, first_row = part == SECOND ? ROWS / 2 : 0, first_launch = part == SECOND ? ROWS / 4 : 0;

	r->thread = calloc(2, sizeof(*r->thread));
	r->threads = 2;
	for (size_t t = 0; t < 2; t++)
		r->thread[t].span = calloc(3 * SPANS, sizeof(struct pp_span));
	r->thread[host] =
	        (struct pp_thread){.tid = 7, .name = put(c->names, "thread", 0), .is_main = 1, .span = r->thread[host].span};
	r->thread[!host] =
	        (struct pp_thread){.tid = 7, .device = 2, .name = put(c->names, "stream", 0), .span = r->thread[!host].span};
	for (size_t i = part == SECOND ? SPANS / 2 : 0; i < (part == FIRST ? SPANS / 2 : SPANS); i++) {
		int64_t at = 1000 + 100 * (int64_t)i;
		struct pp_span call = {.begin = at, .end = at + 20, .name = put(c->names, "call", i), .kind = PP_SPAN_MPI};
		struct pp_span mark = {.begin = at + 30, .end = at + 30, .name = put(c->names, "mark", i), .kind = PP_SPAN_MARK};
		struct pp_span kernel = {.begin = at, .end = at + 50, .name = put(c->names, "kernel", i), .kind = PP_SPAN_DEVICE};

		call.mpi.sequence = (uint32_t)i;
		if (i % 2 == 0) {
			call.mpi.flags = PP_MPI_HAS_MESSAGE;
			call.mpi.sequence = (uint32_t)(i / 2 - first_row + 1);
		}
		mark.range.payload_type = PP_PAYLOAD_EXT;
		mark.range.payload = put(c->payloads, "payload", i);
		kernel.device.op = put(c->names, "op", i);
		kernel.device.launch = (uint32_t)((i < SPANS / 2 ? i % LAUNCHES : ROWS - 1 - i % LAUNCHES) - first_launch + 1);
		kernel.device.host_thread = (uint32_t)host + 1;
		add(&r->thread[host], call);
		add(&r->thread[host], mark);
		add(&r->thread[!host], kernel);
	}
}

static struct pp_capture make(enum part part, int32_t first_rank, int32_t last_rank)
{
	struct pp_capture c = {.names = pp_intern_new(), .payloads = pp_intern_new(), .ranks_asked = 2};

	if (part == SECOND) { /* other ids than the first half has */
		put(c.names, "of the second half", 0);
		put(c.payloads, "payload", 4);
	}
	c.rank = calloc(2, sizeof(*c.rank));
	for (int32_t number = first_rank; number <= last_rank; number++) {
		struct pp_rank *r = &c.rank[c.ranks++];

		r->rank = number;
		r->size = 2;
		snprintf(r->host, sizeof(r->host), "node%d", number);
		snprintf(r->clock, sizeof(r->clock), "clock of %d", number);
		r->domain = number - first_rank;
		r->horizon = INT64_MIN;
		r->open_tick = 900;
		r->recorded_from = part == SECOND ? 1000 + 100 * SPANS / 2 : 1000;
		r->recorded_to = part == FIRST ? 1000 + 100 * SPANS / 2 - 50 : 1000 + 100 * SPANS;
		for (size_t i = 0; i < 16; i++)
			r->lost[i] = part == WHOLE ? 3 * i : part == FIRST ? i : 2 * i;
		r->records = part == WHOLE ? 30 : part == FIRST ? 10 : 20;
		for (int id = 0; id < PP_SIDE_IDS; id++)
			fill_side(&c, r, (enum pp_side_id)id, part);
		fill_threads(&c, r, part);
	}
	return c;
}

static char *text_of(const struct pp_capture *c)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	pp_capture_dump(c, f);
	fclose(f);
	return text;
}

static void check_same(struct pp_capture *got, struct pp_capture *want)
{
	char *a = text_of(got), *b = text_of(want);

	CHECK_STR(a, b);
	free(a);
	free(b);
	pp_capture_release(got);
	pp_capture_release(want);
}

TEST(halves)
{
	struct pp_capture whole = make(WHOLE, 0, 1), a = make(FIRST, 0, 1), b = make(SECOND, 0, 1);

	CHECK_INT(pp_capture_join(&a, &b, NULL), 0);
	CHECK(!b.rank && !b.names && !b.ranks);
	CHECK_INT(a.rank[0].thread[0].spans, SPANS * 2);
	CHECK_INT(a.rank[1].domain, 1);
	check_same(&a, &whole);
}

TEST(ranks_of_each)
{
	struct pp_capture whole = make(WHOLE, 0, 1), a = make(WHOLE, 1, 1), b = make(WHOLE, 0, 0);

	CHECK_INT(pp_capture_join(&a, &b, NULL), 0);
	CHECK(a.rank[0].domain != a.rank[1].domain);
	check_same(&a, &whole);
}

TEST(empty_half)
{
	struct pp_capture whole = make(WHOLE, 0, 1), a = {0}, b = make(WHOLE, 0, 1), none = {0};

	CHECK_INT(pp_capture_join(&a, &b, NULL), 0);
	CHECK_INT(pp_capture_join(&a, &none, NULL), 0);
	check_same(&a, &whole);
}

/* What is evicted from the later capture is complete where the earlier one has it. */
TEST(horizons)
{
	const int64_t evicted[] = {1000, 99999}, want[] = {INT64_MIN, 99999};

	for (int i = 0; i < 2; i++) {
		struct pp_capture a = make(FIRST, 0, 0), b = make(SECOND, 0, 0);

		b.rank[0].horizon = evicted[i];
		CHECK_INT(pp_capture_join(&a, &b, NULL), 0);
		CHECK_INT(a.rank[0].horizon, want[i]);
		pp_capture_release(&a);
	}
}

TEST(no_memory)
{
	int rc = -1;

	for (long n = 1; rc && n < 10000; n++) {
		struct pp_capture whole = make(WHOLE, 0, 1), a = make(FIRST, 0, 1), b = make(SECOND, 0, 1);
		struct pp_err err;

		calls = 0;
		failing = n;
		rc = pp_capture_join(&a, &b, &err);
		failing = 0;
		if (rc) /* both are as they were: it works now */
			CHECK_INT(pp_capture_join(&a, &b, &err), 0);
		check_same(&a, &whole);
	}
	CHECK_INT(rc, 0);
}

int main(void)
{
	halves();
	ranks_of_each();
	empty_half();
	horizons();
	no_memory();
	return test_end();
}
