/* What planes, lines and events are by how their profiler recorded them: names of planes, lines and threads, and XLA's categories.
 * In: texts of a file. Out: kinds. Pure. Called by plane.c, line.c, host.c and activity.c. */
#pragma once

#include "aggregate/read/xspace/state.h"
#include "core/capture/span.h"
#include "core/ring/record.h"

/* By the name of a plane, all of it. A plane "/device:CUSTOM:..." is CUSTOM; what it has tells whether it is a device. */
enum pp_xplane_kind pp_xkind_plane(const char *name);
/* Kind and number of the device in "/device:GPU:3", "/device:TPU:0 SparseCore 1" or "/device:CUSTOM:Name 2". */
void pp_xkind_device(const char *name, char *kind, size_t size, uint32_t *ret_number);
/* May a plane of this kind have streams? */
int pp_xkind_is_device(enum pp_xplane_kind kind);
/* How the line of a device is read. A file may have XLA's operations only as the line that a viewer made of streams. */
enum pp_xline_kind pp_xkind_device_line(enum pp_xplane_kind plane, const char *name, int64_t id, int has_streams);
/* Is it a thread that a framework's runtime made? Such threads are named like their pool. */
int pp_xkind_is_runtime_thread(const char *name);
/* Activity that XLA's category of an operation (hlo_category) tells; -1: it tells none. */
int pp_xkind_activity(const char *category, size_t length);
/* Is it the name that XLA gives an operation that communicates, "all-reduce-start.3"? */
int pp_xkind_hlo_communicates(const char *op, size_t length);
/* Who made the events of the host with this name, where no stat tells: see enum pp_origin. */
enum pp_origin pp_xkind_origin(const char *name, size_t length);
