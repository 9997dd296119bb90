/* Hosts and peers of ranks, and the k-th and the quartiles of values, against the plain count; planes of the page, inflated
 * again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "aggregate/dataset/dataset.h"
#include "aggregate/write/json.h"
#include "aggregate/report/data/quartile.h"
#include "core/base/select.h"
#include "tests/test.h"

enum { RANKS = 300, VALUES = 2000, PACKED = 100000 };

static uint64_t seed = 88172645463325252ULL;

static int64_t dice(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (int64_t)(seed % below);
}

/* Ranks of few hosts and clocks in any order; some of them missing, without a host. */
static void fill(struct pp_row_worker *w)
{
	for (int32_t r = 0; r < RANKS; r++) {
		w[r] = (struct pp_row_worker){.rank = r, .domain = (int32_t)dice(5) - 1};
		snprintf(w[r].status, sizeof(w[r].status), "%s", dice(7) ? "delivered" : "missing: it died");
		if (dice(9))
			snprintf(w[r].host, sizeof(w[r].host), "node%d", (int)dice(40));
	}
}

TEST(test_peers)
{
	static struct pp_row_worker w[RANKS];
	struct pp_dataset d = {.worker = w, .workers = RANKS};
	size_t peers[RANKS], hosts = 0;

	fill(w);
	CHECK_INT(pp_dataset_count_peers(&d, peers), 0);
	for (size_t i = 0; i < RANKS; i++)
		CHECK_INT(peers[i], pp_dataset_peers(&d, i));
	for (size_t i = 0; i < RANKS; i++) {
		size_t k = 0;

		while (k < i && strcmp(w[k].host, w[i].host))
			k++;
		hosts += k == i && w[i].host[0];
	}
	CHECK_INT(pp_dataset_hosts(&d), hosts);
	d.workers = 0;
	CHECK_INT(pp_dataset_hosts(&d), 0);
	CHECK_INT(pp_dataset_count_peers(&d, peers), 0);
}

/* kind 0: any values, 1: few, 2: rising, 3: falling, 4: a saw, against the choice of pivots */
static int64_t value_of(int kind, size_t i, size_t n)
{
	switch (kind) {
	case 0:
		return dice(UINT64_C(1) << 62) - (INT64_C(1) << 61);
	case 1:
		return dice(3);
	case 2:
		return (int64_t)i;
	case 3:
		return -(int64_t)i;
	default:
		return (int64_t)(i % 2 ? i : n - i);
	}
}

TEST(test_select)
{
	static int64_t v[VALUES], sorted[VALUES];

	for (int turn = 0; turn < 400; turn++) {
		size_t n = 1 + (size_t)dice(turn % 2 ? VALUES : 40), k = (size_t)dice(n);

		for (size_t i = 0; i < n; i++)
			v[i] = sorted[i] = value_of(turn % 5, i, n);
		qsort(sorted, n, sizeof(*sorted), pp_compare_int64);
		CHECK(pp_select_int64(v, n, k) == sorted[k]);
		for (size_t i = 0; i < n; i++)
			CHECK(i < k ? v[i] <= v[k] : v[i] >= v[k]);
		qsort(v, n, sizeof(*v), pp_compare_int64);
		CHECK(!memcmp(v, sorted, n * sizeof(*v)));
	}
}

/* As of sorted values, also where one of them is far away from all others. */
TEST(test_quartiles)
{
	static int64_t v[VALUES], sorted[VALUES], few[VALUES];
	int64_t found[PP_QUARTILES];

	for (int turn = 0; turn < 600; turn++) {
		size_t n = 1 + (size_t)dice(turn % 2 ? VALUES : 40);

		for (size_t i = 0; i < n; i++)
			v[i] = value_of(turn % 5, i, n);
		if (turn % 3 == 1)
			v[dice(n)] = INT64_MAX;
		if (turn % 3 == 2)
			v[dice(n)] = INT64_MIN;
		memcpy(sorted, v, n * sizeof(*v));
		qsort(sorted, n, sizeof(*sorted), pp_compare_int64);
		pp_quartiles(v, n, few, found);
		CHECK(found[0] == sorted[0]);
		CHECK(found[1] == sorted[(n - 1) / 4]);
		CHECK(found[2] == sorted[(n - 1) / 2]);
		CHECK(found[3] == sorted[n - 1 - (n - 1) / 4]);
		CHECK(found[4] == sorted[n - 1]);
	}
}

static size_t from_base64(unsigned char *to, const char *text)
{
	static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint32_t bits = 0;
	size_t n = 0;

	for (int i = 0; text[i] && text[i] != '"' && text[i] != '='; i++) {
		bits = bits << 6 | (uint32_t)(strchr(digit, text[i]) - digit);
		if (i % 4)
			to[n++] = (unsigned char)(bits >> (6 - 2 * (i % 4)));
	}
	return n;
}

/* A plane of the page inflates to what it was, whether its bytes are noise (kind 1, 2), or not (0), or only for a while (3). */
static void pack_and_unpack(int kind)
{
	static int64_t v[PACKED];
	static unsigned char packed[8 * PACKED], bytes[4 * PACKED];
	z_stream z = {.next_in = packed, .next_out = bytes, .avail_out = sizeof(bytes)};
	char *text = NULL, *data;
	size_t size = 0, wrong = 0;
	FILE *f = open_memstream(&text, &size);

	for (size_t i = 0; i < PACKED; i++)
		v[i] = kind == 1   ? dice(UINT64_C(1) << 32)
		       : kind == 2 ? dice(1 << 16) + (9 << 16)
		       : kind == 3 ? (i < PACKED / 2 ? dice(1 << 16) : 0)
		                   : (int64_t)(i / 100) + 300;
	CHECK_INT(pp_json_ints(f, v, PACKED), 0);
	fclose(f);
	data = strstr(text, "\"z\":\"");
	CHECK(data && strstr(text, "\"t\":\"u4\""));
	z.avail_in = data ? (uInt)from_base64(packed, data + 5) : 0;
	CHECK(kind != 1 || z.avail_in < 4 * PACKED + 400);
	CHECK(kind != 2 || z.avail_in < 2 * PACKED + 4000);
	CHECK(kind != 0 || z.avail_in < PACKED / 10);
	CHECK_INT(inflateInit2(&z, -15), Z_OK);
	CHECK_INT(inflate(&z, Z_FINISH), Z_STREAM_END);
	CHECK_INT((int64_t)z.total_out, 4 * PACKED);
	inflateEnd(&z);
	for (size_t i = 0; i < PACKED; i++) {
		uint32_t back = 0;

		for (size_t b = 0; b < 4; b++)
			back |= (uint32_t)bytes[b * PACKED + i] << 8 * b;
		wrong += back != v[i];
	}
	CHECK_INT((int64_t)wrong, 0);
	free(text);
}

TEST(test_packed)
{
	for (int kind = 0; kind < 4; kind++)
		pack_and_unpack(kind);
}

int main(void)
{
	test_packed();
	test_peers();
	test_select();
	test_quartiles();
	return test_end();
}
