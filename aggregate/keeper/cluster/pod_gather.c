/* Gathers the leader's window from all hosts: asks them for their shares, receives the files, and tells its child when all have
 * arrived. Called by pod.c; the child's part is gather.c. */
#include "aggregate/keeper/cluster/pod_gather.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "aggregate/keeper/cluster/pod_clock.h"
#include "aggregate/keeper/cluster/pod_state.h"
#include "aggregate/keeper/cluster/pod_tree.h"
#include "aggregate/session/spare.h"
#include "aggregate/spool/control.h"
#include "aggregate/write/output.h"
#include "aggregate/write/writer.h"
#include "core/base/now.h"
#include "core/clock/clock_map.h"

enum {
	LIMIT_MS = 300000, /* for a host that is alive and sends no share */
};

#define BLOCK_MOST ((uint64_t)256 << 20)

static const char nosteps_prefix[] = "nosteps+"; /* prefix of a file of the second session, which has no steps */

static void file_of(const struct pp_pod *p, int peer, char *path, size_t size)
{
	if (peer < 0)
		snprintf(path, size, "%s/gather-%llu.rows", p->o.spool, (unsigned long long)p->gather.child.number);
	else
		snprintf(path, size, "%s/gather-%llu-%d.block", p->o.spool, (unsigned long long)p->gather.child.number, peer);
}

struct pp_gather *pp_pod_gather(struct pp_pod *p, const struct pp_pod_window *w)
{
	struct pp_pod_job *g = p ? &p->gather : NULL;
	uint64_t dice = 0;
	int fd[2];

	if (!p || p->state != PP_POD_LISTENING)
		return NULL;
	pp_pod_gather_end(p);
	if (w->cut == PP_POD_REQUEST)
		p->request.kind = PP_ASK_NOTHING; /* nobody waits for the ranks' answers any more */
	if (getrandom(&dice, sizeof(dice), 0) != sizeof(dice) || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd)) {
		pp_keeper_log("other hosts are not asked for their shares: %s", strerror(errno));
		return NULL;
	}
	*g = (struct pp_pod_job){.active = 1, .fd = fd[0], .window = *w, .begun_ms = pp_now_ms()};
	fcntl(g->fd, F_SETFL, O_NONBLOCK);
	g->child = (struct pp_gather){.leads = 1, .fd = fd[1], .parent_fd = fd[0], .number = ++p->gathers, .log = pp_keeper_log};
	snprintf(g->child.spool, sizeof(g->child.spool), "%s", p->o.spool);
	snprintf(g->child.token, sizeof(g->child.token), ".gather-%016llx", (unsigned long long)dice);
	for (size_t i = 0; i < p->peers; i++) {
		struct pp_pod_peer *one = &p->peer[i];

		one->delivery = (struct pp_pod_delivery){.fd = -1};
		if (one->joined && one->first_tick && !one->place.is_false && pp_pod_same_clock(p, one) &&
		    (!g->child.first_tick || one->first_tick < g->child.first_tick))
			g->child.first_tick = one->first_tick;
	}
	pp_clock_metadata_take(&g->child.exchange, p->clock.link, "", 0);
	pp_pod_clock_want(p);
	return &g->child;
}

void pp_pod_gathering(struct pp_pod *p, int has_child)
{
	if (!p || !p->gather.active)
		return;
	close(p->gather.child.fd);
	p->gather.child.fd = -1;
	if (!has_child)
		pp_pod_gather_end(p);
}

static void close_piece(struct pp_pod_delivery *b)
{
	if (b->fd >= 0 && b->is_block)
		close(b->fd);
	else if (b->fd >= 0)
		pp_output_abandon(b->fd, b->name);
	b->fd = -1;
	free(b->name);
	b->name = NULL;
}

