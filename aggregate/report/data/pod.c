/* Writes what describes a pod that is too large to look at each rank: per step the quartiles of each quantity over ranks, and
 * the rank with most; and reads the blame of steps. Called by report.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/report/data/page.h"
#include "aggregate/report/data/quartile.h"
#include "core/base/known.h"

enum { MOST_BINS = 1000, BLAME = PP_CATEGORIES + 1, KEPT, WAIT, STEP, QUANTITIES };

struct band {                     /* of a quantity */
	int64_t *q[PP_QUARTILES]; /* [bins] */
	int64_t *worst;           /* [bins] index of a worker; -1: none */
	int64_t all;              /* bits of all values: 0 is a quantity of zeros */
};

struct bands {
	struct pp_page *p;
	size_t bins;
	int64_t *value, *few; /* of one bin, [values] */
	struct band band[QUANTITIES];
	int64_t *first; /* [bins] index of its first step */
	int64_t *room;  /* of all of these */
};

/* NULL: there is none, or it is of another shape. */
static int64_t *read_grid(struct pp_page *p, const char *name)
{
	struct pp_h5_file_column c;
	struct pp_err ignored;
	int64_t *found = NULL;

	if (!pp_h5_file_has(p->h5, "blame_step", name) || pp_h5_file_read(p->h5, "blame_step", name, &c, &ignored))
		return NULL;
	if (c.kind == PP_H5_FILE_INT && c.dims == 2 && c.extent[0] == p->d.steps && c.extent[1] == p->d.workers && c.n) {
		found = c.data.i;
		c.data.i = NULL;
	}
	pp_h5_file_release(&c);
	return found;
}

void pp_page_read(struct pp_page *p)
{
	p->blame = read_grid(p, "step_blame_ns");
	p->reason = p->blame ? read_grid(p, "step_reason") : NULL;
	p->peers = calloc(p->d.workers + 1, sizeof(*p->peers));
	if ((!p->peers || pp_dataset_count_peers(&p->d, p->peers)) && !p->code)
		p->code = pp_err_set(p->err, -ENOMEM, "no memory for the report");
}

static int64_t value_of(const struct bands *b, size_t at, int quantity)
{
	const struct pp_row_cell *cell = &b->p->d.cell[at];
	const size_t peers = b->p->peers[at % b->p->d.workers];

	if (quantity <= PP_CATEGORIES)
		return cell->exclusive_ns[quantity];
	return quantity == BLAME  ? b->p->blame[at]
	       : quantity == KEPT ? pp_known_part(cell->late_ns, (int64_t)peers)
	       : quantity == WAIT ? cell->wait_ns
	                          : cell->step_ns;
}

/* One quantity of a bin's cells from `from` to below `to`. */
static void fill(struct bands *b, size_t bin, int quantity, size_t from, size_t to)
{
	const struct pp_page *p = b->p;
	struct band *band = &b->band[quantity];
	int64_t most = INT64_MIN, quartile[PP_QUARTILES] = {0};
	size_t n = 0;

	for (size_t i = 0; i < PP_QUARTILES; i++)
		quartile[i] = PP_UNKNOWN;
	band->worst[bin] = -1;
	for (size_t i = from; i < to; i++) {
		if (!p->d.cell[i].present)
			continue;
		b->value[n] = value_of(b, i, quantity);
		if (!pp_is_known(b->value[n]))
			continue;
		band->all |= b->value[n];
		if (b->value[n] > most) {
			most = b->value[n];
			band->worst[bin] = (int64_t)(i % p->d.workers);
		}
		n++;
	}
	if (n)
		pp_quartiles(b->value, n, b->few, quartile);
	for (size_t i = 0; i < PP_QUARTILES; i++)
		band->q[i][bin] = quartile[i];
}

/* All quantities of a bin while its cells are in the cache. */
static void fill_all(struct bands *b)
{
	const struct pp_page *p = b->p;

	for (size_t bin = 0; bin < b->bins; bin++) {
		const size_t from = bin * p->d.steps / b->bins, to = (bin + 1) * p->d.steps / b->bins;

		b->first[bin] = (int64_t)from;
		for (int k = 1; k < QUANTITIES; k++)
			if (k != BLAME || p->blame)
				fill(b, bin, k, from * p->d.workers, to * p->d.workers);
	}
}

static void put_ints(struct bands *b, const char *key, int first, const int64_t *value)
{
	if (key)
		pp_page_key(b->p, key, first);
	if (pp_json_ints(b->p->to, value, b->bins) && !b->p->code)
		b->p->code = pp_err_set(b->p->err, -ENOMEM, "no memory for the quartiles of the report");
}

static void put_quantity(struct bands *b, const char *key, const struct band *band, int *count)
{
	fputs((*count)++ ? ",{" : "{", b->p->to);
	pp_page_key(b->p, "key", 1);
	pp_json_text(b->p->to, key);
	pp_page_key(b->p, "q", 0);
	for (size_t i = 0; i < PP_QUARTILES; i++) {
		fputc(i ? ',' : '[', b->p->to);
		put_ints(b, NULL, 0, band->q[i]);
	}
	fputc(']', b->p->to);
	put_ints(b, "worst", 0, band->worst);
	fputc('}', b->p->to);
}

static int make(struct bands *b)
{
	const struct pp_dataset *d = &b->p->d;
	const size_t most = (d->steps / b->bins + 1) * d->workers;
	int64_t *at;

	b->value = malloc((most + 1) * sizeof(*b->value));
	b->few = malloc((most + 1) * sizeof(*b->few));
	b->room = calloc(QUANTITIES * (PP_QUARTILES + 1) * b->bins, sizeof(*b->room));
	if (!b->value || !b->few || !b->room)
		return -ENOMEM;
	at = b->room;
	for (int k = 1; k < QUANTITIES; k++, at += b->bins) {
		for (size_t i = 0; i < PP_QUARTILES; i++, at += b->bins)
			b->band[k].q[i] = at;
		b->band[k].worst = at;
	}
	b->first = at;
	return 0;
}

static void put_all(struct bands *b)
{
	static const char *const named[] = {[BLAME] = "blame_ns", [KEPT] = "kept_ns", [WAIT] = "wait_ns", [STEP] = "step_ns"};
	char key[32];
	int count = 0;

	fprintf(b->p->to, "{\"bins\":%zu,\"quantity\":[", b->bins);
	for (int k = 1; k < QUANTITIES; k++) {
		if (k == BLAME && !b->p->blame)
			continue;
		snprintf(key, sizeof(key), "category_%d", k);
		if (b->band[k].all || k > PP_CATEGORIES)
			put_quantity(b, k > PP_CATEGORIES ? named[k] : key, &b->band[k], &count);
	}
	fputc(']', b->p->to);
	put_ints(b, "first", 0, b->first);
	fputc('}', b->p->to);
}

void pp_page_bands(struct pp_page *p)
{
	struct bands b = {.p = p, .bins = p->d.steps < MOST_BINS ? p->d.steps : MOST_BINS};

	pp_page_key(p, "band", 0);
	if (!b.bins || !p->d.workers || p->code) {
		fputs("null", p->to);
		return;
	}
	if (make(&b)) {
		p->code = pp_err_set(p->err, -ENOMEM, "no memory for the quartiles of the report");
	} else {
		fill_all(&b);
		put_all(&b);
	}
	free(b.value);
	free(b.few);
	free(b.room);
}
