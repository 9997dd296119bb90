/* Writes a made-up timeline as an export: export_made perfetto|chrome|chrome.gz FILE [RANKS STEPS RANGES]. Prints how many slices,
 * flows and counter values it has, which readers must find. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregate/write/chrome/chrome.h"
#include "aggregate/write/perfetto/perfetto.h"
#include "tests/bench/timeline_make.h"

int main(int argc, char **argv)
{
	struct timeline_job job = {.ranks = 4, .steps = 5, .ranges = 12, .late = 2, .devices = 1};
	struct pp_timeline t;
	struct pp_err err = {""};
	int fd, rc;

	if (argc < 3)
		return 2;
	if (argc > 5) {
		job.ranks = (int)strtol(argv[3], NULL, 10);
		job.steps = (int)strtol(argv[4], NULL, 10);
		job.ranges = (int)strtol(argv[5], NULL, 10);
	}
	fd = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC, 0666);
	if (fd < 0)
		return 2;
	timeline_make(&t, &job);
	if (!strcmp(argv[1], "perfetto"))
		rc = pp_perfetto_write(&t, fd, &err);
	else
		rc = pp_chrome_write(&t, fd, !strcmp(argv[1], "chrome.gz"), &err);
	if (rc < 0)
		fprintf(stderr, "%s\n", err.text);
	else
		printf("{\"slices\": %zu, \"flows\": %zu, \"samples\": %zu, \"ranks\": %zu}\n", t.events, t.flows, t.samples,
		       t.ranks);
	pp_timeline_release(&t);
	return close(fd) == 0 && rc == 0 ? 0 : 1;
}
