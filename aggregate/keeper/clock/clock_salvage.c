/* From the files of clocks to chains of lines; see clock_salvage.h. Called by salvage.c. */
#include "aggregate/keeper/clock/clock_salvage.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/read/ring/ring_clock.h"
#include "core/clock/band_solve.h"
#include "core/clock/pieces_make.h"

enum { DEPTH = 4, BEYOND_S = 3600 /* as pod_clock.c */ };

static int is_root(const struct pp_clock_file_head *h)
{
	return h->self == h->parent;
}

static void put_first(struct pp_clock_salvage *one, char **spool, size_t at)
{
	struct pp_clock_salvage first = one[at];
	char *path = spool[at];

	memmove(one + 1, one, at * sizeof(*one));
	memmove(spool + 1, spool, at * sizeof(*spool));
	one[0] = first;
	spool[0] = path;
}

struct pp_clock_salvage *pp_clock_salvage_read(char **spool, size_t spools)
{
	struct pp_clock_salvage *one = calloc(spools + 1, sizeof(*one));
	size_t root = spools, file = spools;

	for (size_t i = 0; i < spools && one; i++) {
		struct pp_err err = {""};
		int rc = pp_clock_file_read(spool[i], &one[i].saved, &err);

		one[i].has_file = !rc;
		if (rc == -ENOENT)
			snprintf(one[i].why, sizeof(one[i].why), "'%.200s' has no file of comparisons", spool[i]);
		else if (rc)
			snprintf(one[i].why, sizeof(one[i].why), "%.290s", err.text);
		root = root == spools && one[i].has_file && is_root(&one[i].saved.head) ? i : root;
		file = file == spools && one[i].has_file ? i : file;
	}
	root = root < spools ? root : file;
	if (one && root && root < spools)
		put_first(one, spool, root);
	return one;
}

void pp_clock_salvage_release(struct pp_clock_salvage *spool, size_t spools)
{
	for (size_t i = 0; i < spools && spool; i++)
		if (spool[i].has_file)
			pp_clock_saved_release(&spool[i].saved);
	free(spool);
}

static const struct pp_ring_header *ring_of(const struct pp_rings *r, const struct pp_clock_salvage *one)
{
	return one->rings ? pp_rings_header(r, one->ring) : NULL;
}

static int same_text(const char *a, size_t a_size, const char *b, size_t b_size)
{
	return strnlen(a, a_size) == strnlen(b, b_size) && !memcmp(a, b, strnlen(a, a_size));
}

/* A file from another boot or host says nothing of these rings. */
static int is_of(const struct pp_clock_file_head *f, const struct pp_ring_header *h)
{
	return f->tick_kind == h->tick_kind && same_text(f->boot_id, sizeof(f->boot_id), h->boot_id, sizeof(h->boot_id)) &&
	       (f->tick_kind != PP_TICK_RAW || same_text(f->timens_ns, sizeof(f->timens_ns), h->timens_ns, sizeof(h->timens_ns)));
}

static void drop_file(struct pp_clock_salvage *one, const char *why)
{
	pp_clock_saved_release(&one->saved);
	one->has_file = 0;
	snprintf(one->why, sizeof(one->why), "%s", why);
}

/* Drops files that are of another exchange than the first one's, or not of the rings beside them. */
static void check_files(struct pp_clock_salvage *spool, size_t spools, const struct pp_rings *r)
{
	const struct pp_clock_salvage *first = NULL;

	for (size_t i = 0; i < spools; i++) {
		const struct pp_ring_header *h = ring_of(r, &spool[i]);

		if (!spool[i].has_file)
			continue;
		if (h && !is_of(&spool[i].saved.head, h))
			drop_file(&spool[i], "its comparisons are of another host or boot than its ranks");
		else if (first && spool[i].saved.head.exchange != first->saved.head.exchange)
			drop_file(&spool[i], "its clock was compared with those of another job");
		else if (!first)
			first = &spool[i];
	}
}

static const struct pp_clock_salvage *domain(const struct pp_clock_salvage *spool, size_t spools, uint32_t number)
{
	for (size_t i = 0; i < spools; i++)
		if (spool[i].has_file && spool[i].saved.head.self == number)
			return &spool[i];
	return NULL;
}

