/* Windows that end while ranks go on: what is dropped, what stays open, what is clipped; and the child that writes one. */
#include "aggregate/read/ring/cut.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "aggregate/session/forked_writer.h"
#include "core/base/forked.h"
#include "core/capture/cut.h"
#include "core/capture/thread.h"
#include "tests/unit/aggregate/read/ring/rings_kit.h"

static struct pp_rings *open_ring(struct maker *m, const char *name)
{
	struct pp_rings *r = pp_rings_new(64 << 20);

	maker_open(m, path_of(name), 0, 1, 1, 64);
	maker_thread(m, 0, 10);
	CHECK_INT(pp_rings_open(r, m->path, NULL), 0);
	return r;
}

static void drain(struct pp_rings *r)
{
	while (pp_rings_drain(r, 0, NULL))
		;
}

TEST(open_ranges_go_on)
{
	struct maker m;
	struct pp_capture c;
	struct pp_rings *r = open_ring(&m, "drop.ring");
	const struct pp_span *s;

	maker_push(&m, 0, 2000, "whole run");
	for (int i = 0; i < 3000; i++) {
		maker_push(&m, 0, 2100 + 10 * (pp_tick)i, "inner");
		maker_pop(&m, 0, 2105 + 10 * (pp_tick)i);
		if (i % 100 == 0)
			drain(r);
	}
	maker_step(&m, 0, PP_RECORD_STEP_BEGIN, 40000, 7);
	maker_range(&m, 0, PP_RECORD_START, 40010, 0, 5, "async");
	m.header->thread[0].lost[PP_LOSS_RING_FULL] = 3;
	drain(r);
	pp_rings_drop(r, 0, 2105 + 10 * 2997);
	m.header->thread[0].lost[PP_LOSS_RING_FULL] = 5;
	maker_range(&m, 0, PP_RECORD_END, 40020, 0, 5, NULL);
	maker_step(&m, 0, PP_RECORD_STEP_END, 40030, 0);
	maker_pop(&m, 0, 40040);
	drain(r);
	CHECK_INT(pp_rings_finish(r, &c, NULL), 0);
	CHECK_INT(c.rank[0].thread[0].spans, 5);
	s = c.rank[0].thread[0].span;
	CHECK_STR(name_of(&c, &s[0]), "whole run");
	CHECK_INT(s[0].begin, 2000);
	CHECK_INT(s[0].end, 40040);
	CHECK_INT(s[0].flags, 0);
	CHECK_INT(s[1].begin, 2100 + 10 * 2998);
	CHECK_INT(s[3].kind, PP_SPAN_STEP);
	CHECK_INT(s[3].end, 40030);
	CHECK_INT(s[4].end, 40020);
	CHECK_INT(c.rank[0].records, 5 + 3); /* what stayed, and what came */
	CHECK_INT(c.rank[0].lost[PP_LOSS_RING_FULL], 2);
	CHECK_INT(c.rank[0].lost[PP_LOSS_EVICTED], 0);
	CHECK_INT(c.rank[0].lost[PP_LOSS_UNBALANCED], 0);
	pp_capture_release(&c);
	pp_rings_free(r);
	maker_close(&m);
}

TEST(dropped_is_dropped_again)
{
	struct maker m;
	struct pp_rings *r = open_ring(&m, "again.ring");
	uint64_t held = 0;

	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < 5000; i++) {
			maker_push(&m, 0, 2000 + (pp_tick)(round * 10000 + i), "a");
			maker_pop(&m, 0, 2000 + (pp_tick)(round * 10000 + i));
			if (i % 100 == 0)
				drain(r);
		}
		drain(r);
		pp_rings_drop(r, 0, 2000 + round * 10000 + 9999);
		if (round == 1)
			held = pp_rings_bytes(r);
		else if (round > 1)
			CHECK(pp_rings_bytes(r) <= held);
	}
	pp_rings_free(r);
	maker_close(&m);
}

TEST(dropped_between)
{
	struct maker m;
	struct pp_capture c;
	struct pp_rings *r = open_ring(&m, "between.ring");

	maker_push(&m, 0, 2000, "whole run");
	for (int i = 0; i < 2000; i++) {
		maker_push(&m, 0, 2100 + 10 * (pp_tick)i, "inner");
		maker_pop(&m, 0, 2105 + 10 * (pp_tick)i);
		if (i % 100 == 0)
			drain(r);
	}
	drain(r);
	pp_rings_drop_between(r, 0, 2105 + 10 * 3, 2105 + 10 * 1996);
	maker_pop(&m, 0, 40000);
	drain(r);
	CHECK_INT(pp_rings_finish(r, &c, NULL), 0);
	CHECK_INT(c.rank[0].thread[0].spans, 1 + 3 + 3);
	CHECK_INT(c.rank[0].thread[0].span[3].begin, 2120);
	CHECK_INT(c.rank[0].thread[0].span[4].begin, 2100 + 10 * 1997);
	pp_capture_release(&c);
	pp_rings_free(r);
	maker_close(&m);
}

