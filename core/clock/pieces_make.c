/* Makes chains from nodes, from one line, and from two chains; see pieces.h. Called by the keeper. */
#include "core/clock/pieces_make.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "core/clock/clock_map.h"
#include "core/clock/pieces.h"

enum { OUTSIDE_NODES = 8 };
static const double ROUNDING =
        1; /* y ticks per hop: line ends are whole ticks and the product is truncated; for a band one x tick more */

static struct pp_clock_piece *alloc(size_t pieces, struct pp_err *err)
{
	struct pp_clock_piece *piece = calloc(pieces, sizeof(*piece));

	if (!piece)
		pp_err_set(err, -ENOMEM, "cannot map the clock: no memory for %zu lines", pieces);
	return piece;
}

static int64_t num_of(double rate)
{
	return (int64_t)(rate * (double)((int64_t)1 << PP_PIECE_SHIFT));
}

/* Rate at which the line ends at or before (x, y): the next piece begins there, and time never goes back. */
static int64_t num_through(int64_t dx, int64_t dy)
{
	return dy > 0 ? (int64_t)(((unsigned __int128)dy << PP_PIECE_SHIFT) / (uint64_t)dx) : 0;
}

/* Times are read as whole ticks of x, so one is up to a tick behind already. */
static double rounding(const struct pp_band *b)
{
	return ROUNDING + b->o.x_unit * b->o.rate;
}

static double reach(const struct pp_band_node *n)
{
	return fmax(n->high, -n->low);
}

static double rate_of(const struct pp_band_node *a, const struct pp_band_node *b)
{
	return (double)(b->y - a->y) / (double)(b->x - a->x);
}

struct slope {
	double rate, growth; /* of the line, and of its bound */
};

/* How far the rates between `end` and `far` are off the line between the two. Short segments show only noise, so they count
 * together with the next ones. */
static double off_rate(const struct pp_band_node *end, const struct pp_band_node *far)
{
	double mean = rate_of(end, far), enough = fabs((double)(far->x - end->x)) / OUTSIDE_NODES, most = 0;
	const struct pp_band_node *from = end, *to = end;

	while (to != far) {
		to += far > end ? 1 : -1;
		if (fabs((double)(to->x - from->x)) < enough)
			continue;
		most = fmax(most, fabs(rate_of(from, to) - mean));
		from = to;
	}
	return most;
}

/* Slope of the line outside, and growth of its bound: the line may lie aslant between two intervals, the oscillator wanders on,
 * and over many segments its rate may have left their mean. The two are the node at the end and the one of the next few that
 * constrains the slope most. */
static struct slope slope_outside(const struct pp_band *b, size_t end)
{
	struct slope best = {b->o.rate, 2 * b->o.tolerance * b->o.rate};
	const struct pp_band_node *n = &b->node[end];
	double jump = 0, wander = 0;

	if (b->nodes == 1)
		return (struct slope){b->rate, b->rate_error + 2 * b->o.wander * b->o.rate};
	for (size_t i = 1; i <= OUTSIDE_NODES && (end ? i <= end : i < b->nodes); i++) {
		const struct pp_band_node *segment = end ? n - i : n + i - 1, *far = end ? n - i : n + i;
		double growth;

		if (segment->flags & PP_BAND_BROKEN)
			break;
		jump = fmax(jump, segment->jump);
		wander = fmax(wander, segment->wander);
		growth = (reach(n) + reach(far) + jump) / fabs((double)(far->x - n->x)) + 2 * wander * b->o.rate +
		         2 * off_rate(n, far);
		if (growth < best.growth)
			best = (struct slope){rate_of(n, far), growth};
	}
	return best;
}

/* Makes the pieces before the first node and behind the last. */
static void outside(const struct pp_band *b, int64_t beyond, struct pp_pieces *p)
{
	size_t last = b->nodes - 1;
	const struct pp_band_node *n = &b->node[0];
	struct slope slope = slope_outside(b, 0);
	struct pp_clock_piece *piece = &p->piece[0];
	double cut = rounding(b);

	piece->num = num_of(slope.rate);
	piece->x = n->x - beyond;
	piece->y = n->y - (int64_t)((__int128)beyond * piece->num >> PP_PIECE_SHIFT) - 1;
	piece->end = reach(n) + ROUNDING + cut + n->jump;
	piece->begin = piece->end + slope.growth * (double)beyond;
	n = &b->node[last];
	slope = slope_outside(b, last);
	piece = &p->piece[b->nodes];
	*piece = (struct pp_clock_piece){.x = n->x, .y = n->y, .num = num_of(slope.rate)};
	piece->begin = reach(n) + ROUNDING + cut + n->jump;
	piece->end = piece->begin + slope.growth * (double)beyond;
	p->end = n->x + beyond;
	if (n->flags & PP_BAND_BROKEN)
		piece->begin = piece->end = INFINITY;
	if (b->back < b->node[0].x)
		p->piece[0].begin = p->piece[0].end = INFINITY;
}

