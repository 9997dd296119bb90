/* Walks the chunks of every thread of a ring file. Called by aggregate/read/ring/rings.c, in the keeper and in salvage. */
#include "core/ring/drain.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/mapped.h"

enum {
	CHUNKS_MOST = 65536,  /* 4 GiB: more than any rank's limit */
	RANKS_MOST = 1 << 20, /* a table has a row for each */
};

struct place {          /* how far one thread has been read */
	uint32_t chunk; /* 0: not started */
	uint32_t at;    /* records read of it */
	int broken;     /* its list is inconsistent, or its file was truncated: it is not read further */
};

struct pp_drain {
	int fd;
	int flags;
	uint8_t *map;
	size_t mapped;   /* address space */
	size_t size;     /* bytes of it that the file backs */
	uint32_t chunks; /* chunks that the mapping holds */
	uint32_t limit;  /* chunks that the rank may have */
	uint64_t faults;
	uint64_t cut; /* threads that lost records by truncation */
	uint64_t gone;
	int lost; /* the file is gone; `known` replaces the header */
	int fill;
	uint32_t ended; /* threads that have ended, in the last run */
	struct pp_mapped guard;
	struct pp_ring_header *known, *spare; /* the last good copy of the header */
	int32_t rank, job_size;               /* validated */
	uint8_t *seen;                        /* [chunks + 1] in a private drain: a list has led to it */
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
		                  "cannot read ring '%s': its timestamps are of another processor type. Read it on its own host",
		                  path);
	return 0;
}

/* Reads a copy: the file may be truncated between any two loads. */
static int read_header(struct pp_drain *d, const char *path, struct pp_err *err)
{
	struct pp_ring_header *h = calloc(1, PP_RING_HEADER_BYTES);
	ssize_t n;
	int rc;

	d->known = h;
	d->spare = malloc(PP_RING_HEADER_BYTES);
	if (!h || !d->spare)
		return pp_err_set(err, -ENOMEM, "cannot read ring '%s': no memory", path);
	n = pread(d->fd, h, PP_RING_HEADER_BYTES, 0);
	if (n < 0)
		return pp_err_set(err, -errno, "cannot read ring '%s': %s", path, strerror(errno));
	if (n < PP_RING_HEADER_BYTES)
		return pp_err_set(err, -EAGAIN, "cannot read ring '%s': it is shorter than its header", path);
	rc = check_header(h, path, err);
	d->rank = h->rank;
	d->job_size = h->size;
	if (!rc && (d->rank < 0 || d->rank >= d->job_size || d->job_size > RANKS_MOST))
		rc = pp_err_set(err, -EPROTO, "cannot read ring '%s': impossible rank %d of %d", path, d->rank, d->job_size);
	/* A thread's place comes from the file alone; in a truncated file it is unknown. */
	for (int i = 0; i < PP_RING_THREADS; i++)
		h->thread[i].where.step = INT64_MIN;
	memcpy(d->spare, h, PP_RING_HEADER_BYTES);
	if (h->records_taken > h->records_finalised)
		d->gone = h->records_taken - h->records_finalised;
	return rc;
}

static int update_size(struct pp_drain *d)
{
	struct stat st;

	if (fstat(d->fd, &st) || st.st_size < PP_RING_HEADER_BYTES)
		return -EAGAIN;
	d->size = (size_t)st.st_size < d->mapped ? (size_t)st.st_size : d->mapped;
	return 0;
}

enum { WORDS = offsetof(struct pp_ring_header, domain), LINE = offsetof(struct pp_thread_slot, state) };

/* Compares what remember() keeps: the words before the names and the end of each slot, not its first line, which the thread
 * writes with each call. */
static int has_changed(const struct pp_drain *d, uint32_t threads)
{
	const struct pp_ring_header *now = pp_drain_header(d);

	if (memcmp(d->known, now, WORDS))
		return 1;
	for (uint32_t i = 0; i < threads; i++)
		if (memcmp((const char *)&d->known->thread[i] + LINE, (const char *)&now->thread[i] + LINE,
		           sizeof(now->thread[i]) - LINE))
			return 1;
	return 0;
}

/* Keeps a copy of the header, in case it is truncated: the rank must stay known. In a file that is cut inside a page, zeros
 * follow its end: a copy counts only if the file is still whole after it. Most runs find no change and need not ask the file's
 * size. */
