/* Decides which process is the rank; called by collector.c at the first evidence. */
#include "core/coord/claim.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/proc.h"

enum { PMI_ROW = 2, TORCH_ROW = 4, LOCAL_ROW = 5 };

/* In order of trust: the innermost launcher first, then the batch system, whose variables an inner launcher passes on. Cluster
 * operators set RANK for a whole node too, so it stands first only where torchrun says so itself. Launchers of frameworks set
 * only LOCAL_RANK for ranks that they start on their own host. */
static const char *const rank_names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID", "RANK", "LOCAL_RANK"};
static const char *const size_names[] = {"OMPI_COMM_WORLD_SIZE", NULL, "PMI_SIZE", "SLURM_NTASKS", "WORLD_SIZE", "WORLD_SIZE"};
static const char *const local_rank_names[] = {
        "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID", "MPI_LOCALRANKID", "SLURM_LOCALID", "LOCAL_RANK", "LOCAL_RANK"};
static const char *const local_size_names[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "SLURM_TASKS_PER_NODE", "MPI_LOCALNRANKS",
                                               "SLURM_TASKS_PER_NODE",       "LOCAL_WORLD_SIZE",     "LOCAL_WORLD_SIZE"};
_Static_assert(sizeof(rank_names) / sizeof(rank_names[0]) == PP_CLAIM_ROWS, "a size for each");

/* Leading digits; "8(x2)" is 8. -1: not set, or no valid rank number. */
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

/* LOCAL_RANK is the rank's number on the first host; on others the number of ranks before it is added, where known. */
static int32_t number_of(int row)
{
	int64_t rank = number(rank_names[row]), node, each;

	if (row != LOCAL_ROW || rank < 0)
		return (int32_t)rank;
	node = number("NODE_RANK");
	if (node < 0)
		node = number("GROUP_RANK");
	each = number("LOCAL_WORLD_SIZE");
	if (node > 0)
		rank = each > 0 ? node * each + rank : -1;
	return rank < INT32_MAX ? (int32_t)rank : -1;
}

static int read_row(struct pp_claim *c, int i)
{
	*c = (struct pp_claim){
	        .rank = number_of(i), .size = number(size_names[i]), .by = PP_CLAIM_VARIABLE, .is_local = i == LOCAL_ROW};
	if (c->rank < 0)
		return 0;
	c->local_rank = number(local_rank_names[i]);
	c->local_size = number(local_size_names[i]);
	if (c->size < 0 && i < TORCH_ROW) /* PMIx alone does not give it; under srun Slurm does */
		c->size = number("SLURM_NTASKS");
	if (c->size > 0 && c->size <= c->rank && i == LOCAL_ROW) /* then it is the number of a device */
		return 0;
	if (c->size <= c->rank)
		c->size = c->rank + 1;
	return 1;
}

static int read_variables(struct pp_claim *c)
{
	int is_elastic = getenv("TORCHELASTIC_RUN_ID") != NULL; /* perhaps one torchrun per host, started by mpirun or srun */
	int found = is_elastic && read_row(c, TORCH_ROW);
	struct pp_claim inner;

	for (int i = 0; i < PP_CLAIM_ROWS && !found; i++)
		found = read_row(c, i);
	if (!found)
		*c = (struct pp_claim){.rank = 0, .size = 1, .local_rank = 0, .local_size = 1, .by = PP_CLAIM_NOTHING};
	/* The one task of a launcher or batch system, which starts the ranks itself. */
	for (int i = TORCH_ROW; i < PP_CLAIM_ROWS && c->size == 1; i++)
		if (read_row(&inner, i)) {
			if (number(size_names[i]) > 1)
				*c = inner;
			break;
		}
	return found;
}

void pp_claim_read(struct pp_claim *c, int rank, int size)
{
	struct pp_claim other;

	if (!read_variables(c) && (rank >= 0 || size > 0))
		c->local_rank = c->local_size = -1;
	/* An Open MPI that MPICH's launcher started alone has set its own variables, to 0 of 1. */
	if (size == 1 && c->size == 1 && read_row(&other, PMI_ROW) && number(size_names[PMI_ROW]) > 1)
		*c = other;
	if (size == 1 && c->size > 1) /* MPI was not started by its launcher: each process is a world of its own */
		rank = size = -1;
	if (rank >= 0)
		c->rank = rank;
	if (size > 0)
		c->size = size;
	if (size > 1)
		c->by = PP_CLAIM_MEMBER;
	if (c->size <= c->rank)
		c->size = c->rank + 1;
}

