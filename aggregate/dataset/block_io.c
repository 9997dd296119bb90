/* Varints, texts and arrays of a block, in both directions; see block_io.h. Called by block.c. */
#include "aggregate/dataset/block_io.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/utf8.h"
#include "proto/varint.h"

enum { TEXT_MAX = 64 << 10, NAME_BYTES = 64 };

void pp_block_fault(struct pp_block_io *io, int code, const char *what)
{
	if (io->fault)
		return;
	io->fault = code;
	io->what = what;
}

static int room_for(struct pp_block_io *io, size_t more)
{
	size_t size = io->size ? io->size : 4096;
	uint8_t *bytes;

	if (io->fault)
		return 0;
	if (io->size - io->at >= more)
		return 1;
	while (size - io->at < more)
		size *= 2;
	bytes = realloc(io->bytes, size);
	if (!bytes) {
		pp_block_fault(io, -ENOMEM, "no memory");
		return 0;
	}
	io->bytes = bytes;
	io->size = size;
	return 1;
}

/* Where a number of any length lies before the end of the bytes. */
static void read_quickly(struct pp_block_io *io, uint64_t *value)
{
	const uint8_t *at = io->bytes + io->at;
	uint64_t v = *at & 0x7f;

	for (unsigned shift = 7; *at++ >= 0x80; shift += 7) {
		if (shift == 63 && *at > 1) {
			pp_block_fault(io, -EBADMSG, "a number");
			return;
		}
		v |= (uint64_t)(*at & 0x7f) << shift;
	}
	io->at = (size_t)(at - io->bytes);
	*value = v;
}

void pp_block_long(struct pp_block_io *io, uint64_t *value)
{
	uint64_t v = 0;

	if (!io->reads) {
		if (room_for(io, PP_VARINT_MAX))
			io->at = (size_t)(pp_varint_put(io->bytes + io->at, *value) - io->bytes);
		return;
	}
	*value = 0;
	if (!io->fault && io->size - io->at >= PP_VARINT_MAX) {
		read_quickly(io, value);
		return;
	}
	for (unsigned shift = 0; !io->fault; shift += 7) {
		uint8_t byte;

		if (io->at == io->size || shift > 63 || (shift == 63 && io->bytes[io->at] > 1)) {
			pp_block_fault(io, -EBADMSG, "a number");
			return;
		}
		byte = io->bytes[io->at++];
		v |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*value = v;
			return;
		}
	}
}

uint8_t *pp_block_take(struct pp_block_io *io, size_t n)
{
	if (io->reads && !io->fault && n > io->size - io->at)
		pp_block_fault(io, -EBADMSG, "its length");
	if (io->fault || (!io->reads && !room_for(io, n)))
		return NULL;
	io->at += n;
	return io->bytes + io->at - n;
}

void pp_block_bad_time(struct pp_block_io *io, int64_t *value)
{
	pp_block_fault(io, -EBADMSG, "a time");
	if (io->reads)
		*value = 0;
}

/* Length and bytes; when reading, their place. */
static const char *bytes_of(struct pp_block_io *io, const char *text, size_t *length)
{
	uint64_t n = *length;

	pp_block_u(io, &n);
	if (!io->reads) {
		if (room_for(io, *length)) {
			memcpy(io->bytes + io->at, text, *length);
			io->at += *length;
		}
		return text;
	}
	*length = 0;
	if (io->fault || n > TEXT_MAX || n > io->size - io->at) {
		pp_block_fault(io, -EBADMSG, "a text");
		return "";
	}
	*length = (size_t)n;
	io->at += *length;
	return (const char *)io->bytes + io->at - *length;
}

void pp_block_text(struct pp_block_io *io, char *text, size_t size)
{
	size_t length = io->reads ? 0 : strnlen(text, size - 1);
	const char *from = bytes_of(io, text, &length);

	if (!io->reads)
		return;
	text[0] = '\0';
	if (length >= size || memchr(from, '\0', length)) {
		pp_block_fault(io, -EBADMSG, "a text");
		return;
	}
	if (pp_utf8_good(from, length)) {
		memcpy(text, from, length);
		text[length] = '\0';
		return;
	}
	/* Each invalid byte becomes a '?': there is room for one byte. */
	for (size_t i = 0, n; i < length; i += n ? n : 1) {
		n = pp_utf8_shown(from + i, length - i);
		memcpy(text + i, n ? from + i : "?", n ? n : 1);
	}
	text[length] = '\0';
}

void pp_block_name(struct pp_block_io *io, uint32_t *name)
{
	size_t length = 0;
	const char *text = io->reads ? "" : pp_intern_text(io->names, *name, &length);

	if (length > TEXT_MAX)
		length = (size_t)pp_utf8_fit(text, TEXT_MAX);
	text = bytes_of(io, text, &length);
	if (io->reads && length && length + NAME_BYTES > io->budget)
		pp_block_fault(io, -EBADMSG, "how much it would take");
	if (io->reads && length && !io->fault)
		io->budget -= length + NAME_BYTES;
	if (io->reads)
		*name = length && !io->fault ? pp_intern_put(io->interned, text, length) : 0;
	if (io->reads && length && !*name && !io->fault)
		pp_block_fault(io, -ENOMEM, "no memory");
}

void *pp_block_room(struct pp_block_io *io, size_t n, size_t row_size)
{
	void *room;

	if (io->fault)
		return NULL;
	if (n >= io->budget / row_size) {
		pp_block_fault(io, -EBADMSG, "how much it would take");
		return NULL;
	}
	io->budget -= (n + 1) * row_size;
	room = calloc(n + 1, row_size);
	if (!room)
		pp_block_fault(io, -ENOMEM, "no memory");
	return room;
}

void *pp_block_array(struct pp_block_io *io, void *array, size_t *rows, size_t row_size, size_t least)
{
	uint64_t n = *rows;

	pp_block_u(io, &n);
	if (!io->reads)
		return array;
	*rows = 0;
	if (!io->fault && n > (io->size - io->at) / least)
		pp_block_fault(io, -EBADMSG, "more rows than there are bytes");
	array = pp_block_room(io, (size_t)n, row_size);
	if (array)
		*rows = (size_t)n;
	return array;
}
