/* The source of devices: CUDA by CUPTI. One thread of podprof, made when the application's CUDA comes up, switches CUPTI on in
 * windows and reads its buffers. Processes without CUDA have neither thread nor library.
 *
 * The driver calls InitializeInjection() of the library in CUDA_INJECTION64_PATH inside cuInit(). CUPTI is first called later, when
 * the thread has seen a device: some releases of CUPTI crash where there is none. */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/base/env.h"
#include "core/base/libc.h"
#include "core/base/now.h"
#include "core/base/opt.h"
#include "core/base/tick.h"
#include "core/ring/wiped.h"
#include "core/source/cupti/cupti_library.h"
#include "core/source/cupti/cupti_others.h"
#include "core/source/cupti/cupti_session.h"
#include "core/source/source.h"

enum { STACK_BYTES = 1 << 20, POLL_MS = 20, COPIES_MS = 1000, EARLY_MS = 5000, LEAVE_MS = 2000 };

enum state { PARKED, WORKS, OFF }; /* OFF: not in this process any more */

static _Atomic uint32_t cuda_seen;   /* the driver has called us, or was loaded before */
static _Atomic uint32_t is_rank;     /* start() was called */
static _Atomic uint32_t has_thread;  /* it was made */
static _Atomic uint32_t is_over;     /* the thread must end */
static _Atomic uint32_t wanted;      /* window(): recording is on */
static _Atomic uint32_t state;       /* enum state */
static _Atomic uint32_t bell;        /* changes when the thread must look */
static _Atomic uint32_t asked, done; /* flushes */
static _Atomic int64_t deadline;     /* of the newest flush */
static _Atomic uint32_t stays;       /* recording goes on after it */
static _Atomic uint32_t flushed;     /* the recording that it ends */
static _Atomic uint32_t remarks;     /* said where there is no thread */
static _Atomic int64_t injected_ms;  /* when the driver called us; 0: it did not */
static _Atomic pp_tick injected;     /* the same */
static uint32_t copies;              /* of libcupti, before whose destructors leave() runs */
static int64_t copies_ms;            /* when they were counted */

/* No lock: a window may open in a signal handler. */
static void wake(_Atomic uint32_t *word)
{
	atomic_fetch_add(word, 1);
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static void wait_for(_Atomic uint32_t *word, uint32_t had, int64_t ms)
{
	struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, had, ms < 0 ? NULL : &t, NULL, 0);
}

static const char *option(void)
{
	const char *value = pp_env(pp_opt_table[PP_OPT_ID_CUPTI].env);

	return value ? value : "";
}

static void leave(int status, void *arg);

static void leave_somehow(void *arg)
{
	leave(0, arg);
}

/* libcupti's destructors run after handlers that were registered later than it was loaded. */
static void follow_exit(void)
{
	uint32_t now = pp_cupti_copies();

	copies_ms = pp_now_ms();
	if (now <= copies)
		return;
	copies = now;
	pp_at_exit(leave, leave_somehow);
}

/* Once, when the driver is up. How long until the next look; -1: no more. */
static int64_t begin_early(void)
{
	static int is_done;
	int64_t since = atomic_load(&injected_ms);

	if (is_done || !since)
		return -1;
	if (!pp_cupti_cuda_is_up() && pp_now_ms() - since < EARLY_MS)
		return POLL_MS;
	is_done = 1;
	if (pp_cupti_cuda_is_up() && pp_cupti_early(option()))
		follow_exit();
	return -1;
}

/* What the thread is to do now; how long it may sleep then, -1: until the bell. *failed: the recording in which CUPTI does not come
 * on again, by its number; the next one may have begun before the thread has seen the end of this one. */
