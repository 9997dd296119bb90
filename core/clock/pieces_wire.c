/* Chains as bytes, for a keeper's children and for files of a dead job; see pieces.h. Called by the keeper. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock/pieces.h"

enum { MAGIC = 0x43455050, HEAD = 24, ROW = 56 }; /* magic, version, count, end; a piece */

static uint8_t *store(uint8_t *to, uint64_t value, size_t size)
{
	for (size_t i = 0; i < size; i++)
		to[i] = (uint8_t)(value >> (8 * i));
	return to + size;
}

static const uint8_t *load(const uint8_t *from, size_t size, uint64_t *ret_value)
{
	*ret_value = 0;
	for (size_t i = 0; i < size; i++)
		*ret_value |= (uint64_t)from[i] << (8 * i);
	return from + size;
}

static uint64_t bits_of(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static double number_of(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

size_t pp_pieces_write(const struct pp_pieces *p, uint8_t *bytes, size_t room)
{
	size_t size = HEAD + p->pieces * ROW;
	uint8_t *to = bytes;

	if (size > room)
		return size;
	to = store(to, MAGIC, 4);
	to = store(to, 1, 4);
	to = store(to, p->pieces, 8);
	to = store(to, (uint64_t)p->end, 8);
	for (size_t i = 0; i < p->pieces; i++) {
		const struct pp_clock_piece *piece = &p->piece[i];

		to = store(to, (uint64_t)piece->x, 8);
		to = store(to, (uint64_t)piece->y, 8);
		to = store(to, (uint64_t)piece->num, 8);
		to = store(to, bits_of(piece->begin), 8);
		to = store(to, bits_of(piece->end), 8);
		to = store(to, bits_of(piece->hump), 8);
		to = store(to, piece->flags, 8);
	}
	return size;
}

/* What a bound may be: not negative, not a NAN. */
static int is_bound(double value)
{
	return value >= 0;
}

/* So that no time between its ends overflows, and time goes on. */
static int is_piece(const struct pp_clock_piece *piece, const struct pp_clock_piece *before, int64_t end)
{
	const int64_t far = INT64_MAX / 4;
	__int128 y;

	if (piece->num < 0 || !is_bound(piece->begin) || !is_bound(piece->end) || !is_bound(piece->hump) || end > far ||
	    piece->x > far || piece->x < -far || piece->x >= end || piece->y > far || piece->y < -far)
		return 0;
	y = piece->y + ((__int128)(end - piece->x) * piece->num >> PP_PIECE_SHIFT);
	return y <= far && (!before || piece->x > before->x);
}

int pp_pieces_read(const uint8_t *bytes, size_t size, struct pp_pieces *ret, struct pp_err *err)
{
	struct pp_pieces p = {0};
	uint64_t magic = 0, version = 0, pieces = 0, word[7];
	const uint8_t *from = bytes;

	if (size >= HEAD) {
		from = load(load(load(from, 4, &magic), 4, &version), 8, &pieces);
		from = load(from, 8, &word[0]);
	}
	if (magic != MAGIC || version != 1 || pieces < 1 || pieces > PP_PIECES_MAX || size != HEAD + pieces * ROW)
		return pp_err_set(err, -EBADMSG, "cannot read the clock of another host: not of this version");
	p.end = (int64_t)word[0];
	p.piece = calloc(pieces, sizeof(*p.piece));
	if (!p.piece)
		return pp_err_set(err, -ENOMEM, "cannot read the clock of another host: no memory");
	for (; p.pieces < pieces; p.pieces++) {
		struct pp_clock_piece *piece = &p.piece[p.pieces];

		for (int i = 0; i < 7; i++)
			from = load(from, 8, &word[i]);
		*piece = (struct pp_clock_piece){.x = (int64_t)word[0], .y = (int64_t)word[1], .num = (int64_t)word[2]};
		piece->begin = number_of(word[3]);
		piece->end = number_of(word[4]);
		piece->hump = number_of(word[5]);
		piece->flags = (unsigned)word[6];
		if (!is_piece(piece, p.pieces ? &piece[-1] : NULL, p.end)) {
			free(p.piece);
			return pp_err_set(err, -EBADMSG, "cannot read the clock of another host: its line %zu cannot be", p.pieces);
		}
	}
	*ret = p;
	return 0;
}
