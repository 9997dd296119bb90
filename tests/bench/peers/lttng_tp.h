/* Tracepoints of the bench, in the form that LTTng-UST's macros ask for: read several times, hence the guard. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER pp_bench
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "tests/bench/peers/lttng_tp.h"

#if !defined(PP_BENCH_LTTNG_TP_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define PP_BENCH_LTTNG_TP_H

#include <lttng/tracepoint.h>
#include <stdint.h>

LTTNG_UST_TRACEPOINT_EVENT(pp_bench, event, LTTNG_UST_TP_ARGS(int, a, int64_t, b, int64_t, c),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, a, a) lttng_ust_field_integer(int64_t, b, b)
                                                       lttng_ust_field_integer(int64_t, c, c)))
LTTNG_UST_TRACEPOINT_EVENT(pp_bench, begin, LTTNG_UST_TP_ARGS(const char *, name),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_string(name, name)))
LTTNG_UST_TRACEPOINT_EVENT(pp_bench, end, LTTNG_UST_TP_ARGS(), LTTNG_UST_TP_FIELDS())

#endif

#include <lttng/tracepoint-event.h>
