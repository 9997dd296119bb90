/* Runs the exchange in a thread, with addresses and a lock; see clock_link.h. Called by the keeper. */
#include "aggregate/keeper/clock/clock_link.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "core/base/forked.h"
#include "core/base/now.h"
#include "core/clock/band_solve.h"
#include "core/clock/pieces_make.h"
#include "proto/message.h"

enum { ADDRESSES = 16, BURST = 64, NAP_MS = 1000, RATE_MS = 5 };

#define PP_CLOCK_EXCHANGE "podprof exchange of clocks" /* tagged with the key, it names the exchange */

struct pp_clock_link {
	uint16_t port_first, port_last;
	int wake; /* eventfd */
	pthread_t thread;
	struct pp_forked_lock forked;
	int runs;
	pthread_mutex_t lock; /* guards all members below */
	int stop;
	struct pp_clock_socket socket[ADDRESSES]; /* one per address of this host in use; all have the tick */
	size_t sockets, route;                    /* route: the socket that reaches the parent */
	struct pp_clock_exchange x;
	struct pp_clock_address parent[ADDRESSES]; /* candidates; only the first once the parent has answered */
	size_t parents;
	struct pp_clock_address *child; /* as x.child; size 0: no packet yet */
	size_t room;                    /* of child */
	int64_t cpu_ns;
};

static int64_t tick(void *ctx)
{
	return pp_clock_socket_tick(((struct pp_clock_link *)ctx)->socket);
}

/* Row of a child's address; a first hello takes the next row, where the domain becomes a child. */
static struct pp_clock_address *child_address(struct pp_clock_link *l, uint32_t domain, int hello)
{
	for (size_t i = 0; i < l->x.children; i++)
		if (l->x.child[i].domain == domain)
			return &l->child[i];
	return hello && l->x.children < l->room ? &l->child[l->x.children] : NULL;
}

static void send_packet(void *ctx, uint32_t to, const uint8_t *packet)
{
	struct pp_clock_link *l = ctx;
	const struct pp_clock_address *child;

	if (to == l->x.o.parent && to != l->x.o.self) {
		for (size_t i = 0; i < l->parents; i++)
			pp_clock_socket_send(&l->parent[i], packet, PP_CLOCK_PACKET);
		return;
	}
	child = child_address(l, to, 0);
	if (child && child->size)
		pp_clock_socket_send(child, packet, PP_CLOCK_PACKET);
}

static const struct pp_clock_ops ops = {.tick = tick, .send = send_packet};

/* Learns the address of a domain from its hello or grant, if it has the job's key. */
static void learn_address(struct pp_clock_link *l, const uint8_t *bytes, size_t size, const struct pp_clock_address *from)
{
	struct pp_clock_address *child;
	struct pp_clock_packet p;

	if (size != PP_CLOCK_PACKET || (bytes[5] != PP_CLOCK_HELLO && bytes[5] != PP_CLOCK_GRANT))
		return;
	if (pp_clock_packet_read(bytes, size, l->x.o.key, &p) || p.to != l->x.o.self)
		return;
	child = p.kind == PP_CLOCK_HELLO ? child_address(l, p.from, 1) : NULL;
	if (child)
		*child = *from;
	if (p.kind == PP_CLOCK_GRANT && p.from == l->x.o.parent && l->parents != 1) {
		l->parent[0] = *from;
		l->parents = 1;
		for (size_t i = 0; i < l->sockets; i++)
			if (l->socket[i].fd == from->fd)
				l->route = i;
	}
}

static void take_packets(struct pp_clock_link *l, const struct pp_clock_socket *s)
{
	struct pp_clock_address from;
	uint8_t bytes[PP_CLOCK_PACKET + 1];
	size_t size;
	int64_t tick;

	for (int i = 0; i < BURST && (size = pp_clock_socket_receive(s, bytes, sizeof(bytes), &from, &tick)); i++) {
		learn_address(l, bytes, size, &from);
		pp_clock_exchange_packet(&l->x, bytes, size, tick);
	}
}

