/* Fills /what_if: step time if a rank, a host, the input, a communicator or a link were as fast as the median.
 * aggregate/graph/replay.h computes it; docs/steps.md has the rules. Called by tools.c. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "aggregate/dataset/communicator_text.h"
#include "aggregate/graph/link.h"
#include "aggregate/graph/replay.h"
#include "aggregate/graph/whole.h"
#include "aggregate/tools/link_text.h"
#include "aggregate/tools/tools.h"
#include "core/base/compare.h"
#include "core/base/known.h"
#include "core/base/select.h"
#include "core/base/wrap.h"
#include "core/call/mpi_call.h"

enum subject { RANK, HOST, INPUT, COMMUNICATOR, SET, LINK };                  /* as in the description */
enum { MOST_RANKS = 3, LATE_PART = 3, HIDDEN_PART = 10, LEAST_PART = 10000 }; /* of the step: chance alone saves some */

struct scene {
	const struct pp_dataset *d;
	const struct pp_row_worker *worker; /* with roles */
	struct pp_graph own;                /* where the dataset has none */
	struct pp_graph *graph;
	const struct pp_row_worker **by_host; /* [workers] */
	int64_t *blame_ns;                    /* [workers] */
	const uint8_t *late;                  /* [workers] of the set at hand */
	int64_t *ns;                          /* [nodes or collectives] */
	int64_t before_ns, bound_ns;
	struct pp_scenario scenario[PP_REPLAY_MOST];
	struct pp_row_what_if row[PP_REPLAY_MOST]; /* of each scenario */
	size_t scenarios;
	struct pp_table *to;
};

/* The lower median: the least value that at least half of them do not exceed. Changes their order. */
static int64_t median_of(int64_t *ns, size_t n)
{
	return pp_select_int64(ns, n, (n - 1) / 2);
}

static uint32_t input_us(const struct pp_graph *g, uint32_t node)
{
	const struct pp_node *n = &g->node[node];

	/* The lap of a call that begins nothing is of a later one, too. */
	return n->flags & PP_NODE_POSTS ? g->d->arrival[*pp_graph_rows(g, n)].local_us[PP_CATEGORY_INPUT] : 0;
}

/* Input above the median of the ranks before the same call of the step. Returns 0 where no rank has any. */
static int save_input(struct scene *s, uint32_t *work_us)
{
	const struct pp_graph *g = s->graph;
	int any = 0;

	for (size_t c = 0; c < g->cells; c++) {
		const size_t i = g->cell[c].first, next = g->cell[c + 1].first;
		int64_t median, most = 0;

		for (size_t k = i; k < next; k++) {
			s->ns[k - i] = input_us(g, g->by_cell[k]);
			most = s->ns[k - i] > most ? s->ns[k - i] : most;
		}
		any |= most > 0;
		median = most ? median_of(s->ns, next - i) : 0;
		for (size_t k = i; k < next && most > median; k++) {
			const uint32_t us = input_us(g, g->by_cell[k]);

			work_us[g->by_cell[k]] = us > median ? us - (uint32_t)median : 0;
		}
	}
	return any;
}

static int is_little(const struct scene *s, int64_t gain_ns)
{
	return gain_ns < s->before_ns / LEAST_PART || gain_ns <= s->bound_ns;
}

/* One more scenario and its row. */
static struct pp_row_what_if *add(struct scene *s, enum subject subject, const struct pp_scenario *scenario)
{
	struct pp_row_what_if *row = &s->row[s->scenarios];

	s->scenario[s->scenarios++] = *scenario;
	*row = (struct pp_row_what_if){.subject = (int8_t)subject, .subject_worker = -1, .subject_peer = -1};
	return row;
}

/* Does a set gain no more than one of its ranks alone? */
static int is_one_rank(const struct scene *s, size_t i)
{
	for (size_t k = 0; k < s->scenarios && s->row[i].subject == SET; k++)
		if (s->row[k].subject == RANK && s->scenario[k].after_ns <= s->scenario[i].after_ns)
			return 1;
	return 0;
}

