/* `mpirun -n 16 podprof analyze DIR -o LOGDIR`, srun too: rank 0 finds the files, each rank reads some, rank 0 merges and writes.
 * In: the launcher's variables. Out: the blocks of all files on rank 0. Called by cmd_analyze.c. */
#pragma once

#include "core/base/err.h"
#include "core/coord/analysis.h"
#include "launchers/analyze/inputs.h"

struct pp_several {
	const struct pp_analysis_ops *ops; /* NULL: this process is alone */
	struct pp_analysis_world world;    /* rank 0 of 1 where it is alone */
	int local_size;                    /* ranks on this host */
	int idle;                          /* a rank that has nothing to do: rank 0 reads all files alone */
	char why_alone[200];               /* why that is so; "" */
};

/* Where a launcher has started several ranks: joins them. 0, or an exit code after one line: they cannot join. */
int pp_several_begin_all(struct pp_several *s);
/* Rank 0's list on all ranks. -ENOMEM on all ranks or none. */
int pp_several_inputs_all(const struct pp_several *s, struct pp_inputs *in, struct pp_err *err);
/* Those that this rank reads: by size, dealt out in turns. */
int pp_several_is_mine(const struct pp_several *s, const struct pp_inputs *in, size_t index);
/* All results on rank 0. */
int pp_several_gather_all(const struct pp_several *s, struct pp_inputs *in, struct pp_err *err);
/* One number of rank 0 on all ranks: the exit code. */
int pp_several_code_all(const struct pp_several *s, int code);
/* Leaves the launcher's job, whatever happened before; nothing where the process is alone. */
void pp_several_end_all(struct pp_several *s);
