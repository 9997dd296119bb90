/* The rendezvous point of keepers: rank 0's invitation reaches who came before and after it, and only its job; what is no
 * invitation is none; every wait ends. */
#include "aggregate/keeper/net/rendezvous_point.h"

#include <time.h>

#include "tests/unit/aggregate/keeper/net/net_kit.h"

static struct pp_net_invite sample(const char *job, char key)
{
	struct pp_net_invite v = {.addresses = 1, .port = 4711};

	snprintf(v.job, sizeof(v.job), "%s", job);
	snprintf(v.address[0], sizeof(v.address[0]), "10.0.0.7");
	memset(v.server_public, key, PP_NET_KEY - 1);
	memset(v.client_public, 'b', PP_NET_KEY - 1);
	memset(v.client_secret, 'c', PP_NET_KEY - 1);
	return v;
}

static struct pp_rendezvous_point *serve(struct pp_net_invite *at)
{
	struct pp_net_options o = net_options("front");
	struct pp_rendezvous_point *m = NULL;
	struct pp_err err = {""};

	CHECK_INT(pp_rendezvous_point_serve(&o, at, &m, &err), 0);
	CHECK_STR(err.text, "");
	snprintf(at->address[0], sizeof(at->address[0]), "127.0.0.1");
	at->addresses = 1;
	return m;
}

static struct pp_rendezvous_point *join(const struct pp_net_invite *at, const char *host, const char *job, int64_t dead_ms)
{
	struct pp_net_options o = net_options(host);
	struct pp_rendezvous_point *m = NULL;

	o.job = at->job;
	o.dead_ms = dead_ms;
	CHECK_INT(pp_rendezvous_point_join(&o, at, job, &m, NULL), 0);
	return m;
}