/* Where clocks are not joined, the replay does not know which rank a call waits for: how much earlier the others would go on is
 * unknown. */
static int is_open(const struct scene *s)
{
	return s->d->uncompared > 0;
}

static int is_of_ranks(const struct pp_row_what_if *row)
{
	return row->subject == RANK || row->subject == HOST || row->subject == SET;
}

/* Rows of the scenarios that gain something, and of those of which that is unknown. */
static int finish(struct scene *s)
{
	int rc = pp_replay_run(s->graph, NULL, s->scenario, s->scenarios);

	for (size_t i = 0; i < s->scenarios && !rc; i++) {
		struct pp_row_what_if *row = &s->row[i], *to;

		row->before_ns = s->before_ns;
		row->after_ns = s->scenario[i].after_ns;
		row->gain_ns = pp_wrap_minus(row->before_ns, row->after_ns);
		if (is_open(s) && is_of_ranks(row))
			row->after_ns = row->gain_ns = PP_UNKNOWN;
		else if (is_open(s) || is_little(s, row->gain_ns) || is_one_rank(s, i))
			continue;
		to = pp_table_add(s->to);
		if (!to)
			return -ENOMEM;
		*to = *row;
	}
	return rc;
}

#define ASSUMES "each rank makes the same calls in the same order; transfers take as long as measured; "

static uint8_t *choose(const struct scene *s, const char *host, size_t worker, size_t *ret_ranks)
{
	uint8_t *chosen = calloc(s->d->workers + 1, 1);

	*ret_ranks = 0;
	for (size_t i = 0; i < s->d->workers && chosen; i++) {
		chosen[i] = host ? !strcmp(s->worker[i].host, host) : i == worker;
		*ret_ranks += chosen[i];
	}
	return chosen;
}

static int add_rank(struct scene *s, size_t w)
{
	const struct pp_row_worker *one = &s->worker[w];
	struct pp_row_what_if *row;
	size_t ranks;
	uint8_t *chosen = choose(s, NULL, w, &ranks);

	if (!chosen)
		return -ENOMEM;
	row = add(s, RANK, &(struct pp_scenario){.chosen = chosen});
	row->subject_worker = one->rank;
	snprintf(row->what_if, sizeof(row->what_if), "rank %" PRId32 " (host %s) as fast as the median of the other ranks",
	         one->rank, one->host);
	snprintf(row->assumes, sizeof(row->assumes),
	         ASSUMES "before a call the rank takes the median of the other ranks before the same call, where it is unusual");
	return 0;
}

static int is_late(const struct pp_row_worker *w, const void *context)
{
	const struct scene *s = context;

	return s->late[pp_dataset_worker(s->d, w->rank)];
}

/* Unusual work of each rank inside steps, ns: work_ns[workers]. Returns the most. */
static int64_t sum_unusual(const struct scene *s, int64_t *work_ns)
{
	const struct pp_graph *g = s->graph;
	int64_t most = 0;

	for (size_t w = 0; w < s->d->workers; w++) {
		double ns = 0;

		for (size_t i = g->track[w]; i < g->track[w + 1]; i++)
			if (g->node[i].unusual > 0)
				ns += g->node[i].unusual * (double)pp_graph_local(g, (uint32_t)i);
		work_ns[w] = ns < (double)INT64_MAX / 2 ? (int64_t)ns : INT64_MAX / 2;
		most = work_ns[w] > most ? work_ns[w] : most;
	}
	return most;
}

