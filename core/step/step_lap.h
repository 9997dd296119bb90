/* Laps of a rank: its exclusive time from one operation with other ranks to the next. In: the begins of its calls, and its time
 * as the sweep of step_attr.c finds it, in order. Out: pp_attr.lap, for the ledger. One thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/step/category.h"

struct pp_rank;

struct pp_lap {
	int64_t time;                   /* begin of the call that ends it, job ns; laps are in order */
	uint32_t us[PP_CATEGORIES + 1]; /* [id]: since the lap before, or since the first step; [0]: in no step */
};

struct pp_laps {
	struct pp_lap *lap;
	size_t laps, at;
	int64_t now, ns[PP_CATEGORIES + 1]; /* of the lap at hand */
};

/* Laps of a rank, all zero; `begin`: of its first step. pp_laps_release(), or the caller takes `lap`. -ENOMEM. */
int pp_laps_init(struct pp_laps *l, const struct pp_rank *rank, int64_t begin);
/* Frees the laps; empty then. */
void pp_laps_release(struct pp_laps *l);
/* The time from where the last call ended until `until` is of this category; 0: in no step. What is past already is skipped. */
void pp_laps_advance(struct pp_laps *l, int64_t until, int category);
/* After the last time: the laps that are left are in no step. */
void pp_laps_finish(struct pp_laps *l);
/* The lap that ends at `time`; SIZE_MAX: none. */
size_t pp_lap_find(const struct pp_lap *lap, size_t laps, int64_t time);