static void remember(struct pp_drain *d, uint32_t threads)
{
	struct pp_ring_header *copy = d->spare;

	if (!has_changed(d, threads))
		return;
	memcpy(copy, d->map, WORDS);
	for (uint32_t i = 0; i < threads; i++)
		memcpy((char *)&copy->thread[i] + LINE, (const char *)&pp_drain_header(d)->thread[i] + LINE,
		       sizeof(copy->thread[i]) - LINE);
	if (update_size(d) || d->guard.cut)
		return;
	d->spare = d->known;
	d->known = copy;
	d->guard.known = (const char *)copy;
}

/* The file is shorter than its header, or a page of it was missing: nothing in it is valid from here on. */
static void lose_threads(struct pp_drain *d)
{
	uint32_t threads = pp_ring_thread_used(d->known);

	d->fill = 0;
	if (d->lost)
		return;
	d->lost = 1;
	for (uint32_t i = 0; i < threads && i < PP_RING_THREADS; i++) {
		uint32_t state = pp_slot_state(&d->known->thread[i]);

		d->cut += !d->place[i].broken && state > PP_THREAD_FREE && state <= PP_THREAD_CLOSING;
		d->place[i].broken = 1;
	}
	d->cut += !d->cut; /* no thread is known */
	/* cppcheck-suppress leakReturnValNotUsed ; MAP_FIXED: the address is known */
	if (mmap(d->map, PP_RING_HEADER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) !=
	    MAP_FAILED)
		memcpy(d->map, d->known, PP_RING_HEADER_BYTES);
}

int pp_drain_open(const char *path, int flags, struct pp_drain **ret_drain, struct pp_err *err)
{
	struct pp_drain *d = calloc(1, sizeof(*d));
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
	rc = read_header(d, path, err);
	if (rc)
		goto free_header;
	/* The header tells how much address space the rank may ever need. */
	d->limit = pp_ring_chunk_limit(d->known);
	d->chunks = d->limit < CHUNKS_MOST ? d->limit : CHUNKS_MOST;
	d->limit = d->chunks ? d->chunks : 1;
	d->mapped = PP_RING_HEADER_BYTES + (size_t)d->chunks * PP_CHUNK_BYTES;
	if (flags & PP_DRAIN_PRIVATE && (size_t)st.st_size < d->mapped) /* it does not grow */
		d->mapped = (size_t)st.st_size;
	d->map = mmap(NULL, d->mapped, PROT_READ | PROT_WRITE, flags & PP_DRAIN_PRIVATE ? MAP_PRIVATE : MAP_SHARED, d->fd, 0);
	if (d->map == MAP_FAILED) {
		rc = pp_err_set(err, -errno, "cannot map ring '%s': %s", path, strerror(errno));
		goto free_header;
	}
	d->seen = flags & PP_DRAIN_PRIVATE ? calloc((size_t)d->chunks + 1, 1) : NULL;
	if (flags & PP_DRAIN_PRIVATE && !d->seen) {
		rc = pp_err_set(err, -ENOMEM, "cannot read ring '%s': no memory", path);
		munmap(d->map, d->mapped);
		goto free_header;
	}
	d->guard = (struct pp_mapped){
	        .at = (char *)d->map, .bytes = d->mapped, .known = (const char *)d->known, .known_bytes = PP_RING_HEADER_BYTES};
	pp_mapped_watch(&d->guard);
	*ret_drain = d;
	return 0;

free_header:
	free(d->known);
	free(d->spare);
close_file:
	close(d->fd);
free_drain:
	free(d);
	return rc;
}

void pp_drain_drop_pages(struct pp_drain *d)
{
	if (d->flags & PP_DRAIN_PRIVATE && d->mapped > PP_RING_HEADER_BYTES)
		madvise(d->map + PP_RING_HEADER_BYTES, d->mapped - PP_RING_HEADER_BYTES, MADV_DONTNEED);
}

void pp_drain_close(struct pp_drain *d)
{
	if (!d)
		return;
	pp_mapped_forget(&d->guard);
	munmap(d->map, d->mapped);
	free(d->seen);
	free(d->known);
	free(d->spare);
	close(d->fd);
	free(d);
}

const struct pp_ring_header *pp_drain_header(const struct pp_drain *d)
{
	return (const struct pp_ring_header *)d->map;
}