/* Takes out of the set each rank without which it gains as much, but for a tenth: its work is hidden even then. 0, or -ENOMEM. */
static int trim_set(const struct scene *s, uint8_t *chosen, size_t *late)
{
	struct pp_scenario without[PP_REPLAY_MOST] = {{.chosen = chosen}};
	size_t worker[PP_REPLAY_MOST], n = 1;
	int rc = 0;

	if (*late >= PP_REPLAY_MOST)
		return 0;
	for (size_t w = 0; w < s->d->workers && !rc; w++) {
		uint8_t *one = chosen[w] ? malloc(s->d->workers) : NULL;

		if (!chosen[w])
			continue;
		if (!one) {
			rc = -ENOMEM;
			break;
		}
		memcpy(one, chosen, s->d->workers);
		one[w] = 0;
		worker[n] = w;
		without[n++].chosen = one;
	}
	if (!rc)
		rc = pp_replay_run(s->graph, NULL, without, n);
	for (size_t i = 1; i < n; i++) {
		const int64_t lost = pp_wrap_minus(without[i].after_ns, without[0].after_ns);

		if (!rc && lost < pp_wrap_minus(s->before_ns, without[0].after_ns) / HIDDEN_PART) {
			chosen[worker[i]] = 0;
			--*late;
		}
		free((void *)without[i].chosen);
	}
	return rc;
}

/* Ranks with at least a third as much unusual work as the one with most, together: each of them hides the others. */
static int add_set(struct scene *s)
{
	struct pp_row_what_if *row;
	char list[96];
	size_t late = 0, first = 0;
	uint8_t *chosen = calloc(s->d->workers + 1, 1);
	const int64_t most = sum_unusual(s, s->ns);
	int rc = 0;

	if (!chosen)
		return -ENOMEM;
	for (size_t w = 0; w < s->d->workers; w++) {
		chosen[w] = most > 0 && s->ns[w] >= most / LATE_PART;
		late += chosen[w];
	}
	if (late > 1 && 2 * late <= s->d->workers) /* half of the ranks are the usual ones */
		rc = trim_set(s, chosen, &late);
	if (rc || late < 2 || 2 * late > s->d->workers) {
		free(chosen);
		return rc;
	}
	while (!chosen[first])
		first++;
	s->late = chosen;
	pp_dataset_list_ranks(s->d, is_late, s, " and ", list, sizeof(list));
	row = add(s, SET, &(struct pp_scenario){.chosen = chosen});
	row->subject_worker = s->d->worker[first].rank;
	snprintf(row->what_if, sizeof(row->what_if), "%s as fast as the median of the other ranks", list);
	snprintf(row->assumes, sizeof(row->assumes),
	         ASSUMES
	         "before a call these ranks take the median of the other ranks before the same call, where they are unusual");
	return 0;
}

static int add_host(struct scene *s, size_t w)
{
	struct pp_row_what_if *row;
	size_t ranks;
	uint8_t *chosen = choose(s, s->worker[w].host, w, &ranks);

	if (!chosen)
		return -ENOMEM;
	if (ranks < 2 || ranks == s->d->workers) {
		free(chosen);
		return 0;
	}
	row = add(s, HOST, &(struct pp_scenario){.chosen = chosen});
	row->subject_worker = s->worker[w].rank;
	snprintf(row->what_if, sizeof(row->what_if), "host %s (%zu ranks) at the median of other hosts' ranks", s->worker[w].host,
	         ranks);
	snprintf(row->assumes, sizeof(row->assumes),
	         ASSUMES "before a call its ranks take the median of the other ranks before the same call, where they are unusual");
	return 0;
}

static int add_input(struct scene *s)
{
	uint32_t *work_us = calloc(s->graph->nodes + 1, sizeof(*work_us));
	struct pp_row_what_if *row;

	if (!work_us)
		return -ENOMEM;
	if (!save_input(s, work_us)) {
		free(work_us);
		return 0;
	}
	row = add(s, INPUT, &(struct pp_scenario){.work_us = work_us});
	snprintf(row->what_if, sizeof(row->what_if), "input at the median of the ranks, on every rank that takes longer");
	snprintf(row->assumes, sizeof(row->assumes), ASSUMES "other work between calls takes as long as measured");
	return 0;
}

