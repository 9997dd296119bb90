/* How the other hosts of podprof doctor --clock get rank 0's invitation: by the launcher's key-value store, else a file. Called by
 * doctor_clock.c, doctor_clock_lead.c and doctor_clock_follow.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aggregate/keeper/net/net.h"
#include "aggregate/spool/job.h"
#include "core/base/err.h"
#include "launchers/options/options.h"

struct pp_pmix;

struct pp_doctor_rendezvous {
	struct pp_pmix *pmix; /* NULL: the launcher has no such store */
	char dir[512], job[128], transport[640];
	int offered;     /* a file is there */
	int by_launcher; /* the invitation came through the launcher: its process is alive */
};

/* Every process of the job, whether it measures or not. */
void pp_doctor_rendezvous_open(struct pp_doctor_rendezvous *m, const struct pp_job *job, const struct pp_options *options);
/* Removes the file of `invite`, if this process made one. */
void pp_doctor_rendezvous_close(struct pp_doctor_rendezvous *m, const struct pp_net_invite *invite);
/* Rank 0. Neither is possible: -errno of the file. */
int pp_doctor_rendezvous_offer(struct pp_doctor_rendezvous *m, const struct pp_net_invite *invite, struct pp_err *err);
/* The others. -ETIMEDOUT: none by end_ms. `stale_key`: of one that led nowhere, or "". */
int pp_doctor_rendezvous_find(struct pp_doctor_rendezvous *m, const char *stale_key, int64_t end_ms,
                              struct pp_net_invite *ret_invite, struct pp_err *err);
/* The launcher's list of ranks and hosts: names of `size` ranks, to be freed. NULL: it has none. */
char (*pp_doctor_rendezvous_hosts(const struct pp_doctor_rendezvous *m, size_t size))[72];
