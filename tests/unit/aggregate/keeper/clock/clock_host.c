/* A host of clock_hosts.py: `clock_host root HOSTS PORT ADDRESS` or `clock_host SELF MOVED_NS PORT ADDRESSES`.
 * Prints what it measured. */
#include <errno.h>
#include <sys/resource.h>

#include "core/clock/tree.h"
#include "tests/unit/aggregate/keeper/clock/clock_kit.h"

static double cpu_ms(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3 + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e3;
}

static int be_root(uint32_t hosts, uint16_t port, const char *address)
{
	struct pp_clock_link_options lo = {.kind = PP_TICK_RAW, .ticks_per_ns = 1, .port_first = port, .port_last = port};
	struct pp_clock_exchange_options o = {.children = hosts};
	struct pp_clock_link_state state = {0};
	struct pp_clock_link *l = NULL;
	uint32_t child[PP_TREE_STAR];
	struct pp_err err = {""};
	double cpu;

	for (uint32_t i = 0; i < hosts && i < PP_TREE_STAR; i++)
		child[i] = i + 1;
	o.child = child;
	memcpy(o.key, clock_kit_key, sizeof(o.key));
	if (pp_clock_link_open(&lo, &l, &err) || pp_clock_link_bind(l, address, &port, &err) ||
	    pp_clock_link_join(l, &o, NULL, 0, &err)) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	for (int i = 0; i < 5000 && state.answered < hosts; i++, clock_kit_nap(2))
		pp_clock_link_state(l, &state);
	cpu = cpu_ms();
	for (uint64_t round = 1; round <= CLOCK_KIT_ROUNDS; round++) {
		if (clock_kit_round(l, round, &state))
			return 2;
		printf("round_ms %.3f\n", (double)state.round_took_ns / 1e6);
		clock_kit_nap(300);
	}
	printf("cpu_ms %.3f\nheard %zu\n", (cpu_ms() - cpu) / CLOCK_KIT_ROUNDS, state.answered);
	pp_clock_link_free(l);
	return 0;
}

int main(int argc, char **argv)
{
	struct clock_kit_host h = {.kind = PP_TICK_RAW};
	struct clock_reading reported;
	int rc;

	if (argc == 5 && !strcmp(argv[1], "root"))
		return be_root((uint32_t)strtoul(argv[2], NULL, 10), (uint16_t)strtoul(argv[3], NULL, 10), argv[4]);
	if (argc != 5)
		return 64;
	h.self = (uint32_t)strtoul(argv[1], NULL, 10);
	h.moved = strtoll(argv[2], NULL, 10);
	h.port = (uint16_t)strtoul(argv[3], NULL, 10);
	h.addresses = argv[4];
	rc = clock_kit_host(&h, &reported);
	if (!rc)
		printf("instants %lld\nabove %lld\nworst %lld\nbound %lld\ntrips %llu\nsame %d\n", (long long)reported.instants,
		       (long long)reported.above, (long long)reported.worst, (long long)reported.bound,
		       (unsigned long long)reported.trips, reported.same);
	return rc;
}
