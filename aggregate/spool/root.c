/* Finds the directory for spools; see root.h. Called before each process of a Slurm job starts: it reads a few small files. */
#include "aggregate/spool/root.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { LINE = 8192, DROP_INS = 64, NAME = 128, SYSTEM_UID_MAX = 999 };

static FILE *open_in(const char *root, const char *path)
{
	char full[PATH_MAX];

	return snprintf(full, sizeof(full), "%s%s", root, path) < (int)sizeof(full) ? fopen(full, "re") : NULL;
}

static int exists(const char *root, const char *directory, const char *name)
{
	char full[PATH_MAX];

	return snprintf(full, sizeof(full), "%s%s%s", root, directory, name) < (int)sizeof(full) && !access(full, F_OK);
}

/* ".../N/.N" or a directory in it, for a number N: what Slurm's plug-ins name the directories that they mount for job N. */
static int is_of_job(const char *source)
{
	for (const char *dot = strstr(source, "/."); dot; dot = strstr(dot + 1, "/.")) {
		const char *number = dot;
		size_t length;

		while (number > source && isdigit((unsigned char)number[-1]))
			number--;
		length = (size_t)(dot - number);
		if (length && number > source && number[-1] == '/' && !strncmp(dot + 2, number, length) &&
		    (!dot[2 + length] || dot[2 + length] == '/'))
			return 1;
	}
	return 0;
}

static int is_below(const char *path, const char *mount)
{
	size_t length = strlen(mount);

	return !strcmp(mount, "/") || (!strncmp(path, mount, length) && (!path[length] || path[length] == '/'));
}

/* Mounts are listed in the order in which they were made, of one place the uppermost last. Slurm mounts its directories in the new
 * namespace of the job, /dev/shm behind the others: what stands before the first of them is the node's. */
int pp_spool_root_is_jobs(const char *root, const char *path)
{
	char *line = malloc(LINE), source[PATH_MAX], mount[PATH_MAX];
	FILE *f = line ? open_in(root, "/proc/self/mountinfo") : NULL;
	int begun = 0, found = 0;
	size_t longest = 0;

	while (f && fgets(line, LINE, f)) {
		if (sscanf(line, "%*d %*d %*s %4095s %4095s", source, mount) != 2)
			continue;
		begun |= is_of_job(source);
		if (is_below(path, mount) && strlen(mount) >= longest) {
			longest = strlen(mount);
			found = begun;
		}
	}
	if (f)
		fclose(f);
	free(line);
	return found;
}

/* The words of systemd. -1: neither. */
static int truth(const char *text)
{
	static const char *const word[2][6] = {{"0", "no", "n", "false", "f", "off"}, {"1", "yes", "y", "true", "t", "on"}};
	size_t length = strcspn(text, " \t\r\n");

	for (int value = 0; value < 2; value++)
		for (size_t i = 0; i < 6; i++)
			if (strlen(word[value][i]) == length && !strncasecmp(text, word[value][i], length))
				return value;
	return -1;
}

/* The main file has its defaults as comments: as systemd was compiled, which differs between distributions. */
static void read_ipc(FILE *f, int with_comments, int *value)
{
	char line[1024];

	while (f && fgets(line, sizeof(line), f)) {
		const char *p = line + strspn(line, " \t");
		int truth_of;

		if (with_comments && (*p == '#' || *p == ';'))
			p += 1 + strspn(p + 1, " \t");
		if (strncmp(p, "RemoveIPC", 9) != 0)
			continue;
		p += 9 + strspn(p + 9, " \t");
		truth_of = *p == '=' ? truth(p + 1 + strspn(p + 1, " \t")) : -1;
		if (truth_of >= 0)
			*value = truth_of;
	}
	if (f)
		fclose(f);
}

/* In the order in which the first one that has a file wins. */
static const char *const places[] = {"/etc/systemd/logind.conf", "/run/systemd/logind.conf", "/usr/local/lib/systemd/logind.conf",
                                     "/usr/lib/systemd/logind.conf"};
