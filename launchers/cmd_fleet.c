/* podprof fleet: lists hosts that were a cause of delays in many jobs, with a test against chance. In: site logs. Out: a table, or
 * JSON, on stdout. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregate/fleet/fleet.h"
#include "aggregate/fleet/job.h"
#include "aggregate/write/json_object.h"
#include "core/base/units.h"
#include "core/base/why.h"
#include "launchers/cmd.h"
#include "launchers/options/options.h"
#include "launchers/options/say.h"

const struct pp_options_verb pp_verb_fleet = {
        .name = "podprof fleet",
        .arguments = "LOG...",
        .doc = "List the hosts that were a cause of delays in jobs, from logs that --site-log made: in how many jobs, how many are "
               "expected by chance, and how unlikely that is. Sessions of one job count as one.",
        .groups = PP_OPT_FLEET,
};

enum { BLOCK = 1 << 16, HOST_COLUMN = 12, NAMED = 4 };

/* Lines of a file; of one that is too long for a line its first bytes, which the reader counts as damaged. 0, or -errno. */
static int read_log(int fd, struct pp_fleet *f)
{
	static char block[BLOCK];
	size_t rest = 0;
	int rc = 0, is_long = 0;
	ssize_t n;

	while (!rc && (n = read(fd, block + rest, sizeof(block) - rest)) > 0) {
		char *at = block, *end = block + rest + (size_t)n, *stop;

		while (!rc && (stop = memchr(at, '\n', (size_t)(end - at)))) {
			rc = is_long ? 0 : pp_fleet_line(f, at, (size_t)(stop - at));
			is_long = 0;
			at = stop + 1;
		}
		rest = (size_t)(end - at);
		if (rest > PP_FLEET_LINE) {
			rc = is_long ? 0 : pp_fleet_line(f, at, rest);
			is_long = 1;
			rest = 0;
		}
		memmove(block, at, rest);
	}
	if (!rc && n < 0)
		rc = -errno;
	return !rc && rest && !is_long ? pp_fleet_line(f, block, rest) : rc;
}

static int read_logs(char *const *path, int paths, struct pp_fleet *f)
{
	for (int i = 0; i < paths; i++) {
		int fd = open(path[i], O_RDONLY | O_CLOEXEC), rc = fd < 0 ? -errno : read_log(fd, f);

		if (fd >= 0)
			close(fd);
		if (rc) {
			pp_say("cannot read the log '%s': %s. Give files that --site-log made.", path[i], pp_why(-rc));
			return PP_EXIT_FAILED;
		}
	}
	return PP_EXIT_OK;
}

static size_t count_significant(const struct pp_fleet_host *host, const struct pp_fleet_total *t)
{
	size_t n = 0;

	while (n < t->hosts && host[n].trials && host[n].adjusted <= PP_FLEET_LEVEL)
		n++;
	return n;
}

static const char *chance(char text[PP_TEXT_UNIT], double p)
{
	if (p <= 1e-12)
		snprintf(text, PP_TEXT_UNIT, "< 1e-12");
	else
		snprintf(text, PP_TEXT_UNIT, p < 0.001 ? "%.1e" : "%.3f", p);
	return text;
}

static void print_head(const struct pp_fleet_host *host, const struct pp_fleet_total *t)
{
	size_t n = count_significant(host, t);

	if (!t->tested) {
		printf("No job of several hosts named some of them as a cause: no host can be compared with chance.\n");
		return;
	}
	if (!n)
		printf("No host was a cause of delays in more jobs than by chance (p <= %.2f, corrected for %zu hosts).\n",
		       PP_FLEET_LEVEL, t->tested);
	else
		printf("%zu of %zu hosts %s a cause of delays in more jobs than by chance (p <= %.2f, corrected for all hosts): ",
		       n, t->tested, n == 1 ? "was" : "were", PP_FLEET_LEVEL);
	for (size_t i = 0; i < n && i < NAMED; i++)
		printf("%s%s", i ? ", " : "", host[i].name);
	if (n)
		printf("%s\n", n > NAMED ? ", and others" : "");
}

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

static void print_total(const struct pp_fleet_total *t, size_t never)
{
	char text[4][PP_TEXT_UNIT];

	printf("\n%s job%s (%s session%s), %s of them on several hosts with a cause", pp_text_count(text[0], t->jobs),
	       plural(t->jobs), pp_text_count(text[1], t->sessions), plural(t->sessions), pp_text_count(text[2], t->trials));
	if (never)
		printf("; %s host%s never a cause", pp_text_count(text[3], never), never == 1 ? " was" : "s were");
	printf("\n");
	if (t->damaged || t->repeated)
		printf("%s damaged line%s and %s repeated session%s were left out\n", pp_text_count(text[0], t->damaged),
		       plural(t->damaged), pp_text_count(text[1], t->repeated), plural(t->repeated));
	if (t->seen)
		printf("%s job%s from a version that named a straggler, not a cause: counted as seen, not compared with chance\n",
		       pp_text_count(text[0], t->seen), t->seen == 1 ? " is" : "s are");
	if (t->unlisted)
		printf("%s job%s not list all hosts, and %s not compared with chance\n", pp_text_count(text[0], t->unlisted),
		       t->unlisted == 1 ? " does" : "s do", t->unlisted == 1 ? "is" : "are");
}

