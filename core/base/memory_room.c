/* Memory that the cgroup limits leave; see memory_room.h. Tmpfs pages of rings are charged to them, as the keeper's records
 * are. */
#include "core/base/memory_room.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/base/proc.h"

enum { PATH_ROOM = 1024, TEXT_ROOM = 4096 };

/* Not on the stack: the application's thread may have a small one. */
struct scratch {
	char groups[TEXT_ROOM], text[TEXT_ROOM], base[PATH_ROOM], directory[PATH_ROOM], file[PATH_ROOM + 32];
};

struct files { /* of one version of cgroups */
	const char *limit, *used, *stat, *idle;
};

static const struct files v2 = {"memory.max", "memory.current", "memory.stat", "\ninactive_file "};
static const struct files v1 = {"memory.limit_in_bytes", "memory.usage_in_bytes", "memory.stat", "\ntotal_inactive_file "};

static int read_in(struct scratch *s, const char *name)
{
	return snprintf(s->file, sizeof(s->file), "%s/%s", s->directory, name) < (int)sizeof(s->file) &&
	       pp_proc_read(s->file, s->text, sizeof(s->text)) > 0;
}

static uint64_t room_in(struct scratch *s, const struct files *f)
{
	uint64_t limit, used, idle = 0;
	char *found;

	/* "max" is no number */
	if (!read_in(s, f->limit) || s->text[0] < '0' || s->text[0] > '9')
		return UINT64_MAX;
	limit = strtoull(s->text, NULL, 10);
	if (!read_in(s, f->used))
		return UINT64_MAX;
	used = strtoull(s->text, NULL, 10);
	if (read_in(s, f->stat) && (found = strstr(s->text, f->idle)))
		idle = strtoull(found + strlen(f->idle), NULL, 10);
	used -= idle < used ? idle : used;
	return used < limit ? limit - used : 0;
}

/* A container may see its own group as the root, or a path of the host that does not exist inside: every directory that exists
 * counts. */
static uint64_t room_along(struct scratch *s, const char *group, size_t length, const struct files *f)
{
	uint64_t least = UINT64_MAX;

	while (length && group[length - 1] == '/')
		length--;
	for (;;) {
		uint64_t room = UINT64_MAX;

		if (snprintf(s->directory, sizeof(s->directory), "%s%.*s", s->base, (int)length, group) < (int)sizeof(s->directory))
			room = room_in(s, f);
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

static uint64_t find_room(struct scratch *s, const char *cgroup_file, const char *root)
{
	static const char *const place[] = {"", "/unified", "/memory"};
	uint64_t least = UINT64_MAX;

	if (pp_proc_read(cgroup_file, s->groups, sizeof(s->groups)) <= 0)
		return least;
	for (const char *line = s->groups; *line; line += strcspn(line, "\n"), line += *line == '\n') {
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

			if (snprintf(s->base, sizeof(s->base), "%s%s", root, place[i]) >= (int)sizeof(s->base))
				continue;
			room = room_along(s, group, strcspn(group, "\n"), is_v2 ? &v2 : &v1);
			least = room < least ? room : least;
		}
	}
	return least;
}

uint64_t pp_memory_room(const char *cgroup_file, const char *root)
{
	struct scratch *s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t room;

	if (s == MAP_FAILED)
		return UINT64_MAX;
	room = find_room(s, cgroup_file, root);
	munmap(s, sizeof(*s));
	return room;
}
