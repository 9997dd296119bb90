/* A communicator in a sentence: by its name or its members, as its id means nothing to a reader. In: a dataset. Used by tools and
 * warnings; no allocation. */
#pragma once

#include "aggregate/dataset/dataset.h"

enum { PP_COMMUNICATOR_TEXT = 128 };

/* "communicator 'tp' of ranks 0-3", "window of ranks 0-7", "one of 2 communicators of ranks 4-7", "communicator of 8 ranks", where
 * its members are unknown, "an unknown communicator" where it has no row. Returns `text`, of PP_COMMUNICATOR_TEXT bytes. */
const char *pp_communicator_text(const struct pp_dataset *d, uint64_t id, char *text);
