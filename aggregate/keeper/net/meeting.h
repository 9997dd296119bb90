/* Where keepers of a job meet whose ranks call no MPI and whose hosts share no directory: at the keeper of the podprof run around
 * the launcher. It passes rank 0's invitation on; what follows is between keepers (net.h). Called by pod_meet.c.
 * In: the invitation of rank 0's keeper. Out: the same in the others. One thread, nothing waits. Secret as all invitations are. */
#ifndef PP_KEEPER_MEETING_H
#define PP_KEEPER_MEETING_H

#include "aggregate/keeper/net/net.h"
#include "aggregate/keeper/net/rendezvous.h"

/* In the spool, 0600. WANTED: podprof run asks for a meeting point; the keeper takes it away when FILE (what PODPROF_MEETING is
 * to be) or FAILED (a sentence) is there. On other hosts FILE is what the rank's PODPROF_MEETING said. */
#define PP_MEETING_WANTED "meeting.wanted"
#define PP_MEETING_FILE "meeting"
#define PP_MEETING_FAILED "meeting.failed"

enum { PP_MEETING_TEXT = 2 * PP_RENDEZVOUS_TEXT + 1 };

struct pp_meeting;

/* The invitation to the meeting point as one word of plain letters, and back: 0, or -EBADMSG, which says why. */
void pp_meeting_print(const struct pp_net_invite *at, char text[PP_MEETING_TEXT]);
int pp_meeting_parse(const char *text, struct pp_net_invite *ret_at, struct pp_err *err);
/* Is `job` the one of that meeting point, or its ranks started again ("-rN" behind it)? */
int pp_meeting_is_of(const char *meeting_job, const char *job);

/* `o->job`: the job that podprof run named. `ret_at` has no addresses yet. */
int pp_meeting_serve(const struct pp_net_options *o, struct pp_net_invite *ret_at, struct pp_meeting **ret_meeting,
                     struct pp_err *err);
/* `job`: whose invitation is looked for. */
int pp_meeting_join(const struct pp_net_options *o, const struct pp_net_invite *at, const char *job,
                    struct pp_meeting **ret_meeting, struct pp_err *err);
void pp_meeting_free(struct pp_meeting *m);

/* One turn. All below take NULL. */
void pp_meeting_run(struct pp_meeting *m);
/* Rank 0's keeper: others may have this. Serving it is there at once, else it is on its way and the meeting ends with it. */
void pp_meeting_put(struct pp_meeting *m, const struct pp_net_invite *invite);
/* 1: somebody's invitation to `job` is here. A keeper that has joined needs the meeting no more then. */
int pp_meeting_get(struct pp_meeting *m, const char *job, struct pp_net_invite *ret_invite);
/* 1: an invitation may still come. */
int pp_meeting_is_open(const struct pp_meeting *m);
/* Why none came so far; "" where it did. */
const char *pp_meeting_why(const struct pp_meeting *m);

#endif
