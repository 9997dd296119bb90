/* Recording on and off: what the windows and the application's pause decide, and what the sources do then. In: the windows'
 * decisions, MPI_Pcontrol and its like. Out: pp_wiped.recording, the ring's header, the sources' window() and flush(). Any
 * thread, perhaps in a signal handler; no lock. */
#pragma once

/* Switches recording, from the next record of every thread on. Off: sources write first what they hold back, at most 100 ms. */
void pp_recording_switch(int on);
/* Pause by the application, inside windows; 0 ends it. Nothing where this process is not the rank. */
void pp_recording_pause(int paused);
/* In a forked child that may become a rank itself: what its parent wanted is forgotten. */
void pp_recording_reset(void);
/* A window is over, and recording goes on: what belongs to the window is in the rings when it returns. */
void pp_recording_window_over(void);
