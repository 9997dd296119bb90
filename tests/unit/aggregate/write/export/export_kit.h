/* A small timeline by hand with what is rare: times before job time 0, a mark at the end of an event, events that overlap, a
 * receive that begins before its send, text that is no UTF-8, samples that are not finite. Its bytes in a file, as text. */
#pragma once

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregate/timeline/timeline.h"
#include "core/capture/span.h"

enum { KIT_EVENTS = 8, KIT_LONG_NAME = 9000 };

static inline uint32_t kit_name(struct pp_timeline *t, const char *text)
{
	return pp_intern_put(t->names, text, strlen(text));
}

static inline void *kit_copy(const void *rows, size_t size)
{
	void *copy = malloc(size);

	if (!copy)
		abort();
	memcpy(copy, rows, size);
	return copy;
}

static inline void kit_lists(struct pp_timeline *t)
{
	char name[KIT_LONG_NAME + 1];
	const struct pp_timeline_rank rank[] = {
	        {.rank = 0, .host = "node\xff\n", .pid = 77, .tracks = 2, .counters = 1, .bound_ns = 41},
	        {.rank = 7, .host = "b", .pid = 77, .track = 2, .tracks = 1, .counter = 1, .bound_ns = INT64_MAX},
	        {.rank = 9, .missing = "no event file", .track = 3, .counter = 1}};
	const struct pp_timeline_track track[] = {{.rank = 0, .of = PP_TIMELINE_THREAD, .is_main = 1, .depths = 2, .events = 4},
	                                          {.rank = 0, .of = PP_TIMELINE_ASYNC, .depths = 2, .event = 4, .events = 3},
	                                          {.rank = 1,
	                                           .of = PP_TIMELINE_STREAM,
	                                           .device = 1,
	                                           .name = kit_name(t, "Stream 7"),
	                                           .depths = 1,
	                                           .event = 7,
	                                           .events = 1}};
	const struct pp_timeline_counter counter[] = {{.rank = 0, .name = kit_name(t, "CPU"), .unit = "core", .samples = 3}};
	const struct pp_timeline_sample sample[] = {{-400, NAN}, {0, INFINITY}, {100, 1.5}};
	const struct pp_timeline_flow flow[] = {{.from = 3, .to = 7, .kind = PP_FLOW_MESSAGE}};
	const struct pp_timeline_detail detail[] = {{.comm = UINT64_MAX,
	                                             .received = (uint64_t)1 << 60,
	                                             .until_ns = 300,
	                                             .bound_ns = INT64_MAX,
	                                             .last = 0,
	                                             .tag = -5,
	                                             .peer = -2,
	                                             .has = PP_TIMELINE_HAS_TAG | PP_TIMELINE_HAS_WAIT}};
	struct pp_timeline_event event[KIT_EVENTS] = {
	        {.begin_ns = -500, .end_ns = 1000, .self_ns = 800, .name = kit_name(t, "quote\" \\ <tab\t\x80>"), .category = 4},
	        {.begin_ns = -500, .end_ns = 200, .self_ns = 700, .depth = 1, .flags = PP_SPAN_FAILED, .category = 10},
	        {.begin_ns = 1000, .end_ns = 1000, .depth = 1, .name = kit_name(t, "saved"), .kind = PP_SPAN_MARK},
	        {.begin_ns = 1000,
	         .end_ns = 2000,
	         .self_ns = 1000,
	         .name = kit_name(t, "MPI_Send"),
	         .kind = PP_SPAN_MPI,
	         .category = 10},
	        {.begin_ns = 0, .end_ns = 100, .track = 1, .name = kit_name(t, "x"), .kind = PP_SPAN_ASYNC},
	        {.begin_ns = 50, .end_ns = 150, .track = 1, .name = kit_name(t, "y"), .kind = PP_SPAN_ASYNC, .depth = 1},
	        {.begin_ns = 100, .end_ns = 300, .track = 1, .name = kit_name(t, "z"), .kind = PP_SPAN_ASYNC},
	        {.begin_ns = 10, .end_ns = 500, .self_ns = 490, .track = 2, .name = kit_name(t, "recv"), .detail = 1}};

	memset(name, 'n', KIT_LONG_NAME);
	name[KIT_LONG_NAME] = '\0';
	event[1].name = kit_name(t, name);
	t->rank = kit_copy(rank, sizeof(rank));
	t->track = kit_copy(track, sizeof(track));
	t->counter = kit_copy(counter, sizeof(counter));
	t->sample = kit_copy(sample, sizeof(sample));
	t->flow = kit_copy(flow, sizeof(flow));
	t->detail = kit_copy(detail, sizeof(detail));
	t->event = kit_copy(event, sizeof(event));
}

static inline void kit_make(struct pp_timeline *t)
{
	*t = (struct pp_timeline){.names = pp_intern_new(),
	                          .session = "odd \xff",
	                          .epoch_realtime_ns = 5000,
	                          .is_replay = 1,
	                          .ranks = 3,
	                          .tracks = 3,
	                          .events = KIT_EVENTS,
	                          .details = 1,
	                          .flows = 1,
	                          .counters = 1,
	                          .samples = 3,
	                          .left = {.ranks = 1, .by_time = 12}};
	if (!t->names)
		abort();
	kit_lists(t);
}

/* All of a file, terminated; the caller frees it. */
static inline char *kit_read(int fd, size_t *ret_size)
{
	const off_t size = lseek(fd, 0, SEEK_END);
	char *text = malloc((size_t)size + 1);

	if (!text || pread(fd, text, (size_t)size, 0) != size)
		abort();
	text[size] = '\0';
	*ret_size = (size_t)size;
	return text;
}
