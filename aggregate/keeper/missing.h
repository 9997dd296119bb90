/* Reports ranks of the job that do not record, once while it runs. Called by keeper.c with each scan. In: rings and run
 * processes of this host, ranks of the others. Out: a sentence in the control page, which rank 0 prints. */
#pragma once

#include <stdint.h>

#include "aggregate/keeper/cluster/pod.h"
#include "aggregate/spool/view.h"

struct pp_missing {
	int64_t since_ms; /* of the first ring; 0: none yet */
	int reported;
};

/* Only the keeper that has rank 0's ring reports; `pod` NULL: one host. */
void pp_missing_check(struct pp_missing *m, const struct pp_spool_view *v, const struct pp_pod *pod, struct pp_control *control,
                      int64_t now_ms);
/* Where all ranks are on this host: the rank that prints the keeper's message, and a sentence on ranks without podprof, "" where
 * there are none. */
int32_t pp_missing_speaker(const struct pp_spool_view *v);
/* A sentence that names the ranks without podprof; "" where there are none, or they are not known. */
void pp_missing_text(const struct pp_spool_view *v, char *text, size_t size);
