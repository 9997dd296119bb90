/* Reads one attribute of an untrusted pod.h5. See file.h; called by hdf5_previous.c and `podprof report --list`. */
#include "aggregate/read/h5/file_attribute.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>

#include "aggregate/read/h5/file.h"
#include "aggregate/read/h5/forked_work.h"

struct glance { /* shared with the child */
	const char *path, *attribute;
	char text[256];
};

static int read_group(void *context, struct pp_err *err)
{
	struct glance *g = context;
	struct pp_h5_file *h5;
	int code = pp_h5_file_open(g->path, &h5, err);

	if (code)
		return code;
	snprintf(g->text, sizeof(g->text), "%s", pp_h5_file_attribute(h5, g->attribute));
	pp_h5_file_close(h5);
	return 0;
}

int pp_h5_file_read_attribute(const char *path, const char *attribute, char *ret_text, size_t size, struct pp_err *err)
{
	struct glance *g = mmap(NULL, sizeof(*g), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int code;

	if (g == MAP_FAILED)
		return pp_err_set(err, -ENOMEM, "no memory to read '%s'", path);
	g->path = path;
	g->attribute = attribute;
	code = pp_forked_read(path, read_group, g, err);
	if (!code)
		snprintf(ret_text, size, "%.*s", (int)sizeof(g->text) - 1, g->text);
	munmap(g, sizeof(*g));
	return code;
}
