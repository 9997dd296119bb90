/* What a series of steps says: its usual values, how their level goes, and which values are exceptional. In: a number per step.
 * Out: robust numbers. Pure, any thread, O(n log n).
 *
 * A course other than steady needs a significance test (chance below 1 of 1000): for one change Pettitt's rank test, or that the
 * two sides are nearly or wholly separate; for growth Mann-Kendall's, with the slope of Theil and Sen. Ranks bound what exceptional
 * values can do. Of two that pass, the one whose clipped residuals are smaller is taken, if it moves the level by more than 4
 * standard deviations of a value.
 *
 * Exceptional is what lies above the fit by more than 6 standard deviations (more in a short series, whose noise is less known:
 * Student's t), 10 % and the caller's floor. Rare values are rare: if more than a quarter would be exceptional, they are a mixture,
 * and none is. Only what comes each 2nd, 3rd or 4th value, as steps with an update of weights do, may be more. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum pp_course { PP_COURSE_STEADY, PP_COURSE_SUDDEN, PP_COURSE_GROWING };

enum pp_rare { PP_RARE_NONE, PP_RARE_START_UP, PP_RARE_PERIODIC, PP_RARE_ONE_OFF, PP_RARE_IRREGULAR };

struct pp_series {
	enum pp_course course; /* how the level of usual values goes */
	int is_long;           /* 0: too few values for a course to be seen; STEADY then means unknown */
	size_t onset;          /* SUDDEN: first value of the new level; else 0 */
	double before,
	        level; /* median of usual values before the onset and from there on; the fit's begin and end where it grows */
	double slope;  /* GROWING: per value */
	double sigma;  /* noise of a usual value, from differences of neighbours */
	double spread; /* half IQR of usual values around the fit */
	/* Exceptional values. Those at the begin are START_UP only if there are no others; else they are counted apart, and the
	 * other members speak of the rest. One run of them is ONE_OFF. */
	enum pp_rare rare;
	size_t rares;     /* how many */
	size_t start_ups; /* exceptional values at the begin of the series */
	size_t period;    /* PERIODIC: from one to the next */
	size_t first_rare;
	double rare_each, rare_cost; /* median of their excesses over the fit; sum of the excesses / n */
};

/* Room: [3 * n] doubles of the caller. ret_is_rare [n], 1: exceptional. `least`: what is above the fit by less is not exceptional,
 * a clock's error for example. */
void pp_series_of(const double *value, size_t n, double least, double *room, uint8_t *ret_is_rare, struct pp_series *ret_series);
/* The same with another chance of a course, for a series that is known not to be by chance. */
void pp_series_at(const double *value, size_t n, double least, double chance, double *room, uint8_t *ret_is_rare,
                  struct pp_series *ret_series);
/* Standard deviation of a value from the differences of neighbours: trend, change and rare values do not enter. Room: [n]. */
double pp_series_noise(const double *value, size_t n, double *room);
/* The mean of the two in the middle where n is even; 0 of none. Sorts them. */
double pp_series_median(double *v, size_t n);
