/* A client of capture requests: on the socket, by a request file, or on another host. In: its line. Out: a place in the queue,
 * and lines back. Called by the other request*.c files. */
#pragma once

#include "aggregate/keeper/capture/request_state.h"

/* Parses a client's line and queues its request. */
void pp_client_take(struct pp_requests *r, struct pp_client *c, const char *line, enum pp_capture_request_by by);
void pp_client_say(struct pp_client *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same for a text of any length; removes control bytes from `text`. */
void pp_client_put(struct pp_client *c, char *text);
void pp_client_leave(struct pp_client *c);
/* Has the client closed its end? */
int pp_client_gone(const struct pp_client *c);
