/* podprof completion SHELL: prints a completion script made from the table of verbs and the option table.
 * Called by users and the build. */
#include <stdio.h>
#include <string.h>

#include "aggregate/dataset/describe_job.h"
#include "aggregate/dataset/table/table_text.h"
#include "core/step/category.h"
#include "launchers/cmd.h"
#include "launchers/options/say.h"
#include "launchers/options/verbs.h"

const struct pp_options_verb pp_verb_completion = {
        .name = "podprof completion",
        .arguments = "bash|zsh|fish",
        .doc = "Print the script by which a shell completes podprof's verbs, options and values.",
};

/* What stands behind a verb's options. */
enum rest { REST_NONE, REST_DIRECTORY, REST_COMMAND, REST_SHELL, REST_SLURM };

static enum rest rest_of(const struct pp_options_verb *verb)
{
	if (verb->command)
		return REST_COMMAND;
	if (verb == &pp_verb_completion)
		return REST_SHELL;
	if (verb == &pp_verb_slurm)
		return REST_SLURM;
	return *verb->arguments ? REST_DIRECTORY : REST_NONE;
}

static int is_directory(const struct pp_opt *o)
{
	return !strcmp(o->argument, "DIR");
}

static int is_file(const struct pp_opt *o)
{
	return !strcmp(o->argument, "FILE");
}

static const char *const tool[] = {
#define PP_TOOL_TABLE(tool, table) #tool,
#include "aggregate/report/tool_tables.def"
#undef PP_TOOL_TABLE
};

/* The words that an option takes, "host|rank"; "": any text. Static storage, until the next call. */
static const char *words_of(const struct pp_opt *o)
{
	static char words[2048];
	size_t n = 0;

	words[0] = '\0';
	if (strchr(o->argument, '|'))
		return o->argument;
	for (int i = 0; o == &pp_opt_table[PP_OPT_ID_TABLE] && i <= PP_TABLES; i++)
		n += (size_t)snprintf(words + n, sizeof(words) - n, "%s%s", n ? "|" : "",
		                      (i < PP_TABLES ? pp_table_desc(i) : pp_job_desc(0))->name);
	for (size_t i = 0; o == &pp_opt_table[PP_OPT_ID_TOOL] && i < sizeof(tool) / sizeof(tool[0]); i++)
		if (!i || strcmp(tool[i - 1], tool[i]) != 0)
			n += (size_t)snprintf(words + n, sizeof(words) - n, "%s%s", n ? "|" : "", tool[i]);
	for (int i = 1; o == &pp_opt_table[PP_OPT_ID_CATEGORIES] && i <= PP_CATEGORIES; i++)
		n += (size_t)snprintf(words + n, sizeof(words) - n, "%s%s", n ? "|" : "", pp_category_name(i));
	return words;
}

/* "host|rank" with blanks between, and a blank of a word escaped. */
static void put_words(const char *words)
{
	for (; *words; words++)
		if (*words == ' ')
			fputs("\\ ", stdout);
		else
			putchar(*words == '|' ? ' ' : *words);
}

/* Texts stand in single quotes: a quote ends them, is escaped, and begins them again. */
static void put_quoted(const char *text)
{
	putchar('\'');
	for (; *text; text++)
		if (*text == '\'')
			fputs("'\\''", stdout);
		else
			putchar(*text);
	putchar('\'');
}

static void put_verbs(void)
{
	int printed = 0;

	for (int i = 0; i < PP_VERBS; i++)
		if (pp_verbs[i].what)
			printf("%s%s", printed++ ? " " : "", pp_verbs[i].name);
}

static void bash_values(void)
{
	puts("\tcase $option in\n\t-o) option=--output ;;\n\tesac\n\tcase $option in");
	for (int i = 0; i < PP_OPTS; i++) {
		const struct pp_opt *o = &pp_opt_table[i];

		if (!*o->argument)
			continue;
		printf("\t--%s)\n", o->name);
		if (is_directory(o)) {
			puts("\t\tmapfile -t COMPREPLY < <(compgen -d -- \"$cur\")");
		} else if (is_file(o)) {
			puts("\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$cur\")");
		} else if (*words_of(o)) {
			printf("\t\tmapfile -t COMPREPLY < <(IFS='|' && compgen -W '%s' -- \"$cur\")\n", words_of(o));
		}
		puts("\t\treturn\n\t\t;;");
	}
	puts("\tesac");
}

static void bash_options(void)
{
	puts("\tcase $verb in");
	for (int i = 0; i < PP_VERBS; i++) {
		if (!pp_verbs[i].what)
			continue;
		printf("\t%s) options='--help", pp_verbs[i].name);
		for (int k = 0; k < PP_OPTS; k++)
			if (pp_opt_table[k].groups & pp_verbs[i].options->groups)
				printf(" --%s%s", pp_opt_table[k].name, *pp_opt_table[k].argument ? "=" : "");
		switch (rest_of(pp_verbs[i].options)) {
		case REST_DIRECTORY:
			puts("' rest=directory ;;");
			break;
		case REST_SHELL:
			puts("' rest=shell ;;");
			break;
		case REST_SLURM:
			puts("' rest=slurm ;;");
			break;
		case REST_COMMAND:
			puts("' rest=command ;;");
			break;
		case REST_NONE:
			puts("' rest=none ;;");
			break;
		}
	}
	puts("\thelp) options='' rest=verb ;;\n\t*) return ;;\n\tesac");
}

