/* Counts what a step of PyTorch consists of, so that a reader sees whether a step is one update, or gradients were accumulated. In:
 * rows of /op. Out: a text for the line of the step rule. Called by tools.c. */
#include "aggregate/tools/step_parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "aggregate/dataset/dataset.h"
#include "core/ring/record.h"

enum { BATCHES, PASSES, FIRST_UPDATE, MOST = 6 };

static const char BATCH[] = "enumerate(DataLoader)#", UPDATE[] = "Optimizer.step#";

struct part {
	uint32_t name; /* of updates: one part for each optimizer's class */
	uint64_t calls, steps;
};

/* Podprof's hooks marked the steps; the same ones make a range of each backward pass. */
static int by_hooks(const struct pp_dataset *d)
{
	return !strncmp(d->step_rule, "torch: ", 7);
}

/* The part that this row counts, or MOST. Requests for batches only where no hook counted the backward passes: the last one of an
 * epoch brings none. */
static size_t part_of(const struct pp_dataset *d, const struct pp_row_op *op, const struct part *part)
{
	const char *name = pp_intern_text(d->names, op->name, NULL);
	size_t i = FIRST_UPDATE;

	if (op->side != PP_SIDE_HOST)
		return MOST;
	if (!by_hooks(d) && !strncmp(name, BATCH, strlen(BATCH)))
		return BATCHES;
	if (by_hooks(d) && op->source == PP_SOURCE_API && !strcmp(name, "backward"))
		return PASSES;
	if (strncmp(name, UPDATE, strlen(UPDATE)) != 0)
		return MOST;
	while (i < MOST && part[i].steps && part[i].name != op->name)
		i++;
	return i;
}

static void put(char *text, size_t size, double n, const char *one, const char *more, const char *by, size_t length)
{
	size_t at = strlen(text);
	double whole = nearbyint(n);
	int digits = fabs(n - whole) < 0.005 ? 0 : 2;

	snprintf(text + at, size - at, "%s%.*f %s%.*s", at ? ", " : "", digits, n, !digits && whole == 1 ? one : more, (int)length,
	         by);
}

void pp_step_parts(const struct pp_dataset *d, char *text, size_t size)
{
	static const char *const word[][2] = {{"request for a batch", "requests for batches"},
	                                      {"backward pass", "backward passes"},
	                                      {"update by ", "updates by "}};
	struct part part[MOST] = {{0}};

	text[0] = '\0';
	if (!by_hooks(d) && strncmp(d->step_rule, "optimizer: ", 11) != 0)
		return;
	for (size_t i = 0; i < d->ops; i++) {
		const size_t k = part_of(d, &d->op[i], part);

		if (k == MOST)
			continue;
		part[k].name = d->op[i].name;
		part[k].calls += d->op[i].calls;
		part[k].steps += d->op[i].steps;
	}
	for (size_t k = 0; k < MOST; k++) {
		const char *class = k < FIRST_UPDATE ? "" : pp_intern_text(d->names, part[k].name, NULL);
		size_t w = k < FIRST_UPDATE ? k : FIRST_UPDATE;

		if (!part[k].calls || !part[k].steps)
			continue;
		if (k >= FIRST_UPDATE)
			class += strlen(UPDATE);
		put(text, size, (double)part[k].calls / (double)part[k].steps, word[w][0], word[w][1], class, strcspn(class, "."));
	}
}
