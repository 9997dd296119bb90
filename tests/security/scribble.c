/* What a hostile process of the same user may do to shared memory: changes words of ring headers and of the control page as fast
 * as it can. Called by noise.py: scribble SECONDS SEED ring|control FILE..., or scribble 0 COUNT code RING..., which says that the
 * program has asked for so many windows. */
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/ring/ring_file.h"

enum { FILES = 16 };

struct target {
	uint32_t *word;
	size_t words;
};

static uint64_t seed;

static uint64_t dice(void)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return seed >> 20;
}

/* Small numbers as often as any: half of the words are counts and indexes. */
static uint32_t value(void)
{
	static const uint32_t odd[] = {
	        0, 1, 0x7fffffff, 0x80000000, 0xffffffff, PP_RING_THREADS, PP_RING_THREADS + 1, PP_CHUNK_RECORDS + 1};

	switch (dice() % 3) {
	case 0:
		return odd[dice() % (sizeof(odd) / sizeof(odd[0]))];
	case 1:
		return (uint32_t)dice() % 64;
	default:
		return (uint32_t)dice();
	}
}

/* Where it hurts: the counts behind the texts, slots, rows of windows, heads of chunks; now and then anywhere. */
static size_t place(const struct target *t, int is_ring)
{
	static const size_t at[] = {offsetof(struct pp_ring_header, rank), offsetof(struct pp_ring_header, window_first),
	                            offsetof(struct pp_ring_header, definitions_used), offsetof(struct pp_ring_header, thread),
	                            offsetof(struct pp_ring_header, windows_passed)};
	static const size_t bytes[] = {48, 96, 1024, 64 * sizeof(struct pp_thread_slot), 4096};
	size_t i = dice() % 8, byte;

	if (!is_ring || i == 7)
		return dice() % t->words;
	if (i < 5)
		byte = at[i] + dice() % bytes[i];
	else
		byte = PP_RING_HEADER_BYTES + dice() % 64 * PP_CHUNK_BYTES + dice() % (i == 5 ? 16 : 4096);
	return byte / 4 % t->words;
}

static int map(const char *path, struct target *t)
{
	int fd = open(path, O_RDWR);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return -1;
	/* A file's holes stay holes: stores there would be SIGBUS on a full tmpfs. */
	t->words = (size_t)st.st_size / 4;
	t->word = mmap(NULL, t->words * 4, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return t->word == MAP_FAILED ? -1 : 0;
}

int main(int argc, char **argv)
{
	struct target target[FILES];
	int n = 0, is_ring;
	time_t end;

	if (argc < 5)
		return 64;
	end = time(NULL) + strtol(argv[1], NULL, 10);
	seed = strtoul(argv[2], NULL, 10);
	is_ring = !strcmp(argv[3], "ring");
	for (int i = 4; i < argc && n < FILES; i++)
		if (!map(argv[i], &target[n]))
			n++;
	if (!n)
		return 1;
	if (!strcmp(argv[3], "code")) {
		for (int i = 0; i < n; i++)
			atomic_store(&((struct pp_ring_header *)target[i].word)->api_windows, seed);
		return 0;
	}
	for (uint64_t round = 0; round % 4096 || time(NULL) < end; round++) {
		const struct target *t = &target[dice() % (uint64_t)n];

		((volatile uint32_t *)t->word)[place(t, is_ring)] = value();
		if (round % 64 == 0)
			usleep(50); /* the keeper sees what is between two of them */
	}
	printf("scribbled\n");
	return 0;
}
