/* Options of a verb: what argv, environment and defaults give, and what is refused. */
#include "launchers/options/options.h"

#include <stdint.h>
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
	CHECK_STR(o.text[PP_OPT_ID_STEPS], "5:9");
	CHECK_INT(PARSE(run, o, rest, (char *)"--steps=5:9", (char *)"--", (char *)"./prog", (char *)"--", (char *)"--nonsense"),
	          -1);
	CHECK_INT(rest, 3);
	CHECK_STR(o.text[PP_OPT_ID_STEPS], "5:9");
	CHECK_INT(PARSE(run, o, rest, (char *)"-ologs", (char *)"--", (char *)"-prog"), -1);
	CHECK_INT(rest, 3);
	CHECK_STR(o.text[PP_OPT_ID_OUTPUT], "logs");
	CHECK_INT(PARSE(run, o, rest, (char *)"-o", (char *)"logs"), -1);
	CHECK_INT(rest, 3);
	CHECK_STR(o.text[PP_OPT_ID_WAIT], "10");
}

TEST(words_and_options_mix_where_no_command_is_run)
{
	struct pp_options o;
	int rest = 0;

	CHECK_INT(PARSE(report, o, rest, (char *)"logs", (char *)"--timeout", (char *)"3"), -1);
	CHECK_INT(rest, 3);
	CHECK_INT(o.verb.timeout_s, 3);
	CHECK_INT(PARSE(report, o, rest, (char *)"--list", (char *)"logs"), -1);
	CHECK_INT(rest, 2);
	CHECK_INT(o.source[PP_OPT_ID_LIST], PP_FROM_COMMAND_LINE);
	CHECK(o.verb.list);
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

static const struct pp_options_verb all = {
        .name = "podprof all", .arguments = "DIR", .doc = "x", .groups = (2 * PP_OPT_SLURM - 1) & ~(unsigned)PP_OPT_CAPTURE};
static const struct pp_options_verb capture = {.name = "podprof capture", .arguments = "DIR", .doc = "x", .groups = PP_OPT_CAPTURE};

/* A good value for each row. */
static const char *const each[] = {"--list",
                                   "--unknown",
                                   "--json",
                                   "--check",
                                   "--all-ranks",
                                   "--watch",
                                   "--options",
                                   "--raw",
                                   "--clock",
                                   "--table=slowest",
                                   "--format=chrome",
                                   "--tool=op_stats",
                                   "--categories=Input",
                                   "--html=a.html",
                                   "--fail-above=2.5%",
                                   "--map=0=1",
                                   "--timeout=7",
                                   "--port=50100",
                                   "--after=500ms",
                                   "--processes=3",
                                   "--steps=1:2,5:6",
                                   "--every=9",
                                   "--warm-up=5",
                                   "--level=python/10",
                                   "--step-rule=collectives",
                                   "--nccl-times=yes",
                                   "--framework-trace=yes",
                                   "--io=yes",
                                   "--delay=2s",
                                   "--duration=3s",
                                   "--at=14:30",
                                   "--keep=30s",
                                   "--trigger=step>2.5x",
                                   "--signal=USR2",
                                   "--last=10s",
                                   "--output=logs",
                                   "--session=base",
                                   "--ranks=0,3-5",
                                   "--xspace=rank",
                                   "--rules=r.txt",
                                   "--site-log=s.jsonl",
                                   "--metrics=m.prom",
                                   "--wait=4",
                                   "--window-buffer=1M",
                                   "--memory=3M",
                                   "--ring-size=2M",
                                   "--spool=/tmp/s",
                                   "--cupti=off",
                                   "--gpu-state=always",
                                   "--port-range=50000:50010",
                                   "--rendezvous=/shared"};

static void parse_each(struct pp_options *ret)
{
	char *words[PP_OPTS + 2] = {(char *)"x"};
	int rest = 0;

	CHECK_INT(sizeof(each) / sizeof(each[0]), PP_OPTS);
	for (size_t i = 0; i < PP_OPTS; i++)
		words[i + 1] = (char *)(uintptr_t)each[i];
	CHECK_INT(pp_options_parse(&all, PP_OPTS + 1, words, ret, &rest), -1);
}

TEST(values_of_a_verb_are_where_their_rows_say)
{
	struct pp_options o;

	parse_each(&o);
	CHECK(o.verb.list && o.verb.json && o.verb.all_ranks && o.verb.watch && o.verb.options && o.verb.clock && o.verb.raw);
	CHECK_STR(o.verb.table, "slowest");
	CHECK_INT(o.verb.format, PP_OPT_CHROME);
	CHECK_STR(o.verb.tool, "op_stats");
	CHECK_STR(o.verb.categories, "Input");
	CHECK_STR(o.verb.html, "a.html");
	CHECK_STR(o.verb.map, "0=1");
	CHECK(o.verb.fail_above == 2.5);
	CHECK(o.verb.timeout_s == 7 && o.verb.port == 50100 && o.verb.processes == 3);
	CHECK(o.verb.after_ns == 500000000 && o.verb.last_ns == INT64_C(10000000000));
	CHECK_STR(o.verb.signal, "USR2");
	CHECK_STR(o.verb.rules, "r.txt");
	CHECK_STR(o.verb.spool, "/tmp/s");
	CHECK_STR(o.verb.cupti, "off");
}

TEST(values_of_a_job_are_where_their_rows_say)
{
	struct pp_options o;

	parse_each(&o);
	CHECK(o.job.windows.count == 2 && o.job.windows.last[1] == 6 && o.job.every == 9 && o.verb.by_collectives);
	CHECK(o.job.delay.ns == 2000000000 && o.job.duration.ns == INT64_C(3000000000));
	CHECK_STR(o.job.delay.text, "2s");
	CHECK_STR(o.job.at, "14:30");
	CHECK(o.job.keep_ns == INT64_C(30000000000) && o.job.trigger.thousandths == 2500);
	CHECK_STR(o.job.output, "logs");
	CHECK_STR(o.job.session, "base");
	CHECK_STR(o.job.ranks.text, "0,3-5");
	CHECK(o.job.ranks.list.count == 2 && o.job.ranks.list.last[1] == 5);
	CHECK_INT(o.job.xspace_per_rank, 1);
	CHECK_STR(o.job.site_log, "s.jsonl");
	CHECK_STR(o.job.metrics, "m.prom");
	CHECK(o.job.wait_s == 4 && o.job.buffer == 1 << 20);
	CHECK_INT(o.verb.memory, 3 << 20);
	CHECK_STR(o.text[PP_OPT_ID_RING_SIZE], "2M");
	CHECK(o.job.port.first == 50000 && o.job.port.last == 50010);
	CHECK_STR(o.job.rendezvous, "/shared");
}

TEST(one_value_goes_back_to_its_default)
{
	struct pp_options o;

	parse_each(&o);
	pp_options_reset(&o, PP_OPT_ID_STEPS);
	pp_options_reset(&o, PP_OPT_ID_TIMEOUT);
	pp_options_reset(&o, PP_OPT_ID_TABLE);
	CHECK(!o.job.windows.count && o.verb.timeout_s == 60);
	CHECK_STR(o.verb.table, "");
}

TEST(each_row_refuses_other_values)
{
	static const char *const bad[] = {
	        "--list=1",         "--format=xml",        "--fail-above=x", "--fail-above=-1",  "--fail-above=1e9",
	        "--timeout=soon",   "--port=-1",           "--after=",       "--after=2x",       "--processes=two",
	        "--steps=2:1",      "--steps=+5",          "--every=-1",     "--warm-up=-1",     "--step-rule=any",
	        "--nccl-times=1",   "--framework-trace=1", "--io=1",         "--delay=1 s",      "--duration=x",
	        "--keep=x",         "--trigger=3x",        "--last=x",       "--session=a/b",    "--session=.a",
	        "--ranks=3-1",      "--xspace=node",       "--wait=x",       "--window-buffer=", "--ring-size=1X",
	        "--port-range=9:1", "--rendezvous=a",      "--table=a\nb",   "--tool=a\nb",      "--categories=\n",
	        "--html=\n",        "--rules=\n",          "--spool=\n",     "--cupti=\n",       "--at=\n",
	        "--signal=\n",      "--output=\n",         "--site-log=\n",  "--metrics=\n"};
	struct pp_options o;
	int rest = 0;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_INT(PARSE(all, o, rest, (char *)(uintptr_t)bad[i]), 64);
	CHECK_INT(PARSE(capture, o, rest, (char *)"--steps=5"), 64);
	CHECK_INT(PARSE(capture, o, rest, (char *)"--steps=+0"), 64);
	CHECK_INT(PARSE(capture, o, rest, (char *)"--steps=+5"), -1);
	CHECK_INT(o.verb.steps_to_come, 5);
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
	CHECK_STR(o.text[PP_OPT_ID_STEPS], "3:4");
	CHECK_INT(o.source[PP_OPT_ID_STEPS], PP_FROM_ENVIRONMENT);
	CHECK_STR(o.text[PP_OPT_ID_XSPACE], "host");
	CHECK_STR(o.text[PP_OPT_ID_WAIT], "10");
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
	values_of_a_verb_are_where_their_rows_say();
	values_of_a_job_are_where_their_rows_say();
	one_value_goes_back_to_its_default();
	each_row_refuses_other_values();
	environment_fills_what_argv_left();
	the_nearest_word();
	return test_end();
}
