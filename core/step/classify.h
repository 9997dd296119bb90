/* The ladder of evidence that gives a range of the host its category; docs/steps.md.
 * In: names, and who made the range. Out: categories, and what each rests on. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/capture/span.h"

enum { PP_NAME_RULES_VERSION = 8 }; /* of core/step/known_names.def and name_rules.def */

/* What a category rests on, from the strongest to the weakest. */
enum pp_grounds {
	PP_BY_UNKNOWN, /* older files */
	PP_BY_RULE,    /* a rule of the user */
	PP_BY_KIND,    /* the kind of record, or what the program said (podprof_range_push_as()) */
	PP_BY_LAUNCH,  /* what launched it, or the range around it */
	PP_BY_NAME,    /* the exact name of a known function */
	PP_BY_WORDS,   /* words in a range that the program named */
	PP_BY_NOTHING, /* the default: Host compute, of a kernel communication unknown */
	PP_GROUNDS,
};

struct pp_class {
	uint8_t category; /* enum pp_category */
	uint8_t by;       /* enum pp_grounds */
};

/* "rule", "kind", "launch", "name", "words", "nothing", "unknown"; "" where there is none. Static storage. */
const char *pp_grounds_name(int by);

/* Category of a host's range by who made it and by its name: rules of the user (user_rules.h), then core/step/known_names.def, then
 * what the origin alone tells, then, of ranges that the program named, core/step/name_rules.def. Never 0. Any thread. */
struct pp_class pp_category_of(enum pp_origin origin, const char *name, size_t length);
/* Where the type begins in an operator's name of TensorFlow or JAX, "scope/layer/name:Type", "name:_Type" or "Type_1:Type"; 0: it
 * is no such name. JAX leaves the type out: then it is the last part of the path. */
size_t pp_category_operator_type(const char *name, size_t length);
