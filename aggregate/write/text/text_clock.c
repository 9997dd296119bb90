/* The clock's part of summary.txt: the clock error between ranks, and what contradicts it. One line where all ranks share a
 * clock. Called by text.c. */
#include "aggregate/write/text/text_clock.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/analyze/bounds.h"
#include "aggregate/analyze/clock_text.h"
#include "core/base/compare.h"
#include "core/base/units.h"

enum { NAMED = 2, NAMED_DRIFTS = 4 }; /* hosts per line */

#define INDENT "              "

struct by_host { /* a host and the key that sorts it */
	const struct pp_row_host_clock *clock;
	int64_t key;
};

PP_COMPARE(largest_first, struct by_host, PP_DOWN(key) ?: PP_UP(clock))

/* Hosts in the order of `key`, without those whose key is INT64_MIN. */
static size_t sort_hosts(const struct pp_dataset *d, int64_t (*key)(const struct pp_row_host_clock *c), struct by_host *host)
{
	size_t n = 0;

	for (size_t i = 0; i < d->host_clocks; i++) {
		host[n] = (struct by_host){&d->host_clock[i], key(&d->host_clock[i])};
		n += host[n].key != INT64_MIN;
	}
	qsort(host, n, sizeof(*host), largest_first);
	return n;
}

static int64_t bound_of(const struct pp_row_host_clock *c)
{
	return c->host_bound_ns == PP_BOUND_UNKNOWN || c->host_bound_ns <= 0 ? INT64_MIN : c->host_bound_ns;
}

/* drift_ppb is that of job time against this clock; users want the clock's own gain. */
static int64_t drift_of(const struct pp_row_host_clock *c)
{
	return bound_of(c) == INT64_MIN ? INT64_MIN : -c->host_drift_ppb;
}

static int64_t unjoined(const struct pp_row_host_clock *c)
{
	return c->host_bound_ns == PP_BOUND_UNKNOWN ? 0 : INT64_MIN;
}

static void say_bound(const struct pp_dataset *d, size_t domains, struct by_host *host, FILE *to)
{
	size_t n = sort_hosts(d, bound_of, host);
	size_t lost = sort_hosts(d, unjoined, host + n);
	char a[PP_TEXT_UNIT];

	if (!n) {
		fprintf(to, "  Clock:      %zu clocks on %zu host%s, not compared; clock error within one of them <= %s\n", domains,
		        d->host_clocks, d->host_clocks == 1 ? "" : "s", pp_text_time(a, d->pair_bound_ns));
		return;
	}
	fprintf(to, "  Clock:      %zu clocks on %zu host%s, clock error between %s ranks <= %s; to rank 0's host", domains,
	        d->host_clocks, d->host_clocks == 1 ? "" : "s", lost ? "compared" : "any two", pp_text_time(a, d->pair_bound_ns));
	for (size_t i = 0; i < n && i < NAMED; i++)
		fprintf(to, "%s <= %s (%s)", i ? "," : "", pp_text_time(a, host[i].key), host[i].clock->name);
	fputc('\n', to);
}

/* Prints as many decimals as the error allows. */
static void put_drift(const struct by_host *host, const char *before, FILE *to)
{
	int64_t error = host->clock->host_drift_error_ppb;
	int decimals = error >= 1000 ? 1 : error >= 100 ? 2 : 3;
	int64_t digit = error == PP_BOUND_UNKNOWN ? 1000 : error >= 1000 ? 100 : error >= 100 ? 10 : 1, up; /* ppb */
	double ppm = (double)(llround((double)host->key / (double)digit) * digit) / 1000;                   /* 0 has no sign */

	up = error == PP_BOUND_UNKNOWN ? 0 : (error + digit - 1) / digit * digit;
	if (error == PP_BOUND_UNKNOWN)
		fprintf(to, "%s %s about %+.0f ppm", before, host->clock->name, ppm);
	else
		fprintf(to, "%s %s %+.*f ppm (error <= %.*f)", before, host->clock->name, decimals, ppm, decimals,
		        (double)up / 1000);
}

static void say_drift(const struct pp_dataset *d, struct by_host *host, FILE *to)
{
	size_t n = sort_hosts(d, drift_of, host), first = n <= NAMED_DRIFTS ? n : NAMED, last = n <= NAMED_DRIFTS ? n : n - NAMED;

	if (!n)
		return;
	fputs(INDENT "drift against rank 0's host:", to);
	for (size_t i = 0; i < first; i++)
		put_drift(&host[i], i ? "," : "", to);
	if (first < last)
		fprintf(to, ", %zu more between", last - first);
	for (size_t i = last; i < n; i++)
		put_drift(&host[i], ",", to);
	fputc('\n', to);
}

