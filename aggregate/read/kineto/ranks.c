/* Parts a file that was merged of several ranks; see ranks.h. Called by finish.c. By prefixes of pids and names of processes, as
 * merging tools write them; else each process with operators is a rank, and streams are of the rank that launched their work.
 * What nothing gives to one of them is counted. */
#include "aggregate/read/kineto/ranks.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "aggregate/read/kineto/number.h"
#include "aggregate/read/kineto/release.h"
#include "core/base/compare.h"
#include "core/base/grow.h"
#include "core/base/partition.h"
#include "core/capture/order.h"
#include "core/capture/side.h"
#include "core/capture/span.h"

enum { NO_RANK = UINT32_MAX, SEVERAL_NUMBERS = -2, ROUNDED_NS = 1000 };

struct label {          /* of a rank: "[TP00]" of "[TP00] 4711", "rank 3" */
	uint32_t text;  /* pp_intern id; 0: none */
	int64_t number; /* that a word says; -1 */
};

struct found { /* a rank */
	struct label label;
	uint32_t first;   /* track */
	kineto_key pid;   /* without a label */
	const char *name; /* the label's text, when all are known */
	int64_t number;   /* number by its collectives; -1: none; SEVERAL_NUMBERS */
};

struct launch { /* of a rank's call */
	uint64_t correlation;
	int64_t begin;
	uint32_t rank;
};

struct parting {
	struct kineto_store *s;
	const struct kineto_processes *list;
	struct found *found;
	size_t founds;
	uint32_t *rank; /* of each track; NO_RANK */
	struct launch *launch;
	size_t launches, launches_room;
	uint64_t *votes; /* [founds] */
	size_t *last;    /* [founds] span that was counted last, index + 1 */
};

PP_COMPARE(compare_found, struct found, PP_UP(label.number) ?: strcmp(x->name, y->name) ?: PP_UP(first))

PP_COMPARE_BY_3(compare_launch, struct launch, correlation, begin, rank)

static int is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* "rank 3", "Rank:3", "rank_03" anywhere, but not in a longer word. */
static int find_word(struct kineto_store *s, const char *text, size_t length, struct label *ret_label)
{
	for (size_t i = 0; i + 5 <= length; i++) {
		size_t at = i + 4, end;
		int64_t number;
		char canonical[32];

		if (strncasecmp(text + i, "rank", 4) || (i && isalnum((unsigned char)text[i - 1])))
			continue;
		while (at < length && strchr(" _:#=-", text[at]))
			at++;
		for (end = at; end < length && is_digit(text[end]);)
			end++;
		if (end == at || pp_kineto_integer(text + at, end - at, &number) || number > PP_TRACE_RANKS_MOST)
			continue;
		*ret_label = (struct label){
		        pp_intern_put(s->names, canonical,
		                      (size_t)snprintf(canonical, sizeof(canonical), "rank %lld", (long long)number)),
		        number};
		return 1;
	}
	return 0;
}

/* "[TP00-DP01] 4711": brackets with a number at the begin. */
static int find_label(struct kineto_store *s, uint32_t id, struct label *ret_label)
{
	size_t length;
	const char *text = pp_intern_text(s->names, id, &length);
	const char *end = length && text[0] == '[' ? memchr(text, ']', length) : NULL;
	int has_digit = 0;

	if (find_word(s, text, length, ret_label))
		return 1;
	for (const char *at = text; end && at < end; at++)
		has_digit |= is_digit(*at);
	if (!has_digit)
		return 0;
	*ret_label = (struct label){pp_intern_put(s->names, text, (size_t)(end - text) + 1), -1};
	return 1;
}

static void label_of(struct kineto_store *s, const struct kineto_process *p, struct label *ret_label)
{
	*ret_label = (struct label){0, -1};
	if (p->pid & 1 && find_label(s, (uint32_t)(p->pid >> 1), ret_label))
		return;
	if (!find_label(s, p->name, ret_label))
		find_label(s, p->labels, ret_label);
}

static uint32_t find_rank(const struct parting *w, uint32_t text, kineto_key pid)
{
	for (size_t i = 0; i < w->founds; i++)
		if (text ? w->found[i].label.text == text : w->found[i].pid == pid && !w->found[i].label.text)
			return (uint32_t)i;
	return NO_RANK;
}

