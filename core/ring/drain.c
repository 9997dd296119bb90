/* Walks the chunks of every thread of a ring file. Called by aggregate/read/rings.c, in the keeper and in salvage. */
#include "core/ring/drain.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	CHUNKS_MOST = 65536,  /* 4 GiB: more than any rank's limit */
	RANKS_MOST = 1 << 20, /* a table with a row for each is made */
};

struct place {          /* how far one thread was read */
	uint32_t chunk; /* 0: not begun */
	uint32_t at;    /* records read of it */
	int broken;     /* its list makes no sense: not followed any further */
};

struct pp_drain {
	int fd;
	int flags;
	uint8_t *map;
	size_t mapped;   /* address space */
	size_t size;     /* bytes of it that the file backs */
	uint32_t chunks; /* that fit the mapping */
	uint32_t limit;  /* that the rank may have */
	uint64_t faults;
	int fill;
	int32_t rank, job_size; /* as they were checked */
	struct place place[PP_RING_THREADS];
};

static int check_header(const struct pp_ring_header *h, const char *path, struct pp_err *err)
{
	if (memcmp(h->magic, PP_RING_MAGIC, sizeof(h->magic)))
		return pp_err_set(err, -EPROTO, "cannot read ring '%s': it is not a ring file", path);
	if (h->byte_order != PP_RING_BYTE_ORDER)
		return pp_err_set(err, -EPROTO, "cannot read ring '%s': it has another byte order", path);
	if (h->version != PP_RING_VERSION || h->record_bytes != PP_RECORD_BYTES)
		return pp_err_set(
		        err, -EPROTO,
		        "cannot read ring '%s': version %u with records of %u bytes, this podprof reads version %d with %d", path,
		        h->version, h->record_bytes, PP_RING_VERSION, PP_RECORD_BYTES);
	if (h->tick_kind != PP_TICK_RAW && h->tick_kind != PP_TICK_COUNTER)
		return pp_err_set(err, -EPROTO,
		                  "cannot read ring '%s': it counts by the clock of another processor. Read it on its own host",
		                  path);
	return 0;
}

static int update_size(struct pp_drain *d)
{
	struct stat st;

	if (fstat(d->fd, &st) || st.st_size < PP_RING_HEADER_BYTES)
		return -EAGAIN;
	d->size = (size_t)st.st_size < d->mapped ? (size_t)st.st_size : d->mapped;
	return 0;
}

int pp_drain_open(const char *path, int flags, struct pp_drain **ret_drain, struct pp_err *err)
{
	struct pp_drain *d = calloc(1, sizeof(*d));
	const struct pp_ring_header *h;
	struct stat st;
	int rc;

	if (!d)
		return pp_err_set(err, -ENOMEM, "cannot read ring '%s': no memory", path);
	d->flags = flags;
	d->fd = open(path, (flags & PP_DRAIN_PRIVATE ? O_RDONLY : O_RDWR) | O_CLOEXEC | O_NOFOLLOW |
	                           O_NONBLOCK); /* a pipe of that name */
	if (d->fd < 0) {
		rc = pp_err_set(err, -errno, "cannot open ring '%s': %s", path, strerror(errno));
		goto free_drain;
	}
	if (fstat(d->fd, &st)) {
		rc = pp_err_set(err, -EIO, "cannot read ring '%s': %s", path, strerror(errno));
		goto close_file;
	}
	if (!S_ISREG(st.st_mode) || st.st_size < PP_RING_HEADER_BYTES) {
		rc = pp_err_set(err, -EAGAIN, "cannot read ring '%s': it is shorter than its header", path);
		goto close_file;
	}
	/* The header says how much address space the rank may ever need. */
	d->mapped = PP_RING_HEADER_BYTES;
	d->map = mmap(NULL, d->mapped, PROT_READ, MAP_SHARED, d->fd, 0);
	if (d->map == MAP_FAILED) {
		rc = pp_err_set(err, -errno, "cannot map ring '%s': %s", path, strerror(errno));
		goto close_file;
	}
	h = (const struct pp_ring_header *)d->map;
	rc = check_header(h, path, err);
	d->rank = h->rank;
	d->job_size = h->size;
	if (!rc && (d->rank < 0 || d->rank >= d->job_size || d->job_size > RANKS_MOST))
		rc = pp_err_set(err, -EPROTO, "cannot read ring '%s': rank %d of %d makes no sense", path, d->rank, d->job_size);
	d->limit = atomic_load_explicit(&h->chunk_limit, memory_order_acquire);
	munmap(d->map, d->mapped);
	if (rc)
		goto close_file;
	d->chunks = d->limit < CHUNKS_MOST ? d->limit : CHUNKS_MOST;
	d->limit = d->chunks ? d->chunks : 1;
	d->mapped = PP_RING_HEADER_BYTES + (size_t)d->chunks * PP_CHUNK_BYTES;
	d->map = mmap(NULL, d->mapped, PROT_READ | PROT_WRITE, flags & PP_DRAIN_PRIVATE ? MAP_PRIVATE : MAP_SHARED, d->fd, 0);
	if (d->map == MAP_FAILED) {
		rc = pp_err_set(err, -errno, "cannot map ring '%s': %s", path, strerror(errno));
		goto close_file;
	}
	*ret_drain = d;
	return 0;

close_file:
	close(d->fd);
free_drain:
	free(d);
	return rc;
}

