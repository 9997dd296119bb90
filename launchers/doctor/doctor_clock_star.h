/* What a host measures under podprof doctor --clock: as the parent of the hosts behind it, and as a child of each host before it.
 * The exchange is that of jobs (aggregate/keeper/clock/clock_link.h). Called by doctor_clock_lead.c, for rank 0's own host, and by
 * doctor_clock_follow.c. In: commands of rank 0's host. Out: answers. */
#pragma once

#include <stdint.h>

#include "core/base/err.h"
#include "launchers/doctor/doctor_clock_pair.h"

enum pp_doctor_kind {
	PP_DOCTOR_PLACE = 1, /* lead: the host's index, the number of hosts, and the key */
	PP_DOCTOR_READY,     /* lead: are your links open? follower: they are */
	PP_DOCTOR_ROUND,     /* lead: run your star once; follower: it is over */
	PP_DOCTOR_REPORT,    /* lead: read your clocks, and report everything */
	PP_DOCTOR_SPARE,     /* lead: another process of that host measures */
};

struct pp_doctor_star;

/* Takes an answer to rank 0's host: READY, ROUND, and of REPORT all RAW and at last READING. Valid during the call. */
typedef void pp_doctor_answer(void *context, const struct pp_wire *m);

/* Opens UDP ports and writes them to `self`, which must outlive the star. */
int pp_doctor_star_open(struct pp_wire_doctor_host *self, uint16_t port_first, uint16_t port_last, pp_doctor_answer *answer,
                        void *context, struct pp_doctor_star **ret_star, struct pp_err *err);
void pp_doctor_star_free(struct pp_doctor_star *s);
/* Obeys PLACE, READY, ROUND, REPORT, and DOCTOR_HOST: a host before this one, to be compared with. Ignores all else. */
int pp_doctor_star_obey(struct pp_doctor_star *s, const struct pp_wire *m, struct pp_err *err);
/* One turn of a round. Returns whether one still runs; it ends in bounded time. */
int pp_doctor_star_run(struct pp_doctor_star *s);
/* Does a round run? Was REPORT obeyed? */
int pp_doctor_star_is_running(const struct pp_doctor_star *s);
int pp_doctor_star_has_reported(const struct pp_doctor_star *s);
