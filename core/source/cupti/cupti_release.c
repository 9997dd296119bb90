/* The table of releases; see cupti_release.h. Called by cupti_session.c. Versions are those of cuptiGetVersion(), which NVIDIA's
 * cupti_version.h lists: 18 is CUDA 11.8, 19 is 12.0, 23 is 12.5, 24 is 12.6. All rows are of public reports, none of a device that
 * podprof ran on. */
#include "core/source/cupti/cupti_release.h"

#include <stddef.h>

#include "core/source/cupti/cupti_abi.h"

static const struct {
	uint32_t last; /* the row is of versions up to this one */
	enum pp_cupti_policy policy;
} row[] = {
        /* CUDA 11: illegal access where a graph was made before (pytorch#75504), a hang at the end with 11.8 (pytorch#135003). Its
         * records are older than the layouts that podprof knows, too. */
        {PP_CUPTI_API_FIRST - 1, PP_CUPTI_REFUSE},
        /* CUDA 12.0 to 12.5: a graph from before worked in one report (12.1, pytorch#135003). PyTorch's way around crashes is an
         * empty session before the graph is made (pytorch#100441). */
        {23, PP_CUPTI_EARLY},
        /* CUDA 12.6 and newer: graphs from before work (pytorch#150957). */
        {UINT32_MAX, PP_CUPTI_LATE},
};

enum pp_cupti_policy pp_cupti_policy(uint32_t version)
{
	size_t i = 0;

	while (version > row[i].last)
		i++;
	return row[i].policy;
}
