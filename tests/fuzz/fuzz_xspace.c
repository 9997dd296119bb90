/* Any bytes as an XSpace file, plain or packed: an error with a sentence, or spans in order; see fuzz.h. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aggregate/read/ring/rings.h"
#include "aggregate/read/trace.h"
#include "core/capture/capture.h"
#include "core/capture/thread.h"
#include "tests/fuzz/fuzz.h"

static void check(const struct pp_rank *r)
{
	for (size_t t = 0; t < r->threads; t++)
		for (size_t i = 0; i < r->thread[t].spans; i++) {
			const struct pp_span *s = &r->thread[t].span[i];

			if (s->end < s->begin || s->begin < r->thread[t].first || s->end > r->thread[t].last ||
			    (i && s->begin < s[-1].begin) || (s->kind == PP_SPAN_DEVICE && s->device.launch > r->launches) ||
			    (s->kind == PP_SPAN_DEVICE && s->device.host_thread > r->threads))
				abort();
		}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	struct pp_trace_options options = {.rank = 0};
	struct pp_trace_glance glance;
	struct pp_capture c;
	struct pp_err err = {.text = ""};
	char path[64];

	if (fd < 0)
		fd = memfd_create("trace", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (pp_trace_glance(path, &glance, &err) || pp_trace_read(path, &glance, &options, &c, &err)) {
		if (!err.text[0])
			abort();
		return 0;
	}
	for (size_t i = 0; i < c.ranks; i++)
		check(&c.rank[i]);
	pp_capture_release(&c);
	return 0;
}