TEST(clipped_at_the_edges)
{
	struct maker m;
	struct pp_capture c;
	struct pp_rings *r = open_ring(&m, "clip.ring");
	const struct pp_span *s;

	maker_push(&m, 0, 1500, "outer");
	maker_mpi(&m, 0, 1990, 2010, 0, 0, -1); /* across the first edge */
	maker_push(&m, 0, 2000, "at the edge");
	maker_mpi(&m, 0, 2100, 2110, 0, 0, -1);
	maker_pop(&m, 0, 2200);
	maker_step(&m, 0, PP_RECORD_STEP_BEGIN, 2900, 8);
	maker_mpi(&m, 0, 2990, 3010, 0, 0, -1); /* across the last */
	maker_step(&m, 0, PP_RECORD_STEP_END, 3020, 0);
	maker_push(&m, 0, 3100, "later");
	drain(r);
	CHECK_INT(pp_rings_finish(r, &c, NULL), 0);
	CHECK_INT(pp_rank_cut(&c.rank[0], 2000, 3000), 0);
	CHECK_INT(c.rank[0].thread[0].spans, 4);
	s = c.rank[0].thread[0].span;
	CHECK_STR(name_of(&c, &s[0]), "outer");
	CHECK_INT(s[0].begin, 2000);
	CHECK_INT(s[0].end, 3000);
	CHECK_INT(s[0].flags, PP_SPAN_CUT_BEGIN | PP_SPAN_CUT_END);
	CHECK_STR(name_of(&c, &s[1]), "at the edge");
	CHECK_INT(s[1].flags, 0);
	CHECK_INT(s[2].begin, 2100);
	CHECK_INT(s[3].kind, PP_SPAN_STEP);
	CHECK_INT(s[3].end, 3000);
	CHECK_INT(s[3].flags, PP_SPAN_CUT_END);
	CHECK_INT(c.rank[0].thread[0].first, 2000);
	CHECK_INT(c.rank[0].thread[0].last, 3000);
	pp_capture_release(&c);
	pp_rings_free(r);
	maker_close(&m);
}

static int answers(void *context, struct pp_forked_answer *a)
{
	snprintf(a->text, sizeof(a->text), "%s", (const char *)context);
	return 0;
}

static int crashes(void *context, struct pp_forked_answer *a)
{
	(void)a;
	raise(*(int *)context);
	return 0;
}

static int hangs(void *context, struct pp_forked_answer *a)
{
	(void)context;
	(void)a;
	for (;;)
		pause();
	return 0;
}

/* As a writer that is killed with its files half done. */
static int leaves_parts(void *context, struct pp_forked_answer *a)
{
	const char *base = context;
	char path[300];

	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/claimed%d", base, i);
		mkdir(path, 0700);
		memcpy(a->claimed + strlen(a->claimed), path, strlen(path) + 1);
		a->claimed[strlen(a->claimed)] = '\n';
		snprintf(path, sizeof(path), "%s/claimed%d/pod.h5.part", base, i);
		close(open(path, O_CREAT | O_WRONLY, 0600));
	}
	snprintf(path, sizeof(path), "%s/claimed1/whole", base);
	close(open(path, O_CREAT | O_WRONLY, 0600));
	raise(SIGKILL);
	return 0;
}

static void wait_for(struct pp_forked_writer *a)
{
	for (int i = 0; i < 5000 && !pp_forked_writer_done(a); i++)
		usleep(1000);
	CHECK(pp_forked_writer_done(a));
	for (int i = 0; i < 5000 && !pp_forked_writer_reaped(a); i++)
		usleep(1000);
	CHECK(pp_forked_writer_reaped(a));
}

/* What other threads of a keeper hold at any moment: locks of malloc, stdio, the time zone, and one of ours. */
static _Atomic int over;
static pthread_mutex_t ours = PTHREAD_MUTEX_INITIALIZER;
static FILE *shared;

static void *hammer(void *arg)
{
	int kind = *(int *)arg;

	while (!over) {
		time_t now = time(NULL);
		struct tm tm;

		if (kind == 0) {
			for (int i = 0; i < 100; i++)
				localtime_r(&now, &tm);
		} else if (kind == 1) {
			fprintf(shared, "%s\n", strerror((int)(now % 40)));
		} else if (kind == 2) {
			free(malloc(100000));
		} else {
			FILE *f;

			pthread_mutex_lock(&ours);
			f = fopen("/dev/null", "w");
			if (f)
				fclose(f);
			pthread_mutex_unlock(&ours);
		}
	}
	return NULL;
}

static void lock_ours(void *context)
{
	pthread_mutex_lock(context);
}

static void unlock_ours(void *context)
{
	pthread_mutex_unlock(context);
}

