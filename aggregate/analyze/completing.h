/* The calls that completed operations: a Wait for several requests is one call, and a loop of Tests begins with its first poll.
 * In: members of a join, requests of its ranks. Out: `call`, `call_*` and `polls` of the rows of /collective, and
 * /lone_call. Internal to aggregate/analyze; called by collective.c. Job time. */
#pragma once

struct pp_join;
struct pp_requests;

/* requests: [capture->ranks]. Rows have the numbers of their members. -ENOMEM. */
int pp_completing_fill(struct pp_join *j, const struct pp_requests *requests);
