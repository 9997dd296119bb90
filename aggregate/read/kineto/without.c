/* In place of kineto.c in a build without libyajl. Called by aggregate/read/trace.c. */
#include <errno.h>

#include "aggregate/read/kineto/kineto.h"

int pp_kineto_read(const char *path, const struct pp_trace_glance *glance, const struct pp_trace_options *options,
                   struct pp_capture *ret_capture, struct pp_err *err)
{
	(void)glance;
	(void)options;
	(void)ret_capture;
	return pp_err_set(err, -ENOTSUP,
	                  "cannot read '%s': this podprof was built without libyajl. Install libyajl-dev and build it again.",
	                  path);
}
