/* Clients of the socket of requests. In: connections of the same user. Out: queued requests. Called by request.c. */
#pragma once

#include "aggregate/keeper/capture/request_state.h"

/* -errno with the message: no capture can be requested by the socket, all else works. */
int pp_requests_open(struct pp_requests *r, const char *spool, struct pp_err *err);
/* Accepts clients and reads their lines; never blocks. */
void pp_requests_listen(struct pp_requests *r, int64_t now_ms);

/* For both ends: the socket's address. A path longer than sun_path goes through `ret_fd`, which is to be closed after use. */
struct sockaddr_un;
int pp_requests_address(const char *spool, struct sockaddr_un *ret_address, int *ret_fd);
