/* The rings of a view as the keeper and salvage read them. In: a view of a spool. Out: the same rings in the same order, for
 * records, and warnings of those that cannot be read. Called by keeper.c and salvage_rings.c. */
#pragma once

#include "aggregate/read/ring/rings.h"
#include "aggregate/session/warnings.h"
#include "aggregate/spool/view.h"

/* Scans the spool and adds its new rings to `r`. Returns what pp_spool_scan() returns. */
int pp_records_scan(struct pp_rings *r, struct pp_spool_view *v, struct pp_warnings *warnings);
/* Counts the whole spool as one ring that cannot be read, with the reason as a warning. */
void pp_records_refuse(struct pp_spool_view *v, struct pp_warnings *warnings, const char *fmt, ...)
        __attribute__((format(printf, 3, 4)));
/* Takes ring `index` out of both. */
void pp_records_drop(struct pp_rings *r, struct pp_spool_view *v, size_t index);
/* Frees both. */
void pp_records_release(struct pp_rings *r, struct pp_spool_view *v);
