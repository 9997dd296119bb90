/* podprof: the command line. In: argv. Out: one verb's exit code. cmd_*.c have the verbs. */
#include <stdio.h>
#include <string.h>

#include "launchers/cmd.h"
#include "launchers/options/options.h"
#include "launchers/options/verbs.h"
#include "launchers/run/file_limit.h"

static int first_words(void)
{
	puts("podprof profiles a whole training job: every rank, one window, one answer. What to type first:\n"
	     "  mpirun -n 8 podprof run -o logs -- ./train                 record every rank\n"
	     "  mpirun -n 8 podprof run -o logs --steps 10:20 -- ./train   only steps 10 to 19\n"
	     "  podprof report logs                                        where the time went, who waited for whom\n"
	     "  podprof doctor                                             what works on this node\n"
	     "  podprof --help                                             every verb and option");
	return PP_EXIT_OK;
}

static int help(void)
{
	puts("Usage: podprof VERB [OPTION...] [ARGUMENT...]\n\nVerbs:");
	for (int i = 0; i < PP_VERBS; i++)
		if (pp_verbs[i].what)
			printf("  %-11s %s\n", pp_verbs[i].name, pp_verbs[i].what);
	puts("\nOptions (before the command to run; each may also stand in the environment):");
	for (int i = 0; i < PP_OPTS; i++) {
		const struct pp_opt *o = &pp_opt_table[i];
		char left[64];

		if (!(o->groups & PP_OPT_RUN))
			continue;
		snprintf(left, sizeof(left), "--%s%s%s", o->name, *o->argument ? "=" : "", o->argument);
		printf("  %-30s %-22s %s\n", left, o->env, *o->fallback ? o->fallback : "-");
	}
	puts("\n`podprof VERB --help` explains a verb's options. `podprof run` ends with the exit code of what it runs.");
	return PP_EXIT_OK;
}

static int unknown(const char *word)
{
	const char *names[PP_VERBS];
	size_t count = 0;
	const char *near;

	for (int i = 0; i < PP_VERBS; i++)
		if (pp_verbs[i].what)
			names[count++] = pp_verbs[i].name;
	near = pp_nearest(word, names, count);
	if (near)
		pp_say("no verb is called '%s': did you mean 'podprof %s'?", word, near);
	else
		pp_say("no verb is called '%s'. Type 'podprof --help' for all of them.", word);
	return PP_EXIT_USAGE;
}

int main(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : NULL;
	const struct pp_verb *verb;

	pp_file_limit_ignore();
	if (!word)
		return first_words();
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
		pp_say("an option stands before the verb: '%s'. Type 'podprof run %s ...', or 'podprof --help'.", word, word);
		return PP_EXIT_USAGE;
	}
	return unknown(word);
}
