/* Hosts over many jobs: lists of hosts, lines and damaged lines, tails against values computed elsewhere, false alarms and found
 * hosts in made-up logs. Its random numbers are always the same ones. */
#include "aggregate/fleet/fleet.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/dataset/host_list.h"
#include "aggregate/fleet/job.h"
#include "aggregate/fleet/metrics.h"
#include "aggregate/fleet/tail.h"
#include "core/base/known.h"
#include "tests/test.h"

enum { LOGS = 400, FLEET = 24, JOBS = 300, JOB_HOSTS_MOST = 8 };

static uint64_t state = 1;

static uint64_t dice(uint64_t sides)
{
	uint64_t z = (state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return (z ^ z >> 31) % sides;
}

struct seen {
	char text[4096];
	size_t names;
};

static int see(const char *name, void *context)
{
	struct seen *s = context;
	size_t n = strlen(s->text);

	s->names++;
	snprintf(s->text + n, sizeof(s->text) - n, "%s%s", n ? " " : "", name);
	return 0;
}

static void both_ways(const char *const *given, size_t names, const char *text, const char *sorted)
{
	char(*name)[PP_HOST_LIST_NAME] = calloc(names, sizeof(*name)), list[4096];
	struct seen s = {.names = 0};

	for (size_t i = 0; name && i < names; i++)
		snprintf(name[i], sizeof(*name), "%s", given[i]);
	CHECK_INT(pp_host_list_write(name, names, list, sizeof(list)), 0);
	CHECK_STR(list, text);
	CHECK_INT(pp_host_list_read(list, see, &s), 0);
	CHECK_STR(s.text, sorted);
	free(name);
}

TEST(lists_go_both_ways)
{
	static const char *const plain[] = {"b", "a", "b"}, *const gpu[] = {"gpu003", "gpu001", "login",
	                                                                    "gpu002", "gpu010", "gpu1"};
	static const char *const dotted[] = {"n2.x.y", "n1.x.y", "n1.x.z"}, *const aws[] = {"ip-10-0-0-9", "ip-10-0-0-8"};
	static const char *const odd[] = {"a[1]", "b,c", "12345678901", "7"};

	both_ways(plain, 3, "a,b", "a b");
	both_ways(gpu, 6, "login,gpu1,gpu[001-003,010]", "login gpu1 gpu001 gpu002 gpu003 gpu010");
	both_ways(dotted, 3, "n[1-2].x.y,n1.x.z", "n1.x.y n2.x.y n1.x.z");
	both_ways(aws, 2, "ip-10-0-0-[8-9]", "ip-10-0-0-8 ip-10-0-0-9");
	both_ways(odd, 4, "12345678901,b?c,7,a?1?", "12345678901 b?c 7 a?1?");
}

TEST(long_lists_are_counted)
{
	static char name[3000][PP_HOST_LIST_NAME];
	char list[400];
	struct seen s = {.names = 0};
	size_t left;

	for (int i = 0; i < 3000; i++)
		snprintf(name[i], sizeof(name[i]), "host%d", 2 * i);
	left = pp_host_list_write(name, 3000, list, sizeof(list));
	CHECK(strlen(list) < sizeof(list));
	CHECK_INT(pp_host_list_read(list, see, &s), 0);
	CHECK(s.names > 20);
	CHECK_INT(s.names + left, 3000);
	for (int i = 0; i < 3000; i++)
		snprintf(name[i], sizeof(name[i]), "host%04d", i);
	CHECK_INT(pp_host_list_write(name, 3000, list, sizeof(list)), 0);
	CHECK_STR(list, "host[0000-2999]");
}

TEST(hostile_lists_are_refused)
{
	static const char *const bad[] = {"a[",
	                                  "a[1",
	                                  "a]",
	                                  "a[]",
	                                  "a[1-]",
	                                  "a[-1]",
	                                  "a[2-1]",
	                                  "a[1,]",
	                                  "a[,1]",
	                                  "a,",
	                                  ",a",
	                                  "a[1-2",
	                                  "a[0-999999999]",
	                                  "a[1][2]",
	                                  "a[1x]",
	                                  "a[01-2]",
	                                  "a[00000000001]",
	                                  "[",
	                                  "]",
	                                  "a[1]b[2]",
	                                  "a[0-65535],b"};
	struct seen s = {.names = 0};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int rc = pp_host_list_read(bad[i], see, &s);

		if (rc != -EINVAL)
			fprintf(stderr, "'%s' is taken\n", bad[i]);
		CHECK_INT(rc, -EINVAL);
	}
	CHECK_INT(pp_host_list_read("", see, &s), 0);
}

