/* Chains of lines: mapping, bounds, and their bytes; see pieces.h. pieces_make.c makes them. Called by the keeper and salvage. */
#include "core/clock/pieces.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/partition.h"
#include "core/capture/capture.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"

void pp_pieces_release(struct pp_pieces *p)
{
	free(p->piece);
	memset(p, 0, sizeof(*p));
}

static size_t search(const struct pp_pieces *p, int64_t x)
{
	const size_t after = PP_PARTITION(p->pieces, at, p->piece[at].x <= x);

	return after - (after > 0);
}

size_t pp_pieces_find(const struct pp_pieces *p, size_t at, int64_t x)
{
	if (p->piece[at].x > x)
		return at ? search(p, x) : 0;
	if (at + 1 == p->pieces || x < p->piece[at + 1].x)
		return at;
	if (at + 2 == p->pieces || x < p->piece[at + 2].x)
		return at + 1;
	return search(p, x);
}

int64_t pp_pieces_map(const struct pp_pieces *p, int64_t x)
{
	return pp_piece_map(&p->piece[search(p, x)], x);
}

/* (y - piece->y) / num, rounded up. */
static int64_t piece_inverse(const struct pp_clock_piece *piece, int64_t y)
{
	__int128 wanted = ((__int128)y - piece->y) * ((__int128)1 << PP_PIECE_SHIFT), x;

	if (piece->num <= 0)
		return y > piece->y ? INT64_MAX : piece->x;
	x = wanted / piece->num + (wanted > 0 && wanted % piece->num) + piece->x;
	return x > INT64_MAX ? INT64_MAX : x < INT64_MIN ? INT64_MIN : (int64_t)x;
}

int64_t pp_pieces_inverse(const struct pp_pieces *p, int64_t y)
{
	const size_t after = PP_PARTITION(p->pieces, at, p->piece[at].y < y), low = after - (after > 0);
	const int64_t x = piece_inverse(&p->piece[low], y);

	/* a line may end before the y at which the next begins */
	return low + 1 < p->pieces && x > p->piece[low + 1].x ? p->piece[low + 1].x : x;
}

void pp_pieces_map_run(const struct pp_pieces *p, int64_t *time, size_t times, size_t stride)
{
	size_t at = 0;

	for (char *here = (char *)time; times > 0; times--, here += stride) {
		int64_t x;

		memcpy(&x, here, sizeof(x));
		at = pp_pieces_find(p, at, x);
		x = pp_piece_map(&p->piece[at], x);
		memcpy(here, &x, sizeof(x));
	}
}

static double bound_at(const struct pp_pieces *p, size_t at, int64_t x)
{
	const struct pp_clock_piece *piece = &p->piece[at];
	double end = (double)((at + 1 < p->pieces ? p->piece[at + 1].x : p->end) - piece->x);
	double f = (double)(x - piece->x) / end;

	return piece->begin + (piece->end - piece->begin) * f + 4 * piece->hump * f * (1 - f);
}

static int64_t rounded_up(double bound)
{
	return bound < 9e18 ? (int64_t)ceil(bound) : INT64_MAX;
}

int64_t pp_pieces_bound(const struct pp_pieces *p, int64_t x)
{
	size_t at = search(p, x);

	if (x < p->piece[0].x || x > p->end || !isfinite(p->piece[at].begin) || !isfinite(p->piece[at].end))
		return INT64_MAX;
	return rounded_up(bound_at(p, at, x));
}

int64_t pp_pieces_worst(const struct pp_pieces *p, int64_t from, int64_t to)
{
	int64_t worst = pp_pieces_bound(p, from), last = pp_pieces_bound(p, to);

	worst = last > worst ? last : worst;
	for (size_t i = search(p, from); i < p->pieces && p->piece[i].x <= to && worst < INT64_MAX; i++) {
		const struct pp_clock_piece *piece = &p->piece[i];
		int64_t end = i + 1 < p->pieces ? p->piece[i + 1].x : p->end;
		/* The bound is a parabola over f = 0 to 1: find its maximum inside. */
		double top = piece->hump > 0 ? 0.5 + (piece->end - piece->begin) / (8 * piece->hump) : -1;
		int64_t probe[] = {piece->x, piece->x + (int64_t)(top > 0 && top < 1 ? top * (double)(end - piece->x) : 0), end};

		if (!isfinite(piece->begin) || !isfinite(piece->end))
			return INT64_MAX;
		for (size_t k = 0; k < sizeof(probe) / sizeof(probe[0]); k++)
			if (probe[k] >= from && probe[k] <= to && rounded_up(bound_at(p, i, probe[k])) > worst)
				worst = rounded_up(bound_at(p, i, probe[k]));
	}
	return worst;
}

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

/* A valid bound: not negative, not a NAN. */
static int is_bound(double value)
{
	return value >= 0;
}

/* A valid piece: no time between its ends overflows, and time only increases. */
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
