/* Runs clock, steps, attribution, dataset, writers, in this order. Called by keeper.c and salvage.c; see session.h. */
#include "aggregate/session/session.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "aggregate/analyze/build.h"
#include "aggregate/analyze/window.h"
#include "aggregate/read/torch/c10d.h"
#include "aggregate/report/report.h"
#include "aggregate/session/message.h"
#include "aggregate/session/record_cost.h"
#include "aggregate/session/site_log.h"
#include "aggregate/session/spare.h"
#include "aggregate/session/window_rows.h"
#include "aggregate/write/output.h"
#include "aggregate/write/writer.h"
#include "core/base/forked.h"
#include "core/base/rank_list.h"
#include "core/capture/capture.h"
#include "core/capture/thread.h"
#include "core/step/step_attr.h"
#include "core/step/step_mark.h"

/* The first begin of a step, job ns; 0: there are none. */
static int64_t window_begin(const struct pp_capture *c, const struct pp_steps *steps)
{
	int64_t begin = INT64_MAX;

	for (size_t i = 0; i < steps->steps * c->ranks; i++)
		if (steps->cell[i].present && steps->cell[i].begin < begin)
			begin = steps->cell[i].begin;
	return begin == INT64_MAX ? 0 : begin;
}

/* Spans are in the order of their begins. */
static int64_t first_span(const struct pp_capture *c)
{
	int64_t begin = INT64_MAX;

	for (size_t r = 0; r < c->ranks; r++)
		for (size_t t = 0; t < c->rank[r].threads && !c->rank[r].counts_other; t++)
			if (c->rank[r].thread[t].spans && c->rank[r].thread[t].span[0].begin < begin)
				begin = c->rank[r].thread[t].span[0].begin;
	return begin == INT64_MAX ? 0 : begin;
}

/* Dates the epoch so that absolute dates are those of this host's wall clock at the window's begin (of its steps, else of its
 * records), however the clock was set before or since. Where the clock was not watched c->epoch_realtime_ns stays. */
static void take_epoch(struct pp_capture *c, const struct pp_steps *steps, const struct pp_clock_map *clock, struct pp_wall *wall)
{
	int64_t begin = steps->steps ? window_begin(c, steps) : first_span(c), date, error;

	if (wall && !pp_wall_date(wall, (int64_t)pp_clock_map_tick(clock, begin), &date, &error, NULL))
		c->epoch_realtime_ns = date - begin;
}

static void name_by_time(const struct pp_capture *c, const struct pp_steps *steps, char *name, size_t size)
{
	time_t second = (time_t)((c->epoch_realtime_ns + window_begin(c, steps)) / 1000000000);
	struct tm tm;

	pp_local_time(second, &tm);
	strftime(name, size, "%Y_%m_%d_%H_%M_%S", &tm);
}

/* Ranks wait for these files: a slow report is left to the keeper's time after them. `c`: all that is in the event files. */
static void write_page(const struct pp_output *out, const struct pp_session_options *o, struct pp_session_page *page,
                       struct pp_capture *c, struct pp_message *message)
{
	char directory[PP_SESSION_PATH], pod[PP_SESSION_PATH + 16];
	struct pp_err err = {""};
	int rc;

	snprintf(directory, sizeof(directory), "%s/podprof/%s", out->logdir, out->session);
	snprintf(pod, sizeof(pod), "%s/pod.h5", directory);
	pp_session_page_go(page);
	if (o->ret_page && (page->pid || !pp_report_is_quick(pod))) {
		*o->ret_page = *page;
		snprintf(o->ret_page->directory, sizeof(o->ret_page->directory), "%s", directory);
		return;
	}
	rc = page->pid ? pp_session_page_end(page, &err) : pp_session_page(directory, out->dataset, c, &err);
	pp_message_file(message, "report.html", rc, err.text);
}

/* Maps /window to job ns. */
static void warn_of_window(const struct pp_capture *c, const struct pp_clock_map *clock, const struct pp_session_options *o,
                           struct pp_dataset *d)
{
	if (o->event_ranks && *o->event_ranks)
		pp_dataset_warn(d, "--ranks %s: the trace has only these ranks, pod.h5 has all", o->event_ranks);
	if (!o->window)
		return;
	pp_window_rows_map(o->window, c, clock, o->other_clock);
	if (pp_dataset_window(d, o->window))
		pp_dataset_warn(d, "no memory for /window: how each rank entered the window is not in the session");
}