void pp_pod_gather_end(struct pp_pod *p)
{
	struct pp_pod_job *g = &p->gather;
	char path[PATH_MAX];

	if (!g->active)
		return;
	for (size_t i = 0; i < p->peers; i++) {
		close_piece(&p->peer[i].delivery);
		file_of(p, (int)i, path, sizeof(path));
		unlink(path);
	}
	file_of(p, -1, path, sizeof(path));
	unlink(path);
	if (g->child.fd >= 0)
		close(g->child.fd);
	close(g->fd);
	pp_clock_metadata_release(&g->child.exchange);
	*g = (struct pp_pod_job){.fd = -1};
}

static int64_t realtime_of(const struct pp_pod_job *g, int64_t tick)
{
	if (g->window.cut != PP_POD_TICKS)
		return 0;
	return tick == INT64_MIN || tick == INT64_MAX ? tick
	                                              : g->name.epoch_realtime_ns + pp_clock_map_ns(&g->name.map, (pp_tick)tick);
}

/* The session has its name: the other hosts may begin to write. */
static void ask(struct pp_pod *p, int peer)
{
	struct pp_pod_peer *one = &p->peer[peer];
	struct pp_pod_job *g = &p->gather;
	struct pp_wire m = {.kind = PP_WIRE_GATHER};
	struct pp_err err = {""};

	m.gather = (struct pp_wire_gather){.gather = g->child.number,
	                                   .cut = (uint32_t)g->window.cut,
	                                   .number = g->window.number,
	                                   .from = g->window.from,
	                                   .to = g->window.to,
	                                   .from_realtime = realtime_of(g, g->window.from),
	                                   .to_realtime = realtime_of(g, g->window.to),
	                                   .first = g->window.first,
	                                   .last = g->window.last,
	                                   .session = g->name.session,
	                                   .token = g->child.token,
	                                   .host = strcmp(one->name, one->host) ? one->name : "",
	                                   .ranks = g->window.ranks,
	                                   .has_steps = g->name.has_steps,
	                                   .tick0 = g->name.map.tick0,
	                                   .num = g->name.map.num,
	                                   .ns0 = g->name.map.ns0,
	                                   .bound = g->name.map.bound_ns,
	                                   .epoch_realtime = g->name.epoch_realtime_ns,
	                                   .shift = g->name.map.shift,
	                                   .clock = pp_pod_own_clock(p)};
	one->delivery = (struct pp_pod_delivery){.fd = -1, .asked = 1, .moved_ms = pp_now_ms()};
	if (pp_net_send(p->star.net, peer, &m, &err))
		snprintf(one->delivery.why, sizeof(one->delivery.why), "%.190s", err.text);
}

static int copy_begin(int from, int to, uint64_t bytes)
{
	char part[64 * 1024];

	for (uint64_t at = 0; at < bytes;) {
		ssize_t n = pread(from, part, bytes - at < sizeof(part) ? (size_t)(bytes - at) : sizeof(part), (off_t)at);

		if (n <= 0 || pwrite(to, part, (size_t)n, (off_t)at) != n)
			return -EIO;
		at += (uint64_t)n;
	}
	return 0;
}

/* The log directory does not take an XSpace that another host sends (failure `code`; `why` tells of it): moves what is there of the
 * file to this node's own directory. -1: it is dropped. */
static int move_piece(struct pp_pod *p, struct pp_pod_delivery *b, int code, const char *why)
{
	const char *inside = b->name + strlen(p->gather.name.logdir) + 1;
	char spare[64], *name = NULL;
	int fd = -1;

	if (pp_spare_helps(code) && !pp_spare_open(spare, sizeof(spare), NULL) && strcmp(spare, p->gather.name.logdir) != 0 &&
	    asprintf(&name, "%s/%s", spare, inside) >= 0 && access(name, F_OK)) {
		char *slash = strrchr(name, '/');

		*slash = '\0';
		fd = pp_output_make(spare, name + strlen(spare) + 1, NULL);
		*slash = '/';
		if (!fd)
			fd = pp_output_create(name, NULL);
		if (fd >= 0 && copy_begin(b->fd, fd, b->at)) {
			pp_output_abandon(fd, name);
			fd = -1;
		}
	}
	pp_output_abandon(b->fd, b->name);
	b->fd = fd < 0 ? -1 : fd;
	if (fd < 0) {
		free(name);
		snprintf(b->warning, sizeof(b->warning), "its XSpace is dropped: %.150s", why);
		return -1;
	}
	snprintf(b->warning, sizeof(b->warning), "its XSpace is in '%s' of rank 0's host: %.110s", spare, why);
	free(b->name);
	b->name = name;
	return 0;
}

