/* The leader's window, gathered from all hosts. Called by pod_role.c. See also pp_pod_gather() and pp_pod_gathering() in pod.h. */
#pragma once

#include "aggregate/keeper/cluster/pod_state.h"

/* One turn: asks the hosts once the session has its name, and tells the child when all shares are there. */
void pp_pod_gather_run(struct pp_pod *p);
/* A part of a host's block or XSpace: writes it to its file. */
void pp_pod_take_piece(struct pp_pod *p, int peer, const struct pp_wire *m);
/* A host has sent all of its share, or says why it sends none. */
void pp_pod_take_share(struct pp_pod *p, int peer, const struct pp_wire *m);
/* Ends the gathering and removes its files. */
void pp_pod_gather_end(struct pp_pod *p);
