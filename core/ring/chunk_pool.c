/* The ring file of this process and its chunks; called by thread_ring.c on its slow path and by collector.c at the claim. */
#include "core/ring/chunk_pool.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/hold.h"
#include "core/ring/disk_fault.h"
#include "core/ring/room.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum { FIRST_SLOTS = 16, GROW_CHUNKS = PP_RING_FIRST_CHUNKS };

/* Stays below the limit on file sizes, which the application may have lowered: beyond it the kernel sends SIGXFSZ. */
static int allocate(int fd, size_t from, size_t to)
{
	struct pp_hold hold;
	int rc;

	pp_hold_begin(&hold);
	do
		rc = posix_fallocate(fd, (off_t)from, (off_t)(to - from));
	while (rc == EINTR);
	pp_hold_end(&hold, rc);
	return -rc;
}

static int set_size(int fd, size_t bytes)
{
	struct pp_hold hold;
	int rc;

	pp_hold_begin(&hold);
	rc = ftruncate(fd, (off_t)bytes) ? errno : 0;
	pp_hold_end(&hold, rc);
	return -rc;
}

/* Reserves [from, to) of the file: whole pages. One call only, as the application may have forbidden itself others by now.
 * Older kernels: by path, not by a kept descriptor, since applications close or reuse descriptors they do not know. */
