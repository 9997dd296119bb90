/* Makes chains of lines: of a band, of a map, of two chains. In: core/clock/band.h, clock_map.h. Out: core/clock/pieces.h,
 * which the caller releases. 0; -ENOMEM, or -ENODATA and -ERANGE where nothing can be mapped. Called by the keeper's clock
 * exchange and salvage. */
#pragma once

#include "core/base/err.h"
#include "core/base/tick.h"
#include "core/clock/band.h"
#include "core/clock/pieces.h"

struct pp_clock_map;

/* `beyond`: x ticks before the first and behind the last node that get a bound, which grows. */
int pp_pieces_of_band(const struct pp_band *b, int64_t beyond, struct pp_pieces *ret, struct pp_err *err);
/* The line of a domain's own clock, which defines job time and has no error: from tick `begin` to `end`. */
int pp_pieces_of_map(const struct pp_clock_map *m, pp_tick begin, pp_tick end, struct pp_pieces *ret, struct pp_err *err);
/* Composes: first a, then b. Bounds add up, in ticks of b's target. */
int pp_pieces_join(const struct pp_pieces *a, const struct pp_pieces *b, struct pp_pieces *ret, struct pp_err *err);
/* Own ticks to job ns, by the chain to the ticks of the clock that defines job time, and by its line. */
int pp_pieces_to_job(const struct pp_pieces *own, const struct pp_clock_map *m, struct pp_pieces *ret, struct pp_err *err);

struct pp_pieces_part { /* bound of a part of a piece; INFINITY: unknown */
	double begin, end, hump;
};

/* The part from..to of piece i. */
struct pp_pieces_part pp_pieces_part(const struct pp_pieces *p, size_t i, int64_t from, int64_t to);