static void count_cpu(struct pp_clock_link *l)
{
	struct timespec t;

	if (!clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t))
		l->cpu_ns = t.tv_sec * (int64_t)1000000000 + t.tv_nsec;
}

/* ns until something is due. */
static int64_t wait_ns(const struct pp_clock_link *l)
{
	int64_t next = pp_clock_exchange_next_ns(&l->x), left = NAP_MS * (int64_t)1000000;

	if (next != INT64_MAX && next - pp_clock_exchange_now_ns(&l->x) < left)
		left = next - pp_clock_exchange_now_ns(&l->x);
	return left > 0 ? left : 0;
}

static void *serve(void *arg)
{
	struct pp_clock_link *l = arg;
	struct pollfd fd[1 + ADDRESSES] = {{.fd = l->wake, .events = POLLIN}};
	uint64_t count;
	int64_t left;
	nfds_t fds;

	pthread_mutex_lock(&l->lock);
	while (!l->stop) {
		struct timespec pause;

		for (fds = 0; fds < l->sockets; fds++) {
			fd[1 + fds] = (struct pollfd){.fd = l->socket[fds].fd, .events = POLLIN};
			take_packets(l, &l->socket[fds]);
		}
		pp_clock_exchange_due(&l->x);
		left = wait_ns(l);
		if (!pp_clock_exchange_busy(&l->x)) /* it would lengthen the trips of a turn */
			count_cpu(l);
		pause = (struct timespec){left / 1000000000, left % 1000000000};
		pthread_mutex_unlock(&l->lock);
		if (ppoll(fd, 1 + fds, &pause, NULL) > 0 && fd[0].revents)
			(void)!read(l->wake, &count, sizeof(count));
		pthread_mutex_lock(&l->lock);
	}
	pthread_mutex_unlock(&l->lock);
	return NULL;
}

static void wake(struct pp_clock_link *l)
{
	uint64_t one = 1;

	(void)!write(l->wake, &one, sizeof(one));
}

double pp_clock_link_rate(enum pp_tick_kind kind, struct pp_clock_pair *ret_first)
{
	struct pp_clock_pair second;

	pp_clock_read_pair(kind, ret_first);
	pp_nap_ms(RATE_MS);
	pp_clock_read_pair(kind, &second);
	return pp_clock_rate(kind, ret_first, &second);
}

int pp_clock_link_open(const struct pp_clock_link_options *o, struct pp_clock_link **ret_link, struct pp_err *err)
{
	struct pp_clock_link *l = calloc(1, sizeof(*l));

	if (!l)
		return pp_err_set(err, -ENOMEM, "cannot compare clocks: no memory");
	l->port_first = o->port_first;
	l->port_last = o->port_last;
	for (size_t i = 0; i < ADDRESSES; i++)
		l->socket[i] = (struct pp_clock_socket){
		        .fd = -1, .kind = o->kind, .ticks_per_ns = o->ticks_per_ns, .kernel_stamps = !o->no_kernel_stamps};
	pthread_mutex_init(&l->lock, NULL);
	l->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (l->wake < 0) {
		int rc = pp_err_set(err, -errno, "cannot compare clocks: no eventfd: %s", strerror(errno));

		pp_clock_link_free(l);
		return rc;
	}
	*ret_link = l;
	return 0;
}

void pp_clock_link_free(struct pp_clock_link *l)
{
	if (!l)
		return;
	if (l->runs) {
		pp_forked_forget(&l->forked);
		pthread_mutex_lock(&l->lock);
		l->stop = 1;
		pthread_mutex_unlock(&l->lock);
		wake(l);
		pthread_join(l->thread, NULL);
	}
	for (size_t i = 0; i < l->sockets; i++)
		pp_clock_socket_close(&l->socket[i]);
	if (l->wake >= 0)
		close(l->wake);
	pp_clock_exchange_release(&l->x);
	explicit_bzero(&l->x.o.key, sizeof(l->x.o.key));
	pthread_mutex_destroy(&l->lock);
	free(l->child);
	free(l);
}

