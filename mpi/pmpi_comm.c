/* The table of communicators. Called by the wrappers: find on the hot path, the rest when one is made or freed. */
#include "mpi/pmpi_comm.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/dispatch/next.h"
#include "mpi/pmpi_announce.h"
#include "mpi/pmpi_collector.h"

enum { BUCKETS = 1024, COUNTS = 1024 };

struct count { /* number of communicators with this key so far */
	struct count *next;
	uint64_t key;
	uint32_t made;
};

static _Atomic(struct pp_comm *) bucket[BUCKETS];
static struct count *counts[COUNTS];
static _Atomic(struct pp_comm *) unused; /* linked by `next` */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
_Atomic uint32_t pp_comm_gen = 1;

static struct {
	__typeof__(&MPI_Comm_rank) comm_rank;
	__typeof__(&MPI_Comm_size) comm_size;
	__typeof__(&MPI_Comm_group) comm_group;
	__typeof__(&MPI_Comm_remote_group) comm_remote_group;
	__typeof__(&MPI_Comm_test_inter) comm_test_inter;
	__typeof__(&MPI_Group_size) group_size;
	__typeof__(&MPI_Group_translate_ranks) translate;
	__typeof__(&MPI_Group_free) group_free;
} real;
MPI_Group pp_comm_world_group;
static int world_rank = -1, world_size = -1;
static int world_first; /* rank of the world's first process in the session */
static struct pp_comm *parent;

static _Atomic(struct pp_comm *) *bucket_of(uint64_t key)
{
	return &bucket[(pp_comm_id_mix(key) >> 20) % BUCKETS];
}

static struct pp_comm *walk(uint64_t key)
{
	struct pp_comm *c = atomic_load_explicit(bucket_of(key), memory_order_acquire);

	while (c && atomic_load_explicit(&c->key, memory_order_relaxed) != key)
		c = atomic_load_explicit(&c->next, memory_order_acquire);
	return c;
}

struct pp_comm *pp_comm_find(uint64_t key)
{
	struct pp_comm *c = walk(key);

	if (c)
		return c;
	/* a lock-free walk may follow a node that moves: a miss is certain only under the lock */
	pthread_mutex_lock(&lock);
	c = walk(key);
	pthread_mutex_unlock(&lock);
	return c;
}

/* Number of earlier communicators with this key. Under the lock. */
static uint32_t number(uint64_t key)
{
	struct count **at = &counts[key % COUNTS];
	struct count *c;

	for (c = *at; c; c = c->next)
		if (c->key == key)
			return c->made++;
	c = calloc(1, sizeof *c);
	if (!c)
		return 0;
	c->key = key;
	c->made = 1;
	c->next = *at;
	*at = c;
	return 0;
}

/* Removes it from the table. Under the lock. */
static void cut(struct pp_comm *c)
{
	_Atomic(struct pp_comm *) *at = bucket_of(atomic_load_explicit(&c->key, memory_order_relaxed));
	struct pp_comm *i;

	while ((i = atomic_load_explicit(at, memory_order_relaxed)) != NULL && i != c)
		at = &i->next;
	if (i)
		atomic_store_explicit(at, atomic_load_explicit(&c->next, memory_order_relaxed), memory_order_release);
	atomic_store_explicit(&c->key, 0, memory_order_relaxed);
	atomic_fetch_add_explicit(&pp_comm_gen, 1, memory_order_release);
}

/* Puts it into the list of unused nodes. Under the lock. */
static void shelve(struct pp_comm *c)
{
	if (c->id && pp_mpi_collector)
		pp_mpi_collector->comm_freed(c->id);
	atomic_fetch_add_explicit(&c->life, 1, memory_order_release);
	atomic_store_explicit(&c->next, atomic_load_explicit(&unused, memory_order_relaxed), memory_order_relaxed);
	atomic_store_explicit(&unused, c, memory_order_relaxed);
}

static void link_node(struct pp_comm *c, uint64_t key)
{
	_Atomic(struct pp_comm *) *head = bucket_of(key);
	struct pp_comm *stale = walk(key);

	if (stale) { /* a call that no wrapper saw freed it */
		cut(stale);
		shelve(stale);
	}
	atomic_store_explicit(&c->key, key, memory_order_relaxed);
	atomic_store_explicit(&c->next, atomic_load_explicit(head, memory_order_relaxed), memory_order_relaxed);
	atomic_store_explicit(head, c, memory_order_release);
	atomic_fetch_add_explicit(&pp_comm_gen, 1, memory_order_release);
}

