/* Clients of capture requests: of the socket, of request files, and of other hosts' keepers; the list of ranks for those that ask
 * for it. A keeper that does not lead passes its clients' lines on, and the leader serves them. See request_client.h. */
#include "aggregate/keeper/capture/request_client.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "aggregate/keeper/capture/request_ranks.h"
#include "aggregate/keeper/capture/slow.h"
#include "aggregate/keeper/cluster/pod.h"
#include "aggregate/keeper/cluster/pod_ranks.h"
#include "aggregate/keeper/cluster/pod_request.h"
#include "aggregate/keeper/live.h"
#include "aggregate/spool/control.h"
#include "aggregate/spool/still.h"
#include "core/base/now.h"
#include "core/base/plain.h"

enum {
	SAY_MS = 1000,    /* between two lines of progress in a file */
	SILENT_MS = 2000, /* of a client that sends nothing */
	CHECK_MS = 1000,  /* at the ranks, for a list of them */
	WHOLE_MS = 900,   /* a rank that did not move for WHOLE_MS did not since the keeper's own last look */
};

static void say_elsewhere(struct pp_client *c, const char *text, int ended)
{
	size_t left = strlen(text);

	do {
		struct pp_pod_client_line line = {.peer = c->peer, .client = c->number, .ended = ended};
		size_t n = left < sizeof(line.text) - 1 ? left : sizeof(line.text) - 1;

		memcpy(line.text, text, n);
		pp_pod_answer(c->pod, &line);
		text += n;
		left -= n;
	} while (left);
}

static void pass_on(struct pp_requests *r, struct pp_client *c, const char *line)
{
	c->number = (uint32_t)++r->orders;
	c->state = PP_CLIENT_PASSED_ON;
	if (!pp_pod_ask(r->pod, c->number, line))
		return;
	pp_client_say(c, "failed\ncannot reach the keeper of rank 0's host: %s", pp_pod_why(r->pod));
	pp_client_leave(c);
}