enum { PLACES = sizeof(places) / sizeof(places[0]) };

static FILE *open_first(const char *root, const char *end)
{
	char path[PATH_MAX];
	FILE *f = NULL;

	for (int i = 0; i < PLACES && !f; i++) {
		snprintf(path, sizeof(path), "%s%s", places[i], end);
		f = open_in(root, path);
	}
	return f;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void list_drop_ins(const char *root, int place, char (*name)[NAME], size_t *n)
{
	char path[PATH_MAX];
	struct dirent *e;
	DIR *d;

	snprintf(path, sizeof(path), "%s%s.d", root, places[place]);
	d = opendir(path);
	while (d && (e = readdir(d)) && *n < DROP_INS) {
		size_t length = strlen(e->d_name);

		if (length > 5 && length < NAME - 4 && !strcmp(e->d_name + length - 5, ".conf"))
			snprintf(name[(*n)++], NAME, ".d/%.*s", NAME - 4, e->d_name);
	}
	if (d)
		closedir(d);
}

int pp_spool_root_removes_ipc(const char *root)
{
	char(*name)[NAME] = calloc(DROP_INS, sizeof(*name));
	int value = 1;
	size_t n = 0;

	read_ipc(open_first(root, ""), 1, &value);
	for (int i = 0; i < PLACES && name; i++)
		list_drop_ins(root, i, name, &n);
	if (name)
		qsort(name, n, sizeof(*name), by_name);
	for (size_t i = 0; i < n; i++)
		if (!i || strcmp(name[i], name[i - 1]) != 0)
			read_ipc(open_first(root, name[i]), 0, &value);
	free(name);
	return value && exists(root, "/run/systemd/system", "") && exists(root, "/run/systemd/seats", ""); /* logind runs */
}

static unsigned system_uid_max(const char *root)
{
	FILE *f = open_in(root, "/etc/login.defs");
	unsigned value = SYSTEM_UID_MAX;
	char line[1024];

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "SYS_UID_MAX", 11) && isspace((unsigned char)line[11]))
			value = (unsigned)strtoul(line + 11, NULL, 10);
	if (f)
		fclose(f);
	return value;
}

int pp_spool_root_loses_ipc(const char *root, unsigned uid, const char *name)
{
	char number[16];

	snprintf(number, sizeof(number), "%u", uid);
	return exists(root, "/run/systemd/users/", number) && uid > system_uid_max(root) &&
	       !(name && exists(root, "/var/lib/systemd/linger/", name)) && pp_spool_root_removes_ipc(root);
}

static enum pp_spool_root_why decide(void)
{
	const char *name = getenv("USER");
	char *stays;
	int jobs;

	if (!getenv("SLURM_JOB_ID"))
		return PP_SPOOL_ROOT_PLAIN;
	if (!pp_spool_root_is_jobs("", PP_SPOOL_ROOT_SHM))
		return pp_spool_root_loses_ipc("", geteuid(), name) ? PP_SPOOL_ROOT_IPC : PP_SPOOL_ROOT_PLAIN;
	stays = realpath(PP_SPOOL_ROOT_STAYS, NULL); /* it may be a link to /tmp */
	jobs = !stays || pp_spool_root_is_jobs("", stays);
	free(stays);
	return jobs ? PP_SPOOL_ROOT_NONE : PP_SPOOL_ROOT_MOUNTED;
}

const char *pp_spool_root_find(enum pp_spool_root_why *ret_why)
{
	static int known;
	static enum pp_spool_root_why why;

	if (!known)
		why = decide();
	known = 1;
	if (ret_why)
		*ret_why = why;
	return why == PP_SPOOL_ROOT_MOUNTED || why == PP_SPOOL_ROOT_IPC ? PP_SPOOL_ROOT_STAYS : PP_SPOOL_ROOT_SHM;
}
