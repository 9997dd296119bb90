/* States of the clock exchange: turns, lost and foreign packets, hosts that do not answer. */
#include "aggregate/keeper/clock/clock_exchange.h"

#include <errno.h>
#include <stdlib.h>

#include "core/clock/band_solve.h"
#include "tests/test.h"
#include "tests/unit/aggregate/keeper/clock/clock_sim.h"

static const int64_t MS = 1000000;

static int64_t now;
static uint8_t sent[64][PP_CLOCK_PACKET];
static uint32_t sent_to[64];
static int sents;

static int64_t tick(void *ctx)
{
	(void)ctx;
	return ++now;
}

static void keep(void *ctx, uint32_t to, const uint8_t *packet)
{
	(void)ctx;
	CHECK(sents < 64);
	memcpy(sent[sents % 64], packet, PP_CLOCK_PACKET);
	sent_to[sents++ % 64] = to;
}

static const struct pp_clock_ops ops = {.tick = tick, .send = keep};
static const uint8_t key[PP_CLOCK_KEY] = {1, 2, 3};

static struct pp_clock_packet last_sent(void)
{
	struct pp_clock_packet p = {0};

	CHECK(sents > 0);
	CHECK_INT(pp_clock_packet_read(sent[sents - 1], PP_CLOCK_PACKET, key, &p), 0);
	return p;
}

static void give(struct pp_clock_exchange *x, struct pp_clock_packet p)
{
	uint8_t bytes[PP_CLOCK_PACKET];

	pp_clock_packet_write(&p, key, bytes);
	pp_clock_exchange_packet(x, bytes, sizeof(bytes), ++now);
}

static void open_one(struct pp_clock_exchange *x, uint32_t self, uint32_t parent, const uint32_t *child, size_t children)
{
	struct pp_clock_exchange_options o = {
	        .self = self, .parent = parent, .child = child, .children = children, .ticks_per_ns = 1, .count = 2};

	memcpy(o.key, key, sizeof(key));
	now = 1000 * MS;
	sents = 0;
	CHECK_INT(pp_clock_exchange_init(x, &o, &ops, NULL, NULL), 0);
}