void pp_comm_relink(struct pp_comm *c, uint64_t key)
{
	pthread_mutex_lock(&lock);
	link_node(c, key);
	pthread_mutex_unlock(&lock);
}

void pp_comm_unlink(struct pp_comm *c)
{
	pthread_mutex_lock(&lock);
	cut(c);
	pthread_mutex_unlock(&lock);
}

void pp_comm_release(struct pp_comm *c)
{
	pthread_mutex_lock(&lock);
	shelve(c);
	pthread_mutex_unlock(&lock);
}

/* A node with room for n members. Its arrays are never freed: a thread that numbers a request may still read them. */
static struct pp_comm *take_node(int n)
{
	_Atomic(struct pp_comm *) *at = &unused;
	struct pp_comm *c;

	pthread_mutex_lock(&lock);
	while ((c = atomic_load_explicit(at, memory_order_relaxed)) != NULL && c->capacity < n)
		at = &c->next;
	if (c)
		atomic_store_explicit(at, atomic_load_explicit(&c->next, memory_order_relaxed), memory_order_relaxed);
	pthread_mutex_unlock(&lock);
	if (c) {
		free(c->topo);
		c->topo = NULL;
		return c;
	}
	c = calloc(1, sizeof *c);
	if (!c)
		return NULL;
	c->members = malloc(((size_t)n + !n) * sizeof *c->members);
	if (!c->members) {
		free(c);
		return NULL;
	}
	c->capacity = n;
	return c;
}

int pp_comm_rank_of(int world)
{
	return world_first + world;
}

/* World ranks of a group, in its order. */
static int translate(MPI_Group group, int n, int32_t *ret_world)
{
	int *own = calloc((size_t)n + !n, sizeof *own);
	int rc;

	if (!own)
		return -1;
	for (int i = 0; i < n; i++)
		own[i] = i;
	rc = real.translate(group, n, own, pp_comm_world_group, ret_world);
	free(own);
	for (int i = 0; i < n && rc == MPI_SUCCESS; i++)
		ret_world[i] = ret_world[i] < 0 ? -1 : pp_comm_rank_of(ret_world[i]);
	return rc == MPI_SUCCESS ? 0 : -1;
}

/* Both groups, the one with the lower first rank first, so that both sides have the same list. */
static int fill_members(struct pp_comm *c, MPI_Group local, MPI_Group remote)
{
	int32_t *first = c->members, *second = c->members + c->size;

	if (translate(local, c->size, first))
		return -1;
	c->world = first;
	c->member_count = c->size;
	c->flags = 0;
	if (!c->inter)
		return 0;
	if (translate(remote, c->peers, second))
		return -1;
	c->world = second;
	c->member_count = c->size + c->peers;
	c->flags = PP_MPI_SIDE_FIRST;
	if (c->size > 0 && c->peers > 0 && second[0] < first[0]) {
		int32_t *swap = malloc((size_t)c->size * sizeof *swap);

		if (!swap)
			return -1;
		memcpy(swap, first, (size_t)c->size * sizeof *swap);
		memmove(c->members, second, (size_t)c->peers * sizeof *swap);
		memcpy(c->members + c->peers, swap, (size_t)c->size * sizeof *swap);
		free(swap);
		c->flags = PP_MPI_SIDE_SECOND;
		c->world = c->members;
	}
	return 0;
}

static int has_stranger(const struct pp_comm *c)
{
	for (int32_t i = 0; i < c->member_count; i++)
		if (c->members[i] < 0)
			return 1;
	return 0;
}

