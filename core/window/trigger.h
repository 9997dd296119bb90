/* What moves the window: step marks of this process. In: calls of sources. Out: recording on and off, header words.
 * Any thread; the step path of a job without --steps takes no lock. */
#ifndef PP_WINDOW_TRIGGER_H
#define PP_WINDOW_TRIGGER_H

#include <stdint.h>

#include "core/base/step_windows.h"

/* At the claim. */
void pp_trigger_start(const struct pp_step_windows *asked);
/* Is step `number` in a window, or none asked for? */
int pp_trigger_asks(int64_t number);
/* Before and after the record of the mark is written. */
void pp_trigger_step_begin(int64_t number);
void pp_trigger_step_end(void);

#endif