static void add(struct parting *w, struct label label, const struct kineto_process *p)
{
	uint32_t at = find_rank(w, label.text, p->pid);

	if (at != NO_RANK && p->first < w->found[at].first)
		w->found[at].first = p->first;
	if (at == NO_RANK && w->founds < KINETO_RANKS_MOST)
		w->found[w->founds++] = (struct found){label, p->first, p->pid, NULL, -1};
}

/* Ranks by their labels. */
static void find_labels(struct parting *w)
{
	for (size_t i = 0; i < w->list->processes; i++) {
		struct label label;

		label_of(w->s, &w->list->process[i], &label);
		if (label.text)
			add(w, label, &w->list->process[i]);
	}
}

static int has_bit(const struct kineto_process *p, enum kineto_category category)
{
	return (p->seen >> category & 1) != 0;
}

/* Ranks by their processes: those with operators or steps, which also launch if anything ran on a device; else those that
 * launch. */
static void find_workers(struct parting *w)
{
	int on_device = 0;

	w->founds = 0;
	for (size_t t = 0; t < w->s->tracks; t++)
		on_device |= w->s->track[t].device >= 0 && w->s->track[t].spans;
	for (int only_launches = 0; only_launches < 2 && !w->founds; only_launches++) {
		for (size_t i = 0; i < w->list->processes; i++) {
			const struct kineto_process *p = &w->list->process[i];
			int launches = has_bit(p, KINETO_LAUNCH), works = has_bit(p, KINETO_OPERATOR) || p->has_steps;

			if (p->role == KINETO_HOST && (only_launches ? launches : works && (launches || !on_device)))
				add(w, (struct label){0, -1}, p);
		}
	}
}

static uint32_t rank_of(const struct parting *w, const struct kineto_process *p)
{
	struct label label;

	if (!w->found[0].label.text)
		return find_rank(w, 0, p->pid);
	label_of(w->s, p, &label);
	return label.text ? find_rank(w, label.text, 0) : NO_RANK;
}

/* Of each track by its process. */
static void give_tracks(struct parting *w)
{
	for (size_t t = 0; t < w->s->tracks; t++)
		w->rank[t] = rank_of(w, pp_kineto_process(w->list, w->s->track[t].pid));
}

static int list_launches(struct parting *w)
{
	for (size_t t = 0; t < w->s->tracks; t++) {
		const struct kineto_track *track = &w->s->track[t];

		for (size_t i = 0; track->device < 0 && w->rank[t] != NO_RANK && i < track->spans; i++) {
			const struct pp_span *span = &track->span[i];

			if (span->kind != PP_SPAN_RANGE || span->range.payload_type != KINETO_MARK_LAUNCH)
				continue;
			if (PP_GROW(w->launch, w->launches, w->launches_room))
				return -ENOMEM;
			w->launch[w->launches++] = (struct launch){span->range.id, span->begin, w->rank[t]};
		}
	}
	if (w->launches)
		qsort(w->launch, w->launches, sizeof(*w->launch), compare_launch);
	return 0;
}

/* Where the ranks stand one behind the other in the file: that of the process whose calls come before it. */
static uint32_t hint_of(const struct parting *w, const struct pp_span *span)
{
	const uint32_t worker = span->device.host_thread >> 1;
	const struct kineto_process *p;

	if (!worker || worker > w->s->workers || w->s->worker_runs > w->s->workers)
		return NO_RANK;
	p = pp_kineto_process(w->list, w->s->worker[worker - 1]);
	return p ? rank_of(w, p) : NO_RANK;
}

static size_t first_launch(const struct parting *w, const struct pp_span *span)
{
	const struct launch *l = w->launch;
	const uint64_t correlation = span->device.correlation;

	return correlation ? PP_PARTITION(w->launches, i, l[i].correlation < correlation) : w->launches;
}

/* Who launched it: of several ranks with its correlation, as each counts them, the one before it in the file, else the only one
 * that had launched it when it began, else the owner of the stream. */
