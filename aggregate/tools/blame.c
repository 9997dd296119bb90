/* Fills /blame and /blame_step: who made others wait, and why. Called by tools.c. The rule: docs/steps.md, Blame; the idea is the
 * delay analysis of Boehme, Geimer, Wolf, Arnold: Identifying the root causes of wait states in large-scale parallel
 * applications, ICPP 2010, from times between operations instead of a replay of all events. */
#include <errno.h>
#include <stdlib.h>

#include "aggregate/tools/ledger.h"
#include "aggregate/tools/tools.h"
#include "core/base/grow.h"

enum {
	LOOK_BACK = 512,     /* rows of a rank that are looked at for one wait */
	TRIES = 16,          /* common operations that are looked at for one wait */
	WAITED = PP_REASONS, /* item of a comparison that is no reason: it goes to earlier waits */
	ITEMS,
	US = 1000
};

/* Waiting that goes from row to row, with the error of the arrivals that it was measured by. */
struct mass {
	uint64_t ns, error;
};

struct total { /* of a worker's reason */
	uint64_t ns, direct, error;
	uint32_t steps;
};

struct late_step { /* of a worker in a step */
	uint64_t ns[PP_REASONS], error;
};

struct side {                   /* one rank on its way from their last common operation */
	size_t first, from, to; /* places in the ledger's list; laps of (from, to] count */
	int has_from;           /* from is a row, whose own wait lies before the release */
	uint64_t ns[ITEMS];
};

struct blame {
	const struct pp_dataset *d;
	struct pp_ledger ledger;
	struct mass *mass;   /* [arrivals], pushed by later waits */
	uint8_t *is_done;    /* [arrivals] */
	struct total *total; /* [workers][PP_REASONS] */
	uint32_t *late;      /* [steps][workers]: index + 1 in late_step; 0: none */
	struct late_step *late_step;
	size_t late_steps, late_room;
	struct side cached; /* the late rank's, while many wait for it */
};

/* A wait that is charged. */
struct wait {
	uint32_t row, late_row;
	size_t late; /* worker */
	size_t step; /* index; SIZE_MAX: none of the window */
	struct mass own, pushed;
};

static uint64_t wait_of(const struct pp_row_arrival *row)
{
	return row->exposed_wait_ns > 0 ? (uint64_t)row->exposed_wait_ns : 0;
}

static int64_t clamp(__int128 value)
{
	return value > INT64_MAX ? INT64_MAX : value < INT64_MIN ? INT64_MIN : (int64_t)value;
}

/* ns * part / whole, part <= whole. */
static uint64_t share(uint64_t ns, uint64_t part, uint64_t whole)
{
	uint64_t product;

	if (part == whole)
		return ns;
	if (!__builtin_mul_overflow(ns, part, &product))
		return product / whole;
	return (uint64_t)((unsigned __int128)ns * part / whole);
}

/* The part from `done` to `until` of a whole: the parts of one mass add up to it, whatever their rounding. */
static struct mass cut(const struct mass *m, uint64_t done, uint64_t until, uint64_t whole)
{
	if (!m->ns && !m->error)
		return *m;
	return (struct mass){share(m->ns, until, whole) - share(m->ns, done, whole),
	                     share(m->error, until, whole) - share(m->error, done, whole)};
}

/* How far the clocks' error may move a wait: not below 0, not beyond the end of the call. */
static uint64_t error_of(const struct blame *b, uint32_t row, uint32_t late_row)
{
	const struct pp_row_arrival *one = &b->d->arrival[row];
	const struct pp_row_collective *c = &b->d->collective[b->ledger.operation[row]];
	int64_t more = clamp((__int128)one->exit_ns - b->d->arrival[late_row].arrival_ns), most = (int64_t)wait_of(one);

	if (one->exit_open && c->bound_ns != INT64_MAX)
		most = INT64_MAX;
	most = more > most ? more : most;
	return c->bound_ns <= 0 ? 0 : (uint64_t)(c->bound_ns < most ? c->bound_ns : most);
}

static struct late_step *late_step_of(struct blame *b, size_t step, size_t worker)
{
	uint32_t *at = &b->late[step * b->d->workers + worker];
	struct late_step *grown;

