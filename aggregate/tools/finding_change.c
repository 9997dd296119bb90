/* The course of ranks' unusual work over all steps, and what follows from it for the usual steps; see finding.h. Called by
 * finding.c. */
#include <errno.h>
#include <stdlib.h>

#include "aggregate/tools/finding.h"

#define CHANGE 0.25 /* of its level, that a course changes it by */
#define COURSE 0.02 /* that ranks which are late anyway are so from a step on, or more and more */

int pp_finding_course(const struct pp_finding_search *f, const uint8_t *chosen, double *more, struct pp_series *ret_course)
{
	const struct pp_dataset *d = f->d;
	uint8_t *is_rare = calloc(d->steps + 1, 1);

	if (!is_rare)
		return -ENOMEM;
	for (size_t s = 0; s < d->steps; s++) {
		more[s] = 0;
		for (size_t w = 0; w < d->workers; w++) {
			const double ns = chosen[w] ? pp_finding_more(f, s, w) : 0;

			more[s] = ns > more[s] ? ns : more[s];
		}
	}
	pp_series_at(more, d->steps, f->least_ns, COURSE, f->room, is_rare, ret_course);
	if (ret_course->level - ret_course->before < CHANGE * ret_course->level)
		ret_course->course = PP_COURSE_STEADY;
	free(is_rare);
	return 0;
}

/* Median time of the steps from `from` on that are not exceptional. */
static double level_of(const struct pp_finding_search *f, size_t from, size_t to)
{
	size_t n = 0;

	for (size_t s = from; s < to; s++)
		if (!f->usual.is_rare[s])
			f->room[n++] = f->usual.time[s];
	return pp_series_median(f->room, n);
}

int pp_finding_change_find(struct pp_finding_search *f, const uint8_t *chosen)
{
	struct pp_usual_steps *u = &f->usual;
	struct pp_series course;
	double before, level;

	if (u->course.course == PP_COURSE_SUDDEN)
		return 0;
	if (pp_finding_course(f, chosen, f->room + 3 * f->d->steps, &course))
		return -ENOMEM;
	if (course.course != PP_COURSE_SUDDEN)
		return 0;
	before = level_of(f, 0, course.onset);
	level = level_of(f, course.onset, f->d->steps);
	if (level - before < (course.level - course.before) / 2) /* other ranks are the last: the step is as usual as before */
		return 0;
	u->course.course = PP_COURSE_SUDDEN;
	u->course.onset = course.onset;
	u->course.before = before;
	u->course.level = level;
	pp_usual_steps_measure(u, f->d->steps);
	pp_finding_steps_measure(f);
	return 1;
}