/* Of a blocking collective; -1: it is another operation, or unknown. What files take is no communicator's. */
static int64_t transfer_of(const struct pp_row_collective *c)
{
	const struct pp_mpi_call *call = pp_mpi_call_info(c->operation);

	return c->message || call->nonblocking || pp_mpi_class_is_file(call->class) || c->bound_ns == INT64_MAX ||
	                       c->end_ns < c->last_ns
	               ? -1
	               : pp_wrap_minus(c->end_ns, c->last_ns);
}

static unsigned size_class(uint64_t bytes)
{
	unsigned class = 0;

	for (; bytes; bytes >>= 1)
		class ++;
	return class;
}

struct call {
	uint64_t alike; /* call, ranks and size */
	int64_t transfer_ns;
	size_t operation;
};

PP_COMPARE_BY_2(by_call, struct call, alike, operation)

/* What the communicator's operations take longer than others with the same call, ranks and size: by the median of both, since
 * noise puts half of equal ones above it. Returns how many could be compared. */
static size_t save_transfer(struct scene *s, uint64_t communicator, struct call *call, int64_t *transfer_ns)
{
	const struct pp_dataset *d = s->d;
	size_t calls = 0, compared = 0;

	for (size_t o = 0; o < d->collectives; o++) {
		const struct pp_row_collective *c = &d->collective[o];
		int64_t ns = transfer_of(c);

		if (ns >= 0)
			call[calls++] = (struct call){
			        (uint64_t)c->operation << 40 | (uint64_t)(uint32_t)c->ranks << 8 | size_class(c->bytes), ns, o};
	}
	qsort(call, calls, sizeof(*call), by_call);
	for (size_t i = 0, end; i < calls; i = end) {
		size_t others = 0, own = 0;
		int64_t more;

		for (end = i; end < calls && call[end].alike == call[i].alike; end++)
			if (d->collective[call[end].operation].communicator != communicator)
				s->ns[others++] = call[end].transfer_ns;
		if (!others || others == end - i)
			continue;
		more = -median_of(s->ns, others);
		for (size_t k = i; k < end; k++)
			if (d->collective[call[k].operation].communicator == communicator)
				s->ns[own++] = call[k].transfer_ns;
		more += median_of(s->ns, own);
		for (size_t k = i; k < end && more > 0; k++) {
			const size_t o = call[k].operation;

			if (d->collective[o].communicator == communicator)
				transfer_ns[o] = more < call[k].transfer_ns ? more : call[k].transfer_ns;
		}
		compared += own;
	}
	return compared;
}

/* The communicator with most transfer time; 0: none. Operations of one are not behind each other: sums are by index. */
static uint64_t most_transfer(const struct scene *s)
{
	const struct pp_dataset *d = s->d;
	int64_t *sum = calloc(d->communicators + 1, sizeof(*sum)), most = 0;
	uint64_t id = 0;

	for (size_t o = 0; sum && o < d->collectives; o++) {
		const struct pp_row_communicator *c = pp_dataset_communicator(d, d->collective[o].communicator);
		int64_t ns = transfer_of(&d->collective[o]);

		if (c && ns > 0)
			sum[c - d->communicator] = pp_wrap_plus(sum[c - d->communicator], ns);
	}
	for (size_t c = 0; sum && c < d->communicators; c++) {
		if (sum[c] <= most)
			continue;
		most = sum[c];
		id = d->communicator[c].id;
	}
	free(sum);
	return id;
}

