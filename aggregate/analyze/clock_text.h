/* Sentences on hosts' clocks, for summary and warnings alike. In: pp_host_clock. Out: text. Called by quality.c and
 * write/text/text_clock.c. */
#pragma once

#include "aggregate/dataset/dataset.h"

enum { PP_CLOCK_TEXT = 224, PP_CLOCK_LAST = 400 };

/* Was it read by podprof salvage? */
int pp_clock_is_salvaged(const struct pp_dataset *d);
/* Why this clock is not joined with rank 0's. Returns `text`. */
const char *pp_clock_why(const struct pp_dataset *d, const struct pp_row_host_clock *c, char text[PP_CLOCK_TEXT]);
/* "the date of host h1 was set by -2.00 ms +- 3 us, between 1.20 s and 2.20 s of the window". Returns `text`. */
const char *pp_clock_change(const struct pp_dataset *d, const struct pp_row_host_clock *c, const struct pp_row_clock_change *change,
                            char text[PP_CLOCK_TEXT]);
/* Hosts whose comparisons ended before their records did: since when, and the clock error at the end, which grows from the last
 * comparison on. Returns how many there are; 0: there is nothing to say. */
size_t pp_clock_last_compared(const struct pp_dataset *d, char text[PP_CLOCK_LAST]);
/* Warnings of changes of the date, sleeps and clocks that are not joined; each begins with PP_CLOCK_WARNING. */
void pp_quality_warn_clocks(struct pp_dataset *d);

#define PP_CLOCK_WARNING "clock: "
