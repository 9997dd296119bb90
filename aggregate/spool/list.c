/* Finds the spools of this user on this node; see list.h. */
#include "aggregate/spool/list.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aggregate/spool/root.h"
#include "core/base/hash.h"

#define AT ".at-" /* in the root of spools: a link to a spool elsewhere */

enum { ROOTS = 4, WALKED = 3 };

struct root {
	char path[PP_SPOOL_PATH];
};

/* Is it ours, and not writable for others? */
static int is_root(const char *root)
{
	struct stat st;

	return !lstat(root, &st) && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

/* Is it below one of the roots that every process of the user looks into? */
static int is_found_anyway(const char *spool)
{
	const char *const under[] = {PP_SPOOL_ROOT_SHM, PP_SPOOL_ROOT_STAYS};
	char base[64];

	for (size_t i = 0; i < 2; i++) {
		snprintf(base, sizeof(base), "%s/podprof-%u/", under[i], (unsigned)geteuid());
		if (!strncmp(spool, base, strlen(base)))
			return 1;
	}
	return 0;
}

void pp_spool_announce(const char *spool)
{
	char root[PP_SPOOL_PATH], path[PP_SPOOL_PATH + 32];
	const char *const under[] = {pp_spool_root_find(NULL), PP_SPOOL_ROOT_SHM, "/tmp"};

	if (is_found_anyway(spool))
		return;
	for (size_t i = 0; i < 3; i++) {
		snprintf(root, sizeof(root), "%s/podprof-%u", under[i], (unsigned)geteuid());
		mkdir(root, 0700);
		snprintf(path, sizeof(path), "%s/" AT "%016llx", root, (unsigned long long)pp_hash_text(spool));
		if (is_root(root) && (!symlink(spool, path) || errno == EEXIST))
			return;
	}
}

/* Where spools of this user may be; in the last one there are only links of pp_spool_announce() for us. Returns how many. */
static int list_roots(struct root root[ROOTS])
{
	const char *tmp = getenv("TMPDIR");
	const char *const base[ROOTS] = {PP_SPOOL_ROOT_SHM, PP_SPOOL_ROOT_STAYS, tmp && *tmp == '/' ? tmp : "/tmp", "/tmp"};

	for (int i = 0; i < ROOTS; i++)
		snprintf(root[i].path, PP_SPOOL_PATH, "%s/podprof-%u", base[i], (unsigned)geteuid());
	return !strcmp(root[2].path, root[3].path) ? WALKED : ROOTS;
}

/* Follows a link of pp_spool_announce() to a spool that is not below a root searched anyway; removes a dangling one. */
static int see_elsewhere(const char *from, const char *name, const struct root root[ROOTS],
                         int (*see)(const struct pp_spool_state *state, void *data), void *data)
{
	char path[PP_SPOOL_PATH + 256], to[PP_SPOOL_PATH];
	struct pp_spool_state state;
	ssize_t n;

	if (snprintf(path, sizeof(path), "%s/%s", from, name) >= (int)sizeof(path))
		return 0;
	n = readlink(path, to, sizeof(to) - 1);
	if (n <= 0)
		return 0;
	to[n] = '\0';
	for (int i = 0; i < WALKED; i++) {
		size_t length = strlen(root[i].path);

		if (!strncmp(to, root[i].path, length) && to[length] == '/' && !strchr(to + length + 1, '/'))
			return 0;
	}
	if (access(to, F_OK) && errno == ENOENT)
		unlink(path);
	else if (!pp_spool_read(to, &state) && pp_spool_is_one(to) >= 0) {
		state.elsewhere = 1;
		return see(&state, data);
	}
	return 0;
}

int pp_spool_each(int (*see)(const struct pp_spool_state *state, void *data), void *data)
{
	struct root root[ROOTS];
	char path[PP_SPOOL_PATH + 256];
	int roots = list_roots(root), rc = 0;
	struct pp_spool_state state;
	struct dirent *e;

	for (int i = 0; i < roots && !rc; i++) {
		DIR *d;

		if (i == 2 && (!strcmp(root[2].path, root[0].path) || !strcmp(root[2].path, root[1].path)))
			continue;
		/* a directory of another user with our name is ignored */
		d = is_root(root[i].path) ? opendir(root[i].path) : NULL;
		while (d && !rc && (e = readdir(d))) {
			if (!strncmp(e->d_name, AT, strlen(AT)))
				rc = see_elsewhere(root[i].path, e->d_name, root, see, data);
			if (e->d_name[0] == '.' || i == WALKED)
				continue;
			if (snprintf(path, sizeof(path), "%s/%s", root[i].path, e->d_name) < PP_SPOOL_PATH &&
			    !pp_spool_read(path, &state))
				rc = see(&state, data);
		}
		if (d)
			closedir(d);
	}
	return rc;
}
