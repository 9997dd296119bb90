/* The keeper's control page (struct pp_control of ring_file.h) as the collector sees it: mapped for reading, and whether its keeper
 * lives. In: the spool's file `control`. Out: the page, which stays mapped. Any thread; no lock, keeps no state. */
#pragma once

#include "core/ring/ring_file.h"

/* Maps the page; NULL: it is missing or not whole yet, or another podprof's, then *ret_foreign is 1. Changes errno. */
const struct pp_control *pp_control_map(const char *spool, int *ret_foreign);
/* 0: its keeper has ended, and no guard is there to replace it. No system call: the application may have forbidden itself those
 * that could ask. Without robust futexes the keeper counts as alive. */
int pp_control_keeper_lives(const struct pp_control *c);
/* The files are written, or never will be: `message` is whole. */
int pp_control_is_final(const struct pp_control *c);