static int make_ready(struct pp_pod *p, struct pp_pod_delivery *b, int peer, const struct pp_wire *m)
{
	const struct pp_wire_piece *piece = &m->piece;
	const char *name = piece->name;
	struct pp_err err = {""};
	char session[PP_GATHER_NAME + 32];
	int beside = !strncmp(name, nosteps_prefix, sizeof(nosteps_prefix) - 1);
	size_t length;

	b->is_block = m->kind == PP_WIRE_BLOCK;
	if (b->is_block) {
		char path[PATH_MAX];

		file_of(p, peer, path, sizeof(path));
		b->fd = piece->total > BLOCK_MOST ? -1 : open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (b->fd < 0)
			snprintf(b->why, sizeof(b->why), "its share of %llu bytes is refused: %s", (unsigned long long)piece->total,
			         piece->total > BLOCK_MOST ? "too large" : strerror(errno));
		return b->fd < 0 ? -1 : 0;
	}
	name += beside ? sizeof(nosteps_prefix) - 1 : 0;
	length = strlen(name);
	if (length < 11 || strcmp(name + length - 10, ".xplane.pb") != 0 || name[0] == '.') {
		snprintf(b->why, sizeof(b->why), "it sent a file that is not an XSpace");
		return -1;
	}
	snprintf(session, sizeof(session), "plugins/profile/%s%s", p->gather.name.session, beside ? "-nosteps" : "");
	if (asprintf(&b->name, "%s/%s/%s", p->gather.name.logdir, session, name) < 0) {
		b->name = NULL;
		snprintf(b->warning, sizeof(b->warning), "its XSpace is dropped: no memory");
		return -1;
	}
	b->fd = pp_output_make(p->gather.name.logdir, session, &err);
	if (!b->fd)
		b->fd = pp_output_create(b->name, &err);
	return b->fd < 0 ? move_piece(p, b, b->fd, err.text) : 0;
}

void pp_pod_take_piece(struct pp_pod *p, int peer, const struct pp_wire *m)
{
	struct pp_pod_delivery *b = &p->peer[peer].delivery;
	const struct pp_wire_piece *piece = &m->piece;
	struct pp_err err = {""};
	ssize_t n;

	if (!p->gather.active || p->gather.complete || piece->gather != p->gather.child.number || !b->asked || b->done)
		return;
	b->moved_ms = pp_now_ms();
	if (piece->offset == 0) {
		close_piece(b);
		b->at = 0;
		make_ready(p, b, peer, m);
	}
	if (b->fd < 0 || piece->offset != b->at || b->is_block != (m->kind == PP_WIRE_BLOCK))
		return;
	n = pwrite(b->fd, piece->bytes, piece->size, (off_t)b->at);
	if (n != (ssize_t)piece->size && !b->is_block &&
	    !move_piece(p, b, n < 0 ? -errno : -ENOSPC, strerror(n < 0 ? errno : ENOSPC)))
		n = pwrite(b->fd, piece->bytes, piece->size, (off_t)b->at);
	if (n != (ssize_t)piece->size) {
		if (b->is_block || !b->warning[0])
			snprintf(b->is_block ? b->why : b->warning, sizeof(b->why), "its share cannot be written: %s",
			         strerror(n < 0 ? errno : ENOSPC));
		close_piece(b);
		return;
	}
	b->at += piece->size;
	if (b->at < piece->total)
		return;
	if (b->is_block) {
		close(b->fd);
		b->has_block = 1;
	} else if (fsync(b->fd) && errno != EINVAL && move_piece(p, b, -errno, strerror(errno))) {
		return;
	} else if (pp_output_commit(b->fd, b->name, &err)) {
		snprintf(b->warning, sizeof(b->warning), "its XSpace is dropped: %.150s", err.text);
	}
	b->fd = -1;
	free(b->name);
	b->name = NULL;
}

