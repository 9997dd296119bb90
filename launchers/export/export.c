/* Loads and writes a timeline in a child process; see export.h. */
#include "launchers/export/export.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aggregate/read/h5/forked_work.h"
#include "aggregate/timeline/event_files.h"
#include "aggregate/timeline/session.h"
#include "aggregate/timeline/timeline.h"
#include "aggregate/write/chrome/chrome.h"
#include "aggregate/write/folded/folded.h"
#include "aggregate/write/perfetto/perfetto.h"
#include "core/base/why.h"
#include "launchers/options/options.h"

struct work {
	const char *pod;
	const struct pp_export_options *o;
	int fd;
	struct pp_export_result *result; /* shared with the child */
};

static int write_folded(const struct work *w, const struct pp_timeline *t, struct pp_err *err)
{
	int copy = dup(w->fd), rc;
	FILE *to = copy < 0 ? NULL : fdopen(copy, "w");

	if (!to) {
		rc = -errno;
		if (copy >= 0)
			close(copy);
		return pp_err_set(err, rc, "cannot write the export: %s", pp_why(-rc));
	}
	rc = pp_folded_write(t, w->o->is_joined, to, &w->result->stacks, err);
	if (fclose(to) && !rc)
		rc = pp_err_set(err, -errno, "cannot write the export: %s", pp_why(errno));
	return rc;
}

/* -ENODATA: what the options leave is empty. The sentence names those that left something out. */
static int fail_empty(const struct work *w, const struct pp_timeline *t, struct pp_err *err)
{
	const struct pp_timeline_left *l = &t->left;
	char ranks[128];
	struct pp_rank_text text = {.to = ranks, .size = sizeof(ranks)};

	if (t->ranks && l->by_ranks == t->ranks) {
		for (size_t i = 0; i < t->ranks; i++)
			pp_rank_text_add(&text, t->rank[i].rank);
		pp_rank_text_end(&text);
		return pp_err_set(err, -ENODATA, "no event matches --ranks: '%s' has rank%s %s", w->pod, t->ranks > 1 ? "s" : "",
		                  ranks);
	}
	if (!l->by_steps && !l->by_time && !l->by_categories)
		return pp_err_set(err, -ENODATA, "'%s' has no events%s", w->pod, l->by_ranks ? " of these ranks" : "");
	return pp_err_set(err, -ENODATA, "no event of '%s' matches%s%s%s", w->pod, l->by_steps ? " --steps" : "",
	                  l->by_time ? " --last" : "", l->by_categories ? " --categories" : "");
}

static int write_session(void *context, struct pp_err *err)
{
	const struct work *w = context;
	const struct pp_timeline_options how = {.steps_first = w->o->steps_first,
	                                        .steps_last = w->o->steps_last,
	                                        .ranks = w->o->ranks.count ? &w->o->ranks : NULL,
	                                        .last_ns = w->o->last_ns,
	                                        .categories = w->o->categories};
	struct pp_timeline t;
	int rc = pp_timeline_load(w->pod, &how, &t, err);

	if (rc)
		return rc;
	if (!t.events)
		rc = fail_empty(w, &t, err);
	else if (w->o->format == PP_EXPORT_PERFETTO)
		rc = pp_perfetto_write(&t, w->fd, err);
	else if (w->o->format == PP_EXPORT_CHROME)
		rc = pp_chrome_write(&t, w->fd, !w->o->is_plain, err);
	else
		rc = write_folded(w, &t, err);
	w->result->events = t.events;
	w->result->flows = t.flows;
	w->result->counters = t.counters;
	w->result->ranks = t.ranks - t.left.ranks - t.left.by_ranks;
	pp_timeline_left_text(&t, w->result->left, sizeof(w->result->left));
	pp_timeline_release(&t);
	return rc;
}

/* Bytes of the event files, by which the child gets time and memory. Files of other profilers lie anywhere. */
static uint64_t bytes_of(const char *pod)
{
	struct pp_event_files files;

	pp_event_files_find(pod, &files);
	return files.files ? files.bytes : (uint64_t)1 << 34;
}

int pp_export_write(const char *directory, const struct pp_export_options *o, int fd, struct pp_export_result *ret,
                    struct pp_err *err)
{
	char pod[PATH_MAX + 16];
	struct work w = {pod, o, fd, mmap(NULL, sizeof(*w.result), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)};
	int rc;

	snprintf(pod, sizeof(pod), "%s/pod.h5", directory);
	if (w.result == MAP_FAILED)
		return pp_err_set(err, -errno, "cannot export '%s': %s", pod, pp_why(errno));
	rc = pp_forked_read_more(pod, bytes_of(pod), write_session, &w, err);
	*ret = *w.result;
	munmap(w.result, sizeof(*w.result));
	return rc;
}

/* The category of this name; 0: none. */
static int category_of(const char *name, size_t length)
{
	int id = PP_CATEGORIES;

	while (id && (strlen(pp_category_name(id)) != length || strncasecmp(pp_category_name(id), name, length) != 0))
		id--;
	return id;
}

int pp_export_categories(const char *text, uint32_t *ret, struct pp_err *err)
{
	const char *names[PP_CATEGORIES], *near;
	uint32_t bits = 0;
	char word[64];

	for (int id = 1; id <= PP_CATEGORIES; id++)
		names[id - 1] = pp_category_name(id);
	while (*text) {
		size_t length = strcspn(text, ",");
		int id = category_of(text, length);

		if (!id) {
			snprintf(word, sizeof(word), "%.*s", (int)(length < sizeof(word) ? length : sizeof(word) - 1), text);
			near = pp_nearest(word, names, PP_CATEGORIES);
			return near ? pp_err_set(err, -EINVAL, "option --categories: no category '%s': did you mean '%s'?", word,
			                         near)
			            : pp_err_set(
			                      err, -EINVAL,
			                      "option --categories: no category '%s'. The summary of 'podprof report' names them",
			                      word);
		}
		bits |= 1u << id;
		text += length + (text[length] == ',');
	}
	*ret = bits;
	return 0;
}
