/* The band in which one clock may run against another, given inequalities. Called by the keeper's clock exchange and
 * wall.c. In: "when x read this, y read no later / no earlier than that". Out: nodes with a rigorous interval, which pieces.c
 * joins by lines. Ticks of either clock in, ticks of the y clock out; no I/O, fixed memory, one thread. Formulas and their
 * sources: docs/clock.md. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"

enum { PP_BAND_POINTS = 12 };

struct pp_band_options {
	double rate;      /* y ticks per x tick, as far as known; 0: 1 */
	double tolerance; /* the true rate is within rate * (1 +- tolerance); 0: 1e-3 */
	double wander;    /* within rate * (1 +- wander) of its mean between two groups; 0: 1e-7 */
	double x_unit;    /* resolution of x in its ticks: a reading may be that much behind; 0: 1 */
	double y_unit;    /* the same of y */
	size_t groups;    /* most groups kept; beyond it every second old one is dropped; 0: 1024 */
};

struct pp_band_point {
	double x, y; /* relative to the group's origin */
};

struct pp_band_group {                             /* inequalities of one burst, or of one second of a GPU */
	int64_t x, y;                              /* origin; after pp_band_solve() the group's middle */
	int64_t first;                             /* x of its first inequality */
	struct pp_band_point up[PP_BAND_POINTS];   /* lower hull: y(x) is not above */
	struct pp_band_point down[PP_BAND_POINTS]; /* upper hull: y(x) is not below */
	uint32_t ups, downs;
	uint32_t samples;                 /* pairs of inequalities added */
	double least;                     /* half of the shortest round trip, y ticks; INFINITY: no round trip */
	int64_t x_out, y_in, y_out, x_in; /* of that trip */
};

enum pp_band_flags {
	PP_BAND_ASSUMED = 1, /* no neighbour bounds the segment's wander; the assumption does */
	PP_BAND_JUMP = 2,    /* the clock did in this segment what no oscillator does: it stepped, or changed its rate by > 5 ppm */
	PP_BAND_BROKEN = 4,  /* no possible rate fits this segment: no bound */
	PP_BAND_BENT = 8,    /* one line cannot pass both groups; the wander was raised until one can */
};

struct pp_band_node {
	int64_t x, y;                     /* y is inside the interval, in its middle but for rounding */
	double low, high;                 /* the true y is in [y + low, y + high] */
	double rate;                      /* nominal, y ticks an x tick */
	double least;                     /* half of the shortest round trip */
	int64_t x_out, y_in, y_out, x_in; /* of that trip: x sent, y received, y sent, x received */
	uint32_t samples;
	size_t group;
	/* Of the segment from this node to the next; the last node: of the time after it. */
	double wander;  /* relative */
	double jump;    /* y ticks: how far the segment's ends are off the lines before and behind it */
	unsigned flags; /* enum pp_band_flags */
};

struct pp_band {
	struct pp_band_options o;
	struct pp_band_group *group;
	size_t groups;
	struct pp_band_node *node; /* after pp_band_solve() */
	size_t nodes;
	double rate, rate_error; /* y ticks an x tick at the only node, where there is one: from its group alone */
	int64_t back;  /* x that the clock was set back to: from here on its times are ambiguous and unmapped; INT64_MAX: never */
	uint64_t weak; /* groups that are much wider than their neighbours and make no nodes */
	uint64_t refused; /* groups that contradict themselves, or bound one side only */
};

/* An empty band with these options. -ENOMEM. */
int pp_band_init(struct pp_band *b, const struct pp_band_options *o, struct pp_err *err);
/* Frees groups and nodes. */
void pp_band_release(struct pp_band *b);

/* Begins a group: one burst. Groups come in the order of x. */
struct pp_band_group *pp_band_begin(struct pp_band *b, int64_t x, int64_t y);
/* y(x) <= y and y(x) >= y. x and y must be within 2^52 of the group's origin and 2^61 of 0; others are refused. */
void pp_band_up(const struct pp_band *b, struct pp_band_group *g, int64_t x, int64_t y);
void pp_band_down(const struct pp_band *b, struct pp_band_group *g, int64_t x, int64_t y);
/* One round trip: x sent, y received, y sent, x received. It gives two inequalities, whatever path, scheduling and asymmetry.
 * -EINVAL: its timestamps are inconsistent, nothing changes. */
int pp_band_trip(const struct pp_band *b, struct pp_band_group *g, int64_t x_out, int64_t y_in, int64_t y_out, int64_t x_in);
