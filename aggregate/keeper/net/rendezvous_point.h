/* The rendezvous point: where keepers find each other whose ranks call no MPI and whose hosts share no directory. The keeper of
 * the podprof run around the launcher serves it and passes rank 0's invitation on; the rest is between keepers (net.h). Called
 * by pod_transport.c. In: the invitation of rank 0's keeper. Out: the same in the others. One thread, no call waits. Secret as
 * all invitations are. */
#pragma once

#include "aggregate/keeper/net/net.h"
#include "aggregate/keeper/net/rendezvous.h"

/* In the spool, 0600. WANTED: podprof run requests a rendezvous point; the keeper removes it when FILE (the value of
 * PODPROF_MEETING) or FAILED (a message) exists. On other hosts FILE holds the rank's PODPROF_MEETING. */
#define PP_RENDEZVOUS_POINT_WANTED "meeting.wanted"
#define PP_RENDEZVOUS_POINT_FILE "meeting"
#define PP_RENDEZVOUS_POINT_FAILED "meeting.failed"

enum { PP_RENDEZVOUS_POINT_TEXT = 2 * PP_RENDEZVOUS_TEXT + 1 };

struct pp_rendezvous_point;

/* The invitation to the rendezvous point as one word of plain letters, and back: 0, or -EBADMSG, which says why. */
void pp_rendezvous_point_print(const struct pp_net_invite *at, char text[PP_RENDEZVOUS_POINT_TEXT]);
int pp_rendezvous_point_parse(const char *text, struct pp_net_invite *ret_at, struct pp_err *err);
/* Is `job` the one of that rendezvous point, or its ranks started again ("-rN" behind it)? */
int pp_rendezvous_point_is_of(const char *point_job, const char *job);

/* `o->job`: the job that podprof run named. `ret_at` has no addresses yet. */
int pp_rendezvous_point_serve(const struct pp_net_options *o, struct pp_net_invite *ret_at, struct pp_rendezvous_point **ret_point,
                              struct pp_err *err);
/* Looks for the invitation of `job`. */
int pp_rendezvous_point_join(const struct pp_net_options *o, const struct pp_net_invite *at, const char *job,
                             struct pp_rendezvous_point **ret_point, struct pp_err *err);
void pp_rendezvous_point_free(struct pp_rendezvous_point *m);

/* One turn. All below take NULL. */
void pp_rendezvous_point_run(struct pp_rendezvous_point *m);
/* Rank 0's keeper: publishes its invitation. If it serves the point itself, at once; else it sends the invitation and the
 * rendezvous ends with it. */
void pp_rendezvous_point_put(struct pp_rendezvous_point *m, const struct pp_net_invite *invite);
/* 1: an invitation to `job` has arrived. A joined keeper does not need the rendezvous any more then. */
int pp_rendezvous_point_get(struct pp_rendezvous_point *m, const char *job, struct pp_net_invite *ret_invite);
/* 1: an invitation may still arrive. */
int pp_rendezvous_point_is_open(const struct pp_rendezvous_point *m);
/* Why none has arrived so far; "" where one has. */
const char *pp_rendezvous_point_why(const struct pp_rendezvous_point *m);
