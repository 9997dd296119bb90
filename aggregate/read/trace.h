/* Input formats 2 and 3: files of other profilers, XSpace (read/xspace) and Kineto's JSON (read/kineto), plain, .gz, .zst
 * or in archives (container.h).
 * In: one file. Out: a pp_capture of the ranks in it, spans in ns after its epoch, as pp_rings_finish() and the clock make it:
 * steps are spans of kind STEP, device streams are threads with `device`. Called by aggregate/session/analyze.c, one file at a
 * time in a process; files are not trusted. */
#pragma once

#include "aggregate/read/trace_options.h"
#include "core/capture/capture.h"

/* Reads 64 KiB, at most 4 MiB. -EINVAL: neither format, with a sentence that names the file and says what it is instead;
 * -EBADMSG: packed, and nothing can be unpacked. On
 * failure *ret_glance has neither rank nor host. */
int pp_trace_glance(const char *path, struct pp_trace_glance *ret_glance, struct pp_err *err);
/* The same by the first bytes of a file, at most 4 MiB, which has `size` bytes. */
int pp_trace_glance_at(const char *path, const void *bytes, size_t length, uint64_t size, struct pp_trace_glance *ret_glance,
                       struct pp_err *err);
/* What can be read of a damaged file is in the capture, and its pp_rank.trace says what is not, and where. Fails where nothing can
 * be read. ret_capture->epoch_realtime_ns is 0 where the file has no date: times then begin near 0. pp_capture_release() frees it.
 * */
int pp_trace_read(const char *path, const struct pp_trace_glance *glance, const struct pp_trace_options *options,
                  struct pp_capture *ret_capture, struct pp_err *err);
