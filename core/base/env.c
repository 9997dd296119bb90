/* Copies the environment; see env.h. Called by core/lifecycle.c and by whatever in the collector reads variables. */
#include "core/base/env.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROOM = 8192 }; /* most environments fit: helpers of the job pay for no first malloc() */

static struct { /* together: most of it in one page */
	unsigned asked;
	size_t count;
	char **copy;
	char *room[ROOM / sizeof(char *)];
} env;

void pp_env_take(void)
{
	size_t variables = 0, bytes = 0;
	char *text;

	env.asked++; /* a write is first: a read would map a page of zeros, which the next write would replace */
	if (env.copy || !environ)
		return;
	for (; environ[variables]; variables++)
		bytes += strlen(environ[variables]) + 1;
	bytes += variables * sizeof(*env.copy);
	env.copy = bytes <= sizeof(env.room) ? env.room : malloc(bytes);
	if (!env.copy)
		return;
	text = (char *)(env.copy + variables);
	for (; env.count < variables; env.count++) {
		size_t length = strlen(environ[env.count]) + 1;

		env.copy[env.count] = memcpy(text, environ[env.count], length);
		text += length;
	}
}

const char *pp_env(const char *name)
{
	size_t length = strlen(name);

	if (!env.copy)
		return getenv(name);
	for (size_t i = 0; i < env.count; i++)
		if (!strncmp(env.copy[i], name, length) && env.copy[i][length] == '=')
			return env.copy[i] + length + 1;
	return NULL;
}

char *const *pp_env_all(size_t *ret_count)
{
	pp_env_take();
	*ret_count = env.count;
	return env.copy;
}
