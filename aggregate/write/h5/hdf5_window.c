/* /window of pod.h5. Called by hdf5_tables.c. */
#include "aggregate/write/h5/hdf5_tables.h"

#define MEMBER(h, variable, n, array, member)                                                                                      \
	pp_h5_put_member(h, variable, n, (array) ? &(array)->member : NULL, sizeof(*(array)), sizeof((array)->member))

static const char *by(const void *context, size_t i)
{
	(void)i;
	return ((const struct pp_window_told *)context)->by;
}

static const char *kind(const void *context, size_t i)
{
	(void)i;
	return ((const struct pp_window_told *)context)->kind;
}

static const char *channel(const void *context, size_t i)
{
	(void)i;
	return ((const struct pp_window_told *)context)->channel;
}

static const char *what(const void *context, size_t i)
{
	(void)i;
	return ((const struct pp_window_told *)context)->what;
}

static const char *reason(const void *context, size_t i)
{
	return ((const struct pp_window_told *)context)->rank[i].reason;
}

void pp_h5_write_window(struct pp_h5 *h, const struct pp_dataset *d)
{
	const struct pp_window_told *w = &d->window;
	size_t n = w->ranks;

	if (!w->by[0] || !n)
		return;
	pp_h5_group_begin(h, "window");
	pp_h5_dim(h, "worker", n);
	MEMBER(h, "worker", n, w->rank, rank);
	MEMBER(h, "asked_ns", n, w->rank, asked);
	MEMBER(h, "acked_ns", n, w->rank, acked);
	MEMBER(h, "started_ns", n, w->rank, started);
	MEMBER(h, "ended_ns", n, w->rank, ended);
	MEMBER(h, "delivered", n, w->rank, delivered);
	pp_h5_put_texts(h, "reason", n, reason, w);
	pp_h5_put_texts(h, "by", n, by, w);
	pp_h5_put_texts(h, "kind", n, kind, w);
	pp_h5_put_texts(h, "channel", n, channel, w);
	pp_h5_put_texts(h, "request", n, what, w);
	pp_h5_put(h, "tries", &w->tries);
	pp_h5_group_end(h);
}
