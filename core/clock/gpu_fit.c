/* Sandwiches of kernels into groups of a band; see gpu_fit.h. Called by the keeper. */
#include "core/clock/gpu_fit.h"

int pp_gpu_fit_init(struct pp_gpu_fit *f, const struct pp_gpu_fit_options *o, struct pp_err *err)
{
	struct pp_band_options band = {.rate = o->ticks_per_ns, .tolerance = o->tolerance};

	band.x_unit = o->resolution_ns > 0 ? o->resolution_ns : 32;
	*f = (struct pp_gpu_fit){.bin_ns = o->bin_ns > 0 ? o->bin_ns : 1000000000};
	return pp_band_init(&f->band, &band, err);
}

void pp_gpu_fit_release(struct pp_gpu_fit *f)
{
	pp_band_release(&f->band);
}

/* A group is a bin of GPU time, told by where it began. One that has only launches or only synchronisations goes on into the next
 * bin: alone it would say nothing. */
static struct pp_band_group *group_of(struct pp_gpu_fit *f, int64_t gpu, int64_t tick)
{
	struct pp_band *b = &f->band;

	for (size_t i = b->groups; i > 0; i--) {
		struct pp_band_group *g = &b->group[i - 1];

		if (gpu < g->first)
			continue;
		if (gpu - g->first < f->bin_ns || i < b->groups)
			return g;
		if (!g->ups || !g->downs)
			return g;
		break;
	}
	if (b->groups && gpu < b->group[b->groups - 1].first) {
		f->late++;
		return NULL;
	}
	return pp_band_begin(b, gpu, tick);
}

void pp_gpu_fit_launch(struct pp_gpu_fit *f, int64_t gpu_begin, int64_t tick)
{
	struct pp_band_group *g = group_of(f, gpu_begin, tick);

	if (!g)
		return;
	f->pairs++;
	g->samples++;
	pp_band_down(&f->band, g, gpu_begin, tick);
}

void pp_gpu_fit_sync(struct pp_gpu_fit *f, int64_t gpu_end, int64_t tick)
{
	struct pp_band_group *g = group_of(f, gpu_end, tick);

	if (!g)
		return;
	f->pairs++;
	pp_band_up(&f->band, g, gpu_end, tick);
}

int pp_gpu_fit_pieces(struct pp_gpu_fit *f, int64_t beyond_ns, struct pp_pieces *ret, struct pp_err *err)
{
	int rc = pp_band_solve(&f->band, err);

	return rc ? pp_err_wrap(err, rc, "GPU") : pp_pieces_of_band(&f->band, beyond_ns, ret, err);
}
