/* A timeline as collapsed stacks, which flamegraph.pl, speedscope and others read: "rank 3;main;train step;forward 12345" with self
 * time in ns. In: a timeline. Out: lines of text. */
#pragma once

#include <stdio.h>

#include "aggregate/timeline/timeline.h"

/* Own time of each stack of nested ranges and calls on threads, and of work on streams; steps, requests and async ranges overlap
 * these and are left out. A call's waiting is a frame of its own, "(waiting)". `is_joined`: stacks of all ranks are summed, without
 * the frames of rank and thread. *ret_stacks: lines. 0 or -errno. */
int pp_folded_write(const struct pp_timeline *t, int is_joined, FILE *to, uint64_t *ret_stacks, struct pp_err *err);
