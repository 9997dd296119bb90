/* podprof: the command line. In: argv. Out: one verb's exit code. cmd_*.c have the verbs. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/plain.h"
#include "core/base/shell_word.h"
#include "launchers/cmd.h"
#include "launchers/options/help.h"
#include "launchers/options/options.h"
#include "launchers/options/say.h"
#include "launchers/options/verbs.h"
#include "launchers/run/file_limit.h"
#include "launchers/run/program.h"

static int first_words(void)
{
	puts("podprof profiles a whole training job and names the bottleneck. Type one of these first:\n"
	     "  mpirun -n 8 podprof run -o logs -- ./train                 record every rank\n"
	     "  mpirun -n 8 podprof run -o logs --steps 10:20 -- ./train   record steps 10 to 19 only\n"
	     "  podprof report logs                                        print the bottleneck and the straggler\n"
	     "  podprof doctor                                             check what works on this node\n"
	     "  podprof --help                                             list all verbs");
	return PP_EXIT_OK;
}

static int help(void)
{
	const char *group = "";

	puts("Usage: podprof VERB [OPTION...] [ARGUMENT...]");
	for (int i = 0; i < PP_VERBS; i++) {
		const struct pp_help_example *e = pp_help_example(pp_verbs[i].name, NULL);

		if (!pp_verbs[i].what)
			continue;
		if (strcmp(group, pp_verbs[i].group))
			printf("\n%s:\n", pp_verbs[i].group);
		group = pp_verbs[i].group;
		pp_help_wrap(pp_verbs[i].what, 14, printf("  %s", pp_verbs[i].name));
		if (e)
			printf("  %-11s   %s\n", "", e->command);
	}
	putchar('\n');
	pp_help_wrap(
	        "Options stand behind the verb, as --name VALUE or --name=VALUE. 'podprof VERB --help' explains them. Each option "
	        "also has a variable: PODPROF_STEPS=10:20 means --steps 10:20. The command line overrides the variable, and the "
	        "variable overrides the default.",
	        0, 0);
	return PP_EXIT_OK;
}

/* What users of other profilers type. */
static const char *known_elsewhere(const char *word)
{
	static const char *const words[][2] = {{"record", "run"},      {"profile", "run"},  {"start", "run"},   {"trace", "run"},
	                                       {"show", "report"},     {"print", "report"}, {"view", "report"}, {"open", "report"},
	                                       {"analyse", "analyze"}, {"list", "report"},  {"top", "status"},  {"check", "doctor"},
	                                       {"recover", "salvage"}};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(words[i][0], word))
			return words[i][1];
	return NULL;
}

/* Somebody typed a command without `run`: says what to type, whole as far as it fits. */
static int program(char *const *words)
{
	char command[400] = "", word[PATH_MAX];
	size_t n = 0;

	for (; *words && n < sizeof(command); words++)
		n += (size_t)snprintf(command + n, sizeof(command) - n, " %s", pp_shell_word(*words, word, sizeof(word)));
	pp_say("'%.*s' is a program: did you mean 'podprof run --%s%s'?", (int)strcspn(command + 1, " "), command + 1,
	       pp_plain(command, ""), *words || n >= sizeof(command) ? "..." : "");
	return PP_EXIT_USAGE;
}

/* `words`: of the command line, from the unknown one. */
static int unknown(char *const *words)
{
	const char *word = words[0];
	char file[PATH_MAX];

	const char *names[PP_VERBS];
	size_t count = 0;
	const char *near = known_elsewhere(word);

	for (int i = 0; i < PP_VERBS; i++)
		if (pp_verbs[i].what)
			names[count++] = pp_verbs[i].name;
	if (!near)
		near = pp_nearest(word, names, count);
	if (near)
		pp_say("unknown verb '%s': did you mean 'podprof %s'?", word, near);
	else if (!pp_program_find(word, file))
		return program(words);
	else
		pp_say("unknown verb '%s': nothing was started. 'podprof --help' lists all verbs.", word);
	return PP_EXIT_USAGE;
}

/* `podprof help VERB` is `podprof VERB --help`. */
static int help_of(char *word)
{
	const struct pp_verb *verb = pp_verb_find(word);
	char option[] = "--help", *words[] = {word, option, NULL};

	words[1] = verb ? option : NULL;
	return verb && verb->what ? verb->run(2, words) : unknown(words);
}

/* A file that is opened must not take the number of a closed stdin, stdout or stderr. An application has them closed again. */
static void open_standard(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd > STDERR_FILENO)
		close(fd);
}

int main(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : NULL;
	const struct pp_verb *verb;

	open_standard();
	pp_file_limit_ignore();
	if (!word)
		return first_words();
	if (argc > 2 && !strcmp(word, "help"))
		return help_of(argv[2]);
	if (!strcmp(word, "--help") || !strcmp(word, "-h") || !strcmp(word, "help"))
		return help();
	if (!strcmp(word, "--version") || !strcmp(word, "-V")) {
		puts("podprof " PODPROF_VERSION);
		return PP_EXIT_OK;
	}
	verb = pp_verb_find(word);
	if (verb)
		return verb->run(argc - 1, argv + 1);
	if (word[0] == '-') {
		pp_say("no verb before the option '%s': nothing was started. Type 'podprof run %s ...', or 'podprof --help'.", word,
		       word);
		return PP_EXIT_USAGE;
	}
	return unknown(argv + 1);
}
