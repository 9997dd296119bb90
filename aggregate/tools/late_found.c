/* Patterns of delays; see late_found.h. Called by late_pattern.c and late_event.c. */
#include "aggregate/tools/late_found.h"

void pp_late_add(struct pp_late_patterns *to, const struct pp_late_pattern *p)
{
	if (to->patterns < PP_LATE_PATTERNS)
		to->pattern[to->patterns++] = *p;
	else
		to->left_out++;
}

int pp_late_reason(const double weight[PP_REASONS])
{
	int best = 0;

	for (int i = 1; i < PP_REASONS; i++)
		if (weight[i] > weight[best])
			best = i;
	return best;
}

double pp_late_confidence(double share, double ns, double noise_ns, size_t steps)
{
	double c = share * (ns > 0 ? ns / (ns + noise_ns) : 0) * (double)steps / ((double)steps + 2);

	return c > 1 ? 1 : c;
}

double pp_late_noise(struct pp_late_series *k)
{
	for (size_t s = 0; s < k->steps; s++)
		k->scratch[s] = k->total[s];
	return pp_quantile(k->scratch, k->steps, 0.5);
}
