/* The strip and the heat map as pictures that need no JavaScript. In: the first screen and its dataset. Out: SVG; colours of a PNG.
 * Pure; one thread. Used by plain.c. */
#pragma once

#include <stdio.h>

#include "aggregate/report/data/first.h"
#include "aggregate/report/data/png.h"

enum { PP_STILL_BARS = 600, PP_STILL_COLUMNS = 400, PP_STILL_ROWS = 64, PP_STILL_SHADES = 127 /* each way from the middle */ };

/* "27 usual, 8 periodic (every 10 steps), 5 one-off" */
void pp_still_regimes(const struct pp_dataset *d, const struct pp_first *f, char *to, size_t size);
/* Step times; a bar of several steps is the longest of them, in the colour of its rarest kind. 0, or -ENOMEM. */
int pp_still_strip(const struct pp_dataset *d, const struct pp_first *f, FILE *to);

/* A pixel for each step and rank; of larger pods for several, of which the value farthest from the middle of the scale counts. */
struct pp_still_heat {
	struct pp_png png;     /* pixel is the caller's, by pp_still_heat_release() */
	int64_t scale_ns;      /* the strongest colour */
	size_t steps, workers; /* of a pixel */
	char what[96];         /* quantity: "Host compute, over the median of the ranks" */
	/* 0: no value; then blue for less than the middle, up to orange for more, both the paler, the nearer to it. Pale is
	 * transparent: so it suits light and dark. */
	uint8_t colour[2 * PP_STILL_SHADES + 2][4];
};

/* 1: there is nothing to see: fewer than 4 steps or 2 ranks; 0; -ENOMEM. */
int pp_still_heat_of(const struct pp_dataset *d, const struct pp_first *f, struct pp_still_heat *ret);
void pp_still_heat_release(struct pp_still_heat *heat);
