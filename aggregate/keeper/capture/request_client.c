/* Answers clients of the socket, of request files and of other hosts; see request_client.h. */
#include "aggregate/keeper/capture/request_client.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "aggregate/keeper/capture/request_private.h"
#include "aggregate/keeper/cluster/pod.h"
#include "aggregate/keeper/control.h"
#include "core/base/now.h"
#include "core/base/plain.h"

enum { SAY_MS = 1000 }; /* between two lines of progress in a file */

static void say_in_file(struct pp_client *c, const char *text)
{
	int64_t now = pp_now_ms();
	size_t n = strlen(text);

	if (!strncmp(text, "wait ", 5) && c->said_ms && now - c->said_ms < SAY_MS)
		return;
	c->said_ms = now;
	if (write(c->fd, text, n) != (ssize_t)n)
		pp_keeper_log("cannot answer request '%s': %s", c->file, strerror(errno));
}

static void leave_file(struct pp_client *c)
{
	char part[PP_REQUEST_FILE_NAME + 16], answer[PP_REQUEST_FILE_NAME + 16], request[PP_REQUEST_FILE_NAME + 16];

	snprintf(part, sizeof(part), "%s.part", c->file);
	snprintf(answer, sizeof(answer), "%s.answer", c->file);
	snprintf(request, sizeof(request), "%s.request", c->file);
	close(c->fd);
	if (c->gone)
		unlinkat(c->directory, part, 0);
	else if (renameat(c->directory, part, c->directory, answer))
		pp_keeper_log("cannot answer request '%s': %s", c->file, strerror(errno));
	unlinkat(c->directory, request, 0);
}

void pp_client_say(struct pp_client *c, const char *fmt, ...)
{
	char text[1200];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	pp_client_put(c, text);
}

void pp_client_put(struct pp_client *c, char *text)
{
	pp_plain(text, "\n"); /* the client prints it on a terminal */
	if (c->elsewhere)
		pp_requests_say_elsewhere(c, text, 0);
	else if (c->file[0])
		say_in_file(c, text);
	/* A client that does not read loses lines; the keeper does not wait for it. */
	else if (c->fd >= 0 && send(c->fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return;
}

void pp_client_leave(struct pp_client *c)
{
	if (c->elsewhere) {
		pp_requests_say_elsewhere(c, "", 1);
	} else if (c->file[0]) {
		leave_file(c);
	} else if (c->fd >= 0) {
		shutdown(c->fd, SHUT_RDWR); /* a child may hold a copy of it */
		close(c->fd);
	}
	*c = (struct pp_client){.fd = -1};
}

int pp_client_gone(const struct pp_client *c)
{
	char byte;
	ssize_t n;

	if (c->elsewhere || c->file[0] || c->fd < 0)
		return c->gone;
	n = recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
	return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

void pp_client_take(struct pp_requests *r, struct pp_client *c, const char *line, enum pp_capture_request_by by)
{
	struct pp_err err = {""};

	if (pp_pod_role(r->pod) == PP_POD_FOLLOWER) {
		pp_requests_pass_on(r, c, line);
		return;
	}
	if (pp_capture_request_parse(line, &c->request, &err)) {
		pp_client_say(c, "failed\n%s", err.text);
		pp_client_leave(c);
		return;
	}
	c->request.by = by;
	c->state = c->request.kind == PP_CAPTURE_REQUEST_STATUS ? PP_CLIENT_LOOKS : PP_CLIENT_QUEUED;
	c->order = ++r->orders;
	if (r->active && c->state == PP_CLIENT_QUEUED)
		pp_client_say(c, "wait for a capture that was asked for before\n");
}
