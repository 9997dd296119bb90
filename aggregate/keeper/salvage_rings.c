/* Opens and drains the rings of spools without a keeper, and keeps those of one run; see salvage_rings.h. Called by salvage.c. */
#include "aggregate/keeper/salvage_rings.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "aggregate/keeper/runs.h"
#include "core/base/file_name.h"
#include "core/base/rank_list.h"
#include "core/base/units.h"

enum { ROUNDS = 8, NAMED = 6 };

/* What a session takes, measured: parts of each span, rows of each step of a rank; most of a ring that is not read yet. */
enum { OF_SPANS_QUARTERS = 9, OF_STEP = 1300, OF_RING = 3, OF_PROGRAM = 32 << 20 };

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
		n += (size_t)snprintf(message + n, size - n, "\nleft out %zu more ring%s", more, more == 1 ? "" : "s");
	if (left->for_memory && n + 1 < size)
		snprintf(message + n, size - n, "\nsalvage again with more --memory to have all ranks");
}

/* Of all rings that are read, and the next one. */
static uint64_t memory_with(const struct pp_rings *r, size_t next)
{
	struct stat st;
	uint64_t steps = 0, bytes = stat(pp_rings_path(r, next), &st) ? 0 : (uint64_t)st.st_blocks * 512;

	for (size_t i = 0; i < pp_rings_count(r); i++)
		steps += pp_rings_steps(r, i);
	return OF_PROGRAM + pp_rings_bytes(r) * OF_SPANS_QUARTERS / 4 + steps * OF_STEP + bytes * OF_RING;
}

/* 0: there is no memory for it. */
static int drain(struct pp_salvaged *s, size_t ring, uint64_t memory, struct pp_left_out *left)
{
	uint64_t need = memory_with(s->rings, ring);
	char needed[PP_TEXT_UNIT], allowed[PP_TEXT_UNIT];

	if (need > memory) {
		name(left, "left out '%s': with rank %d the session may take %s, and --memory is %s", pp_rings_path(s->rings, ring),
		     pp_rings_header(s->rings, ring)->rank, pp_text_bytes(needed, need), pp_text_bytes(allowed, memory));
		left->for_memory++;
		return 0;
	}
	(void)pp_watch_gone(&s->view.rank[ring]); /* before it is read: a rank that runs may record more */
	for (int round = 0; round < ROUNDS && pp_rings_drain(s->rings, ring, NULL); round++)
		;
	pp_rings_drop_pages(s->rings, ring);
	return 1;
}

struct turn {
	int32_t rank;
	int is_out; /* of ring i in element i */
	size_t ring;
};

static int by_rank(const void *a, const void *b)
{
	const struct turn *x = a, *y = b;

	return x->rank != y->rank ? (x->rank > y->rank) - (x->rank < y->rank) : (x->ring > y->ring) - (x->ring < y->ring);
}

/* By their ranks: rank 0, whose ring has most of what concerns the job, comes first. A smaller ring behind one that does not
 * fit may fit. */
static int drain_all(struct pp_salvaged *s, uint64_t memory, struct pp_left_out *left, struct pp_err *err)
{
	size_t rings = pp_rings_count(s->rings);
	struct turn *turn = calloc(rings, sizeof(*turn));
	char ranks[128] = "", allowed[PP_TEXT_UNIT];
	struct pp_rank_text text = {.to = ranks, .size = sizeof(ranks)};

	if (!turn)
		return pp_err_set(err, -ENOMEM, "cannot salvage '%s': no memory", s->view.path);
	for (size_t i = 0; i < rings; i++)
		turn[i] = (struct turn){.rank = pp_rings_header(s->rings, i)->rank, .ring = i};
	qsort(turn, rings, sizeof(*turn), by_rank);
	for (size_t i = 0; i < rings; i++)
		if (!drain(s, turn[i].ring, memory, left)) {
			turn[turn[i].ring].is_out = 1;
			pp_rank_text_add(&text, turn[i].rank);
		}
	if (pp_rank_text_end(&text))
		pp_warnings_add(&s->warnings, "left out: rank%s %s: --memory of salvage was %s", text.ranks > 1 ? "s" : "", ranks,
		                pp_text_bytes(allowed, memory));
	for (size_t i = rings; i-- > 0;) /* from the end: the numbers of earlier rings stay */
		if (turn[i].is_out)
			pp_records_drop(s->rings, &s->view, i);
	free(turn);
	return pp_rings_count(s->rings)
	               ? 0
	               : pp_err_set(err, -ENOMEM, "cannot salvage '%s': no rank fits into %s. Give more with --memory",
	                            s->view.path, pp_text_bytes(allowed, memory));
}

/* All spans are kept: a record makes at most one, of its size. The window buffer would evict whole ranks, because the rings
 * are read one after another. */
static int read_all(struct pp_salvaged *s, char *const *spool, size_t spools, uint64_t memory, struct pp_left_out *left,
                    struct pp_err *err)
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
	return drain_all(s, memory, left, err);
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

int pp_salvage_rings(struct pp_salvaged *s, char *const *spool, size_t spools, uint64_t memory, struct pp_left_out *ret_left,
                     struct pp_err *err)
{
	int rc;

	*ret_left = (struct pp_left_out){.rings = 0};
	rc = read_all(s, spool, spools, memory, ret_left, err);
	return rc ? rc : keep_one_run(s, *spool, ret_left, err);
}
