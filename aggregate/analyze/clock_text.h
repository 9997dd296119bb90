/* Sentences on hosts' clocks, for summary and warnings alike. In: pp_host_clock. Out: text. Called by quality.c and
 * write/text/text_clock.c. */
#pragma once

#include "aggregate/dataset/dataset.h"

enum { PP_CLOCK_TEXT = 160 };

/* Why this clock is not joined with rank 0's. Returns `text`. */
const char *pp_clock_why(const struct pp_row_host_clock *c, char text[PP_CLOCK_TEXT]);
/* "the date of host h1 was set by -2.00 ms +- 3 us, between 1.20 s and 2.20 s of the window". Returns `text`. */
const char *pp_clock_change(const struct pp_dataset *d, const struct pp_row_host_clock *c, const struct pp_row_clock_change *change,
                            char text[PP_CLOCK_TEXT]);
/* Warnings of changes of the date, sleeps and clocks that are not joined; each begins with PP_CLOCK_WARNING. */
void pp_quality_warn_clocks(struct pp_dataset *d);

#define PP_CLOCK_WARNING "clock: "
