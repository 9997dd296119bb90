/* Memory that the cgroup limits leave; see memory_room.h. Tmpfs pages of rings are charged to them, as the keeper's records
 * are. */
#include "core/base/memory_room.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/proc.h"

enum { PATH_ROOM = 1024, TEXT_ROOM = 4096 };

struct files { /* of one version of cgroups */
	const char *limit, *used, *stat, *idle;
};

static const struct files v2 = {"memory.max", "memory.current", "memory.stat", "\ninactive_file "};
static const struct files v1 = {"memory.limit_in_bytes", "memory.usage_in_bytes", "memory.stat", "\ntotal_inactive_file "};

static int read_in(const char *directory, const char *name, char *text, size_t size)
{
	char path[PATH_ROOM + 32];

	return snprintf(path, sizeof(path), "%s/%s", directory, name) < (int)sizeof(path) && pp_proc_read(path, text, size) > 0;
}

static uint64_t room_in(const char *directory, const struct files *f)
{
	uint64_t limit, used, idle = 0;
	char text[TEXT_ROOM], *found;

	/* "max" is no number */
	if (!read_in(directory, f->limit, text, sizeof(text)) || text[0] < '0' || text[0] > '9')
		return UINT64_MAX;
	limit = strtoull(text, NULL, 10);
	if (!read_in(directory, f->used, text, sizeof(text)))
		return UINT64_MAX;
	used = strtoull(text, NULL, 10);
	if (read_in(directory, f->stat, text, sizeof(text)) && (found = strstr(text, f->idle)))
		idle = strtoull(found + strlen(f->idle), NULL, 10);
	used -= idle < used ? idle : used;
	return used < limit ? limit - used : 0;
}

/* A container may see its own group as the root, or a path of the host that does not exist inside: every directory that exists
 * counts. */
static uint64_t room_along(const char *base, const char *group, size_t length, const struct files *f)
{
	uint64_t least = UINT64_MAX;
	char path[PATH_ROOM];

	while (length && group[length - 1] == '/')
		length--;
	for (;;) {
		uint64_t room = UINT64_MAX;

		if (snprintf(path, sizeof(path), "%s%.*s", base, (int)length, group) < (int)sizeof(path))
			room = room_in(path, f);
		least = room < least ? room : least;
		if (!length)
			return least;
		while (length && group[--length] != '/')
			;
	}
}

static int has_memory(const char *controllers, size_t length)
{
	const char *end = controllers + length;

	while (controllers < end) {
		size_t n = strcspn(controllers, ",:");

		if (n == strlen("memory") && !strncmp(controllers, "memory", n))
			return 1;
		controllers += n + 1;
	}
	return 0;
}

uint64_t pp_memory_room(const char *cgroup_file, const char *root)
{
	static const char *const place[] = {"", "/unified", "/memory"};
	uint64_t least = UINT64_MAX;
	char text[TEXT_ROOM], base[PATH_ROOM];

	if (pp_proc_read(cgroup_file, text, sizeof(text)) <= 0)
		return least;
	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		const char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
		int is_v2;

		if (!group)
			break;
		controllers++;
		is_v2 = controllers == group;
		group++;
		if (!is_v2 && !has_memory(controllers, (size_t)(group - 1 - controllers)))
			continue;
		for (int i = is_v2 ? 0 : 2; i < (is_v2 ? 2 : 3); i++) {
			uint64_t room;

			if (snprintf(base, sizeof(base), "%s%s", root, place[i]) >= (int)sizeof(base))
				continue;
			room = room_along(base, group, strcspn(group, "\n"), is_v2 ? &v2 : &v1);
			least = room < least ? room : least;
		}
	}
	return least;
}