static void say_unjoined(const struct pp_dataset *d, struct by_host *host, FILE *to)
{
	size_t n = sort_hosts(d, unjoined, host);
	char text[PP_CLOCK_TEXT];

	if (!n)
		return;
	fputs(INDENT "not compared with rank 0's host:", to);
	for (size_t i = 0; i < n && i < NAMED; i++)
		fprintf(to, "%s %s (%s)", i ? "," : "", host[i].clock->name, pp_clock_why(d, host[i].clock, text));
	if (n > NAMED)
		fprintf(to, " and %zu more in pod.h5", n - NAMED);
	fputs("; waiting for their ranks is unknown\n", to);
}

static void say_last_compared(const struct pp_dataset *d, FILE *to)
{
	char text[PP_CLOCK_LAST];

	if (pp_clock_last_compared(d, text))
		fprintf(to, INDENT "%s\n", text);
}

/* Names wall clocks that were stepped, and hosts that were suspended: absolute times of the window are doubtful there,
 * differences are not. */
static void say_changes(const struct pp_dataset *d, FILE *to)
{
	uint64_t n = 0, shown = 0;
	char text[PP_CLOCK_TEXT];

	for (size_t i = 0; i < d->host_clocks; i++) {
		for (size_t k = 0; k < d->host_clock[i].changes && shown < NAMED; k++)
			fprintf(to, "%s%s", shown++ ? "; " : INDENT,
			        pp_clock_change(d, &d->host_clock[i], &d->host_clock[i].change[k], text));
		n += d->host_clock[i].changes + d->host_clock[i].changes_lost;
	}
	if (n > shown)
		fprintf(to, "%s%" PRIu64 " more%s", shown ? "; " : INDENT, n - shown, shown ? "" : " changes of wall clocks");
	if (n)
		fputc('\n', to);
}

static void say_causality(const struct pp_dataset *d, FILE *to)
{
	const struct pp_causality *c = &d->causality;
	char a[PP_TEXT_UNIT], b[PP_TEXT_UNIT], worst[PP_TEXT_UNIT];

	if (!c->pairs && d->host_clocks > 1)
		fputs(INDENT "causality: not checked, since no collective of all its ranks spans two compared clocks\n", to);
	if (!c->pairs)
		return;
	fprintf(to, INDENT "causality: %s of %s exits from collectives precede a needed arrival by more than the clock error",
	        pp_text_count(a, c->violated), pp_text_count(b, c->pairs));
	if (c->violated)
		fprintf(to, ", at most by %s", pp_text_time(worst, c->worst_ns));
	if (c->inverted)
		fprintf(to, ", %s by less", pp_text_count(a, c->inverted));
	fputs("; messages are not checked\n", to);
}

struct claims {
	size_t synchronised, adrift, silent;
	int64_t error_ns, most_ns;
	const char *by, *whose; /* of the worst host */
};

static struct claims sum_claims(const struct pp_dataset *d)
{
	struct claims s = {.error_ns = -1};

	for (size_t i = 0; i < d->host_clocks; i++) {
		const struct pp_clock_claim *c = &d->host_clock[i].claim;

		s.silent += !c->known;
		s.adrift += c->known && !c->synchronised;
		s.synchronised += c->known && c->synchronised;
		if (!c->known || !c->synchronised)
			continue;
		s.most_ns = c->error_most_ns > s.most_ns ? c->error_most_ns : s.most_ns;
		if (c->error_ns > s.error_ns) {
			s.error_ns = c->error_ns;
			s.by = c->by;
			s.whose = d->host_clock[i].name;
		}
	}
	return s;
}

/* What NTP or PTP claim of the wall clocks. No time between ranks depends on it. */
static void say_claims(const struct pp_dataset *d, const char *before, FILE *to)
{
	struct claims s = sum_claims(d);
	char a[PP_TEXT_UNIT], b[PP_TEXT_UNIT];

	if (s.silent == d->host_clocks)
		return;
	fputs(before, to);
	if (d->host_clocks == 1 && s.adrift) {
		fprintf(to, "Wall clock not NTP-synchronised (%s)", d->host_clock[0].claim.by);
	} else if (s.synchronised) {
		fputs(d->host_clocks == 1 ? "Wall clock NTP-synchronised" : "Wall clocks NTP-synchronised", to);
		if (s.synchronised < d->host_clocks)
			fprintf(to, " on %zu of %zu hosts", s.synchronised, d->host_clocks);
		fprintf(to, " (%s%s%s: error about %s, at most %s)", s.by, d->host_clocks > 1 ? ", worst on " : "",
		        d->host_clocks > 1 ? s.whose : "", pp_text_time(a, s.error_ns), pp_text_time(b, s.most_ns));
	} else {
		fprintf(to, "Wall clocks not NTP-synchronised on %zu of %zu hosts", s.adrift, d->host_clocks);
	}
	fputs("; affects absolute dates only\n", to);
}

/* What salvage was given may be one of the job's hosts. */
static int is_alone(const struct pp_dataset *d)
{
	return pp_clock_is_salvaged(d) && d->ranks_delivered < d->ranks_asked && pp_dataset_hosts(d) == 1;
}

struct joined { /* delivered ranks, by how they were joined to the first of them */
	size_t by[PP_JOINED_BY_NOTHING + 1], others;
	int64_t own_ns;
	const char *host;
};

