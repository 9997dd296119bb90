/* Mapped files that other processes may truncate: a missing page reads as its last known bytes, or zeros, instead of raising
 * SIGBUS. In: mappings. Out: `cut`. For podprof's own processes only: it installs a SIGBUS handler. One thread maps, unmaps and
 * uses them; a forked child has them too. */
#pragma once

#include <signal.h>
#include <stddef.h>

struct pp_mapped { /* owned by the caller, until pp_mapped_forget() */
	char *at;
	size_t bytes;
	const char *known; /* NULL, or what replaces the first pages */
	size_t known_bytes;
	volatile sig_atomic_t cut; /* a page was missing: it is private memory from then on */
	struct pp_mapped *next;
};

/* The caller has set `at`, `bytes`, `known` and `known_bytes`. */
void pp_mapped_watch(struct pp_mapped *m);
void pp_mapped_forget(struct pp_mapped *m);
