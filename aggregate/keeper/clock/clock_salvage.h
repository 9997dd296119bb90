/* Makes the chains of lines between hosts whose spools are salvaged together, from the files that their keepers kept. Called by
 * salvage.c. In: spools, and the rings that were read of each. Out: pp_salvage_clocks for close.c, and notes about hosts that are
 * not joined. */
#pragma once

#include "aggregate/keeper/clock/clock_file.h"
#include "aggregate/session/salvage_clock.h"
#include "aggregate/session/warnings.h"

struct pp_clock_salvage { /* one spool */
	struct pp_clock_saved saved;
	int has_file;
	size_t ring, rings; /* to be filled after its rings were read */
	char why[300];      /* its clock is not joined */
};

/* Reads the files, and puts the spool that defines job time first: that of rank 0's host, else the first with a file. To be freed
 * by pp_clock_salvage_release(), also without memory (NULL). */
struct pp_clock_salvage *pp_clock_salvage_read(char **spool, size_t spools);
void pp_clock_salvage_release(struct pp_clock_salvage *spool, size_t spools);
/* -ENOMEM. Hosts are joined as far as their files allow. */
int pp_clock_salvage_join(struct pp_clock_salvage *spool, size_t spools, const struct pp_rings *r, struct pp_warnings *warnings,
                          struct pp_salvage_clocks *ret, struct pp_err *err);
