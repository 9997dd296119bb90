/* A session out of a spool whose keeper died or never was. Called by `podprof salvage`; see keeper.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "aggregate/keeper/close.h"
#include "aggregate/keeper/control.h"
#include "aggregate/keeper/keeper.h"

enum { ROUNDS = 8 };

static int read_rings(struct pp_spool_view *view, uint64_t buffer, struct pp_err *err)
{
	view->rings = pp_rings_new(buffer);
	if (!view->rings)
		return pp_err_set(err, -ENOMEM, "no memory to read the rings of '%s'", view->path);
	pp_rings_private(view->rings);
	pp_spool_scan(view);
	if (!pp_rings_count(view->rings))
		return pp_err_set(err, -ENOENT, "cannot salvage '%s': it has no ring that can be read%s%s", view->path,
		                  view->notes.count ? ": " : "", view->notes.count ? view->notes.text[0] : "");
	for (size_t i = 0; i < pp_rings_count(view->rings); i++)
		for (int round = 0; round < ROUNDS && pp_rings_drain(view->rings, i, NULL); round++)
			;
	return 0;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): pp_close() writes it */
int pp_salvage(const char *spool, const struct pp_session_options *options, char *message, size_t message_size, struct pp_err *err)
{
	struct pp_session_options o = *options;
	struct pp_spool_view view = {.path = spool, .salvaged = 1};
	struct pp_settings settings;
	struct pp_close close_it = {.view = &view, .options = &o, .message = message, .message_size = message_size};
	int lock, rc;

	lock = pp_keeper_lock(spool, err);
	if (lock < 0)
		return lock == -EBUSY ? pp_err_wrap(err, lock, "cannot salvage") : lock;
	pp_settings_read(spool, &settings, NULL); /* the caller names the log directory; the rest is told by the rings too */
	if (!o.job || !*o.job)
		o.job = settings.job;
	if (!o.command || !*o.command)
		o.command = settings.command;
	if (!o.options || !*o.options)
		o.options = settings.text;
	if (o.steps_last <= o.steps_first) {
		o.steps_first = settings.steps_first;
		o.steps_last = settings.steps_last;
	}
	o.salvaged = 1;
	rc = read_rings(&view, pp_settings_span_bytes(&settings), err);
	if (!rc)
		rc = pp_close_session(&close_it, err);
	pp_spool_view_release(&view);
	close(lock);
	return rc;
}