/* Appends the chain from `at` to its parent. */
static int go_on(struct pp_clock_saved *at, struct pp_pieces *chain, struct pp_err *err)
{
	int64_t beyond = (int64_t)(BEYOND_S * 1e9 * at->head.ticks_per_ns);
	struct pp_pieces next = {0}, joined = {0};
	int rc = pp_band_solve(&at->band, err);

	if (!rc)
		rc = pp_pieces_of_band(&at->band, beyond, &next, err);
	if (rc || !chain->pieces) {
		*chain = rc ? *chain : next;
		return rc;
	}
	rc = pp_pieces_join(chain, &next, &joined, err);
	pp_pieces_release(&next);
	pp_pieces_release(chain);
	*chain = joined;
	return rc;
}

/* The chain from this host's ticks to the root's; without pieces where they are the same. */
static int chain_of(struct pp_clock_salvage *spool, size_t spools, struct pp_clock_salvage *one, struct pp_pieces *ret,
                    struct pp_err *err)
{
	struct pp_pieces chain = {0};
	struct pp_clock_salvage *at = one;
	int rc = 0;

	for (int depth = 0; !rc && !is_root(&at->saved.head); depth++) {
		uint32_t parent = at->saved.head.parent;

		if (!at->saved.head.same)
			rc = go_on(&at->saved, &chain, err);
		if (rc || !parent)
			break;
		one = at;
		at = (struct pp_clock_salvage *)(uintptr_t)domain(spool, spools, parent);
		if (!at || depth == DEPTH) {
			rc = pp_err_set(err, -ENODATA, "the spool of host '%.72s', with which its clock was compared, is not here",
			                one->saved.head.parent_host);
			break;
		}
	}
	if (rc)
		pp_pieces_release(&chain);
	else
		*ret = chain;
	return rc;
}

/* Another host with a file whose ring names the same clock. */
static struct pp_clock_salvage *like_of(struct pp_clock_salvage *spool, size_t spools, const struct pp_rings *r, size_t i)
{
	for (size_t k = 0; k < spools; k++)
		if (k != i && spool[k].has_file && spool[k].rings && spool[i].rings &&
		    pp_rings_same_clock(ring_of(r, &spool[k]), ring_of(r, &spool[i])))
			return &spool[k];
	return NULL;
}

static uint32_t whose_clock(const struct pp_clock_file_head *h)
{
	return h->same ? h->parent : h->self;
}

/* Its clock has the name of another host's, and was found to be another one: a clone of a virtual machine. The later one counts as
 * the clone. */
static int is_clone(struct pp_clock_salvage *spool, size_t spools, const struct pp_rings *r, size_t i)
{
	const struct pp_clock_salvage *like = like_of(spool, spools, r, i);

	return spool[i].has_file && !is_root(&spool[i].saved.head) && like && like < &spool[i] &&
	       whose_clock(&like->saved.head) != whose_clock(&spool[i].saved.head);
}

static void take_exchange(const struct pp_clock_salvage *one, struct pp_salvage_clock *clock)
{
	const struct pp_clock_saved *k = &one->saved;
	struct pp_clock_metadata *t = &clock->exchange;

	clock->first = k->head.first;
	clock->last = k->last.now;
	snprintf(t->parent, sizeof(t->parent), "%s", clock->has_chain ? k->head.parent_host : "");
	t->hops = clock->has_chain ? k->head.hops : 0;
	t->rounds = k->last.rounds;
	t->trips = k->last.trips;
	t->lost = k->last.lost;
	t->impossible = k->last.impossible;
	t->foreign = k->last.foreign;
	t->round_ns = k->last.round_ns;
	t->cpu_ns = k->last.cpu_ns;
	t->node = clock->has_chain && !k->head.same ? calloc(k->band.nodes + 1, sizeof(*t->node)) : NULL;
	t->nodes = t->node ? k->band.nodes : 0;
	if (t->nodes)
		memcpy(t->node, k->band.node, t->nodes * sizeof(*t->node));
}

/* A host without a file may share the clock of one that has a file, as the keepers of a job take it. */
static void join(struct pp_clock_salvage *spool, size_t spools, const struct pp_rings *r, size_t i, struct pp_salvage_clock *clock)
{
	struct pp_clock_salvage *one = &spool[i], *by = one->has_file ? one : like_of(spool, spools, r, i);
	struct pp_err err = {""};

	clock->ring = one->ring;
	clock->rings = one->rings;
	clock->joined = by && !chain_of(spool, spools, by, &clock->chain, &err);
	clock->has_chain = clock->chain.pieces > 0;
	clock->own = is_clone(spool, spools, r, i);
	if (by && !clock->joined)
		snprintf(one->why, sizeof(one->why), "%.290s", err.text);
	if (one->has_file)
		take_exchange(one, clock);
}

