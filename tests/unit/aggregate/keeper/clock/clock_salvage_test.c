/* Clocks of hosts that are salvaged together: whose clock is joined with rank 0's, by which chain, and what is said of the
 * others. */
#include "aggregate/keeper/clock/clock_salvage.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/test.h"
#include "tests/unit/aggregate/read/ring/ring_maker.h"
#include "tests/unit/aggregate/read/ring/rings_open.h"

enum { MOST = 6, BURSTS = 4, TRIPS = 20, EXCHANGE = 77 };
#define SECOND INT64_C(1000000000)
#define EPOCH INT64_C(5000000000000)

struct host { /* without a file where exchange is 0 */
	const char *boot;
	int64_t ahead; /* of its clock against rank 0's host's */
	uint32_t self, parent;
	int same;
	uint64_t exchange;
	const char *file_boot; /* NULL: as boot */
};

static char top[64], path[MOST][128], *spool[MOST];
static struct pp_rings *rings;
static struct pp_warnings notes;
static struct pp_clock_salvage *one;
static struct pp_salvage_clocks s;
static uint64_t dice = 1;

static int64_t some(void)
{
	dice = dice * UINT64_C(6364136223846793005) + 1;
	return (int64_t)(dice >> 33) % 4000;
}

/* Bursts of a host against its parent, which is `ahead` of it. */
static void write_file(const char *at, const struct host *h, int64_t ahead)
{
	struct pp_clock_file f = {.records = 0};
	struct pp_clock_file_head head;
	struct pp_clock_file_burst burst[BURSTS];
	struct pp_band b;

	memset(&head, 0, sizeof(head));
	memset(burst, 0, sizeof(burst));
	CHECK_INT(pp_band_init(&b, &(struct pp_band_options){.rate = 1}, NULL), 0);
	for (int64_t i = 0; i < BURSTS; i++) {
		struct pp_band_group *g = NULL;

		for (int64_t k = 0; k < TRIPS && h->self; k++) {
			int64_t out = EPOCH + h->ahead + i * SECOND + k * 30000, in = out + 4000 + some(), left = in + 500,
			        back = left + 4000 + some();

			g = g ? g : pp_band_begin(&b, out, in + ahead);
			CHECK_INT(pp_band_trip(&b, g, out, in + ahead, left + ahead, back), 0);
		}
		burst[i].now =
		        (struct pp_clock_pair){.tick = (pp_tick)(EPOCH + h->ahead + 4 * SECOND), .raw_ns = EPOCH + 4 * SECOND};
		if (h->self)
			burst[i].group = b.group[i];
	}
	head.self = h->self;
	head.parent = h->parent;
	head.same = (uint32_t)h->same;
	head.hops = h->self > 0;
	head.exchange = h->exchange;
	head.ticks_per_ns = head.rate = 1;
	head.first = (struct pp_clock_pair){.tick = (pp_tick)(EPOCH + h->ahead), .raw_ns = EPOCH};
	snprintf(head.boot_id, sizeof(head.boot_id), "%s", h->file_boot ? h->file_boot : h->boot);
	snprintf(head.parent_host, sizeof(head.parent_host), "host%u", h->parent);
	CHECK(!pp_clock_file_fits(&f, &head));
	CHECK_INT(pp_clock_file_write(&f, at, &head, burst, BURSTS, 1, NULL), 0);
	pp_band_release(&b);
}

static int64_t ahead_of(const struct host *host, size_t hosts, uint32_t self)
{
	for (size_t i = 0; i < hosts; i++)
		if (host[i].exchange && host[i].self == self)
			return host[i].ahead;
	return 0; /* rank 0's, which is not here */
}

