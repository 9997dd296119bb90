/* Who waits for whom in a job, and which ranks no other rank's wait explains. In: ranks and operations, as hang.c found them. Out:
 * causes, circles and pauses. Pure. Called by hang.c. */
#pragma once

#include "aggregate/keeper/live.h"

enum pp_hang_at {
	PP_HANG_OUTSIDE, /* in the application */
	PP_HANG_WAITS,   /* in a call that waits for other ranks */
	PP_HANG_INSIDE,  /* in a call of which it is not known for whom it waits, or whether it waits */
	PP_HANG_STOPPED, /* by a signal or a debugger */
	PP_HANG_ENDED,
	PP_HANG_LOST,   /* with its host */
	PP_HANG_ABSENT, /* never seen */
};

enum pp_hang_kind {
	PP_HANG_COLLECTIVE,
	PP_HANG_FINALIZE,
	PP_HANG_ANY,  /* messages from any rank of a communicator */
	PP_HANG_C10D, /* collectives of torch.distributed of one name; number and process group are not known */
	PP_HANG_NCCL, /* a collective of NCCL that ranks have enqueued */
};

enum pp_hang_mismatch { PP_HANG_SAME, PP_HANG_CALLS_DIFFER, PP_HANG_ROOTS_DIFFER, PP_HANG_SIZES_DIFFER };

struct pp_hang_line { /* a communicator of NCCL on a rank; a process with several devices has several lines of one */
	struct pp_live_nccl nccl;
	int32_t rank;
};

struct pp_hang_rank {
	const struct pp_live_rank *live; /* NULL: ABSENT */
	enum pp_hang_at at;
	int moves;                       /* its place changed less than after_ns ago */
	int is_stuck;                    /* it waits, or is STOPPED, for at least after_ns */
	int is_blind;                    /* INSIDE a call that waits, for whom is not known */
	int is_paused;                   /* is_stuck, but only for ranks that move: slow, not hung */
	int is_cause;                    /* not explained by another rank's wait */
	int in_circle;                   /* waits, at last, for itself */
	long op;                         /* operation that it is in; -1: none */
	int targets;                     /* single ranks that it waits for */
	int is_sure;                     /* it waits for each of them; 0: for some of them */
	const struct pp_hang_line *line; /* of the operation of NCCL that it waits for */
	int32_t target[1 + PP_WHERE_PEERS];
};

struct pp_hang_op {
	enum pp_hang_kind kind;
	uint64_t comm;
	uint32_t sequence;
	size_t line, lines;               /* NCCL: the lines of its communicator, in pp_hang.line[] */
	uint64_t number;                  /* NCCL: `sequence`, whole */
	const struct pp_live_rank *first; /* a rank in it, which stands for its call and communicator */
	int64_t since_ns;                 /* the longest that a rank has been in it */
	enum pp_hang_mismatch mismatch;
	int is_known;     /* 1: the members are known */
	int is_stuck;     /* a rank in it is stuck, not paused */
	int is_sure;      /* those in it need all in `wanted` */
	int32_t size;     /* members; 0 unknown */
	int32_t *in;      /* ranks in it, ascending */
	int32_t *missing; /* members that have not begun it, ascending */
	int32_t *wanted;  /* of `missing`: those that hold it up */
	int32_t ins, missings, wanteds;
};

struct pp_hang {
	struct pp_hang_rank *rank; /* [ranks] */
	int32_t ranks;
	struct pp_hang_op *op;
	long ops;
	struct pp_hang_line *line; /* by communicator, then by its calls so far */
	size_t lines;
	int32_t stuck, paused, causes, circle; /* numbers of ranks */
	int is_unsure;                         /* some rank waits for ranks that are not known: suspects are among the causes */
	int in_c10d;                           /* is_unsure, for a call of torch.distributed */
};

/* Follows the waits: sets is_paused, is_cause, in_circle and the numbers of `h`. -ENOMEM: then some are set. */
int pp_hang_follow(struct pp_hang *h);
