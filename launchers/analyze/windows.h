/* Which of the files that were read are windows of one rank, and whether files of several directories are one session. In: the
 * list with whose each file is. Out: its windows. Called by cmd_analyze.c. */
#pragma once

#include "launchers/analyze/inputs.h"

/* A profiler with a schedule writes a file of each rank for each window. Files are of one rank that say the same rank, else those
 * of one process (host and pid), else those of one worker's name; at times that do not overlap. Sets `window` of the files, from
 * 0, in the order of a rank's times, and `process`; returns how many windows there are. 1: not all files say whose they are, or
 * each rank has one. */
size_t pp_windows_find(struct pp_inputs *in);
/* Files lie in two directories plugins/profile/SESSION of one directory: two answers, whatever they say. */
int pp_windows_are_two_answers(const struct pp_inputs *in);
/* Was there a moment at which all files with dates record? Processes of one job write each into a directory of its own. */
int pp_windows_are_at_once(const struct pp_inputs *in);
