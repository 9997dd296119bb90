/* Opens and drains the rings of spools without a keeper, and keeps those of one run; see salvage_rings.h. Called by salvage.c. */
#include "aggregate/keeper/salvage_rings.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/keeper/runs.h"
#include "core/base/file_name.h"

enum { ROUNDS = 8, NAMED = 6 };

static void name(struct pp_left_out *left, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void name(struct pp_left_out *left, const char *fmt, ...)
{
	size_t n = strlen(left->text);
	va_list args;

	left->rings++;
	if (left->named == NAMED || n + 1 >= sizeof(left->text))
		return;
	left->named++;
	left->text[n++] = '\n';
	va_start(args, fmt);
	vsnprintf(left->text + n, sizeof(left->text) - n, fmt, args);
	va_end(args);
}

void pp_left_out_say(const struct pp_left_out *left, char *message, size_t size)
{
	size_t n = strlen(message), more = left->rings - left->named;

	if (n + 1 < size)
		n += (size_t)snprintf(message + n, size - n, "%s", left->text);
	if (more && n + 1 < size)
		snprintf(message + n, size - n, "\nleft out %zu more ring%s", more, more == 1 ? "" : "s");
}

/* All spans are kept: a record makes at most one, of its size, and all rings together are a small part of the memory
 * (core/ring/room.h). The window buffer would evict whole ranks, because the rings are read one after another. */
static int read_all(struct pp_salvaged *s, char *const *spool, size_t spools, struct pp_left_out *left, struct pp_err *err)
{
	s->rings = pp_rings_new(SIZE_MAX);
	if (!s->rings)
		return pp_err_set(err, -ENOMEM, "no memory to read the rings of '%s'", *spool);
	pp_rings_private(s->rings);
	for (size_t i = 0; i < spools; i++) {
		size_t refused = s->view.refused;

		s->view.path = spool[i];
		s->view.names = 0; /* another host may have the same pids */
		pp_records_scan(s->rings, &s->view, &s->warnings);
		for (; refused < s->view.refused; refused++)
			name(left, "left out: %s", s->view.refusal[refused]);
	}
	if (!pp_rings_count(s->rings))
		return pp_err_set(err, -ENOENT, "cannot salvage '%s': it has no readable ring%s%s", *spool,
		                  s->warnings.count ? ": " : "", s->warnings.count ? s->warnings.text[0] : "");
	for (size_t i = 0; i < pp_rings_count(s->rings); i++) {
		(void)pp_watch_gone(&s->view.rank[i]); /* before it is read: a rank that runs may record more */
		for (int round = 0; round < ROUNDS && pp_rings_drain(s->rings, i, NULL); round++)
			;
	}
	return 0;
}

/* Its spool's name stands in the line for the user, the ring's own in that of the session. */
static void leave_out(struct pp_salvaged *s, size_t index, uint32_t run, uint32_t best, struct pp_left_out *left)
{
	const struct pp_ring_header *h = pp_rings_header(s->rings, index);
	const char *path = pp_rings_path(s->rings, index);

	name(left, "left out '%s': rank %d, process %d, is of %s run. Salvage that run from a directory of its own", path, h->rank,
	     h->pid, run < best ? "an earlier" : "a later");
	pp_warnings_add(&s->warnings, "left out '%s': rank %d, process %d, is of %s run", pp_file_name(path), h->rank, h->pid,
	                run < best ? "an earlier" : "a later");
	pp_records_drop(s->rings, &s->view, index);
}

static int keep_one_run(struct pp_salvaged *s, const char *spool, struct pp_left_out *left, struct pp_err *err)
{
	size_t rings = pp_rings_count(s->rings);
	uint32_t *run = calloc(rings + 1, sizeof(*run)), best;
	int runs;

	if (!run)
		return pp_err_set(err, -ENOMEM, "no memory to read the rings of '%s'", spool);
	pp_rings_exclude(s->rings);
	runs = pp_runs_find(s->rings, run, err);
	best = runs > 0 ? pp_runs_best(s->rings, run, (uint32_t)runs) : 0;
	for (size_t i = rings; i-- > 0 && runs > 1;) /* from the end: the numbers of earlier rings stay */
		if (run[i] != best)
			leave_out(s, i, run[i], best, left);
	free(run);
	return runs < 0 ? pp_err_wrap(err, runs, "cannot salvage '%s'", spool) : 0;
}

int pp_salvage_rings(struct pp_salvaged *s, char *const *spool, size_t spools, struct pp_left_out *ret_left, struct pp_err *err)
{
	int rc;

	*ret_left = (struct pp_left_out){.rings = 0};
	rc = read_all(s, spool, spools, ret_left, err);
	return rc ? rc : keep_one_run(s, *spool, ret_left, err);
}
