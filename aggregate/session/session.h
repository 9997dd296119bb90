/* Turns a capture into files: clock, steps, attribution, dataset, writers. Used by the keeper, salvage and later analyze. In:
 * pp_capture in ticks. Out: files under logdir, and the two lines that rank 0 prints. */
#pragma once

#include "aggregate/session/files.h"
#include "aggregate/session/gather.h"
#include "aggregate/session/message.h"
#include "aggregate/session/page.h"
#include "core/base/err.h"
#include "core/clock/clock_map.h"
#include "core/clock/wall.h"

struct pp_capture;

struct pp_session_options {
	const char *logdir;
	const char *session; /* "" : from the window's begin in local time */
	const char *job, *command, *options;
	int64_t steps_first, steps_last; /* last <= first: not requested */
	int xspace_per_rank;
	int may_move;            /* a session that logdir does not take is written on this node instead: there is no second try */
	const char *event_ranks; /* NULL or "": XSpace has all ranks; else a list as --ranks takes it */
	struct pp_window_metadata *window; /* NULL, or metadata of the window in ticks: mapped to job ns in place */
	int salvaged;
	const char *rendezvous;                 /* NULL, or pp_pod_why() */
	const struct pp_gather *gather;         /* NULL: all ranks are here; else this host's part of a window on several hosts */
	const struct pp_clock_map *other_clock; /* of ranks whose ticks are of another kind; NULL: there are none */
	const char *const *warning;             /* NULL-terminated extra warnings for /quality, or NULL */
	const char *site_log, *metrics;         /* files for the site, or NULL or "": see site_log.h */
	struct pp_message *ret_message;         /* NULL, or the message in parts, where a session was written */
	const struct pp_row_host_clock *host_clock; /* [host_clocks] of this host, in salvage of all: copied */
	size_t host_clocks;
	const struct pp_clock_map *host_map; /* salvage: [host_clocks] of the ticks of these hosts; NULL: all have one map */
	struct pp_wall *wall;                /* NULL, or dates of this host's ticks by its wall clock (salvage has none) */
	uint64_t memory;                     /* that salvage may take; 0: a quarter of what is free */
	size_t *ret_rings_left_out; /* NULL, or how many rings of the spools salvage has left out; the message names them */
	size_t *ret_alive;          /* NULL, or how many ranks ran on when salvage had read their rings; the message has them */
	char *ret_claimed;          /* NULL, or 2 * PP_SESSION_PATH bytes: the session's directories once made, one per line */
	struct pp_session_page *ret_page; /* NULL, or what is still to be done for report.html: pp_session_page_end() */
};

/* `message` (may be NULL) receives the lines for rank 0, newline between, no "podprof: ". `capture` is converted in place. */
int pp_session_write(struct pp_capture *capture, const struct pp_clock_map *clock, const struct pp_session_options *options,
                     char *message, size_t message_size, struct pp_err *err);
