/* podprof doctor --clock: the hosts of a job meet, compare their clocks in pairs as keepers do, and rank 0 prints what it found.
 * In: the launcher's environment, UDP and TCP between the hosts. Out: rows for doctor_clock_print.c. One thread a process, besides
 * those of the links. Every wait has a deadline. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aggregate/keeper/clock/clock_packet.h"
#include "aggregate/keeper/net/net.h"
#include "core/base/err.h"
#include "core/clock/clock_map.h"
#include "core/clock/wall.h"
#include "launchers/options/options.h"
#include "launchers/run/job.h"
#include "launchers/run/pmix.h"

enum { PP_DOCTOR_HOSTS = 256, PP_DOCTOR_ALL_PAIRS = 16 /* hosts; above that with rank 0's only */, PP_DOCTOR_ADDRESSES = 16 };

struct pp_doctor_host { /* what a host says of itself */
	char name[72], boot_id[40], timens[96];
	char why[96]; /* its tick is what it is */
	int32_t rank, local_size;
	int32_t kind; /* enum pp_tick_kind */
	int32_t stamps, claims;
	char by[64]; /* whose claim */
	double ticks_per_ns, resolution_ns, cost_ns;
	struct pp_wall_claim claim;
	uint16_t port; /* of its own star, by UDP */
	uint16_t addresses;
	char address[PP_DOCTOR_ADDRESSES][48];
};

struct pp_doctor_read { /* of its clocks: at the begin, and when the last burst was over */
	struct pp_clock_pair first, last;
	struct pp_wall_sample wall;
	double ticks_per_ns; /* between the two */
};

struct pp_doctor_raw { /* what a child found of its parent's clock, in ticks: x its own, y the parent's */
	uint32_t parent, child;
	uint32_t nodes; /* bursts that came through, at most 2 of them here: the first and the last */
	uint32_t same;  /* enum pp_same_verdict */
	int64_t x[2], y[2];
	double half[2], least;
	int64_t bound;                /* the largest between the two, y ticks; INT64_MAX: none */
	int64_t date_y, date_y_bound; /* its reading of the date, by the parent's tick */
	uint64_t trips, lost;
};

enum pp_doctor_verdict {
	PP_DOCTOR_TWO,     /* clocks */
	PP_DOCTOR_ONE,     /* as both say, and no trip says otherwise */
	PP_DOCTOR_FALSE,   /* both say one, and the trips prove two */
	PP_DOCTOR_UNHEARD, /* no packet came through */
	PP_DOCTOR_LOST,    /* one of the hosts did not say what it had found */
};

struct pp_doctor_pair { /* b less a */
	uint32_t a, b;
	enum pp_doctor_verdict verdict;
	int has_drift, has_date;
	int64_t offset_ns; /* a double would have no ns where a host is up for months */
	double offset_error_ns, drift_ppm, drift_error_ppm, half_ns, bound_ns, date_ns, date_error_ns;
	uint64_t trips, lost;
};

struct pp_doctor_table {
	const struct pp_doctor_host *host;
	size_t hosts;
	const struct pp_doctor_pair *pair;
	size_t pairs;
	const char *missing; /* hosts that did not come, in words; "" */
	size_t beyond;       /* hosts that came and are too many */
	uint16_t door;       /* TCP port where rank 0 waited for them, so long */
	double patience_s;
	const char *way; /* how they met */
	int rounds;
	double took_s, over_s; /* all of it; between the first burst and the last */
	int json;
};

/* doctor_clock_own.c */
void pp_doctor_host_read(const struct pp_job *job, struct pp_doctor_host *ret_host);
/* Do both say that they count the same ticks? */
int pp_doctor_host_same(const struct pp_doctor_host *a, const struct pp_doctor_host *b);
/* What the raw rows of a pair say in ns. */
void pp_doctor_pair_make(const struct pp_doctor_raw *raw, const struct pp_doctor_host *host, const struct pp_doctor_read *read,
                         struct pp_doctor_pair *ret_pair);

/* doctor_clock_print.c: the exit code. */
int pp_doctor_clock_print(const struct pp_doctor_table *t);
int pp_doctor_clock_print_alone(const struct pp_doctor_host *host, const char *why_alone, int json);

/* doctor_clock_star.c: this host as a parent of those behind it, and as a child of those before it. */
struct pp_doctor_stars;
int pp_doctor_stars_open(struct pp_doctor_host *self, uint16_t port_first, uint16_t port_last, struct pp_doctor_stars **ret_stars,
                         struct pp_err *err);
void pp_doctor_stars_free(struct pp_doctor_stars *s);
/* `hosts`: of all; each parent is told of by a call of its own. */
int pp_doctor_stars_place(struct pp_doctor_stars *s, uint32_t self, uint32_t hosts, const uint8_t key[PP_CLOCK_KEY],
                          struct pp_err *err);
