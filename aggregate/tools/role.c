/* Fills /role and the roles of /worker: ranks that do the same kind of work, by their calls and the communicators of these.
 * Called by tools.c. docs/steps.md, "Roles", has the rules. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "aggregate/tools/role_text.h"
#include "aggregate/tools/tools.h"
#include "core/base/compare.h"
#include "core/base/grow.h"
#include "core/base/map.h"

/* A value this much above the next lower one is of another class: 2 messages per step are not 1, and an uneven share of the data is
 * the same kind of work. */
#define COUNT_GAP 1.75
#define BYTES_GAP 4.0

struct kind { /* of a rank */
	uint64_t print;
	int64_t step, sent_ns, received_ns; /* of the step at hand: begin of its first send, end of its first receive */
	uint32_t steps, votes, receives_first;
	int32_t role;                         /* of the run that begins with it */
	uint8_t above, below, sent, received; /* it has peers there; what is known of the step at hand */
};

struct work {
	const struct pp_dataset *in;
	struct kind *kind; /* [workers] */
	size_t *order;     /* [workers] by print, then rank */
	int32_t *role;     /* [workers]; -1: missing */
	uint8_t *end;      /* [workers] enum pp_role_end */
	struct pp_use *use;
	size_t uses, room;
	struct pp_map map; /* of uses by kind and rank */
	struct pp_use **sorted;
	struct pp_group_sizes sizes;
};

static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 31)) * 0x7fb5d329728ea185u;
	x = (x ^ (x >> 27)) * 0x81dadef4bc2dd44du;
	return x ^ (x >> 33);
}

PP_COMPARE_BY_2(by_key, struct pp_use, key, worker)

#define COMPARE_BY(member)                                                                                                         \
	static int by_##member(const void *a, const void *b)                                                                       \
	{                                                                                                                          \
		const struct pp_use *x = *(struct pp_use *const *)a, *y = *(struct pp_use *const *)b;                              \
		if (x->member != y->member)                                                                                        \
			return x->member < y->member ? -1 : 1;                                                                     \
		return (x->worker > y->worker) - (x->worker < y->worker);                                                          \
	}
COMPARE_BY(per_step)
COMPARE_BY(bytes)

static int32_t size_of(const struct pp_dataset *in, const struct pp_row_collective *c)
{
	const struct pp_row_communicator *comm = pp_dataset_communicator(in, c->communicator);

	return comm && comm->size && comm->size <= INT32_MAX ? (int32_t)comm->size : c->ranks;
}

static int is_row(const struct pp_dataset *in, const struct pp_row_collective *c)
{
	return c->row_first <= in->arrivals && c->row_count <= in->arrivals - c->row_first;
}

/* Operations inside steps, if there are any: start-up is no part of a rank's work. */
static int is_used(const struct pp_row_collective *c, int all)
{
	return all || c->step != INT64_MIN;
}

/* Counts whether a rank's step begins with a receive whose data it may pass on. */
static void end_turn(struct kind *k)
{
	if (k->sent && k->received) {
		k->votes++;
		k->receives_first += k->received_ns <= k->sent_ns;
	}
	k->sent = k->received = 0;
}

static void take_turn(struct kind *k, const struct pp_row_collective *c, const struct pp_row_arrival *a)
{
	int32_t peer = a->is_root ? c->destination : c->source;

	k->above |= peer > a->worker;
	k->below |= peer < a->worker;
	if (c->step != k->step)
		end_turn(k);
	k->step = c->step;
	if (a->is_root && (!k->sent || a->arrival_ns < k->sent_ns)) {
		k->sent = 1;
		k->sent_ns = a->arrival_ns;
	}
	if (!a->is_root && !a->exit_open && (!k->received || a->exit_ns < k->received_ns)) {
		k->received = 1;
		k->received_ns = a->exit_ns;
	}
}

static uint64_t hash_of(const void *row)
{
	const struct pp_use *use = row;

	return mix(use->key + use->worker);
}

static int is_same(const void *row, const void *key)
{
	const struct pp_use *a = row, *b = key;

	return a->key == b->key && a->worker == b->worker;
}

static struct pp_use *use_of(struct work *k, uint64_t key, size_t worker)
{
	const struct pp_use one = {.key = key, .step = INT64_MIN, .worker = (uint32_t)worker};
	uint32_t *place = pp_map_place(&k->map, k->use, k->uses, sizeof(one), &one, hash_of, is_same);
	struct pp_use *use;

	if (place && !*place) {
		use = pp_grow(k->use, k->uses, &k->room, sizeof(*use));
		if (!use)
			return NULL;
		k->use = use;
		use[k->uses] = one;
		*place = (uint32_t)++k->uses;
	}
	return place ? &k->use[*place - 1] : NULL;
}