/* All that a writer does by these locks. */
static int writes(void *context, struct pp_forked_answer *a)
{
	struct tm tm;
	FILE *f;

	(void)context;
	pp_local_time(time(NULL), &tm);
	strftime(a->text, sizeof(a->text), "%Y-%m-%d %H:%M", &tm);
	free(malloc(200000));
	fprintf(shared, "%s\n", strerror(EIO));
	f = fopen("/dev/null", "w");
	if (f)
		fclose(f);
	pthread_mutex_lock(&ours);
	pthread_mutex_unlock(&ours);
	return 0;
}

TEST(forks_beside_threads)
{
	struct pp_forked_lock lock = {.lock = lock_ours, .unlock = unlock_ours, .context = &ours};
	pthread_t thread[4];
	int kind[4] = {0, 1, 2, 3};

	shared = fopen("/dev/null", "w");
	pp_forked_register(&lock);
	for (int i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, hammer, &kind[i]);
	for (int i = 0; i < 300; i++) {
		struct pp_forked_writer a;

		CHECK_INT(pp_forked_writer_start(&a, &(struct pp_forked_work){.run = writes}, 60000), 0);
		for (int k = 0; k < 60000 && !pp_forked_writer_done(&a); k++)
			usleep(1000);
		CHECK_INT(a.answer.code, 0);
		CHECK_INT(strlen(a.answer.text), 16);
		while (!pp_forked_writer_reaped(&a))
			usleep(1000);
		if (a.answer.code)
			break;
	}
	over = 1;
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	pp_forked_forget(&lock);
	fclose(shared);
}

static const char *const zone[] = {"UTC0", "CET-1CEST,M3.5.0,M10.5.0/3", "NPT-5:45", "EST5EDT,M3.2.0,M11.1.0"};

static int has_time(void *context, struct pp_forked_answer *a)
{
	struct tm tm, want;

	for (time_t when = time(NULL) - 86400; when < time(NULL); when += 3571) {
		pp_local_time(when, &tm);
		localtime_r(&when, &want);
		if (tm.tm_year != want.tm_year || tm.tm_mon != want.tm_mon || tm.tm_mday != want.tm_mday ||
		    tm.tm_hour != want.tm_hour || tm.tm_min != want.tm_min || tm.tm_sec != want.tm_sec)
			return pp_err_set(&a->err, -EDOM, "%s: %lld", (const char *)context, (long long)when);
	}
	return 0;
}

/* In a process of its own for each zone: what is learned of one stays. */
TEST(local_time_in_children)
{
	for (size_t i = 0; i < sizeof(zone) / sizeof(zone[0]); i++) {
		int status = 1;
		pid_t pid = fork();

		if (!pid) {
			struct pp_forked_writer a;

			setenv("TZ", zone[i], 1);
			tzset();
			CHECK_INT(pp_forked_writer_start(
			                  &a, &(struct pp_forked_work){.run = has_time, .context = (void *)(uintptr_t)zone[i]},
			                  60000),
			          0);
			wait_for(&a);
			CHECK_STR(a.answer.err.text, "");
			_exit(a.answer.code != 0);
		}
		CHECK(waitpid(pid, &status, 0) == pid);
		CHECK_INT(status, 0);
	}
}

TEST(parts_of_the_dead)
{
	struct pp_forked_writer a;

	CHECK_INT(pp_forked_writer_start(&a, &(struct pp_forked_work){.run = leaves_parts, .context = dir}, 60000), 0);
	wait_for(&a);
	CHECK_INT(a.answer.code, -EIO);
	CHECK(access(path_of("claimed0"), F_OK) != 0);
	CHECK(access(path_of("claimed1/whole"), F_OK) == 0);
	CHECK(access(path_of("claimed1/pod.h5.part"), F_OK) != 0);
}

TEST(forked_writers)
{
	int number = SIGKILL;
	struct pp_forked_writer a;

	CHECK_INT(pp_forked_writer_start(&a, &(struct pp_forked_work){.run = answers, .context = "yes"}, 10000), 0);
	wait_for(&a);
	CHECK_INT(a.answer.code, 0);
	CHECK_STR(a.answer.text, "yes");
	CHECK_INT(pp_forked_writer_start(&a, &(struct pp_forked_work){.run = crashes, .context = &number}, 10000), 0);
	wait_for(&a);
	CHECK_INT(a.answer.code, -EIO);
	CHECK(strstr(a.answer.err.text, "signal 9") != NULL);
	CHECK_INT(pp_forked_writer_start(&a, &(struct pp_forked_work){.run = hangs}, 20), 0);
	wait_for(&a);
	CHECK_INT(a.answer.code, -ETIMEDOUT);
}

int main(void)
{
	if (rings_kit_begin())
		return 1;
	open_ranges_go_on();
	dropped_is_dropped_again();
	dropped_between();
	clipped_at_the_edges();
	local_time_in_children();
	forks_beside_threads();
	parts_of_the_dead();
	forked_writers();
	return rings_kit_end();
}
