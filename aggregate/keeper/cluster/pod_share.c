/* Makes a follower's share of a window in a forked child while the ranks run on, and sends it piece by piece to the leader.
 * Called by pod.c. */
#include "aggregate/keeper/cluster/pod_share.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aggregate/keeper/clock/clock_identity.h"
#include "aggregate/keeper/cluster/pod_clock.h"
#include "aggregate/keeper/cluster/pod_cut.h"
#include "aggregate/read/ring/ring_clock.h"
#include "aggregate/spool/control.h"
#include "aggregate/write/writer.h"
#include "aggregate/write/xspace/xspace.h"
#include "core/base/file_name.h"
#include "core/base/grow.h"
#include "core/base/now.h"

enum { LIMIT_MS = 280000, PIECES = 16 /* in one turn */ };

struct work { /* of the child */
	const struct pp_windows_job *job;
	const struct pp_pod_share *share;
	const struct pp_close_range *range;
};

static int make(void *context, struct pp_forked_answer *answer)
{
	const struct work *work = context;
	struct pp_session_options options = *work->job->options;
	struct pp_close close_it = {.options = &options,
	                            .message = answer->text,
	                            .message_size = sizeof(answer->text),
	                            .range = work->range,
	                            .ranges = work->range ? pp_rings_count(work->job->rings) : 0};
	struct pp_window_metadata metadata = {.tries = 0};
	int rc;

	options.steps_first = work->share->window.first;
	options.steps_last = work->share->window.last;
	options.gather = &work->share->child;
	if (work->share->window.ranks[0])
		options.event_ranks = work->share->window.ranks;
	options.ret_message = &answer->message;
	if (work->share->window.cut != PP_POD_ALL && !pp_pod_window_metadata(work->job->rings, &work->share->window, &metadata))
		options.window = &metadata;
	rc = pp_job_close(work->job, &close_it, &answer->err);
	pp_window_metadata_release(&metadata);
	return rc;
}

static void answer_with(struct pp_pod *p, int code, const char *reason)
{
	struct pp_pod_share *s = &p->share;
	struct pp_wire m = {.kind = PP_WIRE_SHARE};
	struct pp_err err = {""};

	m.share = (struct pp_wire_share){s->child.number, s->block, code, reason, (uint32_t)s->xspaces};
	if (pp_net_send(p->star.net, 0, &m, &err))
		pp_keeper_log("cannot announce this host's share: %s", err.text);
}

static void take_terms(struct pp_pod *p, const struct pp_wire_gather *g)
{
	struct pp_pod_share *s = &p->share;
	const struct pp_wire_clock own = pp_pod_own_clock(p);
	int same = pp_clock_is_same(&own, &g->clock) && !pp_pod_clock_is_false(p);
	struct pp_err err = {""};

	*s = (struct pp_pod_share){.active = 1, .fd = -1, .writer.fd = -1, .begun_ms = pp_now_ms()};
	s->window = (struct pp_pod_window){.cut = (enum pp_pod_cut)g->cut,
	                                   .number = g->number,
	                                   .from = g->from,
	                                   .to = g->to,
	                                   .first = g->first,
	                                   .last = g->last};
	snprintf(s->window.ranks, sizeof(s->window.ranks), "%.255s", g->ranks);
	s->map = (struct pp_clock_map){.tick0 = g->tick0, .ns0 = g->ns0, .num = g->num, .shift = g->shift, .bound_ns = g->bound};
	s->child = (struct pp_gather){.fd = -1,
	                              .parent_fd = -1,
	                              .number = g->gather,
	                              .map = same ? &s->map : NULL,
	                              .epoch_realtime_ns = g->epoch_realtime,
	                              .own_clock = pp_pod_clock_is_false(p),
	                              .others_have_steps = g->has_steps};
	if (!same && pp_pod_clock_pieces(p, &s->map, &s->pieces, &err)) {
		struct pp_pod_window dates = {.from = g->from_realtime, .to = g->to_realtime};

		pp_keeper_log("%s", err.text);
		if (s->window.cut == PP_POD_TICKS && pp_pod_cut_by_date(p->o.job->wall, &dates, &s->window))
			pp_keeper_log("the window's share is all there is: the date of its begin and end is not known here");
	} else if (!same) {
		if (s->window.cut == PP_POD_TICKS)
			pp_pod_cut_by_chain(&s->map, &s->pieces, &s->window);
		s->map.pieces = &s->pieces;
		s->child.map = &s->map;
		pp_rings_name_clock(g->clock.boot_id, g->clock.timens, g->clock.tick_kind, s->child.clock, sizeof(s->child.clock));
	}
	pp_clock_metadata_take(&s->child.exchange, p->clock.link, same ? "" : p->clock.host, same ? 0 : p->clock.hops);
	snprintf(s->child.spool, sizeof(s->child.spool), "%s", p->o.spool);
	snprintf(s->child.token, sizeof(s->child.token), "%.63s", g->token);
	snprintf(s->child.session, sizeof(s->child.session), "%.63s", g->session);
	snprintf(s->child.host, sizeof(s->child.host), "%.71s", g->host);
}

