/* Writes ring files by hand through the layout of core/ring/ring_file.h: no guest needed. Used by tests of keeper and rings. */
#pragma once

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/ring/ring_file.h"

struct maker {
	char path[256];
	size_t bytes;
	struct pp_ring_header *header;
	uint32_t chunk[PP_RING_THREADS]; /* being written */
};

static inline struct pp_chunk *maker_chunk(struct maker *m, uint32_t number)
{
	return (struct pp_chunk *)((char *)m->header + PP_RING_HEADER_BYTES + (size_t)(number - 1) * PP_CHUNK_BYTES);
}

static inline void maker_open(struct maker *m, const char *path, int rank, int size, int pid, uint32_t chunks)
{
	int fd;

	memset(m, 0, sizeof(*m));
	snprintf(m->path, sizeof(m->path), "%s", path);
	m->bytes = PP_RING_HEADER_BYTES + (size_t)chunks * PP_CHUNK_BYTES;
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || ftruncate(fd, (off_t)m->bytes))
		abort();
	m->header = mmap(NULL, m->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (m->header == MAP_FAILED)
		abort();
	memcpy(m->header->magic, PP_RING_MAGIC, 8);
	m->header->version = PP_RING_VERSION;
	m->header->byte_order = PP_RING_BYTE_ORDER;
	m->header->record_bytes = PP_RECORD_BYTES;
	m->header->tick_kind = PP_TICK_RAW;
	m->header->rank = rank;
	m->header->size = size;
	m->header->local_rank = rank;
	m->header->local_size = size;
	m->header->pid = pid;
	m->header->open_tick = 1000;
	snprintf(m->header->host, sizeof(m->header->host), "%s", "host");
	snprintf(m->header->podprof_version, sizeof(m->header->podprof_version), "%s", "0.1.0");
	m->header->chunk_limit = chunks;
	m->header->state = PP_RANK_OPEN;
}

static inline void maker_close(struct maker *m)
{
	munmap(m->header, m->bytes);
}

static inline void maker_thread(struct maker *m, uint32_t slot, uint32_t tid)
{
	struct pp_thread_slot *s = &m->header->thread[slot];

	s->tid = tid;
	s->is_main = slot == 0;
	snprintf(s->name, sizeof(s->name), "thread%u", tid);
	atomic_store(&s->state, PP_THREAD_LIVE);
	if (slot >= m->header->thread_used)
		m->header->thread_used = slot + 1;
	m->chunk[slot] = 0;
}

/* A chunk that was given back, else a new one; 0: the ring is full. */
static inline uint32_t maker_take(struct maker *m)
{
	for (uint32_t i = 1; i <= m->header->chunk_used; i++)
		if (atomic_load(&maker_chunk(m, i)->drained) == 1) {
			struct pp_chunk *c = maker_chunk(m, i);

			c->committed = c->next = c->drained = 0;
			return i;
		}
	return m->header->chunk_used < m->header->chunk_limit ? ++m->header->chunk_used : 0;
}

static inline int maker_put(struct maker *m, uint32_t slot, const struct pp_record *record, const void *text, uint32_t length)
{
	uint32_t inl = length < PP_TEXT_INLINE ? length : PP_TEXT_INLINE, rest = length - inl;
	uint32_t more = (rest + PP_RECORD_CONT_TEXT - 1) / PP_RECORD_CONT_TEXT;
	struct pp_chunk *c = m->chunk[slot] ? maker_chunk(m, m->chunk[slot]) : NULL;
	struct pp_record *r;

	if (!c || c->committed + 1 + more > PP_CHUNK_RECORDS) {
		uint32_t n = maker_take(m);

		if (!n) {
			m->header->thread[slot].lost[PP_LOSS_RING_FULL]++;
			return -1;
		}
		maker_chunk(m, n)->thread = slot;
		if (c)
			atomic_store(&c->next, n);
		else
			atomic_store(&m->header->thread[slot].first, n);
		m->chunk[slot] = n;
		c = maker_chunk(m, n);
	}
	r = &c->record[c->committed];
	*r = *record;
	r->more = (uint16_t)more;
	r->length = length;
	if (length)
		memcpy(r->range.text, text, inl);
	for (uint32_t i = 0; i < more; i++) {
		uint32_t n =
		        rest - i * PP_RECORD_CONT_TEXT < PP_RECORD_CONT_TEXT ? rest - i * PP_RECORD_CONT_TEXT : PP_RECORD_CONT_TEXT;

		memset(&r[1 + i], 0, sizeof(*r));
		r[1 + i].kind = PP_RECORD_TEXT;
		memcpy(r[1 + i].text, (const char *)text + inl + i * PP_RECORD_CONT_TEXT, n);
	}
	atomic_fetch_add(&c->committed, 1 + more);
	return 0;
}

static inline void maker_range(struct maker *m, uint32_t slot, int kind, pp_tick tick, uint16_t domain, uint64_t id,
                               const char *name)
{
	struct pp_record r = {.tick = tick, .kind = (uint16_t)kind, .range = {.id = id, .domain = domain}};

	maker_put(m, slot, &r, name, name ? (uint32_t)strlen(name) : 0);
}

static inline void maker_push(struct maker *m, uint32_t slot, pp_tick tick, const char *name)
{
	maker_range(m, slot, PP_RECORD_PUSH, tick, 0, 0, name);
}

static inline void maker_pop(struct maker *m, uint32_t slot, pp_tick tick)
{
	maker_range(m, slot, PP_RECORD_POP, tick, 0, 0, NULL);
}

static inline void maker_step(struct maker *m, uint32_t slot, int kind, pp_tick tick, int64_t number)
{
	struct pp_record r = {.tick = tick, .kind = (uint16_t)kind, .step = {.number = number}};

	maker_put(m, slot, &r, NULL, 0);
}

static inline void maker_mpi(struct maker *m, uint32_t slot, pp_tick begin, pp_tick end, uint16_t call, uint32_t request,
                             int32_t peer)
{
	struct pp_record r = {
	        .tick = begin,
	        .kind = PP_RECORD_MPI,
	        .mpi = {.end = end, .comm = 77, .sent = 100, .received = 0, .peer = peer, .request = request, .call = call}};

	maker_put(m, slot, &r, NULL, 0);
}
