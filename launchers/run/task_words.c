/* Splits the value of --podprof; see task_words.h. */
#include "launchers/run/task_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Length of the next option in the text: up to a comma behind which another one begins. */
static size_t option_length(const char *text)
{
	size_t length = strcspn(text, ",");

	while (text[length]) {
		const char *next = text + length + 1;
		size_t word = strcspn(next, ",=");

		if (!word || next[word] == '=')
			break;
		length += 1 + strcspn(next, ",");
	}
	return length;
}

char **pp_task_words(const char *given, char *const *command)
{
	size_t most = 2 + strlen(given), n = 0;
	char **words;

	for (size_t i = 0; command[i]; i++)
		most++;
	words = calloc(most, sizeof(*words)); /* NOLINT(bugprone-sizeof-expression): pointers */
	if (!words)
		return NULL;
	words[n++] = (char *)"podprof run";
	for (size_t length; *given; given += length + strspn(given + length, ",")) {
		length = option_length(given);
		if (length && asprintf(&words[n++], "--%.*s", (int)length, given) < 0) {
			free(words); /* NOLINT(bugprone-multi-level-implicit-pointer-conversion): pointers */
			return NULL;
		}
	}
	while (*command)
		words[n++] = *command++;
	return words;
}
