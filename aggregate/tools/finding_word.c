/* Kinds of findings in words; see finding_word.h. */
#include "aggregate/tools/finding_word.h"

#include "aggregate/dataset/table/table_list.h"

const char *pp_finding_word(int kind)
{
	static const char *const word[PP_FINDING_KINDS] = {
	        [PP_FINDING_PERSISTENT] = "persistent",
	        [PP_FINDING_SUDDEN] = "sudden",
	        [PP_FINDING_GROWING] = "growing",
	        [PP_FINDING_PHASE] = "phase",
	        [PP_FINDING_NOISE] = "noise",
	        [PP_FINDING_ROTATING] = "rotating",
	        [PP_FINDING_LINK] = "link",
	        [PP_FINDING_PERIODIC] = "periodic",
	        [PP_FINDING_ONE_OFF] = "one_off",
	        [PP_FINDING_IRREGULAR] = "irregular",
	        [PP_FINDING_START_UP] = "start_up",
	        [PP_FINDING_INPUT] = "input",
	        [PP_FINDING_OUTPUT] = "output",
	        [PP_FINDING_UNSPLIT] = "unsplit",
	        [PP_FINDING_NOT_RECORDED] = "not_recorded",
	        [PP_FINDING_CATEGORY] = "category",
	        [PP_FINDING_PROGRESS] = "late_progress",
	};

	return kind >= 0 && kind < PP_FINDING_KINDS ? word[kind] : "none";
}

int pp_finding_names_ranks(const struct pp_row_finding *f)
{
	switch (f->kind) {
	case PP_FINDING_PERSISTENT:
	case PP_FINDING_SUDDEN:
	case PP_FINDING_GROWING:
	case PP_FINDING_PHASE:
	case PP_FINDING_NOISE:
	case PP_FINDING_PROGRESS:
		return f->finding_ranks > 0;
	default:
		return 0;
	}
}
