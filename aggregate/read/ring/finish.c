/* Makes one pp_capture of everything that rings.c collected; see finish.h. Called by the keeper and by salvage. */
#include "aggregate/read/ring/finish.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aggregate/read/ring/pair.h"
#include "aggregate/read/ring/reader.h"
#include "aggregate/read/ring/ring_clock.h"
#include "aggregate/read/ring/ring_losses.h"
#include "aggregate/read/ring/rings_private.h"
#include "aggregate/spool/place.h"
#include "core/base/utf8.h"
#include "core/capture/capture.h"
#include "core/capture/order.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"

static void copy_text(char *to, size_t size, const char *from, size_t from_size)
{
	size_t n = strnlen(from, from_size);

	if (n >= size)
		n = size - 1;
	memcpy(to, from, n);
	to[n] = '\0';
}

/* Moves the block's pages to `to`, where address space is reserved; copies them only where they cannot be moved. */
static int place_block(const struct pp_block *b, char *to, int movable)
{
	if (movable && mremap(b->span, b->bytes, b->bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to) != MAP_FAILED)
		return 0;
	if (movable && mprotect(to, b->bytes, PROT_READ | PROT_WRITE))
		return -ENOMEM;
	memcpy(to, b->span, b->used * sizeof(b->span[0]));
	munmap(b->span, b->bytes);
	return 0;
}

static int order(struct pp_thread *t)
{
	if (pp_order_spans(t->span, t->spans))
		return -ENOMEM;
	pp_thread_list_others(t);
	return 0;
}

/* Makes one array of the blocks without holding them twice. */
static int take_spans(struct pp_store *store, struct pp_track *track, struct pp_thread *t)
{
	struct pp_block *b;
	const int movable = sysconf(_SC_PAGESIZE) <= 4096;
	size_t at = 0;
	char *all;

	t->kinds = track->kinds;
	if (!track->blocks.spans)
		return 0;
	b = track->blocks.first;
	if (!b->next) { /* it stays where it is: each mapping counts towards the limit of mappings */
		pp_store_pop(store, &track->blocks);
		t->mapped = b->bytes;
		t->span = b->span;
		t->spans = b->used;
		free(b);
		return order(t);
	}
	for (; b; b = b->next)
		t->mapped += b->bytes;
	/* Blocks are too small for larger pages: then all are copied. */
	all = mmap(NULL, t->mapped, movable ? PROT_NONE : PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
	           0);
	if (all == MAP_FAILED) {
		t->mapped = 0;
		return -ENOMEM;
	}
	t->span = (struct pp_span *)all;
	while ((b = pp_store_pop(store, &track->blocks))) {
		int rc = place_block(b, all + at, movable);

		if (rc) {
			pp_block_free(b);
			return rc;
		}
		at += b->bytes;
		t->spans += b->used;
		free(b);
	}
	return order(t);
}

/* Threads that have ended and lost all spans by eviction are left out, and those that only write of others. */
static int is_shown(const struct pp_track *l)
{
	return l->blocks.spans || !(l->over || l->device || l->writes_of_others);
}

/* 0: none. A device's record before the process began is damaged, as its stream has it: the epoch must not go there. */
static int64_t first_of(const struct pp_pair *p, const struct pp_track *l)
{
	int64_t open = (int64_t)p->header->open_tick;

	if (l->first > l->last)
		return 0;
	if (l->first >= (int64_t)p->earliest)
		return l->first;
	return open < l->last ? open : l->last;
}

static int take_tracks(struct pp_read_shared *shared, struct pp_pair *p, struct pp_rank *rank)
{
	size_t tracks = 0, at;
	struct pp_thread *thread;

	for (struct pp_track *l = p->tracks; l; l = l->next)
		tracks += is_shown(l);
	if (!tracks)
		return 0;
	thread = realloc(rank->thread, (rank->threads + tracks) * sizeof(*thread));
	if (!thread)
		return -ENOMEM;
	rank->thread = thread;
	memset(thread + rank->threads, 0, tracks * sizeof(*thread));
	at = rank->threads + tracks;
	rank->threads = at;
	/* The list is newest first. */
	for (struct pp_track *l = p->tracks; l; l = l->next) {
		struct pp_thread *t;
		int rc;

		if (!is_shown(l))
			continue;
		t = &thread[--at];
		rc = take_spans(&shared->store, l, t);
		if (rc)
			return rc;
		t->tid = l->tid;
		t->device = l->device;
		t->context = l->context;
		t->is_main = l->is_main;
		t->name = pp_intern_put(shared->names, l->name, strnlen(l->name, sizeof(l->name)));
		t->first = first_of(p, l);
		t->last = l->first <= l->last ? l->last : 0;
	}
	return 0;
}

