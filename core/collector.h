/* The collector inside the application, stages 1-3: which process records, from its claim to its end. In: evidence of sources,
 * forks and the exit. Out: this rank's ring file; the table of services for sources (source/services.h). */
#pragma once

/* In the constructor, before any other call: follows forks, and remembers the numbers that the process begins with. One thread; no
 * allocation of ours. */
void pp_collector_load(void);
