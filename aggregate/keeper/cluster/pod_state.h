/* The state that the files behind pod.h share, and what all of them use. pod.c takes the turns and hands messages down: to
 * pod_transport.c (how hosts find each other), pod_request.c (requests, clients), pod_gather.c (the leader's window), pod_share.c
 * (a follower's), pod_ranks.c (state of ranks), pod_clock.c, and through it pod_tree.c or pod_pairs.c, and pod_clock_file.c (whose
 * clock is compared with whose). None of them calls pod.c: what it must do next, they return or leave in struct pp_pod. No other
 * file includes this one. */
#pragma once

#include "aggregate/keeper/clock/clock_file.h"
#include "aggregate/keeper/clock/clock_link.h"
#include "aggregate/keeper/clock/clock_tree.h"
#include "aggregate/keeper/cluster/pod_types.h"
#include "aggregate/keeper/net/rendezvous_point.h"
#include "aggregate/keeper/net/star.h"
#include "aggregate/session/forked_writer.h"
#include "aggregate/session/gather.h"

enum { PP_POD_QUEUE = 64 };

enum pp_pod_state {
	PP_POD_UNDECIDED, /* rank 0's ring may still arrive */
	PP_POD_HERE,      /* all ranks belong to this keeper */
	PP_POD_LISTENING,
	PP_POD_SEARCHING, /* for an invitation */
	PP_POD_CALLING,
	PP_POD_JOINED,
	PP_POD_SEVERED,  /* the leader is silent: this host acts alone until its next message */
	PP_POD_ISOLATED, /* no other host is reached, or none any more */
};

struct pp_pod_delivery {     /* leader: what a host sends to the current gathering */
	int asked, done, fd; /* fd: of the file being written; -1: none */
	uint64_t at;
	char *name; /* of the open file */
	int is_block, has_block;
	int64_t moved_ms;
	char why[200], warning[216]; /* why it sends nothing; about what it sends */
};

struct pp_pod_sent_place {  /* the place that a host was sent last */
	int is_set, parent; /* PP_TREE_ROOT, or a peer */
	int same, serves, hops;
};

struct pp_pod_place { /* leader: a host in the tree of clocks (pod_tree.c) */
	struct pp_tree_row row;
	struct pp_pod_sent_place sent;
	int is_false;          /* it claimed to share another host's clock, and does not */
	uint32_t missed, lost; /* turns without an answer; times that its turn was lost */
	uint32_t placed;       /* all pairs: how often it has reported its place: when it joined, and for each host before it */
	uint16_t port;         /* where its children exchange timestamps with it; 0: not reported yet */
	char address[256], warning[200];
	uint64_t round; /* the chain covers all rounds up to this one */
	uint32_t chain_of;
	uint8_t *chain;
	size_t chain_size;
};

struct pp_pod_peer { /* another host, by its number in the net */
	int joined, gone, lost;
	enum pp_pod_transport transport;
	char host[72], name[72]; /* as it reports it; unique, for files and rows */
	char boot_id[64], timens[96];
	uint32_t tick_kind;
	uint64_t first_tick;
	int over;
	struct pp_pod_delivery delivery;
	struct pp_pod_place place;
};

struct pp_pod_job {                         /* leader: the gathering */
	int active, named, asked, complete; /* complete: the child has all there is */
	int fd;                             /* parent's end; -1 */
	struct pp_gather child;             /* what the child has */
	struct pp_pod_window window;
	struct pp_gather_named name;
	int64_t begun_ms;
};

struct pp_pod_share {             /* follower: what it makes and sends */
	int active, made, shared; /* made: the child has answered; shared: the leader sees the files in the same directory */
	char moved[64];           /* where the files are, if not in the log directory */
	struct pp_gather child;
	struct pp_clock_map map;
	struct pp_pieces pieces; /* map.pieces, where this host has a clock of its own */
	struct pp_pod_window window;
	struct pp_forked_writer writer;
	char **file; /* [files] paths to send, the block first */
	size_t files, file_at, xspaces;
	int fd;
	uint64_t at, total, block;
	int64_t begun_ms;
};

