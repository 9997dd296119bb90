/* The file of a host's clock: what is read is what was written, up to where it was torn; nothing else is taken for it, and hostile
 * contents do no harm. */
#include "aggregate/keeper/clock/clock_file.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock/band_solve.h"
#include "core/clock/pieces.h"
#include "core/clock/pieces_make.h"
#include "tests/test.h"

enum { BURSTS = 6, TRIPS = 20, SECOND = 1000000000 };
#define AHEAD INT64_C(7200000000000)

static char spool[64], path[128];
static uint64_t dice = 1;

static int64_t at_random(uint64_t below)
{
	dice = dice * UINT64_C(6364136223846793005) + 1;
	return (int64_t)((dice >> 33) % below);
}

/* The parent's ticks at x of ours. */
static int64_t truth(int64_t x)
{
	return x - AHEAD + (x - AHEAD) / 50000;
}

static void add_burst(struct pp_band *b, int64_t number)
{
	struct pp_band_group *g = NULL;

	for (int64_t k = 0; k < TRIPS; k++) {
		int64_t out = AHEAD + SECOND + number * 5 * SECOND + k * 30000, in = out + 4000 + at_random(4000), left = in + 500,
		        back = left + 4000 + at_random(4000);

		g = g ? g : pp_band_begin(b, out, truth(in));
		CHECK_INT(pp_band_trip(b, g, out, truth(in), truth(left), back), 0);
	}
}

static struct pp_clock_file_head head_of(uint32_t self)
{
	struct pp_clock_file_head head;

	memset(&head, 0, sizeof(head));
	head.self = self;
	head.exchange = 77;
	head.hops = 1;
	head.ticks_per_ns = head.rate = 1;
	head.wander = 1e-7;
	head.first = (struct pp_clock_pair){.tick = AHEAD, .raw_ns = AHEAD};
	snprintf(head.boot_id, sizeof(head.boot_id), "boot");
	snprintf(head.parent_host, sizeof(head.parent_host), "first");
	return head;
}

static struct pp_clock_file_burst burst_of(const struct pp_band *b, size_t i)
{
	struct pp_clock_file_burst burst;

	memset(&burst, 0, sizeof(burst));
	burst.now = (struct pp_clock_pair){.tick = AHEAD + 1, .raw_ns = AHEAD + 1};
	burst.trips = 50 * (i + 1);
	burst.group = b->group[i];
	return burst;
}

static void make_spool(void)
{
	snprintf(spool, sizeof(spool), "/dev/shm/podprof-clocks-XXXXXX"); /* as spools are, in memory */
	CHECK(mkdtemp(spool) != NULL);
	snprintf(path, sizeof(path), "%s/" PP_SPOOL_CLOCKS, spool);
}

static void remove_spool(void)
{
	unlink(path);
	rmdir(spool);
}

/* Writes them as a keeper does: one after another. */
static void write_band(const struct pp_band *b, size_t first, size_t bursts)
{
	struct pp_clock_file f = {.records = 0};
	struct pp_clock_file_head head = head_of(1);
	struct pp_err err = {""};

	for (size_t i = first; i < first + bursts; i++) {
		struct pp_clock_file_burst burst = burst_of(b, i);
		int fits = pp_clock_file_fits(&f, &head);

		CHECK_INT(fits, i > first);
		CHECK_INT(pp_clock_file_write(&f, spool, &head, &burst, 1, !fits, &err), 0);
	}
	CHECK_INT(f.records, bursts);
}

static struct pp_band made_band(int bursts)
{
	struct pp_band b;

	CHECK_INT(pp_band_init(&b, &(struct pp_band_options){.rate = 1, .wander = 1e-7}, NULL), 0);
	for (int i = 0; i < bursts; i++)
		add_burst(&b, i);
	return b;
}

static size_t bytes_of(uint8_t **ret)
{
	FILE *f = fopen(path, "rb");
	size_t size;

	*ret = malloc(1 << 20);
	size = f ? fread(*ret, 1, 1 << 20, f) : 0;
	CHECK(size > 0 && size < 1 << 20);
	if (f)
		fclose(f);
	return size;
}

static void put_bytes(const uint8_t *bytes, size_t size)
{
	FILE *f = fopen(path, "wb");

	CHECK(f && fwrite(bytes, 1, size, f) == size && !fclose(f));
}

