/* A client of capture requests: on the socket, by a request file, or on another host. In: its line. Out: a place in the queue,
 * and lines back. Called by the other request*.c files and, for the address, `podprof capture`. */
#pragma once

#include "aggregate/keeper/capture/request_state.h"

/* Parses a client's line and queues its request. */
void pp_client_take(struct pp_requests *r, struct pp_client *c, const char *line, enum pp_capture_request_by by);
/* Sends text to the client, wherever it is: a socket, a file, another keeper. What cannot be sent is lost. */
void pp_client_say(struct pp_client *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same for a text of any length; removes control bytes from `text`. */
void pp_client_put(struct pp_client *c, char *text);
/* Ends its connection; `c` is then free for another client. */
void pp_client_leave(struct pp_client *c);
/* Has the client closed its end? */
int pp_client_gone(const struct pp_client *c);

/* -errno with the message: no capture can be requested by the socket, all else works. */
int pp_requests_open(struct pp_requests *r, const char *spool, struct pp_err *err);
/* Accepts clients and reads their lines; never blocks. */
void pp_requests_listen(struct pp_requests *r, int64_t now_ms);

/* For both ends: the socket's address. A path longer than sun_path goes through `ret_fd`, which is to be closed after use. */
struct sockaddr_un;
/* Address of the spool's socket, whatever the length of its path; valid while *ret_fd is open, which the caller closes. -errno. */
int pp_requests_address(const char *spool, struct sockaddr_un *ret_address, int *ret_fd);

/* The list of ranks, beside the capture in progress. One turn: watches the ranks, or after a second sends the list to all clients
 * that wait for it. */
void pp_requests_status(struct pp_requests *r, const struct pp_spool_view *view);
/* Clients of other hosts. 1: this keeper follows and passes its clients on; a leader serves them. */
int pp_requests_pod(struct pp_requests *r);