	if (!*at) {
		if (b->late_steps >= UINT32_MAX - 1)
			return NULL;
		grown = pp_grow(b->late_step, b->late_steps, &b->late_room, sizeof(*grown));
		if (!grown)
			return NULL;
		b->late_step = grown;
		memset(&grown[b->late_steps], 0, sizeof(*grown));
		*at = (uint32_t)++b->late_steps;
	}
	return &b->late_step[*at - 1];
}

static int charge(struct blame *b, const struct wait *w, size_t worker, int reason, struct mass own, struct mass pushed)
{
	struct total *total = &b->total[worker * PP_REASONS + (size_t)reason];
	uint64_t ns = own.ns + pushed.ns;
	struct late_step *step;

	total->ns += ns;
	total->direct += own.ns;
	total->error += own.error + pushed.error;
	if (w->step == SIZE_MAX || (!ns && !own.error && !pushed.error))
		return 0;
	step = late_step_of(b, w->step, worker);
	if (!step)
		return -ENOMEM;
	total->steps += !step->ns[reason] && ns;
	step->ns[reason] += ns;
	step->error += own.error + pushed.error;
	return 0;
}

/* The two categories of communication less their waiting, which may end some laps behind the call that it is for. Returns what is
 * left of the waiting. */
static uint64_t add_transfer(const struct pp_row_arrival *row, uint64_t owed, uint64_t *ns)
{
	uint64_t lap[2] = {(uint64_t)row->local_us[PP_CATEGORY_DEVICE_COLLECTIVE] * US,
	                   (uint64_t)row->local_us[PP_CATEGORY_HOST_COMMUNICATION] * US};
	int larger = lap[1] >= lap[0];

	for (int k = 0; k < 2 && owed; k++, larger ^= 1) {
		uint64_t paid = owed < lap[larger] ? owed : lap[larger];

		owed -= paid;
		lap[larger] -= paid;
	}
	ns[PP_CATEGORY_DEVICE_COLLECTIVE] += lap[0];
	ns[PP_CATEGORY_HOST_COMMUNICATION] += lap[1];
	return owed;
}

/* Sums the laps of one side. */
static void look(const struct blame *b, struct side *s)
{
	const uint32_t *list = b->ledger.list;
	uint64_t owed = s->has_from ? wait_of(&b->d->arrival[list[s->from]]) : 0;
	uint64_t us[PP_CATEGORIES + 1] = {0}, between = 0, ns[PP_CATEGORIES + 1] = {0}, waited = 0;

	for (size_t p = s->has_from ? s->from + 1 : s->from; p <= s->to; p++) {
		const struct pp_row_arrival *row = &b->d->arrival[list[p]];
		uint64_t wait = p < s->to ? wait_of(row) : 0;

		for (int c = 1; c <= PP_CATEGORIES; c++)
			us[c] += row->local_us[c];
		between += row->between_us;
		owed = add_transfer(row, owed, ns) + wait;
		waited += wait;
	}
	for (int c = 1; c <= PP_CATEGORIES; c++)
		s->ns[c] = us[c] * US;
	s->ns[PP_CATEGORY_DEVICE_COLLECTIVE] = ns[PP_CATEGORY_DEVICE_COLLECTIVE];
	s->ns[PP_CATEGORY_HOST_COMMUNICATION] = ns[PP_CATEGORY_HOST_COMMUNICATION];
	s->ns[PP_REASON_BETWEEN_STEPS] = between * US;
	s->ns[WAITED] = waited;
}

/* How much later than rank R the late rank L left their common operation. A wait hidden by other work releases nobody: its rank
 * has done that work meanwhile. */
static int64_t lag_of(const struct pp_row_arrival *r, const struct pp_row_arrival *l)
{
	return clamp((__int128)l->arrival_ns + wait_of(l) - r->arrival_ns - wait_of(r));
}

struct search {
	const struct blame *b;
	const struct wait *w;
	struct side *r, *l;
	int64_t best; /* lag of the best operation so far */
	int tries, is_found;
};

