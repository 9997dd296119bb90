/* Kineto files made by hand, and what their reader gives. For tests of aggregate/read/kineto. */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "aggregate/read/ring/rings.h"
#include "aggregate/read/trace.h"
#include "core/capture/capture.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"
#include "core/ring/intern.h"
#include "core/ring/record.h"
#include "tests/test.h"

static char kit_path[64];
static struct pp_err kit_err;

/* In memory; kit_path names it. */
static inline void kit_write(const char *text, size_t length, int is_gzip)
{
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("kineto", 0);
	snprintf(kit_path, sizeof(kit_path), "/proc/self/fd/%d", fd);
	CHECK(fd >= 0 && ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0);
	if (is_gzip) {
		gzFile z = gzdopen(dup(fd), "wb");

		CHECK(gzwrite(z, text, (unsigned)length) == (int)length);
		gzclose(z);
		return;
	}
	CHECK(write(fd, text, length) == (ssize_t)length);
}

/* Reads what kit_write() wrote, as that rank. */
static inline int kit_read_as(int32_t rank, struct pp_capture *ret_capture)
{
	struct pp_trace_glance glance;
	struct pp_trace_options options = {.rank = rank};
	int rc = pp_trace_glance(kit_path, &glance, &kit_err);

	return rc ? rc : pp_trace_read(kit_path, &glance, &options, ret_capture, &kit_err);
}

static inline int kit_read_file(struct pp_capture *ret_capture)
{
	return kit_read_as(3, ret_capture);
}

static inline int kit_read_bytes(const char *text, size_t length, struct pp_capture *ret_capture)
{
	kit_write(text, length, 0);
	return kit_read_file(ret_capture);
}

/* ' becomes ". */
static inline void kit_quotes(char *text)
{
	for (; *text; text++)
		*text = *text == '\'' ? '"' : *text;
}

/* A capture of the text with ' for "; exit where it cannot be read. */
static inline struct pp_capture kit_read(const char *text)
{
	struct pp_capture c = {0};
	char *json = strdup(text);

	kit_quotes(json);
	if (kit_read_bytes(json, strlen(json), &c)) {
		fprintf(stderr, "%s\n", kit_err.text);
		exit(1);
	}
	free(json);
	return c;
}

/* A thread of the host by number, or (device >= 0) a stream; NULL: none. */
static inline const struct pp_thread *kit_thread(const struct pp_capture *c, int device, uint32_t tid)
{
	for (size_t t = 0; t < c->rank->threads; t++)
		if (c->rank->thread[t].device == (uint32_t)(device + 1) && c->rank->thread[t].tid == tid)
			return &c->rank->thread[t];
	return NULL;
}

static inline const struct pp_span *kit_span(const struct pp_capture *c, int device, uint32_t tid, size_t i)
{
	static const struct pp_span none;
	const struct pp_thread *t = kit_thread(c, device, tid);

	CHECK(t != NULL && i < t->spans);
	return t && i < t->spans ? &t->span[i] : &none;
}

static inline const char *kit_text(const struct pp_capture *c, uint32_t id)
{
	return pp_intern_text(c->names, id, NULL);
}

static inline void kit_check_rank(const struct pp_capture *c, const struct pp_rank *r)
{
	int mains = 0, hosts = 0;

	CHECK(r->size > r->rank && c->ranks_asked == r->size);
	for (size_t t = 0; t < r->threads; t++) {
		const struct pp_thread *thread = &r->thread[t];
		uint32_t kinds = 0;

		mains += thread->is_main;
		hosts += !thread->device;
		CHECK(thread->spans > 0);
		for (size_t i = 0; i < thread->spans; i++) {
			const struct pp_span *s = &thread->span[i];

			kinds |= PP_SPAN_BIT(s->kind);
			if (s->begin < 0 || s->end < s->begin || s->end > r->recorded_to || s->begin < thread->first ||
			    (s->end > thread->last && s->kind != PP_SPAN_REQUEST) || s->name >= pp_intern_count(c->names) ||
			    (i && (s[-1].begin > s->begin || (s[-1].begin == s->begin && s[-1].end < s->end))) ||
			    (s->kind == PP_SPAN_DEVICE) != (thread->device != 0) || s->source != PP_SOURCE_KINETO)
				CHECK(!"a span that breaks a rule");
			if (s->kind == PP_SPAN_DEVICE)
				CHECK(s->device.op < pp_intern_count(c->names) && s->device.launch <= r->launches &&
				      s->device.host_thread <= r->threads && s->device.step == -1);
			else if (s->kind == PP_SPAN_RANGE)
				CHECK(s->range.payload_type == PP_PAYLOAD_EXT ? s->range.payload < pp_intern_count(c->payloads)
				                                              : !s->range.payload && !s->range.payload_type);
		}
		CHECK(!(kinds & ~thread->kinds));
	}
	CHECK(mains == (hosts > 0));
	for (size_t i = 0; i < r->allocations; i++)
		CHECK(r->allocation[i].op < pp_intern_count(c->names) && r->allocation[i].time >= 0 &&
		      (!i || r->allocation[i - 1].time <= r->allocation[i].time));
}

/* What every capture must satisfy, whatever the file held. */
static inline void kit_check(const struct pp_capture *c)
{
	CHECK(c->ranks > 0);
	for (size_t i = 0; i < c->ranks; i++) {
		CHECK(!i || c->rank[i].rank > c->rank[i - 1].rank);
		kit_check_rank(c, &c->rank[i]);
	}
}
