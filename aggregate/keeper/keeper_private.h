/* What keeper.c and keeper_end.c share: one keeper's state. */
#ifndef PP_KEEPER_PRIVATE_H
#define PP_KEEPER_PRIVATE_H

#include <signal.h>

#include "aggregate/keeper/capture/back.h"
#include "aggregate/keeper/capture/request.h"
#include "aggregate/keeper/capture/timed.h"
#include "aggregate/keeper/capture/windows.h"
#include "aggregate/keeper/cluster/pod.h"
#include "aggregate/keeper/missing.h"

enum { PP_KEEPER_BUSY_MS = 1, PP_KEEPER_IDLE_MS = 20 };

struct pp_keeper {
	const char *spool;
	struct pp_settings settings;
	struct pp_spool_view view;
	struct pp_control *control;
	struct pp_sampler sampler;
	struct pp_session_options options;
	struct pp_windows_job job; /* of all these */
	struct pp_pod *pod;        /* other hosts; the same as job.pod */
	struct pp_windows windows;
	struct pp_requests requests;
	struct pp_back back;
	struct pp_timed timed;
	int served;  /* a request was active at the last turn */
	int by_rows; /* back.range is that of the options' window */
	int many;    /* windows: each is closed when its time has come */
	struct pp_clock_pair first;
	int clock_read;
	struct pp_wall_watch wall;
	int64_t begin_ms, runs_gone_ms; /* runs_gone_ms 0: some live, or none came */
	int64_t runs_over_ms;           /* 0: some go on */
	int64_t blind_ms;               /* 0: the spool can be read */
	int blind_code;                 /* why not: -errno */
	struct pp_missing missing;
	int goes_on;                 /* its windows are over, ranks run on: captures are taken */
	volatile sig_atomic_t *stop; /* it was asked to end */
};

void pp_keeper_pause(int ms);
/* With other hosts a message of theirs ends the wait. */
void pp_keeper_rest(struct pp_keeper *k, int ms);
/* A reading of the wall clock, where the last one is a second old. */
void pp_keeper_look(struct pp_keeper *k);
/* Every ring once; returns the records read. */
uint64_t pp_keeper_drain(struct pp_keeper *k);
int pp_keeper_is_many(struct pp_keeper *k);
/* Windows of the options and on request: one child at a time. */
void pp_keeper_serve(struct pp_keeper *k);

/* keeper_end.c: what is left of the windows is written, and ranks are told. 0, or -errno: no session. */
int pp_keeper_close(struct pp_keeper *k);
/* keeper_end.c: until the ranks are gone, serving captures where they train on. 1: nobody needs the spool any more. */
int pp_keeper_wait(struct pp_keeper *k);

#endif
