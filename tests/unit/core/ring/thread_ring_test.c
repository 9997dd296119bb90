/* Thread rings against the keeper's drain: order, reuse, growth, losses, long texts, many threads, handlers. */
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "tests/unit/core/ring/ring_kit.h"

struct seen {
	uint64_t marks, gaps, ends, expected, wrong;
	uint64_t text_bytes, text_wrong;
	int by_name; /* a thread is named by its count of marks */
};

static void on_records(void *context, uint32_t slot, const struct pp_record *r, uint32_t count)
{
	struct seen *s = context;

	(void)slot;
	for (uint32_t i = 0; i < count; i++) {
		if (r[i].kind == PP_RECORD_GAP) {
			s->gaps++;
		} else if (r[i].kind == PP_RECORD_MARK) {
			s->marks++;
			s->wrong += r[i].range.id != s->expected;
			s->expected = r[i].range.id + 1;
			s->text_bytes += r[i].length;
			if (i + r[i].more >= count)
				s->text_wrong++;
		} else if (r[i].kind == PP_RECORD_TEXT) {
			for (uint32_t b = 0; b < r[i].length; b++)
				s->text_wrong += r[i].text[b] != 'x';
		} else if (r[i].kind == PP_RECORD_THREAD_END) {
			s->ends++;
			if (s->by_name) {
				s->wrong += s->expected != (uint64_t)strtol(r[i].thread.name, NULL, 10);
				s->expected = 0;
			}
		}
	}
}

static struct seen seen;
static const struct pp_drain_sink sink = {.context = &seen, .records = on_records};

TEST(hot_set)
{
	CHECK(kit_open(64 << 20));
	/* A keeper that keeps up: a million records in a few chunks, in order, nothing lost. */
	for (uint64_t i = 0; i < 1000000; i++) {
		kit_mark("forward", 7, i);
		if (i % 900 == 0)
			pp_drain_run(kit_drain, &sink);
	}
	pp_drain_run(kit_drain, &sink);
	CHECK_INT(seen.marks, 1000000);
	CHECK_INT(seen.wrong, 0);
	CHECK_INT(kit_lost(PP_LOSS_RING_FULL), 0);
	CHECK(kit_chunks() <= PP_RING_FIRST_CHUNKS);
	kit_close();
}

TEST(growth)
{
	CHECK(kit_open(64 << 20));
	for (uint64_t i = 0; i < 100 * PP_CHUNK_RECORDS; i++)
		kit_mark("", 0, i);
	CHECK_INT(kit_chunks(), 100);
	pp_drain_run(kit_drain, &sink);
	CHECK_INT(seen.marks, 100 * PP_CHUNK_RECORDS);
	/* After the burst the lowest chunks are used again, not new ones. */
	for (uint64_t i = 0; i < 50 * PP_CHUNK_RECORDS; i++)
		kit_mark("", 0, seen.expected + i);
	CHECK_INT(kit_chunks(), 100);
	CHECK_INT(kit_lost(PP_LOSS_RING_FULL), 0);
	kit_close();
}

TEST(drops_newest)
{
	const struct pp_record remark = {.tick = 1, .kind = PP_RECORD_REMARK};
	uint64_t room;

	CHECK(kit_open(1 << 20));
	room = (uint64_t)atomic_load(&pp_ring_pool.header->chunk_limit) * PP_CHUNK_RECORDS;
	for (uint64_t i = 0; i < room + 1000; i++)
		kit_mark("m", 1, i);
	CHECK_INT(kit_lost(PP_LOSS_RING_FULL), 1000);
	CHECK_INT(pp_ring_put(&remark, NULL, 0), 0); /* who has a number to report may do it later */
	CHECK_INT(kit_lost(PP_LOSS_RING_FULL), 1001);
	pp_drain_run(kit_drain, &sink);
	CHECK_INT(seen.marks, room);
	CHECK_INT(seen.wrong, 0);
	CHECK_INT(seen.gaps, 0);
	kit_mark("m", 1, room);
	kit_mark("m", 1, room + 1);
	pp_drain_run(kit_drain, &sink);
	CHECK_INT(seen.marks, room + 2);
	CHECK_INT(seen.gaps, 1);
	CHECK_INT(pp_ring_put(&remark, NULL, 0), 1);
	kit_close();
}

