/* The band in which one clock runs against another: what inequalities leave possible. Called by the keeper's clock exchange
 * and wall.c. In: "when x stood here, y stood no later / no earlier than there". Out: nodes with a rigorous interval,
 * which pieces.c draws lines through. Ticks of either clock in, ticks of the y clock out; no I/O, fixed memory, one thread.
 * Formulas and their sources: docs/clock.md. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"

enum { PP_BAND_POINTS = 12 };

struct pp_band_options {
	double rate;      /* y ticks an x tick, as far as it is known; 0: 1 */
	double tolerance; /* the true rate is within rate * (1 +- tolerance); 0: 1e-3 */
	double wander;    /* within rate * (1 +- wander) of its mean between two groups; 0: 1e-7 */
	double x_unit;    /* resolution of x in its ticks: a reading may be so much behind; 0: 1 */
	double y_unit;    /* the same of y */
	size_t groups;    /* most that are kept; every second old one goes where there are more; 0: 1024 */
};

struct pp_band_point {
	double x, y; /* less the group's origin */
};

struct pp_band_group {                             /* inequalities of one burst, or of one second of a GPU */
	int64_t x, y;                              /* origin; after pp_band_solve() the group's middle */
	int64_t first;                             /* x that it began with */
	struct pp_band_point up[PP_BAND_POINTS];   /* lower hull: y(x) is not above */
	struct pp_band_point down[PP_BAND_POINTS]; /* upper hull: y(x) is not below */
	uint32_t ups, downs;
	uint32_t samples;                 /* pairs of inequalities that went in */
	double least;                     /* half of the shortest round trip, y ticks; INFINITY: no round trip */
	int64_t x_out, y_in, y_out, x_in; /* of that trip */
};

enum pp_band_flags {
	PP_BAND_ASSUMED = 1, /* nothing before or behind the segment tells of its wander but the assumption */
	PP_BAND_JUMP = 2,    /* the clock did in this segment what no oscillator does: stepped, or changed its rate by > 5 ppm */
	PP_BAND_BROKEN = 4,  /* no rate that is possible leads through this segment: no bound */
	PP_BAND_BENT = 8,    /* its two groups contradict one line; the wander was raised until they did not */
};

struct pp_band_node {
	int64_t x, y;                     /* y is inside the interval, in its middle but for rounding */
	double low, high;                 /* the true y is in [y + low, y + high] */
	double rate;                      /* nominal, y ticks an x tick */
	double least;                     /* half of the shortest round trip */
	int64_t x_out, y_in, y_out, x_in; /* of that trip: x left, y came, y left, x came */
	uint32_t samples;
	size_t group;
	/* Of the segment from this node to the next; of the last node: of what lies beyond it. */
	double wander;  /* relative */
	double jump;    /* y ticks: by so much the ends of the segment are off the lines before and behind it */
	unsigned flags; /* enum pp_band_flags */
};

struct pp_band {
	struct pp_band_options o;
	struct pp_band_group *group;
	size_t groups;
	struct pp_band_node *node; /* after pp_band_solve() */
	size_t nodes;
	double rate, rate_error; /* y ticks an x tick at the only node, where there is one: from its group alone */
	int64_t back;  /* x that the clock went back to: from here on it showed times twice, and none is known; INT64_MAX: never */
	uint64_t weak; /* groups that say less than their neighbours and are no nodes */
	uint64_t refused; /* groups that contradict themselves, or say nothing of one side */
};

int pp_band_init(struct pp_band *b, const struct pp_band_options *o, struct pp_err *err);
void pp_band_release(struct pp_band *b);

/* What follows belongs together: one burst. Groups are in the order of x. */
struct pp_band_group *pp_band_begin(struct pp_band *b, int64_t x, int64_t y);
/* y(x) <= y and y(x) >= y. x and y within 2^52 of the group's origin and 2^61 of 0; others are not taken. */
void pp_band_up(const struct pp_band *b, struct pp_band_group *g, int64_t x, int64_t y);
void pp_band_down(const struct pp_band *b, struct pp_band_group *g, int64_t x, int64_t y);
/* One round trip: x left, y came, y left, x came. Two inequalities, whatever the path, scheduling and asymmetry. A trip whose
 * stamps cannot be is -EINVAL and changes nothing. */
int pp_band_trip(const struct pp_band *b, struct pp_band_group *g, int64_t x_out, int64_t y_in, int64_t y_out, int64_t x_in);

/* The nodes, one a group that says something. -ENODATA: there is none. Can be called again after more groups. */
int pp_band_solve(struct pp_band *b, struct pp_err *err);
