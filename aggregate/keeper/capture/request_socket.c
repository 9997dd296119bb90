/* The socket for capture requests: accepts clients of the same user and reads their lines. Called by request.c and `podprof
 * capture`. */
#include "aggregate/keeper/capture/request_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "aggregate/keeper/capture/request_client.h"
#include "aggregate/keeper/capture/request_file.h"
#include "aggregate/keeper/control.h"

enum { SILENT_MS = 2000 }; /* a client that sends nothing */

int pp_requests_address(const char *spool, struct sockaddr_un *ret_address, int *ret_fd)
{
	*ret_address = (struct sockaddr_un){.sun_family = AF_UNIX};
	*ret_fd = open(spool, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (*ret_fd < 0)
		return -errno;
	snprintf(ret_address->sun_path, sizeof(ret_address->sun_path), "/proc/self/fd/%d/socket", *ret_fd);
	return 0;
}

/* The socket gets its name once it listens: a client that connected earlier would be refused, as by a dead keeper. 0, or -1 and
 * errno. */
static int listen_at(int fd, const struct sockaddr_un *address)
{
	struct sockaddr_un part = *address;
	size_t n = strlen(part.sun_path);

	snprintf(part.sun_path + n, sizeof(part.sun_path) - n, ".part");
	unlink(part.sun_path); /* left by a dead keeper: this one holds the spool's lock */
	if (bind(fd, (struct sockaddr *)&part, sizeof(part)) || listen(fd, PP_REQUEST_CLIENTS))
		return -1;
	return rename(part.sun_path, address->sun_path);
}

int pp_requests_open(struct pp_requests *r, const char *spool, struct pp_err *err)
{
	struct sockaddr_un address;
	int fd = -1, rc = pp_requests_address(spool, &address, &fd);
	mode_t before;

	*r = (struct pp_requests){.listen_fd = -1, .writer = {.fd = -1}, .origin = pp_timestamp_pair_now(), .seen_step = INT64_MIN};
	pp_request_files_init(&r->files);
	for (int i = 0; i < PP_REQUEST_SLOTS; i++)
		r->client[i].fd = -1;
	snprintf(r->spool, sizeof(r->spool), "%s", spool);
	if (rc)
		return pp_err_set(err, rc, "cannot be asked for captures: '%s': %s", spool, strerror(-rc));
	before = umask(077);
	r->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (r->listen_fd < 0 || listen_at(r->listen_fd, &address)) {
		rc = pp_err_set(err, -errno, "cannot be asked for captures: '%s/socket': %s", spool, strerror(errno));
		if (r->listen_fd >= 0)
			close(r->listen_fd);
		r->listen_fd = -1;
	}
	umask(before);
	close(fd);
	return rc;
}

static void read_client(struct pp_requests *r, struct pp_client *c, int64_t now_ms)
{
	ssize_t n = recv(c->fd, c->line + c->used, sizeof(c->line) - c->used, MSG_DONTWAIT);
	char *end;

	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		if (now_ms - c->since_ms > SILENT_MS)
			pp_client_leave(c);
		return;
	}
	c->used += n > 0 ? (size_t)n : 0;
	end = memchr(c->line, '\n', c->used);
	if (end) {
		*end = '\0';
		pp_client_take(r, c, c->line, PP_BY_CAPTURE);
	} else if (n <= 0 || c->used == sizeof(c->line)) {
		pp_client_leave(c);
	}
}

static void accept_one(struct pp_requests *r, int fd, int64_t now_ms)
{
	struct ucred peer = {.uid = (uid_t)-1};
	socklen_t size = sizeof(peer);
	struct pp_client one = {.fd = fd};

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) || peer.uid != geteuid()) {
		pp_keeper_log("a request of another user (uid %d) was refused", (int)peer.uid);
		close(fd);
		return;
	}
	for (int i = 0; i < PP_REQUEST_CLIENTS; i++)
		if (r->client[i].state == PP_CLIENT_FREE) {
			r->client[i] = (struct pp_client){.fd = fd, .state = PP_CLIENT_READING, .since_ms = now_ms};
			return;
		}
	pp_client_say(&one, "failed\n%d captures are asked for already. Try again when one is done", PP_REQUEST_CLIENTS);
	close(fd);
}

void pp_requests_listen(struct pp_requests *r, int64_t now_ms)
{
	int fd;

	/* Accepts per turn as many clients as can be served: a flood waits in the backlog and does not delay the draining of the
	 * rings. */
	for (int i = 0; r->listen_fd >= 0 && i < PP_REQUEST_CLIENTS; i++) {
		/* cppcheck-suppress nullPointer ; accept4() takes NULL where nobody wants the address */
		fd = accept4(r->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0)
			break;
		accept_one(r, fd, now_ms);
	}
	for (int i = 0; i < PP_REQUEST_SLOTS; i++) {
		struct pp_client *c = &r->client[i];

		if (c->state == PP_CLIENT_READING)
			read_client(r, c, now_ms);
		else if ((c->state == PP_CLIENT_QUEUED || c->state == PP_CLIENT_LOOKS || c->state == PP_CLIENT_PASSED_ON) &&
		         pp_client_gone(c))
			pp_client_leave(c);
	}
}
