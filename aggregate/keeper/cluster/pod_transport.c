/* Finds the other keepers of a job, by an invitation that travels through MPI (<spool>/invite), the framework's own store
 * (<spool>/invite-store), the podprof run around the launcher (rendezvous_point.h: one keeper of the job serves it) or a file in a
 * directory that all hosts see. Called by pod.c. */
#include "aggregate/keeper/cluster/pod_transport.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aggregate/keeper/cluster/pod_ranks.h"
#include "aggregate/keeper/cluster/pod_state.h"
#include "aggregate/keeper/net/rendezvous.h"
#include "aggregate/spool/control.h"
#include "core/base/now.h"

enum {
	PATH_SIZE = 4200,
	POINT_MS = 1000, /* how long the rendezvous is preferred to an existing file */
};

/* Rank 0's keeper writes the first one; the MPI wrappers and the Python shim read it there and carry it to the other hosts. */
static const char invite_name[] = "invite", store_name[] = "invite-store";

/* The directory that all hosts see, if they share any. */
static const char *directory(const struct pp_pod *p)
{
	return p->o.settings->rendezvous[0] ? p->o.settings->rendezvous : p->o.settings->output;
}

static struct pp_net_options net_options(const struct pp_pod *p, const char *job)
{
	return (struct pp_net_options){.job = job,
	                               .host = p->host,
	                               .version = PODPROF_VERSION,
	                               .session = "",
	                               .clock = pp_pod_own_clock(p),
	                               .dead_ms = pp_star_silence_ms(),
	                               .port_first = p->o.settings->port.first,
	                               .port_last = p->o.settings->port.last};
}

/* Each host's connection takes a file descriptor. */
static void raise_limit(void)
{
	struct rlimit files;

	if (!getrlimit(RLIMIT_NOFILE, &files) && files.rlim_cur < files.rlim_max) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
}

static void spool_path(const struct pp_pod *p, const char *name, char path[PATH_SIZE])
{
	snprintf(path, PATH_SIZE, "%s/%s", p->o.spool, name);
}

static int write_file(const struct pp_pod *p, const char *name, const char *text)
{
	size_t size = strlen(text);
	char part[PATH_SIZE], path[PATH_SIZE];
	int fd, rc = 0;

	spool_path(p, ".meeting.part", part);
	spool_path(p, name, path);
	unlink(part);
	fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	if (fchmod(fd, 0600) || write(fd, text, size) != (ssize_t)size)
		rc = errno ? -errno : -ENOSPC;
	if (close(fd) || rc || rename(part, path)) {
		rc = rc ? rc : -errno;
		unlink(part);
	}
	return rc;
}

/* Reads the value of a rank's PODPROF_MEETING: 1, or 0: there is none. */
static int read_file(const struct pp_pod *p, char text[PP_RENDEZVOUS_POINT_TEXT])
{
	char path[PATH_SIZE];
	struct stat st;
	ssize_t n = -1;
	int fd;

	spool_path(p, PP_RENDEZVOUS_POINT_FILE, path);
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return 0;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 077))
		n = read(fd, text, PP_RENDEZVOUS_POINT_TEXT - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	return 1;
}

static void serve_point(struct pp_pod *p)
{
	struct pp_net_options o = net_options(p, p->o.settings->job[0] ? p->o.settings->job : "job");
	struct pp_net_invite at = {.port = 0};
	char text[PP_RENDEZVOUS_POINT_TEXT], path[PATH_SIZE];
	struct pp_err err = {""};
	int rc;

	raise_limit();
	rc = pp_rendezvous_addresses(&at, &err);
	if (!rc)
		rc = pp_rendezvous_point_serve(&o, &at, &p->rendezvous, &err);
	if (!rc) {
		pp_rendezvous_point_print(&at, text);
		rc = write_file(p, PP_RENDEZVOUS_POINT_FILE, text);
		explicit_bzero(text, sizeof(text));
		if (rc)
			pp_err_set(&err, rc, "cannot write '%s/" PP_RENDEZVOUS_POINT_FILE "': %s", p->o.spool, strerror(-rc));
	}
	if (rc) {
		pp_rendezvous_point_free(p->rendezvous);
		p->rendezvous = NULL;
		snprintf(p->rendezvous_why, sizeof(p->rendezvous_why), "the podprof run around the launcher %.200s", err.text);
		pp_keeper_log("%s", p->rendezvous_why);
		write_file(p, PP_RENDEZVOUS_POINT_FAILED, err.text);
	} else {
		p->serves = 1;
		pp_keeper_log("keepers of this job may meet here, on port %u", (unsigned)at.port);
	}
	explicit_bzero(&at, sizeof(at));
	spool_path(p, PP_RENDEZVOUS_POINT_WANTED, path);
	unlink(path);
}

