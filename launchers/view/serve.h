/* The server of `podprof view`: HTTP on 127.0.0.1 for browsers of this machine, in one process without threads. In: a session's
 * directory. Out: answers, until SIGINT or SIGTERM. */
#pragma once

#include "core/base/err.h"
#include "launchers/view/http.h"

/* Listens on 127.0.0.1; port 0: any free one. From now on SIGINT and SIGTERM wait for pp_view_serve(). Returns the descriptor,
 * or -errno with a sentence. */
int pp_view_listen(int port, int *ret_port, struct pp_err *err);

/* Answers requests of which `gate` knows token and port, and closes `listen_fd`. 0 after SIGINT or SIGTERM, or -errno. */
int pp_view_serve(const char *session, int listen_fd, const struct pp_http_gate *gate, struct pp_err *err);
