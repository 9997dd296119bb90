/* Messages about requests and lines of clients. Called by pod_role.c. See also pp_pod_send_request(), pp_pod_send_over(), pp_pod_ask(),
 * pp_pod_forget(), pp_pod_next_line() and pp_pod_answer() in pod.h. */
#pragma once

#include "aggregate/keeper/cluster/pod_state.h"

/* Follower. Writes the leader's request into this host's control page, as request.c does on the leader's host. */
void pp_pod_take_request(struct pp_pod *p, int peer, const struct pp_wire *m);
/* Queues a client's line for pp_pod_next_line(); a line beyond PP_POD_QUEUE is lost, and logged. */
void pp_pod_take_line(struct pp_pod *p, int peer, const struct pp_wire *m);
/* Leader. Sends the last request, if there is one, to a host that has joined. */
void pp_pod_resend_request(struct pp_pod *p, int peer);
