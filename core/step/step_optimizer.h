/* The OPTIMIZER rule: a step of training ends with a call of the program's optimizer, which PyTorch annotates
 * ("Optimizer.step#SGD.step"). In: spans in job ns. Out: marks. Called by step_mark.c and step_range.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct pp_capture;
struct pp_marks;

enum { PP_OPTIMIZER_SORTS = 16 };

struct pp_optimizer_call {
	int64_t begin, end;
	uint32_t name;                     /* intern id of "Optimizer.step#SGD.step" */
	uint32_t work[PP_OPTIMIZER_SORTS]; /* operators since the call before, by a hash of their names */
};

struct pp_optimizers_rank { /* its calls by begin, on the thread with most; of nested ones the outermost */
	struct pp_optimizer_call *call;
	size_t calls, room;
	uint32_t thread;
};

struct pp_optimizers {
	struct pp_optimizers_rank *rank; /* [ranks] */
	size_t ranks;
};

struct pp_optimizer_rule { /* result of the OPTIMIZER rule */
	uint32_t name;     /* intern id of "SGD" */
	size_t tuple;      /* calls of optimizers in a step */
	size_t steps;      /* of one rank */
	double time;       /* share of the recorded time that they take */
	double balance;
	double confidence;
};

enum { PP_OPTIMIZER_FEWEST = 3 }; /* calls on a rank, below which they tell nothing */

/* All calls that are no parts of backward. 0 or -ENOMEM; release it in any case. */
int pp_optimizers_list(const struct pp_capture *capture, struct pp_optimizers *ret);
void pp_optimizers_release(struct pp_optimizers *o); /* empty then */
/* 1: on every rank with enough calls, half of them are in its marks, or no rank has enough. */
int pp_optimizers_in(const struct pp_optimizers *o, const struct pp_marks *list);

/* Steps by this rule: fills list[capture->ranks] and returns 1; 0: there are none. -ENOMEM. */
int pp_optimizer_rule_find(const struct pp_capture *capture, const struct pp_optimizers *o, struct pp_marks *list,
                           struct pp_optimizer_rule *ret_rule);
