/* Bounds of a device's clock; see device_skew.h. Called by device_link.c. */
#include "aggregate/read/ring/device_skew.h"

#include "core/capture/rank.h"
#include "core/capture/side.h"

struct pp_device_skew *pp_device_skew_of(struct pp_rank *rank, size_t from, uint32_t device)
{
	struct pp_device_skew one = {.device = device, .is_low = 0};

	for (size_t i = from; i < rank->skews; i++)
		if (rank->skew[i].device == device)
			return &rank->skew[i];
	one.base = one.low = one.high = one.shift = rank->open_tick;
	return pp_side_append(rank, PP_SIDE_ID_skew, &one, 1) ? NULL : &rank->skew[rank->skews - 1];
}

void pp_device_skew_launched(struct pp_device_skew *s, int64_t call, int64_t began)
{
	int64_t least = s->base + (call - began);

	if (!s->is_low || least > s->low)
		s->low = least;
	s->is_low = 1;
}

void pp_device_skew_waited(struct pp_device_skew *s, int64_t call, int64_t ended)
{
	int64_t most = s->base + (call - ended);

	if (!s->is_high || most < s->high)
		s->high = most;
	s->is_high = 1;
}

int64_t pp_device_skew_shift(const struct pp_device_skew *s, int *ret_usable)
{
	int64_t low = s->is_low ? s->low - s->base : INT64_MIN, high = s->is_high ? s->high - s->base : INT64_MAX;

	*ret_usable = low <= high;
	if (low > high)
		return 0;
	return low > 0 ? low : high < 0 ? high : 0;
}
