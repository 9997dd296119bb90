/* What every user of a timeline needs: names of tracks, sentences about what is missing, release. See timeline.h. */
#include "aggregate/timeline/timeline.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/partition.h"

void pp_timeline_track_name(const struct pp_timeline *t, const struct pp_timeline_track *track, char *name, size_t size)
{
	static const char *const of[] = {
	        [PP_TIMELINE_STEPS] = "steps", [PP_TIMELINE_REQUESTS] = "requests", [PP_TIMELINE_ASYNC] = "async"};
	const int32_t rank = t->rank[track->rank].rank;
	const char *text = pp_intern_text(t->names, track->name, NULL);

	if (track->of != PP_TIMELINE_THREAD && track->of != PP_TIMELINE_STREAM)
		snprintf(name, size, "rank %" PRId32 " %s", rank, of[track->of]);
	else if (track->device)
		snprintf(name, size, "rank %" PRId32 " device %" PRIu32 " %s", rank, track->device - 1, *text ? text : "stream");
	else if (track->is_main)
		snprintf(name, size, "rank %" PRId32 " main", rank);
	else if (*text)
		snprintf(name, size, "rank %" PRId32 " %s", rank, text);
	else
		snprintf(name, size, "rank %" PRId32 " %" PRIu32, rank, track->tid);
}

size_t pp_timeline_rank_at(const struct pp_timeline *t, int32_t rank)
{
	const size_t low = PP_PARTITION(t->ranks, at, t->rank[at].rank < rank);

	return low < t->ranks && t->rank[low].rank == rank ? low : SIZE_MAX;
}

void pp_timeline_left_text(const struct pp_timeline *t, char *text, size_t size)
{
	const struct {
		uint64_t n;
		const char *one, *many, *what;
	} row[] = {
	        {t->left.ranks, "rank has", "ranks have", "no events here"},
	        {t->left.by_ranks, "rank is not in --ranks, and", "ranks are not in --ranks, and", "left out"},
	        {t->left.by_steps, "event outside the steps of --steps is", "events outside the steps of --steps are", "left out"},
	        {t->left.by_time, "event before the time of --last is", "events before the time of --last are", "left out"},
	        {t->left.by_categories, "event of other categories than --categories is",
	         "events of other categories than --categories are", "left out"},
	        {t->left.damaged, "event of the files is damaged and", "events of the files are damaged and", "left out"},
	        {t->left.untimed, "event of the files has no valid time and is", "events of the files have no valid time and are",
	         "left out"},
	        {t->left.crossed, "range overlaps", "ranges overlap",
	         "another one of the same thread without lying in it, and ends here where that one does"},
	        {t->left.unmatched_collectives, "call of a collective has", "calls of collectives have", "no known waiting"},
	        {t->left.unmatched_waits, "call that waited has", "calls that waited have",
	         "no arrow: what the late rank did then is no call"},
	        {t->left.between_polls, "wait is", "waits are", "in part between polls, where no event shows it"},
	        {t->left.unmatched_messages, "send or receive has", "sends and receives have",
	         "no arrow: the other end is not recorded, or not certain"},
	        {t->left.unmatched_launches, "kernel or copy has", "kernels and copies have",
	         "no arrow: its launch is not recorded"},
	};
	size_t at = 0;

	*text = '\0';
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]) && at < size; i++)
		if (row[i].n)
			at += (size_t)snprintf(text + at, size - at, "%s%" PRIu64 " %s %s", at ? "\n" : "", row[i].n,
			                       row[i].n == 1 ? row[i].one : row[i].many, row[i].what);
}

void pp_timeline_release(struct pp_timeline *t)
{
	pp_intern_free(t->names);
	free(t->rank);
	free(t->track);
	free(t->event);
	free(t->detail);
	free(t->launch);
	free(t->flow);
	free(t->counter);
	free(t->sample);
	free(t->step);
	free(t->comm);
	*t = (struct pp_timeline){.names = NULL};
}
