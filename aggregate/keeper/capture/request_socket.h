/* Clients of the socket of requests. In: connections of the same user. Out: queued requests. Called by request.c. */
#pragma once

#include "aggregate/keeper/capture/request_state.h"

/* -errno with the sentence: captures cannot be asked for by the socket, all else goes on. */
int pp_requests_open(struct pp_requests *r, const char *spool, struct pp_err *err);
/* Take connections and what they say; never blocks. */
void pp_requests_listen(struct pp_requests *r, int64_t now_ms);

/* For both ends: the socket's address, which may be longer than such addresses can be: `ret_fd` is to be closed after its use. */
struct sockaddr_un;
int pp_requests_address(const char *spool, struct sockaddr_un *ret_address, int *ret_fd);