static void near(double got, double want, double part)
{
	if (!(fabs(got - want) <= part * want))
		fprintf(stderr, "%.12g is not %.12g\n", got, want);
	CHECK(fabs(got - want) <= part * want);
}

static double binomial(int64_t n, int64_t of, int64_t count)
{
	return pp_tail(&(struct pp_tail_group){n, 1, of}, 1, count);
}

TEST(tails_are_those_of_others)
{
	const struct pp_tail_group mixed[] = {{5, 1, 2}, {7, 1, 3}, {20, 1, 10}}, several = {20, 3, 12};

	near(binomial(20, 4, 10), 0.01386441694376117, 1e-9);
	near(binomial(3, 2, 3), 0.125, 1e-12);
	near(binomial(1000, 8, 160), 0.000702041047920192, 1e-9);
	near(binomial(1, 3, 1), 1.0 / 3, 1e-12);
	near(binomial(20000, 8, 2650), 0.0007557369071346322, 1e-8);
	near(pp_tail(mixed, 3, 9), 0.21416333316221048, 1e-9);
	near(binomial(100, 4, 0), 1, 1e-12);
	near(pp_tail(&several, 1, 10), binomial(20, 4, 10), 1e-12);
	near(binomial(1000000, 4, 1000000), PP_TAIL_LEAST, 1e-12);
	near(binomial(5, 1, 5), 1, 1e-12);
	near(pp_tail(NULL, 0, 0), 1, 1e-12);
}

TEST(holm_is_stepwise)
{
	const double p[] = {0.01, 0.04, 0.03, 0.005, 0.9}, want[] = {0.04, 0.09, 0.09, 0.025, 0.9};
	double got[5];

	CHECK_INT(pp_holm(p, 5, got), 0);
	for (int i = 0; i < 5; i++)
		near(got[i], want[i], 1e-12);
}

static struct pp_fleet_job job_of(int number, const char *list, int64_t hosts, const char *cause)
{
	struct pp_fleet_job job = {.version = 2,
	                           .time_s = 1700000000,
	                           .ranks = 4 * hosts,
	                           .delivered = 4 * hosts,
	                           .hosts = hosts,
	                           .steps = 10,
	                           .step_ns = 84100000,
	                           .wait_share = 0.182,
	                           .straggler_rank = -1,
	                           .cause_ns = *cause ? 1000000 : PP_UNKNOWN};

	snprintf(job.job, sizeof(job.job), "job%d", number);
	snprintf(job.session, sizeof(job.session), "2026_11_21_10_40_02");
	snprintf(job.verdict, sizeof(job.verdict), "rank");
	snprintf(job.bottleneck, sizeof(job.bottleneck), "rank 3, Input: \"9 ms\" \\ more \xc3\xa9");
	snprintf(job.cause, sizeof(job.cause), "%s", *cause ? "persistent" : "");
	snprintf(job.cause_list, sizeof(job.cause_list), "%s", cause);
	snprintf(job.list, sizeof(job.list), "%s", list);
	return job;
}