TEST(long_names)
{
	static char text[60000];
	static const size_t lengths[] = {0, 1, 3, 7, 8, 15, 16, 31, 32, 33, 80, 81, 10000, 49040};
	uint64_t id = 0, bytes = 0;

	memset(text, 'x', sizeof(text));
	CHECK(kit_open(64 << 20));
	for (int round = 0; round < 20; round++)
		for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++, id++) {
			kit_mark(text, lengths[i], id);
			bytes += lengths[i];
		}
	pp_drain_run(kit_drain, &sink);
	CHECK_INT(seen.marks, id);
	CHECK_INT(seen.text_bytes, bytes);
	CHECK_INT(seen.text_wrong, 0);
	CHECK_INT(kit_lost(PP_LOSS_NAME_CUT), 0);
	kit_mark(text, sizeof(text), id);
	CHECK_INT(kit_lost(PP_LOSS_NAME_CUT), 1);
	pp_drain_run(kit_drain, &sink);
	CHECK_INT(seen.marks, id + 1);
	kit_close();
}

static void *short_thread(void *arg)
{
	for (uint64_t i = 0; i < 20; i++)
		kit_mark("short", 5, i);
	(void)arg;
	return NULL;
}

TEST(many_threads)
{
	pthread_t t[300];

	CHECK(kit_open(64 << 20));
	for (int i = 0; i < 300; i++)
		CHECK_INT(pthread_create(&t[i], NULL, short_thread, NULL), 0);
	for (int i = 0; i < 300; i++)
		pthread_join(t[i], NULL);
	pp_drain_run(kit_drain, &sink);
	CHECK_INT(seen.marks, 6000);
	CHECK_INT(atomic_load(&pp_ring_pool.header->lost_threads), 0);
	CHECK_INT(kit_lost(PP_LOSS_RING_FULL), 0);
	kit_close();
}

/* Named when it has made its marks: the name that it ends with counts. */
static void *named_thread(void *arg)
{
	uint64_t marks = (uint64_t)(uintptr_t)arg;
	char name[16];

	for (uint64_t i = 0; i < marks; i++)
		kit_mark("short", 5, i);
	snprintf(name, sizeof(name), "%d", (int)marks);
	pp_ring_name_thread((uint32_t)syscall(SYS_gettid), name);
	return NULL;
}

/* A keeper that stands still: a thread goes on behind the one that has ended, up to the size of the ring. */
TEST(ended_threads_nobody_reads)
{
	static const uint64_t marks[] = {20, PP_CHUNK_RECORDS, 0, PP_CHUNK_RECORDS - 1, 1, 2 * PP_CHUNK_RECORDS, 7};
	enum { ROUNDS = 100, KINDS = sizeof(marks) / sizeof(marks[0]), SHORT = 5000 };
	uint64_t expected = 20 * SHORT;
	pthread_t t;

	seen.by_name = 1;
	CHECK(kit_open(256 << 20));
	for (int i = 0; i < SHORT + ROUNDS * KINDS; i++) {
		uint64_t count = i < SHORT ? 20 : marks[i % KINDS];

		expected += i < SHORT ? 0 : count;
		CHECK_INT(pthread_create(&t, NULL, named_thread, (void *)(uintptr_t)count), 0);
		pthread_join(t, NULL);
	}
	CHECK_INT(atomic_load(&pp_ring_pool.header->lost_threads), 0);
	CHECK_INT(kit_lost(PP_LOSS_RING_FULL), 0);
	CHECK_INT(atomic_load(&pp_ring_pool.header->thread_used), 1);
	CHECK(kit_chunks() < expected / PP_CHUNK_RECORDS * 11 / 10);
	pp_drain_run(kit_drain, &sink);
	CHECK_INT(seen.marks, expected);
	CHECK_INT(seen.wrong, 0);
	CHECK_INT(seen.ends, SHORT + ROUNDS * KINDS - 1);
	kit_close();
}

/* A ring that is full: that is what is said of the records, however many threads come. Read, it takes all of them again. */
TEST(ended_threads_of_a_full_ring)
{
	uint64_t lost;
	pthread_t t;

	CHECK(kit_open(4 << 20));
	for (int i = 0; i < PP_RING_THREADS + 100; i++) {
		CHECK_INT(pthread_create(&t, NULL, named_thread, (void *)(uintptr_t)PP_CHUNK_RECORDS), 0);
		pthread_join(t, NULL);
	}
	lost = kit_lost(PP_LOSS_RING_FULL);
	CHECK(lost > 0);
	CHECK_INT(atomic_load(&pp_ring_pool.header->lost_threads), 0);
	pp_drain_run(kit_drain, &sink);
	CHECK_INT(seen.marks + lost, (PP_RING_THREADS + 100) * PP_CHUNK_RECORDS);
	seen.marks = 0;
	for (int i = 0; i < 50; i++) {
		CHECK_INT(pthread_create(&t, NULL, short_thread, NULL), 0);
		pthread_join(t, NULL);
	}
	pp_drain_run(kit_drain, &sink);
	CHECK_INT(seen.marks, 50 * 20);
	CHECK_INT(lost, kit_lost(PP_LOSS_RING_FULL));
	kit_close();
}