/* Makes a spool for each host, reads all, and joins them. `order` of the spools: order[k] is the host whose spool is k-th then. */
static void join(const struct host *host, size_t hosts, size_t *order)
{
	struct pp_err err = {""};

	snprintf(top, sizeof(top), "/dev/shm/podprof-salvage-XXXXXX");
	CHECK(mkdtemp(top) != NULL);
	for (size_t i = 0; i < hosts; i++) {
		char ring[200];
		struct maker m;

		snprintf(path[i], sizeof(path[i]), "%s/%zu", top, i);
		CHECK_INT(mkdir(path[i], 0700), 0);
		spool[i] = path[i];
		snprintf(ring, sizeof(ring), "%s/rank-%zu-1.ring", path[i], i);
		maker_open(&m, ring, (int)i, (int)hosts, 1, 1);
		snprintf(m.header->boot_id, sizeof(m.header->boot_id), "%s", host[i].boot);
		snprintf(m.header->host, sizeof(m.header->host), "host%zu", i);
		maker_close(&m);
		if (host[i].exchange)
			write_file(path[i], &host[i], ahead_of(host, hosts, host[i].parent) - host[i].ahead);
	}
	memset(&notes, 0, sizeof(notes));
	one = pp_clock_salvage_read(spool, hosts);
	rings = pp_rings_new(1 << 20);
	pp_rings_private(rings);
	for (size_t i = 0; i < hosts; i++) {
		char ring[200];

		order[i] = (size_t)(strrchr(spool[i], '/')[1] - '0');
		snprintf(ring, sizeof(ring), "%s/rank-%zu-1.ring", spool[i], order[i]);
		one[i].ring = i;
		one[i].rings = 1;
		CHECK_INT(pp_rings_open(rings, ring, &err), 0);
	}
	CHECK_INT(pp_clock_salvage_join(one, hosts, rings, &notes, &s, &err), 0);
	CHECK_INT(s.spools, hosts);
}

static void end(size_t hosts)
{
	char file[256];

	for (size_t i = 0; i < hosts; i++) {
		snprintf(file, sizeof(file), "%s/" PP_SPOOL_CLOCKS, path[i]);
		unlink(file);
		snprintf(file, sizeof(file), "%s/rank-%zu-1.ring", path[i], i);
		unlink(file);
		rmdir(path[i]);
	}
	rmdir(top);
	pp_salvage_clocks_release(&s);
	pp_clock_salvage_release(one, hosts);
	pp_rings_free(rings);
}

static const struct pp_salvage_clock *of(const size_t *order, size_t host)
{
	size_t k = 0;

	while (order[k] != host)
		k++;
	return &s.spool[k];
}

/* Its ticks map to those of rank 0's host, within the error, which grows behind the last comparison. */
static void check_chain(const struct pp_salvage_clock *c, int64_t ahead)
{
	CHECK(c->joined && c->has_chain);
	for (int64_t t = 0; c->has_chain && t < 60; t++) {
		int64_t x = EPOCH + ahead + t * SECOND, bound = pp_pieces_bound(&c->chain, x);

		CHECK(bound < SECOND && llabs(pp_pieces_map(&c->chain, x) - (x - ahead)) <= bound);
	}
	CHECK(!c->has_chain ||
	      pp_pieces_bound(&c->chain, EPOCH + ahead + 60 * SECOND) > pp_pieces_bound(&c->chain, EPOCH + ahead + 10 * SECOND));
}

static int noted(const char *text)
{
	for (int i = 0; i < notes.count; i++)
		if (strstr(notes.text[i], text))
			return 1;
	return 0;
}

