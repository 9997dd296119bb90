/* Makes XSpace files from bytes, by hand: messages, events, stats. For unit tests of aggregate/read/xspace. */
#pragma once

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aggregate/read/ring/rings.h"
#include "aggregate/read/trace.h"
#include "core/capture/capture.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"
#include "core/ring/intern.h"

enum { KIT_BYTES = 1 << 20 };

struct bytes {
	size_t n;
	uint8_t b[KIT_BYTES];
};

static inline void put_varint(struct bytes *m, uint64_t v)
{
	while (v > 127) {
		m->b[m->n++] = (uint8_t)(v | 128);
		v >>= 7;
	}
	m->b[m->n++] = (uint8_t)v;
}

static inline void put_int(struct bytes *m, uint32_t field, int64_t v)
{
	put_varint(m, (uint64_t)field << 3);
	put_varint(m, (uint64_t)v);
}

static inline void put_bytes(struct bytes *m, uint32_t field, const void *data, size_t n)
{
	put_varint(m, (uint64_t)field << 3 | 2);
	put_varint(m, n);
	memcpy(m->b + m->n, data, n);
	m->n += n;
}

static inline void put_text(struct bytes *m, uint32_t field, const char *text)
{
	put_bytes(m, field, text, strlen(text));
}

static inline void put_double(struct bytes *m, uint32_t field, double v)
{
	put_varint(m, (uint64_t)field << 3 | 1);
	memcpy(m->b + m->n, &v, 8);
	m->n += 8;
}

static inline void put_message(struct bytes *m, uint32_t field, struct bytes *message)
{
	put_bytes(m, field, message->b, message->n);
	message->n = 0;
}

/* id -> name, in the plane: field 4 events, 5 stats. */
static inline void put_name(struct bytes *plane, uint32_t field, int64_t id, const char *name)
{
	static struct bytes meta, entry;

	meta.n = entry.n = 0;
	put_int(&meta, 1, id);
	put_text(&meta, 2, name);
	put_int(&entry, 1, id);
	put_message(&entry, 2, &meta);
	put_message(plane, field, &entry);
}

/* A stat of an event (field 4) or a plane (field 6): an integer. */
static inline void put_stat(struct bytes *to, uint32_t field, int64_t id, int64_t value)
{
	static struct bytes stat;

	stat.n = 0;
	put_int(&stat, 1, id);
	put_int(&stat, 4, value);
	put_message(to, field, &stat);
}

static inline void put_stat_text(struct bytes *to, uint32_t field, int64_t id, const char *value)
{
	static struct bytes stat;

	stat.n = 0;
	put_int(&stat, 1, id);
	put_text(&stat, 5, value);
	put_message(to, field, &stat);
}

/* Begins an event in `e`; times in ns. */
static inline void begin_event(struct bytes *e, int64_t name, int64_t begin, int64_t duration)
{
	e->n = 0;
	put_int(e, 1, name);
	put_int(e, 2, begin * 1000);
	put_int(e, 3, duration * 1000);
}

static inline void begin_line(struct bytes *l, int64_t id, const char *name)
{
	l->n = 0;
	put_int(l, 1, id);
	put_text(l, 2, name);
}

static inline void begin_plane(struct bytes *p, const char *name)
{
	p->n = 0;
	put_text(p, 2, name);
}

/* Reads the bytes as a file. 0, or an error with its sentence. */
static inline int read_bytes(const void *data, size_t n, struct pp_capture *ret_capture, struct pp_err *err)
{
	struct pp_trace_options options = {.rank = 0};
	struct pp_trace_glance glance;
	int fd = memfd_create("xspace", 0), rc;
	char path[64];

	if (fd < 0 || write(fd, data, n) != (ssize_t)n)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	rc = pp_trace_glance(path, &glance, err);
	if (!rc)
		rc = pp_trace_read(path, &glance, &options, ret_capture, err);
	close(fd);
	return rc;
}

static inline const char *name_of(const struct pp_capture *c, uint32_t id)
{
	return pp_intern_text(c->names, id, NULL);
}

/* Step `i` of the rank's marking thread; NULL: there is none. */
static inline const struct pp_span *step_of(const struct pp_rank *r, size_t i)
{
	for (size_t t = 0; t < r->threads; t++)
		for (size_t k = 0; k < r->thread[t].spans; k++)
			if (r->thread[t].span[k].kind == PP_SPAN_STEP && !i--)
				return &r->thread[t].span[k];
	return NULL;
}
