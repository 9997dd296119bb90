/* Prints lines on stderr and texts in JSON, for all verbs. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/plain.h"
#include "launchers/cmd.h"

void pp_say(const char *fmt, ...)
{
	char text[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fprintf(stderr, "podprof: %s\n", pp_plain(text, "")); /* one write: the lines of ranks do not mix */
}

void pp_say_json(const char *text)
{
	putchar('"');
	for (; *text; text++) {
		if ((unsigned char)*text < ' ')
			printf("\\u%04x", (unsigned)(unsigned char)*text);
		else
			printf("%s%c", *text == '"' || *text == '\\' ? "\\" : "", *text);
	}
	putchar('"');
}

const char *pp_why(int error)
{
	static _Thread_local char text[128];

	snprintf(text, sizeof(text), "%s", strerror(error));
	if (text[0] >= 'A' && text[0] <= 'Z' && !(text[1] >= 'A' && text[1] <= 'Z'))
		text[0] = (char)(text[0] - 'A' + 'a');
	return text;
}

char *pp_given_logdir(const char *given)
{
	char *path = realpath(given, NULL);
	struct stat st;

	if (path && !stat(path, &st) && S_ISDIR(st.st_mode))
		return path;
	pp_say("cannot open '%s': %s. Give the directory that -o named.", given, pp_why(path ? ENOTDIR : errno));
	free(path);
	return NULL;
}