static uint32_t launcher(const struct parting *w, const struct pp_span *span, uint32_t owner)
{
	const struct launch *l = w->launch;
	uint32_t hint = hint_of(w, span), before = NO_RANK, any = NO_RANK;
	int befores = 0, anys = 0;

	if (!w->launches)
		return hint;
	for (size_t at = first_launch(w, span); at < w->launches && l[at].correlation == span->device.correlation; at++) {
		if (l[at].rank == hint)
			return hint;
		anys += l[at].rank != any;
		any = l[at].rank;
		befores += l[at].begin <= span->begin && l[at].rank != before;
		before = l[at].begin <= span->begin ? l[at].rank : before;
	}
	return befores == 1 ? before : anys <= 1 ? any : owner;
}

/* Spans of one stream, in order, do not overlap: it is that of several ranks. */
static int is_mixed(const struct kineto_track *track)
{
	for (size_t i = 1; i < track->spans; i++)
		if (track->span[i].begin < track->span[i - 1].end - ROUNDED_NS)
			return 1;
	return 0;
}

/* The only rank that had launched each span of the stream, of which a launch is known, before it began. NO_RANK: none, or
 * several. */
static uint32_t owner_of(struct parting *w, const struct kineto_track *track)
{
	const struct launch *l = w->launch;
	uint32_t owner = NO_RANK;
	uint64_t launched = 0;
	int owners = 0;

	memset(w->votes, 0, w->founds * sizeof(*w->votes));
	memset(w->last, 0, w->founds * sizeof(*w->last));
	for (size_t i = 0; i < track->spans; i++) {
		const struct pp_span *span = &track->span[i];
		const size_t first = first_launch(w, span);

		for (size_t at = first; at < w->launches && l[at].correlation == span->device.correlation; at++) {
			launched += at == first;
			w->votes[l[at].rank] += l[at].begin <= span->begin && w->last[l[at].rank] != i + 1;
			w->last[l[at].rank] = l[at].begin <= span->begin ? i + 1 : w->last[l[at].rank];
		}
	}
	for (uint32_t r = 0; launched && r < w->founds; r++) {
		if (w->votes[r] != launched)
			continue;
		owner = r;
		owners++;
	}
	return owners == 1 ? owner : NO_RANK;
}

/* A track of its own for the spans of each rank but `stays`. */
static int split(struct parting *w, uint32_t t, const uint32_t *of, uint32_t stays)
{
	struct kineto_store *s = w->s;
	size_t spans = s->track[t].spans, count = 0;

	for (uint32_t r = 0; r < w->founds; r++) {
		struct kineto_track part = s->track[t];

		if (r == stays || !w->votes[r])
			continue;
		part.open = NULL;
		part.opens = part.opens_room = 0;
		part.spans = 0;
		part.span = calloc(w->votes[r], sizeof(*part.span));
		part.room = w->votes[r];
		if (!part.span || PP_GROW(s->track, s->tracks, s->tracks_room) || PP_RESIZE(w->rank, s->tracks + 1)) {
			free(part.span);
			return -ENOMEM;
		}
		for (size_t i = 0; i < spans; i++)
			if (of[i] == r)
				part.span[part.spans++] = s->track[t].span[i];
		w->rank[s->tracks] = r;
		s->track[s->tracks++] = part;
	}
	for (size_t i = 0; i < spans; i++)
		if (of[i] == stays)
			s->track[t].span[count++] = s->track[t].span[i];
	s->track[t].spans = count;
	return 0;
}

/* Ranks of a stream's spans: what nobody launched is of the rank with most of them. A stream without a launch stays. */
static int elect(struct parting *w, uint32_t t)
{
	const struct kineto_track *track = &w->s->track[t];
	uint32_t *of = calloc(track->spans + 1, sizeof(*of)), best = 0, voters = 0;
	uint64_t unknown = 0;
	int rc = of ? pp_order_spans(track->span, track->spans) : -ENOMEM;
	const int mixed = rc == 0 && is_mixed(track);
	const uint32_t owner = rc == 0 && !mixed ? owner_of(w, track) : NO_RANK;

	memset(w->votes, 0, w->founds * sizeof(*w->votes));
	for (size_t i = 0; rc == 0 && i < track->spans; i++) {
		of[i] = launcher(w, &track->span[i], owner);
		w->votes[of[i] == NO_RANK ? 0 : of[i]] += of[i] != NO_RANK;
		unknown += of[i] == NO_RANK;
	}
	for (uint32_t r = 0; r < w->founds; r++) {
		voters += w->votes[r] > 0;
		best = w->votes[r] > w->votes[best] ? r : best;
	}
	if (!voters) {
		free(of);
		return rc;
	}
	w->s->unclear += voters > 1 || mixed ? unknown : 0;
	for (size_t i = 0; rc == 0 && i < track->spans; i++)
		of[i] = of[i] == NO_RANK ? best : of[i];
	w->rank[t] = best;
	if (rc == 0)
		rc = split(w, t, of, best);
	free(of);
	return rc;
}