void pp_pod_share_begin(struct pp_pod *p, int peer, const struct pp_wire *m)
{
	const struct pp_wire_gather *g = &m->gather;
	const struct pp_windows_job *job = p->o.job;
	struct pp_pod_share *s = &p->share;
	struct work work = {.job = job, .share = s};
	struct pp_forked_work writer = {.run = make, .context = &work};
	struct pp_close_range *range = NULL;
	int only = g->cut == PP_POD_WINDOW && !pp_step_windows_many(&p->o.settings->windows);
	int is_own = g->cut == PP_POD_WINDOW && g->number < p->windows_done, rc = -ENODATA;

	(void)peer;
	if (g->cut > PP_POD_API || !pp_rings_count(job->rings))
		return;
	pp_pod_share_end(p); /* the leader does not wait for the previous share */
	pp_writing_edge(job);
	pp_rings_drain_all(job->rings);
	take_terms(p, g);
	s->shared = pp_gather_is_shared(&s->child, job->options->logdir);
	if (s->window.cut != PP_POD_ALL)
		work.range = range = pp_pod_ranges(job->rings, &s->window);
	if ((s->window.cut == PP_POD_ALL || range || only) && !is_own) /* ranks that mark no step have recorded too */
		rc = pp_forked_writer_start(&s->writer, &writer, LIMIT_MS);
	free(range);
	if (g->cut == PP_POD_WINDOW && !is_own)
		p->windows_done = g->number + 1;
	/* The only window is kept until the leader has written it: if the leader is lost, this host writes its own session of
	 * it. */
	if (s->window.cut == PP_POD_WINDOW && !only)
		pp_pod_drop(job, s->window.number);
	if (s->window.cut == PP_POD_REQUEST)
		p->request.kind = PP_ASK_NOTHING; /* nobody waits for the ranks' answers any more */
	if (p->is_done)                           /* the child has its copy, and no window follows */
		pp_job_drop_all(job);
	if (!rc)
		return;
	answer_with(p, rc,
	            is_own           ? "its keeper wrote a session of its own, as rank 0's did not reply"
	            : rc == -ENODATA ? "none of its ranks began the window"
	                             : "its keeper cannot start a process to write it");
	p->is_done |= s->window.cut == PP_POD_ALL;
	pp_pod_share_end(p);
}

static const char *logdir_of(const struct pp_pod *p)
{
	return p->share.moved[0] ? p->share.moved : p->o.job->options->logdir;
}

static void remove_empty(struct pp_pod *p, const char *under, const char *end)
{
	char path[4400];

	snprintf(path, sizeof(path), "%s/%s/%s%s", logdir_of(p), under, p->share.child.session, end);
	rmdir(path);
}