static void say_in_file(struct pp_client *c, const char *text)
{
	int64_t now = pp_now_ms();
	size_t n = strlen(text);

	if (!strncmp(text, "wait ", 5) && c->answered_ms && now - c->answered_ms < SAY_MS)
		return;
	c->answered_ms = now;
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
		say_elsewhere(c, text, 0);
	else if (c->file[0])
		say_in_file(c, text);
	/* A client that does not read loses lines; the keeper does not wait for it. */
	else if (c->fd >= 0 && send(c->fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return;
}

void pp_client_leave(struct pp_client *c)
{
	if (c->elsewhere) {
		say_elsewhere(c, "", 1);
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
		pass_on(r, c, line);
		return;
	}
	if (pp_capture_request_parse(line, &c->request, &err)) {
		pp_client_say(c, "failed\n%s", err.text);
		pp_client_leave(c);
		return;
	}
	c->request.by = by;
	c->state = c->request.kind == PP_CAPTURE_REQUEST_STATUS ? PP_CLIENT_CHECKS : PP_CLIENT_QUEUED;
	c->order = ++r->orders;
	if (r->active && c->state == PP_CLIENT_QUEUED)
		pp_client_say(c, "wait for an earlier capture\n");
}

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

	*r = (struct pp_requests){.listen_fd = -1,
	                          .writer = {.fd = -1},
	                          .origin = pp_timestamp_pair_now(),
	                          .seen_step = INT64_MIN,
	                          .files = {.fd = -1}};
	for (int i = 0; i < PP_REQUEST_SLOTS; i++)
		r->client[i].fd = -1;
	snprintf(r->spool, sizeof(r->spool), "%s", spool);
	if (rc)
		return pp_err_set(err, rc, "cannot accept capture requests: '%s': %s", spool, strerror(-rc));
	before = umask(077);
	r->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (r->listen_fd < 0 || listen_at(r->listen_fd, &address)) {
		rc = pp_err_set(err, -errno, "cannot accept capture requests: '%s/socket': %s", spool, strerror(errno));
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
	pp_client_say(&one, "failed\n%d captures are pending already. Try again when one is done", PP_REQUEST_CLIENTS);
	close(fd);
}

/* As many clients per turn as can be served: a flood waits in the backlog and does not delay the draining of the rings. */
static void accept_some(struct pp_requests *r, int64_t now_ms)
{
	for (int i = 0; i < PP_REQUEST_CLIENTS; i++) {
		/* cppcheck-suppress nullPointer ; accept4() takes NULL where nobody wants the address */
		int fd = accept4(r->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0)
			return;
		accept_one(r, fd, now_ms);
	}
	if (r->wake) /* more of them may wait */
		r->wake->seen |= PP_WAKE_CLIENT;
}

void pp_requests_listen(struct pp_requests *r, int64_t now_ms)
{
	if (r->listen_fd >= 0 && pp_wake_take(r->wake, PP_WAKE_CLIENT))
		accept_some(r, now_ms);
	for (int i = 0; i < PP_REQUEST_SLOTS; i++) {
		struct pp_client *c = &r->client[i];

		if (c->state == PP_CLIENT_READING)
			read_client(r, c, now_ms);
		else if ((c->state == PP_CLIENT_QUEUED || c->state == PP_CLIENT_CHECKS || c->state == PP_CLIENT_PASSED_ON) &&
		         pp_client_gone(c))
			pp_client_leave(c);
	}
}

/* FOLLOWER. Passes the leader's line on to the client unchanged. */
static void relay(struct pp_requests *r, const struct pp_pod_client_line *line)
{
	for (int i = 0; i < PP_REQUEST_SLOTS; i++) {
		struct pp_client *c = &r->client[i];

		if (c->state != PP_CLIENT_PASSED_ON || c->number != line->client)
			continue;
		if (line->text[0])
			pp_client_say(c, "%s", line->text);
		if (line->ended)
			pp_client_leave(c);
	}
}

/* LEADER. */
static void serve(struct pp_requests *r, const struct pp_pod_client_line *line)
{
	struct pp_client one = {.fd = -1, .elsewhere = 1, .peer = line->peer, .number = line->client, .pod = r->pod};

	if (!strncmp(line->text, PP_SLOW_PREFIX, strlen(PP_SLOW_PREFIX))) {
		r->slow_more += r->slow[0] != '\0';
		if (!r->slow[0])
			snprintf(r->slow, sizeof(r->slow), "%.255s", line->text);
		return;
	}
	for (int i = 0; i < PP_REQUEST_CLIENTS; i++) {
		struct pp_client *c = &r->client[i];

		if (c->state != PP_CLIENT_FREE && c->elsewhere && c->peer == line->peer && c->number == line->client) {
			c->gone |= line->ended;
			return;
		}
	}
	for (int i = 0; i < PP_REQUEST_CLIENTS && !line->ended; i++)
		if (r->client[i].state == PP_CLIENT_FREE) {
			r->client[i] = one;
			pp_client_take(r, &r->client[i], line->text, PP_BY_CAPTURE);
			return;
		}
	if (line->ended)
		return;
	pp_client_say(&one, "failed\n%d captures are pending already. Try again when one is done", PP_REQUEST_CLIENTS);
	pp_client_leave(&one);
}

static int has_passed_on(const struct pp_requests *r)
{
	for (int i = 0; i < PP_REQUEST_SLOTS; i++)
		if (r->client[i].state == PP_CLIENT_PASSED_ON)
			return 1;
	return 0;
}

int pp_requests_pod(struct pp_requests *r)
{
	int follows = pp_pod_role(r->pod) == PP_POD_FOLLOWER;
	struct pp_pod_client_line line;

	if (follows) {
		uint32_t waited[PP_REQUEST_SLOTS];

		for (int i = 0; i < PP_REQUEST_SLOTS; i++)
			waited[i] = r->client[i].state == PP_CLIENT_PASSED_ON ? r->client[i].number : 0;
		pp_requests_listen(r, pp_now_ms());
		for (int i = 0; i < PP_REQUEST_SLOTS; i++)
			if (waited[i] && r->client[i].state != PP_CLIENT_PASSED_ON)
				pp_pod_forget(r->pod, waited[i]);
	}
	while (pp_pod_next_line(r->pod, &line))
		if (follows || has_passed_on(r)) /* the leader's last lines and its end may come at once */
			relay(r, &line);
		else
			serve(r, &line);
	for (int i = 0; i < PP_REQUEST_SLOTS && !follows; i++)
		if (r->client[i].state == PP_CLIENT_PASSED_ON) {
			pp_client_say(&r->client[i], "failed\nlost the connection to the keeper of rank 0's host: %s",
			              pp_pod_why(r->pod));
			pp_client_leave(&r->client[i]);
		}
	return follows;
}

static int anybody(const struct pp_requests *r)
{
	for (int i = 0; i < PP_REQUEST_SLOTS; i++)
		if (r->client[i].state == PP_CLIENT_CHECKS)
			return 1;
	return 0;
}

/* A rank of another host: what its keeper reported when the second began, and now. */
static void from_elsewhere(const struct pp_pod_rank *p, const struct pp_requests_seen *seen, size_t seens, int32_t size,
                           struct pp_live_rank *r)
{
	int64_t moved = 0;

	*r = (struct pp_live_rank){.rank = p->rank,
	                           .size = size,
	                           .pid = p->pid,
	                           .state = !p->gone             ? PP_LIVE_RUNNING
	                                    : p->died || p->lost ? PP_LIVE_GONE
	                                                         : PP_LIVE_ENDED,
	                           .exit_status = p->end,
	                           .end = p->died ? p->end : -1,
	                           .lost = p->lost,
	                           .process = p->still.process,
	                           .comm_size = p->comm_size,
	                           .comm_flags = p->comm_flags,
	                           .recording = p->recording,
	                           .marks = p->marks,
	                           .step = p->step,
	                           .peer = -1};
	snprintf(r->host, sizeof(r->host), "%s", p->host);
	for (size_t i = 0; i < seens; i++)
		if (seen[i].rank == p->rank && seen[i].step != INT64_MIN)
			moved = p->step - seen[i].step;
	r->still_ns = CHECK_MS * INT64_C(1000000);
	if (moved > 0)
		r->step_ns = r->slow_ns = r->still_ns / moved;
	pp_live_place(r, &p->still, pp_now_ms());
	memcpy(r->members, p->members, sizeof(r->members));
	memcpy(r->comm_name, p->comm_name, sizeof(r->comm_name));
	memcpy(r->nccl, p->nccl, sizeof(r->nccl));
	if (moved > 0)
		r->call[0] = '\0';
}

static void see_elsewhere(struct pp_requests *r)
{
	size_t ranks = 0;
	const struct pp_pod_rank *rank = pp_pod_ranks(r->pod, &ranks);

	free(r->seen);
	r->seen = calloc(ranks + 1, sizeof(*r->seen));
	r->seens = r->seen ? ranks : 0;
	for (size_t i = 0; i < r->seens; i++)
		r->seen[i] = (struct pp_requests_seen){.rank = rank[i].rank, .step = rank[i].step};
}

/* Adds the ranks of other hosts and sorts the list. */
static long add_elsewhere(struct pp_requests *r, struct pp_live_rank **list, long count)
{
	size_t ranks = 0;
	const struct pp_pod_rank *rank = pp_pod_ranks(r->pod, &ranks);
	struct pp_live_rank *more = count > 0 && ranks ? realloc(*list, ((size_t)count + ranks) * sizeof(*more)) : NULL;

	if (!more)
		return count;
	for (size_t i = 0; i < ranks; i++)
		from_elsewhere(&rank[i], r->seen, r->seens, more[0].size, &more[count + (long)i]);
	*list = more;
	pp_live_sort(more, count + (long)ranks);
	return count + (long)ranks;
}

/* One text: many small sends fill a socket long before their bytes do. NULL: no memory. */
static char *text_of(const struct pp_live_rank *list, long count)
{
	size_t room = 16 + (size_t)(count > 0 ? count : 0) * PP_LIVE_LINE, n = 0;
	char *text = malloc(room);

	if (!text || count < 0) {
		free(text);
		return NULL;
	}
	n = (size_t)snprintf(text, room, "done\n");
	for (long i = 0; i < count; i++) {
		int line = pp_live_put(&list[i], text + n, PP_LIVE_LINE);

		n += line < PP_LIVE_LINE ? (size_t)line : 0;
	}
	text[n] = '\0';
	return text;
}

static void answer_all(struct pp_requests *r, const struct pp_live_rank *list, long count)
{
	char *text = text_of(list, count);

	for (int i = 0; i < PP_REQUEST_SLOTS; i++) {
		struct pp_client *c = &r->client[i];

		if (c->state != PP_CLIENT_CHECKS)
			continue;
		if (text)
			pp_client_put(c, text);
		else
			pp_client_say(c, "failed\nthe keeper has no memory to look at the ranks");
		pp_client_leave(c);
	}
	free(text);
}

/* This host's ranks, with what the keeper has seen before this list began. */
static long list_here(const struct pp_requests *r, const struct pp_spool_view *v, struct pp_live_rank **ret_list)
{
	long count = pp_live_list(r->live, pp_clock_ns(CLOCK_MONOTONIC), ret_list);
	int64_t now = pp_now_ms();

	for (long i = 0; i < count; i++) {
		struct pp_live_rank *one = &(*ret_list)[i];

		for (size_t k = 0; k < v->stills; k++) {
			const struct pp_ring_header *h = pp_spool_header(v, k);
			int64_t ns = (now - v->still[k].since_ms) * INT64_C(1000000);

			if (h->pid != one->pid || h->rank != one->rank)
				continue;
			if (one->state == PP_LIVE_GONE && one->end < 0 && v->rank[k].gone)
				one->end = v->rank[k].end;
			if (v->still[k].since_ms && ns > one->place_ns && one->place_ns >= WHOLE_MS * INT64_C(1000000))
				one->place_ns = ns;
		}
	}
	return count;
}

void pp_requests_status(struct pp_requests *r, const struct pp_spool_view *view)
{
	struct pp_live_rank *list = NULL;
	long count = -1;

	if (!r->live && !anybody(r))
		return;
	if (!r->live) {
		r->live_ms = pp_now_ms();
		see_elsewhere(r);
		if (!pp_live_open(r->spool, &r->live, NULL) && pp_live_list(r->live, pp_clock_ns(CLOCK_MONOTONIC), &list) >= 0) {
			free(list);
			return;
		}
	}
	if (r->live)
		pp_live_sample(r->live, pp_clock_ns(CLOCK_MONOTONIC));
	if (r->live && pp_now_ms() - r->live_ms < CHECK_MS)
		return;
	if (r->live)
		count = add_elsewhere(r, &list, list_here(r, view, &list));
	answer_all(r, list, count);
	free(list);
	pp_live_close(r->live);
	r->live = NULL;
}
