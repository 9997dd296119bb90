/* How the keepers of a job find each other. Called by pod.c, and by podprof doctor --clock. In: the spool, the log directory, rank
 * 0's environment. Out: an invitation that is published or found, struct pp_pod.net. No call waits. */
#pragma once

#include "aggregate/keeper/cluster/pod_types.h"

struct pp_pod;

/* As in "invited through NAME". */
const char *pp_pod_transport_name(enum pp_pod_transport transport);
/* What pp_pod_why() returns, into `text`. */
void pp_pod_describe(const struct pp_pod *p, char *text, size_t size);
/* Leader. Opens the port; the state becomes LISTENING. -EADDRINUSE: no port of the range is free; -ENETUNREACH: there is no job,
 * and no other host reaches this one. */
int pp_pod_listen(struct pp_pod *p, struct pp_err *err);
/* Leader. Invites the others by all transports; a failed one is logged, and named by pp_pod_describe(). -errno: of the file. */
int pp_pod_publish(struct pp_pod *p, struct pp_err *err);
/* Leader. What is published; secret. */
const struct pp_net_invite *pp_pod_invitation(const struct pp_pod *p);
/* Removes what pp_pod_publish() made. */
void pp_pod_withdraw(struct pp_pod *p);
/* Is there an invitation in the spool? */
int pp_pod_is_invited(const struct pp_pod *p);
/* Follower. Calls the host of an invitation: the state becomes CALLING, or after a failure SEARCHING. */
void pp_pod_call(struct pp_pod *p, const struct pp_net_invite *found, enum pp_pod_transport transport);
/* Follower. Looks for an invitation once, and calls its host: the state becomes CALLING, or stays SEARCHING with the reason. */
void pp_pod_search(struct pp_pod *p);
/* Follower in CALLING. Calls another host where a newer invitation is there. */
void pp_pod_search_again(struct pp_pod *p);
/* One turn of the rendezvous at the podprof run around the launcher; its end. */
void pp_pod_rendezvous_run(struct pp_pod *p);
void pp_pod_rendezvous_end(struct pp_pod *p);