/* The root's ticks as the first host counts them: it is the root, or its chain leads there. */
static void read_root(const struct pp_salvage_clock *first, struct pp_salvage_clocks *s)
{
	s->first = first->first;
	s->last = first->last;
	for (int end = 0; end < 2 && first->has_chain; end++) {
		struct pp_clock_pair *p = end ? &s->last : &s->first;
		int64_t bound = pp_pieces_bound(&first->chain, (int64_t)p->tick);

		p->tick = (pp_tick)pp_pieces_map(&first->chain, (int64_t)p->tick);
		p->width_ns += bound < INT64_MAX / 4 ? bound : 0;
	}
}

static void name_root(const struct pp_clock_salvage *spool, size_t spools, const struct pp_rings *r, struct pp_salvage_clocks *s)
{
	const struct pp_ring_header *h;

	snprintf(s->root, sizeof(s->root), "rank 0's host, which is not here");
	for (size_t i = spools; i-- > 0;) {
		h = ring_of(r, &spool[i]);
		if (!h || !s->spool[i].joined || s->spool[i].has_chain)
			continue;
		pp_rings_name_clock(h->boot_id, h->timens_ns, h->tick_kind, s->root, sizeof(s->root));
		s->root_here = pp_rings_same_clock(pp_rings_header(r, 0), h);
	}
}

static void warn_of_hosts(const struct pp_clock_salvage *spool, size_t spools, const struct pp_rings *r,
                          const struct pp_salvage_clocks *s, struct pp_warnings *warnings)
{
	if (spools == 1 && spool->has_file && ring_of(r, spool))
		pp_warnings_add(
		        warnings,
		        "host %.*s is alone in this session. Give the spools of all hosts of the job to one podprof salvage",
		        (int)sizeof(spool->saved.head.parent_host), ring_of(r, spool)->host);
	for (size_t i = 0; i < spools; i++) {
		const struct pp_ring_header *h = ring_of(r, &spool[i]);

		if (h && spool[i].has_file && spool[i].saved.ignored)
			pp_warnings_add(warnings,
			                "the last comparisons of the clock of host %.*s are lost: %zu bytes of '%s' are damaged",
			                (int)sizeof(h->host), h->host, spool[i].saved.ignored, PP_SPOOL_CLOCKS);
		if (h && spools > 1 && !s->spool[i].joined && spool[i].why[0])
			pp_warnings_add(warnings, "the clock of host %.*s is not joined with rank 0's: %s", (int)sizeof(h->host),
			                h->host, spool[i].why);
	}
}

/* Where all ranks count the same ticks, these need no other clock: of one host, or of hosts that share one. */
static void drop_needless(const struct pp_clock_salvage *spool, size_t spools, const struct pp_rings *r,
                          struct pp_salvage_clocks *s)
{
	for (size_t i = 0; i < spools; i++)
		if (s->spool[i].own || (spool[i].rings && !pp_rings_same_clock(pp_rings_header(r, 0), ring_of(r, &spool[i]))))
			return;
	for (size_t i = 0; i < spools; i++) {
		pp_pieces_release(&s->spool[i].chain);
		s->spool[i].has_chain = 0;
		s->spool[i].joined = 1;
	}
}

/* Spools without a readable ring have served as parents only. */
static void drop_empty(struct pp_salvage_clocks *s)
{
	size_t with_ring = 0;

	for (size_t i = 0; i < s->spools; i++) {
		if (s->spool[i].rings) {
			s->spool[with_ring++] = s->spool[i];
			continue;
		}
		pp_pieces_release(&s->spool[i].chain);
		pp_clock_metadata_release(&s->spool[i].exchange);
	}
	s->spools = with_ring;
}

int pp_clock_salvage_join(struct pp_clock_salvage *spool, size_t spools, const struct pp_rings *r, struct pp_warnings *warnings,
                          struct pp_salvage_clocks *ret, struct pp_err *err)
{
	struct pp_salvage_clocks s = {.spool = calloc(spools + 1, sizeof(*s.spool)), .spools = spools};

	if (!s.spool)
		return pp_err_set(err, -ENOMEM, "no memory for the clocks of %zu hosts", spools);
	check_files(spool, spools, r);
	for (size_t i = 0; i < spools; i++)
		join(spool, spools, r, i, &s.spool[i]);
	read_root(&s.spool[0], &s);
	name_root(spool, spools, r, &s);
	drop_needless(spool, spools, r, &s);
	warn_of_hosts(spool, spools, r, &s, warnings);
	drop_empty(&s);
	*ret = s;
	return 0;
}
