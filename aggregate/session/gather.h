/* The forked writers' part of closing a window on several hosts: the leader's merges the other hosts' shares, a follower's makes
 * its host's share. The parents transfer them (pod_gather.c, pod_share.c), as files of the spool. Called by session.c. In: a
 * dataset of this host's ranks. Out: on the leader that of all hosts; else a block in a file. Nothing here uses a socket of the
 * net. */
#pragma once

#include "aggregate/dataset/dataset.h"
#include "aggregate/session/clock_metadata.h"
#include "core/base/err.h"
#include "core/clock/clock_map.h"

enum { PP_GATHER_NAME = 64, PP_GATHER_SPOOL = 512 };

struct pp_gather {
	int leads;
	int fd, parent_fd; /* leads: the ends of the socket pair to the parent; the child closes the parent's */
	char spool[PP_GATHER_SPOOL];
	uint64_t number;                   /* of this gathering */
	struct pp_clock_metadata exchange; /* clocks of the exchange, as of now */
	char token[PP_GATHER_NAME];        /* file in the session's directory: a host that sees it shares the log directory */
	/* leads: a line for the keeper's log. */
	void (*log)(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
	uint64_t first_tick; /* leads: earliest of other hosts that share this clock; 0: none is earlier */
	/* follows */
	char session[PP_GATHER_NAME];
	char host[72];                  /* name of its files and rows; "": its own */
	const struct pp_clock_map *map; /* the leader's, where the clock is the same or was compared with it; else NULL */
	int own_clock;                  /* its clock has another's name and differs: it was compared with that */
	char clock[128];                /* map->pieces: the name of the leader's clock */
	int64_t epoch_realtime_ns;      /* of that map */
	int others_have_steps;
};

struct pp_gather_named { /* from the leader's child to its parent */
	char session[PP_GATHER_NAME];
	char logdir[4096]; /* where it is: the keeper's, or another where that one fails */
	struct pp_clock_map map;
	int64_t epoch_realtime_ns;
	int has_steps;
};

enum pp_gather_kind { PP_GATHER_BLOCK, PP_GATHER_MISSING, PP_GATHER_WARNING, PP_GATHER_CLOCK };

struct pp_gather_row { /* of <spool>/gather-NUMBER.rows, from the leader's parent to its child */
	enum pp_gather_kind kind;
	int32_t rank; /* MISSING */
	char host[72];
	char text
	        [256]; /* BLOCK: its file's name in the spool; MISSING: status; NOTE: a warning; CLOCK: pp_clock_metadata_print() */
};

/* Leader. Sends the session's name, once its directory exists: the other hosts may begin. */
int pp_gather_name(const struct pp_gather *g, const char *logdir, const char *session, const struct pp_clock_map *map,
                   int64_t epoch_realtime_ns, int has_steps, struct pp_err *err);
/* Leader. Waits for the other hosts' shares, and merges them and `own`, which may only be released then, into one dataset with
 * common names. An unreadable share becomes rows with its error. */
int pp_gather_merge(const struct pp_gather *g, struct pp_dataset *own, struct pp_intern *names, struct pp_dataset *ret_dataset,
                    struct pp_err *err);
/* Follower. Writes the block as <spool>/share-NUMBER.block. */
int pp_gather_give(const struct pp_gather *g, const struct pp_dataset *own, struct pp_err *err);
/* Does this host see the leader's log directory? */
int pp_gather_is_shared(const struct pp_gather *g, const char *logdir);
/* Leader: removes the token, once all hosts have looked for it. */
void pp_gather_drop_token(const struct pp_gather *g, const char *logdir, const char *session);
