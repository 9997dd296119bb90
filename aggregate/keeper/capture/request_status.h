/* The list of ranks for clients, beside the capture in progress. Called by request.c. */
#pragma once

#include "aggregate/keeper/capture/request_state.h"

/* One turn: watches the ranks, or after a second sends the list to all clients that wait for it. */
void pp_requests_status(struct pp_requests *r);
