/* Writes what describes a pod that is too large to look at each rank: per step the quartiles of each quantity over ranks, and
 * the rank with most; and reads the blame of steps. Called by report.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/report/page.h"

enum { MOST_BINS = 1000, QUARTILES = 5, BLAME = PP_CATEGORIES + 1, KEPT, WAIT, STEP, QUANTITIES };

struct bands {
	struct pp_page *p;
	size_t bins;
	int64_t *value;        /* of one bin, [values] */
	int64_t *q[QUARTILES]; /* [bins] */
	int64_t *worst;        /* [bins] index of a worker; -1: none */
	int64_t *first;        /* [bins] index of its first step */
};

/* NULL: there is none, or it is of another shape. */
static int64_t *read_grid(struct pp_page *p, const char *name)
{
	struct pp_pod_file_column c;
	struct pp_err ignored;
	int64_t *found = NULL;

	if (!pp_pod_file_has(p->pod, "blame_step", name) || pp_pod_file_read(p->pod, "blame_step", name, &c, &ignored))
		return NULL;
	if (c.kind == PP_POD_FILE_INT && c.dims == 2 && c.extent[0] == p->d.steps && c.extent[1] == p->d.workers && c.n) {
		found = c.data.i;
		c.data.i = NULL;
	}
	pp_pod_file_release(&c);
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
	       : quantity == KEPT ? cell->late_ns / (int64_t)(peers ? peers : 1)
	       : quantity == WAIT ? cell->wait_ns
	                          : cell->step_ns;
}

static void swap(int64_t *a, int64_t *b)
{
	const int64_t t = *a;

	*a = *b;
	*b = t;
}

/* The k-th smallest of n values, which it moves about: smaller ones are before it afterwards, larger ones behind it. */
static int64_t select_at(int64_t *v, size_t n, size_t k)
{
	size_t low = 0, high = n - 1;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		size_t i = low, j = high;
		int64_t pivot;

		if (v[middle] < v[low])
			swap(&v[middle], &v[low]);
		if (v[high] < v[low])
			swap(&v[high], &v[low]);
		if (v[high] < v[middle])
			swap(&v[high], &v[middle]);
		pivot = v[middle];
		for (;;) {
			while (v[i] < pivot)
				i++;
			while (v[j] > pivot)
				j--;
			if (i >= j)
				break;
			swap(&v[i++], &v[j--]);
		}
		if (k <= j)
			high = j;
		else
			low = j + 1;
	}
	return v[k];
}

/* As quantile() of page_run.c: values of ranks, none interpolated. */
static void quartiles(struct bands *b, size_t bin, size_t n)
{
	const size_t at[QUARTILES] = {0, (n - 1) / 4, (n - 1) * 2 / 4, n - 1 - (n - 1) / 4, n - 1};

	for (size_t i = 0; i < QUARTILES; i++)
		b->q[i][bin] = select_at(b->value, n, at[i]);
}

static int64_t fill(struct bands *b, int quantity)
{
	const struct pp_page *p = b->p;
	const size_t workers = p->d.workers;
	int64_t all = 0;

	for (size_t bin = 0; bin < b->bins; bin++) {
		const size_t from = bin * p->d.steps / b->bins, to = (bin + 1) * p->d.steps / b->bins;
		int64_t most = INT64_MIN;
		size_t n = 0;

		b->first[bin] = (int64_t)from;
		b->worst[bin] = -1;
		for (size_t i = from * workers; i < to * workers; i++) {
			if (!p->d.cell[i].present)
				continue;
			b->value[n] = value_of(b, i, quantity);
			all |= b->value[n];
			if (b->value[n] > most) {
				most = b->value[n];
				b->worst[bin] = (int64_t)(i % workers);
			}
			n++;
		}
		for (size_t i = 0; i < QUARTILES; i++)
			b->q[i][bin] = 0;
		if (n)
			quartiles(b, bin, n);
	}
	return all;
}

static void put_ints(struct bands *b, const char *key, int first, const int64_t *value)
{
	if (key)
		pp_page_key(b->p, key, first);
	if (pp_json_ints(b->p->to, value, b->bins) && !b->p->code)
		b->p->code = pp_err_set(b->p->err, -ENOMEM, "no memory for the quartiles of the report");
}

static void put_quantity(struct bands *b, const char *key, int *count)
{
	fputs((*count)++ ? ",{" : "{", b->p->to);
	pp_page_key(b->p, "key", 1);
	pp_json_text(b->p->to, key);
	pp_page_key(b->p, "q", 0);
	for (size_t i = 0; i < QUARTILES; i++) {
		fputc(i ? ',' : '[', b->p->to);
		put_ints(b, NULL, 0, b->q[i]);
	}
	fputc(']', b->p->to);
	put_ints(b, "worst", 0, b->worst);
	fputc('}', b->p->to);
}

static int make(struct bands *b)
{
	const struct pp_dataset *d = &b->p->d;
	const size_t most = (d->steps / b->bins + 1) * d->workers;

	b->value = malloc((most + 1) * sizeof(*b->value));
	b->worst = calloc(b->bins, sizeof(*b->worst));
	b->first = calloc(b->bins, sizeof(*b->first));
	if (!b->value || !b->worst || !b->first)
		return -ENOMEM;
	for (size_t i = 0; i < QUARTILES; i++)
		if (!(b->q[i] = calloc(b->bins, sizeof(**b->q))))
			return -ENOMEM;
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
		if (fill(b, k) || k > PP_CATEGORIES)
			put_quantity(b, k > PP_CATEGORIES ? named[k] : key, &count);
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
	if (make(&b) && !p->code)
		p->code = pp_err_set(p->err, -ENOMEM, "no memory for the quartiles of the report");
	else if (!p->code)
		put_all(&b);
	for (size_t i = 0; i < QUARTILES; i++)
		free(b.q[i]);
	free(b.value);
	free(b.worst);
	free(b.first);
}
