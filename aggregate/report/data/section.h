/* The line of each section below the first screen: its one finding, or "nothing unusual". In: a dataset, its answer, the first
 * screen. Out: true sentences. Pure. Used by plain.c. */
#pragma once

#include "aggregate/report/data/first.h"
#include "aggregate/tools/sums.h"

enum {
#define PP_SECTION(id, name, group) PP_SECTION_##id,
#include "aggregate/report/data/sections.def"
#undef PP_SECTION
	PP_SECTIONS
};

struct pp_section_in {
	const struct pp_dataset *d;
	const struct pp_sums *sum;
	const struct pp_answer *answer;
	const struct pp_first *first;
};

enum { PP_SECTION_TEXT = 256 };

/* 0: it has no data, also if its group is in the file. */
int pp_section_line(int section, const struct pp_section_in *in, char to[PP_SECTION_TEXT]);
