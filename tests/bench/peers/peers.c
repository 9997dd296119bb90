/* What one event and one range cost in podprof and in other tools: the same loops, in one run, in units of rdtsc. Runs under
 * `podprof run`, started by peers.py. Usage: bench_peers MODULE... */
#include "tests/bench/peers/peers.h"

#include <dlfcn.h>
#include <string.h>

#include "core/podprof.h"
#include "tests/bench/bench.h"

static struct bench_result own_event, own_pair;

static void events(int calls)
{
	for (int i = 0; i < calls; i++)
		podprof_mark("event");
}

static void pairs(int calls)
{
	for (int i = 0; i < calls; i++) {
		podprof_range_push(PEER_NAME);
		podprof_range_pop();
	}
}

/* Between repetitions, for every tool alike: no application emits 100 M events a second without a pause, and without one
 * podprof's ring would grow all the time and its drops be measured. */
static void rest(void)
{
	const struct timespec pause = {0, 10000000};

	nanosleep(&pause, NULL);
}

static void cost_row(const char *who, const char *how, const char *what, struct bench_result r)
{
	char text[128], note[128];
	struct bench_figure f = {"peers", text, "R", r.ratio, r.low, r.high, 0, 0, note};

	snprintf(text, sizeof(text), "%s: %s", what, who);
	snprintf(note, sizeof(note), "%.1f ns; %s", r.ns, how);
	bench_print(&f);
}

static int gate_row(const char *who, const char *what, struct bench_result peer, struct bench_result own, double gate)
{
	char text[128];
	struct bench_figure f = {"peers",
	                         text,
	                         "x",
	                         peer.ratio / own.ratio,
	                         peer.low / own.high,
	                         peer.high / own.low,
	                         gate,
	                         1,
	                         "both in R, spread of both"};

	snprintf(text, sizeof(text), "%s: %s / podprof", what, who);
	return bench_print(&f);
}

/* podprof is measured again beside each way, so that both saw the same machine. */
static int measure(const struct bench_peer *peer, const struct bench_peer_way *way, int is_first)
{
	int missed = 0;

	if (way->start && way->start())
		return 1;
	if (way->event) {
		struct bench_result r = bench_run(way->event, rest);

		own_event = bench_run(events, rest);
		cost_row(peer->name, way->what, "event", r);
		missed += gate_row(peer->name, "event", r, own_event, is_first ? peer->event_gate : 0);
	}
	if (way->pair) {
		struct bench_result r = bench_run(way->pair, rest);

		own_pair = bench_run(pairs, rest);
		cost_row(peer->name, way->what, "range pair", r);
		missed += gate_row(peer->name, "range pair", r, own_pair, is_first ? peer->pair_gate : 0);
	}
	if (way->stop)
		way->stop();
	return missed;
}

int main(int argc, char **argv)
{
	int missed = 0;

	if (!bench_asked())
		return 77;
	pp_tick_init();
	podprof_mark("first");
	if (!podprof_recording()) {
		fprintf(stderr, "bench_peers: podprof does not record: start it by podprof run\n");
		return 1;
	}
	own_event = bench_run(events, rest);
	own_pair = bench_run(pairs, rest);
	cost_row("podprof", "through libpodprof.so, drained by its keeper", "event", own_event);
	cost_row("podprof", "name of 26 bytes copied", "range pair", own_pair);
	for (int i = 1; i < argc; i++) {
		void *module = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
		const struct bench_peer *peer = module ? (const struct bench_peer *)dlsym(module, "bench_peer") : NULL;

		if (!peer) {
			printf("skipped: %s\n", dlerror());
			continue;
		}
		for (int w = 0; w < PEER_WAYS && peer->way[w].what; w++)
			missed += measure(peer, &peer->way[w], w == 0);
	}
	return missed != 0;
}