/* Evicted spans had been read, and are not delivered. */
static void take_losses(const struct pp_ring *ring, struct pp_rank *rank)
{
	uint64_t lost[PP_LOSSES], records = ring->pair.records - ring->records_before, evicted = 0;

	pp_ring_losses(ring, lost);
	for (int c = 0; c < PP_LOSSES; c++) {
		uint64_t now = lost[c] > ring->lost_before[c] ? lost[c] - ring->lost_before[c] : 0;

		rank->lost[c] += now;
		evicted += c == PP_LOSS_EVICTED ? now : 0;
	}
	rank->records += evicted < records ? records - evicted : 0;
}

/* Whole characters only, whatever the file holds. */
static void take_rule(const struct pp_ring_header *h, struct pp_rank *rank)
{
	char raw[sizeof(h->step_rule)], good[3 * sizeof(raw)] = "";

	copy_text(raw, sizeof(raw), h->step_rule, sizeof(h->step_rule));
	pp_utf8_repair(good, raw, strlen(raw));
	snprintf(rank->step_rule, sizeof(rank->step_rule), "%.*s", pp_utf8_fit(good, sizeof(rank->step_rule) - 1), good);
}

static void take_header(const struct pp_ring_header *h, struct pp_rank *rank, int first)
{
	uint32_t used = pp_ring_chunk_used(h), limit = pp_ring_chunk_limit(h);
	int64_t open_tick = h->open_tick < PP_TICK_MOST ? (int64_t)h->open_tick : 0;

	rank->ring_bytes += PP_RING_HEADER_BYTES + (uint64_t)(used < limit ? used : limit) * PP_CHUNK_BYTES;
	rank->step_marks |= pp_ring_step_marks(h) != 0;
	if (pp_ring_steps_by_shim(h) && !rank->step_rule[0])
		take_rule(h, rank);
	if (first || open_tick < rank->open_tick)
		rank->open_tick = open_tick;
	if (!first && open_tick != rank->open_tick && rank->exit_known)
		return;
	rank->local_rank = h->local_rank;
	rank->level = pp_ring_level(h);
	rank->pid = h->pid;
	copy_text(rank->host, sizeof(rank->host), h->host, sizeof(h->host));
	copy_text(rank->options, sizeof(rank->options), h->options, sizeof(h->options));
	copy_text(rank->version, sizeof(rank->version), h->podprof_version, sizeof(h->podprof_version));
	copy_text(rank->command, sizeof(rank->command), h->command, sizeof(h->command));
	pp_place_text(h, rank->last_place, sizeof(rank->last_place));
	rank->exit_known = pp_ring_state(h) == PP_RANK_ENDING;
	rank->exit_status = rank->exit_known ? pp_ring_exit_status(h) : 0;
}

/* From struct pp_where of the threads, which are written outside windows too. */
static void take_last_step(const struct pp_ring_header *h, struct pp_rank *rank)
{
	uint32_t threads = pp_ring_thread_used(h);

	for (uint32_t i = 0; i < threads && i < PP_RING_THREADS; i++)
		if (h->thread[i].where.step > rank->last_step)
			rank->last_step = h->thread[i].where.step;
}

static struct pp_rank *rank_of(struct pp_capture *c, int32_t number, int *ret_first)
{
	size_t at = 0;