/* Under the lock. */
static uint64_t make_id(const struct pp_comm *c, struct pp_comm_birth b)
{
	static uint32_t unknown;
	uint64_t key;

	/* a member of another world has a session of its own: only this side has to agree */
	if (b.by == PP_COMM_BY_RENDEZVOUS && b.from && has_stranger(c))
		b.by = PP_COMM_BY_SEQUENCE;
	if (b.by == PP_COMM_BY_SEQUENCE)
		b.number = b.sequence;
	if (b.by == PP_COMM_BY_RENDEZVOUS)
		b.from = 0;
	if (b.by == PP_COMM_BY_NOBODY) {
		b.from = (uint64_t)world_rank;
		b.number = unknown++;
	}
	key = pp_comm_id_seed(b.from, (int)b.by, (int)c->kind, b.number, c->inter) + (uint64_t)c->member_count;
	for (int32_t i = 0; i < c->member_count; i++)
		key = pp_comm_id_member(key, c->members[i]);
	if (b.by == PP_COMM_BY_TAG || b.by == PP_COMM_BY_RENDEZVOUS)
		key += number(key);
	return pp_comm_id_end(key);
}

static void publish(struct pp_comm *c, uint64_t key, const struct pp_comm_birth *birth, enum pp_comm_kind kind)
{
	c->kind = kind;
	c->is_unknown = birth->by == PP_COMM_BY_NOBODY;
	c->started = c->posted = -1;
	atomic_store_explicit(&c->sequence, 0, memory_order_relaxed);
	atomic_store_explicit(&c->posts, 0, memory_order_relaxed);
	atomic_store_explicit(&c->wild, 0, memory_order_relaxed);
	atomic_store_explicit(&c->wilds, 0, memory_order_relaxed);
	atomic_store_explicit(&c->wild_ended, 0, memory_order_relaxed);
	atomic_store_explicit(&c->wild_jumped, 0, memory_order_relaxed);
	atomic_store_explicit(&c->posting, 0, memory_order_relaxed);
	atomic_store_explicit(&c->announced, PP_COMM_ANNOUNCED_NOTHING, memory_order_relaxed);
	c->name[0] = 0;
	pthread_mutex_lock(&lock);
	c->id = make_id(c, *birth);
	link_node(c, key);
	pthread_mutex_unlock(&lock);
	if (birth->by != PP_COMM_BY_NAME)
		pp_comm_describe(c);
}

struct pp_comm *pp_comm_add(MPI_Comm handle, const struct pp_comm_birth *birth)
{
	MPI_Group local, remote;
	int saved = errno, inter = 0, rank = -1, size = 0, peers = 0;
	struct pp_comm *c = NULL;

	if (real.comm_test_inter(handle, &inter) || real.comm_rank(handle, &rank) || real.comm_group(handle, &local))
		goto out;
	if (real.group_size(local, &size) || (inter && real.comm_remote_group(handle, &remote)))
		goto free_local;
	peers = size;
	if (inter && real.group_size(remote, &peers))
		goto free_remote;
	c = take_node(size + (inter ? peers : 0));
	if (!c)
		goto free_remote;
	c->rank = rank;
	c->size = size;
	c->peers = peers;
	c->inter = inter;
	if (fill_members(c, local, inter ? remote : local)) {
		pp_comm_release(c);
		c = NULL;
	} else {
		publish(c, PP_KEY(handle), birth, PP_COMM_IS_PLAIN);
	}
free_remote:
	if (inter)
		real.group_free(&remote);
free_local:
	real.group_free(&local);
out:
	errno = saved;
	return c;
}

static int set_path(struct pp_comm *c, const char *path)
{
	size_t n = strlen(path) + 1;

	if (n > c->path_room) {
		char *more = realloc(c->path, n);

		if (!more)
			return -1;
		c->path = more;
		c->path_room = n;
	}
	memcpy(c->path, path, n);
	return 0;
}

static struct pp_comm *add_copy(uint64_t key, const struct pp_comm *like, enum pp_comm_kind kind, const char *path,
                                const struct pp_comm_birth *birth)
{
	int saved = errno;
	struct pp_comm *c = take_node(like->member_count);

	if (c && path && set_path(c, path)) {
		pp_comm_release(c);
		c = NULL;
	}
	if (c) {
		c->rank = like->rank;
		c->size = like->size;
		c->peers = like->peers;
		c->inter = like->inter;
		c->flags = like->flags;
		c->member_count = like->member_count;
		memcpy(c->members, like->members, (size_t)like->member_count * sizeof *c->members);
		c->world = c->members + (like->world - like->members);
		publish(c, key, birth, kind);
	}
	errno = saved;
	return c;
}

