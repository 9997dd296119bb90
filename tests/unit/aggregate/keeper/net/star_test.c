/* The two ends of a star: called, left, and an invitation that nobody serves. */
#include "aggregate/keeper/net/star.h"

#include <stdlib.h>

#include "tests/unit/aggregate/keeper/net/net_kit.h"

static void set_silence(const char *text, int64_t want)
{
	if (text)
		setenv("PODPROF_SILENCE_MS", text, 1);
	else
		unsetenv("PODPROF_SILENCE_MS");
	CHECK_INT(pp_star_silence_ms(), want);
}

TEST(silence)
{
	set_silence(NULL, 10000);
	set_silence("300", 300);
	set_silence("99", 10000);
	set_silence("10001", 10000);
	set_silence("soon", 10000);
}

/* The kind of the next event at `s`, while the other end goes on; -1: none within 5 s. */
static int next(struct pp_star *s, struct pp_star *other)
{
	struct pp_net_event e;

	for (int i = 0; i < 1000; i++) {
		if (pp_net_next(s->net, 5, &e) == 1)
			return (int)e.kind;
		if (other->net)
			pp_net_next(other->net, 0, &e);
	}
	return -1;
}

TEST(call_leave_and_stale)
{
	struct pp_star leader = {.net = NULL}, follower = {.net = NULL};
	struct pp_net_options o = net_options("leader"), of = net_options("follower");
	struct pp_net_invite first, other;
	struct pp_err err = {""};

	o.bind = "127.0.0.1";
	CHECK_INT(pp_net_listen(&o, &leader.invite, &leader.net, &err), 0);
	first = other = leader.invite;
	other.server_public[0] ^= 1;
	CHECK(!pp_star_is_stale(&follower, &first));
	CHECK_INT(pp_star_call(&follower, &of, &first, &err), 0);
	CHECK_INT(next(&follower, &leader), PP_NET_JOINED);
	pp_star_leave(&follower, "the test is over", 0);
	CHECK(!follower.net && follower.invite.port == first.port);
	pp_star_leave(&follower, "again", 1000); /* nothing is open: it returns at once */
	CHECK_INT(pp_star_call(&follower, &of, &first, &err), 0);
	pp_star_unreached(&follower);
	CHECK(!follower.net && pp_star_is_stale(&follower, &first) && !pp_star_is_stale(&follower, &other));
	set_silence("100", 100); /* it is called again after a while, later each time */
	for (int64_t last = 0; follower.stale_ms < 100; last = follower.stale_ms) {
		CHECK_INT(pp_star_call(&follower, &of, &first, &err), 0);
		pp_star_unreached(&follower);
		CHECK(pp_star_is_stale(&follower, &first) && follower.stale_ms > last);
		for (int i = 0; i < 1000 && pp_star_is_stale(&follower, &first); i++)
			usleep(10000);
		CHECK(!pp_star_is_stale(&follower, &first));
	}
	set_silence(NULL, 10000);
	pp_star_close(&follower);
	pp_star_close(&leader);
}

int main(void)
{
	silence();
	call_leave_and_stale();
	return test_end();
}
