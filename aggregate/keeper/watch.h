/* Is a process still there? In: pid and start time, from a ring header or a run file. Out: gone or not. */
#ifndef PP_KEEPER_WATCH_H
#define PP_KEEPER_WATCH_H

#include <stdint.h>

struct pp_watch {
	int pid;
	int pidfd;           /* -1: the kernel has none, or the process is gone */
	uint64_t start_time; /* 0: unknown */
	int gone;
};

void pp_watch_open(struct pp_watch *w, int pid, uint64_t start_time);
/* 1 once the process has ended (a zombie has), and for ever after. */
int pp_watch_gone(struct pp_watch *w);
void pp_watch_close(struct pp_watch *w);

#endif
