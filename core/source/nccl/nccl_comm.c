/* Communicators and masks of NCCL; see nccl_comm.h. Called by nccl_plugin.c and nccl_event.c. */
#include "core/source/nccl/nccl_comm.h"

#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

#include "core/base/comm_id.h"
#include "core/base/env.h"
#include "core/base/lazy.h"
#include "core/coord/self.h"
#include "core/source/emit.h"

struct mask { /* one per loaded libnccl */
	_Atomic(int *) at;
	_Atomic uint32_t users; /* communicators */
	_Atomic int theirs;     /* what it held before we asked for more: of a chained plug-in */
	_Atomic int stored;     /* what we stored last; 0: nothing of ours is in it */
	_Atomic int always;     /* of what we ask for: in windows and outside */
};

/* NCCL times channels by its proxies, whose list of operations takes 33 MB of /dev/shm per rank. Where it gets no such memory it
 * goes on without, and crashes at the first operation (NVIDIA/nccl, pull request 2326: two ranks, 64 MB). */
enum { SHM_RANK_BYTES = 64 << 20, SHM_RANKS = 8 };

static void *_Atomic all_comms; /* [PP_NCCL_COMMS]; see lazy.h */
static struct mask masks[PP_NCCL_MASKS];
static _Atomic uint32_t next_comm;
static _Atomic int has_channels;
static _Atomic uint32_t storing; /* threads that may store through a mask's address now */

/* CUPTI times NCCL's kernels at no cost for NCCL; without it only NCCL's own stamps do, which slow down each collective. */
static int wants_channels(void)
{
	const char *value = pp_env("PODPROF_NCCL_TIMES");

	return value && !strcmp(value, "yes");
}

int pp_nccl_shm_fits(uint64_t bytes, int ranks, int nodes)
{
	uint64_t local = ranks <= 0  ? SHM_RANKS
	                 : nodes > 1 ? ((uint64_t)ranks + (uint64_t)nodes - 1) / (uint64_t)nodes
	                             : (uint64_t)ranks;

	return bytes / SHM_RANK_BYTES >= local;
}

void pp_nccl_channels_check(int ranks, int nodes, int rank)
{
	struct statvfs fs;
	uint64_t room;
	char text[300];

	if (!pp_nccl_has_channels() || statvfs("/dev/shm", &fs))
		return;
	room = (uint64_t)fs.f_bavail * fs.f_bsize;
	if (pp_nccl_shm_fits(room, ranks, nodes) || !atomic_exchange(&has_channels, 0))
		return;
	pp_nccl_masks_set(atomic_load(&pp_wiped.recording) != 0);
	snprintf(text, sizeof(text),
	         "rank %d of an NCCL communicator: --nccl-times yes is left out: /dev/shm has %llu MB free, and NCCL may crash "
	         "with less than 64 MB there for each rank of the host. Enlarge it, in containers for example by --shm-size=2g",
	         rank, (unsigned long long)(room >> 20));
	pp_self_print(text);
}

static int wanted_types(void)
{
	return PP_NCCL_COLL | PP_NCCL_P2P | PP_NCCL_KERNEL_LAUNCH | PP_NCCL_CE_COLL |
	       (pp_nccl_has_channels() ? PP_NCCL_KERNEL_CHANNEL : 0);
}

/* For the lines of communicators: calls, which NCCL reports from version 5 on, or their work. */
static int line_types(uint32_t version)
{
	if (!atomic_load_explicit(&pp_wiped.owned, memory_order_relaxed))
		return 0;
	return version < 5 ? PP_NCCL_COLL | PP_NCCL_P2P : PP_NCCL_COLL_API | PP_NCCL_P2P_API;
}

void pp_nccl_masks_start(void)
{
	atomic_store(&has_channels, wants_channels());
	atomic_store(&storing, 0); /* threads that stored when this process was forked are not in it */
}

int pp_nccl_has_channels(void)
{
	return atomic_load_explicit(&has_channels, memory_order_relaxed);
}

/* Adds `wanted`. A chained plug-in may have stored another value meanwhile: that one is its own request. */
static void set_mask(struct mask *m, int wanted)
{
	int *at, stored, now;

	atomic_fetch_add(&storing, 1);
	at = atomic_load(&m->at);
	if (at) {
		now = __atomic_load_n(at, __ATOMIC_RELAXED);
		stored = atomic_load(&m->stored);
		if (!stored || now != stored)
			atomic_store(&m->theirs, now);
		now = atomic_load(&m->theirs);
		atomic_store(&m->stored, wanted ? now | wanted : 0);
		__atomic_store_n(at, now | wanted, __ATOMIC_RELAXED);
	}
	atomic_fetch_sub(&storing, 1);
}

static int wanted_of(const struct mask *m, int on)
{
	return atomic_load(&m->always) | (on ? wanted_types() : 0);
}

void pp_nccl_masks_set(int on)
{
	for (int i = 0; i < PP_NCCL_MASKS; i++)
		if (atomic_load(&masks[i].at))
			set_mask(&masks[i], wanted_of(&masks[i], on));
}

/* A window may open or close meanwhile on another thread. */
static void set_as_recording(struct mask *m)
{
	for (uint32_t on = ~atomic_load(&pp_wiped.recording), now; (now = atomic_load(&pp_wiped.recording)) != on; on = now)
		set_mask(m, wanted_of(m, now != 0));
}

/* NOLINTNEXTLINE(readability-non-const-parameter): it is kept, and stored through */
static uint32_t add_mask(int *at, uint32_t version)
{
	for (uint32_t i = 0; i < PP_NCCL_MASKS; i++) {
		int *had = NULL;

		if (atomic_compare_exchange_strong(&masks[i].at, &had, at) || had == at) {
			atomic_fetch_add(&masks[i].users, 1);
			atomic_store(&masks[i].always, line_types(version));
			set_as_recording(&masks[i]);
			return i + 1;
		}
	}
	return 0;
}

