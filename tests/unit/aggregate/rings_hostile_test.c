/* Ring files that no guest wrote so: damaged at random, cut, of another version. Nothing crashes, nothing is endless. */
#include <errno.h>

#include "tests/unit/aggregate/rings_kit.h"

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

	switch (round % 4) {
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
	default: /* slots */
		for (int i = 0; i < 200; i++)
			((uint32_t *)m->header->thread)[dice(4 * 48)] = dice(20);
		m->header->thread_used = dice(UINT32_MAX);
		m->header->chunk_used = dice(UINT32_MAX);
		break;
	}
}

TEST(fuzz)
{
	for (int round = 0; round < 200; round++) {
		struct maker m;
		struct pp_rings *r = pp_rings_new(256 * 1024);
		struct pp_capture c;

		maker_open(&m, path_of("fuzz.ring"), 0, 1, 1, 6);
		maker_thread(&m, 0, 10);
		maker_thread(&m, 1, 11);
		for (int i = 0; i < 1200; i++) {
			int kind = 1 + (int)dice(13);
			char name[200];

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
		for (size_t t = 0; t < c.rank[0].threads; t++)
			for (size_t i = 0; i < c.rank[0].thread[t].spans; i++)
				if (c.rank[0].thread[t].span[i].end < c.rank[0].thread[t].span[i].begin)
					CHECK(0);
		pp_rings_free(r);
		pp_capture_release(&c);
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
	bad_files();
	return rings_kit_end();
}
