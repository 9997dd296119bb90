/* What a spool's keeper is doing, as other processes see it. In: a spool's control page, lock and options. Out: its state. Called
 * by the verbs; nothing is changed. */
#pragma once

#include <stdint.h>

#include "aggregate/spool/layout.h"

enum pp_spool_life { PP_SPOOL_LEFT, PP_SPOOL_RECORDING, PP_SPOOL_WRITING, PP_SPOOL_DONE, PP_SPOOL_FAILED };

struct pp_spool_state {
	char path[PP_SPOOL_PATH];
	char output[PP_SPOOL_PATH]; /* log directory it writes to, "" unknown */
	enum pp_spool_life life;    /* LEFT: no keeper and not finished */
	int keeper_pid;
	uint32_t pod;       /* keepers with one number serve each other's requests; 0: none does */
	int keeper_lives;   /* behind DONE, it writes the page and removes the spool */
	int rings;          /* ring files */
	int elsewhere;      /* not below our podprof-UID: named by --spool, or by another TMPDIR */
	char message[1024]; /* the keeper's, where FAILED */
};

/* State of one spool; -ENOENT: not there, or another user's. `spool` may be ret_state->path. */
int pp_spool_read(const char *spool, struct pp_spool_state *ret_state);
/* 1: podprof made it and it holds nothing else: it may be removed. 0: it holds something else, or podprof may not have made it;
 * -ENOENT: it is no spool. */
int pp_spool_is_one(const char *path);
/* By SIGSTOP, for example: it answers nobody until it continues. */
int pp_spool_keeper_is_stopped(int keeper);
