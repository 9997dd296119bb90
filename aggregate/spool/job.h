/* What the launcher's environment says of this process: rank, local size, the job's name. In: environ. Out: struct pp_job, which
 * names the spool and the run file. Called by podprof run, arrive, analyze and doctor before the application starts. */
#pragma once

struct pp_job {
	int rank;          /* -1: no launcher said one */
	int local_size;    /* 0: unknown */
	int size;          /* of the world; 0: unknown */
	int local_rank;    /* -1: unknown */
	int hosts;         /* that the job has; 0: unknown */
	int sees_launcher; /* it is an ancestor that we see: what it says of this host is true of what we see of it */
	int speaks;        /* rank 0, or no rank known, or the first rank of its program: may say a line */
	int pid;           /* the process that is, or becomes, the application */
	char name[128];    /* as a directory's name; "-rN" behind it: an elastic launcher, or Slurm, started it again N times */
	int again; /* how often an elastic launcher started the ranks again since the podprof run around us; its spool is for 0 */
};

/* Reads this process's variables; what they do not say has the value for unknown. */
void pp_job_read(struct pp_job *ret_job);
