/* One sentence: what limits this job, and by how much. In: pp_dataset. Out: summary.txt, the report, the lines of rank 0. */
#ifndef PP_ANALYZE_VERDICT_H
#define PP_ANALYZE_VERDICT_H

#include <stddef.h>

struct pp_dataset;

/* Always a sentence, without full stop or newline, cut at `size`. */
void pp_verdict(const struct pp_dataset *d, char *text, size_t size);

#endif