TEST(packets)
{
	static const uint8_t counting[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
	struct pp_clock_packet p = {.kind = PP_CLOCK_PONG,
	                            .count = 7,
	                            .from = 3,
	                            .to = 1u << 31,
	                            .sync = 1ull << 63,
	                            .sequence = 9,
	                            .budget_us = 11,
	                            .t1 = INT64_MIN,
	                            .t2 = -1,
	                            .t3 = INT64_MAX};
	struct pp_clock_packet back = {0};
	uint8_t bytes[PP_CLOCK_PACKET];

	CHECK(pp_siphash(counting, counting, 15) == 0xa129ca6149be45e5); /* of the paper */
	pp_clock_packet_write(&p, key, bytes);
	CHECK_INT(pp_clock_packet_read(bytes, sizeof(bytes), key, &back), 0);
	CHECK(back.kind == p.kind && back.count == p.count && back.from == p.from && back.to == p.to && back.sync == p.sync);
	CHECK(back.sequence == 9 && back.budget_us == 11 && back.t1 == p.t1 && back.t2 == p.t2 && back.t3 == p.t3);
	CHECK_INT(pp_clock_packet_read(bytes, sizeof(bytes) - 1, key, &back), -EBADMSG);
	CHECK_INT(pp_clock_packet_read(bytes, sizeof(bytes), counting, &back), -EBADMSG);
	for (size_t i = 0; i < 8 * sizeof(bytes); i++) {
		bytes[i / 8] ^= (uint8_t)(1 << i % 8);
		CHECK_INT(pp_clock_packet_read(bytes, sizeof(bytes), key, &back), -EBADMSG);
		bytes[i / 8] ^= (uint8_t)(1 << i % 8);
	}
}

/* The word that it is over was lost: it is said again. An old grant and an old pong of somebody who kept them do nothing. */
static void again_after_the_end(struct pp_clock_exchange *x, struct pp_clock_packet grant, struct pp_clock_packet pong)
{
	give(x, grant);
	CHECK_INT(last_sent().kind, PP_CLOCK_DONE);
	grant.sync = 9;
	give(x, grant);
	give(x, pong);
	CHECK_INT(sents, 6);
	CHECK_INT(x->counts.trips, 2);
}

TEST(a_turn)
{
	struct pp_clock_packet grant = {
	        .kind = PP_CLOCK_GRANT, .from = 0, .to = 5, .sync = 10, .count = 2, .budget_us = 20000, .t1 = 1000000000};
	struct pp_clock_packet p, early;
	struct pp_clock_exchange x;

	open_one(&x, 5, 0, NULL, 0);
	CHECK(!pp_clock_exchange_busy(&x));
	pp_clock_exchange_due(&x);
	CHECK_INT(last_sent().kind, PP_CLOCK_HELLO);
	CHECK(pp_clock_exchange_next_ns(&x) > now && pp_clock_exchange_next_ns(&x) < now + 101 * MS);
	give(&x, grant);
	p = last_sent();
	CHECK_INT(p.kind, PP_CLOCK_PING);
	CHECK_INT(p.to, 0);
	CHECK(pp_clock_exchange_busy(&x));
	give(&x, grant); /* again: nothing new */
	CHECK_INT(sents, 2);

	/* no answer: it asks again, and the late answer counts too */
	early = p;
	now = pp_clock_exchange_next_ns(&x);
	pp_clock_exchange_due(&x);
	p = last_sent();
	CHECK_INT(p.sequence, early.sequence + 1);
	CHECK_INT(x.counts.lost, 1);
	early.kind = p.kind = PP_CLOCK_PONG;
	early.from = p.from = 0;
	early.to = p.to = 5;
	early.t2 = early.t3 = early.t1 + 100;
	give(&x, early);
	CHECK_INT(x.counts.trips, 1);
	CHECK_INT(sents, 3);
	p.t2 = p.t1 + 5000;
	p.t3 = p.t1 + 5000 + 100 * MS; /* kept longer than it was away */
	give(&x, p);
	CHECK_INT(x.counts.impossible, 1);
	p = last_sent();
	CHECK_INT(p.kind, PP_CLOCK_PING);
	p.kind = PP_CLOCK_PONG;
	p.from = 0;
	p.to = 5;
	now += 20000;
	p.t2 = p.t3 = p.t1 + 10000;
	give(&x, p);
	CHECK_INT(last_sent().kind, PP_CLOCK_DONE);
	CHECK_INT(last_sent().count, 2);
	CHECK(!pp_clock_exchange_busy(&x));
	CHECK_INT(pp_clock_exchange_next_ns(&x), INT64_MAX);
	CHECK_INT(pp_band_solve(&x.band, NULL), 0);

	again_after_the_end(&x, grant, p);
	pp_clock_exchange_release(&x);
}

TEST(a_turn_ends_without_its_parent)
{
	struct pp_clock_packet grant = {
	        .kind = PP_CLOCK_GRANT, .from = 0, .to = 5, .sync = 1, .count = 50, .budget_us = 20000, .t1 = 1000000000};
	struct pp_clock_exchange x;

	open_one(&x, 5, 0, NULL, 0);
	give(&x, grant);
	for (int i = 0; i < 20 && pp_clock_exchange_busy(&x); i++) {
		now = pp_clock_exchange_next_ns(&x);
		pp_clock_exchange_due(&x);
	}
	CHECK(!pp_clock_exchange_busy(&x));
	CHECK(now < 1000 * MS + 21 * MS);
	CHECK_INT(last_sent().kind, PP_CLOCK_DONE);
	CHECK_INT(last_sent().count, 0);
	CHECK(pp_band_solve(&x.band, NULL) < 0);
	pp_clock_exchange_release(&x);
}

TEST(strangers)
{
	struct pp_clock_packet grant = {
	        .kind = PP_CLOCK_GRANT, .from = 0, .to = 5, .sync = 1, .count = 50, .budget_us = 20000, .t1 = 1000000000};
	uint8_t bytes[PP_CLOCK_PACKET], other[PP_CLOCK_KEY] = {9};
	struct pp_clock_exchange x;
	const uint32_t child[] = {7};

	open_one(&x, 5, 0, child, 1);
	pp_clock_packet_write(&grant, other, bytes);
	pp_clock_exchange_packet(&x, bytes, sizeof(bytes), now);
	pp_clock_exchange_packet(&x, bytes, 3, now);
	grant.to = 6;
	give(&x, grant); /* with the key, for another */
	CHECK_INT(x.counts.foreign, 3);
	grant.to = 5;
	grant.from = 4;
	give(&x, grant); /* not our parent */
	grant.kind = PP_CLOCK_PING;
	give(&x, grant); /* not our child */
	CHECK_INT(sents, 0);
	grant.from = 7;
	give(&x, grant);
	CHECK_INT(last_sent().kind, PP_CLOCK_PONG);
	CHECK_INT(sent_to[0], 7);
	CHECK(last_sent().t3 > last_sent().t2);
	pp_clock_exchange_release(&x);
}

static void hosts_of(struct sim *s, uint32_t hosts)
{
	CHECK_INT(sim_open(s, hosts, 5), 0);
	for (uint32_t i = 0; i < hosts; i++)
		s->host[i].path = (struct sim_path){.up = 20000, .down = 20000, .jitter = 1000};
	CHECK_INT(sim_connect(s, 30), 0);
}

TEST(the_dead_cost_their_own_row)
{
	struct pp_clock_child *child;
	int64_t all, one_dead, given_up;
	struct sim s;

	hosts_of(&s, 9);
	CHECK_INT(pp_clock_exchange_start(&s.host[1].x, 1), -ENOENT);
	all = sim_round(&s, 1, 900 * MS);
	child = s.host[0].x.child;
	for (int i = 0; i < 8; i++) {
		CHECK_INT(child[i].state, PP_CHILD_DONE);
		CHECK_INT(child[i].trips, 30);
	}
	s.host[3].dead = 1;
	sim_run(&s, 1000 * MS);
	one_dead = sim_round(&s, 2, 1000 * MS);
	CHECK(one_dead < all + 21 * MS && one_dead > all + 10 * MS);
	CHECK_INT(child[2].state, PP_CHILD_MISSED);
	CHECK_INT(child[3].state, PP_CHILD_DONE);
	sim_run(&s, 2000 * MS);
	sim_round(&s, 3, 1000 * MS);
	sim_run(&s, 3000 * MS);
	given_up = sim_round(&s, 4, 1000 * MS); /* missed twice: it is told, and nobody waits */
	CHECK(given_up < all + MS);
	CHECK_INT(child[2].state, PP_CHILD_MISSED);
	CHECK_INT(child[7].trips, 120);
	s.host[3].dead = 0;
	sim_run(&s, 4000 * MS);
	sim_round(&s, 5, 1000 * MS); /* it answers beside the others' turns */
	sim_run(&s, 5000 * MS);
	CHECK_INT(child[2].state, PP_CHILD_DONE);
	CHECK_INT(child[2].missed, 0);
	CHECK_INT(child[2].trips, 60);
	sim_close(&s);
}

TEST(stopped_in_its_turn)
{
	struct sim s;

	hosts_of(&s, 4);
	s.host[1].stop_ns = s.now + MS / 2; /* in the middle of its trips */
	s.host[1].go_ns = 500 * MS;
	CHECK(sim_round(&s, 1, 1000 * MS) < 25 * MS);
	CHECK_INT(s.host[0].x.child[0].state, PP_CHILD_MISSED);
	CHECK_INT(s.host[0].x.child[1].state, PP_CHILD_DONE);
	CHECK_INT(s.host[0].x.child[2].state, PP_CHILD_DONE);
	sim_run(&s, 1000 * MS);
	CHECK(!pp_clock_exchange_busy(&s.host[1].x));
	CHECK(s.host[1].x.counts.trips > 3 && s.host[1].x.counts.trips < 30);
	CHECK_INT(pp_band_solve(&s.host[1].x.band, NULL), 0);
	sim_round(&s, 2, 1000 * MS);
	CHECK_INT(s.host[0].x.child[0].state, PP_CHILD_DONE);
	sim_close(&s);
}

TEST(hubs_follow)
{
	struct sim s;
	int served = 0;

	hosts_of(&s, 100);
	s.host[4].dead = 1; /* a hub: its own children have no turn */
	sim_round(&s, 1, 3000 * MS);
	sim_run(&s, 4000 * MS);
	for (uint32_t i = 1; i < 100; i++)
		served += s.host[i].x.counts.trips == 30;
	CHECK_INT(served, 99 - 1 - (int)s.host[4].x.children);
	CHECK(s.host[4].x.children >= 8);
	sim_close(&s);
}

int main(void)
{
	packets();
	a_turn();
	a_turn_ends_without_its_parent();
	strangers();
	the_dead_cost_their_own_row();
	stopped_in_its_turn();
	hubs_follow();
	return test_end();
}
