/* Prints a ring file as the items that fuzz_ring reads, for its corpus: the first records of each thread.
 * Usage: ring_items RING [RECORDS] >tests/fuzz/corpus/ring/NAME */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "core/ring/ring_file.h"
#include "tests/fuzz/items.h"
#include "tests/fuzz/ring_items.h"

static void put(enum ring_item what, uint32_t where, const void *head, size_t head_bytes, const void *bytes, size_t size)
{
	const uint8_t *p = bytes;

	while (size && !p[size - 1])
		size--;
	if (!size && head_bytes)
		return;
	putchar((int)what);
	putchar((int)where);
	putchar((int)(head_bytes + size));
	fwrite(head, 1, head_bytes, stdout);
	fwrite(bytes, 1, size, stdout);
}

/* What is not 0 of the header before the slots, but what fuzz_ring has itself. */
static void put_header(const struct pp_ring_header *h)
{
	const char *p = (const char *)h;
	size_t begin = offsetof(struct pp_ring_header, rank), end = offsetof(struct pp_ring_header, thread);

	for (size_t at = begin, n; at < end; at += n) {
		uint8_t offset[3] = {(uint8_t)at, (uint8_t)(at >> 8), (uint8_t)(at >> 16)};
		int is_limit =
		        at >= offsetof(struct pp_ring_header, chunk_limit) && at < offsetof(struct pp_ring_header, thread_used);

		n = end - at < 64 ? end - at : 64;
		if (at < offsetof(struct pp_ring_header, chunk_limit) && at + n > offsetof(struct pp_ring_header, chunk_limit))
			n = offsetof(struct pp_ring_header, chunk_limit) - at;
		if (is_limit)
			n = offsetof(struct pp_ring_header, thread_used) - at;
		else
			put(RING_HEADER, 0, offset, 3, p + at, n);
	}
}

static void put_thread(const struct pp_ring_header *h, uint32_t slot, uint32_t most, size_t bytes)
{
	const struct pp_thread_slot *s = &h->thread[slot];
	struct pp_thread_slot copy = *s;
	uint32_t chunk = s->first, chunks = (uint32_t)((bytes - PP_RING_HEADER_BYTES) / PP_CHUNK_BYTES);

	atomic_store(&copy.first, 0);
	put(RING_WHERE, slot, "", 0, &s->where, sizeof(s->where));
	put(RING_SLOT, slot, "", 0, &copy.state, sizeof(copy) - offsetof(struct pp_thread_slot, state));
	while (chunk && chunk <= chunks && most) {
		const struct pp_chunk *c =
		        (const struct pp_chunk *)((const char *)h + PP_RING_HEADER_BYTES + (size_t)(chunk - 1) * PP_CHUNK_BYTES);

		for (uint32_t i = 0; i < c->committed && i < PP_CHUNK_RECORDS && most; i++, most--)
			put(RING_RECORD, slot, "", 0, &c->record[i], sizeof(c->record[i]));
		chunk = c->next;
		if (chunk && most)
			put(RING_CHUNK, slot, "", 0, "", 0);
	}
}

int main(int argc, char **argv)
{
	int fd = argc > 1 ? open(argv[1], O_RDONLY) : -1;
	uint32_t most = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 100;
	const struct pp_ring_header *h;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || st.st_size < PP_RING_HEADER_BYTES) {
		fprintf(stderr, "usage: ring_items RING [RECORDS]\n");
		return 64;
	}
	h = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (h == MAP_FAILED)
		return 1;
	put_header(h);
	for (uint32_t i = 0; i < h->thread_used && i < RING_ITEM_THREADS; i++)
		put_thread(h, i, most, (size_t)st.st_size);
	for (uint32_t i = 0; i < h->comms && i < PP_RING_COMMS; i++)
		put(RING_COMM, i, "", 0, &h->comm[i], sizeof(h->comm[i]) - 1);
	return 0;
}
