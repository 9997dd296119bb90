/* Findings in words: ranks and links that are late; see finding.h. Called by finding.c. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/dataset/host_list.h"
#include "aggregate/dataset/table/functions.h"
#include "aggregate/tools/coordinates.h"
#include "aggregate/tools/finding.h"
#include "aggregate/tools/sums.h"
#include "core/base/units.h"
#include "core/base/utf8.h"

enum { HOST_BYTES = 36 };

struct chosen {
	const struct pp_dataset *d;
	const uint8_t *is;
};

const char *pp_finding_look_at(int reason, int is_one)
{
	static const char *const text[PP_REASONS] = {
	        "nothing that was recorded explains it: mark ranges in its code",
	        "compare its kernels and the clock rates of its device with another rank's",
	        "compare its copies between devices with another rank's",
	        "check its device links and network port",
	        "compare its operators with another rank's, its share of the data and its cores",
	        "check its CPU: cores, affinity, other processes",
	        "check its data loader, its files and their storage",
	        "check what it writes, and where to",
	        "compile before the steps, or keep shapes equal",
	        "it sleeps or runs unmarked code: mark ranges, or check cores and other processes",
	        "check its network port and its share of the messages",
	        "look at what it does between steps",
	        "check ports, cables and switches on the way, and compare with the other links",
	};

	if (!is_one && reason == PP_CATEGORY_DEVICE_COMPUTE)
		return "look at the kernels and the clock rates of the devices";
	if (!is_one && reason == PP_CATEGORY_DEVICE_TO_DEVICE)
		return "look at the copies between devices";
	if (!is_one && reason == PP_CATEGORY_HOST_COMPUTE)
		return "look at the operators, and at the cores that they have";
	return text[reason > 0 && reason < PP_REASONS ? reason : 0];
}

static int is_chosen(const struct pp_row_worker *w, const void *context)
{
	const struct chosen *c = context;
	const size_t at = pp_dataset_worker(c->d, w->rank);

	return at != SIZE_MAX && c->is[at];
}

/* The host whose ranks are the chosen ones, several and no other; SIZE_MAX: there is none. */
static size_t whole_host(const struct pp_dataset *d, const uint8_t *chosen, size_t ranks)
{
	size_t first = 0, of_host = 0;

	while (first < d->workers && !chosen[first])
		first++;
	for (size_t w = 0; w < d->workers && first < d->workers; w++) {
		const int same = !strcmp(d->worker[w].host, d->worker[first].host);

		if (same != chosen[w])
			return SIZE_MAX;
		of_host += (size_t)same;
	}
	return of_host > 1 && of_host == ranks && of_host < d->workers ? first : SIZE_MAX;
}

static int set_hosts(const struct pp_dataset *d, const uint8_t *chosen, struct pp_row_finding *row)
{
	char(*name)[PP_HOST_LIST_NAME] = calloc(row->finding_ranks + 1, sizeof(*name));
	size_t names = 0;

	if (!name)
		return -ENOMEM;
	for (size_t w = 0; w < d->workers && names < row->finding_ranks; w++)
		if (chosen[w] && d->worker[w].host[0])
			snprintf(name[names++], sizeof(*name), "%s", d->worker[w].host);
	row->finding_hosts = (uint32_t)pp_host_list_sort(name, names);
	if (pp_host_list_write(name, row->finding_hosts, row->finding_host_list, sizeof(row->finding_host_list)))
		row->finding_host_list[0] = '\0';
	free(name);
	return 0;
}

int pp_finding_who(const struct pp_dataset *d, const uint8_t *chosen, size_t ranks, struct pp_row_finding *row)
{
	const size_t host = whole_host(d, chosen, ranks);
	char list[56], place[32] = "";
	size_t at;

	row->finding_ranks = (uint32_t)ranks;
	pp_dataset_list_ranks(d, is_chosen, &(struct chosen){d, chosen}, " and ", list, sizeof(list));
	pp_coordinates_common(d, chosen, place, sizeof(place));
	if (host == SIZE_MAX) {
		at = (size_t)snprintf(row->who, sizeof(row->who), "%s", list);
		if (place[0])
			snprintf(row->who + at, sizeof(row->who) - at, " (%s)", place);
	} else
		snprintf(row->who, sizeof(row->who), "host %.*s (%s)", pp_utf8_fit(d->worker[host].host, HOST_BYTES),
		         d->worker[host].host, list);
	return set_hosts(d, chosen, row) ?: host != SIZE_MAX;
}

/* "It makes the usual step 4.1 ms longer (44 % of it)" */
static void say_gain(const struct pp_row_finding *row, const char *what, char *to, size_t size)
{
	char gain[PP_TEXT_UNIT];

	snprintf(to, size, "%s the %sstep %s longer (%.0f %% of it)", what, row->of_steps > 1 ? "usual " : "",
	         pp_text_time(gain, row->finding_gain_ns), pp_sums_percent(row->finding_gain_ns, row->usual_ns));
}

static const char *explain(int reason)
{
	return reason == PP_CATEGORY_OTHER ? " (sleep, Python, unmarked code)" : "";
}

