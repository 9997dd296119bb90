/* Clients of the socket of requests. In: connections of the same user. Out: queued requests. Called by request.c. */
#ifndef PP_KEEPER_REQUEST_SOCKET_H
#define PP_KEEPER_REQUEST_SOCKET_H

#include "aggregate/keeper/capture/request.h"

/* Take connections and what they say; never blocks. */
void pp_requests_listen(struct pp_requests *r, int64_t now_ms);
/* A client has said what it wants. */
void pp_client_take(struct pp_requests *r, struct pp_client *c, const char *line, enum pp_wish_by by);
void pp_client_say(struct pp_client *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same, of any length; control bytes are taken out of `text`. */
void pp_client_put(struct pp_client *c, char *text);
void pp_client_leave(struct pp_client *c);
/* It has closed its end. */
int pp_client_gone(const struct pp_client *c);

#endif
