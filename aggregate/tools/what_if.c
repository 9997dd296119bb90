/* Fills /what_if: step time if a rank, a host, the input or a communicator were as fast as the median. replay.c computes it;
 * docs/steps.md has the rules. Called by tools.c. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "aggregate/tools/replay.h"
#include "aggregate/tools/tools.h"
#include "core/base/compare.h"
#include "core/base/select.h"
#include "core/base/utf8.h"
#include "core/base/wrap.h"
#include "core/call/mpi_call.h"

enum subject { RANK, HOST, INPUT, COMMUNICATOR };             /* as in the description */
enum { MOST_RANKS = 3, NAME_BYTES = 60, LEAST_PART = 10000 }; /* of the step: chance alone saves some */

struct peer { /* a row of a rank of the role, at the same place of the same step */
	uint32_t alike, row, worker;
};

struct scene {
	const struct pp_dataset *d;
	const struct pp_row_worker *worker; /* with roles */
	struct pp_replay replay;
	const struct pp_row_worker **by_role, **by_host; /* [workers] */
	uint8_t *chosen;                                 /* [workers] */
	int64_t *blame_ns;                               /* [workers] */
	struct peer *peer;                               /* [workers] */
	int64_t *ns;                                     /* [workers or collectives] */
	int64_t before_ns, bound_ns;
	int has_roles, is_input;
	struct pp_table *to;
};

/* The lower median: the least value that at least half of them do not exceed. Changes their order. */
static int64_t median_of(int64_t *ns, size_t n)
{
	return pp_select_int64(ns, n, (n - 1) / 2);
}

PP_COMPARE_BY_2(by_alike, struct peer, alike, row)

/* What peers take longer than the median of the others in one part, where they are chosen. */
static void save_part(struct scene *s, const struct peer *peer, size_t peers, enum pp_replay_part part)
{
	const struct pp_replay_row *row = s->replay.row;
	size_t others = 0;
	int64_t most = 0, median;

	for (size_t i = 0; i < peers; i++) {
		int64_t ns = row[peer[i].row].part_ns[part];

		if (!s->chosen[peer[i].worker])
			s->ns[others++] = ns;
		else if (ns > most)
			most = ns;
	}
	if (!others || most <= 0)
		return;
	median = median_of(s->ns, others);
	for (size_t i = 0; i < peers && most > median; i++)
		if (s->chosen[peer[i].worker] && row[peer[i].row].part_ns[part] > median)
			pp_replay_save(&s->replay, peer[i].row, part, row[peer[i].row].part_ns[part] - median);
}

static int64_t input_ns(const struct scene *s, const struct peer *peer)
{
	return (int64_t)s->d->arrival[peer->row].local_us[PP_CATEGORY_INPUT] * 1000;
}

/* Input is at the begin of steps, as far as there is room. */
static void save_input(struct scene *s, const struct peer *peer, size_t peers)
{
	int64_t median, most = 0;

	for (size_t i = 0; i < peers; i++) {
		s->ns[i] = input_ns(s, &peer[i]);
		most = s->ns[i] > most ? s->ns[i] : most;
	}
	if (!most)
		return;
	median = median_of(s->ns, peers);
	for (size_t i = 0; i < peers && most > median; i++) {
		const int64_t *part = s->replay.row[peer[i].row].part_ns;
		int64_t more = input_ns(s, &peer[i]) - median, head = more < part[PP_REPLAY_HEAD] ? more : part[PP_REPLAY_HEAD];
		int64_t tail = more - head < part[PP_REPLAY_TAIL] ? more - head : part[PP_REPLAY_TAIL];

		if (head > 0)
			pp_replay_save(&s->replay, peer[i].row, PP_REPLAY_HEAD, head);
		if (more > 0 && tail > 0)
			pp_replay_save(&s->replay, peer[i].row, PP_REPLAY_TAIL, tail);
	}
}

/* Rows of a worker in the step, or before the first one: their places. */
static size_t rows_in(const struct scene *s, size_t w, size_t slot, size_t *ret_first)
{
	const size_t *first = &s->replay.step_first[slot * s->d->workers + w];

	*ret_first = *first;
	/* cppcheck-suppress objectIndex ; each slot has a place for every worker */
	return first[s->d->workers] - *first;
}