static void say_ranks(const struct pp_row_finding *row, int are_alike, char *to, size_t size)
{
	const char *reason = pp_reason_name(row->finding_reason), *why = explain(row->finding_reason);
	const char *makes = row->finding_ranks > 1 ? "Together they make" : "It makes",
	           *each = row->finding_ranks > 1 && are_alike ? " each" : "",
	           *latest = row->finding_ranks > 1 && !are_alike ? "the latest of them " : "";
	char more[PP_TEXT_UNIT], gain[84], since[36] = "", steps[42] = "";

	pp_text_time(more, row->more_ns);
	say_gain(row, makes, gain, sizeof(gain));
	if (row->kind == PP_FINDING_PHASE) {
		snprintf(to, size, "%s, %s%s: %s%s%s in %s step before calls that no other rank makes. %s", row->who, reason, why,
		         latest, more, each, row->of_steps > 1 ? "a usual" : "the", gain);
		return;
	}
	if (row->kind == PP_FINDING_SUDDEN)
		snprintf(since, sizeof(since), " from step %" PRId64 " on", row->finding_first);
	else if (row->kind == PP_FINDING_GROWING)
		snprintf(since, sizeof(since), ", more from step to step");
	if (row->of_steps > 1)
		snprintf(steps, sizeof(steps), " in %" PRIu32 " of %" PRIu32 " usual steps", row->finding_steps, row->of_steps);
	snprintf(to, size, "%s, %s%s: %s%s%s more than the median of the other ranks%s%s. %s%s", row->who, reason, why, latest,
	         more, each, steps, since, gain,
	         row->kind == PP_FINDING_IRREGULAR ? ". This may be chance: there are too few steps"
	         : row->kind == PP_FINDING_NOISE   ? ". For a part of this it was ready to run and had no core"
	         : row->kind == PP_FINDING_PROGRESS
	                 ? row->finding_ranks > 1
	                           ? ". The others wait in operations that are begun, and go on only when they are back in MPI"
	                           : ". The others wait in operations that are begun, and go on only when it is back in MPI"
	                 : "");
}

static void say_link(const struct pp_dataset *d, const struct pp_row_finding *row, char *to, size_t size)
{
	const struct pp_row_channel *c = pp_dataset_channel(d, row->finding_worker, row->finding_peer);
	char times[96] = "", gain[128];

	if (c && c->transfer_ns > 0 && c->usual_ns > 0)
		snprintf(times, sizeof(times), ": messages take %.1f times as long as on the usual links",
		         (double)c->transfer_ns / (double)c->usual_ns);
	say_gain(row, "This makes", gain, sizeof(gain));
	snprintf(to, size, "%s%s. %s", row->who, times, gain);
}

static void say_turns(const struct pp_row_finding *row, char *to, size_t size)
{
	char more[PP_TEXT_UNIT], gain[128];

	say_gain(row, "Together these delays make", gain, sizeof(gain));
	snprintf(to, size,
	         "ranks take turns: in %" PRIu32 " of %" PRIu32 " usual steps one of %" PRIu32
	         " ranks is late, usually by %s, and none of them more often than by chance. %s",
	         row->finding_steps, row->of_steps, row->finding_ranks, pp_text_time(more, row->more_ns), gain);
}

void pp_finding_say(const struct pp_dataset *d, int is_host, int are_alike, struct pp_row_finding *row)
{
	const char *look = pp_finding_look_at(row->finding_reason, 1);

	switch (row->kind) {
	case PP_FINDING_LINK:
		say_link(d, row, row->finding, sizeof(row->finding));
		snprintf(row->finding_next, sizeof(row->finding_next), "%s", pp_finding_look_at(PP_REASON_LINK, 1));
		break;
	case PP_FINDING_ROTATING:
		say_turns(row, row->finding, sizeof(row->finding));
		snprintf(row->finding_next, sizeof(row->finding_next),
		         "repair the cause, not a rank: uneven data or experts, a shared resource, or cores that ranks share");
		break;
	case PP_FINDING_NOISE:
		say_ranks(row, are_alike, row->finding, sizeof(row->finding));
		snprintf(row->finding_next, sizeof(row->finding_next),
		         "give %s a core of its own; 'mpirun --report-bindings' prints the cores of each rank", row->who);
		break;
	case PP_FINDING_PROGRESS:
		say_ranks(row, are_alike, row->finding, sizeof(row->finding));
		snprintf(row->finding_next, sizeof(row->finding_next),
		         "call MPI_Test within that work, or let MPI make progress in a thread of its own; %s", look);
		break;
	case PP_FINDING_PHASE:
		say_ranks(row, are_alike, row->finding, sizeof(row->finding));
		snprintf(row->finding_next, sizeof(row->finding_next),
		         "share this work among the ranks, or do it while the others compute");
		break;
	default:
		say_ranks(row, are_alike, row->finding, sizeof(row->finding));
		snprintf(row->finding_next, sizeof(row->finding_next), "%s; %s",
		         is_host ? "compare the host with another one: clock rates, cooling, other processes, network, storage"
		         : row->finding_ranks > 1 ? "move the ranks to other places to see whether the delay follows them"
		                                  : "move the rank to another place to see whether the delay follows it",
		         look);
	}
}
