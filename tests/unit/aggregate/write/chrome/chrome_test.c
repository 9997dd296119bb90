/* Traces in Trace Event Format: what is rare, to the byte. tests/session/chrome_read.py reads whole files with Python's parser. */
#include "aggregate/write/chrome/chrome.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "tests/unit/aggregate/write/export/export_kit.h"
#include "tests/test.h"

static char *written(const struct pp_timeline *t)
{
	struct pp_err err = {""};
	FILE *file = tmpfile();
	char *text;
	size_t size;

	if (!file)
		abort();
	CHECK_INT(pp_chrome_write(t, fileno(file), 0, &err), 0);
	text = kit_read(fileno(file), &size);
	CHECK_INT(strlen(text), size);
	fclose(file);
	return text;
}

#define HAS(text, part) CHECK(strstr(text, part))

TEST(rare)
{
	struct pp_timeline t;
	char *text;

	kit_make(&t);
	text = written(&t);
	HAS(text, "{\"displayTimeUnit\":\"ns\",\"otherData\":{");
	HAS(text, "\"job time at ts 0 ns\":\"-500\",\"date at ts 0 ns\":\"4500\"");
	HAS(text, "\"devices\":\"simulated\"");
	HAS(text, "\"left out\":\"1 rank has no events here\\u000a");
	HAS(text, "\"session\":\"odd \\ufffd\"");
	HAS(text,
	    "{\"ph\":\"X\",\"name\":\"quote\\u0022 \\u005c \\u003ctab\xef\xbf\xbd\xef\xbf\xbd\\u003e\",\"cat\":\"Host compute\","
	    "\"pid\":1000000,"
	    "\"tid\":1,\"ts\":0.000,\"dur\":1.500,\"args\":{\"self time ns\":800}}");
	HAS(text,
	    "{\"ph\":\"i\",\"s\":\"t\",\"name\":\"saved\",\"cat\":\"marks\",\"pid\":1000000,\"tid\":1,\"ts\":1.500,\"args\":{}}");
	HAS(text, "\"name\":\"y\",\"pid\":1000000,\"tid\":3,");
	HAS(text, "{\"ph\":\"s\",\"id\":1,\"cat\":\"flow\",\"name\":\"message\",\"pid\":1000007,\"tid\":1,\"ts\":0.510}");
	HAS(text,
	    "{\"ph\":\"f\",\"bp\":\"e\",\"id\":1,\"cat\":\"flow\",\"name\":\"message\",\"pid\":1000000,\"tid\":1,\"ts\":1.500}");
	HAS(text,
	    "\"bytes received\":\"1152921504606846976\",\"any peer\":true,\"communicator id\":\"0xffffffffffffffff\",\"tag\":-5,"
	    "\"waited ns\":290,\"waited for rank\":0,\"clock error unknown\":true}}");
	HAS(text, "\"ts\":0.100,\"args\":{\"value\":null}}");
	HAS(text, "\"ts\":0.600,\"args\":{\"value\":1.5}}");
	free(text);
	pp_timeline_release(&t);
}

TEST(launches)
{
	struct pp_timeline t;
	char *text;

	kit_make(&t);
	t.launch = calloc(1, sizeof(*t.launch));
	if (!t.launch)
		abort();
	t.launch[0] = (struct pp_timeline_launch){.grid = {8, 1, 1}, .block = {256, 2, 1}, .shared = 4096};
	t.launches = 1;
	t.event[3].kind = PP_SPAN_DEVICE;
	t.event[3].launch = 1;
	t.event[3].correlation = 77;
	text = written(&t);
	HAS(text, "\"grid x\":8,\"grid y\":1,\"grid z\":1,\"block x\":256,\"block y\":2,\"block z\":1,\"shared memory bytes\":4096,"
	          "\"correlation\":77}");
	CHECK(!strstr(text, "registers"));
	free(text);
	pp_timeline_release(&t);
}

TEST(dimensions)
{
	struct pp_timeline t;
	char *text;

	kit_make(&t);
	t.event[0].dims = kit_name(&t, "[[2,3],[]]");
	text = written(&t);
	HAS(text, "\"args\":{\"self time ns\":800,\"input dims\":\"[[2,3],[]]\"}}");
	free(text);
	pp_timeline_release(&t);
}

TEST(large_times)
{
	struct pp_timeline t;
	char *text;

	kit_make(&t);
	t.event[3].end_ns = INT64_MAX - 1000;
	text = written(&t);
	HAS(text, "\"ts\":1.500,\"dur\":9223372036854773.807,");
	free(text);
	pp_timeline_release(&t);
}

TEST(refused)
{
	struct pp_timeline t;
	struct pp_err err = {""};
	const int fd = open("/dev/full", O_WRONLY);

	kit_make(&t);
	for (int gzip = 0; gzip < 2; gzip++) {
		CHECK_INT(pp_chrome_write(&t, fd, gzip, &err), -ENOSPC);
		CHECK_STR(err.text, "cannot write the export: no space left on device");
	}
	t.event[6].begin_ns = 99; /* overlaps the one before it of the same depth; nothing is written */
	CHECK_INT(pp_chrome_write(&t, -1, 0, &err), -EINVAL);
	CHECK_STR(err.text, "cannot export the timeline: events of rank 0 async overlap; please report this");
	close(fd);
	pp_timeline_release(&t);
}

int main(void)
{
	rare();
	launches();
	dimensions();
	large_times();
	refused();
	return test_end();
}