void pp_claim_numbers(int32_t ret_rank[PP_CLAIM_ROWS])
{
	for (int i = 0; i < PP_CLAIM_ROWS; i++)
		ret_rank[i] = number_of(i);
}

int pp_claim_read_changed(struct pp_claim *c, const int32_t born[PP_CLAIM_ROWS])
{
	struct pp_claim now;

	for (int i = 0; i < PP_CLAIM_ROWS; i++)
		if (number_of(i) != born[i] && read_row(&now, i)) {
			*c = now;
			return 1;
		}
	return 0;
}

int pp_claim_is_spawned(const char *spool)
{
	const char *world = getenv("PMIX_NAMESPACE"), *job;
	static char path[512], text[4096]; /* under the collector's claim; the stack may be small */

	if (!getenv("OMPI_PARENT_PORT") || !world || !*world)
		return 0;
	if (snprintf(path, sizeof(path), "%s/options", spool) >= (int)sizeof(path))
		return 0;
	if (pp_proc_read(path, text, sizeof(text)) < 0)
		return 1;
	/* A spawned podprof run made a spool named after its own world. */
	job = strstr(text, "\nJOB=");
	if (!job)
		return 1;
	for (job += 5; *world && (*job == *world || *job == '_'); job++)
		world++;
	return *world || (*job != '\n' && strncmp(job, "-r", 2) != 0); /* "-rN": started again */
}

int pp_claim_is_group(const struct pp_claim *c, int rank, int size, int own)
{
	return rank >= 0 && size > rank && (size > c->size || (size > 1 && size == c->size && (own || c->is_local)));
}

static int take(const struct pp_claim *c, const char *spool, const char *what, struct pp_err *err)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = c->by};
	char path[512];
	int fd, rc, high;

	if (snprintf(path, sizeof(path), "%s/rank-%d.%s", spool, c->rank, what) >= (int)sizeof(path))
		return pp_err_set(err, -ENAMETOOLONG, "not recording: '%s' is too long. Give a shorter --spool", spool);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 && errno == ENOENT)
		return pp_err_set(err, -ENOENT, "not recording: this host has no spool '%s', and podprof could not make one",
		                  spool);
	if (fd < 0)
		return pp_err_set(err, -errno, "not recording: cannot open '%s': %s%s", path, strerror(errno),
		                  errno == EMFILE ? ". Raise the limit by 'ulimit -n'" : "");
	/* Away from the lowest numbers, which some programs count on. Before the lock: closing any descriptor of the file would
	 * drop it, and for that moment another process would take the holder for less sure. */
	high = fcntl(fd, F_DUPFD_CLOEXEC, 700);
	if (high >= 0) {
		close(fd);
		fd = high;
	}
	if (fchmod(fd, 0600)) { /* the next process of the rank opens it too, whatever the umask is */
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
	return fd;
}

/* The holder locks as many bytes as its evidence is sure. */
static int holder_is_less_sure(const struct pp_claim *c, const char *spool)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = c->by - 1};
	char path[512];
	int fd, is_free;

	if (snprintf(path, sizeof(path), "%s/rank-%d.claim", spool, c->rank) >= (int)sizeof(path))
		return 0;
	fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return 0;
	is_free = !fcntl(fd, F_GETLK, &lock) && lock.l_type == F_UNLCK;
	close(fd); /* this process has no lock on the file that close() would drop */
	return is_free;
}

int pp_claim_take(const struct pp_claim *c, const char *spool, uint32_t *ret_beside, struct pp_err *err)
{
	int fd = take(c, spool, "claim", err);

	*ret_beside = fd == -EBUSY && holder_is_less_sure(c, spool);
	return *ret_beside ? take(c, spool, "own.claim", err) : fd;
}

void pp_claim_raise(int fd, enum pp_claim_by by)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = by};

	(void)fcntl(fd, F_SETLK, &lock); /* another process may be testing the lock: then it stays as it was */
}
