/* Helpers of the tests of rings: a directory, ring files in it, and what comes out of them. */
#pragma once

#include <stdio.h>
#include <stdlib.h>

#include "aggregate/read/ring/finish.h"
#include "aggregate/read/ring/rings.h"
#include "core/capture/capture.h"
#include "core/capture/span.h"
#include "core/ring/intern.h"
#include "tests/test.h"
#include "tests/unit/aggregate/read/ring/ring_maker.h"
#include "tests/unit/aggregate/read/ring/rings_open.h"

static char dir[64];

static inline const char *path_of(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static inline struct pp_rings *drained(struct maker *m, size_t buffer)
{
	struct pp_rings *r = pp_rings_new(buffer);
	struct pp_err err = {""};

	CHECK_INT(pp_rings_open(r, m->path, &err), 0);
	while (pp_rings_drain(r, 0, NULL))
		;
	return r;
}

static inline struct pp_capture finished(struct maker *m)
{
	struct pp_rings *r = drained(m, 64 << 20);
	struct pp_capture c = {0};

	CHECK_INT(pp_rings_finish(r, &c, NULL), 0);
	pp_rings_free(r);
	maker_close(m);
	return c;
}

static inline const char *name_of(const struct pp_capture *c, const struct pp_span *s)
{
	return pp_intern_text(c->names, s->name, NULL);
}

static inline int rings_kit_begin(void)
{
	snprintf(dir, sizeof(dir), "%s", "/dev/shm/pp-rings-XXXXXX");
	return mkdtemp(dir) ? 0 : 1;
}

static inline int rings_kit_end(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command) ? 1 : test_end();
}
