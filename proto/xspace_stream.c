/* Streaming writer of XSpace: an arena of 256 KiB in front of a file, lengths patched afterwards. Called by aggregate/write/xspace.
 */
#include "proto/xspace_stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/varint.h"

enum { LENGTH_BYTES = 5, LONGEST_STAT = 32 };

int pp_xstream_init(struct pp_xstream *s, int fd, uint64_t room, struct pp_err *err)
{
	const uint64_t most = 0x7fffffff;

	*s = (struct pp_xstream){.fd = fd, .arena = malloc(PP_XSTREAM_ARENA)};
	if (!s->arena)
		return pp_err_set(err, -ENOMEM, "no memory for the XSpace writer");
	s->limit = room < most ? most - room : 0;
	return 0;
}

void pp_xstream_release(struct pp_xstream *s)
{
	free(s->arena);
	s->arena = NULL;
}

static void write_at(struct pp_xstream *s, const uint8_t *p, size_t n, uint64_t offset)
{
	while (n && !s->error) {
		ssize_t w = pwrite(s->fd, p, n, (off_t)offset);

		if (w < 0 && errno == EINTR)
			continue;
		if (w <= 0) {
			s->error = w < 0 ? errno : EIO;
			return;
		}
		p += w;
		n -= (size_t)w;
		offset += (uint64_t)w;
	}
}

static void flush(struct pp_xstream *s)
{
	write_at(s, s->arena, s->used, s->base);
	s->base += s->used;
	s->used = 0;
}

static uint8_t *room(struct pp_xstream *s, size_t n)
{
	if (PP_XSTREAM_ARENA - s->used < n)
		flush(s);
	return s->arena + s->used;
}

static void take(struct pp_xstream *s, const uint8_t *end)
{
	s->used = (size_t)(end - s->arena);
}

uint64_t pp_xstream_begin(struct pp_xstream *s, uint32_t field)
{
	uint8_t *p = room(s, 2 * PP_VARINT_MAX);
	uint64_t begun;

	p = pp_varint_put(p, (uint64_t)field << 3 | 2);
	begun = s->base + (size_t)(p - s->arena);
	take(s, pp_varint_put_padded(p, 0));
	return begun;
}

void pp_xstream_end(struct pp_xstream *s, uint64_t begun)
{
	uint64_t length = s->base + s->used - begun - LENGTH_BYTES;
	uint8_t bytes[LENGTH_BYTES];

	pp_varint_put_padded(bytes, length);
	if (begun >= s->base) {
		memcpy(s->arena + (begun - s->base), bytes, LENGTH_BYTES);
		return;
	}
	/* A length is reserved in one piece and the arena is flushed whole, so it lies on one side. */
	write_at(s, bytes, LENGTH_BYTES, begun);
}

void pp_xstream_varint(struct pp_xstream *s, uint32_t field, uint64_t value)
{
	uint8_t *p = room(s, 2 * PP_VARINT_MAX);

	p = pp_varint_put(p, (uint64_t)field << 3);
	take(s, pp_varint_put(p, value));
}

void pp_xstream_text(struct pp_xstream *s, uint32_t field, const char *text, size_t length)
{
	uint8_t *p = room(s, 2 * PP_VARINT_MAX);

	p = pp_varint_put(p, (uint64_t)field << 3 | 2);
	take(s, pp_varint_put(p, length));
	while (length) {
		size_t n;

		if (s->used == PP_XSTREAM_ARENA)
			flush(s);
		n = PP_XSTREAM_ARENA - s->used;
		if (n > length)
			n = length;
		memcpy(s->arena + s->used, text, n);
		s->used += n;
		text += n;
		length -= n;
	}
}

void pp_xstream_stat(struct pp_xstream *s, uint32_t field, const struct pp_xstat *stat)
{
	uint64_t begun = pp_xstream_begin(s, field);

	pp_xstream_varint(s, PP_XSTAT_METADATA, stat->id);
	if (stat->kind == PP_XSTAT_DOUBLE) {
		uint8_t *p = room(s, PP_VARINT_MAX);

		*p++ = PP_XSTAT_DOUBLE;
		memcpy(p, &stat->d, 8);
		take(s, p + 8);
	} else {
		pp_xstream_varint(s, stat->kind >> 3, stat->u);
	}
	pp_xstream_end(s, begun);
}

int pp_xstream_event(struct pp_xstream *s, const struct pp_xevent *e)
{
	uint8_t *p = room(s, PP_XEVENT_BYTES);

	if (s->base + s->used + PP_XEVENT_BYTES > s->limit) {
		s->skipped++;
		return 0;
	}
	take(s, pp_xevent_put(p, e));
	s->events++;
	return 1;
}

int pp_xstream_long_event(struct pp_xstream *s, const struct pp_xevent *e, const struct pp_xstat *stat, size_t stats)
{
	uint64_t begun;

	if (s->base + s->used + PP_XEVENT_BYTES + stats * LONGEST_STAT > s->limit) {
		s->skipped++;
		return 0;
	}
	begun = pp_xstream_begin(s, PP_XLINE_EVENTS);
	pp_xstream_varint(s, PP_XEVENT_METADATA, e->metadata);
	pp_xstream_varint(s, PP_XEVENT_OFFSET, (uint64_t)e->offset_ps);
	pp_xstream_varint(s, PP_XEVENT_DURATION, (uint64_t)e->duration_ps);
	for (size_t i = 0; i < stats; i++)
		pp_xstream_stat(s, PP_XEVENT_STAT, &stat[i]);
	pp_xstream_end(s, begun);
	s->events++;
	return 1;
}

int pp_xstream_finish(struct pp_xstream *s, struct pp_err *err)
{
	flush(s);
	if (s->error)
		return pp_err_set(err, -s->error, "%s", strerror(s->error));
	return 0;
}
