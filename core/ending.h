/* The end of a rank: it waits until the keeper has written the files, and prints what the keeper has to say. In: the control page.
 * Out: lines on stderr, from rank 0. On the thread that exits, in libc's exit handlers. */
#pragma once

#include <stdint.h>

/* In the constructor, before the application may close or replace them: remembers stdout and stderr. */
void pp_ending_begin(void);
/* 1: others wait for the files, so this process must not: ranks that it started, or a rank that started it. */
int pp_ending_others_wait(void);
/* Writes the application's output first where that does not block, then waits, at most `seconds`; not for a keeper that never
 * started or has died. */
void pp_ending_wait(int64_t seconds);