static int add_communicator(struct scene *s)
{
	uint64_t id = most_transfer(s);
	const struct pp_row_communicator *c = id ? pp_dataset_communicator(s->d, id) : NULL;
	struct pp_row_what_if *row;
	struct call *call;
	int64_t *transfer_ns;
	char name[PP_COMMUNICATOR_TEXT];
	size_t compared;

	if (!c)
		return 0;
	call = malloc((s->d->collectives + 1) * sizeof(*call));
	transfer_ns = calloc(s->d->collectives + 1, sizeof(*transfer_ns));
	compared = call && transfer_ns ? save_transfer(s, id, call, transfer_ns) : 0;
	free(call);
	if (!compared) {
		free(transfer_ns);
		return call && transfer_ns ? 0 : -ENOMEM;
	}
	row = add(s, COMMUNICATOR, &(struct pp_scenario){.transfer_ns = transfer_ns});
	row->subject_communicator = id;
	snprintf(row->what_if, sizeof(row->what_if), "%s: transfer at the median", pp_communicator_text(s->d, id, name));
	snprintf(row->assumes, sizeof(row->assumes),
	         "each rank makes the same calls in the same order; work takes as long as measured; the median transfer of its "
	         "blocking collectives is at most that of equal calls, ranks and sizes on other communicators");
	return 0;
}

static void say_link(const struct scene *s, const struct pp_link_choice *links, struct pp_row_what_if *row)
{
	const struct pp_link *l = &s->graph->link[links->worst];
	char text[PP_LINK_TEXT];

	row->subject_worker = s->d->worker[l->source].rank;
	row->subject_peer = s->d->worker[l->destination].rank;
	snprintf(row->what_if, sizeof(row->what_if), "%s as the usual links", pp_link_text(s->graph, links, text));
	snprintf(row->assumes, sizeof(row->assumes),
	         "each rank makes the same calls in the same order; work takes as long as measured; messages on the link take "
	         "the median time of those of their size on the other links %s",
	         l->between_hosts ? "between hosts" : "on one host");
}

static int add_link(struct scene *s)
{
	const struct pp_graph *g = s->graph;
	uint8_t *chosen = g->slows ? calloc(g->links + 1, 1) : NULL;
	struct pp_link_choice links;
	int rc;

	if (!g->slows)
		return 0;
	rc = chosen ? pp_links_worst(g, chosen, &links) : -ENOMEM;
	if (rc) {
		free(chosen);
		return rc;
	}
	say_link(s, &links, add(s, LINK, &(struct pp_scenario){.link = chosen}));
	return 0;
}

/* Blame by rank; where /blame has no row, the waiting for the rank itself. */
static void sum_blame(struct scene *s, const struct pp_table *blame)
{
	const struct pp_row_blame *row = blame->row;

	for (size_t i = 0; i < blame->rows; i++) {
		size_t w = pp_dataset_worker(s->d, row[i].worker);

		if (w != SIZE_MAX && row[i].reason != PP_REASON_LINK)
			s->blame_ns[w] = pp_wrap_plus(s->blame_ns[w], row[i].blame_ns);
	}
	for (size_t i = 0; i < s->d->steps * s->d->workers && !blame->rows; i++)
		pp_known_add(&s->blame_ns[i % s->d->workers], s->d->cell[i].late_ns);
}

/* The first rank of the host whose ranks have most blame; NULL: none. */
static const struct pp_row_worker *most_host(const struct scene *s)
{
	const struct pp_row_worker *found = NULL;
	int64_t most = 0;

	for (size_t i = 0, end; i < s->d->workers; i = end) {
		int64_t sum = 0;

		for (end = i; end < s->d->workers && !strcmp(s->by_host[end]->host, s->by_host[i]->host); end++)
			sum = pp_wrap_plus(sum, s->blame_ns[s->by_host[end] - s->worker]);
		if (sum <= most)
			continue;
		most = sum;
		found = s->by_host[i];
	}
	return found;
}

static int by_gain(const void *a, const void *b)
{
	const struct pp_row_what_if *x = a, *y = b;

	if (x->gain_ns != y->gain_ns)
		return x->gain_ns > y->gain_ns ? -1 : 1;
	if (x->subject != y->subject)
		return x->subject - y->subject;
	return (x->subject_worker > y->subject_worker) - (x->subject_worker < y->subject_worker);
}