/* A row pair of one operation as the place from which R and L are compared. 1: it is good, or there were enough tries. */
static int try_pair(struct search *s, uint32_t r, uint32_t l)
{
	const struct pp_ledger *g = &s->b->ledger;
	const struct pp_row_arrival *row = s->b->d->arrival;
	uint64_t wait = wait_of(&row[s->w->row]);
	int64_t lag, most = clamp((__int128)(wait / 8) + US);

	if (r == PP_LEDGER_NONE || l == PP_LEDGER_NONE || g->operation[r] == g->operation[s->w->row])
		return 0;
	if (g->at[r] >= s->r->to || g->at[l] >= s->l->to || s->r->to - g->at[r] > LOOK_BACK || s->l->to - g->at[l] > LOOK_BACK)
		return 0;
	lag = lag_of(&row[r], &row[l]);
	if (!s->is_found || lag < s->best) {
		s->best = lag;
		s->r->from = g->at[r];
		s->l->from = g->at[l];
		s->r->has_from = s->l->has_from = 1;
	}
	s->is_found = 1;
	return lag <= most || lag <= s->b->d->collective[g->operation[r]].bound_ns || ++s->tries >= TRIES;
}

/* Without a common operation: since the later of both oldest rows that may be looked at, or since the begin. */
static void from_oldest(const struct blame *b, struct side *r, struct side *l)
{
	struct side *side[2] = {r, l};
	const struct pp_row_arrival *row = b->d->arrival;
	int64_t begin = INT64_MIN;

	for (int k = 0; k < 2; k++) {
		struct side *s = side[k];

		s->has_from = s->to - s->first > LOOK_BACK;
		s->from = s->has_from ? s->to - LOOK_BACK : s->first;
		if (s->has_from && row[b->ledger.list[s->from]].arrival_ns > begin)
			begin = row[b->ledger.list[s->from]].arrival_ns;
	}
	for (int k = 0; k < 2 && begin != INT64_MIN; k++)
		while (side[k]->from < side[k]->to && row[b->ledger.list[side[k]->from]].arrival_ns < begin) {
			side[k]->from++;
			side[k]->has_from = 1;
		}
}

/* Where both ranks were together last. Either list may be the shorter way there. */
static void find_common(const struct blame *b, const struct wait *w, struct side *r, struct side *l)
{
	const struct pp_ledger *g = &b->ledger;
	const struct pp_row_arrival *row = b->d->arrival;
	struct search s = {.b = b, .w = w, .r = r, .l = l};
	uint64_t distance = (uint64_t)w->late_row - w->row; /* often the same in all operations */

	for (size_t k = 1; k <= LOOK_BACK; k++) {
		int has_r = r->to - r->first >= k, has_l = l->to - l->first >= k;
		uint32_t one;

		if (!has_r && !has_l)
			break;
		if (has_r) {
			one = g->list[r->to - k];
			if (try_pair(&s, one, pp_ledger_row(g, g->operation[one], row[w->late_row].worker, one + distance)))
				return;
		}
		if (has_l) {
			one = g->list[l->to - k];
			if (try_pair(&s, pp_ledger_row(g, g->operation[one], row[w->row].worker, one - distance), one))
				return;
		}
	}
	if (!s.is_found)
		from_oldest(b, r, l);
}

/* On to the late rank's own earlier waits, as far as they are not charged yet. */
static int push(struct blame *b, const struct wait *w, const struct side *l, struct mass own, struct mass pushed)
{
	struct mass m = {own.ns + pushed.ns, own.error + pushed.error};
	uint64_t whole = 0, done = 0;
	size_t first = l->has_from ? l->from + 1 : l->from;

	for (size_t p = first; p < l->to; p++)
		if (!b->is_done[b->ledger.list[p]])
			whole += wait_of(&b->d->arrival[b->ledger.list[p]]);
	if (!whole)
		return charge(b, w, w->late, PP_REASON_UNKNOWN, own, pushed);
	for (size_t p = first; p < l->to; p++) {
		uint32_t row = b->ledger.list[p];
		uint64_t wait = wait_of(&b->d->arrival[row]);
		struct mass part;

		if (b->is_done[row] || !wait)
			continue;
		part = cut(&m, done, done + wait, whole);
		done += wait;
		b->mass[row].ns += part.ns;
		b->mass[row].error += part.error;
	}
	return 0;
}

struct more { /* of L than of R */
	uint64_t ns[ITEMS], whole;
	int item[ITEMS], items;
};

