/* The share of the recorded time that a session holds. In: ranks in job time. Out: recorded_ns and kept_ns of workers, and the
 * sentence on them. */
#pragma once

#include <stddef.h>

enum { PP_COVERAGE_TEXT = 48 };

struct pp_dataset;
struct pp_rank;
struct pp_row_worker;
void pp_coverage_worker(struct pp_row_worker *w, const struct pp_rank *rank);
/* "6 % of the run", or of the window: 1; 0 and "" where all of it is held. */
int pp_coverage_text(const struct pp_dataset *d, char *text, size_t size);
/* The base of percentages in a session without steps: "the run", "the window", ... */
const char *pp_coverage_base(const struct pp_dataset *d);
