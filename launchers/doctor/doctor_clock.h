/* podprof doctor --clock: the hosts of a job find each other, compare their clocks in pairs as keepers do, and rank 0 prints the
 * result. In: the launcher's environment, UDP and TCP between the hosts. Out: rows for doctor_clock_print.c. One thread per
 * process, besides those of the links. Every wait has a deadline. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aggregate/keeper/clock/clock_packet.h"
#include "aggregate/keeper/net/net.h"
#include "aggregate/spool/job.h"
#include "core/base/err.h"
#include "launchers/options/options.h"
#include "launchers/run/pmix.h"

enum { PP_DOCTOR_HOSTS = 256, PP_DOCTOR_ALL_PAIRS = 16 /* hosts; above that with rank 0's only */ };

enum pp_doctor_verdict {
	PP_DOCTOR_TWO,       /* clocks */
	PP_DOCTOR_ONE,       /* both claim one clock, and no trip contradicts it */
	PP_DOCTOR_FALSE,     /* both claim one, and the trips prove two */
	PP_DOCTOR_UNREACHED, /* no packet came through */
	PP_DOCTOR_LOST,      /* one of the hosts did not report its results */
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
	const struct pp_wire_doctor_host *host;
	size_t hosts;
	const struct pp_doctor_pair *pair;
	size_t pairs;
	const char *missing; /* hosts that did not connect, as text; "" */
	size_t beyond;       /* hosts that connected beyond the limit */
	uint16_t door;       /* TCP port where rank 0 waited for them, for wait_s */
	double patience_s;
	const char *transport; /* how they found each other */
	int rounds;
	double took_s, over_s; /* all of it; between the first burst and the last */
	int json;
};

/* doctor_clock_own.c */
void pp_doctor_host_read(const struct pp_job *job, struct pp_wire_doctor_host *ret_host);
/* Do both claim the same clock? */
int pp_doctor_host_same(const struct pp_wire_doctor_host *a, const struct pp_wire_doctor_host *b);
/* Converts the raw rows of a pair to ns. */
void pp_doctor_pair_make(const struct pp_wire_doctor_raw *raw, const struct pp_wire_doctor_host *host,
                         const struct pp_wire_doctor_reading *read, struct pp_doctor_pair *ret_pair);

/* doctor_clock_print.c: the exit code. */
int pp_doctor_clock_print(const struct pp_doctor_table *t);
int pp_doctor_clock_print_alone(const struct pp_wire_doctor_host *host, const char *why_alone, int json);

/* doctor_clock_star.c: this host as a parent of those behind it, and as a child of those before it. */
struct pp_doctor_stars;
int pp_doctor_stars_open(struct pp_wire_doctor_host *self, uint16_t port_first, uint16_t port_last,
                         struct pp_doctor_stars **ret_stars, struct pp_err *err);
void pp_doctor_stars_free(struct pp_doctor_stars *s);
/* `hosts`: of all; a call for each parent sets its address. */
int pp_doctor_stars_place(struct pp_doctor_stars *s, uint32_t self, uint32_t hosts, const uint8_t key[PP_CLOCK_KEY],
                          struct pp_err *err);
int pp_doctor_stars_parent(struct pp_doctor_stars *s, const struct pp_wire_doctor_host *parent, struct pp_err *err);
/* Begins a round of the own star; it is over when run returns 1, in bounded time. */
void pp_doctor_stars_begin(struct pp_doctor_stars *s);
int pp_doctor_stars_run(struct pp_doctor_stars *s);
void pp_doctor_stars_read(struct pp_doctor_stars *s, struct pp_wire_doctor_reading *ret_read);
/* Of one parent, with the reading that was taken last. */
void pp_doctor_stars_result(struct pp_doctor_stars *s, uint32_t parent, struct pp_wire_doctor_raw *ret_raw);

enum pp_doctor_kind {
	PP_DOCTOR_PLACE = 1, /* lead: the host's index, the number of hosts, and the key */
	PP_DOCTOR_READY,     /* lead: are your links open? follower: they are */
	PP_DOCTOR_ROUND,     /* lead: run your star once; follower: it is over */
	PP_DOCTOR_REPORT,    /* lead: read your clocks, and report everything */
	PP_DOCTOR_SPARE,     /* lead: another process of that host measures */
};

/* Queues a command; a lost peer does not block. */
void pp_doctor_command(struct pp_net *net, int peer, enum pp_doctor_kind kind);

/* doctor_clock_rendezvous.c: how the others get the lead's invitation: by the launcher's key-value store, else a file. */
struct pp_doctor_rendezvous {
	struct pp_pmix *pmix;
	char dir[512], job[128], transport[640];
	int offered;     /* a file is there */
	int by_launcher; /* the invitation came through the launcher: its process is alive */
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
	struct pp_wire_doctor_host self;
	struct pp_doctor_rendezvous rendezvous;
	uint16_t port_first, port_last;
	int64_t began_ms, patience_ms; /* for hosts to connect and to answer */
	int64_t duration_ms;
	int json;
};

/* doctor_clock_lead.c: rank 0; the exit code. doctor_clock_follow.c: the others that measure. */
int pp_doctor_clock_lead(struct pp_doctor_run *r);
int pp_doctor_clock_follow(struct pp_doctor_run *r);
/* 1: the launcher ends us: print what is known now. */
int pp_doctor_clock_is_ended(void);
/* Guards calls of the launcher's library, which may wait forever: on timeout this process ends itself with an error. */
void pp_doctor_clock_guard(int on);

/* cmd_doctor.c and doctor_clock.c: `podprof doctor --clock`; the exit code. */
int pp_doctor_clock(const struct pp_options *options, int json);
