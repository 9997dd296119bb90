/* A file lock that can be tested without locking. Keeper and command line. */
#pragma once

/* Locks the open file for as long as any process has a copy of this descriptor; 0, or -errno: -EAGAIN where another one has the
 * lock. */
int pp_lock_take(int fd);
/* Does a process hold the lock? A keeper that starts during the test finds it locked for that moment. -1: unknown. */
int pp_lock_is_held(const char *path);