static void join_point(struct pp_pod *p)
{
	const char *job = p->o.settings->job;
	struct pp_net_invite at;
	struct pp_net_options o;
	char text[PP_RENDEZVOUS_POINT_TEXT];
	struct pp_err err = {""};
	int rc;

	if (!read_file(p, text))
		return;
	rc = pp_rendezvous_point_parse(text, &at, &err);
	if (!rc && !pp_rendezvous_point_is_of(at.job, job))
		rc = pp_err_set(&err, -EBADMSG, "it is of another job");
	if (rc) {
		snprintf(p->rendezvous_why, sizeof(p->rendezvous_why), "PODPROF_MEETING is ignored: %.200s", err.text);
		pp_warnings_add(p->o.job->warnings, "%s", p->rendezvous_why);
	} else {
		o = net_options(p, at.job);
		rc = pp_rendezvous_point_join(&o, &at, job, &p->rendezvous, &err);
		if (rc)
			snprintf(p->rendezvous_why, sizeof(p->rendezvous_why), "the podprof run around the launcher: %.200s",
			         err.text);
	}
	if (rc)
		pp_keeper_log("%s", p->rendezvous_why);
	explicit_bzero(text, sizeof(text));
	explicit_bzero(&at, sizeof(at));
}

void pp_pod_rendezvous_run(struct pp_pod *p)
{
	char path[PATH_SIZE];

	if (p->rendezvous) {
		pp_rendezvous_point_run(p->rendezvous);
		return;
	}
	if (p->state == PP_POD_UNDECIDED || p->state == PP_POD_HERE) {
		if (p->has_checked && p->spool_changes == *p->o.spool_changes)
			return;
		p->has_checked = 1;
		p->spool_changes = *p->o.spool_changes;
		spool_path(p, PP_RENDEZVOUS_POINT_WANTED, path);
		if (!access(path, F_OK))
			serve_point(p);
	} else if ((p->state == PP_POD_LISTENING || p->state == PP_POD_SEARCHING) && !p->rendezvous_tried && p->o.job) {
		p->rendezvous_tried = 1;
		join_point(p);
		if (p->state == PP_POD_LISTENING)
			pp_rendezvous_point_put(p->rendezvous, &p->star.invite);
	}
}

static const char *rendezvous_why(const struct pp_pod *p)
{
	return p->rendezvous_why[0] ? p->rendezvous_why : pp_rendezvous_point_why(p->rendezvous);
}

void pp_pod_rendezvous_end(struct pp_pod *p)
{
	char path[PATH_SIZE];

	pp_rendezvous_point_free(p->rendezvous);
	p->rendezvous = NULL;
	spool_path(p, PP_RENDEZVOUS_POINT_FILE, path);
	if (p->serves)
		unlink(path);
	p->serves = 0;
}

int pp_pod_publish(struct pp_pod *p, struct pp_err *err)
{
	struct pp_err ignored = {""};
	int to_mpi = p->o.spool[0] ? pp_rendezvous_put(p->o.spool, invite_name, &p->star.invite, &ignored) : 0;
	int to_file = pp_rendezvous_write(directory(p), &p->star.invite, err);

	p->published = 1;
	pp_rendezvous_point_put(p->rendezvous, &p->star.invite);
	if (to_mpi)
		pp_keeper_log("no invitation for MPI: %s", ignored.text);
	if (to_file) {
		pp_keeper_log("no invitation by a file: %s", err->text);
		snprintf(p->why, sizeof(p->why), "the file could not be made: %.300s", err->text);
	}
	return to_file;
}

const struct pp_net_invite *pp_pod_invitation(const struct pp_pod *p)
{
	return &p->star.invite;
}

int pp_pod_listen(struct pp_pod *p, struct pp_err *err)
{
	const char *job = p->o.settings->job[0] ? p->o.settings->job : "job";
	struct pp_net_options o = net_options(p, job);
	int rc;

	raise_limit();
	rc = pp_rendezvous_addresses(&p->star.invite, err);
	if (rc && !p->o.job)
		return rc;
	if (rc) { /* keepers in containers may share this host's loopback */
		snprintf(p->star.invite.address[0], sizeof(p->star.invite.address[0]), "127.0.0.1");
		p->star.invite.addresses = 1;
	}
	rc = pp_net_listen(&o, &p->star.invite, &p->star.net, err);
	if (rc == -EADDRINUSE && p->serves) { /* the rendezvous holds the only port: the other transports remain */
		pp_pod_rendezvous_end(p);
		snprintf(p->rendezvous_why, sizeof(p->rendezvous_why),
		         "the podprof run around the launcher had the only port of --port-range, which rank 0's keeper needs");
		rc = pp_net_listen(&o, &p->star.invite, &p->star.net, err);
	}
	if (!rc)
		p->state = PP_POD_LISTENING;
	return rc;
}

