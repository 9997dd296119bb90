/* Reads Kineto files; see kineto.h. Called by aggregate/read/trace.c. */
#include "aggregate/read/kineto/kineto.h"

#include <errno.h>

int pp_kineto_glance(const void *bytes, size_t size, struct pp_trace_glance *ret_glance)
{
	(void)bytes;
	(void)size;
	(void)ret_glance;
	return 0;
}

int pp_kineto_read(const char *path, const struct pp_trace_glance *glance, const struct pp_trace_options *options,
                   struct pp_capture *ret_capture, struct pp_err *err)
{
	(void)glance;
	(void)options;
	(void)ret_capture;
	return pp_err_set(err, -ENOTSUP, "cannot read '%s': not yet", path);
}
