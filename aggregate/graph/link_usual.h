/* Which links are slow. In: times of messages. Out: the fit and the state of each link. One thread.
 *
 * A link is compared with the other links of its kind (on one host, or between hosts) that had messages of its size, without its
 * own way back. It is slow if most of its messages took more than twice the median of the others, beyond 4 robust standard
 * deviations between links and the clock error, and if chance gives that to any link of the kind in less than 1 of 1000 jobs. */
#pragma once

#include "aggregate/graph/link_time.h"

/* Sets usual_ns of the sizes, and of the links all but source, destination and error_ns. 0, or -ENOMEM. */
int pp_link_usual_set(struct pp_link_times *t);
