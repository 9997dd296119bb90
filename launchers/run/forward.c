/* What mpirun is told to pass on to other hosts; see forward.h. Called by podprof run and env_plan.c. */
#include "launchers/run/forward.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is_one_of(const char *word, const char *const *names)
{
	for (; *names; names++)
		if (!strcmp(word, *names))
			return 1;
	return 0;
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Where a shell would find it, links followed; "" nowhere. */
static void real_path(const char *command, char *ret_path)
{
	const char *path = getenv("PATH");
	char file[PATH_MAX];

	*ret_path = '\0';
	if (strchr(command, '/')) {
		if (!realpath(command, ret_path))
			*ret_path = '\0';
		return;
	}
	for (path = path ? path : "/bin:/usr/bin"; path; path = strchr(path, ':') ? strchr(path, ':') + 1 : NULL) {
		int length = (int)strcspn(path, ":");

		if (snprintf(file, sizeof(file), "%.*s%s%s", length, path, length ? "/" : "", command) < (int)sizeof(file) &&
		    !access(file, X_OK) && realpath(file, ret_path))
			return;
	}
	*ret_path = '\0';
}

/* Others have an mpirun too, which would not know "-x". */
static int is_open_mpi(const char *command)
{
	static const char *const own[] = {"orterun", "prterun", "prun", NULL}, *const shared[] = {"mpirun", "mpiexec", NULL};
	char path[PATH_MAX], beside[PATH_MAX + 16];

	real_path(command, path);
	if (is_one_of(last_part(path), own))
		return 1;
	snprintf(beside, sizeof(beside), "%.*sprterun", (int)(last_part(path) - path), path);
	return is_one_of(last_part(path), shared) && !access(beside, X_OK);
}

enum pp_forward pp_forward_how(char *const *command)
{
	static const char *const launchers[] = {"mpirun",         "mpiexec",         "orterun", "prterun",
	                                        "mpirun.openmpi", "mpiexec.openmpi", NULL};
	static const char *const hidden[] = {
	        "--app", "-app", "--tune", "-tune", "--am", "-am", "--amca", "-amca", "mca_base_env_list", NULL};
	static const char *const words[] = {"-x", "--x", NULL};
	int has_words = 0;

	if (!command[0] || !is_one_of(last_part(command[0]), launchers))
		return PP_FORWARD_NOT;
	for (size_t i = 1; command[i]; i++) {
		if (is_one_of(command[i], hidden))
			return PP_FORWARD_NOT;
		has_words |= is_one_of(command[i], words);
	}
	if (!has_words)
		return PP_FORWARD_BY_LIST;
	/* A word of the application may look like it: the list would be right, and the other way is right for both. */
	return is_open_mpi(command[0]) && !getenv(PP_FORWARD_LIST) ? PP_FORWARD_BY_WORDS : PP_FORWARD_NOT;
}

char *pp_forward_list(const struct pp_env_plan *plan, const char *(*get)(const char *name))
{
	const char *had = get(PP_FORWARD_LIST), *between = get(PP_FORWARD_LIST "_delimiter");
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	if (!between || !*between)
		between = ";";
	fputs(had ? had : "", f);
	for (size_t i = 0; i < plan->count; i++)
		fprintf(f, "%s%s", i || (had && *had) ? between : "", plan->variable[i].name);
	if (fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}

/* The user gives it a value of his own there. */
static int is_given(char *const *command, const char *name)
{
	size_t length = strlen(name);

	for (size_t i = 1; command[i]; i++)
		if (!strncmp(command[i], name, length) && (!command[i][length] || command[i][length] == '='))
			return 1;
	return 0;
}

char **pp_forward_words(const struct pp_env_plan *plan, char *const *command)
{
	size_t words = 0, contexts = 1, n = 0;
	char **line;

	for (; command[words]; words++)
		contexts += words && !strcmp(command[words], ":");
	line = calloc(words + contexts * plan->count * 2 + 1, sizeof(*line));
	if (!line)
		return NULL;
	for (size_t i = 0; i < words; i++) {
		line[n++] = command[i];
		if (i && strcmp(command[i], ":"))
			continue;
		for (size_t k = 0; k < plan->count; k++) {
			if (is_given(command, plan->variable[k].name))
				continue;
			line[n++] = (char *)"-x";
			line[n++] = (char *)plan->variable[k].name; /* static */
		}
	}
	return line;
}