/* Adds an operation to the sums of its kind and rank. A rank's operations are nearly in the order of its steps. */
static int add_use(struct work *k, const struct pp_row_collective *c)
{
	int32_t size = c->message ? 2 : size_of(k->in, c), low = size < 2 ? 0 : pp_group_low(&k->sizes, size);
	const uint64_t key[2] = {pp_use_key(c->operation, c->message != 0, 0, low),
	                         pp_use_key(c->operation, c->message != 0, 1, low)};

	for (uint32_t i = 0; i < c->row_count && size >= 2; i++) {
		const struct pp_row_arrival *a = &k->in->arrival[c->row_first + i];
		size_t w = pp_dataset_worker(k->in, a->worker);
		struct pp_use *use;

		if (w == SIZE_MAX)
			continue;
		if (c->message)
			take_turn(&k->kind[w], c, a);
		use = use_of(k, key[a->is_root != 0], w);
		if (!use)
			return -ENOMEM;
		use->share += use->per_step < 1 || c->step > use->step;
		use->step = c->step > use->step ? c->step : use->step;
		use->per_step++;
		use->bytes += (double)c->bytes;
	}
	return 0;
}

/* Sums become means. */
static void end_uses(struct work *k)
{
	for (size_t i = 0; i < k->uses; i++) {
		struct pp_use *use = &k->use[i];
		double steps = (double)k->kind[use->worker].steps;

		use->bytes /= use->per_step;
		use->per_step /= steps;
		use->share /= steps;
	}
	if (k->uses)
		qsort(k->use, k->uses, sizeof(*k->use), by_key);
}

static void classify(struct work *k, struct pp_use *use, size_t n)
{
	uint32_t class = 1;

	for (size_t i = 0; i < n; i++)
		k->sorted[i] = &use[i];
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers */
	qsort(k->sorted, n, sizeof(*k->sorted), by_per_step);
	for (size_t i = 0; i < n; i++) {
		class += i && k->sorted[i]->per_step > COUNT_GAP * k->sorted[i - 1]->per_step;
		k->sorted[i]->count_class = class;
	}
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): the same */
	qsort(k->sorted, n, sizeof(*k->sorted), by_bytes);
	class = 1;
	for (size_t i = 0; i < n; i++) {
		class += i && k->sorted[i]->bytes > BYTES_GAP * k->sorted[i - 1]->bytes;
		k->sorted[i]->bytes_class = class;
	}
	for (size_t i = 0; i < n; i++)
		k->kind[use[i].worker].print += mix(mix(use[i].key) + ((uint64_t)use[i].count_class << 32) + use[i].bytes_class);
}

/* Leaves out kinds that are no part of most steps of any rank, and ranks that do them far less than others. */
static void classify_all(struct work *k)
{
	size_t kept = 0, next;

	for (size_t i = 0; i < k->uses; i = next) {
		size_t first = kept;
		double most = 0, share = 0;

		for (next = i; next < k->uses && k->use[next].key == k->use[i].key; next++) {
			most = k->use[next].per_step > most ? k->use[next].per_step : most;
			share = k->use[next].share > share ? k->use[next].share : share;
		}
		for (size_t j = i; j < next && 2 * share >= 1; j++)
			if (8 * k->use[j].per_step >= most)
				k->use[kept++] = k->use[j];
		classify(k, &k->use[first], kept - first);
	}
	k->uses = kept;
}

static int by_print(const void *a, const void *b, void *context)
{
	const struct kind *kind = context;
	size_t x = *(const size_t *)a, y = *(const size_t *)b;

	if (kind[x].print != kind[y].print)
		return kind[x].print < kind[y].print ? -1 : 1;
	return (x > y) - (x < y);
}

static void sort_ranks(struct work *k)
{
	qsort_r(k->order, k->in->workers, sizeof(*k->order), by_print, k->kind);
}

static size_t run_end(const struct work *k, size_t i)
{
	size_t end = i + 1;

	while (end < k->in->workers && k->kind[k->order[end]].print == k->kind[k->order[i]].print)
		end++;
	return end;
}

/* The two ends of a pipeline exchange equal messages with one side each: who begins the step by receiving is the last stage. */
static void split_ends(struct work *k)
{
	size_t end;

	sort_ranks(k);
	for (size_t i = 0; i < k->in->workers; i = end) {
		size_t above = 0, below = 0, both = 0;

		end = run_end(k, i);
		for (size_t j = i; j < end; j++) {
			const struct kind *r = &k->kind[k->order[j]];

			above += r->above;
			below += r->below;
			both += r->above == r->below;
		}
		for (size_t j = i; j < end && above && below && !both; j++) {
			struct kind *r = &k->kind[k->order[j]];

			k->end[k->order[j]] = 5 * (uint64_t)r->receives_first > 4 * (uint64_t)r->votes ? PP_ROLE_END_LAST
			                      : 5 * (uint64_t)r->receives_first < (uint64_t)r->votes   ? PP_ROLE_END_FIRST
			                                                                               : PP_ROLE_END_NONE;
			r->print = mix(r->print + k->end[k->order[j]]);
		}
	}
	sort_ranks(k);
}

