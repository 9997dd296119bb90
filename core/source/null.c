/* The source that records nothing: copy it to begin a new one. Tests see by it that the list is walked. */
#include "core/source/source.h"

static void start(void)
{
}

static void stop(void)
{
}

extern const struct pp_source_ops pp_source_null;

const struct pp_source_ops pp_source_null = {
        .name = "null",
        .start = start,
        .stop = stop,
};