TEST(lines_come_back)
{
	struct pp_fleet_job job = job_of(7, "a,b", 2, "b"), got;
	char line[PP_FLEET_LINE + 1];
	size_t n = pp_fleet_job_write(&job, line);

	CHECK(n > 0 && line[n - 1] == '\n');
	CHECK_INT(pp_fleet_job_read(line, n - 1, &got), 0);
	CHECK_STR(got.job, job.job);
	CHECK_STR(got.bottleneck, job.bottleneck);
	CHECK_STR(got.cause, "persistent");
	CHECK_STR(got.cause_list, "b");
	CHECK_INT(got.cause_ns, job.cause_ns);
	CHECK_STR(got.list, "a,b");
	CHECK_INT(got.step_ns, job.step_ns);
	CHECK_INT(got.lost_ns, job.lost_ns);
	near(got.wait_share, 0.182, 1e-9);
	job.wait_share = NAN; /* unknown, as in a line that lacks it */
	n = pp_fleet_job_write(&job, line);
	CHECK(strstr(line, "\"wait_share\":null,"));
	CHECK(!pp_fleet_job_read(line, n - 1, &got) && isnan(got.wait_share));
	CHECK(!pp_fleet_job_read("{\"podprof_fleet\":1}", 19, &got) && isnan(got.wait_share));
	for (size_t cut = 1; cut < n - 1; cut++)
		CHECK_INT(pp_fleet_job_read(line, cut, &got), -EINVAL);
}

TEST(a_line_has_an_end)
{
	struct pp_fleet_job job = job_of(7, "a", 1, "");
	char line[PP_FLEET_LINE + 1];

	memset(job.job, '"', sizeof(job.job) - 1);
	memset(job.session, '"', sizeof(job.session) - 1);
	memset(job.bottleneck, '"', sizeof(job.bottleneck) - 1);
	memset(job.list, 'h', PP_FLEET_LINE - 2401);
	CHECK(pp_fleet_job_write(&job, line) > 0);
	CHECK(!strstr(line, "bottleneck"));
	job.session[0] = 'x';
	job.list[10] = '\0';
	CHECK(pp_fleet_job_write(&job, line) > 0);
}

/* Names that are cut within a character, or are no UTF-8 at all, take more bytes in JSON: they are read all the same. */
TEST(names_without_utf8_come_back)
{
	struct pp_fleet_job job = job_of(7, "a,b", 2, "b"), got;
	char line[PP_FLEET_LINE + 1];
	size_t n;

	memset(job.job, 'j', sizeof(job.job) - 2);
	job.job[sizeof(job.job) - 2] = '\xc3';
	memset(job.session, 0xff, sizeof(job.session) - 1);
	n = pp_fleet_job_write(&job, line);
	CHECK(n > 0 && pp_fleet_job_read(line, n - 1, &got) == 0);
	CHECK(!strncmp(got.job, job.job, sizeof(job.job) - 2));
	CHECK_STR(got.list, "a,b");
}

static void give(struct pp_fleet *f, const char *text)
{
	CHECK_INT(pp_fleet_line(f, text, strlen(text)), 0);
}

static void give_job(struct pp_fleet *f, const struct pp_fleet_job *job)
{
	char line[PP_FLEET_LINE + 1];
	size_t n = pp_fleet_job_write(job, line);

	CHECK_INT(pp_fleet_line(f, line, n - 1), 0);
}

