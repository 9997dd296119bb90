/* Counter tracks of a timeline: values over time. In: a maker whose ranks are known. Out: its counters and samples. Called by
 * session.c. */
#pragma once

struct pp_timeline_maker;

/* Adds the counters of the ranks that the maker's options want. 0, or -ENOMEM. */
int pp_timeline_counters(struct pp_timeline_maker *m);
