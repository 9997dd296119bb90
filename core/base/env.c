/* Copies the environment; see env.h. Called by core/lifecycle.c and by whatever in the collector reads variables. */
#include "core/base/env.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char **copy;
static size_t count;

void pp_env_take(void)
{
	size_t variables = 0, bytes = 0;
	char *text;

	if (copy || !environ)
		return;
	for (; environ[variables]; variables++)
		bytes += strlen(environ[variables]) + 1;
	copy = malloc(variables * sizeof(*copy) + bytes + 1); /* never nothing */
	if (!copy)
		return;
	text = (char *)(copy + variables);
	for (; count < variables; count++) {
		size_t length = strlen(environ[count]) + 1;

		copy[count] = memcpy(text, environ[count], length);
		text += length;
	}
}

const char *pp_env(const char *name)
{
	size_t length = strlen(name);

	if (!copy)
		return getenv(name);
	for (size_t i = 0; i < count; i++)
		if (!strncmp(copy[i], name, length) && copy[i][length] == '=')
			return copy[i] + length + 1;
	return NULL;
}

char *const *pp_env_all(size_t *ret_count)
{
	pp_env_take();
	*ret_count = count;
	return copy;
}
