/* How large a ring is made: space of the spool, limit on file sizes, memory cgroups of both versions. */
#include "core/ring/room.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/memory_room.h"
#include "core/ring/chunk_pool.h"
#include "tests/test.h"

static const uint64_t MIB = 1 << 20;
static char dir[64], cgroup[128];

static void put(const char *name, const char *text)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	for (char *p = path + strlen(dir) + 1; (p = strchr(p, '/')); *p++ = '/') {
		*p = '\0';
		mkdir(path, 0700);
	}
	f = fopen(path, "w");
	if (!f || fputs(text, f) < 0 || fclose(f))
		abort();
}

static uint64_t room_of(const char *groups)
{
	put("self", groups);
	snprintf(cgroup, sizeof(cgroup), "%s/self", dir);
	return pp_memory_room(cgroup, dir);
}

static void fresh(void)
{
	snprintf(dir, sizeof(dir), "/tmp/podprof-room-XXXXXX");
	if (!mkdtemp(dir))
		abort();
}

static void gone(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	CHECK_INT(system(command), 0);
}

TEST(unlimited)
{
	fresh();
	CHECK(pp_memory_room("/nowhere/cgroup", dir) == UINT64_MAX);
	CHECK(room_of("") == UINT64_MAX);
	CHECK(room_of("no colon") == UINT64_MAX);
	CHECK(room_of("0::/\n") == UINT64_MAX);
	put("job/memory.max", "max\n");
	put("job/memory.current", "1000\n");
	CHECK(room_of("0::/job\n") == UINT64_MAX);
	gone();
}

TEST(version_2)
{
	fresh();
	put("slurm/job/step/memory.max", "100000\n");
	put("slurm/job/step/memory.current", "30000\n");
	CHECK_INT(room_of("0::/slurm/job/step\n"), 70000);
	put("slurm/job/step/memory.stat", "anon 1\nfile 2\nactive_file 7000\ninactive_file 5000\n");
	CHECK_INT(room_of("0::/slurm/job/step\n"), 75000);
	put("slurm/job/memory.max", "60000\n");
	put("slurm/job/memory.current", "40000\n");
	CHECK_INT(room_of("0::/slurm/job/step\n"), 20000);
	put("slurm/job/memory.current", "70000\n");
	CHECK_INT(room_of("0::/slurm/job/step\n"), 0);
	/* a container sees its own group as the root */
	put("memory.max", "5000\n");
	put("memory.current", "1000\n");
	CHECK_INT(room_of("0::/\n"), 4000);
	CHECK_INT(room_of("0::/not/here\n"), 4000);
	gone();
}

TEST(version_1)
{
	fresh();
	put("memory/job/memory.limit_in_bytes", "100000\n");
	put("memory/job/memory.usage_in_bytes", "90000\n");
	put("memory/job/memory.stat", "cache 1\ninactive_file 9\ntotal_inactive_file 20000\n");
	CHECK_INT(room_of("9:name=systemd:/job\n4:cpu,memory:/job\n0::/\n"), 30000);
	CHECK_INT(room_of("4:memory:/job/not/here\n"), 30000);
	CHECK(room_of("4:memoryless:/job\n3:cpuset:/job\n") == UINT64_MAX);
	gone();
}

static int chunks(struct pp_room room, uint64_t ring_bytes, int32_t local_size, uint32_t *ret_chunks)
{
	struct pp_err err = {""};
	int rc = pp_room_chunks(&room, "/spool", ring_bytes, local_size, ret_chunks, &err);

	CHECK(!rc == !err.text[0]);
	return rc;
}

TEST(least_of_all)
{
	uint32_t n = 0;

	CHECK_INT(chunks((struct pp_room){1024 * MIB, UINT64_MAX, UINT64_MAX}, 64 * MIB, 1, &n), 0);
	CHECK_INT(n, 1023);
	CHECK_INT(chunks((struct pp_room){1024 * MIB, 20 * MIB, UINT64_MAX}, 64 * MIB, 1, &n), 0);
	CHECK_INT(n, 20 * 16 - 4);
	CHECK_INT(chunks((struct pp_room){1024 * MIB, UINT64_MAX, 64 * MIB}, 64 * MIB, 1, &n), 0);
	CHECK_INT(n, 8 * 16 - 1);
	CHECK_INT(chunks((struct pp_room){1024 * MIB, UINT64_MAX, 64 * MIB}, 64 * MIB, 4, &n), 0);
	CHECK_INT(n, 2 * 16 - 1);
	CHECK_INT(chunks((struct pp_room){1024 * MIB, UINT64_MAX, MIB / 2}, 64 * MIB, 1, &n), 0);
	CHECK_INT(n, PP_ROOM_LEAST_CHUNKS);
	CHECK_INT(chunks((struct pp_room){1024 * MIB, UINT64_MAX, 1000}, 64 * MIB, 1, &n), -ENOMEM);
	CHECK_INT(chunks((struct pp_room){1000, UINT64_MAX, UINT64_MAX}, 64 * MIB, 1, &n), -ENOSPC);
	CHECK_INT(chunks((struct pp_room){1024 * MIB, 1000, UINT64_MAX}, 64 * MIB, 1, &n), -EFBIG);
}

int main(void)
{
	unlimited();
	version_2();
	version_1();
	least_of_all();
	return test_end();
}
