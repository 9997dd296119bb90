/* What the launcher's environment says of this process: rank, local size, the job's name. Used by podprof run
 * and arrive.
 * In: environ. Out: struct pp_job. */
#ifndef PP_LAUNCHERS_JOB_H
#define PP_LAUNCHERS_JOB_H

struct pp_job {
	int rank;       /* -1: no launcher said one */
	int local_size; /* 0: unknown */
	int speaks;     /* rank 0, or no rank known, or the first rank of its program: may say a line */
	int pid;        /* the process that is, or becomes, the application */
	char name[128]; /* as a directory's name */
	char previous
	        [128]; /* the job that this one goes on from: the ranks before an elastic launcher started them again; "" none */
	int again;     /* how often they were since the podprof run around us; 0: its spool is this job's */
};

void pp_job_read(struct pp_job *ret_job);

#endif