/* The n-th rows of a step, of the ranks of one role. */
static void save_place(struct scene *s, const struct pp_row_worker *const *worker, size_t workers, size_t slot, size_t n)
{
	size_t peers = 0, end, first;
	int mixed = 0;

	for (size_t i = 0; i < workers; i++) {
		uint32_t row;

		if (n >= rows_in(s, (size_t)(worker[i] - s->worker), slot, &first))
			continue;
		row = s->replay.ledger.list[first + n];
		s->peer[peers] = (struct peer){s->replay.row[row].alike, row, (uint32_t)(worker[i] - s->worker)};
		mixed |= s->peer[peers].alike != s->peer[0].alike;
		peers++;
	}
	if (mixed)
		qsort(s->peer, peers, sizeof(*s->peer), by_alike);
	for (size_t i = 0; i < peers; i = end) {
		for (end = i + 1; end < peers && s->peer[end].alike == s->peer[i].alike; end++)
			;
		if (s->is_input)
			save_input(s, &s->peer[i], end - i);
		for (int p = 0; p < PP_REPLAY_PARTS && !s->is_input; p++)
			save_part(s, &s->peer[i], end - i, (enum pp_replay_part)p);
	}
}

/* Most rows in the step of a chosen rank. */
static size_t most_rows(const struct scene *s, const struct pp_row_worker *const *worker, size_t workers, size_t slot)
{
	size_t most = 0;

	for (size_t i = 0; i < workers; i++) {
		size_t w = (size_t)(worker[i] - s->worker), first, rows = s->chosen[w] ? rows_in(s, w, slot, &first) : 0;

		most = rows > most ? rows : most;
	}
	return most;
}

/* The chosen ranks are as fast as the median of the ranks of their role that are not chosen; at input, of all. */
static int save_all(struct scene *s)
{
	const size_t workers = s->d->workers;

	if (pp_replay_begin(&s->replay))
		return -ENOMEM;
	for (size_t i = 0, end; i < workers; i = end) {
		int any = 0;

		for (end = i; end < workers && s->by_role[end]->role == s->by_role[i]->role; end++)
			any |= s->chosen[s->by_role[end] - s->worker];
		for (size_t slot = 0; slot <= s->d->steps && any; slot++) {
			size_t most = most_rows(s, &s->by_role[i], end - i, slot);

			for (size_t n = 0; n < most; n++)
				save_place(s, &s->by_role[i], end - i, slot, n);
		}
	}
	return 0;
}

static int is_little(const struct scene *s, int64_t gain_ns)
{
	return gain_ns < s->before_ns / LEAST_PART || gain_ns <= s->bound_ns;
}

/* A row for the scenario that was begun; NULL: it gains nothing, or *ret_rc is an error. */
static struct pp_row_what_if *add(struct scene *s, enum subject subject, int *ret_rc)
{
	struct pp_row_what_if *row;
	int64_t after;

	*ret_rc = 0;
	if (is_little(s, pp_replay_most_gain(&s->replay)))
		return NULL;
	after = pp_replay_run(&s->replay);
	if (is_little(s, pp_wrap_minus(s->before_ns, after)))
		return NULL;
	row = pp_table_add(s->to);
	if (!row) {
		*ret_rc = -ENOMEM;
		return NULL;
	}
	*row = (struct pp_row_what_if){.subject = (int8_t)subject, .subject_worker = -1};
	row->before_ns = s->before_ns;
	row->after_ns = after;
	row->gain_ns = pp_wrap_minus(s->before_ns, after);
	return row;
}

#define ASSUMES                                                                                                                    \
	"each rank makes the same calls in the same order; transfers take as long as measured; nonblocking calls that did not "    \
	"wait do not wait now; "

static int add_rank(struct scene *s, size_t w)
{
	const struct pp_row_worker *one = &s->worker[w];
	struct pp_row_what_if *row;
	char role[32] = "";
	int rc;

	memset(s->chosen, 0, s->d->workers);
	s->chosen[w] = 1;
	s->is_input = 0;
	if ((rc = save_all(s)))
		return rc;
	row = add(s, RANK, &rc);
	if (!row)
		return rc;
	if (s->has_roles)
		snprintf(role, sizeof(role), " of role %" PRId32, one->role);
	row->subject_worker = one->rank;
	snprintf(row->what_if, sizeof(row->what_if), "rank %" PRId32 " (host %s) at the median of the other ranks%s", one->rank,
	         one->host, role);
	snprintf(row->assumes, sizeof(row->assumes),
	         ASSUMES "between two calls the rank takes the median of the other ranks between the same calls");
	return 0;
}

