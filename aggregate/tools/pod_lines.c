/* Makes the lines about a finding; see pod_lines.h. */
#include "aggregate/tools/pod_lines.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "aggregate/dataset/dataset.h"
#include "aggregate/tools/finding_word.h"
#include "aggregate/tools/sums.h"
#include "aggregate/tools/usual_step.h"
#include "core/base/known.h"
#include "core/base/units.h"

static int is_of_ranks(const struct pp_row_finding *f)
{
	return f->kind == PP_FINDING_LINK || pp_finding_names_ranks(f);
}

/* The largest row of /blame of the lowest rank that the finding names, or of its link. */
static const struct pp_row_blame *find_blame(const struct pp_dataset *d, const struct pp_row_finding *f)
{
	const int is_link = f->kind == PP_FINDING_LINK;
	const struct pp_row_blame *most = NULL;

	for (size_t i = 0; i < d->blames && is_of_ranks(f); i++) {
		const struct pp_row_blame *b = &d->blame[i];

		if ((b->reason == PP_REASON_LINK) == is_link && b->worker == (is_link ? f->finding_peer : f->finding_worker) &&
		    (!most || b->blame_ns > most->blame_ns))
			most = b;
	}
	return most;
}

static void say_what_if(const struct pp_row_finding *f, struct pp_pod_lines *l)
{
	char after[PP_TEXT_UNIT], before[PP_TEXT_UNIT];

	if (!is_of_ranks(f) || f->finding_gain_ns <= 0)
		return;
	snprintf(l->what_if, sizeof(l->what_if), "%s were as fast as %s: %s step would take %s, not %s (replay)", f->who,
	         f->kind == PP_FINDING_LINK ? "the usual links" : "the median of the others",
	         f->of_steps > 1 ? "a mean usual" : "the", pp_text_time(after, f->usual_ns - f->finding_gain_ns),
	         pp_text_time(before, f->usual_ns));
}

/* The dearest advice that is about all ranks or about a rank that the finding names: another one's would be a second cause. */
static void say_advice(const struct pp_dataset *d, const struct pp_row_finding *f, struct pp_pod_lines *l)
{
	const int names = f && pp_finding_names_ranks(f);
	const struct pp_row_advice *most = NULL;

	for (size_t i = 0; i < d->advices; i++) {
		const struct pp_row_advice *a = &d->advice[i];

		if (!pp_is_known(a->cost_ns) || !a->cost_ns) /* a caution; of an older file 0 */
			continue;
		l->more++;
		if (a->advice_worker >= 0 && f && d->workers > 1 &&
		    (!names || f->finding_ranks > 1 || a->advice_worker != f->finding_worker))
			continue;
		if (!most || a->cost_ns > most->cost_ns)
			most = a;
	}
	if (!most) { /* how many more there are is a remark on the one that is said */
		l->more = 0;
		return;
	}
	l->more--;
	l->advice_row = most;
	snprintf(l->advice, sizeof(l->advice), "%s%s%s", most->advice, most->evidence[0] ? ". Evidence: " : "", most->evidence);
}

/* A file from elsewhere may hold anything. */
static int is_efficiency(double value)
{
	return value > 0 && value <= 1;
}

enum { PERCENT = 32 };

static const char *percent(char *text, double efficiency)
{
	if (efficiency < 0.0005)
		snprintf(text, PERCENT, "below 0.1 %%");
	else
		snprintf(text, PERCENT, "%.*f %%", efficiency < 0.0995, 100 * efficiency);
	return text;
}

/* "parallel 71 % of the usual step (POP): load balance 82 %, serialisation 95 %, transfer 91 %" */
static void say_efficiency(const struct pp_dataset *d, struct pp_pod_lines *l)
{
	const struct pp_row_efficiency *e = d->efficiencies ? d->efficiency : NULL;
	char one[PERCENT], two[PERCENT], devices[64] = "";
	size_t length;

	if (!e || !is_efficiency(e->parallel) || !is_efficiency(e->load_balance) || !is_efficiency(e->communication))
		return;
	l->efficiency_row = e;
	if (e->of_devices && e->of_devices < e->of_ranks)
		snprintf(devices, sizeof(devices), " on the devices of %" PRIu32 " of %" PRIu32 " ranks", e->of_devices,
		         e->of_ranks);
	else if (e->of_devices)
		snprintf(devices, sizeof(devices), " on devices");
	snprintf(l->efficiency, sizeof(l->efficiency), "parallel %s of %s%s (POP): load balance %s, ", percent(one, e->parallel),
	         pp_usual_steps_name(d), devices, percent(two, e->load_balance));
	length = strlen(l->efficiency);
	if (is_efficiency(e->serialisation) && is_efficiency(e->transfer))
		snprintf(l->efficiency + length, sizeof(l->efficiency) - length, "serialisation %s, transfer %s",
		         percent(one, e->serialisation), percent(two, e->transfer));
	else
		snprintf(l->efficiency + length, sizeof(l->efficiency) - length,
		         "communication %s; its parts, serialisation and transfer, are unknown", percent(one, e->communication));
}

void pp_pod_lines_of(const struct pp_dataset *d, const struct pp_row_finding *finding, struct pp_pod_lines *ret_lines)
{
	*ret_lines = (struct pp_pod_lines){.more = 0};
	if (finding) {
		ret_lines->blame_row = find_blame(d, finding);
		say_what_if(finding, ret_lines);
	}
	say_advice(d, finding, ret_lines);
	say_efficiency(d, ret_lines);
}
