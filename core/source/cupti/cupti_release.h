/* What is known of CUPTI's releases and CUDA graphs that were made before its first subscription. In: CUPTI's version. Out: when
 * podprof may subscribe. Pure. */
#pragma once

#include <stdint.h>

enum pp_cupti_policy {
	PP_CUPTI_REFUSE, /* never */
	PP_CUPTI_EARLY,  /* as soon as the program's CUDA is up, with every kind of record off, and until the process ends */
	PP_CUPTI_LATE    /* with the first window; given back with each */
};

/* Of any version: one of the table's rows is its. */
enum pp_cupti_policy pp_cupti_policy(uint32_t version);