static int reserve(const struct pp_pool *p, size_t from, size_t to)
{
	int fd, rc;

	if (!madvise((char *)p->header + from, to - from, MADV_POPULATE_WRITE))
		return 0;
	if (errno != EINVAL)
		return -errno;
	fd = open(p->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	rc = allocate(fd, from, to);
	close(fd);
	return rc;
}

static int map_file(struct pp_pool *p, int fd, uint32_t chunks, struct pp_err *err)
{
	size_t head = offsetof(struct pp_ring_header, thread) + FIRST_SLOTS * sizeof(struct pp_thread_slot);
	void *at;
	int rc;

	p->map_bytes = PP_RING_HEADER_BYTES + (size_t)chunks * PP_CHUNK_BYTES;
	rc = allocate(fd, 0, head);
	if (!rc)
		rc = set_size(fd, p->map_bytes);
	if (!rc) /* a rank that records later has these, however full the file system is then */
		rc = allocate(fd, PP_RING_HEADER_BYTES, PP_RING_HEADER_BYTES + PP_ROOM_LEAST_CHUNKS * (size_t)PP_CHUNK_BYTES);
	if (rc)
		return pp_err_set(err, rc, "not recording: '%s': %s. Give more memory there, or --spool DIR", p->path,
		                  strerror(-rc));
	at = mmap(NULL, p->map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (at == MAP_FAILED)
		return pp_err_set(err, -errno, "not recording: cannot map '%s': %s%s", p->path, strerror(errno),
		                  errno == ENOMEM ? ". Raise the limit by 'ulimit -v', or give a smaller --ring-size" : "");
	pp_disk_fault_guard(at, p->map_bytes, fd);
	p->header = at;
	p->slots_backed = FIRST_SLOTS;
	p->backed = PP_ROOM_LEAST_CHUNKS;
	memcpy(p->header->magic, PP_RING_MAGIC, sizeof(p->header->magic));
	p->header->version = PP_RING_VERSION;
	p->header->byte_order = PP_RING_BYTE_ORDER;
	p->header->record_bytes = PP_RECORD_BYTES;
	pp_ring_set_chunk_limit(p->header, chunks);
	return 0;
}

int pp_pool_create(struct pp_pool *p, const struct pp_pool_options *o, struct pp_err *err)
{
	struct pp_room room;
	uint32_t chunks = 0;
	int rc, fd;

	memset(p, 0, sizeof(*p));
	rc = pp_room_read(o->spool, &room, err);
	if (!rc)
		rc = pp_room_chunks(&room, o->spool, o->ring_bytes, o->local_size, &chunks, err);
	if (rc)
		return rc;
	/* A process may claim again after exec: each image gets a file of its own. */
	for (int n = 1;; n++) {
		char final[sizeof(p->path)];

		if (n == 1)
			snprintf(final, sizeof(final), "%s/rank-%d-%d.ring", o->spool, o->rank, (int)getpid());
		else
			snprintf(final, sizeof(final), "%s/rank-%d-%d-%d.ring", o->spool, o->rank, (int)getpid(), n);
		if (snprintf(p->path, sizeof(p->path), "%s.tmp", final) >= (int)sizeof(p->path))
			return pp_err_set(err, -ENAMETOOLONG, "not recording: '%s' is too long. Give a shorter --spool", o->spool);
		if (n < 1000 && !access(final, F_OK))
			continue;
		fd = open(p->path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
		break;
	}
	if (fd < 0)
		return pp_err_set(err, -errno, "not recording: cannot make '%s': %s%s", p->path, strerror(errno),
		                  errno == EMFILE ? ". Raise the limit by 'ulimit -n'" : "");
	rc = fchmod(fd, 0600) ? pp_err_set(err, -errno, "not recording: '%s': %s", p->path, strerror(errno)) : 0; /* any umask */
	if (!rc)
		rc = map_file(p, fd, chunks, err);
	close(fd);
	if (rc)
		unlink(p->path);
	return rc;
}

int pp_pool_publish(struct pp_pool *p, struct pp_err *err)
{
	char final[sizeof(p->path)];
	size_t n = strlen(p->path) - strlen(".tmp");

	memcpy(final, p->path, n);
	final[n] = '\0';
	if (rename(p->path, final))
		return pp_err_set(err, -errno, "not recording: cannot make '%s': %s", final, strerror(errno));
	memcpy(p->path, final, n + 1);
	return 0;
}

void pp_pool_release(struct pp_pool *p)
{
	size_t n = strlen(p->path);

	if (n > 4 && !strcmp(p->path + n - 4, ".tmp"))
		unlink(p->path);
	if (p->header) {
		pp_disk_fault_forget(p->header);
		munmap(p->header, p->map_bytes);
	}
	memset(p, 0, sizeof(*p));
}

struct pp_chunk *pp_pool_chunk(const struct pp_pool *p, uint32_t number)
{
	return (struct pp_chunk *)((char *)p->header + PP_RING_HEADER_BYTES + (size_t)(number - 1) * PP_CHUNK_BYTES);
}

void pp_pool_give(struct pp_pool *p, uint32_t number)
{
	p->free_map[(number - 1) / 64] |= 1ull << ((number - 1) % 64);
}

static uint32_t take_free(struct pp_pool *p, uint32_t used)
{
	for (uint32_t w = 0; w * 64 < used; w++) {
		uint32_t number;

		if (!p->free_map[w])
			continue;
		number = w * 64 + (uint32_t)__builtin_ctzll(p->free_map[w]) + 1;
		p->free_map[w] &= p->free_map[w] - 1;
		return number;
	}
	return 0;
}

/* Reserves all or none of [from, to), which is unused so far: after a failure the part is given back to other programs. */
static int reserve_chunks(const struct pp_pool *p, size_t from, size_t to)
{
	int rc = reserve(p, from, to);

	if (rc)
		madvise((char *)p->header + from, to - from, MADV_REMOVE);
	return rc;
}

static int grow_file(struct pp_pool *p, uint32_t limit)
{
	uint32_t want = limit - p->backed < GROW_CHUNKS ? limit - p->backed : GROW_CHUNKS;
	size_t from = PP_RING_HEADER_BYTES + (size_t)p->backed * PP_CHUNK_BYTES;
	int rc = reserve_chunks(p, from, from + (size_t)want * PP_CHUNK_BYTES);

	if (rc && want > 1) {
		want = 1;
		rc = reserve_chunks(p, from, from + PP_CHUNK_BYTES);
	}
	if (rc)
		return rc;
	p->backed += want;
	return 0;
}

/* A failure is final: a full file system stays full for the other ranks too, and a dead keeper does not return. */
static int has_grown(struct pp_pool *p, uint32_t limit)
{
	int is_drained = !p->may_grow || p->may_grow();

	if (is_drained && !grow_file(p, limit))
		return 1;
	p->no_space = is_drained;
	pp_ring_set_chunk_limit(p->header, p->backed);
	return 0;
}

uint32_t pp_pool_take(struct pp_pool *p, int grow, enum pp_loss *ret_loss)
{
	struct pp_ring_header *h = p->header;
	uint32_t used = pp_ring_chunk_used(h);
	uint32_t limit = pp_ring_chunk_limit(h);
	uint32_t number;
	struct pp_chunk *c;

	pp_disk_fault_again();
	if (pp_disk_fault_pages()) { /* nobody would read it */
		*ret_loss = PP_LOSS_NO_SPACE;
		return 0;
	}
	number = take_free(p, used);
	*ret_loss = p->no_space ? PP_LOSS_NO_SPACE : PP_LOSS_RING_FULL;
	if (!number) {
		if (!grow || used >= limit)
			return 0;
		if (used >= p->backed && !has_grown(p, limit)) {
			*ret_loss = p->no_space ? PP_LOSS_NO_SPACE : PP_LOSS_RING_FULL;
			return 0;
		}
		number = used + 1;
	}
	c = pp_pool_chunk(p, number);
	atomic_store_explicit(&c->committed, 0, memory_order_relaxed);
	atomic_store_explicit(&c->next, 0, memory_order_relaxed);
	atomic_store_explicit(&c->drained, 0, memory_order_relaxed);
	if (number > used)
		pp_ring_set_chunk_used(h, number);
	return number;
}

int pp_pool_back_slots(struct pp_pool *p, uint32_t count)
{
	size_t base = offsetof(struct pp_ring_header, thread);
	size_t from = base + p->slots_backed * sizeof(struct pp_thread_slot);
	uint32_t want = count + FIRST_SLOTS;
	int rc;

	if (count <= p->slots_backed)
		return 0;
	if (want > PP_RING_THREADS)
		want = PP_RING_THREADS;
	from &= ~(size_t)65535; /* madvise wants whole pages, which are 4 to 64 KiB */
	rc = reserve(p, from, base + want * sizeof(struct pp_thread_slot));
	if (!rc)
		p->slots_backed = want;
	return rc;
}

int pp_pool_back_comms(struct pp_pool *p)
{
	size_t from = offsetof(struct pp_ring_header, comm) & ~(size_t)65535;
	int rc = pp_ring_comms(p->header) ? 0 : reserve(p, from, PP_RING_HEADER_BYTES);

	if (!rc)
		pp_ring_set_comms(p->header, PP_RING_COMMS);
	return rc;
}
