/* fork() of a process that has other threads (libzmq's, the clock comparison's), for work on a copy of its memory.
 * In the child there is the one thread that forked, and any lock that another one held stays held for ever. So a child
 *   - may use malloc, stdio and files: libc makes their locks anew;
 *   - takes local time by pp_local_time() only: libc's lock of the time zone is not made anew;
 *   - calls nothing of libzmq and of clock_link.h: what it needs of them is copied before the fork;
 *   - has no socket of a network and none that listens: they are closed in it;
 *   - ends by _exit().
 * Our own locks are taken around the fork by who registers them: what they guard is whole in the child, and free. */
#pragma once

#include <sys/types.h>
#include <time.h>

struct pp_forked_lock { /* owned by the caller; one thread registers, forgets and forks */
	void (*lock)(void *context);
	void (*unlock)(void *context);
	void *context;
	struct pp_forked_lock *next;
};

void pp_forked_register(struct pp_forked_lock *lock);
void pp_forked_forget(struct pp_forked_lock *lock);
/* As fork(); errno. */
pid_t pp_forked(void);
/* localtime_r(); in a child of pp_forked() by what its parent knew of the time zone since its first fork. */
void pp_local_time(time_t when, struct tm *ret_tm);
