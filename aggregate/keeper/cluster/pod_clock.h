/* When the clocks of a job's hosts are compared, and what a follower knows of its own. Called by pod.c, pod_request.c,
 * pod_gather.c and pod_share.c, and, for all pairs, by podprof doctor --clock. */
#pragma once

#include "aggregate/keeper/cluster/pod_types.h"

struct pp_clock_link;
struct pp_clock_map;
struct pp_pieces;
struct pp_pod;
struct pp_wire;

/* All pairs. Opens one UDP port at the addresses that others may reach. -EADDRINUSE: none of the range is free. */
int pp_pod_clock_open(struct pp_pod *p, struct pp_err *err);
/* All pairs, follower. Reports where others may compare their clocks with this host's. */
void pp_pod_clock_send_place(struct pp_pod *p);
/* All pairs, follower. The comparison with the i-th host before this one, and that host's domain; NULL: there are no more. */
struct pp_clock_link *pp_pod_clock_before(struct pp_pod *p, size_t i, uint32_t *ret_domain);
/* Leader. Becomes the root of the comparison. After a failure clocks are not compared. */
int pp_pod_clock_lead(struct pp_pod *p, struct pp_err *err);
/* Asks for a round at the begin or end of a window. */
void pp_pod_clock_want(struct pp_pod *p);
/* One turn, leader or follower. */
void pp_pod_clock_run(struct pp_pod *p);
/* Leader. Is the round of a window that ended at `since_ms` over, or not worth waiting for any more? */
int pp_pod_clock_is_ready(struct pp_pod *p, int64_t since_ms);
/* Ends the comparison and forgets the key. */
void pp_pod_clock_end(struct pp_pod *p);
/* Follower. Its place in the tree, and the chain of its parent's clock. */
void pp_pod_clock_take_place(struct pp_pod *p, int peer, const struct pp_wire *m);
void pp_pod_clock_take_chain(struct pp_pod *p, int peer, const struct pp_wire *m);
/* Follower. Does it claim to share another host's clock, and does not? */
int pp_pod_clock_is_false(struct pp_pod *p);
/* Follower. Maps own ticks to job ns, by the leader's map of its own ticks; to be released. -ENODATA: never compared. */
int pp_pod_clock_pieces(struct pp_pod *p, struct pp_clock_map *leader, struct pp_pieces *ret, struct pp_err *err);