/* Turns of all until `m` has it, or ms are over. */
static int await(struct pp_rendezvous_point *m, struct pp_rendezvous_point *one, struct pp_rendezvous_point *two, const char *job,
                 int ms, struct pp_net_invite *ret)
{
	int there = 0;

	for (int i = 0; i < ms && !there; i++) {
		pp_rendezvous_point_run(one);
		pp_rendezvous_point_run(two);
		pp_rendezvous_point_run(m);
		there = pp_rendezvous_point_get(m, job, ret);
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	return there;
}

static void turns(struct pp_rendezvous_point *one, struct pp_rendezvous_point *two, int ms)
{
	struct pp_net_invite none;

	CHECK_INT(await(one, two, NULL, "nobody's", ms, &none), 0);
}

TEST(one_word)
{
	struct pp_net_invite v = sample("job 7", 'a'), back;
	char text[PP_RENDEZVOUS_POINT_TEXT], bad[2 * PP_RENDEZVOUS_POINT_TEXT];
	struct pp_err err = {""};
	size_t length;

	pp_rendezvous_point_print(&v, text);
	length = strlen(text);
	CHECK_INT(strspn(text, "0123456789abcdef"), length);
	CHECK_INT(pp_rendezvous_point_parse(text, &back, &err), 0);
	CHECK_STR(back.job, "job 7");
	CHECK_STR(back.server_public, v.server_public);
	CHECK_STR(back.client_secret, v.client_secret);
	CHECK_STR(back.address[0], "10.0.0.7");
	for (size_t n = 0; n < length; n++) { /* cut anywhere, broken anywhere */
		snprintf(bad, sizeof(bad), "%.*s", (int)n, text);
		CHECK(pp_rendezvous_point_parse(bad, &back, &err) == -EBADMSG);
		snprintf(bad, sizeof(bad), "%s", text);
		bad[n] = "\n\x80zA "[n % 5];
		CHECK(pp_rendezvous_point_parse(bad, &back, &err) == -EBADMSG);
	}
	CHECK_STR(err.text, "it is not an invitation");
	snprintf(bad, sizeof(bad), "00%s", text);
	CHECK_INT(pp_rendezvous_point_parse(bad, &back, &err), -EBADMSG);
	memset(bad, '6', sizeof(bad) - 1);
	bad[sizeof(bad) - 1] = '\0';
	CHECK_INT(pp_rendezvous_point_parse(bad, &back, &err), -EBADMSG);
	CHECK_STR(err.text, "it is too long");
}

TEST(whose_job)
{
	char longest[128], again[128];

	CHECK(pp_rendezvous_point_is_of("a-1", "a-1") && pp_rendezvous_point_is_of("a-1", "a-1-r2") &&
	      pp_rendezvous_point_is_of("a-1", "a-1-r10"));
	CHECK(!pp_rendezvous_point_is_of("a-1", "a-2") && !pp_rendezvous_point_is_of("a-1", "a-12") &&
	      !pp_rendezvous_point_is_of("a-1", "a-1-r"));
	CHECK(!pp_rendezvous_point_is_of("a-1", "a-1-rx") && !pp_rendezvous_point_is_of("a-1", "a") &&
	      !pp_rendezvous_point_is_of("a-1-r1", "a-1"));
	memset(longest, 'x', 120);
	longest[120] = '\0';
	snprintf(again, sizeof(again), "%.100s-r1", longest); /* as aggregate/spool/job.c cuts it */
	CHECK(pp_rendezvous_point_is_of(longest, again));
}

TEST(before_and_after)
{
	struct pp_net_invite at, got = {.port = 0}, v = sample("job 7", 'a');
	struct pp_rendezvous_point *m = serve(&at), *early = join(&at, "h1", "job 7", 0), *zero = join(&at, "h0", "job 7", 0),
	                           *late;

	turns(m, early, 50);
	pp_rendezvous_point_put(zero, &v);
	CHECK(await(early, m, zero, "job 7", 5000, &got));
	CHECK_STR(got.server_public, v.server_public);
	CHECK_STR(pp_rendezvous_point_why(early), "");
	late = join(&at, "h2", "job 7", 0);
	CHECK(await(late, m, zero, "job 7", 5000, &got));
	CHECK(pp_rendezvous_point_get(m, "job 7", &got)); /* whose own ranks are not rank 0 */
	CHECK_STR(pp_rendezvous_point_why(m), "");
	turns(m, early, 50);
	turns(m, zero, 50);
	turns(m, late, 50);
	CHECK(!pp_rendezvous_point_is_open(early) && !pp_rendezvous_point_is_open(zero) && !pp_rendezvous_point_is_open(late) &&
	      pp_rendezvous_point_is_open(m));
	CHECK(pp_rendezvous_point_get(early, "job 7", &got) && !pp_rendezvous_point_get(early, "job 8", &got));
	pp_rendezvous_point_free(late);
	pp_rendezvous_point_free(early);
	pp_rendezvous_point_free(zero);
	pp_rendezvous_point_free(m);
	pp_rendezvous_point_free(NULL);
}

TEST(rank_0_serves)
{
	struct pp_net_invite at, got = {.port = 0}, v = sample("job 7", 'a'), next = sample("job 7", 'd');
	struct pp_rendezvous_point *m = serve(&at), *other = join(&at, "h1", "job 7", 0), *again = join(&at, "h2", "job 7-r1", 0);

	pp_rendezvous_point_put(m, &v);
	CHECK(await(other, m, again, "job 7", 5000, &got));
	CHECK_STR(got.server_public, v.server_public);
	turns(m, again, 50);
	CHECK(!pp_rendezvous_point_get(again, "job 7-r1", &got)); /* its ranks were started again: that is another rank 0 */
	snprintf(next.job, sizeof(next.job), "job 7-r1");
	pp_rendezvous_point_put(m, &next);
	CHECK(await(again, m, other, "job 7-r1", 5000, &got));
	CHECK_STR(got.server_public, next.server_public);
	pp_rendezvous_point_free(again);
	pp_rendezvous_point_free(other);
	pp_rendezvous_point_free(m);
}

TEST(nobody_brings_one)
{
	struct pp_net_invite at, got = {.port = 0};
	struct pp_rendezvous_point *m = serve(&at), *one = join(&at, "h1", "job 7", 300), *lost;

	CHECK_INT(await(one, m, NULL, "job 7", 400, &got), 0);
	CHECK_STR(pp_rendezvous_point_why(one), "the podprof run around the launcher has no invitation of rank 0's keeper");
	CHECK(pp_rendezvous_point_is_open(one));
	pp_rendezvous_point_free(m); /* killed */
	lost = join(&at, "h2", "job 7", 300);
	for (int i = 0; i < 5000 && (pp_rendezvous_point_is_open(one) || pp_rendezvous_point_is_open(lost)); i++)
		turns(one, lost, 1);
	CHECK(!pp_rendezvous_point_is_open(one) && !pp_rendezvous_point_is_open(lost));
	CHECK_STR(pp_rendezvous_point_why(one), "the podprof run around the launcher no longer replied");
	CHECK_STR(pp_rendezvous_point_why(lost), "the podprof run around the launcher was not reached");
	pp_rendezvous_point_free(one);
	pp_rendezvous_point_free(lost);
}

TEST(another_job)
{
	struct pp_net_invite at, other;
	struct pp_rendezvous_point *m = serve(&at), *one;

	other = at;
	snprintf(other.job, sizeof(other.job), "job 8");
	one = join(&other, "h1", "job 8", 0);
	for (int i = 0; i < 5000 && pp_rendezvous_point_is_open(one); i++)
		turns(m, one, 1);
	CHECK_STR(pp_rendezvous_point_why(one), "the podprof run around the launcher refuses this host: it belongs to another job");
	pp_rendezvous_point_free(one);
	pp_rendezvous_point_free(m);
}

/* Who has the keys, and brings what is none. */
TEST(hostile_deposit)
{
	char good[PP_RENDEZVOUS_TEXT], longest[PP_WIRE_LONG_TEXT];
	struct pp_net_invite at, got, v = sample("job 8", 'a');
	struct pp_rendezvous_point *m = serve(&at), *one = join(&at, "h1", "job 7", 0);
	struct pp_net *net = net_connect(&at, "evil", 0);
	struct pp_net_event e;
	struct pp_wire w = {.kind = PP_WIRE_INVITE};
	int joined = 0;

	for (int i = 0; i < 5000 && !joined; i++) {
		turns(m, one, 1);
		joined = pp_net_next(net, 0, &e) == 1 && e.kind == PP_NET_JOINED;
	}
	CHECK(joined);
	pp_rendezvous_print(&v, good); /* well made, of another job */
	memset(longest, '\n', sizeof(longest));
	w.text = (struct pp_wire_text){.text = good, .size = strlen(good)};
	CHECK_INT(pp_net_send(net, 0, &w, NULL), 0);
	w.text.size = 40;
	CHECK_INT(pp_net_send(net, 0, &w, NULL), 0);
	w.text.size = 0;
	CHECK_INT(pp_net_send(net, 0, &w, NULL), 0);
	w.text = (struct pp_wire_text){.text = longest, .size = sizeof(longest)};
	CHECK_INT(pp_net_send(net, 0, &w, NULL), 0);
	w = (struct pp_wire){.kind = PP_WIRE_REQUEST, .request = {.number = 1}};
	CHECK_INT(pp_net_send(net, 0, &w, NULL), 0);
	for (int i = 0; i < 2000 && pp_net_unsent(net); i++) {
		turns(m, one, 1);
		pp_net_next(net, 0, &e);
	}
	CHECK_INT(pp_net_unsent(net), 0);
	turns(m, one, 50);
	CHECK(!pp_rendezvous_point_get(m, "job 8", &got) && !pp_rendezvous_point_get(m, "job 7", &got) &&
	      !pp_rendezvous_point_get(one, "job 7", &got));
	CHECK_STR(pp_rendezvous_point_why(one), "the podprof run around the launcher has no invitation of rank 0's keeper");
	pp_net_free(net);
	pp_rendezvous_point_free(one);
	pp_rendezvous_point_free(m);
}

int main(void)
{
	one_word();
	whose_job();
	before_and_after();
	rank_0_serves();
	nobody_brings_one();
	another_job();
	hostile_deposit();
	return test_end();
}