/* What L did longer than R since they were together; what is far too little to explain the wait leaves a rest unknown. */
static void compare(const struct blame *b, const struct wait *w, const struct side *r, const struct side *l, struct more *more)
{
	uint64_t sum = 0, wait = wait_of(&b->d->arrival[w->row]), laps = (r->to - r->from) + (l->to - l->from) + 2;

	more->items = 0;
	for (int k = 1; k < ITEMS; k++) {
		more->ns[k] = l->ns[k] > r->ns[k] ? l->ns[k] - r->ns[k] : 0;
		more->item[more->items] = k;
		more->items += more->ns[k] > 0;
		sum += more->ns[k];
	}
	more->ns[PP_REASON_UNKNOWN] = sum < wait && wait - sum > wait / 8 + laps * US ? wait - sum : 0;
	if (more->ns[PP_REASON_UNKNOWN])
		more->item[more->items++] = PP_REASON_UNKNOWN;
	more->whole = sum + more->ns[PP_REASON_UNKNOWN];
}

static int distribute(struct blame *b, const struct wait *w)
{
	const struct pp_ledger *g = &b->ledger;
	size_t waits = pp_ledger_worker(g, b->d->arrival[w->row].worker);
	struct side r = {.first = g->first[waits], .to = g->at[w->row]}, l = {.first = g->first[w->late], .to = g->at[w->late_row]};
	struct more more;
	uint64_t done = 0;
	int rc = 0;

	find_common(b, w, &r, &l);
	look(b, &r);
	if (b->cached.to != l.to || b->cached.from != l.from || b->cached.has_from != l.has_from) {
		look(b, &l);
		b->cached = l;
	}
	compare(b, w, &r, &b->cached, &more);
	if (!more.items)
		return charge(b, w, w->late, PP_REASON_UNKNOWN, w->own, w->pushed);
	for (int i = 0; i < more.items && !rc; i++) {
		int k = more.item[i];
		struct mass own = cut(&w->own, done, done + more.ns[k], more.whole);
		struct mass pushed = cut(&w->pushed, done, done + more.ns[k], more.whole);

		done += more.ns[k];
		rc = k == WAITED ? push(b, w, &l, own, pushed) : charge(b, w, w->late, k, own, pushed);
	}
	return rc;
}

/* Waits in the order in which the awaited ranks arrived. None of a damaged file whose sum is no time. *ret_key is the caller's. */
static int list_waits(const struct blame *b, struct pp_ledger_key **ret_key, size_t *ret_n)
{
	const struct pp_row_arrival *row = b->d->arrival;
	uint64_t left = b->d->arrivals, first = 0;
	size_t n = 0;
	struct pp_ledger_key *key = malloc((b->d->arrivals + 1) * sizeof(*key)); /* what is not used costs nothing */
	int64_t sum = 0;

	if (!key)
		return -ENOMEM;
	*ret_key = key;
	for (size_t c = 0; c < b->d->collectives; c++) {
		uint64_t count = pp_ledger_rows(b->d, c, &left, &first);
		uint32_t late = PP_LEDGER_NONE;

		for (uint64_t i = first; i < first + count; i++) {
			if (row[i].exposed_wait_ns <= 0 || b->ledger.operation[i] != c)
				continue;
			late = pp_ledger_row(&b->ledger, (uint32_t)c, row[i].late_rank, late);
			key[n++] = (struct pp_ledger_key){late == PP_LEDGER_NONE ? row[i].arrival_ns : row[late].arrival_ns,
			                                  (uint32_t)i, late};
			if (__builtin_add_overflow(sum, row[i].exposed_wait_ns, &sum))
				return 0;
		}
	}
	*ret_n = n;
	return pp_ledger_sort(key, n);
}

/* Later waits first: what they push is complete when an earlier wait is charged, once. */
static int charge_waits(struct blame *b, const struct pp_ledger_key *key, size_t n)
{
	uint32_t operation = PP_LEDGER_NONE;
	struct wait w = {.late_row = PP_LEDGER_NONE};
	int64_t errors = 0;
	int rc = 0;

	for (size_t i = n; i-- && !rc;) {
		const struct pp_row_arrival *row = &b->d->arrival[key[i].row];
		uint64_t error;

		w.row = key[i].row;
		if (b->ledger.operation[w.row] != operation) {
			operation = b->ledger.operation[w.row];
			w.step = pp_dataset_step(b->d, b->d->collective[operation].step);
		}
		w.late_row = key[i].other;
		w.late = pp_ledger_worker(&b->ledger, row->late_rank);
		error = w.late_row == PP_LEDGER_NONE ? 0 : error_of(b, w.row, w.late_row);
		error = error < (uint64_t)(INT64_MAX - errors) ? error : (uint64_t)(INT64_MAX - errors);
		errors += (int64_t)error;
		w.own = (struct mass){wait_of(row), error};
		w.pushed = b->mass[w.row];
		b->is_done[w.row] = 1;
		if (w.late == SIZE_MAX) /* a damaged file */
			w.late = pp_ledger_worker(&b->ledger, row->worker);
		rc = w.late_row == PP_LEDGER_NONE ? charge(b, &w, w.late, PP_REASON_UNKNOWN, w.own, w.pushed) : distribute(b, &w);
	}
	return rc;
}

