/* Mapped files that others may cut short: a page that is gone reads as its last known bytes, or zeros, and is no SIGBUS.
 * In: mappings. Out: `cut`. For processes of ours only: it takes SIGBUS. Mappings come and go on one thread, which alone uses them;
 * a forked child has them too. */
#pragma once

#include <signal.h>
#include <stddef.h>

struct pp_mapped { /* owned by the caller, until pp_mapped_forget() */
	char *at;
	size_t bytes;
	const char *known; /* NULL, or what takes the place of the first pages */
	size_t known_bytes;
	volatile sig_atomic_t cut; /* a page was gone: it is private memory now, and stays so */
	struct pp_mapped *next;
};

/* `at`, `bytes`, `known` and `known_bytes` are set. */
void pp_mapped_watch(struct pp_mapped *m);
void pp_mapped_forget(struct pp_mapped *m);