TEST(short_threads_forever)
{
	pthread_t t;

	CHECK(kit_open(4 << 20));
	for (int i = 0; i < 10000; i++) {
		CHECK_INT(pthread_create(&t, NULL, short_thread, NULL), 0);
		pthread_join(t, NULL);
		if (i % 10 == 9)
			pp_drain_run(kit_drain, &sink);
	}
	pp_drain_run(kit_drain, &sink);
	CHECK_INT(seen.marks, 200000);
	CHECK_INT(atomic_load(&pp_ring_pool.header->lost_threads), 0);
	CHECK(atomic_load(&pp_ring_pool.header->thread_used) <= 16);
	CHECK(kit_chunks() <= 16);
	kit_close();
}

static void on_signal(int signal)
{
	(void)signal;
	kit_mark("signal", 6, 1u << 30);
}

static void on_signal_records(void *context, uint32_t slot, const struct pp_record *r, uint32_t count)
{
	struct seen *s = context;

	(void)slot;
	for (uint32_t i = 0; i < count; i++) {
		int ours = r[i].kind == PP_RECORD_MARK && r[i].length == 7 && !memcmp(r[i].range.text, "forward", 7);
		int handlers = r[i].kind == PP_RECORD_MARK && r[i].length == 6 && r[i].range.id == 1u << 30 &&
		               !memcmp(r[i].range.text, "signal", 6);

		s->marks += (uint64_t)ours;
		s->gaps += (uint64_t)handlers;
		s->wrong += !ours && !handlers;
	}
}

TEST(signal_handlers)
{
	const struct pp_drain_sink all = {.context = &seen, .records = on_signal_records};
	struct sigaction a = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	timer_t timer;
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
	struct itimerspec every = {{0, 20000}, {0, 20000}};

	CHECK(kit_open(64 << 20));
	sigaction(SIGUSR1, &a, NULL);
	CHECK_INT(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
	timer_settime(timer, 0, &every, NULL);
	for (uint64_t i = 0; i < 3000000; i++) {
		kit_mark("forward", 7, i);
		if (i % 10000 == 0)
			pp_drain_run(kit_drain, &all);
	}
	timer_delete(timer);
	pp_drain_run(kit_drain, &all);
	CHECK_INT(seen.marks, 3000000);
	CHECK_INT(seen.wrong, 0);
	CHECK(seen.gaps > 0);
	kit_close();
}

/* A thread's first record, and when it is done, with a stop at either end for who traces it. */
static void mark_traced(void)
{
	const struct pp_drain_sink all = {.context = &seen, .records = on_signal_records};
	struct sigaction a = {.sa_handler = on_signal, .sa_flags = SA_RESTART};

	if (!kit_open(64 << 20) || !pp_thread_enter() || ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		_exit(3);
	sigaction(SIGUSR1, &a, NULL);
	raise(SIGSTOP);
	kit_mark("forward", 7, 0);
	raise(SIGSTOP);
	pp_drain_run(kit_drain, &all);
	kit_close();
	CHECK_INT(seen.marks, 1);
	CHECK_INT(seen.wrong, 0);
	CHECK_INT(seen.gaps + kit_lost(PP_LOSS_RING_FULL), 1);
	_exit(test_failures != 0);
}

/* wait status of a process that a signal handler interrupted after `count` instructions; *ret_over: its record was done before. */
static int interrupt_after(int count, int *ret_over)
{
	pid_t pid = fork();
	int status = 0;

	*ret_over = 0;
	if (!pid)
		mark_traced();
	waitpid(pid, &status, 0);
	for (int i = 0; WIFSTOPPED(status) && i < count && !*ret_over; i++) {
		ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL);
		waitpid(pid, &status, 0);
		*ret_over = WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP;
	}
	for (long next = SIGUSR1; WIFSTOPPED(status); next = 0) {
		ptrace(PTRACE_CONT, pid, NULL, next);
		waitpid(pid, &status, 0);
	}
	return status;
}

#ifdef __SANITIZE_ADDRESS__
enum { STRIDE = 61 }; /* of many more instructions: all of them take minutes */
#else
enum { STRIDE = 1 };
#endif

/* Wherever a signal handler interrupts a thread's first record: that record is there; the handler's is there too, or is counted. */
TEST(signal_at_each_instruction)
{
	int is_over = 0, failures = test_failures;

	for (int count = 0; !is_over && test_failures == failures; count += STRIDE) {
		int status = interrupt_after(count, &is_over);

		if (WIFEXITED(status) && WEXITSTATUS(status) == 3) {
			fprintf(stderr, "not checked: tracing is forbidden here\n");
			return;
		}
		CHECK_INT(status, 0);
		if (status)
			fprintf(stderr, "the handler came after %d instructions\n", count);
	}
}

static volatile sig_atomic_t struck;

static void mark_always(int number)
{
	(void)number;
	kit_mark("signal", 6, 1);
	struck++;
}

static void *mark_and_stay(void *arg)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	kit_mark("a", 1, 0);
	for (;;)
		pause();
	return arg;
}

