/* Where on this node spools stand, unless the user names a directory: where Slurm's epilog, on the node itself, still sees them
 * after the job. Used by join.c, list.c, doctor and the hooks of Slurm. In: the job's environment and mounts, the set-up of
 * logind. Out: a directory. */
#pragma once

#define PP_SPOOL_ROOT_SHM "/dev/shm"
#define PP_SPOOL_ROOT_STAYS "/var/tmp" /* for a job whose /dev/shm is gone before the epilog */

enum pp_spool_root_why {
	PP_SPOOL_ROOT_PLAIN,   /* /dev/shm: no Slurm job, or it outlives the job */
	PP_SPOOL_ROOT_MOUNTED, /* /var/tmp: Slurm gives each job a /dev/shm of its own */
	PP_SPOOL_ROOT_IPC,     /* /var/tmp: logind removes what is in /dev/shm when the user's last session on this node ends */
	PP_SPOOL_ROOT_NONE,    /* /dev/shm: Slurm gives each job a /dev/shm and a /var/tmp of its own, and both go with it */
};

/* "/dev/shm" or "/var/tmp", of this process; one thread. ret_why may be NULL. */
const char *pp_spool_root_find(enum pp_spool_root_why *ret_why);

/* The parts of it. `root`: "" or the directory that stands for "/" in tests.
 * Is the directory at `path` one that Slurm (job_container/tmpfs and its successors) mounted for a job? */
int pp_spool_root_is_jobs(const char *root, const char *path);
/* Does logind remove what a user has in /dev/shm when the user's last session ends? */
int pp_spool_root_removes_ipc(const char *root);
/* The same of this user now, who has a session. Without one nothing removes it. */
int pp_spool_root_loses_ipc(const char *root, unsigned uid, const char *name);
