/* What the parts of the search for findings share: the usual step, and rows; see finding.h. Called by finding.c and its parts. */
#include "aggregate/graph/replay.h"
#include "aggregate/tools/finding.h"

void pp_finding_steps_measure(struct pp_finding_search *f)
{
	f->step_ns = pp_replay_measured(f->d, f->usual.is_usual);
	f->least_ns = (double)f->step_ns * PP_FINDING_LEAST;
}

struct pp_row_finding *pp_finding_add(struct pp_finding_search *f, enum pp_finding_kind kind, int reason, int64_t gain_ns)
{
	struct pp_row_finding *row = pp_table_add(f->to);

	if (!row)
		return NULL;
	row->kind = (pp_c_CODE)kind;
	row->finding_worker = row->finding_peer = -1;
	row->finding_reason = (pp_c_CODE)reason;
	row->usual_ns = f->step_ns;
	row->finding_gain_ns = gain_ns;
	row->finding_steps = row->of_steps = (uint32_t)f->usual.usuals;
	row->finding_first = f->d->step[0].number;
	return row;
}
