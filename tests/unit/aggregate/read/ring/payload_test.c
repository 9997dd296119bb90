/* Payloads against notes that no guest would write: lengths that lie, entries that are not there, all kinds of types. What a sane
 * one looks like is in core/source/nvtx/nvtx_payload_test.c; here nothing may be read or written that is not the payload's or the
 * definition's. */
#include <stdlib.h>

#include "aggregate/read/ring/payload.h"
#include "tests/test.h"

enum { ROUNDS = 40000, SCHEMA = 1 << 24 };

static uint32_t state = 1;

static uint32_t any(uint32_t below)
{
	state = state * 1664525u + 1013904223u;
	return (state >> 8) % below;
}

/* A row that is plausible up to a point. */
static void make_definition(struct pp_ring_header *h)
{
	struct pp_ring_definition *n = (struct pp_ring_definition *)h->definition;
	struct pp_ring_entry *e = (struct pp_ring_entry *)(n + 1);
	uint32_t entries = any(6);

	memset(h->definition, 'x', 1024);
	*n = (struct pp_ring_definition){.kind = PP_DEFINITION_SCHEMA, .count = (uint16_t)entries, .id = SCHEMA, .name = 3};
	n->bytes = (uint16_t)((sizeof(*n) + entries * sizeof(*e) + any(64) + 7) & ~7u);
	for (uint32_t i = 0; i < entries; i++)
		e[i] = (struct pp_ring_entry){.type = any(90),
		                              .flags = any(4) ? 0 : any(2048),
		                              .detail = any(3) ? any(20) : UINT32_MAX - any(3),
		                              .offset = any(3)   ? 0
		                                        : any(5) ? any(80)
		                                                 : UINT32_MAX,
		                              .name = any(4) ? any(9) : UINT32_MAX};
	switch (any(12)) {
	case 0:
		n->bytes = (uint16_t)any(65536);
		break;
	case 1:
		n->count = (uint16_t)any(65536);
		break;
	case 2:
		n->width = (uint8_t)any(256);
		break;
	default:
		break;
	}
	atomic_store(&h->definitions_used, any(8) ? n->bytes : any(40000));
}

TEST(notes_that_lie)
{
	struct pp_ring_header *h = calloc(1, sizeof(*h));
	char text[PP_PAYLOAD_TEXT], *bytes;
	size_t by_schema = 0;

	CHECK(h != NULL);
	for (int i = 0; h && i < ROUNDS; i++) {
		uint32_t length = any(120);
		struct pp_record_payload p = {
		        .schema = any(4) ? SCHEMA : any(100), .type = PP_PAYLOAD_EXT, .size = any(9) ? length : any(1000)};
		size_t used;

		/* Exactly as long as it says: a byte more would be seen by the sanitizer. */
		bytes = malloc(length + !length);
		memset(bytes, (int)any(256), length);
		make_definition(h);
		used = pp_payload_text(h, &p, bytes, length, text);
		CHECK(used < sizeof(text) && strlen(text) == used);
		by_schema += strstr(text, "=") != NULL;
		free(bytes);
	}
	CHECK(by_schema > 500 && by_schema < ROUNDS);
	free(h);
}

TEST(predefined_types)
{
	static struct pp_ring_header h;
	struct pp_record_payload p = {.schema = 15, .size = 8};
	const int32_t two[] = {-1, 7};
	char text[PP_PAYLOAD_TEXT];

	pp_payload_text(&h, &p, (const char *)two, 8, text);
	CHECK_STR(text, "[-1, 7]");
	p.size = 7;
	pp_payload_text(&h, &p, (const char *)two, 7, text);
	CHECK_STR(text, "7 bytes 0xffffffff070000");
	p = (struct pp_record_payload){.schema = 75, .size = 5};
	pp_payload_text(&h, &p, "hello", 5, text);
	CHECK_STR(text, "\"hello\"");
	p = (struct pp_record_payload){.schema = SCHEMA, .size = 1};
	pp_payload_text(&h, &p, "\377", 1, text);
	CHECK_STR(text, "1 byte 0xff");
}

int main(void)
{
	notes_that_lie();
	predefined_types();
	return test_end();
}
