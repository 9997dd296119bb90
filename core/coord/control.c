/* The keeper's control page; see control.h. Called by self.c at the claim, and by ending.c and unrecorded.c at the exit. */
#include "core/coord/control.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/ring/disk_fault.h"

const struct pp_control *pp_control_map(const char *spool, int *ret_foreign)
{
	char path[512];
	struct pp_control *c;
	int fd;

	snprintf(path, sizeof(path), "%s/control", spool);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	/* A short file: the keeper is still making it. */
	if (lseek(fd, 0, SEEK_END) < (off_t)sizeof(*c)) {
		close(fd);
		return NULL;
	}
	c = mmap(NULL, sizeof(*c), PROT_READ, MAP_SHARED, fd, 0);
	if (c != MAP_FAILED)
		pp_disk_fault_guard(c, sizeof(*c), fd);
	close(fd);
	if (c == MAP_FAILED)
		return NULL;
	*ret_foreign = memcmp(c->magic, PP_CONTROL_MAGIC, sizeof(c->magic)) || c->version != PP_RING_VERSION ||
	               c->byte_order != PP_RING_BYTE_ORDER;
	if (*ret_foreign) {
		pp_disk_fault_forget(c);
		munmap(c, sizeof(*c));
		return NULL;
	}
	return c;
}

/* By robust futexes, which the kernel changes when their holders end. */
int pp_control_keeper_lives(const struct pp_control *c)
{
	uint32_t guard = atomic_load_explicit(&c->guard_life, memory_order_acquire);

	return !(atomic_load_explicit(&c->keeper_life, memory_order_acquire) & FUTEX_OWNER_DIED) ||
	       (guard && !(guard & FUTEX_OWNER_DIED));
}

int pp_control_is_final(const struct pp_control *c)
{
	uint32_t state = pp_control_keeper_state(c);

	return state == PP_KEEPER_DONE || state == PP_KEEPER_FAILED;
}
