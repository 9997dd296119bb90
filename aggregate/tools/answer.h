/* The answer of a session in sentences: what limits the job, how sure that is, what is missing, what to do next. In: pp_dataset
 * and its sums. Out: the head of summary.txt, of the page and of podprof report --json, with the same text and numbers. */
#pragma once

#include "aggregate/tools/pod_lines.h"

struct pp_sums;

enum { PP_QUALIFIERS = 6, PP_QUALIFIER_TEXT = 256, PP_ANSWER_TEXT = 1280, PP_ALSOS = 3, PP_BOTTLENECK_TEXT = 400 };

struct pp_answer {
	const struct pp_row_finding *finding; /* the first one, which all lines are about; NULL: there is none */
	char bottleneck[PP_BOTTLENECK_TEXT];  /* for behind "Bottleneck: " */
	/* Further findings, most important first, and how many more there are. */
	const struct pp_row_finding *also[PP_ALSOS];
	size_t alsos, more_findings;
	/* What qualifies it, most important first: incomplete ranks, losses, clock error, unmatched collectives, shared cores,
	 * guessed steps, ranges of unknown category. `more`: left out here; /quality has them. */
	char qualifier[PP_QUALIFIERS][PP_QUALIFIER_TEXT];
	size_t qualifiers, more;
	char straggler[PP_QUALIFIER_TEXT]; /* for behind "Straggler: "; "": none can be named */
	int32_t straggler_rank;            /* the lowest rank that it names; -1: none */
	int64_t straggler_ns;              /* how long the other ranks usually wait because of it, all usual steps together */
	struct pp_pod_lines pod;           /* what that costs, and what to do; borrows rows of the dataset */
	char next[PP_ANSWER_TEXT];         /* what to do, with the command to type */
	size_t command;                    /* where the command begins in it; 0: there is none */
	char session[PP_ANSWER_TEXT / 2];  /* the session's directory as a word of a shell, for commands */
	char step[160];                    /* the step time with its spread; "": no step */
	size_t usual_steps;                /* of them, and of the slowest rank, are its numbers; 0: there is no step */
	int64_t usual_ns, spread_ns;       /* median of the usual steps, and half their IQR */
	char level[160];                   /* what was recorded of steps, where it is not operators in all of them; "" */
	char overhead[256];                /* what podprof's keeper took, and about how much recording took in the ranks */
	/* What the usual step gains if this rank matched the median of the others; rank -1: no single rank limits it. */
	int32_t gain_rank;
	int64_t gain_ns;
};

/* logdir: for the commands; NULL: "LOGDIR". 0, or -ENOMEM. */
int pp_answer_of(const struct pp_dataset *d, const struct pp_sums *s, const char *logdir, struct pp_answer *ret_answer);
