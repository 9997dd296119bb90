/* Keeps the rings that are read in step with the view of the spool; see records.h. */
#include "aggregate/keeper/records.h"

#include <stdarg.h>
#include <stdio.h>

int pp_records_scan(struct pp_rings *r, struct pp_spool_view *v, struct pp_warnings *warnings)
{
	size_t refused = v->refused;
	int opened = pp_spool_scan(v);
	struct pp_err err;

	while (pp_rings_count(r) < pp_spool_count(v)) {
		const struct pp_spool_ring *ring = &v->ring[pp_rings_count(r)];

		if (!pp_rings_add(r, ring->path, ring->drain, &err))
			continue;
		pp_spool_refuse(v, err.text);
		pp_spool_drop(v, pp_rings_count(r));
	}
	for (; refused < v->refused; refused++)
		pp_warnings_add(warnings, "%s", v->refusal[refused]);
	return opened;
}

void pp_records_refuse(struct pp_spool_view *v, struct pp_warnings *warnings, const char *fmt, ...)
{
	char why[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(why, sizeof(why), fmt, args);
	va_end(args);
	pp_spool_refuse(v, why);
	pp_warnings_add(warnings, "%s", why);
}

void pp_records_drop(struct pp_rings *r, struct pp_spool_view *v, size_t index)
{
	pp_rings_take_out(r, index);
	pp_spool_drop(v, index);
}

void pp_records_release(struct pp_rings *r, struct pp_spool_view *v)
{
	pp_rings_free(r);
	pp_spool_view_release(v);
}
