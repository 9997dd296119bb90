/* Reads XSpace files; see xspace.h. Called by aggregate/read/trace.c. */
#include "aggregate/read/xspace/xspace.h"

#include <errno.h>

int pp_xspace_glance(const void *bytes, size_t size, struct pp_trace_glance *ret_glance)
{
	(void)bytes;
	(void)size;
	(void)ret_glance;
	return 0;
}

int pp_xspace_read(const char *path, const struct pp_trace_glance *glance, const struct pp_trace_options *options,
                   struct pp_capture *ret_capture, struct pp_err *err)
{
	(void)glance;
	(void)options;
	(void)ret_capture;
	return pp_err_set(err, -ENOTSUP, "cannot read '%s': not yet", path);
}