struct place {              /* of the session's files */
	const char *logdir; /* of the options, or `spare` */
	char name[160], spare[64];
};

static int claim(struct place *p, const char *logdir, const char *wanted, const struct pp_session_options *o, struct pp_err *err)
{
	int rc = pp_files_claim(logdir, wanted, p->name, sizeof(p->name), err);

	if (rc)
		return rc;
	p->logdir = logdir;
	if (o->ret_claimed)
		snprintf(o->ret_claimed, 2 * (size_t)PP_SESSION_PATH, "%s/podprof/%s\n%s/plugins/profile/%s", logdir, p->name,
		         logdir, p->name);
	return 0;
}

/* After failure `code` of the log directory. Fails where it was of another kind, or there is no other place either. */
static int claim_spare(struct place *p, const char *wanted, const struct pp_session_options *o, int code)
{
	struct pp_err err = {""};

	if (!o->may_move || !pp_spare_helps(code) || p->logdir == p->spare)
		return code;
	return pp_spare_open(p->spare, sizeof(p->spare), &err) || claim(p, p->spare, wanted, o, &err) ? code : 0;
}

static int name_session(const struct pp_capture *c, const struct pp_steps *steps, const struct pp_session_options *o,
                        struct place *p, struct pp_message *message, struct pp_err *err)
{
	char wanted[128];
	int rc;

	p->logdir = o->logdir;
	if (o->gather && !o->gather->leads) {
		snprintf(p->name, sizeof(p->name), "%s", o->gather->session);
		return 0;
	}
	if (o->session && *o->session)
		snprintf(wanted, sizeof(wanted), "%s", o->session);
	else
		name_by_time(c, steps, wanted, sizeof(wanted));
	rc = claim(p, o->logdir, wanted, o, err);
	if (!rc)
		return 0;
	rc = claim_spare(p, wanted, o, rc);
	if (!rc)
		pp_message_moved(message, p->logdir, err->text);
	return rc;
}

static void warn_of_all(const struct pp_capture *c, const struct pp_clock_map *clock, const struct pp_session_options *o,
                        struct pp_dataset *d)
{
	warn_of_window(c, clock, o, d);
	for (size_t i = 0; o->warning && o->warning[i]; i++)
		pp_dataset_warn(d, "%s", o->warning[i]);
	if (o->salvaged)
		pp_dataset_warn(d, "salvaged from the rings of a job without a keeper. Records that its "
		                   "keeper had already read are lost: keeper_gone in /quality");
	pp_files_cost(d, 0);
	d->record_cost_ps = pp_record_cost_ps();
	if (o->rendezvous && *o->rendezvous && !o->gather) /* it only says that no other host was reached */
		pp_dataset_warn(d, "%s", o->rendezvous);
	snprintf(d->rendezvous, sizeof(d->rendezvous), "%s", o->rendezvous ? o->rendezvous : "");
}

/* Has this process all that the event files have, in the same form? Those of devices have lines of their own, and waits of
 * torch.distributed lose their names there. */
static int has_all_events(const struct pp_output *out, const struct pp_session_options *o)
{
	for (size_t i = 0; i < out->capture->ranks; i++)
		if (out->capture->rank[i].devices || out->capture->rank[i].c10d.calls)
			return 0;
	return !o->gather && !out->ranks;
}

static void unclaim(const struct place *p)
{
	pp_files_unclaim(&(struct pp_output){.logdir = p->logdir, .session = p->name});
}

/* Writes again, on this node, what the log directory did not take. Its whole files stay there. */
static int write_elsewhere(struct pp_output *out, struct place *p, unsigned which, struct pp_dataset *own,
                           const struct pp_session_options *o, struct pp_message *message, int *ret_pod)
{
	struct place first = *p;
	struct pp_message m = *message;
	struct pp_err err = {""};
	char why[sizeof(m.must_know) + 640];
	int pod = 0, rc = claim_spare(p, first.name, o, message->code);

	if (rc) {
		*p = first;
		return rc;
	}
	out->logdir = p->logdir;
	m.there[0] = m.lacking[0] = m.failure[0] = '\0';
	m.code = 0;
	snprintf(own->session, sizeof(own->session), "%.63s", p->name);
	rc = pp_output_make_dirs(out, &err);
	if (!rc)
		rc = pp_files_write(out, which, &m, &pod, &err);
	if (rc || m.code) {
		pp_files_remove(out);
		*p = first;
		out->logdir = p->logdir;
		snprintf(own->session, sizeof(own->session), "%.63s", p->name);
		return rc ? rc : m.code;
	}
	if (message->there[0])
		snprintf(why, sizeof(why), "%.200s/podprof/%.60s: has %s, but not %s: %s", first.logdir, first.name, message->there,
		         message->lacking, message->failure);
	else
		snprintf(why, sizeof(why), "%s", message->failure);
	*message = m;
	pp_message_moved(message, p->logdir, why);
	*ret_pod = pod;
	unclaim(&first);
	return 0;
}

