/* Carries an invitation to the other ranks; see coord_invite.h. Called by coord_mpi.c. */
#include "mpi/coord_invite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/hash.h"
#include "core/base/now.h"
#include "core/base/proc.h"

enum { MESSAGE_BYTES = 4096, PATIENCE_MS = 1000 };

struct message {
	int64_t keeper;  /* rank 0's */
	uint32_t length; /* 0: there is no invitation */
	char text[MESSAGE_BYTES - 12];
} __attribute__((packed));
_Static_assert(sizeof(struct message) == MESSAGE_BYTES, "one size on all ranks");

int64_t pp_invite_keeper(const char *spool)
{
	uint64_t h = PP_HASH_BEGIN;
	char boot[64] = "";
	struct stat st;

	if (!spool || stat(spool, &st))
		return 0;
	pp_proc_read("/proc/sys/kernel/random/boot_id", boot, sizeof boot);
	h = pp_hash(h, boot, strlen(boot));
	h = pp_hash(h, &st.st_dev, sizeof st.st_dev);
	h = pp_hash(h, &st.st_ino, sizeof st.st_ino);
	return (int64_t)(h >> 2 | 1);
}

/* Reads a file in a directory of this user; the keeper renames it into place, so it is complete. */
static uint32_t read_file(const char *path, char *text, size_t room)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;
	ssize_t n = 0;

	if (fd < 0)
		return 0;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() && st.st_size > 0 && (size_t)st.st_size <= room)
		n = read(fd, text, room);
	close(fd);
	return n > 0 && n == st.st_size ? (uint32_t)n : 0;
}

static int spool_file(const struct pp_invite *me, const char *name, char *path, size_t size)
{
	return snprintf(path, size, "%s/%s", me->collector->spool(), name) < (int)size;
}

static void wait_for_keeper(const struct pp_invite *me, struct message *m)
{
	int64_t deadline = pp_now_ms() + PATIENCE_MS;
	char path[512];

	if (!me->collector || !me->collector->want_net || !spool_file(me, "invite", path, sizeof path))
		return;
	me->collector->want_net();
	while (!(m->length = read_file(path, m->text, sizeof m->text)) && pp_now_ms() < deadline)
		pp_nap_ms(1);
}

static void pass_on(const struct pp_invite *me, const struct message *m)
{
	char part[512], path[512];
	ssize_t n;
	int fd;

	if (!spool_file(me, "invite.part", part, sizeof part) || !spool_file(me, "invite", path, sizeof path))
		return;
	unlink(part); /* left by a rank that was killed here */
	fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return;
	n = fchmod(fd, 0600) ? -1 : write(fd, m->text, m->length); /* the keeper must read it, whatever the umask is */
	if (close(fd) || n != (ssize_t)m->length || rename(part, path))
		unlink(part);
}

int pp_invite_all(const struct pp_invite *me, const struct pp_mpi_calls *mpi, MPI_Comm comm)
{
	struct message m;
	int rc;

	memset(&m, 0, sizeof m);
	if (me->rank == 0) {
		m.keeper = me->keeper;
		wait_for_keeper(me, &m);
	}
	rc = mpi->bcast(&m, MESSAGE_BYTES, mpi->of.byte, 0, comm);
	if (rc == MPI_SUCCESS && m.length && m.length <= sizeof m.text && me->collector && me->is_first && me->keeper != m.keeper)
		pass_on(me, &m);
	explicit_bzero(&m, sizeof m);
	return rc == MPI_SUCCESS ? 0 : -EIO;
}
