/* The loop of `podprof view`: connections, and the children that make what takes seconds; see serve.h. Called by cmd_view.c. */
#include "launchers/view/serve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/forked.h"
#include "core/base/now.h"
#include "core/base/why.h"
#include "launchers/view/resource.h"

enum {
	CONNECTIONS = 16,
	MAKERS = 2,          /* children at a time: each may use much memory */
	DEADLINE_MS = 10000, /* for a request, and for a client that takes no byte of its answer */
	PIECE = 1 << 20,     /* of a file, before other connections have their turn */
	SIGNALS = 0,         /* places in poll()'s list */
	LISTEN = 1,
	FIRST = 2,
};

/* In their order. DRAINING: the answer was sent; what the client still sends is read, as closing would cut its answer. */
enum state { FREE, READING, QUEUED, MAKING, SENDING, DRAINING };

struct connection {
	enum state state;
	int fd, file; /* file -1: the answer is in `head` alone */
	int is_head;
	pid_t maker;
	int64_t deadline; /* monotonic ms */
	uint64_t number;  /* of those accepted */
	const struct pp_resource *resource;
	size_t request_size, head_size, head_sent;
	off_t sent, size; /* of the file */
	char request[PP_HTTP_MOST], head[2048];
};

struct server {
	const char *session;
	const struct pp_http_gate *gate;
	int listen_fd, signal_fd, is_over;
	uint64_t accepted;
	struct connection connection[CONNECTIONS];
};

static void drop(struct connection *c)
{
	if (c->maker) {
		kill(c->maker, SIGKILL);
		while (waitpid(c->maker, NULL, 0) < 0 && errno == EINTR)
			;
	}
	if (c->file >= 0)
		close(c->file);
	close(c->fd);
	c->state = FREE;
}

static void enter(struct connection *c, enum state state)
{
	c->state = state;
	c->deadline = pp_now_ms() + DEADLINE_MS;
}

/* An answer without a file: a sentence, or nothing. */
static void answer_text(struct connection *c, int status, const char *sentence)
{
	char body[sizeof(struct pp_err) + 2] = "";
	struct pp_http_answer answer = {.status = status, .is_for_viewer = c->resource && c->resource->is_for_viewer};

	if (sentence) {
		snprintf(body, sizeof(body), "%s.\n", sentence);
		answer.type = "text/plain; charset=utf-8";
		answer.length = strlen(body);
	}
	c->head_size = pp_http_head(c->head, sizeof(c->head) - sizeof(body), &answer);
	if (!c->is_head) {
		memcpy(c->head + c->head_size, body, answer.length);
		c->head_size += answer.length;
	}
	enter(c, SENDING);
}

static void answer_file(struct connection *c)
{
	struct pp_http_answer answer = {.status = 200, .type = c->resource->type, .is_for_viewer = c->resource->is_for_viewer};
	struct stat st;

	if (fstat(c->file, &st)) {
		answer_text(c, 500, pp_why(errno));
		return;
	}
	answer.length = (uint64_t)st.st_size;
	c->size = c->is_head ? 0 : st.st_size;
	c->head_size = pp_http_head(c->head, sizeof(c->head), &answer);
	enter(c, SENDING);
}

static void fail(struct connection *c, const char *sentence)
{
	if (c->file >= 0)
		close(c->file);
	c->file = -1;
	answer_text(c, 500, sentence);
}

/* In the child. Where it fails, the file holds the sentence instead. */
static void be_maker(const struct server *s, const struct connection *c, pid_t parent)
{
	struct pp_err err = {""};

	prctl(PR_SET_PDEATHSIG, SIGKILL); /* its own child does the same */
	if (getppid() != parent)
		_exit(1);
	if (!pp_resource_make(c->resource, s->session, c->file, &err))
		_exit(0);
	if (!ftruncate(c->file, 0))
		(void)!pwrite(c->file, err.text, strlen(err.text), 0);
	_exit(1);
}

static void start_maker(struct server *s, struct connection *c)
{
	pid_t parent = getpid(), child = pp_forked();

	if (!child)
		be_maker(s, c, parent);
	if (child < 0) {
		fail(c, pp_why(errno));
		return;
	}
	c->maker = child;
	c->state = MAKING;
}

