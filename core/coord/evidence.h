/* Why a process may be the rank. Said by sources and by libpodprof-mpi.so to pp_collector_claim(). */
#pragma once

enum pp_evidence {
	PP_EVIDENCE_MARK = 1,
	PP_EVIDENCE_MPI = 2,
	PP_EVIDENCE_GROUP = 3,   /* the process is a rank of a framework's process group, whatever its parent is */
	PP_EVIDENCE_CHANGED = 4, /* a mark of a forked child that has set a launcher's variable to another number */
};