/* Writes to the log directory, or where that fails, elsewhere; what follows then goes there, too. */
static int write_here(struct pp_output *out, struct place *p, unsigned which, struct pp_dataset *own,
                      const struct pp_session_options *o, struct pp_message *message, int *ret_pod, struct pp_err *err)
{
	int rc = pp_output_make_dirs(out, err);

	message->code = 0;
	if (rc)
		pp_message_file(message, "the session", rc, err->text);
	else
		rc = pp_files_write(out, which, message, ret_pod, err);
	return message->code && !write_elsewhere(out, p, which, own, o, message, ret_pod) ? 0 : rc;
}

/* Writes the session of all hosts: their XSpace files come beside ours, the other files are written here. */
static int write_for_all(struct pp_output *out, struct place *p, struct pp_dataset *own, const struct pp_session_options *o,
                         struct pp_message *message, struct pp_session_page *page, int *ret_pod, struct pp_err *err)
{
	struct pp_dataset merged = {.names = NULL};
	struct place first = *p;
	char directory[PP_SESSION_PATH];
	struct pp_err xspace = {""};
	int rc;

	write_here(out, p, PP_WRITER_OF_HOST, own, o, message, ret_pod, &xspace); /* the message holds its failure */
	rc = pp_gather_merge(o->gather, own, out->capture->names, &merged, err);
	pp_gather_drop_token(o->gather, first.logdir, first.name);
	if (p->logdir != first.logdir)
		unclaim(&first);
	if (rc)
		return rc;
	first = *p;
	memcpy(merged.rendezvous, own->rendezvous, sizeof(merged.rendezvous));
	pp_dataset_release(own);
	*own = merged;
	pp_files_tools(own);
	snprintf(directory, sizeof(directory), "%s/podprof/%s", out->logdir, out->session);
	pp_session_page_begin(page, directory, own);
	rc = write_here(out, p, PP_WRITER_OF_JOB, own, o, message, ret_pod, err);
	if (p->logdir != first.logdir) /* the page was begun for another directory */
		pp_session_page_drop(page);
	return rc;
}

/* The page is made without the segments of `attr`: their memory is free for its events. */
static int write_files(struct pp_output *out, struct place *p, struct pp_attr *attr, struct pp_dataset *own, struct pp_capture *c,
                       const struct pp_session_options *o, struct pp_message *message, struct pp_err *err)
{
	struct pp_session_page page = {.pid = 0};
	int pod = 0, rc;

	if (o->gather)
		rc = write_for_all(out, p, own, o, message, &page, &pod, err);
	else
		rc = write_here(out, p, PP_WRITER_OF_HOST | PP_WRITER_OF_JOB, own, o, message, &pod, err);
	pp_attr_drop_segments(attr, c->ranks);
	if (!rc && pod) /* else the message says why it is missing */
		write_page(out, o, &page, has_all_events(out, o) ? c : NULL, message);
	else
		pp_session_page_drop(&page);
	return rc;
}

static int write_xspace(const struct pp_output *out, struct pp_message *message)
{
	struct pp_err err = {""};
	int pod = 0, rc = pp_output_make_xspace_dir(out, &err);

	if (rc)
		pp_message_file(message, "XSpace", rc, err.text);
	else
		pp_files_write(out, PP_WRITER_OF_HOST, message, &pod, &err);
	return message->code;
}

/* A follower: writes its host's XSpace, and its ranks as a block, which counts more. Files elsewhere are sent to the leader, as
 * those are that it does not see. */
static int write_share(struct pp_output *out, struct place *p, const struct pp_session_options *o, struct pp_message *message,
                       struct pp_err *err)
{
	struct pp_message m = {0};
	int rc = pp_gather_give(o->gather, out->dataset, err);

	if (rc || !write_xspace(out, message))
		return rc;
	if (!o->may_move || !pp_spare_helps(message->code) || pp_spare_open(p->spare, sizeof(p->spare), NULL))
		return 0;
	out->logdir = p->spare;
	if (!write_xspace(out, &m)) {
		*message = m;
		snprintf(message->moved, sizeof(message->moved), "%s", p->spare);
	}
	return 0;
}