/* Where `podprof run`'s command begins: behind "--", or the first word that is neither an option nor its value. */
static void bash_command_begin(void)
{
	fputs("\t\tfor ((i = 2; i < COMP_CWORD; i++)); do\n\t\t\tcase ${COMP_WORDS[i]} in\n\t\t\t--)\n\t\t\t\tbegin=$((i + 1))\n"
	      "\t\t\t\tbreak\n\t\t\t\t;;\n\t\t\t-o",
	      stdout);
	for (int i = 0; i < PP_OPTS; i++)
		if (*pp_opt_table[i].argument)
			printf(" | --%s", pp_opt_table[i].name);
	puts(")\n\t\t\t\t[[ ${COMP_WORDS[i + 1]-} == = ]] && ((i++))\n\t\t\t\t((i++))\n\t\t\t\t;;\n\t\t\t-*) ;;\n\t\t\t*)\n"
	     "\t\t\t\tbegin=$i\n\t\t\t\tbreak\n\t\t\t\t;;\n\t\t\tesac\n\t\tdone");
}

static void bash(void)
{
	puts("# bash completion of podprof. Made by 'podprof completion bash' from its option table.\n"
	     "# shellcheck shell=bash\n"
	     "_podprof()\n{\n"
	     "\tlocal cur=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]} verb=${COMP_WORDS[1]} options rest "
	     "begin=0 i\n"
	     "\tCOMPREPLY=()\n"
	     "\tif ((COMP_CWORD == 1)); then");
	fputs("\t\tmapfile -t COMPREPLY < <(compgen -W '", stdout);
	put_verbs();
	puts(" help --help --version' -- \"$cur\")\n\t\treturn\n\tfi");
	bash_options();
	puts("\tif [[ $rest == command ]]; then");
	bash_command_begin();
	puts("\t\tif ((begin)); then\n"
	     "\t\t\tif declare -F _command_offset >/dev/null; then\n\t\t\t\t_command_offset \"$begin\"\n"
	     "\t\t\telif ((begin == COMP_CWORD)); then\n\t\t\t\tmapfile -t COMPREPLY < <(compgen -c -- "
	     "\"$cur\")\n\t\t\telse\n\t\t\t\tmapfile -t COMPREPLY < <(compgen -f -- "
	     "\"$cur\")\n\t\t\tfi\n\t\t\treturn\n\t\tfi\n\tfi\n"
	     "\t# bash takes '=' for a word of its own\n"
	     "\tif [[ $cur == = ]]; then\n\t\tcur=\n"
	     "\telif [[ $option == = ]]; then\n\t\toption=${COMP_WORDS[COMP_CWORD - 2]}\n\tfi");
	bash_values();
	fputs("\tif [[ $cur == -* ]]; then\n"
	      "\t\tmapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$cur\")\n"
	      "\t\t[[ ${COMPREPLY[*]} == *= ]] && compopt -o nospace 2>/dev/null\n\t\treturn\n\tfi\n"
	      "\tcase $rest in\n"
	      "\tdirectory) mapfile -t COMPREPLY < <(compgen -d -- \"$cur\") ;;\n"
	      "\tshell) mapfile -t COMPREPLY < <(compgen -W 'bash zsh fish' -- \"$cur\") ;;\n"
	      "\tslurm) mapfile -t COMPREPLY < <(compgen -W 'check prolog epilog task-prolog task-epilog' -- \"$cur\") ;;",
	      stdout);
	fputs("\n\tverb) mapfile -t COMPREPLY < <(compgen -W '", stdout);
	put_verbs();
	puts("' -- \"$cur\") ;;\n"
	     "\tcommand) mapfile -t COMPREPLY < <(compgen -c -- \"$cur\") ;;\n"
	     "\tesac\n"
	     "\treturn 0\n"
	     "}\ncomplete -o filenames -F _podprof podprof");
}

/* zsh takes [ ] and : of a description for its own. */
static void zsh_text(const char *text)
{
	for (; *text; text++) {
		if (strchr("[]:\\", *text))
			putchar('\\');
		if (*text == '\'')
			fputs("'\\''", stdout);
		else
			putchar(*text);
	}
}

static void zsh_option(const struct pp_opt *o, unsigned groups)
{
	printf("\t\t\t'--%s%s[", o->name, *o->argument ? "=" : "");
	zsh_text(pp_options_help(o, groups));
	putchar(']');
	if (*o->argument) {
		putchar(':');
		if (is_directory(o)) {
			fputs("directory:_files -/", stdout);
		} else if (is_file(o)) {
			fputs("file:_files", stdout);
		} else if (*words_of(o)) {
			fputs("value:(", stdout);
			put_words(words_of(o));
			putchar(')');
		} else {
			zsh_text(pp_options_argument(o, groups));
			putchar(':');
		}
	}
	puts("' \\");
}