static int add_scenarios(struct scene *s)
{
	const struct pp_row_worker *host = most_host(s);
	int rc = 0;

	for (size_t w = 0; w < s->d->collectives; w++)
		if (s->d->collective[w].bound_ns != INT64_MAX && s->d->collective[w].bound_ns > s->bound_ns)
			s->bound_ns = s->d->collective[w].bound_ns;
	s->before_ns = pp_replay_measured(s->d, NULL);
	rc = add_set(s);
	for (int n = 0; n < MOST_RANKS && !rc; n++) {
		size_t most = 0;

		for (size_t w = 1; w < s->d->workers; w++)
			most = s->blame_ns[w] > s->blame_ns[most] ? w : most;
		if (s->blame_ns[most] <= 0)
			break;
		rc = add_rank(s, most);
		s->blame_ns[most] = 0;
	}
	if (!rc && host)
		rc = add_host(s, (size_t)(host - s->worker));
	if (!rc)
		rc = add_input(s);
	if (!rc)
		rc = add_communicator(s);
	if (!rc)
		rc = add_link(s);
	if (!rc)
		rc = finish(s);
	if (s->to->rows)
		qsort(s->to->row, s->to->rows, sizeof(struct pp_row_what_if), by_gain);
	return rc;
}

static int by_host(const void *a, const void *b)
{
	const struct pp_row_worker *x = *(const struct pp_row_worker *const *)a, *y = *(const struct pp_row_worker *const *)b;
	int order = strcmp(x->host, y->host);

	return order ? order : (x > y) - (x < y);
}

static int scene_init(struct scene *s, const struct pp_dataset *in, struct pp_table *tables)
{
	const size_t workers = in->workers;
	size_t most;
	int rc;

	*s = (struct scene){.d = in, .worker = in->worker, .to = &tables[PP_TABLE_what_if]};
	s->graph = in->graph ? in->graph : &s->own;
	rc = in->graph ? 0 : pp_graph_whole(&s->own, in);
	if (rc)
		return rc;
	most = s->graph->nodes > in->collectives ? s->graph->nodes : in->collectives;
	if (tables[PP_TABLE_worker].rows == workers)
		s->worker = tables[PP_TABLE_worker].row;
	s->by_host = malloc((workers + 1) * sizeof(*s->by_host)); /* NOLINT(bugprone-sizeof-expression): pointers */
	s->blame_ns = calloc(workers + 1, sizeof(*s->blame_ns));
	s->ns = malloc((most + workers + 1) * sizeof(*s->ns));
	if (!s->by_host || !s->blame_ns || !s->ns)
		return -ENOMEM;
	for (size_t w = 0; w < workers; w++)
		s->by_host[w] = &s->worker[w];
	qsort(s->by_host, workers, sizeof(*s->by_host), by_host); /* NOLINT(bugprone-sizeof-expression): pointers */
	sum_blame(s, &tables[PP_TABLE_blame]);
	return 0;
}

static void scene_release(struct scene *s)
{
	for (size_t i = 0; i < s->scenarios; i++) {
		free((void *)s->scenario[i].chosen);
		free((void *)s->scenario[i].work_us);
		free((void *)s->scenario[i].transfer_ns);
		free((void *)s->scenario[i].link);
	}
	pp_graph_release(&s->own);
	free(s->ns);
	free(s->blame_ns);
	free(s->by_host); /* NOLINT(bugprone-multi-level-implicit-pointer-conversion): pointers */
}

int pp_tool_what_if(const struct pp_dataset *in, struct pp_table *tables, struct pp_err *err)
{
	struct scene s;
	int rc;

	if (in->workers < 2 || !in->steps || !in->collectives)
		return 0;
	rc = scene_init(&s, in, tables);
	if (!rc)
		rc = add_scenarios(&s);
	scene_release(&s);
	return rc ? pp_err_set(err, rc, "no memory to replay the steps") : 0;
}