/* The only rank that launched on its device, if the track is of one; else the first, which is counted. */
static uint32_t rest_of(struct parting *w, uint32_t t)
{
	const struct kineto_store *s = w->s;
	uint32_t owner = NO_RANK;
	int owners = 0;

	for (uint32_t i = 0; s->track[t].device >= 0 && i < s->tracks && owners < 2; i++) {
		if (s->track[i].device != s->track[t].device || w->rank[i] == NO_RANK || w->rank[i] == owner || !s->track[i].spans)
			continue;
		owner = w->rank[i];
		owners++;
	}
	w->s->unclear += owners == 1 && !is_mixed(&s->track[t]) ? 0 : s->track[t].spans;
	return owners == 1 ? owner : 0;
}

/* What has no rank yet, by what has one. */
static int give_rest(struct parting *w)
{
	uint32_t *rest = calloc(w->s->tracks + 1, sizeof(*rest));

	if (!rest)
		return -ENOMEM;
	for (uint32_t t = 0; t < w->s->tracks; t++)
		rest[t] = w->rank[t] == NO_RANK ? rest_of(w, t) : w->rank[t];
	memcpy(w->rank, rest, w->s->tracks * sizeof(*rest));
	free(rest);
	return 0;
}

static int elect_all(struct parting *w)
{
	const size_t tracks = w->s->tracks;
	int rc = list_launches(w);

	w->votes = calloc(w->founds, sizeof(*w->votes));
	w->last = calloc(w->founds, sizeof(*w->last));
	if (rc || !w->votes || !w->last)
		return -ENOMEM;
	for (uint32_t t = 0; t < tracks && rc == 0; t++)
		if (w->rank[t] == NO_RANK && w->s->track[t].device >= 0)
			rc = elect(w, t);
	return rc ? rc : give_rest(w);
}

static int append(struct kineto_track *to, struct kineto_track *from)
{
	struct pp_span *all = realloc(to->span, (to->spans + from->spans) * sizeof(*all));

	if (!all)
		return -ENOMEM;
	memcpy(all + to->spans, from->span, from->spans * sizeof(*all));
	to->span = all;
	to->spans += from->spans;
	to->room = to->spans;
	to->last = from->last > to->last ? from->last : to->last;
	free(from->span);
	free(from->open);
	*from = (struct kineto_track){.device = -1};
	return 0;
}

/* Streams of a rank that the file has under several processes are one. */
static int join_streams(struct kineto_store *s)
{
	for (size_t a = 0; a < s->tracks; a++)
		for (size_t b = a + 1; s->track[a].device >= 0 && s->track[a].spans && b < s->tracks; b++)
			if (s->track[b].spans && s->track[b].device == s->track[a].device &&
			    s->track[b].stream == s->track[a].stream && append(&s->track[a], &s->track[b]))
				return -ENOMEM;
	return 0;
}

static int take_part(struct parting *w, struct kineto_store *to, uint32_t rank, uint32_t *place)
{
	struct kineto_store *s = w->s;
	size_t allocations = 0, collectives = 0;

	for (size_t t = 0; t < s->tracks; t++) {
		if (w->rank[t] != rank)
			continue;
		if (PP_GROW(to->track, to->tracks, to->tracks_room))
			return -ENOMEM;
		place[t] = (uint32_t)to->tracks;
		to->track[to->tracks++] = s->track[t];
		to->trace.events += s->track[t].spans;
		s->track[t].span = NULL;
		s->track[t].open = NULL;
	}
	for (size_t i = 0; i < s->allocations; i++)
		allocations += w->rank[s->allocation[i].op] == rank;
	for (size_t i = 0; i < s->collectives; i++)
		collectives += w->rank[s->collective[i].track] == rank;
	to->trace.events += allocations;
	to->allocation = calloc(allocations + 1, sizeof(*to->allocation));
	to->collective = calloc(collectives + 1, sizeof(*to->collective));
	if (!to->allocation || !to->collective)
		return -ENOMEM;
	for (size_t i = 0; i < s->allocations; i++) {
		if (w->rank[s->allocation[i].op] != rank)
			continue;
		to->allocation[to->allocations] = s->allocation[i];
		to->allocation[to->allocations++].op = place[s->allocation[i].op];
	}
	for (size_t i = 0; i < s->collectives; i++) {
		if (w->rank[s->collective[i].track] != rank)
			continue;
		to->collective[to->collectives] = s->collective[i];
		to->collective[to->collectives++].track = place[s->collective[i].track];
	}
	to->label = s->label; /* the file's */
	to->labels = s->labels;
	return 0;
}