TEST(damaged_lines_are_counted)
{
	static const char *const bad[] = {"x",
	                                  "{",
	                                  "{}",
	                                  "[]",
	                                  "null",
	                                  "{\"podprof_fleet\":1}{",
	                                  "{\"podprof_fleet\":1,}",
	                                  "{\"podprof_fleet\":1 \"a\":2}",
	                                  "{\"podprof_fleet\":1,\"host_list\":\"a\",\"hosts\":2}",
	                                  "{\"podprof_fleet\":1,\"hosts\":1e300}",
	                                  "{\"podprof_fleet\":1,\"hosts\":nan}",
	                                  "{\"podprof_fleet\":1,\"wait_share\":2}",
	                                  "{\"podprof_fleet\":1,\"job\":\"\\u12\"}",
	                                  "{\"podprof_fleet\":1,\"x\":[[[[[[[[[[[[[[[[[[[[1]}",
	                                  "{\"podprof_fleet\":1,\"hosts\":1,\"host_list\":\"a\",\"straggler_host\":\"b\"}",
	                                  "{\"podprof_fleet\":1,\"hosts\":2,\"host_list\":\"a,a\"}",
	                                  "{\"podprof_fleet\":2,\"hosts\":2,\"host_list\":\"a,b\",\"cause_host_list\":\"c\"}",
	                                  "{\"podprof_fleet\":2,\"hosts\":2,\"host_list\":\"a,b\",\"cause_host_list\":\"b,b\"}",
	                                  "{\"podprof_fleet\":2,\"hosts\":1,\"host_list\":\"a\",\"cause_hosts_not_listed\":2}",
	                                  "{\"podprof_fleet\":1,\"job\":\"a\nb\"}"};
	struct pp_fleet *f = pp_fleet_new();
	const struct pp_fleet_host *host;
	struct pp_fleet_total total;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		give(f, bad[i]);
	give(f, "");
	give(f, "{\"podprof_fleet\":1,\"new\":{\"a\":[1,\"]\"]},\"hosts\":1,\"host_list\":\"a\\u001b\",\"job\":null,\"is\":true}");
	CHECK_INT(pp_fleet_finish(f, &host, &total), 0);
	CHECK_INT(total.damaged, sizeof(bad) / sizeof(bad[0]));
	CHECK_INT(total.jobs, 1);
	CHECK_STR(host[0].name, "a?");
	pp_fleet_free(f);
}

/* Sessions of a job are one trial, of the cause with most waiting; the same line again is none; jobs that cannot be compared
 * are only counted. */
TEST(a_job_counts_once)
{
	struct pp_fleet *f = pp_fleet_new();
	const struct pp_fleet_host *host;
	struct pp_fleet_total total;
	struct pp_fleet_job job = job_of(1, "a,b", 2, "a");

	give_job(f, &job);
	give_job(f, &job);
	job = job_of(1, "a,b", 2, "b");
	snprintf(job.session, sizeof(job.session), "later");
	job.cause_ns = 5000000;
	give_job(f, &job);
	job = job_of(2, "a", 1, "a");
	give_job(f, &job);
	job = job_of(3, "a,c", 4, "c");
	job.unlisted = 2;
	give_job(f, &job);
	job = job_of(4, "a,b", 2, "");
	give_job(f, &job);
	CHECK_INT(pp_fleet_finish(f, &host, &total), 0);
	CHECK_INT(total.repeated, 1);
	CHECK_INT(total.jobs, 4);
	CHECK_INT(total.sessions, 5);
	CHECK_INT(total.trials, 1);
	CHECK_INT(total.unlisted, 1);
	CHECK_INT(total.tested, 2);
	CHECK_STR(host[0].name, "b");
	CHECK_INT(host[0].cause, 1);
	near(host[0].p, 0.5, 1e-12);
	near(host[0].adjusted, 1, 1e-12);
	CHECK_INT(host[0].lost_ns, 5000000);
	pp_fleet_free(f);
}

/* Three of four hosts are named, and for more waiting two of them; all of two are no trial; a line of version 1 is only counted. */
TEST(several_hosts_are_named)
{
	struct pp_fleet *f = pp_fleet_new();
	const struct pp_fleet_host *host;
	struct pp_fleet_total total;
	struct pp_fleet_job job = job_of(1, "n[1-4]", 4, "n[1-3]");

	give_job(f, &job);
	job = job_of(1, "n[1-4]", 4, "n[1-2]");
	snprintf(job.session, sizeof(job.session), "later");
	job.cause_ns = 6000000;
	give_job(f, &job);
	job = job_of(2, "n[1-2]", 2, "n[1-2]");
	give_job(f, &job);
	job = job_of(3, "n[1-4]", 4, "");
	job.version = 1;
	snprintf(job.straggler, sizeof(job.straggler), "n4");
	job.lost_ns = 7;
	give_job(f, &job);
	CHECK_INT(pp_fleet_finish(f, &host, &total), 0);
	CHECK_INT(total.trials, 1);
	CHECK_INT(total.seen, 1);
	for (size_t i = 0; i < total.hosts; i++) {
		const int number = host[i].name[1] - '0';

		CHECK_INT(host[i].cause, number <= 2);
		CHECK_INT(host[i].seen, number == 4);
		CHECK_INT(host[i].trials, 1);
		near(host[i].expected, 0.5, 1e-12);
		near(host[i].p, number <= 2 ? 0.5 : 1, 1e-12);
		CHECK_INT(host[i].lost_ns / 1000, number <= 2 ? 333 + 3000 + 500 : number == 3 ? 333 : 0);
	}
	pp_fleet_free(f);
}

