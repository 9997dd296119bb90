/* One sentence: what limits this job, and by how much. In: pp_dataset. Out: summary.txt, the report, the lines of rank 0. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct pp_dataset;

enum { PP_VERDICT_TEXT = 400 };

enum pp_verdict_kind {
	PP_VERDICT_NONE,        /* no step */
	PP_VERDICT_STARTUP,     /* MPI_Init and MPI_Finalize */
	PP_VERDICT_RANK,        /* one rank's category delays the others */
	PP_VERDICT_WAITING,     /* waiting, but not for one rank */
	PP_VERDICT_TIE,         /* waiting, and the clock error hides for which rank */
	PP_VERDICT_UNEXPLAINED, /* waiting for one rank whose own work does not explain it */
	PP_VERDICT_SHARED,      /* waiting for one rank that lacked a core */
	PP_VERDICT_CHAIN,       /* waiting for one rank that itself waited for another */
	PP_VERDICT_UNSPLIT,     /* communication that is not split into waiting and transfer */
	PP_VERDICT_LARGEST,     /* the largest category of all ranks */
	PP_VERDICT_UNSEEN,      /* no MPI call was recorded, although MPI ran: the largest category includes its time */
};

struct pp_verdict_what {
	enum pp_verdict_kind kind;
	int32_t rank;   /* RANK, UNEXPLAINED, SHARED, CHAIN */
	int category;   /* RANK, LARGEST: pp_category */
	int32_t behind; /* CHAIN: for whom that rank waited */
	/* RANK, SHARED with a category: upper limit, per step, of what the job gains if the rank matched the median of the others;
	 * 0: unknown. */
	int64_t gain_ns;
};

/* Part of the warning that names such ranks. */
#define PP_MPI_UNSEEN "their MPI is not Open MPI 4 or 5"

/* Always writes what limits the job, for behind "Bottleneck: ", cut at `size`, without full stop. Returns its meaning. */
struct pp_verdict_what pp_verdict(const struct pp_dataset *d, char *text, size_t size);

/* One word for scripts: "rank", "waiting". */
const char *pp_verdict_word(enum pp_verdict_kind kind);