static struct joined count_joined(const struct pp_dataset *d)
{
	struct joined j = {.host = ""};

	for (size_t w = 0; w < d->workers; w++) {
		const struct pp_row_worker *worker = &d->worker[w];

		if (worker->domain < 0 || pp_worker_is_missing(worker))
			continue;
		if (worker->bound_ns == PP_BOUND_UNKNOWN) {
			j.others++;
			continue;
		}
		j.by[worker->joined_by]++;
		j.own_ns = worker->own_bound_ns > j.own_ns ? worker->own_bound_ns : j.own_ns;
		j.host = !*j.host && worker->host_clock ? d->host_clock[worker->host_clock - 1].name : j.host;
	}
	return j;
}

/* Does any file say its host? A file merged of several ranks has one time, as its merger made it. */
static int says_host(const struct pp_dataset *d)
{
	for (size_t i = 0; i < d->trace_files; i++)
		if (d->trace_file[i].says_host)
			return 1;
	return 0;
}

/* Of files of other profilers: on what the comparison of their times rests. 0: they were not compared. */
static int say_files(const struct pp_dataset *d, struct by_host *host, FILE *to)
{
	const struct joined j = count_joined(d);
	size_t n = sort_hosts(d, bound_of, host);
	uint64_t least = UINT64_MAX;
	char a[PP_TEXT_UNIT];

	if (!j.by[PP_JOINED_BY_WALL_CLOCK] && !j.by[PP_JOINED_BY_COLLECTIVES])
		return 0;
	for (size_t i = 0; i < d->host_clocks; i++)
		if (d->host_clock[i].hops && d->host_clock[i].host_collectives < least)
			least = d->host_clock[i].host_collectives;
	if (!j.by[PP_JOINED_BY_COLLECTIVES] && !says_host(d))
		fprintf(to,
		        "  Clock:      ranks of one file, by its times, clock error <= %s as they round and contradict each other; "
		        "errors of the profiler are not in it\n",
		        pp_text_time(a, j.own_ns));
	else if (!j.by[PP_JOINED_BY_COLLECTIVES])
		fprintf(to,
		        "  Clock:      files of one host (%s), by its wall clock, clock error <= %s as the files round; errors of "
		        "their profilers are not in it\n",
		        j.host, pp_text_time(a, j.own_ns));
	else
		fprintf(to,
		        "  Clock:      %zu clocks of files, aligned by collectives, which end on all ranks together: clock error "
		        "between any two ranks <= %s by their spread\n",
		        d->host_clocks, pp_text_time(a, d->pair_bound_ns));
	if (n)
		fprintf(to, INDENT "least certain is %s; by at least %" PRIu64 " collectives each%s\n", host[0].clock->name, least,
		        j.by[PP_JOINED_BY_WALL_CLOCK] > 1 ? "; files of one host by its wall clock" : "");
	if (j.others)
		fprintf(to, INDENT "%zu other rank%s not compared: waiting for %s is unknown\n", j.others,
		        j.others == 1 ? " was" : "s were", j.others == 1 ? "it" : "them");
	if (j.by[PP_JOINED_BY_COLLECTIVES] && d->causality.pairs) /* kernels of collectives are not checked */
		say_causality(d, to);
	return 1;
}

void pp_text_clock(const struct pp_dataset *d, FILE *to)
{
	struct by_host *host = malloc((d->host_clocks + 1) * sizeof(*host));
	size_t domains = pp_bounds_clocks(d);
	char a[PP_TEXT_UNIT];

	if (!host || !d->workers) {
		free(host);
		return;
	}
	if (d->trace_files && say_files(d, host, to)) {
		; /* all is said */
	} else if (d->trace_files && domains > 1) {
		fputs("  Clock:      each file has a clock of its own, and none was compared with another\n", to);
	} else if (domains <= 1 || !d->host_clocks) {
		fprintf(to, "  Clock:      %s",
		        domains > 1               ? "not compared; among ranks of one clock"
		        : d->workers < 2          ? "one rank, one clock"
		        : d->ranks_delivered == 1 ? "only one rank delivered data: one clock"
		                                  : "all ranks share one clock");
		if (d->pair_bound_ns) /* 0: a file of another profiler, which does not say */
			fprintf(to, ", clock error <= %s", pp_text_time(a, d->pair_bound_ns));
		if (is_alone(d))
			fputs("; no other host is in this session", to);
		if (d->host_clocks == 1 && d->host_clock[0].claim.known)
			say_claims(d, ". ", to);
		else
			fputc('\n', to);
		if (d->host_clocks > 1)
			say_claims(d, INDENT, to);
		say_changes(d, to);
	} else {
		say_bound(d, domains, host, to);
		say_drift(d, host, to);
		say_unjoined(d, host, to);
		say_last_compared(d, to);
		say_causality(d, to);
		say_changes(d, to);
		say_claims(d, INDENT, to);
	}
	free(host);
}
