/* Training steps of a ring; see step.h. */
#include "aggregate/read/ring/step.h"

#include "core/capture/side.h"

struct steps { /* of a ring */
	uint64_t ended;
	struct pp_step_ended last[PP_STEPS_ENDED]; /* by their count */
};

struct open {                 /* of a thread */
	struct pp_span *step; /* NULL: none */
};

static void end_of_step(struct pp_track *track, struct open *open, const struct pp_record *r)
{
	struct steps *steps = pp_pair_state(track->pair, PP_READER_STEP, sizeof(*steps));
	const struct pp_span *s = open->step;

	pp_track_end_span(open->step, (int64_t)r->tick, 0);
	open->step = NULL;
	if (steps)
		steps->last[steps->ended++ % PP_STEPS_ENDED] =
		        (struct pp_step_ended){.number = s->step.number, .begin = s->begin, .end = s->end};
}

static void begin(struct pp_track *track, const struct pp_record *r, const char *text, size_t length)
{
	struct open *open = pp_track_state(track, PP_READER_STEP, sizeof(*open));
	struct pp_span *s;

	(void)text;
	(void)length;
	if (!open) {
		track->pair->lost[PP_LOSS_EVICTED]++;
		return;
	}
	if (open->step)
		end_of_step(track, open, r);
	s = open->step = pp_track_add(track, PP_SPAN_STEP, (int64_t)r->tick, 0);
	if (!s)
		return;
	s->step = (struct pp_span_step){.number = r->step.number,
	                                .known_from = (int64_t)r->step.known_from,
	                                .matched = r->step.matched,
	                                .irregular = r->step.irregular,
	                                .period = r->step.period,
	                                .level = r->step.level};
	s->flags = PP_SPAN_OPEN;
}

static void end(struct pp_track *track, const struct pp_record *r, const char *text, size_t length)
{
	struct open *open = track->state[PP_READER_STEP];

	(void)text;
	(void)length;
	if (open && open->step)
		end_of_step(track, open, r);
	else
		track->pair->lost[PP_LOSS_UNBALANCED] += pp_track_is_unbalanced(track);
}

/* While recording was off the step, whose window ends its own, has lost an unknown time. */
static void thread_end(struct pp_track *track, enum pp_track_end why)
{
	struct open *open = track->state[PP_READER_STEP];

	if (!open || !open->step || why == PP_TRACK_TORN)
		return;
	pp_track_end_span(open->step, track->last, (why == PP_TRACK_OFF ? PP_SPAN_CUT_BEGIN : 0) | PP_SPAN_CUT_END);
	open->step = NULL;
}

static void moved(struct pp_track *track, const struct pp_span *old, struct pp_span *to)
{
	struct open *open = track->state[PP_READER_STEP];

	if (open && open->step == old)
		open->step = to;
}

uint64_t pp_steps_ended(const struct pp_pair *p)
{
	const struct steps *steps = p->state[PP_READER_STEP];

	return steps ? steps->ended : 0;
}

const struct pp_step_ended *pp_step_ended(const struct pp_pair *p, uint64_t n)
{
	const struct steps *steps = p->state[PP_READER_STEP];

	return steps && n < steps->ended && steps->ended - n <= PP_STEPS_ENDED ? &steps->last[n % PP_STEPS_ENDED] : NULL;
}

static const struct pp_reader_kind kinds[] = {
        {.kind = PP_RECORD_STEP_BEGIN, .take = begin},
        {.kind = PP_RECORD_STEP_END, .take = end},
        {.kind = PP_RECORD_NONE},
};

const struct pp_reader_ops pp_reader_step = {
        .name = "step",
        .kinds = kinds,
        .thread_end = thread_end,
        .moved = moved,
};