/* Numbers roles in the order of their lowest ranks. Returns how many there are; *ret_alone of them have one rank. */
static size_t number_roles(struct work *k, size_t *ret_alone)
{
	size_t n = 0, alone = 0, end;

	for (size_t i = 0; i < k->in->workers; i = end) {
		size_t ranks = 0, first = SIZE_MAX;

		end = run_end(k, i);
		for (size_t j = i; j < end; j++) {
			int is_missing = pp_worker_is_missing(&k->in->worker[k->order[j]]);

			ranks += !is_missing;
			first = first == SIZE_MAX && !is_missing ? k->order[j] : first;
			k->role[k->order[j]] = is_missing ? -1 : (int32_t)first;
		}
		alone += ranks == 1;
	}
	for (size_t w = 0; w < k->in->workers; w++) { /* runs have the place of their first rank so far, which is the lowest */
		if (k->role[w] == (int32_t)w)
			k->kind[w].role = (int32_t)n++;
		if (k->role[w] >= 0)
			k->role[w] = k->kind[k->role[w]].role;
	}
	*ret_alone = alone;
	return n;
}

static int write_roles(struct work *k, size_t roles, enum pp_role_word word, struct pp_table *t)
{
	struct pp_role_words words = {
	        .in = k->in, .use = k->use, .uses = k->uses, .role = k->role, .end = k->end, .sizes = &k->sizes, .word = word};
	size_t *first = calloc(roles + 1, sizeof(*first));
	struct pp_row_role *row;
	int rc = first && !pp_table_room(t, roles) ? 0 : -ENOMEM;

	pp_role_words_init(&words);
	for (size_t w = k->in->workers; w-- && !rc;)
		if (k->role[w] >= 0)
			first[k->role[w]] = w;
	for (size_t r = 0; r < roles && !rc; r++) {
		if (!(row = pp_table_add(t))) {
			rc = -ENOMEM;
			break;
		}
		row->first_rank = k->in->worker[first[r]].rank;
		pp_role_why(&words, first[r], row->why, sizeof(row->why));
	}
	free(first);
	if (!rc)
		pp_role_ranks(k->in, k->role, t->row, roles);
	return rc;
}

static int read_uses(struct work *k)
{
	const struct pp_dataset *in = k->in;
	int all = 1, rc = 0;

	for (size_t i = 0; i < in->collectives && all; i++)
		all = in->collective[i].step == INT64_MIN;
	for (size_t i = 0; i < in->collectives && !rc; i++)
		if (is_used(&in->collective[i], all) && !in->collective[i].message)
			rc = pp_group_sizes_add(&k->sizes, size_of(in, &in->collective[i]));
	pp_group_sizes_sort(&k->sizes);
	for (size_t i = 0; i < in->collectives && !rc; i++)
		if (is_used(&in->collective[i], all) && is_row(in, &in->collective[i]))
			rc = add_use(k, &in->collective[i]);
	for (size_t w = 0; w < in->workers; w++)
		end_turn(&k->kind[w]);
	return rc;
}

static int find_roles(struct work *k, struct pp_table *t)
{
	const struct pp_dataset *in = k->in;
	enum pp_role_word word = PP_ROLE_BY_CALLS;
	size_t roles, alone, ranks = 0;
	int rc;

	for (size_t w = 0; w < in->workers; w++) {
		k->order[w] = w;
		for (size_t s = 0; s < in->steps && in->cell; s++)
			k->kind[w].steps += in->cell[s * in->workers + w].present != 0;
		k->kind[w].steps = k->kind[w].steps ? k->kind[w].steps : 1;
		ranks += !pp_worker_is_missing(&in->worker[w]);
	}
	if ((rc = read_uses(k)))
		return rc;
	end_uses(k);
	classify_all(k);
	split_ends(k);
	roles = number_roles(k, &alone);
	if (!k->uses || roles == 1 || 2 * alone > ranks) {
		word = !k->uses ? PP_ROLE_NOTHING : roles == 1 ? PP_ROLE_SAME : PP_ROLE_ALL_DIFFER;
		for (size_t w = 0; w < in->workers; w++)
			k->role[w] = k->role[w] < 0 ? -1 : 0;
		roles = ranks > 0;
	}
	return write_roles(k, roles, word, t);
}

int pp_tool_role(const struct pp_dataset *in, struct pp_table *tables, struct pp_err *err)
{
	struct pp_row_worker *worker = tables[PP_TABLE_worker].row;
	size_t n = in->workers + 1;
	struct work k = {.in = in};
	int rc = -ENOMEM;

	k.kind = calloc(n, sizeof(*k.kind));
	k.order = calloc(n, sizeof(*k.order));
	k.role = calloc(n, sizeof(*k.role));
	k.end = calloc(n, sizeof(*k.end));
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): the same */
	k.sorted = calloc(n, sizeof(*k.sorted));
	if (k.kind && k.order && k.role && k.end && k.sorted)
		rc = find_roles(&k, &tables[PP_TABLE_role]);
	for (size_t w = 0; w < in->workers && !rc; w++)
		worker[w].role = k.role[w];
	free(k.kind);
	free(k.order);
	free(k.role);
	free(k.end);
	free(k.sorted);
	free(k.use);
	free(k.map.place);
	free(k.sizes.size);
	return rc ? pp_err_set(err, rc, "no memory for the roles of ranks") : 0;
}
