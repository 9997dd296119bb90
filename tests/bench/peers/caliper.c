/* Caliper as a peer: a region with a name, recorded as a trace with times, and aggregated. */
#include "tests/bench/peers/peers.h"

#include <caliper/caliper-config.h>
#include <caliper/cali.h>
#include <stdio.h>

static cali_id_t channel = CALI_INV_ID;

static int start_with(const char *services)
{
	const char *config[][2] = {{"CALI_SERVICES_ENABLE", services}, {"CALI_CHANNEL_FLUSH_ON_EXIT", "false"}, {NULL, NULL}};
	cali_configset_t set = cali_create_configset(config);

	channel = cali_create_channel(services, 0, set);
	cali_delete_configset(set);
	if (channel != CALI_INV_ID)
		return 0;
	fprintf(stderr, "bench_peers: Caliper makes no channel of '%s'\n", services);
	return 1;
}

static int start_trace(void)
{
	return start_with("event,trace,timer");
}

static int start_aggregate(void)
{
	return start_with("event,aggregate,timer");
}

static void stop(void)
{
	cali_deactivate_channel(channel);
	cali_delete_channel(channel);
}

static void pairs(int calls)
{
	for (int i = 0; i < calls; i++) {
		CALI_MARK_BEGIN(PEER_NAME);
		CALI_MARK_END(PEER_NAME);
	}
}

extern const struct bench_peer bench_peer;
const struct bench_peer bench_peer = {
        .name = "Caliper " CALIPER_VERSION,
        .way = {{.what = "services event,trace,timer", .start = start_trace, .pair = pairs, .stop = stop},
                {.what = "services event,aggregate,timer", .start = start_aggregate, .pair = pairs, .stop = stop}},
        .pair_gate = 10,
};
