/* pp_source_ops: ways in. In: the application's calls. Out: records, through ring/thread_ring.h or source/emit.h.
 * A new source is one file and one line in source_list.def. MPI is one too, in a library of its own (mpi/), by podprof_guest. */
#ifndef PP_SOURCE_SOURCE_H
#define PP_SOURCE_SOURCE_H

struct pp_source_ops {
	const char *name;    /* Required: "nvtx" */
	void (*start)(void); /* Optional: this process has become the rank; its ring file exists, nothing is recorded yet */
	void (*stop)(void);  /* Optional: the process ends well; last chance to record */
};

/* Every source of this library, in the order of source_list.def; ends with NULL. */
extern const struct pp_source_ops *const pp_source_list[] __attribute__((visibility("hidden")));

#endif
