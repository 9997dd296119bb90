/* Writes who waited for whom in point-to-point messages, one row per pair of ranks, of the rows of /collective that are
 * messages: late senders and late receivers. Called by report.c. */
#include <errno.h>
#include <stdlib.h>

#include "aggregate/report/data/page.h"
#include "core/base/compare.h"
#include "core/base/wrap.h"

enum column { MESSAGE, SOURCE, DESTINATION, BYTES, FIRST_ROW, ROW_COUNT, WORKER, EXPOSED, COLUMNS };

struct pair {
	int32_t source, destination;
	int64_t count, bytes;
	int64_t sender_ns, receiver_ns;       /* exposed waiting: of the sender for a late receiver, and the other way round */
	int64_t late_senders, late_receivers; /* messages */
};

struct rows {
	struct pp_page *p;
	struct pp_h5_file_column column[COLUMNS];
	struct pair *pair;
	size_t pairs, messages;
};

static int64_t value(const struct rows *r, enum column c, size_t i)
{
	return i < r->column[c].n ? r->column[c].data.i[i] : 0;
}

static int load(struct rows *r)
{
	static const char *const name[] = {"message",   "source",    "destination", "bytes",
	                                   "row_first", "row_count", "worker",      "exposed_wait_ns"};

	for (size_t i = 0; i < COLUMNS; i++) {
		if (!pp_h5_file_has(r->p->h5, "collective", name[i]) ||
		    pp_h5_file_read(r->p->h5, "collective", name[i], &r->column[i], NULL) || r->column[i].kind == PP_H5_FILE_TEXT ||
		    r->column[i].kind == PP_H5_FILE_REAL)
			return 0;
	}
	return 1;
}

/* A message as a pair of its own. */
static struct pair pair_of(const struct rows *r, size_t event)
{
	struct pair p = {.source = (int32_t)value(r, SOURCE, event),
	                 .destination = (int32_t)value(r, DESTINATION, event),
	                 .count = 1,
	                 .bytes = value(r, BYTES, event)};
	const int64_t first = value(r, FIRST_ROW, event), n = value(r, ROW_COUNT, event), rows = (int64_t)r->column[WORKER].n;

	for (int64_t i = 0; i < n && i < 2 && first >= 0 && first < rows - i; i++) {
		const int64_t waited = value(r, EXPOSED, (size_t)(first + i));

		if (waited <= 0 || p.source == p.destination)
			continue;
		if (value(r, WORKER, (size_t)(first + i)) == p.source) {
			p.sender_ns += waited;
			p.late_receivers++;
		} else {
			p.receiver_ns += waited;
			p.late_senders++;
		}
	}
	return p;
}

PP_COMPARE_BY_2(by_pair, struct pair, source, destination)

static int by_wait(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;
	const int64_t p = pp_wrap_plus(x->sender_ns, x->receiver_ns), q = pp_wrap_plus(y->sender_ns, y->receiver_ns);

	if (p != q)
		return p > q ? -1 : 1;
	return by_pair(a, b);
}

static void add(struct pair *to, const struct pair *from)
{
	to->count += from->count;
	to->bytes = pp_wrap_plus(to->bytes, from->bytes);
	to->sender_ns = pp_wrap_plus(to->sender_ns, from->sender_ns);
	to->receiver_ns = pp_wrap_plus(to->receiver_ns, from->receiver_ns);
	to->late_senders += from->late_senders;
	to->late_receivers += from->late_receivers;
}

static int collect(struct rows *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->column[MESSAGE].n; i++)
		r->messages += value(r, MESSAGE, i) != 0;
	r->pair = malloc((r->messages + 1) * sizeof(*r->pair));
	if (!r->pair)
		return -ENOMEM;
	for (size_t i = 0; i < r->column[MESSAGE].n; i++)
		if (value(r, MESSAGE, i))
			r->pair[n++] = pair_of(r, i);
	qsort(r->pair, n, sizeof(*r->pair), by_pair);
	for (size_t i = 0; i < n; i++) {
		if (r->pairs && !by_pair(&r->pair[r->pairs - 1], &r->pair[i]))
			add(&r->pair[r->pairs - 1], &r->pair[i]);
		else
			r->pair[r->pairs++] = r->pair[i];
	}
	qsort(r->pair, r->pairs, sizeof(*r->pair), by_wait);
	return 0;
}

#define PAIR_COLUMNS(X) X(source) X(destination) X(count) X(bytes) X(sender_ns) X(receiver_ns) X(late_senders) X(late_receivers)

static void put(struct rows *r)
{
	const size_t shown = r->pairs < PP_PAGE_ROWS ? r->pairs : PP_PAGE_ROWS;
	struct pp_page *p = r->p;
	int64_t *v = malloc((shown + 1) * sizeof(*v));

	if (shown < r->pairs)
		pp_page_note(
		        p,
		        "%zu pairs of ranks exchanged messages. The page holds the %zu with most waiting; pod.h5 has each message.",
		        r->pairs, shown);
	fprintf(p->to, "{\"messages\":%zu,\"pairs\":%zu,\"shown\":%zu", r->messages, r->pairs, shown);
#define PUT(member)                                                                                                                \
	pp_page_key(p, #member, 0);                                                                                                \
	for (size_t i = 0; v && i < shown; i++)                                                                                    \
		v[i] = r->pair[i].member;                                                                                          \
	if ((!v || pp_json_ints(p->to, v, shown)) && !p->code)                                                                     \
		p->code = pp_err_set(p->err, -ENOMEM, "no memory for the messages of the report");
	PAIR_COLUMNS(PUT)
	fputc('}', p->to);
	free(v);
}

void pp_page_messages(struct pp_page *p)
{
	struct rows r = {.p = p};

	pp_page_key(p, "message", 0);
	if (!load(&r))
		fputs("null", p->to);
	else if (collect(&r))
		p->code = p->code ? p->code : pp_err_set(p->err, -ENOMEM, "no memory for the messages of the report");
	else if (!r.messages)
		fputs("null", p->to);
	else
		put(&r);
	free(r.pair);
	for (size_t i = 0; i < COLUMNS; i++)
		pp_h5_file_release(&r.column[i]);
}
