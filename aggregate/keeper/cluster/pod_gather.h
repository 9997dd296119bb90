/* The leader's window, gathered from all hosts. The last two functions are called by writing.c, the others by pod.c. */
#pragma once

#include "aggregate/keeper/cluster/pod_types.h"

struct pp_gather;
struct pp_pod;
struct pp_wire;

/* One turn: asks the hosts once the session has its name, and tells the child when all shares are there. */
void pp_pod_gather_run(struct pp_pod *p);
/* A part of a host's block or XSpace: writes it to its file. */
void pp_pod_take_piece(struct pp_pod *p, int peer, const struct pp_wire *m);
/* A host has sent all of its share, or says why it sends none. */
void pp_pod_take_share(struct pp_pod *p, int peer, const struct pp_wire *m);
/* Ends the gathering and removes its files. */
void pp_pod_gather_end(struct pp_pod *p);

/* LEADER, before pp_forked_writer_start() of the child that writes the window: returns the child's end of the socket pair, for
 * pp_session_options.gather; NULL where no other host can be asked or no memory is left. One at a time. After the fork the
 * parent calls pp_pod_gathering(), with 0 where there is no child. pp_pod_run() does the rest; the child's answer is in its
 * pp_forked_writer. */
struct pp_gather *pp_pod_gather(struct pp_pod *p, const struct pp_pod_window *w);
/* Goes on without the child's end, which is closed here; without a child the gathering ends. */
void pp_pod_gathering(struct pp_pod *p, int has_child);
