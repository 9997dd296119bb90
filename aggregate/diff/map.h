/* What is the same in two sessions under other numbers or names. In: the text of --map. Out: ranks and names. Pure. Called by the
 * parts of compare.c and by launchers/diff. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"

enum { PP_DIFF_MAP_MOST = 64, PP_DIFF_MAP_TEXT = 4096 };

struct pp_diff_map {
	struct {
		int32_t first, other, ranks; /* so many from `first` on in the first run are those from `other` on in the others */
	} range[PP_DIFF_MAP_MOST];
	size_t ranges; /* 0: ranks with equal numbers are the same */
	struct {
		size_t first, other; /* in `text` */
	} name[PP_DIFF_MAP_MOST];
	size_t names;
	char text[PP_DIFF_MAP_TEXT];
};

/* "0-3=4-7,8=0,old name=new name": A's ranks and names, then those of the others. -EINVAL with the sentence. */
int pp_diff_map_parse(const char *text, struct pp_diff_map *ret_map, struct pp_err *err);
/* Number in the other runs of the first one's rank; -1: it has none. */
int64_t pp_diff_map_rank(const struct pp_diff_map *map, int32_t rank);
/* What the first run calls what a run calls `name`; the name itself where the map has no other. */
const char *pp_diff_map_name(const struct pp_diff_map *map, int is_first, const char *name);
