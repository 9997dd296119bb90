/* LTTng-UST as a peer: a tracepoint with 20 bytes of payload, and a pair of tracepoints of which the first carries the name.
 * peers.py has made a session in which both are recorded, in memory, overwriting the oldest: no disk, no waiting for a reader. */
#include "tests/bench/peers/peers.h"

#include <lttng/ust-version.h>
#include <stdio.h>

#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "tests/bench/peers/lttng_tp.h"

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

static int start(void)
{
	if (lttng_ust_tracepoint_enabled(pp_bench, event))
		return 0;
	fprintf(stderr, "bench_peers: LTTng does not record pp_bench:event: is its session started?\n");
	return 1;
}

static void events(int calls)
{
	for (int i = 0; i < calls; i++)
		lttng_ust_tracepoint(pp_bench, event, i, 1, 2);
}

static void pairs(int calls)
{
	for (int i = 0; i < calls; i++) {
		lttng_ust_tracepoint(pp_bench, begin, PEER_NAME);
		lttng_ust_tracepoint(pp_bench, end);
	}
}

extern const struct bench_peer bench_peer;
const struct bench_peer bench_peer = {
        .name = "LTTng-UST " TEXT(LTTNG_UST_MAJOR_VERSION) "." TEXT(LTTNG_UST_MINOR_VERSION),
        .way = {{.what = "snapshot session, 4 subbuffers of 1 MiB per core; event: 20 bytes",
                 .start = start,
                 .event = events,
                 .pair = pairs}},
        .event_gate = 6,
        .pair_gate = 6,
};
