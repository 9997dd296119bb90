/* A lock on a file that can be looked at without taking it. Keeper and command line. */
#pragma once

/* Lock the open file, for as long as a copy of this descriptor is open in any process; 0, or -errno: -EAGAIN where it is held. */
int pp_lock_take(int fd);
/* Does somebody hold it? For the moment of a trial a process that just starts would find it held. -1: unknown. */
int pp_lock_is_held(const char *path);