/* The socket at that address; opens it at the first one's port where that is free. */
static int socket_at(struct pp_clock_link *l, const char *local, size_t *ret_at, struct pp_err *err)
{
	struct pp_clock_socket *s = l->socket;
	uint16_t same = s->port;
	int rc;

	for (size_t i = 0; i < l->sockets; i++)
		if (!strcmp(s[i].address, local)) {
			*ret_at = i;
			return 0;
		}
	if (l->sockets == ADDRESSES)
		return pp_err_set(err, -ENOSPC, "cannot compare clocks: this host has more than %d addresses", ADDRESSES);
	rc = l->sockets ? pp_clock_socket_open(&s[l->sockets], local, same, same, NULL) : -EADDRINUSE;
	if (rc == -EADDRINUSE)
		rc = pp_clock_socket_open(&s[l->sockets], local, l->port_first, l->port_last, err);
	else if (rc)
		pp_err_set(err, rc, "cannot compare clocks: no UDP port at %s: %s", local, strerror(-rc));
	if (!rc)
		*ret_at = l->sockets++;
	return rc;
}

int pp_clock_link_bind(struct pp_clock_link *l, const char *local, uint16_t *ret_port, struct pp_err *err)
{
	size_t at;
	int rc;

	pthread_mutex_lock(&l->lock);
	rc = socket_at(l, local, &at, err);
	if (!rc)
		*ret_port = l->socket[at].port;
	pthread_mutex_unlock(&l->lock);
	wake(l);
	return rc;
}

uint16_t pp_clock_link_place(struct pp_clock_link *l, char ret_address[PP_CLOCK_NUMERIC])
{
	uint16_t port;

	pthread_mutex_lock(&l->lock);
	port = l->socket[l->route].port;
	snprintf(ret_address, PP_CLOCK_NUMERIC, "%s", l->socket[l->route].address);
	pthread_mutex_unlock(&l->lock);
	return port;
}

static void lock_for_fork(void *context)
{
	pthread_mutex_lock(&((struct pp_clock_link *)context)->lock);
}

static void unlock_after_fork(void *context)
{
	pthread_mutex_unlock(&((struct pp_clock_link *)context)->lock);
}

/* Signals of the keeper go to its main thread. */
static int start_thread(struct pp_clock_link *l)
{
	sigset_t all, before;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&l->thread, NULL, serve, l);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	l->runs = !rc;
	if (l->runs) {
		l->forked = (struct pp_forked_lock){.lock = lock_for_fork, .unlock = unlock_after_fork, .context = l};
		pp_forked_register(&l->forked);
	}
	return -rc;
}

/* Sets the parent's addresses, each with the local socket that reaches it. Called with the lock. */
static int take_parent(struct pp_clock_link *l, const char *addresses, uint16_t port, struct pp_err *err)
{
	int rc = pp_err_set(err, -EINVAL, "cannot compare clocks: no address of the parent");
	struct pp_clock_address to[ADDRESSES];
	char text[PP_WIRE_ADDRESSES], local[PP_CLOCK_NUMERIC], *rest = NULL;
	size_t n = 0, at = 0, first = 0;

	snprintf(text, sizeof(text), "%s", addresses ? addresses : "");
	for (char *to_one = strtok_r(text, " ", &rest); to_one && n < ADDRESSES; to_one = strtok_r(NULL, " ", &rest)) {
		int one = pp_clock_socket_local(to_one, local);

		if (one == -EHOSTUNREACH)
			rc = pp_err_set(err, -EHOSTUNREACH, "cannot compare clocks: no route for UDP packets to '%s'", to_one);
		if (one)
			continue;
		one = socket_at(l, local, &at, err);
		rc = one ? one : rc;
		if (!one && !pp_clock_socket_address(&l->socket[at], to_one, port, &to[n]) && !n++)
			first = at;
	}
	if (!n)
		return rc;
	memcpy(l->parent, to, n * sizeof(*to));
	l->parents = n;
	l->route = first;
	return 0;
}