static int add_host(struct scene *s, size_t w)
{
	struct pp_row_what_if *row;
	size_t ranks = 0;
	int rc;

	for (size_t i = 0; i < s->d->workers; i++) {
		s->chosen[i] = !strcmp(s->worker[i].host, s->worker[w].host);
		ranks += s->chosen[i];
	}
	if (ranks < 2 || ranks == s->d->workers)
		return 0;
	s->is_input = 0;
	if ((rc = save_all(s)))
		return rc;
	row = add(s, HOST, &rc);
	if (!row)
		return rc;
	row->subject_worker = s->worker[w].rank;
	snprintf(row->what_if, sizeof(row->what_if), "host %s (%zu ranks) at the median of other hosts' ranks%s", s->worker[w].host,
	         ranks, s->has_roles ? " of their role" : "");
	snprintf(row->assumes, sizeof(row->assumes),
	         ASSUMES "between two calls its ranks take the median of other hosts' ranks between the same calls");
	return 0;
}

static int add_input(struct scene *s)
{
	struct pp_row_what_if *row;
	int any = 0, rc;

	for (size_t i = 0; i < s->d->arrivals && !any; i++)
		any = s->d->arrival[i].local_us[PP_CATEGORY_INPUT] > 0;
	if (!any)
		return 0;
	memset(s->chosen, 1, s->d->workers);
	s->is_input = 1;
	if ((rc = save_all(s)))
		return rc;
	row = add(s, INPUT, &rc);
	if (!row)
		return rc;
	snprintf(row->what_if, sizeof(row->what_if), "input at the median of the ranks%s, on every rank that takes longer",
	         s->has_roles ? " of the same role" : "");
	snprintf(row->assumes, sizeof(row->assumes), ASSUMES "other work between calls takes as long as measured");
	return 0;
}

