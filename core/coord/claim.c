/* Who is the rank; called by collector.c at the first evidence. */
#include "core/coord/claim.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/proc.h"

enum { TORCH_ROW = 4 };

/* In order of trust: the innermost launcher first, the batch system (whose variables a launcher inside it passes on) later. The
 * last row is also what an operator of a cluster sets for a whole node, so it stands first only where torchrun itself says so. */
static const char *const rank_names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID", "RANK", NULL};
static const char *const size_names[] = {"OMPI_COMM_WORLD_SIZE", NULL, "PMI_SIZE", "SLURM_NTASKS", "WORLD_SIZE", NULL};
static const char *const local_rank_names[] = {
        "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID", "MPI_LOCALRANKID", "SLURM_LOCALID", "LOCAL_RANK", NULL};
static const char *const local_size_names[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "SLURM_TASKS_PER_NODE", "MPI_LOCALNRANKS",
                                               "SLURM_TASKS_PER_NODE",       "LOCAL_WORLD_SIZE",     NULL};

/* Leading digits; "8(x2)" is 8. -1: not set, or no number of a rank, which has a next one. */
static int32_t number(const char *name)
{
	const char *text = name ? getenv(name) : NULL;
	char *end;
	long value;

	if (!text)
		return -1;
	value = strtol(text, &end, 10);
	return end == text || value < 0 || value >= INT32_MAX ? -1 : (int32_t)value;
}

static int read_row(struct pp_claim *c, int i)
{
	c->rank = number(rank_names[i]);
	if (c->rank < 0)
		return 0;
	c->size = number(size_names[i]);
	c->local_rank = number(local_rank_names[i]);
	c->local_size = number(local_size_names[i]);
	if (c->size < 0) /* PMIx alone does not say it; under srun Slurm does */
		c->size = number("SLURM_NTASKS");
	return 1;
}

void pp_claim_read(struct pp_claim *c, int rank, int size)
{
	int is_elastic = getenv("TORCHELASTIC_RUN_ID") != NULL; /* perhaps one torchrun a host, started by mpirun or srun */
	int found = 0;

	*c = (struct pp_claim){-1, -1, -1, -1};
	if (is_elastic)
		found = read_row(c, TORCH_ROW);
	for (int i = 0; rank_names[i] && !found; i++)
		found = read_row(c, i);
	if (size == 1 && c->size > 1) /* an MPI that its launcher did not start: each process is a world of its own */
		rank = size = -1;
	if (rank >= 0)
		c->rank = rank;
	if (size > 0)
		c->size = size;
	if (c->rank < 0) {
		*c = (struct pp_claim){0, 1, 0, 1};
		return;
	}
	if (c->size <= c->rank)
		c->size = c->rank + 1;
}

int pp_claim_is_spawned(const char *spool)
{
	const char *world = getenv("PMIX_NAMESPACE"), *job;
	char path[512], text[4096];

	if (!getenv("OMPI_PARENT_PORT") || !world || !*world)
		return 0;
	if (snprintf(path, sizeof(path), "%s/options", spool) >= (int)sizeof(path))
		return 0;
	if (pp_proc_read(path, text, sizeof(text)) < 0)
		return 1;
	/* A podprof run that was spawned itself made a spool named after its own world. */
	job = strstr(text, "\nJOB=");
	if (!job)
		return 1;
	for (job += 5; *world && (*job == *world || *job == '_'); job++)
		world++;
	return *world || *job != '\n';
}

int pp_claim_is_group(const struct pp_claim *c, int rank, int size, int own)
{
	return rank >= 0 && size > rank && (size > c->size || (own && size == c->size && rank != c->rank));
}

static int take(const struct pp_claim *c, const char *spool, const char *what, struct pp_err *err)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	char path[512];
	int fd, rc, high;

	if (snprintf(path, sizeof(path), "%s/rank-%d.%s", spool, c->rank, what) >= (int)sizeof(path))
		return pp_err_set(err, -ENAMETOOLONG, "not recording: '%s' is too long. Give a shorter --spool", spool);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 && errno == ENOENT)
		return pp_err_set(err, -ENOENT, "not recording: this host has no spool '%s', and podprof could not make one",
		                  spool);
	if (fd < 0)
		return pp_err_set(err, -errno, "not recording: cannot open '%s': %s", path, strerror(errno));
	if (fchmod(fd, 0600)) { /* the next process of the rank opens it too, whatever the umask */
		rc = pp_err_set(err, -errno, "not recording: '%s': %s", path, strerror(errno));
		close(fd);
		return rc;
	}
	if (fcntl(fd, F_SETLK, &lock)) {
		rc = -errno;
		close(fd);
		if (rc == -EACCES || rc == -EAGAIN)
			return pp_err_set(err, -EBUSY, "rank %d is another process", c->rank);
		return pp_err_set(err, rc, "not recording: cannot lock '%s': %s", path, strerror(-rc));
	}
	/* Out of the way of programs that count on the lowest numbers. The lock is the process's: closing any descriptor of
	 * the file would give it up, so the first is kept where the second cannot be had, and taken again where it can. */
	high = fcntl(fd, F_DUPFD_CLOEXEC, 700);
	if (high >= 0) {
		close(fd);
		fd = high;
		if (fcntl(fd, F_SETLK, &lock)) {
			close(fd);
			return pp_err_set(err, -EBUSY, "rank %d is another process", c->rank);
		}
	}
	return fd;
}

int pp_claim_take(const struct pp_claim *c, const char *spool, struct pp_err *err)
{
	return take(c, spool, "claim", err);
}

int pp_claim_take_group(const struct pp_claim *c, const char *spool, struct pp_err *err)
{
	int fd = take(c, spool, "claim", err);

	return fd == -EBUSY ? take(c, spool, "group.claim", err) : fd;
}
