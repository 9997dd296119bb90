/* The lines of one rank in an XSpace plane. In: a rank's spans, steps and segments. Out: XLines, streamed. Called by xspace.c. */
#pragma once

#include "aggregate/write/xspace/xspace_line.h"

/* `grouped`: this rank's breakdown carries group_id and step_name, so its steps are the file's. */
int pp_xfile_rank(struct pp_xfile *f, size_t rank_index, int grouped, struct pp_err *err);
