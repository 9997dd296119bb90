/* Any bytes as a site log, which many users' jobs append to: rows of hosts, chances from 0 to 1; see fuzz.h. */
#include <stdlib.h>
#include <string.h>

#include "aggregate/fleet/fleet.h"
#include "aggregate/fleet/job.h"
#include "core/base/utf8.h"
#include "tests/fuzz/fuzz.h"
#include "tests/test.h"

static void line(struct pp_fleet *f, const char *text, size_t length)
{
	struct pp_fleet_job job, back;
	char again[PP_FLEET_LINE + 1];
	size_t n;

	CHECK_INT(pp_fleet_line(f, text, length), 0);
	if (pp_fleet_job_read(text, length, &job))
		return;
	n = pp_fleet_job_write(&job, again);
	CHECK(n <= PP_FLEET_LINE);
	if (n && pp_utf8_good(job.list, strlen(job.list)) && pp_utf8_good(job.cause_list, strlen(job.cause_list)))
		CHECK_INT(pp_fleet_job_read(again, n - 1, &back), 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct pp_fleet *f = pp_fleet_new();
	const struct pp_fleet_host *host;
	struct pp_fleet_total total;
	const char *at = (const char *)bytes, *end = at + size;

	if (!f)
		abort();
	while (at < end) {
		const char *next = memchr(at, '\n', (size_t)(end - at));

		line(f, at, (size_t)((next ? next : end) - at));
		at = next ? next + 1 : end;
	}
	CHECK_INT(pp_fleet_finish(f, &host, &total), 0);
	for (size_t i = 0; i < total.hosts; i++)
		CHECK(host[i].p >= 0 && host[i].p <= 1 && host[i].adjusted >= host[i].p && host[i].adjusted <= 1 &&
		      host[i].cause <= host[i].trials && host[i].trials <= host[i].jobs);
	pp_fleet_free(f);
	if (test_failures)
		abort();
	return 0;
}