TEST(hosts_of_a_job)
{
	static const struct host host[] = {
	        {"b", 7000, 1, 0, 0, EXCHANGE, NULL},
	        {"root", 0, 0, 0, 0, EXCHANGE, NULL}, /* rank 0's host is not the first spool */
	        {"b", 7000, 2, 1, 1, EXCHANGE, NULL}, /* shares b's clock */
	        {"b", 7000, 0, 0, 0, 0, NULL},        /* does too, and its file is gone */
	        {"root", 0, 0, 0, 0, 0, NULL},
	        {"c", -3000, 4, 1, 0, EXCHANGE, NULL} /* below the hub b */
	};
	size_t order[MOST];

	join(host, 6, order);
	CHECK(order[0] == 1 && s.root_here && pp_salvage_clocks_any(&s));
	CHECK_STR(s.root, "root raw ");
	check_chain(of(order, 0), 7000);
	check_chain(of(order, 2), 7000);
	check_chain(of(order, 3), 7000);
	check_chain(of(order, 5), -3000);
	CHECK(of(order, 1)->joined && !of(order, 1)->has_chain && of(order, 4)->joined && !of(order, 4)->has_chain);
	for (size_t i = 0; i < 6; i++)
		CHECK(!s.spool[i].own);
	CHECK_INT(notes.count, 0);
	/* job time is what rank 0's keeper has read */
	CHECK(s.first.tick == (pp_tick)EPOCH && s.last.tick == (pp_tick)(EPOCH + 4 * SECOND));
	CHECK(of(order, 0)->exchange.nodes == BURSTS && !of(order, 2)->exchange.nodes);
	end(6);
}

/* A clone of a virtual machine has the boot id of its original. */
TEST(a_clone)
{
	static const struct host host[] = {{"root", 0, 0, 0, 0, EXCHANGE, NULL}, {"root", 9000, 1, 0, 0, EXCHANGE, NULL}};
	size_t order[MOST];

	join(host, 2, order);
	check_chain(of(order, 1), 9000);
	CHECK(of(order, 1)->own && !of(order, 0)->own);
	end(2);
}

TEST(files_that_are_not_of_use)
{
	static const struct host host[] = {{"root", 0, 0, 0, 0, EXCHANGE, NULL},
	                                   {"b", 7000, 1, 0, 0, EXCHANGE + 1, NULL},
	                                   {"c", 7000, 2, 0, 0, EXCHANGE, "before"},
	                                   {"d", 7000, 3, 9, 0, EXCHANGE, NULL},
	                                   {"e", 7000, 0, 0, 0, 0, NULL},
	                                   {"f", 5000, 5, 0, 0, EXCHANGE, NULL}};
	size_t order[MOST];

	join(host, 6, order);
	for (size_t i = 1; i < 5; i++)
		CHECK(!of(order, i)->joined && !of(order, i)->has_chain);
	check_chain(of(order, 5), 5000);
	CHECK(noted("host1 is not joined with rank 0's: its clock was compared with those of another job"));
	CHECK(noted("host2 is not joined with rank 0's: its comparisons are of another host or boot than its ranks"));
	CHECK(noted(
	        "host3 is not joined with rank 0's: the spool of host 'host9', with which its clock was compared, is not here"));
	CHECK(noted("host4 is not joined with rank 0's: ") && noted("has no file of comparisons"));
	CHECK_INT(notes.count, 4);
	end(6);
}

TEST(without_rank_0)
{
	static const struct host host[] = {{"b", 7000, 1, 0, 0, EXCHANGE, NULL}, {"c", -3000, 2, 0, 0, EXCHANGE, NULL}};
	size_t order[MOST];

	join(host, 2, order);
	CHECK(!s.root_here && pp_salvage_clocks_any(&s));
	check_chain(of(order, 0), 7000);
	check_chain(of(order, 1), -3000);
	CHECK(llabs((int64_t)s.first.tick - EPOCH) <= s.first.width_ns && s.first.width_ns > 0);
	end(2);
}

/* These need no other clock: their own is exact. */
TEST(one_clock)
{
	static const struct host host[] = {{"b", 7000, 1, 0, 0, EXCHANGE, NULL}, {"b", 7000, 2, 1, 1, EXCHANGE, NULL}};
	size_t order[MOST];

	join(host, 2, order);
	CHECK(!pp_salvage_clocks_any(&s) && !notes.count);
	end(2);
	join(host, 1, order);
	CHECK(!pp_salvage_clocks_any(&s) && noted("host0 is alone in this session"));
	end(1);
}

int main(void)
{
	hosts_of_a_job();
	a_clone();
	files_that_are_not_of_use();
	without_rank_0();
	one_clock();
	return test_end();
}
