/* All rings of a spool: open, drain, count. Called by the keeper's loop and by salvage. */
#include "aggregate/read/ring/rings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/read/ring/pair.h"
#include "aggregate/read/ring/rings_private.h"
#include "aggregate/read/ring/step.h"
#include "core/base/grow.h"
#include "core/base/proc.h"
#include "core/coord/claim.h"

/* Limits of the memory for names; names beyond are counted as cut. */
enum {
	NAMES_BYTES = 24 * 1024 * 1024,
	PAYLOADS_BYTES = 16 * 1024 * 1024,
	LEAST_TEXT_BYTES = 1024 * 1024,
	ROUNDS = 8,
	UP_MOST = 16
};

/* Not more than spans may take: a small buffer limits all memory. */
static size_t text_bytes(size_t most, size_t buffer)
{
	return buffer > most ? most : buffer > LEAST_TEXT_BYTES ? buffer : LEAST_TEXT_BYTES;
}

struct pp_rings *pp_rings_new(size_t buffer)
{
	struct pp_rings *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	pp_pair_share(&r->shared);
	r->shared.store.buffer = buffer;
	r->shared.names = pp_intern_new();
	r->shared.payloads = pp_intern_new();
	r->shared.text = malloc(PP_TEXT_ROOM);
	if (!r->shared.names || !r->shared.payloads || !r->shared.text) {
		pp_rings_free(r);
		return NULL;
	}
	pp_intern_limit(r->shared.names, text_bytes(NAMES_BYTES, buffer));
	pp_intern_limit(r->shared.payloads, text_bytes(PAYLOADS_BYTES, buffer));
	return r;
}

static void free_ring(struct pp_ring *ring)
{
	pp_pair_release(&ring->pair);
	if (ring->is_own)
		pp_drain_close(ring->drain);
	free(ring->path);
	free(ring);
}

void pp_rings_free(struct pp_rings *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->rings; i++)
		free_ring(r->ring[i]);
	free(r->ring);
	pp_store_release(&r->shared.store);
	pp_intern_free(r->shared.names);
	pp_intern_free(r->shared.payloads);
	free(r->shared.text);
	free(r);
}

void pp_rings_private(struct pp_rings *r)
{
	r->flags |= PP_DRAIN_PRIVATE;
}

/* Ticks of another boot, or of another time namespace, tell nothing about those of now. */
static int has_own_clock(const struct pp_ring_header *h)
{
	char boot[sizeof(h->boot_id)], timens[sizeof(h->timens_ns)];

	pp_proc_boot_id(boot, sizeof(boot));
	pp_proc_timens(timens, sizeof(timens));
	return boot[0] && !strncmp(boot, h->boot_id, sizeof(boot)) &&
	       (h->tick_kind != PP_TICK_RAW || !strncmp(timens, h->timens_ns, sizeof(timens)));
}

int pp_rings_add(struct pp_rings *r, const char *path, struct pp_drain *drain, struct pp_err *err)
{
	struct pp_ring *n = calloc(1, sizeof(*n));

	if (n)
		n->path = strdup(path);
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers */
	if (!n || !n->path || PP_RESIZE(r->ring, r->rings + 1)) {
		if (n)
			free(n->path);
		free(n);
		return pp_err_set(err, -ENOMEM, "cannot read ring '%s': no memory", path);
	}
	n->drain = drain;
	pp_pair_init(&n->pair, &r->shared, pp_drain_header(drain));
	n->pair.is_left = (r->flags & PP_DRAIN_PRIVATE) != 0;
	if (n->pair.is_left && has_own_clock(pp_drain_header(drain)))
		pp_pair_know_clock(&n->pair);
	r->ring[r->rings++] = n;
	return 0;
}

void pp_rings_take_out(struct pp_rings *r, size_t index)
{
	struct pp_block *block;

	for (struct pp_track *track = r->ring[index]->pair.tracks; track; track = track->next)
		while ((block = pp_store_pop(&r->shared.store, &track->blocks)))
			pp_block_free(block);
	free_ring(r->ring[index]);
	r->rings--;
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers */
	memmove(r->ring + index, r->ring + index + 1, (r->rings - index) * sizeof(*r->ring));
}

const char *pp_rings_path(const struct pp_rings *r, size_t index)
{
	return r->ring[index]->path;
}

int64_t pp_rings_last_tick(const struct pp_rings *r, size_t index)
{
	int64_t last = INT64_MIN;

	for (const struct pp_track *track = r->ring[index]->pair.tracks; track; track = track->next)
		last = track->last > last ? track->last : last;
	return last;
}

size_t pp_rings_count(const struct pp_rings *r)
{
	return r->rings;
}

const struct pp_ring_header *pp_rings_header(const struct pp_rings *r, size_t index)
{
	return pp_drain_header(r->ring[index]->drain);
}

uint64_t pp_rings_drain(struct pp_rings *r, size_t index, int *ret_fill)
{
	struct pp_ring *ring = r->ring[index];
	struct pp_drain_sink sink = {.context = &ring->pair, .records = pp_pair_records, .ended = pp_pair_ended};
	uint64_t records = pp_drain_run(ring->drain, &sink);

	if (ret_fill)
		*ret_fill = pp_drain_fill(ring->drain);
	return records;
}

