/* Eras and steps of the wall clock; see wall.h. Called by the keeper. */
#include "core/clock/wall.h"

#include <errno.h>
#include <string.h>

#include "core/clock/band_solve.h"
#include "core/clock/pieces_make.h"

enum { GROUPS = 512 };
#define BEYOND_NS INT64_C(3600000000000) /* a rank may be reported before the first reading */
static const double SLEW_MOST = 0.1;     /* chrony slews by up to 83333 ppm, the kernel's own adjtime by 500 */

static int new_era(struct pp_wall *w, const struct pp_wall_sample *s, struct pp_err *err)
{
	struct pp_band_options o = {.rate = w->ticks_per_ns, .tolerance = SLEW_MOST, .groups = GROUPS};
	struct pp_wall_era era = {.realtime_first = s->realtime_ns, .tick_first = s->tick_before};
	int rc = pp_band_init(&era.band, &o, err);

	if (rc)
		return rc;
	if (w->eras == PP_WALL_ERAS) { /* the first era is kept: the job began in it */
		pp_band_release(&w->era[1].band);
		memmove(&w->era[1], &w->era[2], (PP_WALL_ERAS - 2) * sizeof(w->era[0]));
		w->eras--;
		w->eras_lost++;
	}
	w->era[w->eras++] = era;
	return 0;
}

int pp_wall_init(struct pp_wall *w, double ticks_per_ns, struct pp_err *err)
{
	if (!(ticks_per_ns > 0))
		return pp_err_set(err, -EINVAL, "cannot follow the wall clock: its rate is not known");
	*w = (struct pp_wall){.ticks_per_ns = ticks_per_ns};
	return 0;
}

void pp_wall_release(struct pp_wall *w)
{
	for (uint32_t i = 0; i < w->eras; i++)
		pp_band_release(&w->era[i].band);
	memset(w, 0, sizeof(*w));
}

/* The two clocks of one kernel were read between the two ticks: their difference is off by at most that time. */
static int64_t width_ns(const struct pp_wall *w, const struct pp_wall_sample *s)
{
	return (int64_t)((double)(s->tick_after - s->tick_before) / w->ticks_per_ns) + 1;
}

static int find_event(struct pp_wall *w, const struct pp_wall_sample *s, enum pp_wall_event event, int64_t before, int64_t now)
{
	int64_t by = now - before, error = width_ns(w, s) + width_ns(w, &w->last);

	if (by <= error && by >= -error)
		return 0;
	if (w->steps == PP_WALL_STEPS) {
		memmove(w->step, w->step + 1, (PP_WALL_STEPS - 1) * sizeof(w->step[0]));
		w->steps--;
		w->steps_lost++;
	}
	w->step[w->steps++] = (struct pp_wall_step){event, w->last.tick_before, s->tick_after, by, error};
	return 1;
}

int pp_wall_add(struct pp_wall *w, const struct pp_wall_sample *s)
{
	struct pp_band_group *g;
	struct pp_wall_era *era;
	int stepped = 0, rc = 0;

	if (w->samples) {
		stepped = find_event(w, s, PP_WALL_STEPPED, w->last.realtime_ns - w->last.boottime_ns,
		                     s->realtime_ns - s->boottime_ns);
		stepped |= find_event(w, s, PP_WALL_SUSPENDED, w->last.boottime_ns - w->last.monotonic_ns,
		                      s->boottime_ns - s->monotonic_ns);
	}
	if (!w->samples || stepped)
		rc = new_era(w, s, &w->err);
	if (rc)
		return rc;
	w->samples++;
	w->last = *s;
	era = &w->era[w->eras - 1];
	era->realtime_last = s->realtime_ns;
	era->tick_last = s->tick_before;
	g = pp_band_begin(&era->band, s->realtime_ns, s->tick_before);
	pp_band_up(&era->band, g, s->realtime_ns, s->tick_after);
	pp_band_down(&era->band, g, s->realtime_ns, s->tick_before);
	g->samples = 1;
	return stepped;
}

static int64_t away(const struct pp_wall_era *era, int64_t realtime_ns)
{
	if (realtime_ns < era->realtime_first)
		return era->realtime_first - realtime_ns;
	return realtime_ns > era->realtime_last ? realtime_ns - era->realtime_last : 0;
}

int pp_wall_pieces(struct pp_wall *w, int64_t realtime_ns, int64_t beyond_ns, struct pp_pieces *ret, struct pp_err *err)
{
	struct pp_wall_era *nearest = &w->era[0];
	int rc;

	if (!w->eras)
		return pp_err_set(err, -ENODATA, "cannot map dates: the wall clock was never read");
	for (uint32_t i = 1; i < w->eras; i++)
		if (away(&w->era[i], realtime_ns) <= away(nearest, realtime_ns))
			nearest = &w->era[i];
	if (w->eras_lost && away(nearest, realtime_ns) && (nearest < &w->era[w->eras - 1] || realtime_ns < nearest->realtime_first))
		return pp_err_set(err, -ERANGE, "cannot map a date: too many steps of the wall clock were seen around it");
	rc = pp_band_solve(&nearest->band, err);
	return rc ? rc : pp_pieces_of_band(&nearest->band, beyond_ns, ret, err);
}

/* Sum of the steps between the era's end and `tick`: eras in between are dropped, their steps are kept. */
static int64_t stepped_since(const struct pp_wall *w, const struct pp_wall_era *era, int64_t tick, int64_t *error_ns)
{
	int64_t by = 0;

	if (w->steps_lost && tick > era->tick_last && w->step[0].tick_after_which > era->tick_last)
		*error_ns = INT64_MAX;
	for (uint32_t i = 0; i < w->steps; i++) {
		const struct pp_wall_step *s = &w->step[i];

		if (s->tick_after_which < era->tick_last || s->tick_before_which > tick)
			continue;
		by += s->by_ns;
		/* some processors' counters run on while the host sleeps */
		*error_ns = *error_ns < INT64_MAX && s->event == PP_WALL_STEPPED ? *error_ns + s->error_ns : INT64_MAX;
	}
	return by;
}

int pp_wall_date(struct pp_wall *w, int64_t tick, int64_t *ret_realtime_ns, int64_t *ret_error_ns, struct pp_err *err)
{
	struct pp_wall_era *era = &w->era[0];
	struct pp_pieces chain;
	int64_t bound;
	int rc;

	if (!w->eras)
		return pp_err_set(err, -ENODATA, "cannot give the date: the wall clock was never read");
	for (uint32_t i = 1; i < w->eras && w->era[i].tick_first <= tick; i++)
		era = &w->era[i];
	rc = pp_band_solve(&era->band, err);
	if (!rc)
		rc = pp_pieces_of_band(&era->band, BEYOND_NS, &chain, err);
	if (rc)
		return rc;
	*ret_realtime_ns = pp_pieces_inverse(&chain, tick);
	bound = pp_pieces_bound(&chain, *ret_realtime_ns);
	*ret_error_ns = bound < INT64_MAX ? (int64_t)((double)bound / w->ticks_per_ns) + 2 : INT64_MAX;
	*ret_realtime_ns += stepped_since(w, era, tick, ret_error_ns);
	pp_pieces_release(&chain);
	return 0;
}