/* NCCL's library may be unloaded once its last communicator is gone: then nothing may be stored there. */
static void drop_mask(struct mask *m)
{
	int *at;

	if (atomic_fetch_sub(&m->users, 1) != 1)
		return;
	set_mask(m, 0);
	at = atomic_exchange(&m->at, NULL);
	while (atomic_load(&storing)) /* a few instructions on another thread */
		;
	if (!atomic_load(&m->users)) /* else a communicator came meanwhile, which found the mask in the list */
		return;
	atomic_store(&m->at, at);
	set_as_recording(m);
}

int pp_nccl_mask_theirs(const struct pp_nccl_comm *c)
{
	return c->mask ? atomic_load_explicit(&masks[c->mask - 1].theirs, memory_order_relaxed) : 0;
}

struct pp_nccl_comm *pp_nccl_comm_new(uint32_t version, int *mask)
{
	struct pp_nccl_comm *comms = pp_lazy(&all_comms, PP_NCCL_COMMS * sizeof(*comms));

	for (uint32_t i = 0; comms && i < PP_NCCL_COMMS; i++) {
		/* Not the one that was freed last: an event of it may still come. */
		struct pp_nccl_comm *c = &comms[atomic_fetch_add(&next_comm, 1) % PP_NCCL_COMMS];
		uint32_t is_free = 0;

		if (!atomic_compare_exchange_strong(&c->state, &is_free, 1))
			continue;
		atomic_store(&c->reported, 0);
		c->id = 0;
		c->rank = -1;
		c->ranks = 0;
		c->version = version;
		c->launch = c->launched = 0;
		c->plugin = NULL;
		c->next = NULL;
		c->length = 0;
		c->row = NULL;
		c->mask = mask ? add_mask(mask, version) : 0;
		return c;
	}
	return NULL;
}

static struct pp_ring_comm *take_row(const struct pp_nccl_comm *c, size_t name_length)
{
	struct pp_ring_comm row = {
	        .id = c->id, .size = c->ranks, .flags = PP_RING_COMM_NCCL, .nccl = {.rank = c->rank, .root = -1}};

	memcpy(row.name, c->name, name_length < sizeof(row.name) ? name_length : sizeof(row.name) - 1);
	return pp_ring_comm_take(&row);
}

void pp_nccl_comm_describe(struct pp_nccl_comm *c, uint64_t hash, const char *name, int ranks, int rank)
{
	size_t length = name ? strnlen(name, sizeof(c->name)) : 0;

	c->rank = rank;
	c->ranks = ranks;
	if (length) {
		memcpy(c->name, name, length);
		c->length = (uint32_t)length;
	} else {
		int n = snprintf(c->name, sizeof(c->name), "NCCL %016llx", (unsigned long long)hash);

		c->length = n > 0 ? (uint32_t)n : 0;
	}
	c->id = pp_comm_id_nccl(hash);
	if (!c->row)
		c->row = take_row(c, length); /* without a name of ours */
}

void pp_nccl_comm_free(struct pp_nccl_comm *c)
{
	if (c->mask)
		drop_mask(&masks[c->mask - 1]);
	c->mask = 0;
	if (c->row)
		pp_ring_comm_leave(c->row);
	c->row = NULL;
	atomic_store(&c->state, 0);
}

uint32_t pp_nccl_comm_number(const struct pp_nccl_comm *c)
{
	return (uint32_t)(c - (struct pp_nccl_comm *)pp_lazy_had(&all_comms));
}

struct pp_nccl_comm *pp_nccl_comm_at(uint32_t number)
{
	return (struct pp_nccl_comm *)pp_lazy_had(&all_comms) + number % PP_NCCL_COMMS;
}

static void put(const struct pp_nccl_comm *c, enum pp_comm_text what, const void *text, uint32_t length)
{
	struct pp_record r = {.tick = pp_tick_now(), .kind = PP_RECORD_COMM, .length = length};
	uint32_t n = length < PP_TEXT_INLINE ? length : PP_TEXT_INLINE;

	r.comm.comm = c->id;
	r.comm.size = c->ranks > 0 ? (uint32_t)c->ranks : c->rank >= 0 ? (uint32_t)c->rank + 1 : 0;
	r.comm.is_name = what;
	memcpy(r.comm.text, text, n);
	pp_ring_put(&r, (const char *)text + n, length - n);
}

void pp_nccl_comm_report(struct pp_nccl_comm *c)
{
	uint32_t on = atomic_load_explicit(&pp_wiped.recording, memory_order_relaxed);

	if (atomic_load_explicit(&c->reported, memory_order_relaxed) == on || !on || atomic_exchange(&c->reported, on) == on)
		return;
	c->launch = c->launched = 0; /* of a window before */
	put(c, PP_COMM_RANK, &c->rank, sizeof(c->rank));
	put(c, PP_COMM_NAME, c->name, c->length);
}

void pp_nccl_comm_refused(void)
{
	static const char text[] = "NCCL: more than 1024 communicators are in use: operations of the others are not recorded";
	static _Atomic uint32_t reported_on;
	struct pp_record r = {.tick = pp_tick_now(), .kind = PP_RECORD_REMARK, .length = sizeof(text) - 1};
	uint32_t on = atomic_load(&pp_wiped.recording);

	_Static_assert(PP_NCCL_COMMS == 1024, "as the sentence says");
	if (!on || atomic_exchange(&reported_on, on) == on)
		return;
	memcpy(r.range.text, text, PP_TEXT_INLINE);
	pp_ring_put(&r, text + PP_TEXT_INLINE, r.length - PP_TEXT_INLINE);
}