/* Why MPI did not carry the invitation, from rank 0's ring; NULL: it did, or may have. */
static const char *why_not_mpi(const struct pp_pod *p)
{
	int zero = pp_pod_zero(p);
	const struct pp_ring_header *h = zero >= 0 ? pp_rings_header(p->o.job->rings, (size_t)zero) : NULL;

	if (!h || !pp_ring_mpi_state(h))
		return "the job does not call MPI";
	if (pp_ring_mpi_state(h) >= PP_MPI_OTHER_RUNS)
		return "podprof has no wrappers for the job's MPI library";
	if (pp_ring_coordinator(h) == PP_COORDINATOR_NONE && h->coordinator_why[0])
		return h->coordinator_why;
	return NULL;
}

const char *pp_pod_transport_name(enum pp_pod_transport transport)
{
	static const char *const name[PP_TRANSPORTS] = {[PP_TRANSPORT_NONE] = "nothing",
	                                                [PP_TRANSPORT_MPI] = "MPI",
	                                                [PP_TRANSPORT_OUTER] = "the podprof run around the launcher",
	                                                [PP_TRANSPORT_FILE] = "a file",
	                                                [PP_TRANSPORT_STORE] = "the framework's store"};

	return name[transport];
}

/* Names the last transport in `order` that brought any host, why MPI was not enough, and what the other transports brought. */
static int describe_joined(const struct pp_pod *p, const size_t by[PP_TRANSPORTS], char *text, size_t size)
{
	static const enum pp_pod_transport order[] = {PP_TRANSPORT_FILE, PP_TRANSPORT_OUTER, PP_TRANSPORT_STORE};
	enum pp_pod_transport most = PP_TRANSPORT_MPI;
	const char *why = why_not_mpi(p);
	char dir[220] = "";
	int n;

	for (size_t i = 0; i < 3 && most == PP_TRANSPORT_MPI; i++)
		most = by[order[i]] ? order[i] : most;
	if (most == PP_TRANSPORT_MPI)
		return snprintf(text, size, "invited through MPI: %zu other host%s", by[most], by[most] == 1 ? "" : "s");
	if (most == PP_TRANSPORT_FILE)
		snprintf(dir, sizeof(dir), " in %.200s", directory(p));
	n = snprintf(text, size, "invited through %s%s: %zu other host%s, through MPI: %zu; not all through MPI: %.96s",
	             pp_pod_transport_name(most), dir, by[most], by[most] == 1 ? "" : "s", by[PP_TRANSPORT_MPI],
	             why ? why : "its invitation arrived after the file's");
	for (size_t i = 0; i < 3 && n >= 0 && (size_t)n < size; i++)
		if (order[i] != most && by[order[i]])
			n += snprintf(text + n, size - (size_t)n, "; through %s: %zu", pp_pod_transport_name(order[i]),
			              by[order[i]]);
	return n;
}

void pp_pod_describe(const struct pp_pod *p, char *text, size_t size)
{
	const char *outer = pp_pod_transport_name(PP_TRANSPORT_OUTER), *why = rendezvous_why(p), *no_mpi = why_not_mpi(p);
	size_t by[PP_TRANSPORTS] = {0}, all = 0;
	int n;

	if (p->state != PP_POD_LISTENING) {
		snprintf(text, size, "%s", p->why);
		return;
	}
	for (size_t i = 0; i < p->peers; i++)
		if (p->peer[i].joined && p->peer[i].transport != PP_TRANSPORT_NONE)
			by[p->peer[i].transport]++, all++;
	if (!all)
		n = snprintf(text, size, "no other host joined, though they were invited through %s%s%sa file in %.200s%s%.96s%s%s",
		             no_mpi ? "" : "MPI, ", p->rendezvous ? outer : "", p->rendezvous ? ", " : "", directory(p),
		             no_mpi ? "; not through MPI: " : "", no_mpi ? no_mpi : "", p->why[0] ? "; " : "", p->why);
	else
		n = describe_joined(p, by, text, size);
	if (n >= 0 && (size_t)n < size && !by[PP_TRANSPORT_OUTER] && why[0])
		snprintf(text + n, size - (size_t)n, "; %.160s", why);
}

