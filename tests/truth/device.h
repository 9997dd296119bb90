/* Operations of a program on a device: streams and communicators of the stand-ins in tests/gpu, which are loaded at the first. */
#pragma once

/* What the program says: kind and arguments. 0: no operation of devices. `dir`: where the ranks of a communicator meet. */
int device_execute(const char *kind, const long *arg, const char *dir, int rank, int ranks);
