/* Does its I/O by io_uring, with raw system calls: writes a file in blocks, reads it back, prints a sum; a step per block. Ends
 * with 77 where the kernel has no io_uring or forbids it. Run by guest_more.py. */
#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/guest/marks.h"

enum { ENTRIES = 8, BLOCKS = 64, BYTES = 4096, SKIP = 77 };

static struct io_uring_params params;
static char *sq, *cq;
static struct io_uring_sqe *sqe;
static int ring;

static uint32_t *word(char *base, uint32_t offset)
{
	return (uint32_t *)(void *)(base + offset);
}

static int open_ring(void)
{
	size_t sq_bytes, cq_bytes;

	ring = (int)syscall(SYS_io_uring_setup, ENTRIES, &params);
	if (ring < 0)
		return 0;
	sq_bytes = params.sq_off.array + params.sq_entries * sizeof(uint32_t);
	cq_bytes = params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe);
	sq = mmap(NULL, sq_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQ_RING);
	cq = mmap(NULL, cq_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_CQ_RING);
	sqe = mmap(NULL, params.sq_entries * sizeof(*sqe), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring,
	           IORING_OFF_SQES);
	return sq != MAP_FAILED && cq != MAP_FAILED && sqe != MAP_FAILED;
}

/* Submits one operation and waits for it; its result. */
static int operate(int opcode, int fd, void *data, uint64_t offset)
{
	uint32_t tail = *word(sq, params.sq_off.tail), at = tail & *word(sq, params.sq_off.ring_mask), head;
	struct io_uring_cqe *done;

	sqe[at] = (struct io_uring_sqe){.opcode = (uint8_t)opcode,
	                                .fd = fd,
	                                .addr = (uint64_t)(uintptr_t)data,
	                                .len = BYTES,
	                                .off = offset,
	                                .user_data = tail};
	word(sq, params.sq_off.array)[at] = at;
	__atomic_store_n(word(sq, params.sq_off.tail), tail + 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1)
		return -1;
	head = *word(cq, params.cq_off.head);
	if (head == __atomic_load_n(word(cq, params.cq_off.tail), __ATOMIC_ACQUIRE))
		return -1;
	done = (struct io_uring_cqe *)(void *)(cq + params.cq_off.cqes) + (head & *word(cq, params.cq_off.ring_mask));
	at = (uint32_t)done->res;
	if (done->user_data != tail)
		return -1;
	__atomic_store_n(word(cq, params.cq_off.head), head + 1, __ATOMIC_RELEASE);
	return (int)at;
}

int main(void)
{
	char name[] = "/tmp/podprof-uring-XXXXXX", block[BYTES], back[BYTES];
	unsigned long sum = 0;
	int fd = mkstemp(name), bad = 0;

	unlink(name);
	if (!open_ring())
		return SKIP;
	for (int i = 0; i < BLOCKS; i++) {
		podprof_step_begin(i);
		podprof_range_push("write and read");
		memset(block, i + 1, sizeof(block));
		bad += operate(IORING_OP_WRITE, fd, block, (uint64_t)i * BYTES) != BYTES;
		bad += operate(IORING_OP_READ, fd, back, (uint64_t)i * BYTES) != BYTES || memcmp(block, back, BYTES) != 0;
		for (int k = 0; k < BYTES; k++)
			sum += (unsigned char)back[k];
		podprof_range_pop();
		podprof_step_end();
	}
	printf("%d blocks, sum %lu, %d bad\n", BLOCKS, sum, bad);
	return bad != 0;
}