struct pp_pod_clock {               /* pod_clock.c */
	struct pp_clock_link *link; /* NULL: clocks are not compared */
	uint8_t key[PP_CLOCK_KEY];
	uint16_t port; /* all pairs: where others compare theirs with this host's */
	char addresses[PP_WIRE_TEXT + 1];
	struct pp_pod_parent { /* all pairs: the hosts before this one; `link` has no other parent */
		uint32_t domain;
		struct pp_clock_link *link;
	} before[PP_POD_ALL_PAIRS];
	size_t befores;
	uint64_t star; /* all pairs: the last round that this host began with those behind it */
	double ticks_per_ns;
	struct pp_clock_pair first; /* when the link was opened */
	struct pp_clock_file file;
	int64_t saved_tick;   /* at which the last burst in the file began */
	uint64_t saved_round; /* follower: turn, leader: round after which it was written */
	/* leader */
	uint64_t round;
	int64_t round_ms, windows_ms, join_ms, join_began_ms; /* join_ms: of a round for hosts that have just joined; 0: none */
	size_t answered, domains;                             /* domains: clocks other than the leader's */
	int is_stale;                                         /* places must be computed again */
	int wanted, busy;                                     /* a round should begin; one runs */
	int is_open;                                          /* a rank records */
	/* follower */
	uint32_t self, parent;
	int same, is_false; /* same: both report one clock; is_false: the comparison found two */
	uint32_t serves;    /* hosts that compare their clocks with this one's */
	int hops;
	char host[72]; /* of the parent */
	uint64_t due;  /* round after which the chain is sent; all pairs: which is to begin here; 0: none */
	int64_t due_ms;
	int64_t placed_ms, patience_ms; /* until it reports that the parent is not reached */
	struct pp_pieces above;         /* the parent's ticks to the leader's, where the parent is not the leader */
	uint32_t above_of;
};

struct pp_pod {
	struct pp_pod_options o;
	enum pp_pod_state state;
	enum pp_pod_transport transport;
	char why[480], described[480]; /* described: the text that pp_pod_why() returned */
	char session[200], host[72];
	int64_t begin_ms, rings_ms, over_ms, states_ms, beat_ms, calling_ms, file_ms, asked_ms;
	int published, complete, is_done;
	uint64_t windows_done; /* pp_pod_windows_done() */
	struct pp_star star;
	struct pp_rendezvous_point *rendezvous; /* at the podprof run around the launcher; NULL: none, or none that is of use */
	int serves, rendezvous_tried; /* serves: this keeper serves it; rendezvous_tried: the rank's environment was read */
	char rendezvous_why[300];
	int has_checked;        /* whether a rendezvous is wanted, */
	unsigned spool_changes; /* and the number of changes of the spool then */
	int64_t found_ms;       /* when a file with an invitation was found */
	struct pp_pod_peer peer[PP_NET_PEERS];
	size_t peers;
	struct pp_pod_rank *rank; /* of other hosts */
	int *rank_peer;
	size_t ranks, hint;        /* hint: index where the next row is likely */
	struct pp_wire_rank *mine; /* what was sent last */
	size_t mine_count;
	int mine_over;
	struct {
		uint32_t number;
		enum pp_ask_kind kind;
		int64_t first, last;
		uint32_t level;
		int64_t sent_us; /* leader; 0: all ranks of other hosts have answered */
	} request;
	struct pp_pod_client_line queue[PP_POD_QUEUE];
	size_t queued;
	int news;              /* something arrived that requests or windows should look at */
	pp_pod_watcher *watch; /* NULL: nobody does */
	void *watch_context;
	struct pp_pod_clock clock;
	struct {                            /* pod_pairs.c; leader */
		int peer[PP_NET_PEERS + 1]; /* by their order; [0]: -1 */
		size_t hosts, stars, at;    /* stars: hosts that others compare with; at: whose turn it is */
		int64_t end_ms;             /* of that turn */
	} pairs;
	uint64_t gathers;
	struct pp_pod_job gather;
	struct pp_pod_share share;
};

/* CLOCK_MONOTONIC. */
int64_t pp_pod_now_us(void);
/* Sets pp_pod.why, and logs it where it is new and no search goes on. */
void pp_pod_say_why(struct pp_pod *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* This host's rings; valid while the keeper lives. */
const struct pp_rings *pp_pod_rings(const struct pp_pod *p);
/* Index of rank 0's last ring; -1: not here, or there is no job. */
int pp_pod_zero(const struct pp_pod *p);
/* The clock as this host's first ring, or a peer, reports it; texts belong to those. Without a ring: one that nothing equals;
 * without a job: as the options have it. */
struct pp_wire_clock pp_pod_own_clock(const struct pp_pod *p);
struct pp_wire_clock pp_pod_clock_of(const struct pp_pod_peer *one);
/* LEADER. Does that host claim this one's clock? */
int pp_pod_same_clock(const struct pp_pod *p, const struct pp_pod_peer *one);
