/* Resource usage of this process at the edges of steps. In: step marks while recording, any thread. Out: PROCESS records. */
#pragma once

#include <stdint.h>

/* Called before the record of a step's begin and after that of its end. Ten readings per second, at most three at once. */
void pp_process_step_begin(int64_t number);
void pp_process_step_end(void);