int pp_clock_link_join(struct pp_clock_link *l, const struct pp_clock_exchange_options *o, const char *addresses, uint16_t port,
                       struct pp_err *err)
{
	struct pp_clock_exchange_options mine = *o;
	struct pp_clock_address from;
	uint8_t bytes[PP_CLOCK_PACKET];
	int64_t tick;
	int rc;

	if (l->runs)
		return pp_err_set(err, -EALREADY, "cannot compare clocks: this keeper has its place already");
	rc = o->parent != o->self ? take_parent(l, addresses, port, err) : 0;
	if (rc)
		return rc;
	mine.ticks_per_ns = l->socket->ticks_per_ns;
	l->room = o->children + o->more;
	l->child = calloc(l->room + 1, sizeof(*l->child));
	if (!l->child)
		return pp_err_set(err, -ENOMEM, "cannot compare clocks: no memory for %zu hosts", l->room);
	for (size_t s = 0; s < l->sockets; s++)
		for (int i = 0; i < 1 << 16 && pp_clock_socket_receive(&l->socket[s], bytes, sizeof(bytes), &from, &tick); i++)
			; /* drops early packets: no sender is known yet */
	rc = pp_clock_exchange_init(&l->x, &mine, &ops, l, err);
	if (rc)
		return rc;
	rc = start_thread(l);
	return rc ? pp_err_set(err, rc, "cannot compare clocks: no thread: %s", strerror(-rc)) : 0;
}

int pp_clock_link_move(struct pp_clock_link *l, uint32_t parent, int same, const char *addresses, uint16_t port, struct pp_err *err)
{
	int rc;

	pthread_mutex_lock(&l->lock);
	rc = take_parent(l, addresses, port, err);
	if (!rc)
		pp_clock_exchange_move(&l->x, parent, same);
	pthread_mutex_unlock(&l->lock);
	wake(l);
	return rc;
}

void pp_clock_link_claim(struct pp_clock_link *l, int same)
{
	pthread_mutex_lock(&l->lock);
	l->x.o.same = same;
	pthread_mutex_unlock(&l->lock);
}

void pp_clock_link_leave(struct pp_clock_link *l)
{
	pthread_mutex_lock(&l->lock);
	pp_clock_exchange_leave(&l->x);
	pthread_mutex_unlock(&l->lock);
}

int pp_clock_link_start(struct pp_clock_link *l, uint64_t round)
{
	int rc;

	pthread_mutex_lock(&l->lock);
	rc = l->runs ? pp_clock_exchange_start(&l->x, round) : -ENOENT;
	pthread_mutex_unlock(&l->lock);
	wake(l);
	return rc;
}

void pp_clock_link_state(struct pp_clock_link *l, struct pp_clock_link_state *ret_state)
{
	pthread_mutex_lock(&l->lock);
	*ret_state = (struct pp_clock_link_state){.busy = l->runs && pp_clock_exchange_busy(&l->x),
	                                          .round = l->x.round_sync,
	                                          .turn = l->x.turn_sync,
	                                          .round_took_ns = l->x.round_took_ns,
	                                          .parent = l->x.o.parent,
	                                          .cpu_ns = l->cpu_ns,
	                                          .counts = l->x.counts,
	                                          .same = l->x.same};
	for (size_t i = 0; i < l->x.children; i++) {
		ret_state->answered += l->x.child[i].has_answered != 0;
		ret_state->children += l->x.child[i].has_answered && !l->x.child[i].left;
	}
	pthread_mutex_unlock(&l->lock);
}

