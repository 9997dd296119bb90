/* How large a rank's ring may be; see room.h. Called by chunk_pool.c. */
#include "core/ring/room.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include "core/base/memory_room.h"
#include "core/ring/ring_file.h"

enum { HEAD_BYTES = 65536 }; /* of the header, what is reserved at first */

#define LEAST_BYTES (HEAD_BYTES + (uint64_t)PP_ROOM_LEAST_CHUNKS * PP_CHUNK_BYTES)
#define LEAST_FILE (PP_RING_HEADER_BYTES + (uint64_t)PP_ROOM_LEAST_CHUNKS * PP_CHUNK_BYTES)

int pp_room_read(const char *spool, struct pp_room *ret_room, struct pp_err *err)
{
	struct rlimit most;
	struct statvfs fs;

	if (statvfs(spool, &fs))
		return pp_err_set(err, -errno, "not recording: '%s': %s", spool, strerror(errno));
	*ret_room = (struct pp_room){.space = (uint64_t)fs.f_bavail * fs.f_frsize, .file_size = UINT64_MAX};
	ret_room->memory = pp_memory_room(PP_MEMORY_CGROUP, PP_MEMORY_ROOT);
	if (!getrlimit(RLIMIT_FSIZE, &most) && most.rlim_cur != RLIM_INFINITY)
		ret_room->file_size = most.rlim_cur;
	return 0;
}

/* At most 1/8 of the free space, or of the memory that is left, shared by the local ranks; unknown: 1/64. Little space still
 * gives the minimum, as long as half of it stays free. */
int pp_room_chunks(const struct pp_room *room, const char *spool, uint64_t ring_bytes, int32_t local_size, uint32_t *ret_chunks,
                   struct pp_err *err)
{
	uint64_t local = local_size > 0 ? (uint64_t)local_size : 8;
	uint64_t space = room->space < room->memory ? room->space : room->memory, bytes = space / 8 / local, chunks;

	if (bytes > ring_bytes)
		bytes = ring_bytes;
	if (bytes < LEAST_BYTES) {
		if (space / 2 / local < LEAST_BYTES && space < room->space)
			return pp_err_set(err, -ENOMEM,
			                  "not recording: the memory cgroup has only %llu KiB left. Give the job more memory",
			                  (unsigned long long)(space / 1024));
		if (space / 2 / local < LEAST_BYTES)
			return pp_err_set(err, -ENOSPC,
			                  "not recording: '%s' has only %llu KiB free. Give more memory there, or --spool DIR",
			                  spool, (unsigned long long)(room->space / 1024));
		bytes = LEAST_BYTES;
	}
	if (room->file_size < LEAST_FILE)
		return pp_err_set(err, -EFBIG,
		                  "not recording: the limit on file sizes is %llu KiB, a rank's ring needs %llu KiB. Raise it by "
		                  "'ulimit -f'",
		                  (unsigned long long)(room->file_size / 1024), (unsigned long long)(LEAST_FILE / 1024));
	chunks = (bytes - HEAD_BYTES) / PP_CHUNK_BYTES;
	if (chunks > (room->file_size - PP_RING_HEADER_BYTES) / PP_CHUNK_BYTES)
		chunks = (room->file_size - PP_RING_HEADER_BYTES) / PP_CHUNK_BYTES;
	*ret_chunks = chunks > PP_ROOM_MOST_CHUNKS ? PP_ROOM_MOST_CHUNKS : (uint32_t)chunks;
	return 0;
}