int pp_doctor_stars_parent(struct pp_doctor_stars *s, uint32_t parent, const struct pp_doctor_host *host, struct pp_err *err);
/* A round of the own star: begun here; over when run says 1, which it does in bounded time. */
void pp_doctor_stars_begin(struct pp_doctor_stars *s);
int pp_doctor_stars_run(struct pp_doctor_stars *s);
void pp_doctor_stars_read(struct pp_doctor_stars *s, struct pp_doctor_read *ret_read);
/* Of one parent, with the reading that was taken last. */
void pp_doctor_stars_result(struct pp_doctor_stars *s, uint32_t parent, struct pp_doctor_raw *ret_raw);

/* What hosts say to one another. Structs as they are, in the words of keepers' messages (pp_net): both ends are one podprof
 * version, which the lead looks at, and a body of another size or byte order is no message. Texts are ended and numbers are in
 * their range in what is handed out. */
enum pp_doctor_word {
	PP_DOCTOR_HERE = 1, /* follower: its host */
	PP_DOCTOR_PLACE,    /* lead: which one it is, of how many, and the key */
	PP_DOCTOR_PARENT,   /* lead: a host whose star it is in */
	PP_DOCTOR_READY,    /* follower: its links are there */
	PP_DOCTOR_ROUND,    /* lead: run your star once; follower: it is over */
	PP_DOCTOR_TELL,     /* lead: read your clocks, and say all */
	PP_DOCTOR_READING,  /* follower */
	PP_DOCTOR_RAW,      /* follower: a pair */
	PP_DOCTOR_SPARE,    /* lead: another process of that host measures */
	PP_DOCTOR_TOLD,     /* follower: that is all */
};

struct pp_doctor_talk {
	uint32_t magic, word, size, index;
	union {
		struct pp_doctor_host host;
		struct {
			uint32_t hosts;
			uint8_t key[PP_CLOCK_KEY];
		} place;
		struct pp_doctor_read read;
		struct pp_doctor_raw raw;
	};
};

/* Queued; where the peer is gone nobody waits for it. */
void pp_doctor_talk_say(struct pp_net *net, int peer, struct pp_doctor_talk *t, enum pp_doctor_word word);
/* 0, or -EBADMSG. */
int pp_doctor_talk_hear(const struct pp_wire *m, struct pp_doctor_talk *ret_talk);

/* doctor_clock_rendezvous.c: how the others get the lead's invitation: by the launcher's key-value store, else a file. */
struct pp_doctor_rendezvous {
	struct pp_pmix *pmix;
	char dir[512], job[128], way[640];
	int offered;     /* a file is there */
	int by_launcher; /* the invitation came so: it is of a process that lives */
	struct pp_net_invite invite;
};

/* Every process of the job, whether it measures or not. */
void pp_doctor_rendezvous_open(struct pp_doctor_rendezvous *m, const struct pp_job *job, const struct pp_options *options);
void pp_doctor_rendezvous_close(struct pp_doctor_rendezvous *m);
int pp_doctor_rendezvous_offer(struct pp_doctor_rendezvous *m, struct pp_err *err);
/* -ETIMEDOUT: none by end_ms. `stale_key`: of one that led nowhere, or NULL. */
int pp_doctor_rendezvous_find(struct pp_doctor_rendezvous *m, const char *stale_key, int64_t end_ms, struct pp_err *err);

struct pp_doctor_run { /* of one process */
	struct pp_job job;
	struct pp_doctor_host self;
	struct pp_doctor_rendezvous rendezvous;
	uint16_t port_first, port_last;
	int64_t began_ms, patience_ms; /* for hosts to come, and to be heard */
	int64_t duration_ms;
	int json;
};

struct pp_doctor_came { /* a host, by the rank that measures there */
	int32_t rank, local_size;
};

/* doctor_clock_missing.c: the others, in words. */
void pp_doctor_clock_missing(const struct pp_doctor_run *r, const struct pp_doctor_came *came, size_t count, char *ret_text,
                             size_t size);
/* doctor_clock_lead.c: rank 0; the exit code. doctor_clock_follow.c: the others that measure. */
int pp_doctor_clock_lead(struct pp_doctor_run *r);
int pp_doctor_clock_follow(struct pp_doctor_run *r);
/* 1: the launcher ends us: what is known is to be said now. */
int pp_doctor_clock_is_ended(void);
/* Around calls of the launcher's library, which may wait for ever: then this process ends itself, with a sentence. */
void pp_doctor_clock_guard(int on);

/* cmd_doctor.c and doctor_clock.c: `podprof doctor --clock`; the exit code. */
int pp_doctor_clock(const struct pp_options *options, int json);