int pp_pieces_of_band(const struct pp_band *b, int64_t beyond, struct pp_pieces *ret, struct pp_err *err)
{
	double cut = rounding(b);
	struct pp_pieces p = {0};

	if (!b->nodes)
		return pp_err_set(err, -ENODATA, "cannot map the clock: it was never compared");
	beyond = beyond > 1 ? beyond : 1; /* a piece has a length */
	p.piece = alloc(b->nodes + 1, err);
	if (!p.piece)
		return -ENOMEM;
	p.pieces = b->nodes + 1;
	outside(b, beyond, &p);
	for (size_t k = 0; k + 1 < b->nodes; k++) {
		const struct pp_band_node *n = &b->node[k];
		struct pp_clock_piece *piece = &p.piece[k + 1];
		double d = (double)(n[1].x - n->x);

		*piece = (struct pp_clock_piece){.x = n->x, .y = n->y, .flags = n->flags};
		if (n->flags & PP_BAND_BROKEN || n[1].y <= n->y) {
			piece->num = num_of(b->o.rate);
			piece->begin = piece->end = INFINITY;
			continue;
		}
		piece->num = num_through(n[1].x - n->x, n[1].y - n->y);
		piece->begin = reach(n) + n->jump + cut;
		piece->end = reach(n + 1) + n->jump + cut;
		/* |rate - mean| <= wander, so the curve is off the chord by at most 2 wander u (D - u) / D. */
		piece->hump = n->wander * b->o.rate * d / 2;
	}
	*ret = p;
	return 0;
}

int pp_pieces_of_map(const struct pp_clock_map *m, pp_tick begin, pp_tick end, struct pp_pieces *ret, struct pp_err *err)
{
	struct pp_pieces p = {0};

	if (begin > INT64_MAX || end > INT64_MAX || begin >= end)
		return pp_err_set(err, -EINVAL, "cannot map the clock: no time between its first and last tick");
	p.piece = alloc(1, err);
	if (!p.piece)
		return -ENOMEM;
	p.piece[0] = (struct pp_clock_piece){.x = (int64_t)begin, .y = pp_clock_map_ns(m, begin)};
	p.piece[0].num = num_through((int64_t)(end - begin), pp_clock_map_ns(m, end) - p.piece[0].y);
	p.piece[0].begin = p.piece[0].end = ROUNDING;
	p.end = (int64_t)end;
	p.pieces = 1;
	*ret = p;
	return 0;
}

/* The first x of a's piece that maps to y or later. */
static int64_t back(const struct pp_clock_piece *a, int64_t y)
{
	__int128 wanted = ((__int128)y - a->y) * ((__int128)1 << PP_PIECE_SHIFT), x;

	if (a->num <= 0)
		return INT64_MAX;
	x = a->x + (wanted + a->num - 1) / a->num;
	return x > INT64_MAX ? INT64_MAX : x < INT64_MIN ? INT64_MIN : (int64_t)x;
}

static int64_t end_of(const struct pp_pieces *p, size_t i)
{
	return i + 1 < p->pieces ? p->piece[i + 1].x : p->end;
}

/* A part of a parabola is a parabola: its hump shrinks with the square of the part. */
struct pp_pieces_part pp_pieces_part(const struct pp_pieces *p, size_t i, int64_t from, int64_t to)
{
	const struct pp_clock_piece *piece = &p->piece[i];
	double d, f, g, slope = piece->end - piece->begin;

	if (from < p->piece[0].x || from >= p->end || !isfinite(piece->begin) || !isfinite(piece->end))
		return (struct pp_pieces_part){INFINITY, INFINITY, 0};
	d = (double)(end_of(p, i) - piece->x);
	f = (double)(from - piece->x) / d;
	g = fmin(1, (double)(to - piece->x) / d); /* `to` may be a tick behind the piece's end */
	return (struct pp_pieces_part){piece->begin + slope * f + 4 * piece->hump * f * (1 - f),
	                               piece->begin + slope * g + 4 * piece->hump * g * (1 - g), piece->hump * (g - f) * (g - f)};
}

