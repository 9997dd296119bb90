/* Two lists of won time as one. Called by step_attr.c, thread by thread. */
#include "core/step/attr_flat.h"

#include <errno.h>

static void put(struct pp_flats *out, const struct pp_flat *f, int64_t end)
{
	struct pp_flat *last = out->flats ? &out->flat[out->flats - 1] : NULL;

	if (last && last->end == f->begin && last->span == f->span && last->thread == f->thread) {
		last->end = end;
		return;
	}
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): room for all was made before */
	out->flat[out->flats] = *f;
	out->flat[out->flats++].end = end;
}

/* `high` keeps its time; what of `low` lies before it is put, what lies under it is lost. Returns 1 when `low` is used up. */
static int cover(const struct pp_flat *high, struct pp_flat *low, struct pp_flats *out)
{
	if (low->begin < high->begin)
		put(out, low, high->begin);
	if (low->end <= high->end)
		return 1;
	low->begin = high->end;
	return 0;
}

int pp_flat_merge(const struct pp_flat *a, size_t as, const struct pp_flat *b, size_t bs, struct pp_flats *out)
{
	size_t i = 0, k = 0;
	struct pp_flat x, y;

	/* Each one may be cut once by each of the other list. */
	if (pp_flats_reserve(out, 2 * (as + bs)) < 0)
		return -ENOMEM;
	if (as)
		x = a[0];
	if (bs)
		y = b[0];
	while (i < as && k < bs) {
		int x_done = 0, y_done = 0;

		if (x.end <= y.begin) {
			put(out, &x, x.end);
			x_done = 1;
		} else if (y.end <= x.begin) {
			put(out, &y, y.end);
			y_done = 1;
		} else if (x.weight >= y.weight) {
			y_done = cover(&x, &y, out);
		} else {
			x_done = cover(&y, &x, out);
		}
		if (x_done && ++i < as)
			x = a[i];
		if (y_done && ++k < bs)
			y = b[k];
	}
	for (; i < as; x = ++i < as ? a[i] : x)
		put(out, &x, x.end);
	for (; k < bs; y = ++k < bs ? b[k] : y)
		put(out, &y, y.end);
	return 0;
}