static void zsh(void)
{
	static const char *const rest[] = {"", " '*:directory:_files -/'", " '*:::command: _normal'", " '1:shell:(bash zsh fish)'",
	                                   " '1:word:(check prolog epilog task-prolog task-epilog)'"};

	puts("#compdef podprof\n# Made by 'podprof completion zsh' from podprof's option table.\n"
	     "_podprof() {\n\tlocal -a verbs\n\tverbs=(");
	for (int i = 0; i < PP_VERBS; i++) {
		if (!pp_verbs[i].what)
			continue;
		printf("\t\t'%s:", pp_verbs[i].name);
		zsh_text(pp_verbs[i].what);
		puts("'");
	}
	puts("\t)\n\tif ((CURRENT == 2)); then\n\t\t_describe verb verbs\n\t\treturn\n\tfi\n"
	     "\tlocal verb=$words[2]\n\tshift words\n\t((CURRENT--))\n\tcase $verb in");
	for (int i = 0; i < PP_VERBS; i++) {
		const struct pp_options_verb *verb = pp_verbs[i].options;

		if (!pp_verbs[i].what)
			continue;
		printf("\t%s)\n\t\t_arguments -S \\\n", pp_verbs[i].name);
		for (int k = 0; k < PP_OPTS; k++)
			if (pp_opt_table[k].groups & verb->groups)
				zsh_option(&pp_opt_table[k], verb->groups);
		printf("\t\t\t'--help[print the options]'%s\n\t\t;;\n", rest[rest_of(verb)]);
	}
	puts("\thelp)\n\t\t_describe verb verbs\n\t\t;;\n\tesac\n}\n"
	     "if [[ $funcstack[1] == _podprof ]]; then\n\t_podprof \"$@\"\nelse\n\tcompdef _podprof podprof\nfi");
}

static void fish_option(const char *verb, const struct pp_opt *o, unsigned groups)
{
	printf("complete -c podprof -n '__fish_seen_subcommand_from %s' -l %s", verb, o->name);
	if (o == &pp_opt_table[PP_OPT_ID_OUTPUT])
		fputs(" -s o", stdout);
	if (*o->argument && is_directory(o)) {
		fputs(" -x -a '(__fish_complete_directories)'", stdout);
	} else if (is_file(o)) {
		fputs(" -r -F", stdout);
	} else if (*o->argument) {
		fputs(" -x", stdout);
		if (*words_of(o)) {
			fputs(" -a '", stdout);
			put_words(words_of(o));
			putchar('\'');
		}
	}
	fputs(" -d ", stdout);
	put_quoted(pp_options_help(o, groups));
	putchar('\n');
}

static void fish(void)
{
	static const char *const rest[] = {NULL, "-a '(__fish_complete_directories)'",
	                                   "-a '(__fish_complete_subcommand --fcs-skip=2)'", "-a 'bash zsh fish'",
	                                   "-a 'check prolog epilog task-prolog task-epilog'"};

	puts("# fish completion of podprof. Made by 'podprof completion fish' from its option table.\ncomplete -c podprof -f");
	for (int i = 0; i < PP_VERBS; i++) {
		const struct pp_verb *verb = &pp_verbs[i];

		if (!verb->what)
			continue;
		printf("complete -c podprof -n __fish_use_subcommand -a %s -d ", verb->name);
		put_quoted(verb->what);
		putchar('\n');
		for (int k = 0; k < PP_OPTS; k++)
			if (pp_opt_table[k].groups & verb->options->groups)
				fish_option(verb->name, &pp_opt_table[k], verb->options->groups);
		if (rest[rest_of(verb->options)])
			printf("complete -c podprof -n '__fish_seen_subcommand_from %s' %s\n", verb->name,
			       rest[rest_of(verb->options)]);
		printf("complete -c podprof -n '__fish_seen_subcommand_from help' -a %s\n", verb->name);
	}
}

int pp_cmd_completion(int argc, char **argv)
{
	static const struct {
		const char *shell;
		void (*print)(void);
	} shells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};
	struct pp_options options;
	int first, rc = pp_options_parse(&pp_verb_completion, argc, argv, &options, &first);

	if (rc >= 0)
		return rc;
	for (size_t i = 0; argc - first == 1 && i < sizeof(shells) / sizeof(shells[0]); i++) {
		if (strcmp(argv[first], shells[i].shell))
			continue;
		shells[i].print();
		return fflush(stdout) || ferror(stdout) ? PP_EXIT_FAILED : PP_EXIT_OK;
	}
	if (first == argc)
		pp_say("no shell given: name bash, zsh or fish, for example 'podprof completion bash'.");
	else if (argc - first > 1)
		pp_say("too many arguments: '%s': completion takes one shell, for example 'podprof completion bash'.",
		       argv[first + 1]);
	else
		pp_say("unknown shell '%s': name bash, zsh or fish, for example 'podprof completion bash'.", argv[first]);
	return PP_EXIT_USAGE;
}