static void start_makers(struct server *s)
{
	int running = 0;

	for (int i = 0; i < CONNECTIONS; i++)
		running += s->connection[i].state == MAKING;
	for (int i = 0; i < CONNECTIONS && running < MAKERS; i++)
		if (s->connection[i].state == QUEUED) {
			start_maker(s, &s->connection[i]);
			running++;
		}
}

static void end_maker(struct connection *c, int status)
{
	struct pp_err err = {""};
	ssize_t n;

	c->maker = 0;
	if (WIFEXITED(status) && !WEXITSTATUS(status)) {
		answer_file(c);
		return;
	}
	n = pread(c->file, err.text, sizeof(err.text) - 1, 0);
	if (!WIFEXITED(status) || n <= 0)
		pp_err_set(&err, -EIO, "the process that made %s ended too early. Try again, or type 'podprof export'",
		           c->resource->name);
	fail(c, err.text);
}

static void read_signals(struct server *s)
{
	struct signalfd_siginfo info;
	int status;
	pid_t child;

	while (read(s->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		s->is_over |= info.ssi_signo != SIGCHLD;
	while ((child = waitpid(-1, &status, WNOHANG)) > 0)
		for (int i = 0; i < CONNECTIONS; i++)
			if (s->connection[i].state == MAKING && s->connection[i].maker == child)
				end_maker(&s->connection[i], status);
}

static void answer(struct server *s, struct connection *c, const struct pp_http_request *request)
{
	struct pp_err err = {""};
	int rc;

	c->is_head = request->method == PP_HTTP_HEAD;
	c->resource = pp_resource_find(request->name);
	if (!c->resource) {
		answer_text(c, 404, NULL);
		return;
	}
	if (request->method == PP_HTTP_OPTIONS) {
		answer_text(c, c->resource->is_for_viewer ? 204 : 405, NULL);
		return;
	}
	rc = pp_resource_open(c->resource, s->session, &c->file, &err);
	if (rc < 0)
		fail(c, err.text);
	else if (rc)
		answer_file(c);
	else
		c->state = QUEUED;
}

static void read_request(struct server *s, struct connection *c)
{
	ssize_t n = recv(c->fd, c->request + c->request_size, sizeof(c->request) - c->request_size, 0);
	struct pp_http_request request;
	int status;

	if (n <= 0) {
		if (!n || (errno != EAGAIN && errno != EINTR))
			drop(c);
		return;
	}
	c->request_size += (size_t)n;
	status = pp_http_parse(c->request, c->request_size, s->gate, &request);
	if (status == 200)
		answer(s, c, &request);
	else if (status)
		answer_text(c, status, NULL);
}

static void send_some(struct connection *c)
{
	ssize_t n;

	if (c->head_sent < c->head_size)
		n = send(c->fd, c->head + c->head_sent, c->head_size - c->head_sent, c->size ? MSG_MORE : 0);
	else
		n = sendfile(c->fd, c->file, &c->sent, c->size - c->sent < PIECE ? (size_t)(c->size - c->sent) : PIECE);
	if (n <= 0) { /* 0: the file was cut while it was sent */
		if (!n || (errno != EAGAIN && errno != EINTR))
			drop(c);
		return;
	}
	if (c->head_sent < c->head_size)
		c->head_sent += (size_t)n;
	c->deadline = pp_now_ms() + DEADLINE_MS;
	if (c->head_sent == c->head_size && c->sent == c->size) {
		shutdown(c->fd, SHUT_WR);
		enter(c, DRAINING);
	}
}

static void drain(struct connection *c)
{
	ssize_t n = recv(c->fd, c->request, sizeof(c->request), 0);

	if (!n || (n < 0 && errno != EAGAIN && errno != EINTR))
		drop(c);
}

/* A place for a new connection: a free one, else that of the oldest client which has shown no token, or has its answer. */
static struct connection *find_place(struct server *s)
{
	struct connection *oldest = NULL;

	for (int i = 0; i < CONNECTIONS; i++) {
		struct connection *c = &s->connection[i];

		if (c->state == FREE)
			return c;
		if ((c->state == READING || c->state == DRAINING) && (!oldest || c->number < oldest->number))
			oldest = c;
	}
	return oldest;
}

static void accept_one(struct server *s)
{
	struct connection *place = find_place(s);
	/* cppcheck-suppress nullPointer ; accept4() takes NULL where nobody wants the address */
	int fd = place ? accept4(s->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK) : -1;

	if (fd < 0) {
		if (place && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
			pp_nap_ms(20); /* no descriptors: it stays in the kernel's queue */
		return;
	}
	if (place->state != FREE)
		drop(place);
	*place = (struct connection){.fd = fd, .file = -1, .number = ++s->accepted};
	enter(place, READING);
}

/* What is made has limits of its own (forked_work.h). */
static int has_deadline(const struct connection *c)
{
	return c->state == READING || c->state == SENDING || c->state == DRAINING;
}

static void serve_one(struct server *s, struct connection *c, short events)
{
	if (has_deadline(c) && pp_now_ms() > c->deadline)
		drop(c);
	else if (!events)
		return;
	else if (c->state == READING)
		read_request(s, c);
	else if (c->state == SENDING)
		send_some(c);
	else if (c->state == DRAINING)
		drain(c);
	else /* the client has gone while its answer is made */
		drop(c);
}

/* Fills poll()'s list; returns its timeout in ms. */
static int plan(struct server *s, struct pollfd *list)
{
	static const short events_of[] = {
	        [READING] = POLLIN, [QUEUED] = POLLRDHUP, [MAKING] = POLLRDHUP, [SENDING] = POLLOUT, [DRAINING] = POLLIN};
	int64_t now = pp_now_ms(), left, least = -1;

	list[SIGNALS] = (struct pollfd){.fd = s->signal_fd, .events = POLLIN};
	list[LISTEN] = (struct pollfd){.fd = find_place(s) ? s->listen_fd : -1, .events = POLLIN};
	for (int i = 0; i < CONNECTIONS; i++) {
		const struct connection *c = &s->connection[i];

		list[FIRST + i] = (struct pollfd){.fd = c->state == FREE ? -1 : c->fd, .events = events_of[c->state]};
		if (!has_deadline(c))
			continue;
		left = c->deadline < now ? 0 : c->deadline - now + 1;
		if (least < 0 || left < least)
			least = left;
	}
	return (int)least;
}

static int loop(struct server *s, struct pp_err *err)
{
	struct pollfd list[FIRST + CONNECTIONS];
	int n;

	while (!s->is_over) {
		start_makers(s);
		n = poll(list, FIRST + CONNECTIONS, plan(s, list));
		if (n < 0 && errno != EINTR)
			return pp_err_set(err, -errno, "cannot wait for connections: %s", pp_why(errno));
		if (n < 0)
			continue;
		for (int i = 0; i < CONNECTIONS; i++)
			serve_one(s, &s->connection[i], list[FIRST + i].revents);
		if (list[LISTEN].revents)
			accept_one(s);
		if (list[SIGNALS].revents)
			read_signals(s);
	}
	return 0;
}

/* Signals that the loop reads. */
static sigset_t taken(void)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGCHLD);
	return signals;
}

int pp_view_serve(const char *session, int listen_fd, const struct pp_http_gate *gate, struct pp_err *err)
{
	struct server s = {.session = session, .gate = gate, .listen_fd = listen_fd};
	sigset_t signals = taken();
	int code;

	sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
	sigaction(SIGXFSZ, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
	sigaction(SIGCHLD, &(struct sigaction){.sa_handler = SIG_DFL}, NULL); /* an ignored one would hide how children end */
	s.signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	code = s.signal_fd < 0 ? pp_err_set(err, -errno, "cannot wait for signals: %s", pp_why(errno)) : loop(&s, err);
	for (int i = 0; i < CONNECTIONS; i++)
		if (s.connection[i].state != FREE)
			drop(&s.connection[i]);
	close(listen_fd);
	if (s.signal_fd >= 0)
		close(s.signal_fd);
	return code;
}

int pp_view_listen(int port, int *ret_port, struct pp_err *err)
{
	struct sockaddr_in address = {
	        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t length = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1, code;
	sigset_t signals = taken();

	sigprocmask(SIG_BLOCK, &signals, NULL);
	if (fd >= 0 && !setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) && /* soon after an earlier one has ended */
	    !bind(fd, (struct sockaddr *)&address, sizeof(address)) && !listen(fd, CONNECTIONS) &&
	    !getsockname(fd, (struct sockaddr *)&address, &length)) {
		*ret_port = ntohs(address.sin_port);
		return fd;
	}
	code = -errno;
	if (fd >= 0)
		close(fd);
	return pp_err_set(err, code, "cannot listen on port %d of 127.0.0.1: %s", port, pp_why(-code));
}
