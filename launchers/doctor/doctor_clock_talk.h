/* What hosts say to one another under podprof doctor --clock. Called by doctor_clock_lead.c and doctor_clock_follow.c.
 * Structs as they are, in the words of keepers' messages (pp_net): both ends are one podprof version, which the lead looks at, and
 * a body of another size or byte order is no message. Texts are ended and numbers are in their range in what is handed out. */
#ifndef PP_LAUNCHERS_DOCTOR_DOCTOR_CLOCK_TALK_H
#define PP_LAUNCHERS_DOCTOR_DOCTOR_CLOCK_TALK_H

#include "aggregate/keeper/net/net.h"
#include "launchers/doctor/doctor_clock.h"
#include "launchers/run/pmix.h"

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

/* doctor_clock_meet.c: how the others get the lead's invitation: by the launcher's key-value store, else a file. */
struct pp_doctor_meet {
	struct pp_pmix *pmix;
	char dir[512], job[128], way[640];
	int offered;     /* a file is there */
	int by_launcher; /* the invitation came so: it is of a process that lives */
	struct pp_net_invite invite;
};

/* Every process of the job, whether it measures or not. */
void pp_doctor_meet_open(struct pp_doctor_meet *m, const struct pp_job *job, const struct pp_options *options);
void pp_doctor_meet_close(struct pp_doctor_meet *m);
int pp_doctor_meet_offer(struct pp_doctor_meet *m, struct pp_err *err);
/* -ETIMEDOUT: none by end_ms. `stale_key`: of one that led nowhere, or NULL. */
int pp_doctor_meet_find(struct pp_doctor_meet *m, const char *stale_key, int64_t end_ms, struct pp_err *err);

struct pp_doctor_run { /* of one process */
	struct pp_job job;
	struct pp_doctor_host self;
	struct pp_doctor_meet meet;
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

#endif
