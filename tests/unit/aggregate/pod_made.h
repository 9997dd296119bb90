/* Datasets of made-up jobs, as aggregate/analyze finishes them: a program for all ranks says what each does, in an order that
 * could have happened. In: calls below. Out: pp_dataset with workers, steps, cells, communicators, collectives, messages, and all
 * their waiting. Used by tests and benches of tools. Every clock is exact but for pp_made_job.bound_ns. */
#pragma once

#include "aggregate/dataset/dataset.h"

struct pp_made_job {
	struct pp_dataset d;
	int64_t bound_ns; /* of every operation from now on */
	struct pp_made_rank {
		int64_t now;
		int64_t lap[PP_CATEGORIES + 1], between; /* since its row before */
		int64_t step;                            /* index; -1: outside */
	} * rank;
	size_t ranks, steps, collective_room, arrival_room, communicator_room;
	uint32_t *sequence; /* [communicators] */
};

/* Ranks 0 to ranks - 1 on hosts of `per_host` ranks: h0, h1 ...; steps from number `first`; communicator 1 is world. Aborts
 * where there is no memory. */
void pp_made_begin(struct pp_made_job *m, size_t ranks, size_t per_host, int64_t first, size_t steps);
/* Returns its id. The members stay the caller's. */
uint64_t pp_made_communicator(struct pp_made_job *m, const char *name, const int32_t *member, uint32_t size);
void pp_made_step_begin(struct pp_made_job *m, size_t rank, size_t step);
void pp_made_step_end(struct pp_made_job *m, size_t rank);
/* Exclusive time in a step; outside of steps the category does not count. */
void pp_made_work(struct pp_made_job *m, size_t rank, enum pp_category category, int64_t ns);
/* The same of all ranks. */
void pp_made_begin_all(struct pp_made_job *m, size_t step);
void pp_made_end_all(struct pp_made_job *m);
void pp_made_work_all(struct pp_made_job *m, enum pp_category category, int64_t ns);
/* A blocking operation of all members, which all leave `transfer_ns` after the last arrival. `name`: "MPI_Allreduce". */
void pp_made_collective(struct pp_made_job *m, uint64_t communicator, const char *name, uint64_t bytes, int64_t transfer_ns);
/* Turns the finished job's communication into that category: its operations are calls of files. */
void pp_made_files(struct pp_dataset *d, enum pp_category category);
/* Is_eager: the sender does not wait. */
void pp_made_message(struct pp_made_job *m, size_t source, size_t destination, int32_t tag, uint64_t bytes, int64_t transfer_ns,
                     int is_eager);
/* Collectives in order of first arrival, late ranks, window. The dataset is then the caller's, by pp_dataset_release(). */
struct pp_dataset pp_made_end(struct pp_made_job *m);
