/* pp_thread: the spans of one thread or of one stream of a device. Most spans are ranges, and most passes look for calls, steps or
 * counters: it lists those that are no ranges. Owner: its pp_rank. In: aggregate/read, which keeps the list true. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/capture/span.h"

struct pp_thread {        /* one thread's or one device stream's spans, ordered by begin, then end descending */
	uint32_t tid;     /* thread, or stream of a device */
	uint32_t device;  /* number + 1 of the stream's device; 0: a thread of the host */
	uint32_t context; /* of that stream, in the process of a live job; 0: unknown */
	uint32_t name;    /* pp_intern id */
	int is_main;
	int64_t first, last; /* first and last tick that was recorded (job ns after mapping) */
	struct pp_span *span;
	size_t spans;
	uint32_t kinds;  /* PP_SPAN_BIT() of every kind that may be in it; 0: not known */
	size_t mapped;   /* bytes, where `span` is a mapping of its own; 0: from malloc() */
	uint32_t *other; /* [others] indices of the spans that are no ranges, by pp_thread_list_others(); NULL: not listed */
	size_t others;
};

#define PP_SPAN_BIT(kind) (1u << (kind))

/* 0: the thread has no span of these kinds, so a pass over its spans can be skipped. */
static inline int pp_thread_may_have(const struct pp_thread *thread, uint32_t kinds)
{
	return !thread->kinds || (thread->kinds & kinds);
}

/* A pass over the spans of these kinds, RANGE not among them, visits those that are no ranges, or all where they are not listed:
 *     for (size_t k = 0; k < pp_thread_others(thread, kinds); k++)
 *             span = &thread->span[pp_thread_other(thread, k)]; */
static inline size_t pp_thread_others(const struct pp_thread *thread, uint32_t kinds)
{
	return !pp_thread_may_have(thread, kinds) ? 0 : thread->other ? thread->others : thread->spans;
}

static inline size_t pp_thread_other(const struct pp_thread *thread, size_t k)
{
	return thread->other ? thread->other[k] : k;
}

/* Makes the list of those that are no ranges. Call it again after spans were added, moved or changed their kind. Without memory
 * there is no list, and passes visit all. */
void pp_thread_list_others(struct pp_thread *thread);
/* Frees its spans, however they were allocated, and the list. */
void pp_thread_release(struct pp_thread *thread);
