/* fork() of a process that has other threads (libzmq's, the clock comparison's), for work on a copy of its memory. The child
 * has only the thread that forked, and a lock that another thread held stays locked for ever. So a child
 * - may use malloc, stdio and files: libc reinitialises their locks;
 * - takes local time by pp_local_time() only: libc does not reinitialise its time zone lock;
 * - calls nothing of libzmq and of clock_link.h: the parent copies what it needs before the fork;
 * - has no network socket and no listening one: pp_forked() closes them;
 * - ends by _exit().
 * pp_forked() locks the registered locks of our own around the fork, so what they guard is whole and unlocked in the child. */
#pragma once

#include <sys/types.h>
#include <time.h>

struct pp_forked_lock { /* owned by the caller; one thread registers, forgets and forks */
	void (*lock)(void *context);
	void (*unlock)(void *context);
	void *context;
	struct pp_forked_lock *next;
};

/* Locks it around each later fork, the newest lock first; it must stay valid until it is forgotten. */
void pp_forked_register(struct pp_forked_lock *lock);
/* A lock that is not registered is ignored. */
void pp_forked_forget(struct pp_forked_lock *lock);
/* As fork(); sets errno. */
pid_t pp_forked(void);
/* As localtime_r(). In a child of pp_forked() it uses the time zone that the parent read at its first fork. */
void pp_local_time(time_t when, struct tm *ret_tm);
