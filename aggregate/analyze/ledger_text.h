/* Warnings about the ledger: operations that do not fit together. In: a finished dataset. Called by quality.c. */
#pragma once

#include "aggregate/dataset/dataset.h"

void pp_quality_warn_ledger(struct pp_dataset *d);
