/* The timeline of a session that was written. Called by the page and by exports. */
#pragma once

#include "aggregate/timeline/timeline.h"

struct pp_h5_file; /* aggregate/read/h5/file.h */

/* Reads the timeline of a session from its pod.h5, and from its event files: of a live session those of
 * LOGDIR/plugins/profile/SESSION, of an analysed one the files of other profilers that it was made of. A rank without a readable
 * file is in `rank` with the reason, and counted. -ENODATA, -ENOENT: no event file can be read, the error names the first one or
 * its directory, and the fix. Call it like all of file.h by pp_forked_read() only; _of: over an open pod.h5. */
int pp_timeline_load(const char *path, const struct pp_timeline_options *options, struct pp_timeline *ret, struct pp_err *err);
int pp_timeline_load_of(struct pp_h5_file *h5, const struct pp_timeline_options *options, struct pp_timeline *ret,
                        struct pp_err *err);
