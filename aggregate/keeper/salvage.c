/* Writes a session from a spool whose keeper died or never ran. See salvage.h. */
#include "aggregate/keeper/salvage.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregate/dataset/status.h"
#include "aggregate/keeper/clock/clock_salvage.h"
#include "aggregate/keeper/salvage_rings.h"
#include "aggregate/session/close.h"
#include "aggregate/session/message.h"
#include "aggregate/spool/control.h"
#include "aggregate/spool/layout.h"
#include "aggregate/spool/settings.h"
#include "core/base/memory_room.h"
#include "core/base/proc.h"

/* A read-only spool is salvaged too, but not marked. */
static void mark(const char *spool, const char *session)
{
	char path[4200];
	int fd;

	if (snprintf(path, sizeof(path), "%s/" PP_SPOOL_SALVAGED, spool) >= (int)sizeof(path))
		return;
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (fd < 0)
		return;
	dprintf(fd, "%s\n", session);
	close(fd);
}

static int is_of_this_boot(const struct pp_ring_header *h)
{
	char boot[sizeof(h->boot_id)];

	pp_proc_boot_id(boot, sizeof(boot));
	return boot[0] && !strncmp(boot, h->boot_id, sizeof(h->boot_id));
}

/* Before its ring was read: it may have recorded more since. Of another PID namespace, without the file that it has locked: a
 * copy of its spool. */
static int is_alive(const struct pp_spool_view *view, size_t ring)
{
	const struct pp_watch *w = &view->rank[ring];

	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): each ring has a watch */
	return !w->gone && (!w->is_foreign || w->lock_fd >= 0) && is_of_this_boot(pp_spool_header(view, ring));
}

static void status_of(void *context, size_t ring, const struct pp_rank *rank, char *text, size_t size)
{
	(void)rank;
	snprintf(text, size, "%s", is_alive(context, ring) ? PP_STATUS_SALVAGED_ALIVE : PP_STATUS_SALVAGED);
}

static int lock_all(char *const *spool, size_t spools, int *lock, struct pp_err *err)
{
	size_t n = 0;

	while (n < spools && (lock[n] = pp_keeper_lock(spool[n], err)) >= 0)
		n++;
	if (n == spools)
		return 0;
	for (size_t i = 0; i < n; i++)
		close(lock[i]);
	return lock[n] == -EBUSY ? pp_err_wrap(err, lock[n], "cannot salvage") : lock[n];
}

/* The settings of the first spool whose options file names the job; where none does, those of the first one. Returns its number. */
static size_t find_settings(char *const *spool, size_t spools, struct pp_settings *ret)
{
	for (size_t i = 0; i < spools; i++) {
		pp_settings_read(spool[i], ret, NULL);
		if (ret->job[0])
			return i;
	}
	pp_settings_read(*spool, ret, NULL);
	return 0;
}

/* Puts the spools of this job first, in their order, and those of others behind them. A spool whose options file does not name its
 * job belongs to it. Returns how many are first. */
static size_t sort_jobs(const char *job, char **spool, size_t spools)
{
	struct pp_settings other;
	char **others = calloc(spools + 1, sizeof(*others));
	size_t n = 0, left = 0;

	for (size_t i = 0; i < spools && others; i++) {
		pp_settings_read(spool[i], &other, NULL);
		if (other.job[0] && strcmp(other.job, job) != 0)
			others[left++] = spool[i];
		else
			spool[n++] = spool[i];
	}
	for (size_t i = 0; i < left; i++)
		spool[n + i] = others[i];
	free(others);
	return left ? n : spools;
}

/* One line for each spool that was left out. */
static void say_left_out(char *const *spool, size_t first, size_t spools, const char *job, char *message, size_t size)
{
	for (size_t i = first; i < spools; i++) {
		size_t n = strlen(message);

		if (n + 1 < size)
			snprintf(message + n, size - n,
			         "\nleft out '%s': it belongs to another job than '%s'. Salvage it by itself", spool[i], job);
	}
}

static void say_alive(size_t alive, char *message, size_t size)
{
	size_t n = strlen(message);

	if (alive && n + 1 < size)
		snprintf(message + n, size - n,
		         "\n%zu rank%s of this job still run%s: the session ends where they are now. Salvage again when they "
		         "have ended",
		         alive, alive == 1 ? "" : "s", alive == 1 ? "s" : "");
}

/* Which rings are of which spool: those that are kept stand in the order of their spools. */
static void find_rings(struct pp_clock_salvage *clock, char *const *spool, size_t spools, const struct pp_rings *r)
{
	size_t ring = 0, rings = pp_rings_count(r);

	for (size_t i = 0; i < spools; i++) {
		size_t length = strlen(spool[i]);

		clock[i].ring = ring;
		for (; ring < rings; ring++) {
			const char *path = pp_rings_path(r, ring), *slash = strrchr(path, '/');

			if (!slash || (size_t)(slash - path) != length || memcmp(path, spool[i], length) != 0)
				break;
		}
		clock[i].rings = ring - clock[i].ring;
	}
}