void pp_rings_drop_pages(struct pp_rings *r, size_t index)
{
	pp_drain_drop_pages(r->ring[index]->drain);
}

void pp_rings_drain_all(struct pp_rings *r)
{
	uint64_t records = 1;

	for (int round = 0; round < ROUNDS && records; round++) {
		records = 0;
		for (size_t i = 0; i < pp_rings_count(r); i++)
			records += pp_rings_drain(r, i, NULL);
	}
}

static uint32_t claim_of(const struct pp_ring *ring)
{
	return pp_ring_claim_by(pp_drain_header(ring->drain));
}

static int may_displace(const struct pp_ring *ring)
{
	return claim_of(ring) == PP_CLAIM_MEMBER || pp_ring_claim_beside(pp_drain_header(ring->drain));
}

/* The other ring's process is that rank, although this one's claimed it first. */
static int is_displaced(const struct pp_ring *ring, const struct pp_ring *by)
{
	int32_t rank, size, other, others;

	pp_drain_rank(ring->drain, &rank, &size);
	pp_drain_rank(by->drain, &other, &others);
	if (pp_ring_claim_beside(pp_drain_header(by->drain)) && other == rank)
		return claim_of(by) > claim_of(ring);
	return claim_of(by) == PP_CLAIM_MEMBER && claim_of(ring) < PP_CLAIM_MEMBER && size == 1 && others > 1;
}

void pp_rings_exclude(struct pp_rings *r)
{
	int any = 0;

	for (size_t i = 0; i < r->rings; i++)
		any |= may_displace(r->ring[i]);
	for (size_t i = 0; i < r->rings; i++) {
		int is_excluded = 0;

		for (size_t k = 0; any && k < r->rings && claim_of(r->ring[i]) < PP_CLAIM_MEMBER && !is_excluded; k++)
			is_excluded = is_displaced(r->ring[i], r->ring[k]);
		pp_drain_set_flags(r->ring[i]->drain, PP_RING_NO_RANK, is_excluded ? PP_RING_NO_RANK : 0);
	}
}

int pp_rings_is_excluded(const struct pp_rings *r, size_t index)
{
	return (pp_ring_flags(pp_rings_header(r, index)) & PP_RING_NO_RANK) != 0;
}

static int has_rank(const struct pp_rings *r, int pid)
{
	for (size_t i = 0; i < r->rings; i++)
		if (pp_rings_header(r, i)->pid == pid && !pp_rings_is_excluded(r, i))
			return 1;
	return 0;
}

void pp_rings_let_go(struct pp_rings *r, size_t index)
{
	const struct pp_ring_header *h = pp_rings_header(r, index);
	uint32_t flags = PP_RING_PARENT_CHECKED;
	int pid = h->pid;

	if (pp_ring_state(h) != PP_RANK_ENDING || pp_ring_flags(h) & PP_RING_PARENT_CHECKED || h->pid_space != pp_proc_pid_space())
		return;
	for (int up = 0; up < UP_MOST && (pid = pp_proc_parent(pid)) > 1; up++)
		flags |= has_rank(r, pid) ? PP_RING_PARENT_IS_RANK : 0;
	pp_drain_set_flags(r->ring[index]->drain, flags, flags);
}

uint64_t pp_rings_records(const struct pp_rings *r)
{
	uint64_t records = 0;

	for (size_t i = 0; i < r->rings; i++)
		records += r->ring[i]->pair.records;
	return records;
}

int64_t pp_rings_horizon(const struct pp_rings *r, size_t index)
{
	return r->ring[index]->pair.horizon;
}

uint64_t pp_rings_steps(const struct pp_rings *r, size_t index)
{
	return pp_steps_ended(&r->ring[index]->pair);
}

const struct pp_step_ended *pp_rings_step(const struct pp_rings *r, size_t index, uint64_t n)
{
	return pp_step_ended(&r->ring[index]->pair, n);
}

void pp_rings_begin_within(struct pp_rings *r)
{
	for (size_t i = 0; i < r->rings; i++)
		for (struct pp_track *track = r->ring[i]->pair.tracks; track; track = track->next)
			track->torn = 1;
}

uint64_t pp_rings_bytes(const struct pp_rings *r)
{
	return r->shared.store.bytes + pp_intern_bytes(r->shared.names) + pp_intern_bytes(r->shared.payloads);
}

int64_t pp_rings_first_tick(const struct pp_rings *r)
{
	int64_t first = 0;

	for (size_t i = 0; i < r->rings; i++) {
		const struct pp_ring_header *h = pp_rings_header(r, i);

		if (h->tick_kind != pp_rings_header(r, 0)->tick_kind)
			continue;
		if (!first || (int64_t)h->open_tick < first)
			first = (int64_t)h->open_tick;
		for (const struct pp_track *l = r->ring[i]->pair.tracks; l; l = l->next)
			if (l->first >= (int64_t)r->ring[i]->pair.earliest && l->first < first)
				first = l->first;
	}
	return first;
}