/* What all ranks of the file have: its names, and tables that only they use. */
static int share(const struct kineto_store *s, struct kineto_store *to)
{
	to->names = s->names;
	to->payloads = s->payloads;
	to->base = s->base;
	to->rank = -1;
	to->world = s->world;
	to->groups = s->groups;
	to->version = s->version;
	to->has_schema = s->has_schema;
	to->trace.clock_bound_ns = s->trace.clock_bound_ns;
	if (s->launches.launches) {
		to->launches.launch = calloc(s->launches.launches, sizeof(*to->launches.launch));
		if (!to->launches.launch)
			return -ENOMEM;
		memcpy(to->launches.launch, s->launches.launch, s->launches.launches * sizeof(*to->launches.launch));
		to->launches.launches = s->launches.launches;
	}
	for (size_t i = 0; i < s->devices; i++) {
		int is_used = 0;

		for (size_t t = 0; t < to->tracks; t++)
			is_used |= to->track[t].spans && to->track[t].device == s->device[i].number;
		if (!is_used)
			continue;
		if (PP_GROW(to->device, to->devices, to->devices_room))
			return -ENOMEM;
		to->device[to->devices++] = s->device[i];
	}
	return 0;
}

PP_COMPARE_BY(compare_first, struct found, first)

/* Each rank has a distributedInfo, in the order of the file, and no two the same number. */
static void take_infos(struct parting *w)
{
	const struct kineto_store *s = w->s;
	int differ = s->infos == w->founds;

	for (size_t i = 0; i < w->founds; i++)
		if (w->found[i].label.number >= 0)
			return;
	for (size_t i = 0; differ && i < s->infos; i++)
		for (size_t k = 0; k < i; k++)
			differ &= s->info[i] != s->info[k];
	if (!differ)
		return;
	qsort(w->found, w->founds, sizeof(*w->found), compare_first);
	for (size_t i = 0; i < w->founds; i++)
		w->found[i].label.number = s->info[i];
}

/* The number of the rank that called it, in the job; -1: unknown. In a group of all ranks, "[0, 1, 2]", it is that in the group. */
static int64_t number_by(const struct kineto_store *s, const struct kineto_collective *c)
{
	size_t length;
	const char *text = pp_intern_text(s->names, c->group_ranks, &length);
	size_t at = length > 1 ? length - 1 : 0;
	int64_t last;

	if (c->rank < 0 || c->rank >= c->group_size || !at || text[at] != ']' || strncmp(text, "[0", 2) != 0)
		return -1;
	while (at > 1 && is_digit(text[at - 1]))
		at--;
	return !pp_kineto_integer(text + at, length - 1 - at, &last) && last == c->group_size - 1 ? c->rank : -1;
}

/* Of ranks whose labels say no numbers: those of their collectives. */
static void take_numbers(struct parting *w)
{
	const struct kineto_store *s = w->s;

	for (size_t i = 0; i < s->collectives; i++) {
		const int64_t number = number_by(s, &s->collective[i]);
		const uint32_t r =
		        number < 0 ? NO_RANK : rank_of(w, pp_kineto_process(w->list, s->track[s->collective[i].track].pid));

		if (r != NO_RANK)
			w->found[r].number = w->found[r].number == -1 || w->found[r].number == number ? number : SEVERAL_NUMBERS;
	}
	for (size_t i = 0; i < w->founds; i++)
		if (w->found[i].number < 0 || w->found[i].label.number >= 0)
			return;
	for (size_t i = 0; i < w->founds; i++)
		w->found[i].label.number = w->found[i].number;
}