void pp_drain_rank(const struct pp_drain *d, int32_t *ret_rank, int32_t *ret_size)
{
	const struct pp_ring_header *h = pp_drain_header(d);
	int32_t rank = h->rank, size = h->size;
	int is_sane = rank >= 0 && rank < size && size <= RANKS_MOST; /* a process group may have set another one since */

	*ret_rank = is_sane ? rank : d->rank;
	*ret_size = is_sane ? size : d->job_size;
}

void pp_drain_set_flags(struct pp_drain *d, uint32_t bits, uint32_t value)
{
	struct pp_ring_header *h = (struct pp_ring_header *)d->map;
	uint32_t was = pp_ring_flags(h), now = (was & ~bits) | value;

	if (now != was)
		pp_ring_set_flags(h, now);
}

uint64_t pp_drain_gone(const struct pp_drain *d)
{
	return d->gone;
}

void pp_drain_finalise(struct pp_drain *d, uint64_t held)
{
	struct pp_ring_header *h = (struct pp_ring_header *)d->map;
	uint64_t taken = pp_ring_records_taken(h);

	held += d->gone; /* for the next one, where this keeper is killed too */
	pp_ring_set_records_finalised(h, taken > held ? taken - held : 0);
}

/* Returns the chunk to the rank. In a private drain nobody reads that, and writing would copy a page of each chunk. */
static void give_back(struct pp_drain *d, struct pp_chunk *c, uint32_t records)
{
	struct pp_ring_header *h = (struct pp_ring_header *)d->map;

	pp_ring_add_records_taken(h, records);
	if (!d->seen)
		pp_chunk_set_drained(c, 1);
}

/* Goes on at a chunk. Where no process writes, each is in one list and once; a damaged link may lead to any. -1: it was there. */
static int go_to(struct pp_drain *d, struct place *p, uint32_t number)
{
	int is_chunk = d->seen && number && number <= d->chunks, was_there = is_chunk && d->seen[number];

	if (is_chunk)
		d->seen[number] = 1;
	*p = (struct place){.chunk = number, .broken = was_there};
	d->faults += (uint64_t)was_there;
	return was_there ? -1 : 0;
}

uint64_t pp_drain_cut(const struct pp_drain *d)
{
	return d->cut;
}

uint64_t pp_drain_faults(const struct pp_drain *d)
{
	return d->faults;
}

int pp_drain_fill(const struct pp_drain *d)
{
	return d->fill;
}

/* NULL: the file does not back that number. */
static struct pp_chunk *chunk_of(const struct pp_drain *d, uint32_t number)
{
	size_t offset;

	if (number == 0 || number > d->chunks)
		return NULL;
	offset = PP_RING_HEADER_BYTES + (size_t)(number - 1) * PP_CHUNK_BYTES;
	return offset + PP_CHUNK_BYTES <= d->size ? (struct pp_chunk *)(d->map + offset) : NULL;
}

/* Touches each page, so that a missing one is noticed before its records are handed out. */
static void touch(const struct pp_record *record, uint32_t count)
{
	enum { STEP = 4096 / sizeof(*record) };

	for (uint32_t i = 0; i < count; i += STEP)
		(void)*(const volatile uint16_t *)&record[i].kind;
	if (count)
		(void)*(const volatile uint16_t *)&record[count - 1].kind;
}

/* Reads all that is committed in one chunk; returns the records. -1: the chunk is inconsistent. */
static int64_t read_chunk(struct pp_drain *d, struct pp_chunk *c, uint32_t slot, struct place *p, const struct pp_drain_sink *sink)
{
	/* Acquire: the records below the count are complete. */
	uint32_t committed = pp_chunk_committed(c);
	uint32_t count;

	if (d->guard.cut)
		return 0;
	if (committed > PP_CHUNK_RECORDS || committed < p->at) {
		d->faults++;
		return -1;
	}
	count = committed - p->at;
	touch(c->record + p->at, count);
	if (d->guard.cut) /* the zeros of a missing page are no records */
		return 0;
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
		give_back(d, last, p->at);
	atomic_store_explicit(&s->first, 0, memory_order_relaxed);
	*p = (struct place){0};
	d->ended++;
	if (sink->ended)
		sink->ended(sink->context, slot);
	/* Release: the next owner sees first = 0 and may set its own. */
	pp_slot_set_state(s, PP_THREAD_FREE);
}