static int by_blame(const void *a, const void *b)
{
	const struct pp_row_blame *x = a, *y = b;

	if (x->blame_ns != y->blame_ns)
		return x->blame_ns > y->blame_ns ? -1 : 1;
	if (x->worker != y->worker)
		return x->worker < y->worker ? -1 : 1;
	return x->reason - y->reason;
}

static int add_rows(const struct blame *b, struct pp_table *to)
{
	for (size_t w = 0; w < b->d->workers; w++)
		for (int k = 0; k < PP_REASONS; k++) {
			const struct total *t = &b->total[w * PP_REASONS + (size_t)k];
			struct pp_row_blame *row = t->ns ? pp_table_add(to) : NULL;

			if (!t->ns)
				continue;
			if (!row)
				return -ENOMEM;
			*row = (struct pp_row_blame){.worker = b->d->worker[w].rank,
			                             .reason = (int8_t)k,
			                             .blame_ns = (int64_t)t->ns,
			                             .direct_ns = (int64_t)t->direct,
			                             .error_ns = (int64_t)t->error,
			                             .steps = t->steps};
		}
	if (to->rows)
		qsort(to->row, to->rows, sizeof(struct pp_row_blame), by_blame);
	return 0;
}

static int add_steps(const struct blame *b, struct pp_table *to)
{
	for (size_t i = 0; i < b->d->steps * b->d->workers; i++) {
		const struct late_step *s = b->late[i] ? &b->late_step[b->late[i] - 1] : NULL;
		struct pp_row_blame_step *row;
		uint64_t sum = 0;
		int most = 0;

		for (int k = 0; s && k < PP_REASONS; k++) {
			sum += s->ns[k];
			most = s->ns[k] > s->ns[most] ? k : most;
		}
		if (!sum)
			continue;
		row = pp_table_add(to);
		if (!row)
			return -ENOMEM;
		*row = (struct pp_row_blame_step){.step = b->d->step[i / b->d->workers].number,
		                                  .worker = b->d->worker[i % b->d->workers].rank,
		                                  .step_blame_ns = (int64_t)sum,
		                                  .step_error_ns = (int64_t)s->error,
		                                  .step_reason = (int8_t)most};
	}
	return 0;
}

int pp_tool_blame(const struct pp_dataset *in, struct pp_table *tables, struct pp_err *err)
{
	struct blame b = {.d = in, .cached = {.to = SIZE_MAX}};
	struct pp_ledger_key *key = NULL;
	size_t n = 0;
	int rc = pp_ledger_init(&b.ledger, in);

	if (rc)
		goto out;
	b.mass = calloc(in->arrivals + 1, sizeof(*b.mass));
	b.is_done = calloc(in->arrivals + 1, sizeof(*b.is_done));
	b.total = calloc(in->workers * PP_REASONS + 1, sizeof(*b.total));
	b.late = calloc(in->steps * in->workers + 1, sizeof(*b.late));
	rc = b.mass && b.is_done && b.total && b.late ? list_waits(&b, &key, &n) : -ENOMEM;
	if (!rc)
		rc = charge_waits(&b, key, n);
	if (!rc)
		rc = add_rows(&b, &tables[PP_TABLE_blame]);
	if (!rc)
		rc = add_steps(&b, &tables[PP_TABLE_blame_step]);
	pp_ledger_release(&b.ledger);
out:
	free(key);
	free(b.mass);
	free(b.is_done);
	free(b.total);
	free(b.late);
	free(b.late_step);
	return rc ? pp_err_set(err, rc, "no memory for the blame of %zu waits", n) : 0;
}
