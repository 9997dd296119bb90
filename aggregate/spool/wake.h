/* What ends the keeper's waits: a change in the spool directory, the end of a process, a client. In: descriptors. Out: which kinds
 * of event came since they were last handled. Where the kernel has no inotify instance left, or none for this file system, the
 * keeper looks at the directory in each turn. Called by keeper.c, watch.c and request_client.c; one thread, and no forked
 * child waits. */
#pragma once

enum pp_wake_kind {
	PP_WAKE_SPOOL = 1,   /* a file was made in the spool, renamed or removed */
	PP_WAKE_PROCESS = 2, /* a watched process has ended */
	PP_WAKE_CLIENT = 4,  /* a client of `podprof capture` or `podprof status` has connected */
};

struct pp_wake {
	int fd;           /* -1: the kernel has no event set left: all is looked at in each turn */
	int spool_fd;     /* inotify; -1: none */
	unsigned seen;    /* kinds; whoever handles one clears it */
	unsigned changes; /* of the spool so far: rises with each, and where none is reported with each wait */
};

/* Watches the directory. Never fails: what is not reported is looked at. */
void pp_wake_open(struct pp_wake *w, const char *spool);
void pp_wake_close(struct pp_wake *w);
/* 1: from now on an event of `fd` is reported, once per change. 0: the caller has to look itself. */
int pp_wake_add(struct pp_wake *w, int fd, enum pp_wake_kind kind);
/* Before `fd` is closed: a forked child may hold a copy. */
void pp_wake_forget(struct pp_wake *w, int fd);
/* Is it time to look for this kind? Clears it. NULL: always. */
int pp_wake_take(struct pp_wake *w, enum pp_wake_kind kind);
/* Until an event comes, at most `ms`. */
void pp_wake_wait(struct pp_wake *w, int ms);
