/* The plain HTML of a whole page: all of its parts are there as text, names of the application stay text, and the JSON stays within
 * its script. */
#include "aggregate/report/data/plain.h"

#include <sys/stat.h>
#include <unistd.h>

#include "aggregate/report/data/plain_table.h"
#include "aggregate/report/data/plain_text.h"
#include "aggregate/report/report.h"
#include "tests/unit/aggregate/report/data/first_kit.h"

#define HOSTILE "</script><!--<b>\"'&\xff\x01"

static int64_t rank_3(size_t rank, size_t step)
{
	return rank == 3 ? step == 15 ? 90 * MS : 5 * MS : 0;
}

static char *read_file(const char *path)
{
	FILE *f = fopen(path, "r");
	char *text = NULL;
	long size = 0;

	if (f && !fseek(f, 0, SEEK_END) && (size = ftell(f)) > 0 && (text = calloc((size_t)size + 1, 1))) {
		rewind(f);
		size = (long)fread(text, 1, (size_t)size, f);
	}
	if (f)
		fclose(f);
	CHECK(text && size > 0);
	return text;
}

/* The caller's. */
static char *page_of(const struct pp_dataset *d)
{
	char folder[] = "/tmp/podprof-plain-XXXXXX", pod[64], html[64], *text;
	struct pp_err err = {""};

	if (!mkdtemp(folder))
		abort();
	snprintf(pod, sizeof(pod), "%s/pod.h5", folder);
	snprintf(html, sizeof(html), "%s/report.html", folder);
	CHECK_INT(pp_report_write_of(d, pod, html, NULL, &err), 0);
	text = read_file(html);
	unlink(html);
	rmdir(folder);
	return text;
}

static void cut_script(char *text)
{
	char *script = strstr(text, "<script");

	if (script)
		*script = '\0';
}

TEST(whole)
{
	struct screen *s = screen_of(8, 4, 40, PP_CATEGORY_HOST_COMPUTE, rank_3);
	char *text;

	snprintf(s->d.command, sizeof(s->d.command), "train");
	snprintf(s->d.session, sizeof(s->d.session), "s1");
	s->d.epoch_realtime_ns = 1764460000LL * 1000000000;
	text = page_of(&s->d);
	cut_script(text);
	CHECK(strstr(text, "<title>train s1 - podprof</title>") != NULL);
	CHECK(strstr(text, "<h1><a href=\"#\">Rank 3 is late in 39 of 39 usual steps") != NULL);
	CHECK(strstr(text, "<span>8 of 8 ranks</span><span>2 hosts</span>") != NULL);
	CHECK(strstr(text, "<span>steps 100..139</span><span>2025-11-29 23:46:40 UTC</span>") != NULL);
	CHECK(strstr(text, "<dt>The others wait</dt><dd>") && strstr(text, "<dt>Gain, at most</dt>") &&
	      strstr(text, "<dt>Kind</dt><dd>persistent</dd>") && strstr(text, "<dt>Clock error</dt>"));
	CHECK(strstr(text, "<svg class=\"still\"") && strstr(text, "<img class=\"still\" alt=\"Host compute, over the median"));
	CHECK(strstr(text, "<caption>The usual step of each rank</caption>") && strstr(text, "<tr><th>3 (late)<td"));
	CHECK(strstr(text, "<details name=\"find\" data-find=\"1\"><summary><span class=\"t\">one-off</span>") != NULL);
	CHECK(strstr(text, "It shows in step 115, on rank 3, by Host compute.") != NULL);
	CHECK(strstr(text, "<p class=\"next\"><code>podprof view ") != NULL);
	CHECK(strstr(text, "<details class=\"section\" id=\"steps\"><summary><b>Step time</b> <span>39 of 40 steps") != NULL);
	CHECK(strstr(text, "data-sections=\"") != NULL);
	free(text);
	screen_free(s);
}

TEST(hostile)
{
	struct screen *s = screen_of(8, 8, 20, PP_CATEGORY_INPUT, rank_3);
	char *text, *json, *end;

	snprintf(s->d.command, sizeof(s->d.command), "%s", HOSTILE);
	snprintf(s->d.session, sizeof(s->d.session), "%s", HOSTILE);
	for (size_t w = 0; w < s->d.workers; w++) {
		snprintf(s->d.worker[w].host, sizeof(s->d.worker[w].host), "%s", HOSTILE);
		snprintf(s->d.worker[w].device_name, sizeof(s->d.worker[w].device_name), "%s", HOSTILE);
	}
	text = page_of(&s->d);
	json = strstr(text, "<script type=\"application/json\" id=\"pod\">");
	end = json ? strstr(json, "</script>") : NULL;
	CHECK(json && end && end[-1] == '}');
	cut_script(text);
	CHECK(!strstr(text, "<b>\"") && !strstr(text, "</script>") && !strstr(text, "\xff"));
	CHECK(strstr(text, "&#60;/script&#62;") != NULL);
	free(text);
	screen_free(s);
}

/* No step, no rank: the page is whole. */
TEST(nothing)
{
	struct pp_dataset none = {.names = pp_intern_new()};
	char *text = page_of(&none);

	cut_script(text);
	CHECK(strstr(text, "The bottleneck is unknown: no complete step was recorded</a></h1>") != NULL);
	CHECK(strstr(text, "<dd>unknown</dd><dd class=\"n\">no complete step was recorded</dd>") != NULL);
	CHECK(strstr(text, "<span>no steps</span><span>no date</span>") != NULL);
	CHECK(!strstr(text, "<svg") && !strstr(text, "<img") && !strstr(text, "<table"));
	free(text);
	pp_intern_free((struct pp_intern *)none.names);
}

static int64_t by_number(size_t rank, size_t step)
{
	(void)step;
	return rank == 50 ? 50 * MS : (int64_t)rank * 10 * US;
}

/* Ten of many: the late one first, then those with most and least. */
TEST(table)
{
	static const char *const first[] = {"50 (late)", "100", "0", "99", "1", "98", "2", "97", "3", "96"};
	struct screen *s = screen_of(101, 101, 20, PP_CATEGORY_OUTPUT, by_number);
	char *text = NULL, *at, row[24];
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	CHECK_INT(pp_plain_table(&s->d, &s->first, "<dir>", f), 0);
	fclose(f);
	at = text;
	for (size_t i = 0; at && i < sizeof(first) / sizeof(first[0]); i++) {
		snprintf(row, sizeof(row), "\n<tr><th>%s<td", first[i]);
		at = strstr(at, row);
		CHECK(at != NULL);
	}
	CHECK(strstr(text, "<p>91 more ranks: <code>podprof report --table worker &#60;dir&#62;</code>") != NULL);
	CHECK(strstr(text, "<th class=\"num\">Output<th class=\"num\">Host compute<th class=\"num\">waiting") != NULL);
	free(text);
	screen_free(s);
}

TEST(escape)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	pp_plain_text(f, "a<b>&\"'\x01\xc3\xa4\xc3\xff\xe2\x80\xae");
	fclose(f);
	CHECK_STR(text, "a&#60;b&#62;&#38;&#34;&#39;&#xfffd;\xc3\xa4&#xfffd;&#xfffd;&#xfffd;");
	free(text);
}

int main(void)
{
	whole();
	hostile();
	nothing();
	table();
	escape();
	return test_end();
}