void pp_pod_take_share(struct pp_pod *p, int peer, const struct pp_wire *m)
{
	const struct pp_wire_share *s = &m->share;
	struct pp_pod_delivery *b = &p->peer[peer].delivery;

	if (!p->gather.active || p->gather.complete || s->gather != p->gather.child.number || !b->asked || b->done)
		return;
	close_piece(b);
	b->done = 1;
	if (s->code || !b->has_block)
		snprintf(b->why, sizeof(b->why), "%.190s",
		         b->why[0]      ? b->why
		         : s->reason[0] ? s->reason
		                        : "its share did not arrive");
	else if (s->reason[0])
		snprintf(b->warning, sizeof(b->warning), "%.190s", s->reason);
}

static void say_silent(struct pp_pod_peer *one, int lost, int64_t ms)
{
	if (lost)
		snprintf(one->delivery.why, sizeof(one->delivery.why), "host %s did not reply for %lld s", one->name,
		         (long long)(ms + 999) / 1000);
	else
		snprintf(one->delivery.why, sizeof(one->delivery.why), "host %s left before the end", one->name);
}

/* Is there nothing more to wait for from this host? Writes why where it sends no share. */
static int needs_no_wait(struct pp_pod *p, size_t peer)
{
	struct pp_pod_peer *one = &p->peer[peer];
	struct pp_pod_delivery *b = &one->delivery;
	int64_t half = pp_star_silence_ms() / 2; /* ranks wait for the files */

	if (!one->joined || b->done)
		return 1;
	if (!b->why[0] && one->gone)
		snprintf(b->why, sizeof(b->why), "host %s %s", one->name,
		         one->lost ? "did not reply for 10 s" : "left before the end");
	else if (!b->why[0] && !b->asked)
		snprintf(b->why, sizeof(b->why), "host %s joined too late", one->name);
	else if (!b->why[0] && pp_net_silent_ms(p->star.net, (int)peer) > half)
		say_silent(one, 1, half);
	else if (!b->why[0] && pp_now_ms() - b->moved_ms > LIMIT_MS)
		snprintf(b->why, sizeof(b->why), "host %s sent nothing for %d s", one->name, LIMIT_MS / 1000);
	return b->why[0] != '\0';
}

static void put_row(int fd, enum pp_gather_kind kind, int32_t rank, const char *host, const char *text)
{
	struct pp_gather_row row = {.kind = kind, .rank = rank};

	snprintf(row.host, sizeof(row.host), "%s", host);
	snprintf(row.text, sizeof(row.text), "%s", text);
	if (write(fd, &row, sizeof(row)) != (ssize_t)sizeof(row))
		pp_keeper_log("a row of the gathering is lost: %s", strerror(errno));
}

static int is_known(const struct pp_pod *p, int32_t rank)
{
	const struct pp_rings *r = p->o.job->rings;

	for (size_t i = 0; i < pp_rings_count(r); i++)
		if (pp_rings_header(r, i)->rank == rank)
			return 1;
	for (size_t i = 0; i < p->ranks; i++)
		if (p->rank[i].rank == rank)
			return 1;
	return 0;
}

