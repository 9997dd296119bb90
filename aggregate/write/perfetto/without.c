/* Perfetto traces, where protobuf-c was missing when podprof was built. */
#include <errno.h>

#include "aggregate/write/perfetto/perfetto.h"

int pp_perfetto_write(const struct pp_timeline *t, int fd, struct pp_err *err)
{
	(void)t;
	(void)fd;
	return pp_err_set(err, -ENOTSUP,
	                  "this podprof cannot write Perfetto traces: it was built without protobuf-c; use --format chrome");
}