static int is_shown(const struct pp_fleet_host *h)
{
	return h->cause || h->seen || h->lost_ns;
}

static void print_table(const struct pp_fleet_host *host, const struct pp_fleet_total *t)
{
	int width = HOST_COLUMN;
	size_t shown = 0;

	print_head(host, t);
	for (size_t i = 0; i < t->hosts; i++) {
		shown += is_shown(&host[i]);
		if (is_shown(&host[i]) && (int)strlen(host[i].name) > width)
			width = (int)strlen(host[i].name);
	}
	if (shown)
		printf("\n%-*s %8s %8s %8s %10s %10s %10s %8s %12s\n", width, "host", "jobs", "compared", "cause", "by chance", "p",
		       "corrected", "seen", "others wait");
	for (size_t i = 0; i < t->hosts; i++) {
		const struct pp_fleet_host *h = &host[i];
		char p[2][PP_TEXT_UNIT], lost[PP_TEXT_UNIT];

		if (!is_shown(h))
			continue;
		printf("%-*s %8" PRId64 " %8" PRId64 " %8" PRId64 " %10.1f %10s %10s %8" PRId64 " %12s\n", width, h->name, h->jobs,
		       h->trials, h->cause, h->expected, h->trials ? chance(p[0], h->p) : "-",
		       h->trials ? chance(p[1], h->adjusted) : "-", h->seen, pp_text_time(lost, h->lost_ns));
	}
	print_total(t, t->hosts - shown);
}

static void print_json(const struct pp_fleet_host *host, const struct pp_fleet_total *t)
{
	struct pp_json json = {.to = stdout}, *j = &json;

	pp_json_open(j, NULL);
	pp_json_add_number(j, "level", "%.2f", PP_FLEET_LEVEL);
	pp_json_add_int(j, "lines", (int64_t)t->lines);
	pp_json_add_int(j, "damaged", (int64_t)t->damaged);
	pp_json_add_int(j, "repeated", (int64_t)t->repeated);
	pp_json_add_int(j, "sessions", (int64_t)t->sessions);
	pp_json_add_int(j, "jobs", (int64_t)t->jobs);
	pp_json_add_int(j, "compared", (int64_t)t->trials);
	pp_json_add_int(j, "seen", (int64_t)t->seen);
	pp_json_add_int(j, "not_all_hosts_listed", (int64_t)t->unlisted);
	pp_json_add_int(j, "hosts_tested", (int64_t)t->tested);
	pp_json_add_int(j, "hosts_significant", (int64_t)count_significant(host, t));
	pp_json_open_list(j, "hosts");
	for (size_t i = 0; i < t->hosts; i++) {
		const struct pp_fleet_host *h = &host[i];

		pp_json_line(j);
		pp_json_open(j, NULL);
		pp_json_add_text(j, "host", h->name);
		pp_json_add_int(j, "jobs", h->jobs);
		pp_json_add_int(j, "compared", h->trials);
		pp_json_add_int(j, "cause", h->cause);
		pp_json_add_int(j, "seen", h->seen);
		pp_json_add_number(j, "by_chance", "%.6g", h->expected);
		pp_json_add_number(j, "p", "%.6g", h->p);
		pp_json_add_number(j, "p_corrected", "%.6g", h->adjusted);
		pp_json_add_int(j, "others_wait_ns", h->lost_ns);
		pp_json_add_bool(j, "is_significant", h->trials && h->adjusted <= PP_FLEET_LEVEL);
		pp_json_close(j);
	}
	pp_json_close(j);
	pp_json_close(j);
	putchar('\n');
}

static int show(struct pp_fleet *f, int is_json)
{
	const struct pp_fleet_host *host;
	struct pp_fleet_total total;

	if (pp_fleet_finish(f, &host, &total)) {
		pp_say("no memory to count the jobs. Give fewer logs.");
		return PP_EXIT_FAILED;
	}
	if (!total.jobs) {
		pp_say("no job is in the logs (%" PRIu64 " lines, %" PRIu64 " damaged). Give files that --site-log made.",
		       total.lines, total.damaged);
		return PP_EXIT_FAILED;
	}
	if (is_json)
		print_json(host, &total);
	else
		print_table(host, &total);
	return pp_is_printed("the hosts") ? PP_EXIT_OK : PP_EXIT_FAILED;
}

int pp_cmd_fleet(int argc, char **argv)
{
	struct pp_options options;
	struct pp_fleet *f;
	int first, rc = pp_options_parse(&pp_verb_fleet, argc, argv, &options, &first);

	if (rc >= 0)
		return rc;
	if (first >= argc) {
		pp_say("no log to read. Type 'podprof fleet LOG', with a file that 'podprof run --site-log LOG' made.");
		return PP_EXIT_USAGE;
	}
	f = pp_fleet_new();
	if (!f) {
		pp_say("no memory to read the logs.");
		return PP_EXIT_FAILED;
	}
	rc = read_logs(argv + first, argc - first, f);
	if (!rc)
		rc = show(f, options.verb.json);
	pp_fleet_free(f);
	return rc;
}
