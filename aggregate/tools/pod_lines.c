/* Makes the lines about the pod; see pod_lines.h. */
#include "aggregate/tools/pod_lines.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "aggregate/dataset/dataset.h"
#include "aggregate/dataset/table/functions.h"
#include "aggregate/tools/sums.h"
#include "core/base/units.h"
#include "core/step/category.h"

enum { LEAST_PERCENT = 1 };
static const double LEAST_CONFIDENCE = 0.5;

const char *pp_straggler_class_name(int class)
{
	static const char *const name[] = {"none",     "persistent rank", "persistent host", "persistent role",
	                                   "rotating", "one-off",         "periodic"};

	return class >= 0 && class < (int)(sizeof(name) / sizeof(name[0])) ? name[class] : "unknown";
}

/* Of blame the largest that is more than a tie, and worth a line. */
static void say_blame(const struct pp_dataset *d, const struct pp_sums *s, struct pp_pod_lines *l)
{
	const struct pp_row_blame *most = NULL;
	char a[PP_TEXT_UNIT], b[PP_TEXT_UNIT];
	const int64_t steps = (int64_t)d->steps;

	for (size_t i = 0; i < d->blames; i++)
		if (d->blame[i].blame_ns > d->blame[i].error_ns && (!most || d->blame[i].blame_ns > most->blame_ns))
			most = &d->blame[i];
	if (!most || !steps || pp_sums_percent(most->blame_ns, s->all_ns) < LEAST_PERCENT)
		return;
	l->blame_row = most;
	snprintf(l->blame, sizeof(l->blame),
	         "rank %" PRId32 ", %s: the ranks together wait %s per step because of it (%.0f %% of all waiting, %" PRIu32
	         " of %" PRId64 " steps",
	         most->worker, pp_reason_name(most->reason), pp_text_time(a, most->blame_ns / steps),
	         pp_sums_percent(most->blame_ns, s->wait_ns), most->steps, steps);
	if (most->error_ns > 0)
		snprintf(l->blame + strlen(l->blame), sizeof(l->blame) - strlen(l->blame), ", clock error <= %s per step)",
		         pp_text_time(b, most->error_ns / steps + 1));
	else
		snprintf(l->blame + strlen(l->blame), sizeof(l->blame) - strlen(l->blame), ")");
}

static void say_pattern(const struct pp_dataset *d, const struct pp_sums *s, struct pp_pod_lines *l)
{
	const struct pp_row_straggler_class *most = NULL;

	for (size_t i = 0; i < d->straggler_classes; i++) {
		const struct pp_row_straggler_class *c = &d->straggler_class[i];

		if (c->class && c->confidence >= LEAST_CONFIDENCE && (!most || c->class_ns > most->class_ns))
			most = c;
	}
	if (!most || pp_sums_percent(most->class_ns, s->all_ns) < LEAST_PERCENT)
		return;
	l->class_row = most;
	snprintf(l->pattern, sizeof(l->pattern), "%s (%s, confidence %.2f)", most->what, pp_straggler_class_name(most->class),
	         most->confidence);
}

static void say_what_if(const struct pp_dataset *d, struct pp_pod_lines *l)
{
	const struct pp_row_what_if *most = NULL;
	char a[PP_TEXT_UNIT], b[PP_TEXT_UNIT], c[PP_TEXT_UNIT];

	for (size_t i = 0; i < d->what_ifs; i++)
		if (!most || d->what_if[i].gain_ns > most->gain_ns)
			most = &d->what_if[i];
	if (!most || most->gain_ns <= 0 || pp_sums_percent(most->gain_ns, most->before_ns) < LEAST_PERCENT)
		return;
	l->what_if_row = most;
	snprintf(l->what_if, sizeof(l->what_if), "%s: mean step %s instead of %s, %s less (replayed)", most->what_if,
	         pp_text_time(a, most->after_ns), pp_text_time(b, most->before_ns), pp_text_time(c, most->gain_ns));
}

/* The dearest advice. The pattern's evidence is the pattern line, which stands before. */
static void say_advice(const struct pp_dataset *d, struct pp_pod_lines *l)
{
	const struct pp_row_advice *most = NULL;
	const char *evidence;

	for (size_t i = 0; i < d->advices; i++) {
		if (!d->advice[i].cost_ns) /* a caution */
			continue;
		l->more += most != NULL;
		if (!most || d->advice[i].cost_ns > most->cost_ns)
			most = &d->advice[i];
	}
	if (!most)
		return;
	l->advice_row = most;
	evidence = l->class_row && strstr(most->rule, "straggler") ? "" : most->evidence;
	snprintf(l->advice, sizeof(l->advice), "%s%s%s", most->advice, evidence[0] ? ". Evidence: " : "", evidence);
}

void pp_pod_lines_of(const struct pp_dataset *d, const struct pp_sums *s, struct pp_pod_lines *ret_lines)
{
	*ret_lines = (struct pp_pod_lines){.more = 0};
	say_blame(d, s, ret_lines);
	say_pattern(d, s, ret_lines);
	say_what_if(d, ret_lines);
	say_advice(d, ret_lines);
}