void pp_drain_close(struct pp_drain *d)
{
	if (!d)
		return;
	munmap(d->map, d->mapped);
	close(d->fd);
	free(d);
}

const struct pp_ring_header *pp_drain_header(const struct pp_drain *d)
{
	return (const struct pp_ring_header *)d->map;
}

void pp_drain_rank(const struct pp_drain *d, int32_t *ret_rank, int32_t *ret_size)
{
	*ret_rank = d->rank;
	*ret_size = d->job_size;
}

uint64_t pp_drain_faults(const struct pp_drain *d)
{
	return d->faults;
}

int pp_drain_fill(const struct pp_drain *d)
{
	return d->fill;
}

/* NULL: a number that the file does not back. */
static struct pp_chunk *chunk_of(const struct pp_drain *d, uint32_t number)
{
	size_t offset;

	if (number == 0 || number > d->chunks)
		return NULL;
	offset = PP_RING_HEADER_BYTES + (size_t)(number - 1) * PP_CHUNK_BYTES;
	return offset + PP_CHUNK_BYTES <= d->size ? (struct pp_chunk *)(d->map + offset) : NULL;
}

/* Everything of one chunk that is committed; 0 records or more. -1: the chunk makes no sense. */
static int64_t read_chunk(struct pp_drain *d, struct pp_chunk *c, uint32_t slot, struct place *p, const struct pp_drain_sink *sink)
{
	/* Acquire: the records below the count are whole. */
	uint32_t committed = atomic_load_explicit(&c->committed, memory_order_acquire);
	uint32_t count;

	if (committed > PP_CHUNK_RECORDS || committed < p->at) {
		d->faults++;
		return -1;
	}
	count = committed - p->at;
	if (count)
		sink->records(sink->context, slot, c->record + p->at, count);
	p->at = committed;
	return count;
}

static void end_thread(struct pp_drain *d, struct pp_thread_slot *s, uint32_t slot, struct place *p,
                       const struct pp_drain_sink *sink)
{
	struct pp_chunk *last = chunk_of(d, p->chunk);

	if (last)
		atomic_store_explicit(&last->drained, 1, memory_order_release);
	atomic_store_explicit(&s->first, 0, memory_order_relaxed);
	*p = (struct place){0};
	if (sink->ended)
		sink->ended(sink->context, slot);
	/* Release: the next owner sees first = 0 and may set its own. */
	atomic_store_explicit(&s->state, PP_THREAD_FREE, memory_order_release);
}

static uint64_t drain_thread(struct pp_drain *d, uint32_t slot, const struct pp_drain_sink *sink, uint32_t *chunks_left)
{
	struct pp_ring_header *h = (struct pp_ring_header *)d->map;
	struct pp_thread_slot *s = &h->thread[slot];
	struct place *p = &d->place[slot];
	/* Acquire, and before the counts: a thread that is ENDED here commits nothing any more. */
	uint32_t state = atomic_load_explicit(&s->state, memory_order_acquire);
	uint64_t records = 0;

	if ((state != PP_THREAD_LIVE && state != PP_THREAD_ENDED) || p->broken)
		return 0;
	if (!p->chunk)
		p->chunk = atomic_load_explicit(&s->first, memory_order_acquire);
	while (p->chunk) {
		struct pp_chunk *c = chunk_of(d, p->chunk);
		uint32_t next;
		int64_t got;

		if (!c || *chunks_left == 0) {
			d->faults += !c;
			p->broken = !c;
			return records;
		}
		/* Before `committed`: when the next chunk is there, this one's count is final. */
		next = atomic_load_explicit(&c->next, memory_order_acquire);
		got = read_chunk(d, c, slot, p, sink);
		if (got < 0 || next > d->chunks) {
			d->faults += got >= 0;
			p->broken = 1;
			return records;
		}
		records += (uint64_t)got;
		if (!next)
			break;
		(*chunks_left)--;
		atomic_store_explicit(&s->first, next, memory_order_relaxed);
		atomic_store_explicit(&c->drained, 1, memory_order_release);
		p->chunk = next;
		p->at = 0;
	}
	if (state == PP_THREAD_ENDED)
		end_thread(d, s, slot, p, sink);
	return records;
}

uint64_t pp_drain_run(struct pp_drain *d, const struct pp_drain_sink *sink)
{
	const struct pp_ring_header *h = pp_drain_header(d);
	uint32_t chunks_left, threads;
	uint64_t records = 0;

	if (update_size(d)) {
		d->faults++;
		return 0;
	}
	/* A list in a circle would never end: no run follows more links than twice the chunks there are. */
	chunks_left = 2 * d->limit + 2;
	threads = atomic_load_explicit(&h->thread_used, memory_order_acquire);
	if (threads > PP_RING_THREADS) {
		d->faults++;
		threads = PP_RING_THREADS;
	}
	for (uint32_t i = 0; i < threads; i++)
		records += drain_thread(d, i, sink, &chunks_left);
	d->fill = (int)(records * 100 / ((uint64_t)d->limit * PP_CHUNK_RECORDS));
	if (d->fill > 100)
		d->fill = 100;
	return records;
}