struct pp_comm *pp_comm_add_like(uint64_t key, const struct pp_comm *like, const struct pp_comm_birth *birth)
{
	return add_copy(key, like, PP_COMM_IS_PLAIN, NULL, birth);
}

struct pp_comm *pp_comm_add_kind(uint64_t key, const struct pp_comm *like, enum pp_comm_kind kind, const char *path,
                                 const struct pp_comm_birth *birth)
{
	return add_copy(key, like, kind, path, birth);
}

struct pp_comm *pp_comm_parent(void)
{
	return parent;
}

int pp_comm_world_rank(void)
{
	return world_rank;
}

int pp_comm_world_size(void)
{
	return world_size;
}

/* In a spawned world: adds the communicator to the parent world, and a record that tells the session. */
static void add_parent(void)
{
	__typeof__(&MPI_Comm_get_parent) get_parent = (__typeof__(get_parent))pp_mpi_real("PMPI_Comm_get_parent");
	MPI_Comm handle = pp_mpi_names.comm_null;

	if (!get_parent || get_parent(&handle) || handle == pp_mpi_names.comm_null)
		return;
	parent = pp_comm_add(handle, &(struct pp_comm_birth){.by = PP_COMM_BY_NAME, .number = PP_COMM_NAME_PARENT});
	if (parent)
		pp_comm_set_name(parent, "MPI_COMM_PARENT");
}

static int find_calls(void)
{
	real.comm_rank = (__typeof__(real.comm_rank))pp_mpi_real("PMPI_Comm_rank");
	real.comm_size = (__typeof__(real.comm_size))pp_mpi_real("PMPI_Comm_size");
	real.comm_group = (__typeof__(real.comm_group))pp_mpi_real("PMPI_Comm_group");
	real.comm_remote_group = (__typeof__(real.comm_remote_group))pp_mpi_real("PMPI_Comm_remote_group");
	real.comm_test_inter = (__typeof__(real.comm_test_inter))pp_mpi_real("PMPI_Comm_test_inter");
	real.group_size = (__typeof__(real.group_size))pp_mpi_real("PMPI_Group_size");
	real.translate = (__typeof__(real.translate))pp_mpi_real("PMPI_Group_translate_ranks");
	real.group_free = (__typeof__(real.group_free))pp_mpi_real("PMPI_Group_free");
	if (!real.comm_rank || !real.comm_size || !real.comm_group || !real.comm_remote_group || !real.comm_test_inter ||
	    !real.group_size || !real.translate || !real.group_free)
		return -1;
	return 0;
}

/* The group stays: another session may begin while the last one ends. */
int pp_comm_start_session(pp_session session)
{
	int (*of_set)(pp_session, const char *, MPI_Group *) = (__typeof__(of_set))pp_mpi_real("PMPI_Group_from_session_pset");
	__typeof__(&MPI_Group_rank) group_rank = (__typeof__(group_rank))pp_mpi_real("PMPI_Group_rank");
	MPI_Group all;

	if (find_calls() || !of_set || !group_rank || of_set(session, "mpi://WORLD", &all))
		return -1;
	if (group_rank(all, &world_rank) || real.group_size(all, &world_size) || world_rank < 0)
		return -1;
	pp_comm_world_group = all;
	return 0;
}

int pp_comm_start(void)
{
	if (find_calls())
		return -1;
	if (real.comm_rank(pp_mpi_names.world, &world_rank) || real.comm_size(pp_mpi_names.world, &world_size) ||
	    real.comm_group(pp_mpi_names.world, &pp_comm_world_group))
		return -1;
	return 0;
}

int pp_comm_place(int rank, int by_session)
{
	struct pp_comm *world, *self = NULL;

	world_first = world_size == 1 ? rank : 0;
	world_rank += world_first;
	if (by_session)
		return 0;
	world = pp_comm_add(pp_mpi_names.world, &(struct pp_comm_birth){.by = PP_COMM_BY_NAME, .number = PP_COMM_NAME_WORLD});
	if (world)
		self = pp_comm_add(pp_mpi_names.self, &(struct pp_comm_birth){.by = PP_COMM_BY_NAME, .number = PP_COMM_NAME_SELF});
	if (!self)
		return -1;
	pp_comm_set_name(world, "MPI_COMM_WORLD");
	pp_comm_set_name(self, "MPI_COMM_SELF");
	add_parent();
	return 0;
}