/* Of a file of one rank: what says another one than what came before. */
static void count_contradictions(struct kineto_store *s)
{
	int64_t first = -1;

	for (size_t i = 0; i < s->collectives; i++) {
		const int64_t number = number_by(s, &s->collective[i]);

		s->trace.contradictions += first >= 0 && number >= 0 && number != first;
		first = first < 0 ? number : first;
	}
	for (size_t i = 1; i < s->infos; i++)
		s->trace.contradictions += s->info[i] != s->info[0];
}

/* Numbers that words say, if all ranks have one and no two the same; else the order of labels, or of the file. */
static void number(struct parting *w, struct kineto_parts *parts)
{
	parts->is_own = 1;
	take_numbers(w);
	take_infos(w);
	for (size_t i = 0; i < w->founds; i++)
		w->found[i].name = pp_intern_text(w->s->names, w->found[i].label.text, NULL);
	qsort(w->found, w->founds, sizeof(*w->found), compare_found);
	for (size_t i = 0; i < w->founds; i++)
		parts->is_own &= w->found[i].label.number >= 0 && (!i || w->found[i].label.number > w->found[i - 1].label.number);
	for (size_t i = 0; i < w->founds; i++)
		parts->number[i] = parts->is_own ? (int32_t)w->found[i].label.number : (int32_t)i;
}

static int part_all(struct parting *w, struct kineto_parts *parts)
{
	uint32_t *place = NULL;
	int rc;

	parts->part = calloc(w->founds, sizeof(*parts->part));
	parts->number = calloc(w->founds, sizeof(*parts->number));
	if (!parts->part || !parts->number)
		return -ENOMEM;
	parts->is_shared = 1;
	number(w, parts);
	give_tracks(w);
	rc = elect_all(w);
	if (rc == 0)
		place = calloc(w->s->tracks + 1, sizeof(*place));
	rc = rc || place ? rc : -ENOMEM;
	for (uint32_t r = 0; r < w->founds && rc == 0; r++) {
		parts->parts++;
		rc = take_part(w, &parts->part[r], r, place);
		if (rc == 0)
			rc = share(w->s, &parts->part[r]);
		if (rc == 0)
			rc = join_streams(&parts->part[r]);
	}
	if (rc == 0) { /* what was left out of the file is counted once */
		uint64_t events = parts->part[0].trace.events;

		parts->part[0].trace = w->s->trace;
		parts->part[0].trace.events = events;
		parts->part[0].unclear = w->s->unclear;
		parts->part[0].mistyped = w->s->mistyped;
		parts->part[0].first_mistyped = w->s->first_mistyped;
	}
	free(place);
	return rc;
}

static int take_whole(struct kineto_store *s, struct kineto_parts *parts)
{
	parts->part = calloc(1, sizeof(*parts->part));
	parts->number = calloc(1, sizeof(*parts->number));
	if (!parts->part || !parts->number)
		return -ENOMEM;
	parts->parts = 1;
	count_contradictions(s);
	parts->part[0] = *s;
	*s = (struct kineto_store){.names = s->names, .payloads = s->payloads};
	return join_streams(&parts->part[0]);
}

int pp_kineto_part(struct kineto_store *s, const struct kineto_processes *list, struct kineto_parts *ret_parts)
{
	struct parting w = {.s = s, .list = list};
	int rc;

	w.found = calloc(list->processes + 1, sizeof(*w.found));
	w.rank = calloc(s->tracks + 1, sizeof(*w.rank));
	rc = w.found && w.rank ? 0 : -ENOMEM;
	if (rc == 0)
		find_labels(&w);
	if (rc == 0 && w.founds < 2)
		find_workers(&w);
	if (rc == 0)
		rc = w.founds < 2 ? take_whole(s, ret_parts) : part_all(&w, ret_parts);
	free(w.found);
	free(w.rank);
	free(w.launch);
	free(w.votes);
	free(w.last);
	return rc;
}

void pp_kineto_parts_release(struct kineto_parts *parts)
{
	for (size_t i = 0; i < parts->parts; i++) {
		parts->part[i].names = parts->part[i].payloads = NULL;
		if (parts->is_shared)
			parts->part[i].label = NULL;
		pp_kineto_release(&parts->part[i]);
	}
	free(parts->part);
	free(parts->number);
}