static int64_t transfer_of(const struct pp_row_collective *c)
{
	return c->message || c->bound_ns == INT64_MAX || c->end_ns < c->last_ns ? -1 : pp_wrap_minus(c->end_ns, c->last_ns);
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

/* Of the communicator's operations: their transfer above the median of others with the same call, ranks and size. Returns how many
 * could be compared. */
static size_t save_transfer(struct scene *s, uint64_t communicator, struct call *call)
{
	const struct pp_dataset *d = s->d;
	size_t calls = 0, compared = 0;

	for (size_t o = 0; o < d->collectives; o++) {
		const struct pp_row_collective *c = &d->collective[o];
		int64_t ns = transfer_of(c);

		if (ns >= 0 && !pp_mpi_call_info(c->operation)->nonblocking)
			call[calls++] = (struct call){
			        (uint64_t)c->operation << 40 | (uint64_t)(uint32_t)c->ranks << 8 | size_class(c->bytes), ns, o};
	}
	qsort(call, calls, sizeof(*call), by_call);
	for (size_t i = 0, end; i < calls; i = end) {
		size_t others = 0;
		int64_t median;

		for (end = i; end < calls && call[end].alike == call[i].alike; end++)
			if (d->collective[call[end].operation].communicator != communicator)
				s->ns[others++] = call[end].transfer_ns;
		if (!others)
			continue;
		median = median_of(s->ns, others);
		for (size_t k = i; k < end; k++) {
			if (d->collective[call[k].operation].communicator != communicator)
				continue;
			compared++;
			if (call[k].transfer_ns > median)
				pp_replay_save_transfer(&s->replay, call[k].operation, call[k].transfer_ns - median);
		}
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

		if (c && ns > 0 && !pp_mpi_call_info(d->collective[o].operation)->nonblocking)
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
	const char *name;
	int rc = 0;

	if (!c)
		return 0;
	call = pp_replay_begin(&s->replay) ? NULL : malloc((s->d->collectives + 1) * sizeof(*call));
	if (!call)
		return -ENOMEM;
	row = save_transfer(s, id, call) ? add(s, COMMUNICATOR, &rc) : NULL;
	free(call);
	if (!row)
		return rc;
	name = pp_intern_text(s->d->names, c->name, NULL);
	row->subject_communicator = id;
	snprintf(row->what_if, sizeof(row->what_if), "communicator %" PRIu64 " '%.*s' (%" PRIu32 " ranks): transfer at the median",
	         id, pp_utf8_fit(name, NAME_BYTES), name, c->size);
	snprintf(row->assumes, sizeof(row->assumes),
	         "each rank makes the same calls in the same order; work takes as long as measured; its blocking collectives "
	         "take at most the median transfer of equal calls, ranks and sizes on other communicators");
	return 0;
}

/* Blame by rank; where /blame has no row, the waiting for the rank itself. */
static void sum_blame(struct scene *s, const struct pp_table *blame)
{
	const struct pp_row_blame *row = blame->row;

	for (size_t i = 0; i < blame->rows; i++) {
		size_t w = pp_dataset_worker(s->d, row[i].worker);

		if (w != SIZE_MAX)
			s->blame_ns[w] = pp_wrap_plus(s->blame_ns[w], row[i].blame_ns);
	}
	for (size_t i = 0; i < s->d->steps * s->d->workers && !blame->rows; i++)
		s->blame_ns[i % s->d->workers] = pp_wrap_plus(s->blame_ns[i % s->d->workers], s->d->cell[i].late_ns);
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
	s->before_ns = pp_replay_measured(&s->replay);
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
	if (s->to->rows)
		qsort(s->to->row, s->to->rows, sizeof(struct pp_row_what_if), by_gain);
	return rc;
}

static int by_role(const void *a, const void *b)
{
	const struct pp_row_worker *x = *(const struct pp_row_worker *const *)a, *y = *(const struct pp_row_worker *const *)b;

	if (x->role != y->role)
		return x->role < y->role ? -1 : 1;
	return (x > y) - (x < y);
}

static int by_host(const void *a, const void *b)
{
	const struct pp_row_worker *x = *(const struct pp_row_worker *const *)a, *y = *(const struct pp_row_worker *const *)b;
	int order = strcmp(x->host, y->host);

	return order ? order : (x > y) - (x < y);
}

static int scene_init(struct scene *s, const struct pp_dataset *in, struct pp_table *tables)
{
	const size_t workers = in->workers, most = workers > in->collectives ? workers : in->collectives;

	*s = (struct scene){.d = in, .worker = in->worker, .to = &tables[PP_TABLE_what_if]};
	if (tables[PP_TABLE_worker].rows == workers)
		s->worker = tables[PP_TABLE_worker].row;
	s->by_role = malloc((workers + 1) * sizeof(*s->by_role)); /* NOLINT(bugprone-sizeof-expression): pointers */
	s->by_host = malloc((workers + 1) * sizeof(*s->by_host)); /* NOLINT(bugprone-sizeof-expression): pointers */
	s->chosen = calloc(workers + 1, sizeof(*s->chosen));
	s->blame_ns = calloc(workers + 1, sizeof(*s->blame_ns));
	s->peer = malloc((workers + 1) * sizeof(*s->peer));
	s->ns = malloc((most + 1) * sizeof(*s->ns));
	if (!s->by_role || !s->by_host || !s->chosen || !s->blame_ns || !s->peer || !s->ns)
		return -ENOMEM;
	for (size_t w = 0; w < workers; w++) {
		s->by_role[w] = s->by_host[w] = &s->worker[w];
		s->has_roles |= s->worker[w].role != s->worker[0].role;
	}
	qsort(s->by_role, workers, sizeof(*s->by_role), by_role); /* NOLINT(bugprone-sizeof-expression): pointers */
	qsort(s->by_host, workers, sizeof(*s->by_host), by_host); /* NOLINT(bugprone-sizeof-expression): pointers */
	sum_blame(s, &tables[PP_TABLE_blame]);
	return pp_replay_init(in, &s->replay);
}

int pp_tool_what_if(const struct pp_dataset *in, struct pp_table *tables, struct pp_err *err)
{
	struct scene s;
	int rc;

	if (in->workers < 2 || !in->steps || !in->collectives)
		return 0;
	rc = scene_init(&s, in, tables);
	if (!rc) {
		rc = add_scenarios(&s);
		pp_replay_release(&s.replay);
	}
	free(s.ns);
	free(s.peer);
	free(s.blame_ns);
	free(s.chosen);
	free(s.by_host); /* NOLINT(bugprone-multi-level-implicit-pointer-conversion): pointers */
	free(s.by_role); /* NOLINT(bugprone-multi-level-implicit-pointer-conversion): pointers */
	return rc ? pp_err_set(err, rc, "no memory to replay the steps") : 0;
}