void pp_pod_share_end(struct pp_pod *p)
{
	struct pp_pod_share *s = &p->share;

	if (!s->active)
		return;
	if (s->writer.pid > 0) {
		kill(s->writer.pid, SIGKILL);
		while (waitpid(s->writer.pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	if (s->writer.fd >= 0)
		close(s->writer.fd);
	if (s->fd >= 0)
		close(s->fd);
	for (size_t i = 0; i < s->files; i++) { /* copies: files in a shared directory are not in the list */
		unlink(s->file[i]);
		free(s->file[i]);
	}
	free(s->file);
	pp_pieces_release(&s->pieces);
	pp_clock_metadata_release(&s->child.exchange);
	if (!s->shared) {
		remove_empty(p, "podprof", "");
		remove_empty(p, "plugins/profile", "");
		remove_empty(p, "plugins/profile", "-nosteps");
	}
	*s = (struct pp_pod_share){.fd = -1, .writer.fd = -1};
}

static void add_file(struct pp_pod_share *s, const char *dir, const char *name)
{
	if (!PP_RESIZE(s->file, s->files + 1) && asprintf(&s->file[s->files], "%s/%s", dir, name) >= 0)
		s->files++;
}

/* Lists this host's XSpace files where the leader does not see them. Another keeper's files may lie beside them. */
static void list_files(struct pp_pod *p, const char *session)
{
	const char *host = p->share.child.host[0] ? p->share.child.host : p->host;
	size_t length;
	char stem[96];
	char dir[4400];
	struct dirent *e;
	DIR *d;

	pp_xspace_stem(host, stem, sizeof(stem));
	length = strlen(stem);
	snprintf(dir, sizeof(dir), "%s/plugins/profile/%s", logdir_of(p), session);
	d = opendir(dir);
	while (d && (e = readdir(d))) {
		const char *end = strlen(e->d_name) > length ? e->d_name + length : "";

		if (!strncmp(e->d_name, stem, length) && (!strcmp(end, ".xplane.pb") || !fnmatch("-rank[0-9]*.xplane.pb", end, 0)))
			add_file(&p->share, dir, e->d_name);
	}
	if (d)
		closedir(d);
}

static void take_answer(struct pp_pod *p)
{
	struct pp_pod_share *s = &p->share;
	const struct pp_forked_answer *a = &s->writer.answer;
	char beside[PP_GATHER_NAME + 16];

	s->made = 1;
	snprintf(beside, sizeof(beside), "share-%llu.block", (unsigned long long)s->child.number);
	add_file(s, p->o.spool, beside);
	if (a->code || !a->message.session[0]) {
		pp_keeper_log("no share of session '%s': %s", s->child.session, a->code ? a->err.text : a->text);
		return;
	}
	pp_keeper_log("share of session '%s' was made in %lld ms", s->child.session, (long long)(pp_now_ms() - s->begun_ms));
	snprintf(s->moved, sizeof(s->moved), "%s", a->message.moved);
	if (s->moved[0]) /* hosts that are containers of one node may share that place */
		s->shared = pp_gather_is_shared(&s->child, s->moved);
	if (s->shared)
		return;
	list_files(p, s->child.session);
	snprintf(beside, sizeof(beside), "%s-nosteps", s->child.session);
	list_files(p, beside);
	s->xspaces = s->files - 1;
}

static const char *name_of(const char *path, char name[300])
{
	snprintf(name, 300, "%s%s", strstr(path, "-nosteps/") ? "nosteps+" : "", pp_file_name(path));
	return name;
}

/* Sends one piece of the current file. 1: sent, 0: not now, -1: the file is complete or cannot be read. */
static int send_piece(struct pp_pod *p)
{
	static uint8_t bytes[PP_WIRE_PIECE];
	struct pp_pod_share *s = &p->share;
	struct pp_wire m = {.kind = s->file_at ? PP_WIRE_FILE : PP_WIRE_BLOCK};
	struct stat st;
	char name[300];
	ssize_t n;
	int rc;

	if (s->fd < 0) {
		s->fd = open(s->file[s->file_at], O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
		if (s->fd < 0 || fstat(s->fd, &st))
			return -1;
		s->at = 0;
		s->total = (uint64_t)st.st_size;
	}
	n = pread(s->fd, bytes, sizeof(bytes), (off_t)s->at);
	if (n < 0 || (n == 0 && s->total) || s->at + (uint64_t)n > s->total)
		return -1;
	m.piece = (struct pp_wire_piece){
	        s->child.number, s->file_at ? name_of(s->file[s->file_at], name) : "", s->at, s->total, bytes, (size_t)n};
	rc = pp_net_send(p->star.net, 0, &m, NULL);
	if (rc)
		return rc == -EAGAIN ? 0 : -1;
	s->at += (uint64_t)n;
	s->block += s->file_at ? 0 : (uint64_t)n;
	return s->at < s->total ? 1 : -1;
}

void pp_pod_share_finish(struct pp_pod *p)
{
	struct pp_pod_share *s = &p->share;

	if (!s->active || s->made != 2 || pp_net_unsent(p->star.net))
		return;
	p->is_done |= s->window.cut == PP_POD_ALL;
	p->news = 1;
	pp_pod_share_end(p);
}

void pp_pod_share_run(struct pp_pod *p)
{
	struct pp_pod_share *s = &p->share;
	int rc = 1;

	if (!s->active || (!s->made && !pp_forked_writer_done(&s->writer)))
		return;
	if (!s->made)
		take_answer(p);
	if (!pp_forked_writer_reaped(&s->writer))
		return;
	for (int i = 0; i < PIECES && s->file_at < s->files && rc; i++) {
		rc = send_piece(p);
		if (rc >= 0)
			continue;
		if (s->fd >= 0)
			close(s->fd);
		s->fd = -1;
		s->file_at++;
	}
	if (s->file_at < s->files)
		return;
	if (s->made == 1) {
		const struct pp_forked_answer *a = &s->writer.answer;

		answer_with(p,
		            a->code    ? a->code
		            : s->block ? 0
		                       : -ENODATA,
		            a->code    ? a->err.text
		            : s->block ? a->message.failure
		                       : "none of its ranks recorded anything");
		s->made = 2;
	}
	pp_pod_share_finish(p);
}
