/* Why a process may be the rank. Sources and libpodprof-mpi.so pass it to podprof_collector.claim. */
#pragma once

enum pp_grounds {
	PP_EVIDENCE_MARK = 1,
	PP_EVIDENCE_MPI = 2,
	PP_EVIDENCE_GROUP = 3,   /* the process is a member of a framework's process group, whatever its parent is */
	PP_EVIDENCE_CHANGED = 4, /* a forked child marks a step, and has set a launcher's variable to another number */
};
