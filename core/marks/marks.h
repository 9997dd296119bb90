/* What libpodprof-marks exports: each as the function of podprof.h with its name, on any thread; nothing without a collector.
 * A program in C or C++ includes podprof.h instead, and links nothing. */
#pragma once

#include <stdint.h>

#pragma GCC visibility push(default)
/* Step `number` begins on this thread; the step before ends, if it has not. */
void podprof_step_begin(int64_t number);
void podprof_step_end(void);
/* A range begins, of the category that its name has. Ranges nest on their thread; names are copied, NULL is "". */
void podprof_range_push(const char *name);
/* `category`: enum podprof_category; 0: by the name. */
void podprof_range_push_as(const char *name, int category);
void podprof_range_pop(void);
void podprof_mark(const char *name);
void podprof_counter(const char *name, double value);
/* 1 while marks are recorded. */
int podprof_recording(void);
/* A window from here to podprof_window_stop(), on every rank at the same place. */
void podprof_window_start(const char *name);
void podprof_window_stop(void);
/* Steps first to last - 1 as a window, on every rank. */
void podprof_profile_steps(int64_t first, int64_t last);
#pragma GCC visibility pop
