/* What this process has used, at the edges of steps. In: step marks while recording, any thread. Out: PROCESS records. */
#pragma once

#include <stdint.h>

/* Before the record of the step's begin, after the record of its end. Ten a second, of which three may come at once. */
void pp_process_step_begin(int64_t number);
void pp_process_step_end(void);
