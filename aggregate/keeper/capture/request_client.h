/* A client of capture requests: by the socket, by a request file, or of another host. In: its line. Out: a place in the queue, and
 * lines back. Called by the other request*.c files. */
#pragma once

#include "aggregate/keeper/capture/request_state.h"

/* A client has said what it wants. */
void pp_client_take(struct pp_requests *r, struct pp_client *c, const char *line, enum pp_capture_request_by by);
void pp_client_say(struct pp_client *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same, of any length; control bytes are taken out of `text`. */
void pp_client_put(struct pp_client *c, char *text);
void pp_client_leave(struct pp_client *c);
/* It has closed its end. */
int pp_client_gone(const struct pp_client *c);
