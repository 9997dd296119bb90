/* Prints lines on stderr and texts in JSON, for all verbs. */
#include "launchers/options/say.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/plain.h"
#include "core/base/why.h"
#include "launchers/options/opt_words.h"

void pp_say(const char *fmt, ...)
{
	char text[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fprintf(stderr, "podprof: %s\n", pp_plain(text, "")); /* one write: the lines of ranks do not mix */
}

void pp_say_lines(char *text)
{
	for (char *line = text, *next; line && *line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		pp_say("%s", line);
	}
}

void pp_say_of(char *lines, const char *file)
{
	char *line;

	while ((line = strsep(&lines, "\n")))
		if (*line && file)
			pp_say("'%s' %s.", file, line);
		else if (*line)
			pp_say("%s.", line);
}

int pp_can_rewrite(int fd)
{
	const char *term = getenv("TERM");

	return isatty(fd) && term && *term && strcmp(term, "dumb") != 0;
}

static int in_progress;

void pp_progress(const char *fmt, ...)
{
	const int can_rewrite = pp_can_rewrite(STDERR_FILENO);
	char text[512];
	va_list ap;

	if (!can_rewrite && (in_progress || !isatty(STDERR_FILENO)))
		return;
	in_progress = 1;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (can_rewrite)
		fprintf(stderr, "\rpodprof: %s \033[K", pp_plain(text, ""));
	else
		pp_say("%s", text);
}

void pp_progress_end(void)
{
	if (in_progress && pp_can_rewrite(STDERR_FILENO))
		fputs("\r\033[K", stderr);
	in_progress = 0;
}

int pp_is_printed(const char *what)
{
	errno = 0;
	if (!fflush(stdout) && !ferror(stdout))
		return 1;
	pp_say("cannot print %s: %s.", what, errno ? pp_why(errno) : "standard output takes no more");
	return 0;
}

const char *pp_given_directory(const struct pp_options_verb *verb, int argc, char **argv, int first)
{
	if (argc - first <= 1)
		return first < argc ? argv[first] : pp_opt_table[PP_OPT_ID_OUTPUT].fallback;
	pp_say("too many arguments: '%s': %s takes one directory. Type '%s LOGDIR'.", argv[first + 1], verb->name, verb->name);
	return NULL;
}

char *pp_given_logdir(const char *given)
{
	char *path = realpath(given, NULL);
	struct stat st;

	if (path && !stat(path, &st) && S_ISDIR(st.st_mode))
		return path;
	if (path)
		pp_say("cannot open '%s': not a directory. Give the directory that -o named.", given);
	else
		pp_say("cannot open '%s': %s. Give the directory that -o named; a job that recorded nothing leaves none.", given,
		       pp_why(errno));
	free(path);
	return NULL;
}

int pp_columns(void)
{
	struct winsize w;

	if (!isatty(STDOUT_FILENO))
		return 0;
	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) || !w.ws_col ? INT_MAX : w.ws_col;
}
