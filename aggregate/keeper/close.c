/* Finishes the rings, sets statuses, maps the clock, writes. Called by keeper.c and salvage.c. */
#include "aggregate/keeper/close.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "aggregate/keeper/message.h"
#include "aggregate/read/cut.h"

enum { SALVAGE_PAIR_MS = 200, PAIR_MS = 20 };

enum pp_tick_kind pp_close_tick_kind(const struct pp_rings *r)
{
	return pp_rings_count(r) ? (enum pp_tick_kind)pp_rings_header(r, 0)->tick_kind : PP_TICK_RAW;
}

/* Ring that was opened first: job ns 0 stands there. */
static const struct pp_ring_header *first_ring(const struct pp_rings *r)
{
	const struct pp_ring_header *first = pp_rings_header(r, 0);

	for (size_t i = 1; i < pp_rings_count(r); i++) {
		const struct pp_ring_header *h = pp_rings_header(r, i);

		if (h->tick_kind == first->tick_kind && h->open_tick < first->open_tick)
			first = h;
	}
	return first;
}

static int read_clock(const struct pp_rings *r, const struct pp_clock_pair *given, struct pp_clock_map *map, int64_t *ret_epoch_ns,
                      struct pp_err *err)
{
	struct timespec pause = {.tv_nsec = (given ? PAIR_MS : SALVAGE_PAIR_MS) * 1000000L};
	const struct pp_ring_header *h = first_ring(r);
	enum pp_tick_kind kind = (enum pp_tick_kind)h->tick_kind;
	struct pp_clock_pair a, b;
	int rc;

	if (given)
		a = *given;
	else
		pp_clock_read_pair(kind, &a);
	nanosleep(&pause, NULL);
	pp_clock_read_pair(kind, &b);
	rc = pp_clock_map_init(map, kind, &a, &b, h->open_tick, err);
	/* A dead job's ticks may be of an earlier boot: only its own reading tells the date. */
	*ret_epoch_ns = given && !rc ? b.realtime_ns - pp_clock_map_ns(map, b.tick) : h->open_realtime_ns;
	return rc;
}

static int cut_ranks(const struct pp_close *c, struct pp_capture *capture, struct pp_err *err)
{
	for (size_t i = 0; i < capture->ranks; i++)
		for (size_t k = 0; k < c->ranges; k++)
			if (c->range[k].rank == capture->rank[i].rank &&
			    pp_rank_cut(&capture->rank[i], c->range[k].from, c->range[k].to))
				return pp_err_set(err, -ENOMEM, "no memory to cut out the window: give --window-buffer less");
	return 0;
}

int pp_close_session(const struct pp_close *c, struct pp_err *err)
{
	struct pp_session_options options = *c->options;
	struct pp_capture capture = {0};
	struct pp_clock_map map;
	int rc;

	if (!pp_rings_count(c->view->rings) && c->view->refused)
		return pp_err_set(err, -EPROTO, "%s", c->view->notes.text[0]);
	if (!pp_rings_count(c->view->rings)) {
		pp_message_copy(c->message, c->message_size,
		                "no session was written: no rank came (no MPI call, no step, no range)");
		return 0;
	}
	rc = pp_rings_finish(c->view->rings, &capture, err);
	if (rc)
		return rc;
	if (c->sampler)
		pp_sampler_give(c->sampler, c->view->rings, &capture);
	pp_notes_of_rings(c->view->rings, &capture, options.salvaged, &c->view->notes);
	options.warning = c->view->notes.list;
	rc = cut_ranks(c, &capture, err);
	if (!rc)
		rc = read_clock(c->view->rings, c->first, &map, &capture.epoch_realtime_ns, err);
	if (!rc)
		rc = pp_session_write(&capture, &map, &options, c->message, c->message_size, err);
	pp_capture_release(&capture);
	return rc;
}
