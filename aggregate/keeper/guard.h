/* The guard: the keeper's parent, which sleeps and starts another keeper where one is killed, so that the session is not lost with
 * it. In: the keeper's end. Out: a keeper, and how the one before it died. Called by `podprof keeper` and by keeper.c. */
#pragma once

#include <time.h>

struct pp_death {    /* of the keepers before this one */
	int times;   /* 0: it is the first one */
	int signal;  /* that killed the last of them */
	time_t when; /* it died */
};

/* Forks. Returns -1 in the process that is to be the keeper, also where no guard could be made, and in the guard the exit code once
 * no keeper follows. Another keeper follows one that was killed before its message was there, at most three times, on one host.
 * word: the argument "keeper", in which the guard names itself for ps. */
int pp_guard(const char *spool, char *word, struct pp_death *ret_death);
/* The keeper's control page is there. */
void pp_guard_ready(void);
