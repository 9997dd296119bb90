/* A peer of podprof's recording: a module (shared object) that exports `bench_peer`. In: loops of so many calls. Out: nothing;
 * the peer records as it is configured. Loaded by peers.c, one thread. */
#pragma once

enum { PEER_WAYS = 2 };

struct bench_peer {
	const char *name; /* with its version */
	struct bench_peer_way {
		const char *what;         /* how it is configured */
		int (*start)(void);       /* NULL, or prepare; not 0: it cannot record, and says so on stderr */
		void (*event)(int calls); /* NULL: it has no such thing */
		void (*pair)(int calls);  /* begin and end of a range with a name of 26 bytes */
		void (*stop)(void);       /* may be NULL */
	} way[PEER_WAYS];
	/* podprof must be at least so many times cheaper than the first way; 0: no limit. */
	double event_gate, pair_gate;
};

#define PEER_NAME "abcdefghijklmnopqrstuvwxyz"
