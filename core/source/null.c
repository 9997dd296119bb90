/* The source that records nothing: copy it for a new one and delete the ops that it does not need. */
#include "core/source/source.h"

static void start(void)
{
}

static void window(int on)
{
	(void)on;
}

static void flush(int64_t deadline_ms)
{
	(void)deadline_ms;
}

static void thread_end(void)
{
}

static void stop(int64_t deadline_ms)
{
	(void)deadline_ms;
}

extern const struct pp_source_ops pp_source_null;

const struct pp_source_ops pp_source_null = {
        .name = "null",
        .start = start,
        .window = window,
        .flush = flush,
        .thread_end = thread_end,
        .stop = stop,
};
