/* Carries a request to the other ranks; see carry.h. Called by trigger.c. */
#include "core/window/carry.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

enum { EAGER_STEPS = 64, SPARED = 8, EAGER_POLLS = 16 };

static const struct pp_coord_ops *_Atomic coordinator;

/* Lock of `agreement`; a thread that finds it locked goes on without. No other lock is taken inside. */
static _Atomic uint32_t carrying;
static struct {
	uint32_t newest; /* number */
	uint32_t done;   /* number */
	int rc;
	int64_t highest;
} agreement;

static _Atomic uint32_t joined; /* request that this rank has joined with its step */
/* Counts since then; a lost increment of two threads does no harm. */
static _Atomic uint32_t polls, steps, next_step, has_polled;
static _Atomic int64_t polled_in;

void pp_carry_by(const struct pp_coord_ops *ops)
{
	const struct pp_coord_ops *none = NULL;

	atomic_compare_exchange_strong(&coordinator, &none, ops);
}

void pp_carry_start(void)
{
	agreement.newest = agreement.done = 0;
	atomic_store(&joined, 0);
	atomic_store(&carrying, 0);
}

static void join(uint32_t number, int64_t here)
{
	if (atomic_load_explicit(&joined, memory_order_relaxed) == number)
		return;
	atomic_store_explicit(&polls, 0, memory_order_relaxed);
	atomic_store_explicit(&steps, 0, memory_order_relaxed);
	atomic_store_explicit(&next_step, 0, memory_order_relaxed);
	atomic_store_explicit(&polled_in, here, memory_order_relaxed);
	atomic_store_explicit(&has_polled, 0, memory_order_relaxed);
	atomic_store_explicit(&joined, number, memory_order_relaxed);
}

int pp_carry(uint32_t number, int64_t here, int64_t *ret_highest)
{
	const struct pp_coord_ops *ops = atomic_load_explicit(&coordinator, memory_order_acquire);
	int rc = 0;

	*ret_highest = INT64_MIN;
	if (atomic_exchange_explicit(&carrying, 1, memory_order_acquire))
		return -EAGAIN;
	if ((int32_t)(number - agreement.newest) > 0)
		agreement.newest = number;
	if (number != agreement.newest) { /* read before a newer request came; the other ranks agree on that one now */
		rc = -EAGAIN;
	} else if (agreement.done == number) {
		rc = agreement.rc;
	} else if (!ops) {
		rc = -EPIPE;
	} else if (atomic_load_explicit(&joined, memory_order_relaxed) != number) {
		rc = ops->ask(number, here); /* an answer can hardly be there yet */
		if (!rc)
			join(number, here);
	} else {
		rc = ops->answer(number, &agreement.highest);
		if (rc == -EAGAIN) /* the operation has to be started anew: join with the step again */
			join(0, here);
	}
	if (rc && rc != -EAGAIN) {
		agreement.rc = rc;
		agreement.done = number;
		join(0, here); /* the next caller reads the answer */
	}
	*ret_highest = agreement.highest;
	atomic_store_explicit(&carrying, 0, memory_order_release);
	return rc;
}

static uint32_t count(_Atomic uint32_t *counter)
{
	uint32_t n = atomic_load_explicit(counter, memory_order_relaxed) + 1;

	atomic_store_explicit(counter, n, memory_order_relaxed);
	return n;
}

int pp_carry_is_due(uint32_t number, int at_mark, int64_t here)
{
	uint32_t n;

	if (atomic_load_explicit(&joined, memory_order_relaxed) != number)
		return 1; /* a rank that joins late delays all */
	if (at_mark && atomic_exchange_explicit(&has_polled, 0, memory_order_relaxed))
		return 0; /* the first MPI call of this step has polled, and is a safe place for MPI */
	if (!at_mark) {
		atomic_store_explicit(&has_polled, 1, memory_order_relaxed);
		if (here == atomic_load_explicit(&polled_in, memory_order_relaxed)) {
			n = count(&polls);
			return n >= EAGER_POLLS && !(n & (n - 1));
		}
	}
	atomic_store_explicit(&polled_in, here, memory_order_relaxed);
	n = count(&steps);
	if (n < atomic_load_explicit(&next_step, memory_order_relaxed))
		return 0;
	atomic_store_explicit(&next_step, n < EAGER_STEPS ? n + 1 : n + n / SPARED, memory_order_relaxed);
	return 1;
}
