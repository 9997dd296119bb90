/* Maps a clock to another one by a chain of lines, with an error bound at every time. Called by the keeper. In: nodes of a
 * band, or the one line of clock_map. Out: times of the other clock. Chains are composed where a clock is known through a third
 * one. int64 in and out, 128-bit products; within a piece the map is monotone and off by < 1 tick. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/tick.h"
#include "core/clock/band.h"

enum { PP_PIECE_SHIFT = 50, PP_PIECES_MAX = 1 << 16 };

struct pp_clock_piece { /* from x to the next piece's x */
	int64_t x, y;
	int64_t num; /* y ticks per x tick * 2^PP_PIECE_SHIFT */
	/* |error| at fraction f of the piece: begin + (end - begin) f + 4 hump f (1 - f). INFINITY: unknown. */
	double begin, end, hump;
	unsigned flags; /* enum pp_band_flags */
};

struct pp_pieces {
	struct pp_clock_piece *piece;
	size_t pieces;
	int64_t end; /* x where the last piece ends; before the first and from here on times are mapped without a bound */
};

/* Frees the pieces; empty then. */
void pp_pieces_release(struct pp_pieces *p);

/* Writes it as little-endian bytes and returns their number; writes nothing where `room` is less. */
size_t pp_pieces_write(const struct pp_pieces *p, uint8_t *bytes, size_t room);
/* Reads hostile bytes. -EBADMSG: they are no chain. */
int pp_pieces_read(const uint8_t *bytes, size_t size, struct pp_pieces *ret, struct pp_err *err);

/* The piece that holds x, or the nearest. `at`: where to start the search; the last answer for sorted times. */
size_t pp_pieces_find(const struct pp_pieces *p, size_t at, int64_t x);

/* By the line of one piece, which may be far away. */
static inline int64_t pp_piece_map(const struct pp_clock_piece *piece, int64_t x)
{
	/* unsigned: a time far outside wraps around, and has no bound */
	int64_t far = (int64_t)((uint64_t)x - (uint64_t)piece->x);

	return (int64_t)((uint64_t)piece->y + (uint64_t)((__int128)far * piece->num >> PP_PIECE_SHIFT));
}

/* The time of the other clock at x; x outside is mapped by the nearest piece. */
int64_t pp_pieces_map(const struct pp_pieces *p, int64_t x);
/* The inverse: the first x that maps to y or later. pp_pieces_bound() of it is its error. */
int64_t pp_pieces_inverse(const struct pp_pieces *p, int64_t y);
/* Maps times in place, each `stride` bytes behind the one before; fast for sorted ones. */
void pp_pieces_map_run(const struct pp_pieces *p, int64_t *time, size_t times, size_t stride);
/* |error| in y ticks, rounded up. INT64_MAX: unknown. */
int64_t pp_pieces_bound(const struct pp_pieces *p, int64_t x);
/* The largest in [from, to]. */
int64_t pp_pieces_worst(const struct pp_pieces *p, int64_t from, int64_t to);
