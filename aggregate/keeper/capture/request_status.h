/* The list of ranks for clients that ask for it, beside the capture that goes on. Called by request.c. */
#pragma once

#include "aggregate/keeper/capture/request_state.h"

/* One turn: a look, or after a second of looks the answer to all who wait. */
void pp_requests_status(struct pp_requests *r);
