/* A follower's share of the leader's window. Called by pod.c. */
#pragma once

#include "aggregate/keeper/cluster/pod_state.h"

/* The leader asks for a share: starts the child that makes it. */
void pp_pod_share_begin(struct pp_pod *p, int peer, const struct pp_wire *m);
/* One turn: sends what the child has made. */
void pp_pod_share_run(struct pp_pod *p);
/* Ends the share once all of it was acknowledged. */
void pp_pod_share_finish(struct pp_pod *p);
/* Ends it as it is, kills the child, removes files that only the leader was to have. */
void pp_pod_share_end(struct pp_pod *p);
