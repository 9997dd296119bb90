/* What of a range's name repeats: its stem, without the numbers of this occurrence. In: names that programs gave. Out: equal stems
 * for occurrences of one thing. Pure but for the table of names. Called by step_range.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct pp_intern;

/* What an iteration of an engine that serves requests does: begin them, go on with them, both; OTHER: something else, or what is
 * unknown. REQUEST: a range of a server's. Steps of one kind are alike. NONE: the step is no such iteration. */
enum pp_step_kind { PP_STEP_NONE, PP_STEP_PREFILL, PP_STEP_DECODE, PP_STEP_MIXED, PP_STEP_OTHER, PP_STEP_REQUEST, PP_STEP_KINDS };

enum pp_step_word { PP_STEP_WORD_ANY, PP_STEP_WORD_PART, PP_STEP_WORD_ITERATION }; /* by annotation.def */

struct pp_step_name {
	uint32_t stem;        /* intern id; of a part the name's own */
	uint8_t word;         /* enum pp_step_word */
	uint8_t kind;         /* enum pp_step_kind */
	uint8_t numbered;     /* a number stands behind the stem, and may count steps: "step 12" */
	uint8_t may_be_parts; /* numbers may tell parts of one step apart ("layer 3"): not where the stem says that it is a step */
	int64_t number;
};

/* "step 12" and "## step 12 ##" are "step" number 12 (the second "## step"), "load(3) of 8" is "load(#) of #"; "layer1", "fp16" and
 * "12" are themselves. */
struct pp_step_name pp_step_name(struct pp_intern *names, uint32_t id);
/* "prefill", "decode", "mixed", "other", "request"; "" for NONE. Static storage. */
const char *pp_step_kind_name(int kind);
