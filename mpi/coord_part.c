/* Decides whether all ranks take part; see coord_part.h. Called by coord_mpi.c. */
#include "mpi/coord_part.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/hash.h"
#include "core/base/hold.h"

enum { MOST_RANKS = 1 << 20, WORLD_BYTES = 256 };

static int number(const char *name)
{
	const char *text = getenv(name);
	char *end;
	long value;

	if (!text || !*text)
		return -1;
	value = strtol(text, &end, 10);
	return *end || value < 0 || value > MOST_RANKS ? -1 : (int)value;
}

/* Is the word of `length` bytes, without its directory, the name? */
static int is_named(const char *word, size_t length, const char *name)
{
	size_t begin = length;

	while (begin && word[begin - 1] != '/')
		begin--;
	return length - begin == strlen(name) && !memcmp(word + begin, name, length - begin);
}

static int is_script(const char *word, size_t length)
{
	static const char *const shells[] = {"sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "fish", "csh", "tcsh"};

	for (size_t i = 0; i < sizeof shells / sizeof shells[0]; i++) {
		size_t n = strlen(shells[i]);

		if (is_named(word, length, shells[i]))
			return 1;
		if (length > n && word[length - n - 1] == '.' && !memcmp(word + length - n, shells[i], n))
			return 1;
	}
	return 0;
}

static size_t word_length(const char *words)
{
	return strcspn(words, " \t\n");
}

static const char *next_word(const char *words)
{
	words += word_length(words);
	return words + strspn(words, " \t\n");
}

/* Starts the program behind it on each rank, whatever that is. */
static int is_wrapper(const char *word, size_t length)
{
	static const char *const names[] = {"env",     "nice",   "ionice",  "chrt", "taskset", "numactl", "setarch",
	                                    "prlimit", "stdbuf", "timeout", "time", "nohup",   "setsid"};

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (is_named(word, length, names[i]))
			return 1;
	return 0;
}

/* Is it "podprof run", perhaps behind wrappers with options, NAME=VALUE and numbers? */
static int is_podprof_run(const char *command, const char *words)
{
	size_t length = strlen(command);

	while (is_wrapper(command, length)) {
		while (*words && (*words == '-' || (*words >= '0' && *words <= '9') || memchr(words, '=', word_length(words))))
			words = next_word(words);
		command = words;
		length = word_length(words);
		words = next_word(words);
	}
	return is_named(command, length, "podprof") && word_length(words) == 3 && !strncmp(words, "run", 3);
}

/* Depends on the launcher's variables alone. */
static const char *why_not_several(void)
{
	const char *command = getenv("OMPI_COMMAND"), *words = getenv("OMPI_ARGV");

	if (getenv("OMPI_PARENT_PORT"))
		return "a world that MPI spawned, on several hosts";
	if (number("OMPI_NUM_APP_CTX") != 1)
		return "several hosts, and not one program only: podprof may be on some ranks";
	if (!command || !words || !is_podprof_run(command, words))
		return "several hosts, and mpirun's command is not 'podprof run'";
	for (const char *w = words; *w; w = next_word(w))
		if (is_script(w, word_length(w)))
			return "several hosts, and a shell script starts the ranks";
	return NULL;
}

/* A name that the ranks of a world share on one host, and that no other world has in one spool. MPICH's launcher has none: all
 * ranks that it starts on a host have one parent, and a rank behind a shell has another one, which makes it one that has no
 * podprof. */
static int name_world(char *ret_name, size_t size)
{
	const char *pmix = getenv("PMIX_NAMESPACE");

	if (pmix && *pmix)
		return snprintf(ret_name, size, "%s", pmix) < (int)size;
	if (number("PMI_RANK") < 0 || number("MPI_LOCALNRANKS") < 0)
		return 0;
	return snprintf(ret_name, size, "hydra-%d", (int)getppid()) < (int)size;
}

static void read_launcher(struct pp_part *p)
{
	char world[WORLD_BYTES];
	int local;

	p->rank = number("OMPI_COMM_WORLD_RANK");
	if (p->rank >= 0) {
		p->size = number("OMPI_COMM_WORLD_SIZE");
		local = number("OMPI_COMM_WORLD_LOCAL_SIZE");
	} else if (number("PMIX_RANK") < 0 && number("MPI_LOCALNRANKS") >= 0) { /* MPICH's mpirun, and Intel's */
		p->rank = number("PMI_RANK");
		p->size = number("PMI_SIZE");
		local = number("MPI_LOCALNRANKS");
	} else { /* srun --mpi=pmix */
		p->rank = number("PMIX_RANK");
		p->size = number("SLURM_STEP_NUM_TASKS");
		local = number("SLURM_STEP_NUM_NODES") == 1 ? p->size : 0;
	}
	p->one_host = local == p->size;
	if (!name_world(world, sizeof world) || p->rank < 0 || p->size <= p->rank)
		p->why = "no launcher started this process";
	else if (!p->one_host)
		p->why = why_not_several();
}

static struct pp_part_page *map_page(const char *spool, int size)
{
	size_t bytes = sizeof(struct pp_part_page) + (size_t)size;
	struct pp_part_page *page;
	struct pp_hold hold;
	char world[WORLD_BYTES], path[512];
	int fd, rc;

	if (!name_world(world, sizeof world) ||
	    snprintf(path, sizeof path, "%s/mpi-%016llx", spool, (unsigned long long)pp_hash_text(world)) >= (int)sizeof path)
		return NULL;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return NULL;
	/* the next rank must open it too, whatever the umask is */
	pp_hold_begin(&hold);
	rc = fchmod(fd, 0600) ? errno : posix_fallocate(fd, 0, (off_t)bytes);
	pp_hold_end(&hold, rc);
	page = rc ? MAP_FAILED : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return page == MAP_FAILED ? NULL : page;
}

static void say_no(struct pp_part_page *page)
{
	uint32_t none = 0;

	atomic_compare_exchange_strong(&page->verdict, &none, PP_PART_NO);
}

void pp_part_mark(struct pp_part *p, const char *spool)
{
	uint32_t none = 0;

	*p = (struct pp_part){.rank = -1};
	read_launcher(p);
	if (p->rank < 0 || p->size <= p->rank || !spool || !*spool)
		return;
	p->page = map_page(spool, p->size);
	if (!p->page)
		return;
	if (!atomic_compare_exchange_strong(&p->page->size, &none, (uint32_t)p->size) && none != (uint32_t)p->size)
		say_no(p->page);
	p->again = atomic_exchange(&p->page->here[p->rank], 1);
	if (p->again)
		say_no(p->page);
}

/* The first rank decides, so that a later mark changes nothing. */
static int all_here(const struct pp_part *p)
{
	uint32_t mine = PP_PART_YES, none = 0;

	for (int i = 0; i < p->size; i++)
		if (!atomic_load(&p->page->here[i]))
			mine = PP_PART_NO;
	return (atomic_compare_exchange_strong(&p->page->verdict, &none, mine) ? mine : none) == PP_PART_YES;
}

const char *pp_part_why_not(const struct pp_part *p, int world_size)
{
	if (p->why)
		return p->why;
	if (world_size != p->size)
		return "the launcher's number of ranks is not MPI's";
	if (!p->one_host)
		return NULL;
	if (p->again)
		return "an earlier program of this rank has called MPI_Init";
	if (!p->page || !all_here(p))
		return "one host, and not every rank had podprof in one spool when it called MPI_Init";
	return NULL;
}

int pp_part_is_first(const struct pp_part *p)
{
	for (int i = 0; p->page && i < p->rank; i++)
		if (atomic_load(&p->page->here[i]))
			return 0;
	return p->page != NULL;
}
