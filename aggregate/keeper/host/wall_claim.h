/* What disciplines this host's wall clock, as far as it is visible: shown only, no result depends on it. Called by wall_watch.c.
 * In: /proc, /dev. Out: text for users. */
#pragma once

enum { PP_WALL_CLAIM_BY = 64 }; /* as pp_clock_claim.by */

/* 0: this is a container, whose /proc and /dev show only its own. */
int pp_wall_claim_sees_host(void);
/* "kernel, chronyd, 2 PTP clocks": the kernel always; daemons by their names in `proc`, clocks in `dev`. NULL: not looked at. */
void pp_wall_claim_by(const char *proc, const char *dev, char by[PP_WALL_CLAIM_BY]);