TEST(what_was_written)
{
	struct pp_band b = made_band(BURSTS);
	struct pp_clock_saved k;
	struct pp_pieces p, q;
	struct stat st;

	make_spool();
	CHECK_INT(pp_clock_file_read(spool, &k, NULL), -ENOENT);
	write_band(&b, 0, BURSTS);
	CHECK(!stat(path, &st) && (st.st_mode & 0777) == 0600);
	CHECK_INT(pp_clock_file_read(spool, &k, NULL), 0);
	CHECK_INT(k.records, BURSTS);
	CHECK_INT(k.ignored, 0);
	CHECK_INT(k.head.exchange, 77);
	CHECK_STR(k.head.parent_host, "first");
	CHECK_INT(k.last.trips, 50 * BURSTS);
	CHECK_INT(k.band.groups, BURSTS);
	/* the chain is that of the keeper which died, to the bit */
	CHECK_INT(pp_band_solve(&b, NULL), 0);
	CHECK_INT(pp_band_solve(&k.band, NULL), 0);
	CHECK_INT(pp_pieces_of_band(&b, 3600LL * SECOND, &p, NULL), 0);
	CHECK_INT(pp_pieces_of_band(&k.band, 3600LL * SECOND, &q, NULL), 0);
	CHECK_INT(q.pieces, p.pieces);
	for (int64_t x = AHEAD; x < AHEAD + 100LL * SECOND; x += SECOND / 3) {
		CHECK_INT(pp_pieces_map(&q, x), pp_pieces_map(&p, x));
		CHECK_INT(pp_pieces_bound(&q, x), pp_pieces_bound(&p, x));
		CHECK(llabs(pp_pieces_map(&q, x) - truth(x)) <= pp_pieces_bound(&q, x));
	}
	/* behind the last comparison the error grows */
	CHECK(pp_pieces_bound(&q, AHEAD + 60LL * SECOND) > pp_pieces_bound(&q, AHEAD + 30LL * SECOND));
	pp_pieces_release(&p);
	pp_pieces_release(&q);
	pp_clock_saved_release(&k);
	pp_band_release(&b);
	remove_spool();
}

/* Another parent: what was measured against the former one is gone with the file. */
TEST(another_head)
{
	struct pp_band b = made_band(BURSTS);
	struct pp_clock_file f = {.records = 0};
	struct pp_clock_file_head head = head_of(1);
	struct pp_clock_file_burst burst = burst_of(&b, 0);
	struct pp_clock_saved k;
	struct pp_err err = {""};

	make_spool();
	CHECK(!pp_clock_file_fits(&f, &head));
	CHECK_INT(pp_clock_file_write(&f, spool, &head, &burst, 1, 1, &err), 0);
	head.parent = 5;
	CHECK(!pp_clock_file_fits(&f, &head));
	burst = burst_of(&b, 1);
	CHECK_INT(pp_clock_file_write(&f, spool, &head, &burst, 1, 1, &err), 0);
	CHECK_INT(pp_clock_file_read(spool, &k, NULL), 0);
	CHECK(k.records == 1 && k.head.parent == 5 && k.band.group->x == b.group[1].x);
	pp_clock_saved_release(&k);
	/* a spool that is gone: one sentence, and the next one is written anew */
	remove_spool();
	CHECK(pp_clock_file_write(&f, spool, &head, &burst, 1, 0, &err) < 0 && strstr(err.text, "podprof salvage will not know"));
	CHECK(!pp_clock_file_fits(&f, &head) && !f.records);
	pp_band_release(&b);
}

TEST(torn_at_every_length)
{
	struct pp_band b = made_band(3);
	uint8_t *bytes;
	size_t size, record;

	make_spool();
	write_band(&b, 0, 3);
	size = bytes_of(&bytes);
	record = size / 4;
	CHECK_INT(size % 4, 0);
	for (size_t length = 0; length <= size; length++) {
		struct pp_clock_saved k;
		struct pp_err err = {""};
		int rc;

		put_bytes(bytes, length);
		rc = pp_clock_file_read(spool, &k, &err);
		CHECK_INT(rc, length < 2 * record ? -EBADMSG : 0);
		if (rc) {
			CHECK(strstr(err.text, path) && strstr(err.text, "is not used: "));
			continue;
		}
		CHECK_INT(k.records, length / record - 1);
		CHECK_INT(k.ignored, length % record);
		CHECK_INT(k.band.groups, k.records);
		pp_clock_saved_release(&k);
	}
	free(bytes);
	pp_band_release(&b);
	remove_spool();
}

TEST(every_byte_damaged)
{
	struct pp_band b = made_band(2);
	uint8_t *bytes;
	size_t size, record;

	make_spool();
	write_band(&b, 0, 2);
	size = bytes_of(&bytes);
	record = size / 3;
	for (size_t at = 0; at < size; at++) {
		struct pp_clock_saved k;
		int rc;

		bytes[at] ^= 0x40;
		put_bytes(bytes, size);
		rc = pp_clock_file_read(spool, &k, NULL);
		CHECK_INT(rc, at < 2 * record ? -EBADMSG : 0);
		if (!rc) {
			CHECK(k.records == 1 && k.ignored == record);
			pp_clock_saved_release(&k);
		}
		bytes[at] ^= 0x40;
	}
	free(bytes);
	pp_band_release(&b);
	remove_spool();
}