	while (at < c->ranks && c->rank[at].rank < number)
		at++;
	*ret_first = at == c->ranks || c->rank[at].rank != number;
	if (*ret_first) {
		memmove(c->rank + at + 1, c->rank + at, (c->ranks - at) * sizeof(*c->rank));
		memset(c->rank + at, 0, sizeof(*c->rank));
		c->rank[at].rank = number;
		c->rank[at].horizon = INT64_MIN;
		c->rank[at].recorded_to = INT64_MIN;
		c->rank[at].last_step = INT64_MIN;
		c->ranks++;
	}
	return &c->rank[at];
}

static int take_ring(struct pp_rings *r, struct pp_ring *ring, struct pp_capture *c)
{
	int first, rc;
	int32_t number, size;
	struct pp_rank *rank;
	size_t threads;

	pp_drain_rank(ring->drain, &number, &size);
	rank = rank_of(c, number, &first);
	pp_pair_close(&ring->pair);
	take_header(pp_drain_header(ring->drain), rank, first);
	rank->size = first || size > rank->size ? size : rank->size;
	take_last_step(pp_drain_header(ring->drain), rank);
	take_losses(ring, rank);
	if (ring->pair.horizon > rank->horizon)
		rank->horizon = ring->pair.horizon;
	rank->recorded_from = rank->open_tick;
	if (ring->pair.last > rank->recorded_to)
		rank->recorded_to = ring->pair.last;
	if (rank->size > c->ranks_asked)
		c->ranks_asked = rank->size;
	snprintf(rank->status, sizeof(rank->status), "delivered");
	threads = rank->threads;
	rc = take_tracks(&r->shared, &ring->pair, rank);
	for (int i = 0; i < PP_READERS && !rc; i++)
		if (pp_reader_list[i]->finish)
			rc = pp_reader_list[i]->finish(&ring->pair, rank, threads);
	return rc;
}

/* pp_rank.domain of every rank; 0 or -ENOMEM. */
static int set_domains(const struct pp_rings *r, struct pp_capture *c)
{
	int32_t domains = 0, *domain = calloc(r->rings + 1, sizeof(*domain));

	if (!domain)
		return -ENOMEM;
	for (size_t i = 0; i < r->rings; i++) {
		size_t like = 0;

		while (like < i && !pp_rings_same_clock(pp_rings_header(r, like), pp_rings_header(r, i)))
			like++;
		domain[i] = like < i ? domain[like] : domains++;
		for (size_t k = 0; k < c->ranks && !pp_rings_is_excluded(r, i); k++)
			if (c->rank[k].rank == pp_rings_header(r, i)->rank) {
				c->rank[k].domain = domain[i];
				pp_rings_name_clock(pp_rings_header(r, i)->boot_id, pp_rings_header(r, i)->timens_ns,
				                    pp_rings_header(r, i)->tick_kind, c->rank[k].clock, sizeof(c->rank[k].clock));
				c->rank[k].counts_other = pp_rings_header(r, i)->tick_kind != pp_rings_header(r, 0)->tick_kind;
			}
	}
	free(domain);
	return 0;
}

int pp_rings_finish(struct pp_rings *r, struct pp_capture *ret_capture, struct pp_err *err)
{
	struct pp_capture c = {0};
	int rc = 0;

	c.rank = calloc(r->rings + 1, sizeof(*c.rank));
	if (!c.rank)
		return pp_err_set(err, -ENOMEM, "no memory for %zu ranks", r->rings);
	pp_rings_exclude(r);
	for (size_t i = 0; i < r->rings && !rc; i++)
		if (!pp_rings_is_excluded(r, i))
			rc = take_ring(r, r->ring[i], &c);
	if (!rc)
		rc = set_domains(r, &c);
	c.names = r->shared.names;
	for (int i = 0; i < PP_READERS && !rc; i++)
		if (pp_reader_list[i]->finish_capture)
			rc = pp_reader_list[i]->finish_capture(&c);
	if (rc) {
		c.names = NULL; /* still the rings' */
		pp_capture_release(&c);
		return pp_err_set(err, rc, "cannot read the spans of the window: no memory. Give a smaller --window-buffer");
	}
	/* Later calls and pp_rings_free() find these. */
	r->shared.names = NULL;
	c.payloads = r->shared.payloads;
	r->shared.payloads = NULL;
	*ret_capture = c;
	return 0;
}