static size_t count_alive(const struct pp_spool_view *view)
{
	size_t alive = 0;

	for (size_t i = 0; i < pp_spool_count(view); i++)
		alive += !pp_spool_is_excluded(view, i) && is_alive(view, i);
	return alive;
}

/* Reads the rings and the clocks of the spools, and writes the session. */
static int write_session(struct pp_salvaged *s, char **spool, size_t spools, const struct pp_close *close_it,
                         struct pp_left_out *left, struct pp_err *err)
{
	struct pp_clock_salvage *clock = pp_clock_salvage_read(spool, spools);
	struct pp_salvage_clocks clocks = {.spools = 0};
	struct pp_clock_pair early[2];
	struct pp_close all = *close_it;
	int rc;

	if (!clock)
		return pp_err_set(err, -ENOMEM, "no memory to salvage '%s'", *spool);
	pp_clock_read_pair(PP_TICK_RAW, &early[0]);
	pp_clock_read_pair(PP_TICK_COUNTER, &early[1]);
	s->view.path = *spool; /* the caller names the log directory; the rings hold the rest of the settings too */
	rc = pp_salvage_rings(s, spool, spools, all.options->memory, left, err);
	if (!rc) {
		find_rings(clock, spool, spools, s->rings);
		rc = pp_clock_salvage_join(clock, spools, s->rings, &s->warnings, &clocks, err);
	}
	if (!rc) {
		all.rings = s->rings;
		all.refused = s->view.refused;
		all.clocks = &clocks;
		all.early = early;
		rc = pp_close_session(&all, err);
	}
	pp_salvage_clocks_release(&clocks);
	pp_clock_salvage_release(clock, spools);
	return rc;
}

/* On the host, and in the cgroups of this process. */
static uint64_t memory_free(void)
{
	uint64_t host = pp_proc_memory_free(), cgroups = pp_memory_room(PP_MEMORY_CGROUP, PP_MEMORY_ROOT);

	return !host || cgroups < host ? cgroups : host;
}

static void fill(struct pp_session_options *o, const struct pp_settings *settings)
{
	if (!o->job || !*o->job)
		o->job = settings->job;
	if (!o->command || !*o->command)
		o->command = settings->command;
	if (!o->options || !*o->options)
		o->options = settings->text;
	if (o->steps_last <= o->steps_first) {
		o->steps_first = settings->steps_first;
		o->steps_last = settings->steps_last;
	}
	o->salvaged = 1;
	if (!o->memory)
		o->memory = memory_free() / 4;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): pp_close() writes it */
int pp_salvage(char **spool, size_t spools, const struct pp_session_options *options, char *message, size_t message_size,
               size_t *ret_left_out, struct pp_err *err)
{
	struct pp_session_options o = *options;
	struct pp_salvaged s = {.view = {.path = *spool, .salvaged = 1, .is_private = 1}};
	struct pp_settings settings;
	struct pp_message result = {.delivered = 0};
	struct pp_left_out left = {.rings = 0};
	struct pp_close close_it = {.warnings = &s.warnings,
	                            .status_of = status_of,
	                            .status_context = &s.view,
	                            .options = &o,
	                            .message = message,
	                            .message_size = message_size};
	char session[PP_SESSION_PATH];
	int *lock = calloc(spools + 1, sizeof(*lock)), rc;
	size_t given = spools, named = find_settings(spool, spools, &settings), alive = 0;
	struct pp_err rules = {""};

	if (!lock)
		return pp_err_set(err, -ENOMEM, "no memory to salvage '%s'", *spool);
	if (pp_settings_rules(spool[named], &rules)) /* names of ranges get podprof's own categories */
		pp_warnings_add(&s.warnings, "the file of --rules is not used: %s", rules.text);
	spools = sort_jobs(settings.job, spool, spools);
	rc = lock_all(spool, spools, lock, err);
	if (rc)
		goto free_locks;
	fill(&o, &settings);
	if (!o.ret_message)
		o.ret_message = &result;
	rc = write_session(&s, spool, spools, &close_it, &left, err);
	if (!rc)
		alive = count_alive(&s.view);
	/* while ranks run, or with more memory, it can be salvaged again */
	if (!rc && !alive && !left.for_memory && o.ret_message->session[0]) {
		snprintf(session, sizeof(session), "%s/podprof/%s", o.logdir, o.ret_message->session);
		for (size_t i = 0; i < spools; i++)
			mark(spool[i], session);
	}
	if (!rc) {
		pp_left_out_say(&left, message, message_size);
		say_left_out(spool, spools, given, settings.job, message, message_size);
		say_alive(alive, message, message_size);
	}
	if (o.ret_alive)
		*o.ret_alive = alive;
	if (o.ret_rings_left_out)
		*o.ret_rings_left_out = rc ? 0 : left.rings;
	*ret_left_out = given - spools;
	pp_records_release(s.rings, &s.view);
	for (size_t i = 0; i < spools; i++)
		close(lock[i]);
free_locks:
	free(lock);
	return rc;
}