static int64_t work(uint32_t *failed)
{
	uint32_t on = atomic_load(&wanted) && !atomic_load(&is_over) ? atomic_load(&pp_wiped.recording) : 0;
	uint32_t flush = atomic_load(&asked);

	if (atomic_load(&state) == PARKED && on && on != *failed && flush == atomic_load(&done)) {
		if (!pp_cupti_cuda_is_up())
			return POLL_MS;
		atomic_store(&state, WORKS);
		if (pp_cupti_attach(option(), atomic_load(&injected))) {
			*failed = on;
			atomic_store(&state, PARKED);
		}
		follow_exit();
		return 0;
	}
	if (atomic_load(&state) == WORKS && on && flush != atomic_load(&done) && atomic_load(&stays)) {
		if (pp_cupti_window_over(atomic_load(&deadline))) {
			atomic_store(&state, PARKED);
			*failed = on;
		}
	} else if (atomic_load(&state) == WORKS && (!on || flush != atomic_load(&done))) {
		pp_cupti_detach(on ? atomic_load(&deadline) : pp_now_ms());
		atomic_store(&state, PARKED);
		*failed = atomic_load(&flushed);
	}
	if (flush != atomic_load(&done)) {
		atomic_store(&done, flush);
		syscall(SYS_futex, &done, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
		return 0;
	}
	if (atomic_load(&state) != WORKS)
		return atomic_load(&is_over) ? -1 : begin_early();
	if (pp_now_ms() - copies_ms > COPIES_MS)
		follow_exit();
	if (pp_cupti_poll()) {
		atomic_store(&state, PARKED);
		*failed = on;
	}
	return POLL_MS;
}

static void *run(void *arg)
{
	uint32_t failed = 0;

	prctl(PR_SET_NAME, "podprof-cupti", 0, 0, 0);
	pp_cupti_others_not(pthread_self());
	while (!atomic_load(&is_over)) {
		uint32_t had = atomic_load(&bell);
		int64_t ms = work(&failed);

		if (ms)
			wait_for(&bell, had, ms);
	}
	work(&failed); /* switches CUPTI off */
	atomic_store(&state, OFF);
	wake(&done);
	return arg;
}

static void make_thread(void)
{
	uint32_t none = 0;
	pthread_attr_t how;
	sigset_t all, had;
	pthread_t thread;
	int saved = errno;

	if (!strcmp(option(), "off") || atomic_load(&state) == OFF || !atomic_compare_exchange_strong(&has_thread, &none, 1))
		return;
	pthread_attr_init(&how);
	pthread_attr_setstacksize(&how, STACK_BYTES);
	pthread_attr_setdetachstate(&how, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	sigdelset(&all, SIGBUS); /* of the ring's disk: blocked, it would end the process */
	pthread_sigmask(SIG_SETMASK, &all, &had);
	if (pthread_create(&thread, &how, run, NULL))
		atomic_store(&has_thread, 0);
	pthread_sigmask(SIG_SETMASK, &had, NULL);
	pthread_attr_destroy(&how);
	errno = saved;
}

/* CUDA does not work in a child of a process that uses it, and CUPTI would hang. A child of one that did not may use it. */
static void child(void)
{
	if (atomic_load(&cuda_seen) || atomic_load(&has_thread))
		atomic_store(&state, OFF);
	atomic_store(&is_rank, 0);
	atomic_store(&has_thread, 0);
	atomic_store(&wanted, 0);
	atomic_store(&asked, 0);
	atomic_store(&done, 0);
}

static void start(void)
{
	static atomic_flag once = ATOMIC_FLAG_INIT;
	struct pp_cuda_driver cuda;

	if (!atomic_flag_test_and_set(&once))
		pp_at_fork(child);
	atomic_store(&is_rank, 1);
	if (atomic_load(&cuda_seen) || !pp_cuda_find(0, &cuda)) {
		atomic_store(&cuda_seen, 1);
		make_thread();
	}
}

__attribute__((visibility("default"))) int InitializeInjection(void);

/* Inside cuInit(): nothing of CUDA may be called here. 1: go on. */
int InitializeInjection(void)
{
	if (!pp_env("PODPROF_SPOOL"))
		return 1;
	pp_tick_init(); /* this may come before the claim */
	atomic_store(&injected, pp_tick_now());
	atomic_store(&injected_ms, pp_now_ms());
	atomic_store(&cuda_seen, 1);
	if (atomic_load(&is_rank))
		make_thread();
	return 1;
}

static void window(int on)
{
	atomic_store(&wanted, on != 0);
	if (atomic_load(&has_thread))
		wake(&bell);
}

/* Why a process that seems to use CUDA has no thread. */
static void remark_no_cuda(void)
{
	const char *injection = pp_env("CUDA_INJECTION64_PATH");
	char text[160];

	if (!strcmp(option(), "off") || atomic_load(&state) == OFF || !atomic_load(&pp_wiped.recording) ||
	    atomic_exchange(&remarks, 1))
		return;
	if (injection && *injection && !strstr(injection, "libpodprof.so") && !atomic_load(&cuda_seen)) {
		snprintf(text, sizeof(text), "CUPTI: devices are not recorded: CUDA_INJECTION64_PATH is set to '%.50s'. Unset it",
		         injection);
		pp_cupti_remark(text);
	} else if (pp_cuda_has_only_runtime()) {
		pp_cupti_remark(
		        "CUDA: the program has loaded CUDA's runtime, but no driver (libcuda.so.1). Install the NVIDIA driver");
	}
}

static int64_t warm_ms(void)
{
	return atomic_load(&has_thread) && atomic_load(&state) != OFF ? pp_cupti_ready_ms() : 0;
}

/* Has the thread read what there is, and waits for it. stay: recording goes on. */
static void request(int64_t deadline_ms, uint32_t stay)
{
	uint32_t mine, at;
	int saved = errno;
	int64_t left;

	if (!atomic_load(&has_thread)) {
		remark_no_cuda();
		errno = saved;
		return;
	}
	if (atomic_load(&state) != WORKS)
		return;
	atomic_store(&deadline, deadline_ms);
	atomic_store(&stays, stay);
	atomic_store(&flushed, atomic_load(&pp_wiped.recording));
	mine = atomic_fetch_add(&asked, 1) + 1;
	wake(&bell);
	while ((at = atomic_load(&done)) < mine && atomic_load(&state) != OFF) {
		left = deadline_ms - pp_now_ms();
		if (left <= 0) {
			pp_cupti_remark("CUPTI: not all records of devices were read before recording ended: some are missing");
			break;
		}
		wait_for(&done, at, left);
	}
	errno = saved;
}

static void flush(int64_t deadline_ms)
{
	request(deadline_ms, 0);
}

static void over(int64_t deadline_ms)
{
	if (atomic_load(&has_thread))
		request(deadline_ms, 1);
}

static void stop(int64_t deadline_ms)
{
	int64_t left;
	int saved = errno;

	if (!atomic_load(&has_thread))
		return;
	atomic_store(&is_over, 1);
	wake(&bell);
	while (atomic_load(&state) != OFF && (left = deadline_ms - pp_now_ms()) > 0)
		wait_for(&done, atomic_load(&done), left < POLL_MS ? left : POLL_MS);
	errno = saved;
}

/* At exit, while libcupti still works. What the program launches later is not recorded. */
static void leave(int status, void *arg)
{
	int64_t until = pp_now_ms() + LEAVE_MS;

	(void)status;
	(void)arg;
	if (atomic_load(&state) == OFF)
		return;
	flush(until);
	stop(until);
}

extern const struct pp_source_ops pp_source_cupti;

const struct pp_source_ops pp_source_cupti = {
        .name = "cupti", .start = start, .window = window, .warm_ms = warm_ms, .flush = flush, .window_over = over, .stop = stop};
