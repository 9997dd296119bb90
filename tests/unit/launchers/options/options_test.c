/* Options of a verb: what argv, environment and defaults give, and what is refused. */
#include "launchers/options/options.h"

#include <stdlib.h>
#include <unistd.h>

#include "tests/test.h"

static const struct pp_options_verb run = {
        .name = "podprof run", .arguments = "CMD", .doc = "x", .groups = PP_OPT_RUN, .command = 1};
static const struct pp_options_verb report = {.name = "podprof report", .arguments = "DIR", .doc = "x", .groups = PP_OPT_REPORT};

static int warned;

static void warn(const char *sentence)
{
	(void)sentence;
	warned++;
}

#define PARSE(verb, options, rest, ...)                                                                                            \
	({                                                                                                                         \
		char *words_[] = {(char *)"x", __VA_ARGS__, NULL};                                                                 \
		pp_options_parse(&(verb), (int)(sizeof(words_) / sizeof(words_[0])) - 1, words_, &(options), &(rest));             \
	})

TEST(the_programs_options_are_its_own)
{
	struct pp_options o;
	int rest = 0;

	CHECK_INT(PARSE(run, o, rest, (char *)"--steps", (char *)"5:9", (char *)"./prog", (char *)"--steps", (char *)"3"), -1);
	CHECK_INT(rest, 3);
	CHECK_STR(o.value[PP_OPT_ID_STEPS], "5:9");
	CHECK_INT(PARSE(run, o, rest, (char *)"--steps=5:9", (char *)"--", (char *)"./prog", (char *)"--", (char *)"--nonsense"),
	          -1);
	CHECK_INT(rest, 3);
	CHECK_STR(o.value[PP_OPT_ID_STEPS], "5:9");
	CHECK_INT(PARSE(run, o, rest, (char *)"-ologs", (char *)"--", (char *)"-prog"), -1);
	CHECK_INT(rest, 3);
	CHECK_STR(o.value[PP_OPT_ID_OUTPUT], "logs");
	CHECK_INT(PARSE(run, o, rest, (char *)"-o", (char *)"logs"), -1);
	CHECK_INT(rest, 3);
	CHECK_STR(o.value[PP_OPT_ID_WAIT], "10");
}

TEST(words_and_options_mix_where_no_command_is_run)
{
	struct pp_options o;
	int rest = 0;

	CHECK_INT(PARSE(report, o, rest, (char *)"logs", (char *)"--timeout", (char *)"3"), -1);
	CHECK_INT(rest, 3);
	CHECK_STR(o.value[PP_OPT_ID_TIMEOUT], "3");
	CHECK_INT(PARSE(report, o, rest, (char *)"--list", (char *)"logs"), -1);
	CHECK_INT(rest, 2);
	CHECK_INT(o.source[PP_OPT_ID_LIST], PP_FROM_COMMAND_LINE);
}

TEST(mistakes_are_refused)
{
	struct pp_options o;
	int rest = 0;

	CHECK_INT(PARSE(run, o, rest, (char *)"--stepz", (char *)"5:9", (char *)"./prog"), 64);
	CHECK_INT(PARSE(run, o, rest, (char *)"-x", (char *)"./prog"), 64);
	CHECK_INT(PARSE(run, o, rest, (char *)"--steps", (char *)"9:5", (char *)"./prog"), 64);
	CHECK_INT(PARSE(run, o, rest, (char *)"--spool", (char *)"--", (char *)"./prog"), 64);
	CHECK_INT(PARSE(run, o, rest, (char *)"--steps=a:b", (char *)"./prog"), 64);
	CHECK_INT(PARSE(run, o, rest, (char *)"--xspace", (char *)"node", (char *)"./prog"), 64);
	CHECK_INT(PARSE(run, o, rest, (char *)"--window-buffer", (char *)"much", (char *)"./prog"), 64);
	CHECK_INT(PARSE(run, o, rest, (char *)"--session", (char *)"a/b", (char *)"./prog"), 64);
	CHECK_INT(PARSE(run, o, rest, (char *)"--wait"), 64);
	CHECK_INT(PARSE(report, o, rest, (char *)"--list=yes"), 64);
	CHECK_INT(PARSE(report, o, rest, (char *)"--steps", (char *)"1:2"), 64);
}

TEST(environment_fills_what_argv_left)
{
	struct pp_options o;
	int rest = 0;

	setenv("PODPROF_STEPS", "3:4", 1);
	setenv("PODPROF_WAIT", "soon", 1);
	setenv("PODPROF_XSPACE", "rank", 1);
	setenv("PODPROF_STEP", "3:4", 1);
	setenv("PODPROF_TICK", "raw", 1);
	warned = 0;
	CHECK_INT(PARSE(run, o, rest, (char *)"--xspace", (char *)"host", (char *)"./prog"), -1);
	pp_options_environment(&o, PP_OPT_RUN, warn);
	CHECK_STR(o.value[PP_OPT_ID_STEPS], "3:4");
	CHECK_INT(o.source[PP_OPT_ID_STEPS], PP_FROM_ENVIRONMENT);
	CHECK_STR(o.value[PP_OPT_ID_XSPACE], "host");
	CHECK_STR(o.value[PP_OPT_ID_WAIT], "10");
	CHECK_INT(warned, 2); /* the bad value and the unknown name */
	unsetenv("PODPROF_STEPS");
	unsetenv("PODPROF_WAIT");
	unsetenv("PODPROF_XSPACE");
	unsetenv("PODPROF_STEP");
	unsetenv("PODPROF_TICK");
}

TEST(the_nearest_word)
{
	static const char *const words[] = {"run", "report", "salvage", "doctor"};

	CHECK_STR(pp_nearest("reprot", words, 4), "report");
	CHECK_STR(pp_nearest("rum", words, 4), "run");
	CHECK_STR(pp_nearest("rnu", words, 4), "run");
	CHECK_STR(pp_nearest("docter", words, 4), "doctor");
	CHECK_STR(pp_nearest("salv", words, 4), "salvage");
	CHECK_STR(pp_nearest("wiat", (const char *const[]){"wait"}, 1), "wait");
	CHECK(!pp_nearest("FOO", (const char *const[]){"AT", "LAST", "KEEP", "SPOOL"}, 4));
	CHECK(!pp_nearest("xylophone", words, 4));
	CHECK(!pp_nearest("", words, 4));
}

int main(void)
{
	the_programs_options_are_its_own();
	words_and_options_mix_where_no_command_is_run();
	mistakes_are_refused();
	environment_fills_what_argv_left();
	the_nearest_word();
	return test_end();
}