/* Before the counts: a thread that ended here commits nothing more, and no other one continues its slot. */
static uint32_t close_ended(struct pp_thread_slot *s)
{
	uint32_t state = pp_slot_state(s);

	if (state == PP_THREAD_ENDED && atomic_compare_exchange_strong_explicit(&s->state, &state, PP_THREAD_CLOSING,
	                                                                        memory_order_acquire, memory_order_acquire))
		return PP_THREAD_CLOSING;
	return state;
}

static uint64_t drain_thread(struct pp_drain *d, uint32_t slot, const struct pp_drain_sink *sink, uint32_t *chunks_left)
{
	struct pp_ring_header *h = (struct pp_ring_header *)d->map;
	struct pp_thread_slot *s = &h->thread[slot];
	struct place *p = &d->place[slot];
	uint64_t records = 0;
	uint32_t state;

	if (p->broken)
		return 0;
	state = close_ended(s);
	if (state == PP_THREAD_FREE || state > PP_THREAD_CLOSING)
		return 0;
	if (!p->chunk && go_to(d, p, pp_slot_first(s)))
		return 0;
	while (p->chunk) {
		struct pp_chunk *c = chunk_of(d, p->chunk);
		uint32_t next;
		int64_t got;

		if (!c && p->chunk <= d->chunks) { /* the collector reserves a chunk before it links it */
			d->cut++;
			p->broken = 1;
			return records;
		}
		if (!c || *chunks_left == 0) {
			d->faults += !c;
			p->broken = !c;
			return records;
		}
		/* Before `committed`: when the next chunk is there, this one's count is final. */
		next = pp_chunk_next(c);
		got = read_chunk(d, c, slot, p, sink);
		if (got < 0 || next > d->chunks) {
			d->faults += got >= 0;
			p->broken = 1;
			return records;
		}
		records += (uint64_t)got;
		if (d->guard.cut)
			return records;
		if (!next)
			break;
		(*chunks_left)--;
		atomic_store_explicit(&s->first, next, memory_order_relaxed);
		give_back(d, c, p->at);
		if (go_to(d, p, next))
			return records;
	}
	if (state == PP_THREAD_CLOSING)
		end_thread(d, s, slot, p, sink);
	return records;
}

/* Not recording, and nothing is new since the last run: it needs no system call. */
static int is_still(const struct pp_drain *d, const struct pp_ring_header *h)
{
	uint32_t threads = pp_ring_thread_used(h);

	if (pp_ring_recording(h) || threads > PP_RING_THREADS || !d->size)
		return 0;
	for (uint32_t i = 0; i < threads; i++) {
		const struct pp_thread_slot *s = &h->thread[i];
		const struct place *p = &d->place[i];
		const struct pp_chunk *c = chunk_of(d, p->chunk);
		uint32_t state = pp_slot_state(s);

		if (p->broken || state == PP_THREAD_FREE)
			continue;
		if (state != PP_THREAD_LIVE ||
		    (p->chunk ? !c || pp_chunk_next(c) || pp_chunk_committed(c) != p->at : pp_slot_first(s)))
			return 0;
	}
	return !has_changed(d, threads) && !d->guard.cut;
}

uint64_t pp_drain_run(struct pp_drain *d, const struct pp_drain_sink *sink)
{
	const struct pp_ring_header *h = pp_drain_header(d);
	uint32_t chunks_left, threads, used;
	uint64_t records = 0;

	d->ended = 0;
	d->fill = 0;
	if (is_still(d, h))
		return 0;
	if (update_size(d) || d->guard.cut) {
		lose_threads(d);
		return 0;
	}
	/* A circular list would never end: a run follows at most twice as many links as there are chunks. */
	chunks_left = 2 * d->limit + 2;
	threads = pp_ring_thread_used(h);
	if (threads > PP_RING_THREADS) {
		d->faults++;
		threads = PP_RING_THREADS;
	}
	for (uint32_t i = 0; i < threads; i++)
		records += drain_thread(d, i, sink, &chunks_left);
	if (d->guard.cut)
		lose_threads(d);
	else
		remember(d, threads);
	d->fill = (int)(records * 100 / ((uint64_t)d->limit * PP_CHUNK_RECORDS));
	/* Each ended thread has used a slot and a chunk, however short it was. */
	used = d->ended * 100 / (d->limit < PP_RING_THREADS ? d->limit : PP_RING_THREADS);
	if ((uint32_t)d->fill < used)
		d->fill = (int)used;
	if (d->fill > 100)
		d->fill = 100;
	return records;
}