int pp_pod_is_invited(const struct pp_pod *p)
{
	char mpi[PATH_SIZE], store[PATH_SIZE];

	spool_path(p, invite_name, mpi);
	spool_path(p, store_name, store);
	return !access(mpi, F_OK) || !access(store, F_OK);
}

void pp_pod_withdraw(struct pp_pod *p)
{
	char path[PATH_SIZE];

	if (!p->published)
		return;
	p->published = 0;
	pp_rendezvous_remove(directory(p), &p->star.invite);
	if (!p->o.spool[0])
		return;
	spool_path(p, invite_name, path);
	unlink(path);
}

void pp_pod_call(struct pp_pod *p, const struct pp_net_invite *found, enum pp_pod_transport transport)
{
	struct pp_net_options o = net_options(p, found->job);
	struct pp_err err = {""};

	o.transport = (uint32_t)transport;
	if (pp_star_call(&p->star, &o, found, &err)) {
		pp_keeper_log("%s", err.text);
		p->state = PP_POD_SEARCHING;
		return;
	}
	p->transport = transport;
	p->state = PP_POD_CALLING;
	p->calling_ms = p->states_ms = 0;
	pp_pod_send_states(p);
	pp_keeper_log("calls rank 0's keeper, job '%s', invited through %s", found->job, pp_pod_transport_name(transport));
}

/* Limits the polling: the log directory may be remote, and all hosts look at it. */
static int is_time(struct pp_pod *p)
{
	int64_t now = pp_now_ms(), since = now - p->rings_ms, every = since < 2000 ? 25 : since < 30000 ? 250 : 2000;

	if (now - p->file_ms < every && !p->over_ms)
		return 0;
	p->file_ms = now;
	return 1;
}

/* The rendezvous is the better transport, and may be about to succeed. */
static int waits_for_point(struct pp_pod *p)
{
	int64_t now = pp_now_ms();

	p->found_ms = p->found_ms ? p->found_ms : now;
	return pp_rendezvous_point_is_open(p->rendezvous) && now - p->found_ms < POINT_MS;
}

static int has(const struct pp_pod *p, const char *name, struct pp_net_invite *found)
{
	return p->o.spool[0] && !pp_rendezvous_get(p->o.spool, name, found, NULL) && !pp_star_is_stale(&p->star, found);
}

/* Finds an invitation by the best transport that has one. 0, or -errno with the message; -EAGAIN: it is not time to look. */
static int find(struct pp_pod *p, struct pp_net_invite *found, enum pp_pod_transport *transport, struct pp_err *err)
{
	const char *job = p->o.settings->job;
	int rc;

	*transport = PP_TRANSPORT_MPI;
	if (has(p, invite_name, found))
		return 0;
	*transport = PP_TRANSPORT_STORE;
	if (has(p, store_name, found))
		return 0;
	*transport = PP_TRANSPORT_OUTER;
	if (pp_rendezvous_point_get(p->rendezvous, job, found) && !pp_star_is_stale(&p->star, found))
		return 0;
	*transport = PP_TRANSPORT_FILE;
	if (!is_time(p))
		return -EAGAIN;
	rc = pp_rendezvous_read(directory(p), job, found, err);
	if (rc == 0 && pp_star_is_stale(&p->star, found))
		return pp_err_set(err, -ETIMEDOUT, "the address in '%s/.podprof-...rendezvous' does not reply", directory(p));
	return rc == 0 && waits_for_point(p) ? -EAGAIN : rc;
}

void pp_pod_search(struct pp_pod *p)
{
	struct pp_net_invite found = {.port = 0};
	struct pp_err err = {""};
	enum pp_pod_transport transport;
	int rc = find(p, &found, &transport, &err);
	const char *why;

	if (rc == -EAGAIN)
		return;
	if (rc) {
		why = rendezvous_why(p);
		pp_pod_say_why(p, "%s%s%s%.260s",
		               p->o.job ? "cannot reach rank 0's keeper, this host has a session of its own: " : "", why,
		               why[0] ? "; " : "", err.text);
		return;
	}
	pp_pod_call(p, &found, transport);
}

void pp_pod_search_again(struct pp_pod *p)
{
	struct pp_net_invite found = {.port = 0};
	enum pp_pod_transport transport;

	if (find(p, &found, &transport, NULL) || !strcmp(found.server_public, p->star.invite.server_public))
		return;
	pp_pod_call(p, &found, transport);
}
