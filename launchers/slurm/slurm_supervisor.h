/* Root watches over work that a user does for Slurm's prolog and epilog. Called by cmd_slurm.c. One thread. */
#pragma once

#include <stdint.h>

struct pp_slurm_work {
	const char *name; /* "epilog", for messages */
	int seconds;      /* of it all */
	uint64_t memory;  /* bytes of all its processes with a memory controller, else what each may map */
	/* In a child, with root's rights: becomes the user for good, 0, or fails after one line. */
	int (*become)(void *data);
	/* Then, as the user; its output is passed on. */
	void (*run)(void *data);
	void *data;
};

/* Runs it in a child, and ends all processes that it started: when it has ended, or at its deadline. The user can stop or change
 * the child, not its supervisor. What happened is said in lines on stderr. */
void pp_slurm_supervise(const struct pp_slurm_work *work);