/* A log in which every host of a job is as likely, but `slow` this often in percent; -1: none. Returns the significant hosts. */
static size_t made_log(int slow, uint64_t percent, int *ret_found)
{
	struct pp_fleet *f = pp_fleet_new();
	const struct pp_fleet_host *host;
	struct pp_fleet_total total;
	size_t significant = 0;

	for (int j = 0; j < JOBS; j++) {
		char name[JOB_HOSTS_MOST][PP_HOST_LIST_NAME], cause[PP_HOST_LIST_NAME], list[4096];
		size_t hosts = 2 + dice(JOB_HOSTS_MOST - 1), first = dice(FLEET), who = dice(hosts);
		struct pp_fleet_job job;

		for (size_t i = 0; i < hosts; i++) {
			size_t number = (first + i * 5) % FLEET;

			snprintf(name[i], sizeof(name[i]), "n%02zu", number);
			if ((int)number == slow && dice(100) < percent)
				who = i;
		}
		snprintf(cause, sizeof(cause), "%s", name[who]);
		pp_host_list_write(name, hosts, list, sizeof(list));
		job = job_of(j, list, (int64_t)hosts, cause);
		give_job(f, &job);
	}
	CHECK_INT(pp_fleet_finish(f, &host, &total), 0);
	CHECK_INT(total.trials, JOBS);
	for (size_t i = 0; i < total.hosts; i++) {
		significant += host[i].adjusted <= PP_FLEET_LEVEL;
		if (ret_found && host[i].adjusted <= PP_FLEET_LEVEL && (int)strtol(host[i].name + 1, NULL, 10) == slow)
			*ret_found = 1;
	}
	pp_fleet_free(f);
	return significant;
}

TEST(false_alarms_are_rare)
{
	int alarms = 0;

	for (int i = 0; i < LOGS; i++)
		alarms += made_log(-1, 0, NULL) > 0;
	fprintf(stderr, "%d of %d logs without a slow host name one\n", alarms, LOGS);
	CHECK(alarms <= LOGS * 7 / 100);
}

TEST(slow_hosts_are_found)
{
	int found = 0, others = 0;

	for (int i = 0; i < 100; i++)
		others += made_log(5, 60, &found) > 1;
	CHECK(found);
	CHECK(others <= 10);
	for (int i = 0; i < 20; i++) {
		found = 0;
		made_log(5, 60, &found);
		CHECK(found);
	}
}

TEST(metrics_are_whole)
{
	struct pp_fleet_job job = job_of(1, "a,b", 2, "b");
	char *text = NULL;
	size_t length;
	FILE *to = open_memstream(&text, &length);

	snprintf(job.job, sizeof(job.job), "a\"\\\nb\x1b");
	pp_metrics_write(&job, to);
	fclose(to);
	CHECK(strstr(text, "podprof_session{job=\"a\\\"\\\\\\nb?\",session=\"2026_11_21_10_40_02\",verdict=\"rank\"} 1\n") != NULL);
	CHECK(strstr(text, "podprof_session_step_seconds 0.0841\n") != NULL);
	CHECK(length > 6 && !strcmp(text + length - 6, "# EOF\n"));
	free(text);
}

int main(void)
{
	lists_go_both_ways();
	long_lists_are_counted();
	hostile_lists_are_refused();
	tails_are_those_of_others();
	holm_is_stepwise();
	lines_come_back();
	a_line_has_an_end();
	names_without_utf8_come_back();
	damaged_lines_are_counted();
	a_job_counts_once();
	several_hosts_are_named();
	false_alarms_are_rare();
	slow_hosts_are_found();
	metrics_are_whole();
	return test_end();
}