/* A handler that needs a chunk while its thread has the lock: it does not wait for itself. */
TEST(named_among_signals)
{
	struct sigaction a = {.sa_handler = mark_always, .sa_flags = SA_RESTART};
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
	struct itimerspec every = {{0, 50000}, {0, 50000}};
	uint32_t me = (uint32_t)getpid();
	timer_t timer;

	CHECK(kit_open(64 << 20));
	kit_mark("a", 1, 0);
	for (int i = 0; i < 200; i++) { /* so that the lock is held long */
		pthread_t t;

		CHECK_INT(pthread_create(&t, NULL, mark_and_stay, NULL), 0);
	}
	pp_ring_name_thread(me, "trainer");
	sigaction(SIGUSR1, &a, NULL);
	CHECK_INT(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
	alarm(20);
	timer_settime(timer, 0, &every, NULL);
	while (struck < 8 * PP_CHUNK_RECORDS)
		pp_ring_name_thread(1, "nobody");
	timer_delete(timer);
	CHECK_STR(pp_ring_pool.header->thread[0].name, "trainer");
	CHECK(kit_chunks() > 1);
	kit_close();
}

TEST(switched_off_and_on)
{
	CHECK(kit_open(64 << 20));
	kit_mark("a", 1, 0);
	atomic_store(&pp_wiped.recording, 0);
	CHECK(!pp_emit_wanted());
	atomic_store(&pp_wiped.recording, 2);
	kit_mark("a", 1, 1);
	pp_drain_run(kit_drain, &sink);
	CHECK_INT(seen.marks, 2);
	CHECK_INT(seen.gaps, 1);
	kit_close();
}

static void flush_mark(void)
{
	kit_mark("last", 4, 1);
}

static void *one_mark(void *arg)
{
	kit_mark("first", 5, 0);
	return arg;
}

/* What a source still holds of a thread is told before it has ended. What began before recording went off is written after. */
TEST(flushed_and_late)
{
	struct pp_ring_cursor *k;
	struct pp_record *r;
	pthread_t t;

	CHECK(kit_open(64 << 20));
	CHECK_INT(pp_rings_start(flush_mark), 0);
	CHECK_INT(pthread_create(&t, NULL, one_mark, NULL), 0);
	pthread_join(t, NULL);
	kit_mark("a", 1, 2);
	k = &pp_thread_self->cursor;
	atomic_store(&pp_wiped.recording, 0);
	CHECK(pp_ring_take(k, &pp_wiped.recording) == NULL);
	r = pp_ring_take_late(k, &pp_wiped.recording);
	CHECK(r != NULL);
	/* a handler in this moment */
	CHECK(pp_ring_take_late(k, &pp_wiped.recording) == NULL);
	*r = (struct pp_record){.kind = PP_RECORD_MARK, .range.id = 3};
	pp_ring_commit(k);
	/* recording is on again: the gap must be written first */
	atomic_store(&pp_wiped.recording, 2);
	CHECK(pp_ring_take_late(k, &pp_wiped.recording) == NULL);
	kit_mark("b", 1, 4);
	CHECK(pp_ring_take_late(k, &pp_wiped.recording) != NULL);
	CHECK(pp_ring_take_late(NULL, &pp_wiped.recording) == NULL);
	pp_drain_run(kit_drain, &sink);
	CHECK_INT(seen.marks, 5);
	CHECK_INT(seen.wrong, 0);
	CHECK_INT(seen.gaps, 1);
	kit_close();
}

TEST(forked_child)
{
	int status = 0;
	pid_t pid;

	CHECK(kit_open(64 << 20));
	kit_mark("a", 1, 0);
	pid = fork();
	if (!pid) {
		pp_rings_abandon();
		kit_mark("child", 5, 7);
		_exit(pp_thread_enter() != NULL);
	}
	waitpid(pid, &status, 0);
	CHECK_INT(status, 0);
	kit_mark("a", 1, 1);
	pp_drain_run(kit_drain, &sink);
	CHECK_INT(seen.marks, 2);
	CHECK_INT(seen.wrong, 0);
	kit_close();
}

int main(void)
{
	kit_run(hot_set);
	kit_run(growth);
	kit_run(drops_newest);
	kit_run(long_names);
	kit_run(many_threads);
	kit_run(short_threads_forever);
	kit_run(ended_threads_nobody_reads);
	kit_run(ended_threads_of_a_full_ring);
	kit_run(signal_at_each_instruction);
	kit_run(signal_handlers);
	kit_run(named_among_signals);
	kit_run(switched_off_and_on);
	kit_run(flushed_and_late);
	kit_run(forked_child);
	return test_end();
}
