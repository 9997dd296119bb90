/* One end of a star of hosts: the leader listens, a follower calls the host that an invitation names. Called by the
 * cluster (pod.c, pod_transport.c), which finds the invitation. In: invitations.
 * Out: a net (net.h), or the key of an invitation that leads nowhere. One thread. */
#pragma once

#include "aggregate/keeper/net/net.h"

struct pp_star {                          /* zero: neither listens nor calls */
	struct pp_net *net;               /* NULL: the same */
	struct pp_net_invite invite;      /* its own, or of the host that it calls; secret */
	char stale_key[PP_NET_KEY];       /* server's key of the last invitation that nobody served; "": none */
	int64_t stale_ms, stale_until_ms; /* how long, and until when, others are preferred to it */
};

/* Silence after which a host is lost: 10 s, or PODPROF_SILENCE_MS. */
int64_t pp_star_silence_ms(void);
/* Follower. Calls the host of an invitation, which is copied; as pp_net_connect(), and after a failure it is stale. */
int pp_star_call(struct pp_star *s, const struct pp_net_options *o, const struct pp_net_invite *found, struct pp_err *err);
/* Follower. Nobody serves the invitation now: closes the net. Another one may come, or after a while the same is called again: its
 * host may have been slow. */
void pp_star_unreached(struct pp_star *s);
/* Follower. Was nobody reached at this invitation lately? */
int pp_star_is_stale(const struct pp_star *s, const struct pp_net_invite *found);
/* Says goodbye to all that are connected, waits until it is acknowledged, at most `most_ms`, and closes the net. */
void pp_star_leave(struct pp_star *s, const char *reason, int64_t most_ms);
/* Closes the net at once; the invitation stays. */
void pp_star_close(struct pp_star *s);