int pp_clock_link_pieces(struct pp_clock_link *l, int64_t beyond, struct pp_pieces *ret, struct pp_err *err)
{
	int rc;

	pthread_mutex_lock(&l->lock);
	rc = l->x.has_band ? pp_band_solve(&l->x.band, err)
	                   : pp_err_set(err, -ENODATA, "cannot map the clock: it was never compared");
	if (!rc)
		rc = pp_pieces_of_band(&l->x.band, beyond, ret, err);
	pthread_mutex_unlock(&l->lock);
	return rc;
}

static int copy_of(const void *from, size_t count, size_t size, void **ret, size_t *ret_count, struct pp_err *err)
{
	void *copy = calloc(count + 1, size);

	if (!copy)
		return pp_err_set(err, -ENOMEM, "no memory for the rows of the clock");
	if (count)
		memcpy(copy, from, count * size);
	*ret = copy;
	*ret_count = count;
	return 0;
}

int pp_clock_link_nodes(struct pp_clock_link *l, struct pp_band_node **ret_node, size_t *ret_nodes, struct pp_err *err)
{
	void *copy = NULL;
	int rc;

	pthread_mutex_lock(&l->lock);
	rc = copy_of(l->x.band.node, l->x.band.nodes, sizeof(**ret_node), &copy, ret_nodes, err);
	pthread_mutex_unlock(&l->lock);
	*ret_node = rc ? *ret_node : copy;
	return rc;
}

/* The burst of a turn that runs is not complete. */
static size_t whole_groups(const struct pp_clock_exchange *x)
{
	return x->band.groups - (x->group != NULL);
}

int pp_clock_link_bursts(struct pp_clock_link *l, int64_t since, struct pp_clock_bursts *ret, struct pp_err *err)
{
	const struct pp_clock_exchange *x = &l->x;
	struct pp_clock_bursts b;
	void *copy = NULL;
	size_t first, end;
	int rc;

	pthread_mutex_lock(&l->lock);
	first = end = whole_groups(x);
	while (first > 0 && x->band.group[first - 1].first != since)
		first--;
	b = (struct pp_clock_bursts){
	        .self = x->o.self,
	        .parent = x->o.parent,
	        .same = x->o.same && pp_same_clock_verdict(&x->same, INT64_MAX) != PP_SAME_FALSE,
	        .exchange = pp_siphash(x->o.key, PP_CLOCK_EXCHANGE, sizeof(PP_CLOCK_EXCHANGE)),
	        .rate = x->has_band ? x->band.o.rate : 1,
	        .wander = x->has_band ? x->band.o.wander : 0,
	        .all = !first,
	};
	rc = copy_of(end ? x->band.group + first : NULL, end - first, sizeof(*b.group), &copy, &b.groups, err);
	pthread_mutex_unlock(&l->lock);
	b.group = copy;
	*ret = b;
	return rc;
}

int pp_clock_link_children(struct pp_clock_link *l, struct pp_clock_child **ret_child, size_t *ret_children, struct pp_err *err)
{
	void *copy = NULL;
	int rc;

	pthread_mutex_lock(&l->lock);
	rc = copy_of(l->x.child, l->x.children, sizeof(**ret_child), &copy, ret_children, err);
	pthread_mutex_unlock(&l->lock);
	*ret_child = rc ? *ret_child : copy;
	return rc;
}

void pp_clock_metadata_take(struct pp_clock_metadata *t, struct pp_clock_link *link, const char *parent, int32_t hops)
{
	struct pp_clock_link_state state;

	pp_clock_metadata_release(t);
	snprintf(t->parent, sizeof(t->parent), "%s", parent);
	t->hops = hops;
	if (!link)
		return;
	pp_clock_link_state(link, &state);
	t->rounds = state.counts.rounds;
	t->trips = state.counts.trips;
	t->lost = state.counts.lost;
	t->impossible = state.counts.impossible;
	t->foreign = state.counts.foreign;
	t->round_ns = state.round_took_ns;
	t->cpu_ns = state.cpu_ns;
	if (hops && pp_clock_link_nodes(link, &t->node, &t->nodes, NULL))
		t->nodes = 0;
}
