/* Is a process still there, and how did it end? In: pid and start time, from a ring header or a run file. Out: gone or not. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aggregate/spool/wake.h"

struct pp_watch {
	int pid;
	int pidfd;           /* -1: the kernel has none, or the process is gone */
	int lock_fd;         /* in another PID namespace: a file that the process holds locked; else -1 */
	int is_foreign;      /* in another PID namespace: pid and start time are not used */
	uint64_t start_time; /* 0: unknown */
	int gone;
	int end;            /* once gone: its status as of wait(); -1: unknown */
	int64_t gone_ms;    /* when that was seen, of pp_now_ms() */
	int64_t checked_ms; /* without a pidfd: at most every 20 ms */
	struct pp_wake
	        *wake; /* its end is reported there, pp_watch_all() takes notice of it; NULL: each question asks the kernel */
};

/* Watches a process of this PID namespace; it counts as gone where the pid is of a process with another start time. */
void pp_watch_open(struct pp_watch *w, int pid, uint64_t start_time);
/* The same for a pid that may be of another namespace (`space`: pp_proc_pid_space() there). `lock`: path of a file whose fcntl
 * lock the process holds for life; NULL: none, and it never counts as gone. */
void pp_watch_open_in(struct pp_watch *w, int pid, uint64_t start_time, uint32_t space, const char *lock);
/* Reports the end of the process to `wake` from now on. NULL: does nothing. */
void pp_watch_join(struct pp_watch *w, struct pp_wake *wake);
/* 1 once the process has ended (a zombie counts), and forever after. */
int pp_watch_gone(struct pp_watch *w);
/* Looks at all of them at once. */
void pp_watch_all(struct pp_watch *w, size_t count);
/* Closes its descriptors; `gone` and `end` stay. May be called again. */
void pp_watch_close(struct pp_watch *w);
