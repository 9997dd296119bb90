/* What ends podprof doctor --clock early: signals of the launcher, and a launcher's library that never returns. Called by the other
 * doctor_clock*.c. */
#pragma once

/* Takes SIGTERM, SIGINT and SIGALRM, for the rest of the process. */
void pp_doctor_clock_take_signals(void);
/* 1: the launcher ends us: print what is known now. */
int pp_doctor_clock_is_ended(void);
/* Guards calls of the launcher's library, which may wait forever: after 60 s this process ends itself with an error. */
void pp_doctor_clock_guard(int on);