/* With correct checksums: the values themselves are impossible, or only odd. None does harm. */
static void read_hostile(const struct pp_clock_file_head *head, const struct pp_clock_file_burst *burst, size_t bursts, int is_bad)
{
	struct pp_clock_file f = {.records = 0};
	struct pp_clock_file_head mine = *head;
	struct pp_clock_saved k;
	struct pp_pieces p;

	pp_clock_file_fits(&f, &mine);
	CHECK_INT(pp_clock_file_write(&f, spool, &mine, burst, bursts, 1, NULL), 0);
	if (pp_clock_file_read(spool, &k, NULL))
		return;
	CHECK(!is_bad);
	if (!pp_band_solve(&k.band, NULL) && !pp_pieces_of_band(&k.band, 3600LL * SECOND, &p, NULL)) {
		for (int64_t x = AHEAD; x < AHEAD + 9; x++)
			CHECK(pp_pieces_bound(&p, x) >= 0);
		pp_pieces_release(&p);
	}
	pp_clock_saved_release(&k);
}

TEST(hostile)
{
	static const double odd[] = {NAN, INFINITY, -INFINITY, 1e300, -1e300, 0, -1, 0x1p53, 1e-300};
	struct pp_band b = made_band(3);
	struct pp_clock_file_head head = head_of(1), bad = head;
	struct pp_clock_file_burst burst[3], one[3];

	make_spool();
	for (size_t i = 0; i < 3; i++)
		burst[i] = burst_of(&b, i);
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		bad.rate = odd[i];
		read_hostile(&bad, burst, 3, 1);
		bad.rate = 1;
		bad.ticks_per_ns = odd[i];
		read_hostile(&bad, burst, 3, 1);
		bad.ticks_per_ns = 1;
		memcpy(one, burst, sizeof(one));
		one[0].group.up[0].x = odd[i];
		read_hostile(&head, one, 3, !(fabs(odd[i]) <= 0x1p53));
		one[0].group.up[0].y = one[0].group.down[0].y = odd[i];
		read_hostile(&head, one, 3, 0);
		one[0].group.least = odd[i];
		read_hostile(&head, one, 3, 0);
	}
	memcpy(one, burst, sizeof(one));
	one[0].group.ups = 1000;
	read_hostile(&head, one, 3, 1);
	one[0].group.ups = 1;
	one[0].group.x = INT64_MAX;
	read_hostile(&head, one, 3, 1);
	for (int i = 0; i < 3000; i++) { /* any bytes of a group */
		memcpy(one, burst, sizeof(one));
		for (int k = 0; k < 8; k++)
			((uint8_t *)&one[i % 3].group)[at_random(sizeof(one->group))] = (uint8_t)at_random(256);
		read_hostile(&head, one, 3, 0);
	}
	pp_band_release(&b);
	remove_spool();
}

TEST(other_files)
{
	uint8_t bytes[5000];
	struct pp_clock_saved k;
	struct pp_err err = {""};

	make_spool();
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)at_random(256);
	put_bytes(bytes, sizeof(bytes));
	CHECK_INT(pp_clock_file_read(spool, &k, &err), -EBADMSG);
	CHECK(strstr(err.text, "not a file of podprof's clocks") != NULL);
	unlink(path);
	CHECK_INT(mkdir(path, 0700), 0);
	CHECK(pp_clock_file_read(spool, &k, &err) < 0);
	rmdir(path);
	CHECK_INT(mkfifo(path, 0600), 0); /* nobody waits for its writer */
	CHECK_INT(pp_clock_file_read(spool, &k, &err), -EBADMSG);
	unlink(path);
	CHECK_INT(symlink("/etc/passwd", path), 0);
	CHECK_INT(pp_clock_file_read(spool, &k, &err), -ELOOP);
	remove_spool();
}

/* A day of comparisons: as many as the exchange itself keeps are read, and their bounds hold. */
TEST(long_job)
{
	enum { MANY = 3000 };
	struct pp_band b;
	struct pp_clock_file f = {.records = 0};
	struct pp_clock_file_head head = head_of(1);
	struct pp_clock_saved k;
	struct pp_pieces p;

	make_spool();
	CHECK_INT(pp_band_init(&b, &(struct pp_band_options){.rate = 1, .groups = MANY}, NULL), 0);
	for (int i = 0; i < MANY; i++) {
		struct pp_clock_file_burst burst;

		add_burst(&b, i);
		burst = burst_of(&b, b.groups - 1);
		CHECK_INT(pp_clock_file_write(&f, spool, &head, &burst, 1, !pp_clock_file_fits(&f, &head), NULL), 0);
	}
	CHECK_INT(pp_clock_file_read(spool, &k, NULL), 0);
	CHECK(k.records == MANY && k.band.groups <= k.band.o.groups && !k.ignored);
	CHECK_INT(pp_band_solve(&k.band, NULL), 0);
	CHECK_INT(pp_pieces_of_band(&k.band, 3600LL * SECOND, &p, NULL), 0);
	for (int i = 0; i < 1000; i++) {
		int64_t x = AHEAD + at_random(5ULL * MANY * SECOND);

		CHECK(llabs(pp_pieces_map(&p, x) - truth(x)) <= pp_pieces_bound(&p, x));
	}
	pp_pieces_release(&p);
	pp_clock_saved_release(&k);
	pp_band_release(&b);
	remove_spool();
}

int main(void)
{
	what_was_written();
	another_head();
	torn_at_every_length();
	every_byte_damaged();
	hostile();
	other_files();
	long_job();
	return test_end();
}