static void put_rows(struct pp_pod *p, int fd)
{
	int zero = pp_pod_zero(p);
	int32_t size = zero >= 0 ? pp_rings_header(p->o.job->rings, (size_t)zero)->size : 0;
	uint64_t refused = pp_net_counts(p->star.net).refused;
	char text[sizeof(((struct pp_gather_row *)NULL)->text)];

	for (size_t i = 0; i < p->peers; i++) {
		const struct pp_pod_peer *one = &p->peer[i];

		if (one->joined && one->delivery.done && !one->delivery.why[0]) {
			snprintf(text, sizeof(text), "gather-%llu-%zu.block", (unsigned long long)p->gather.child.number, i);
			put_row(fd, PP_GATHER_BLOCK, -1, one->name, text);
		}
		snprintf(text, sizeof(text), "host %s %.176s", one->name, one->place.warning);
		if (one->joined && one->place.warning[0])
			put_row(fd, PP_GATHER_WARNING, -1, one->name, text);
		snprintf(text, sizeof(text), "host %s: %.176s", one->name, one->delivery.warning);
		if (one->joined && one->delivery.warning[0])
			put_row(fd, PP_GATHER_WARNING, -1, one->name, text);
	}
	for (size_t i = 0; i < p->ranks; i++) {
		const struct pp_pod_peer *one = &p->peer[p->rank_peer[i]];

		snprintf(text, sizeof(text), "missing: %.84s", one->delivery.why);
		if (one->delivery.why[0])
			put_row(fd, PP_GATHER_MISSING, p->rank[i].rank, one->name, text);
	}
	for (int32_t rank = 0; rank < size; rank++)
		if (!is_known(p, rank))
			put_row(fd, PP_GATHER_MISSING, rank, "", "missing: neither it nor a keeper of its host connected");
	snprintf(text, sizeof(text),
	         "%llu hosts were refused: they are of another job or podprof version, or there are more than %d",
	         (unsigned long long)refused, PP_NET_PEERS);
	if (refused)
		put_row(fd, PP_GATHER_WARNING, -1, "", text);
	pp_clock_metadata_take(&p->gather.child.exchange, p->clock.link, "", 0);
	pp_clock_metadata_print(&p->gather.child.exchange, text, sizeof(text));
	put_row(fd, PP_GATHER_CLOCK, -1, "", text);
}

static void notify_child(struct pp_pod *p)
{
	char path[PATH_MAX];
	int fd;

	file_of(p, -1, path, sizeof(path));
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0) {
		put_rows(p, fd);
		close(fd);
	} else {
		pp_keeper_log("cannot write '%s': %s", path, strerror(errno));
	}
	send(p->gather.fd, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	p->gather.complete = 1;
	pp_keeper_log("shares of all hosts are there after %lld ms", (long long)(pp_now_ms() - p->gather.begun_ms));
}

void pp_pod_gather_run(struct pp_pod *p)
{
	struct pp_pod_job *g = &p->gather;
	int all_done = 1;
	char byte;
	ssize_t n;

	if (!g->active)
		return;
	n = recv(g->fd, g->named ? (void *)&byte : &g->name, g->named ? 1 : sizeof(g->name), MSG_DONTWAIT);
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) { /* the child has ended */
		pp_pod_gather_end(p);
		return;
	}
	if (!g->named && n == (ssize_t)sizeof(g->name)) {
		g->named = 1;
		g->name.session[sizeof(g->name.session) - 1] = '\0';
	}
	/* The window's last comparison of clocks comes before its shares are made. */
	if (g->named && !g->asked && pp_pod_clock_is_ready(p, g->begun_ms)) {
		g->asked = 1;
		pp_pod_tree_send_chains(p);
		for (size_t i = 0; i < p->peers; i++)
			if (p->peer[i].joined && !p->peer[i].gone)
				ask(p, (int)i);
	}
	if (!g->asked || g->complete)
		return;
	for (size_t i = 0; i < p->peers; i++)
		all_done &= needs_no_wait(p, i);
	if (all_done)
		notify_child(p);
}