static int64_t last_step(const struct pp_capture *c)
{
	int64_t last = INT64_MIN;

	for (size_t i = 0; i < c->ranks; i++)
		if (c->rank[i].step_marks && c->rank[i].last_step > last)
			last = c->rank[i].last_step;
	return last;
}

static int build_and_write(struct pp_capture *c, const struct pp_steps *steps, const struct pp_clock_map *clock,
                           const struct pp_session_options *o, struct pp_attr *attr, struct pp_message *message, struct pp_err *err)
{
	struct place place;
	struct pp_dataset dataset = {0};
	struct pp_dataset_input in = {.capture = c,
	                              .steps = steps,
	                              .attr = attr,
	                              .session = place.name,
	                              .job = o->job ? o->job : "",
	                              .command = o->command ? o->command : "",
	                              .options = o->options ? o->options : "",
	                              .asked_first = o->steps_first,
	                              .asked_last = o->steps_last,
	                              .bound_ns = clock->bound_ns,
	                              .partial = o->gather != NULL,
	                              .clock = clock,
	                              .other_clock = o->other_clock,
	                              .host_clock = o->host_clock,
	                              .host_clocks = o->host_clocks};
	struct pp_output out = {.capture = c,
	                        .steps = steps,
	                        .attr = attr,
	                        .dataset = &dataset,
	                        .partial = o->gather != NULL,
	                        .session = place.name,
	                        .xspace_per_rank = o->xspace_per_rank,
	                        .others_have_steps = o->gather && o->gather->others_have_steps};
	struct pp_rank_list ranks = {0};
	int rc;

	if (o->event_ranks && !pp_rank_list_parse(o->event_ranks, &ranks, NULL))
		out.ranks = &ranks;
	rc = name_session(c, steps, o, &place, message, err);
	out.logdir = place.logdir;
	if (!rc && o->gather && o->gather->leads)
		rc = pp_gather_name(o->gather, place.logdir, place.name, clock, c->epoch_realtime_ns, steps->steps > 0, err);
	if (rc)
		return rc;
	rc = pp_dataset_build(&in, &dataset, err);
	if (rc) {
		pp_files_unclaim(&out);
		return rc;
	}
	warn_of_all(c, clock, o, &dataset);
	if (!o->gather)
		pp_files_tools(&dataset);
	rc = o->gather && !o->gather->leads ? write_share(&out, &place, o, message, err)
	                                    : write_files(&out, &place, attr, &dataset, c, o, message, err);
	if (rc && (!o->gather || o->gather->leads))
		pp_files_unclaim(&out);
	pp_message_session(message, &dataset, steps, c->names, place.logdir, place.name);
	if (o->salvaged)
		pp_message_salvaged(message, &dataset, steps, last_step(c));
	if (!rc && (!o->gather || o->gather->leads))
		pp_site_record(&dataset, &(struct pp_site_files){o->site_log, o->metrics, place.logdir}, message);
	pp_dataset_release(&dataset);
	return rc;
}

static int delivered(const struct pp_capture *c)
{
	for (size_t i = 0; i < c->ranks; i++)
		if (c->rank[i].records)
			return 1;
	return 0;
}

static int has_steps(const struct pp_rank *rank)
{
	for (size_t t = 0; t < rank->threads; t++) {
		const struct pp_thread *thread = &rank->thread[t];

		for (size_t k = 0; k < pp_thread_others(thread, PP_SPAN_BIT(PP_SPAN_STEP)); k++)
			if (thread->span[pp_thread_other(thread, k)].kind == PP_SPAN_STEP)
				return 1;
	}
	return 0;
}

/* Are steps marked, but none of the requested ones reached? What was recorded before the first mark is no answer then. Of
 * several hosts none knows that alone. A job that restarts its count ends on a lower step than it had. */
static int never_reached(const struct pp_capture *c, const struct pp_session_options *o)
{
	int marked = 0;

	if (o->gather || o->steps_last <= o->steps_first)
		return 0;
	for (size_t i = 0; i < c->ranks; i++) {
		if ((c->rank[i].step_marks && c->rank[i].last_step >= o->steps_first) || has_steps(&c->rank[i]))
			return 0;
		marked |= c->rank[i].step_marks;
	}
	return marked;
}