/* Piece i of a over [from, to), which lies in piece j of b. */
static struct pp_clock_piece join_one(const struct pp_pieces *a, size_t i, const struct pp_pieces *b, size_t j, int64_t from,
                                      int64_t to)
{
	int64_t y = pp_piece_map(&a->piece[i], from), y_end = pp_piece_map(&a->piece[i], to);
	struct pp_clock_piece piece = {.x = from, .flags = a->piece[i].flags | b->piece[j].flags};
	struct pp_pieces_part first = pp_pieces_part(a, i, from, to), second = pp_pieces_part(b, j, y, y_end);
	double rate = (double)b->piece[j].num / (double)((int64_t)1 << PP_PIECE_SHIFT);
	int64_t z = pp_piece_map(&b->piece[j], y), z_end = pp_piece_map(&b->piece[j], y_end);

	piece.y = z;
	/* unsigned: outside of b a time may wrap around, and has no bound */
	piece.num = num_through(to - from, (int64_t)((uint64_t)z_end - (uint64_t)z));
	piece.begin = first.begin * rate + second.begin + ROUNDING;
	piece.end = first.end * rate + second.end + ROUNDING;
	piece.hump = first.hump * rate + second.hump;
	if (!isfinite(piece.begin) || !isfinite(piece.end) || !isfinite(piece.hump)) { /* pp_pieces_read() refuses a NAN */
		piece.begin = piece.end = INFINITY;
		piece.hump = 0;
	}
	return piece;
}

/* End of b's piece that holds y, and its index. Before the first and behind the last piece there is no bound. */
static int64_t border_of(const struct pp_pieces *b, int64_t y, size_t *ret_piece)
{
	*ret_piece = pp_pieces_find(b, 0, y);
	/* may warn null-dereference: pp_err_set() gives its error, so b was made */
	if (y < b->piece[0].x) /* NOLINT(clang-analyzer-core.NullDereference): the same */
		return b->piece[0].x;
	if (*ret_piece + 1 < b->pieces)
		return b->piece[*ret_piece + 1].x;
	return y < b->end ? b->end : INT64_MAX;
}

/* Counts b's pieces that a's piece crosses, or writes them where `piece` is given. */
static size_t join_piece(const struct pp_pieces *a, size_t i, const struct pp_pieces *b, struct pp_clock_piece *piece)
{
	int64_t from = a->piece[i].x, end = end_of(a, i);
	size_t made = 0;

	while (from < end) {
		size_t j;
		int64_t border = border_of(b, pp_piece_map(&a->piece[i], from), &j);
		int64_t to = border < INT64_MAX ? back(&a->piece[i], border) : end;

		to = to <= from ? from + 1 : to;
		to = to < end ? to : end;
		if (piece)
			piece[made] = join_one(a, i, b, j, from, to);
		made++;
		from = to;
	}
	return made;
}

int pp_pieces_join(const struct pp_pieces *a, const struct pp_pieces *b, struct pp_pieces *ret, struct pp_err *err)
{
	struct pp_pieces p = {0};
	size_t pieces = 0;

	for (size_t i = 0; i < a->pieces && pieces <= PP_PIECES_MAX; i++)
		pieces += join_piece(a, i, b, NULL);
	if (pieces > PP_PIECES_MAX)
		return pp_err_set(err, -E2BIG, "cannot map the clock: more than %d lines", PP_PIECES_MAX);
	p.piece = alloc(pieces + 1, err);
	if (!p.piece)
		return -ENOMEM;
	for (size_t i = 0; i < a->pieces; i++)
		p.pieces += join_piece(a, i, b, &p.piece[p.pieces]);
	p.end = a->end;
	*ret = p;
	return 0;
}

int pp_pieces_to_job(const struct pp_pieces *own, const struct pp_clock_map *m, struct pp_pieces *ret, struct pp_err *err)
{
	struct pp_pieces line = {0};
	int64_t from, to;
	int rc;

	if (!own->pieces)
		return pp_err_set(err, -ENODATA, "cannot map the clock: it was never compared");
	from = own->piece[0].y > 0 ? own->piece[0].y : 0;
	to = pp_pieces_map(own, own->end);
	rc = pp_pieces_of_map(m, (pp_tick)from, (pp_tick)to, &line, err);
	if (!rc)
		rc = pp_pieces_join(own, &line, ret, err);
	pp_pieces_release(&line);
	return rc;
}
