/* The clocks of a summary. Called by text.c. */
#pragma once

#include <stdio.h>

#include "aggregate/dataset/dataset.h"

/* Their errors and what qualifies them; nothing where one clock has no doubts. */
void pp_text_clock(const struct pp_dataset *d, FILE *to);