/* -EPROTO, and why, where it is unknown what some ranks recorded. */
static int check_readable(const struct pp_capture *c, struct pp_err *err)
{
	uint64_t bad = 0;
	size_t cut = 0;

	for (size_t i = 0; i < c->ranks; i++) {
		bad += c->rank[i].lost[PP_LOSS_BAD_RECORD];
		cut += c->rank[i].lost[PP_LOSS_RING_CUT] > 0;
	}
	if (cut)
		return pp_err_set(err, -EPROTO, "the rings of %zu of %zu rank%s were cut short or cannot be read", cut, c->ranks,
		                  c->ranks == 1 ? "" : "s");
	if (bad)
		return pp_err_set(err, -EPROTO, "the rings cannot be read (%" PRIu64 " damaged records)", bad);
	return 0;
}

/* Records that came and did not last, of causes that take all of them. */
static uint64_t lost_records(const struct pp_capture *c)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < c->ranks; i++) {
		const uint64_t *by = c->rank[i].lost;

		lost += by[PP_LOSS_RING_FULL] + by[PP_LOSS_NO_SPACE] + by[PP_LOSS_NO_THREAD] + by[PP_LOSS_KEEPER_GONE];
	}
	return lost;
}

static void say_nothing_came(const struct pp_capture *c, const struct pp_session_options *o, char *message, size_t size)
{
	int64_t last = INT64_MIN;
	uint64_t lost = lost_records(c);
	int before = 0;
	char text[256] = "no session was written: no rank called MPI, began a step or opened a range while recording was on";

	for (size_t i = 0; i < c->ranks; i++) {
		before |= c->rank[i].horizon != INT64_MIN && c->rank[i].recorded_to > c->rank[i].recorded_from;
		if (c->rank[i].step_marks && c->rank[i].last_step > last)
			last = c->rank[i].last_step;
	}
	if (last != INT64_MIN && o->steps_last > o->steps_first)
		snprintf(text, sizeof(text),
		         "no session was written: no rank reached steps %" PRId64 ":%" PRId64 ", the last marked step is %" PRId64
		         ". Give steps that the job reaches",
		         o->steps_first, o->steps_last, last);
	else if (lost)
		snprintf(text, sizeof(text),
		         "no session was written: all %" PRIu64
		         " records were lost: the ring or its file system was full, or a keeper "
		         "ended before it wrote them",
		         lost);
	else if (before)
		snprintf(text, sizeof(text),
		         "no session was written: the ranks recorded nothing in the kept time. Give a larger --keep");
	pp_message_copy(message, size, text);
}

static void map_rank(struct pp_rank *rank, const struct pp_clock_map *clock, const struct pp_session_options *o)
{
	struct pp_clock_map map = rank->counts_other && o->other_clock ? *o->other_clock : *clock;

	if (o->host_map && !rank->counts_other && rank->host_clock)
		map = o->host_map[rank->host_clock - 1];
	map.ns0 += rank->shift_ns;
	pp_clock_map_rank(&map, rank);
}

int pp_session_write(struct pp_capture *capture, const struct pp_clock_map *clock, const struct pp_session_options *options,
                     char *message, size_t message_size, struct pp_err *err)
{
	struct pp_message m = {0};
	struct pp_steps steps = {0};
	struct pp_attr *attr = NULL;
	int rc;

	if (message_size && message)
		message[0] = '\0';
	if (!delivered(capture) || never_reached(capture, options)) {
		rc = options->gather ? 0 : check_readable(capture, err); /* other hosts may have recorded */
		if (rc)
			return rc;
		say_nothing_came(capture, options, message, message_size);
		return 0;
	}
	for (size_t i = 0; i < capture->ranks; i++)
		map_rank(&capture->rank[i], clock, options);
	rc = pp_c10d_convert(capture, err);
	if (rc)
		return rc;
	rc = pp_steps_find(capture, options->steps_first, options->steps_last, &steps, err);
	if (rc)
		return rc;
	if (!options->gather || !options->gather->map) /* else the leader's map brings its epoch */
		take_epoch(capture, &steps, clock, options->wall);
	rc = pp_attr_ranks(capture, &steps, PP_ATTR_KEEP_ALL, &attr, err);
	if (rc)
		goto release_steps;
	rc = build_and_write(capture, &steps, clock, options, attr, &m, err);
	pp_attr_free(attr, capture->ranks);
	if (!rc)
		pp_message_text(&m, message, message_size);
	if (!rc && options->ret_message)
		*options->ret_message = m;
release_steps:
	pp_steps_release(&steps);
	return rc;
}
