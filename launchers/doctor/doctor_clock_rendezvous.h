/* How the other hosts of podprof doctor --clock get rank 0's invitation: by the launcher's key-value store, else a file, as keepers
 * do. Called by doctor_clock.c, doctor_clock_lead.c and doctor_clock_follow.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/opt.h"

struct pp_pmix;
struct pp_pod;

struct pp_doctor_rendezvous {
	struct pp_pmix *pmix; /* NULL: the launcher has no such store */
	char transport[640];
};

/* Every process of the job, whether it measures or not. `settings` get the directory of the file: the log directory, or the nearest
 * above it that is there, where no other is given. */
void pp_doctor_rendezvous_open(struct pp_doctor_rendezvous *m, struct pp_settings *settings);
/* Leaves the launcher's store. */
void pp_doctor_rendezvous_close(struct pp_doctor_rendezvous *m);
/* Rank 0. Neither is possible: -errno of the file. */
int pp_doctor_rendezvous_offer(struct pp_doctor_rendezvous *m, struct pp_pod *pod, struct pp_err *err);
/* The others. Waits until end_ms for an invitation through the launcher, and calls its host; else the pod looks for the file. */
void pp_doctor_rendezvous_find(struct pp_doctor_rendezvous *m, struct pp_pod *pod, int64_t end_ms);
/* The launcher's list of ranks and hosts: names of `size` ranks, to be freed. NULL: it has none. */
char (*pp_doctor_rendezvous_hosts(const struct pp_doctor_rendezvous *m, size_t size))[72];
