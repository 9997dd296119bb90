/* Draws the strip and the heat map; see still.h. */
#include "aggregate/report/data/still.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/dataset/table/functions.h"
#include "core/base/known.h"
#include "core/base/select.h"
#include "core/base/wrap.h"

enum { TALL = 100, FEW_STEPS = 4, SHADES = PP_STILL_SHADES, LEAST_PERCENT = 5, GREY = 3, PALEST = 20, OPAQUE = 255 };
#define REACH 3.2 /* usual steps: where the strip's axis ends */

static const struct {
	char letter;
	const char *name;
} regime[] = {{PP_REGIME_ODD, "one-off"}, /* rarest first */
              {PP_REGIME_START, "start-up"},
              {PP_REGIME_PERIODIC, "periodic"},
              {PP_REGIME_BEFORE, "before the change"},
              {PP_REGIME_USUAL, "usual"}};

enum { REGIMES = sizeof(regime) / sizeof(regime[0]) };

static size_t number_of(char letter)
{
	size_t i = 0;

	while (i + 1 < REGIMES && regime[i].letter != letter)
		i++;
	return i;
}

void pp_still_regimes(const struct pp_dataset *d, const struct pp_first *f, char *to, size_t size)
{
	size_t count[REGIMES] = {0}, used = 0;

	to[0] = '\0';
	for (size_t s = 0; s < d->steps; s++)
		count[number_of(f->regimes.letter[s])]++;
	for (size_t i = REGIMES; i-- > 0 && used < size;) {
		if (!count[i])
			continue;
		used += (size_t)snprintf(to + used, size - used, "%s%zu %s", used ? ", " : "", count[i], regime[i].name);
		if (regime[i].letter == PP_REGIME_PERIODIC && used < size)
			used += (size_t)snprintf(to + used, size - used, " (every %" PRId64 " steps)", f->regimes.period);
	}
}

struct bar {
	double ns;
	size_t kind;
};

static void put_bars(const struct bar *bar, size_t bars, double top, size_t kind, FILE *to)
{
	int is_open = 0;

	for (size_t i = 0; i < bars; i++) {
		const double tall = bar[i].ns < top ? TALL * bar[i].ns / top : TALL;

		if (bar[i].kind != kind || bar[i].ns <= 0)
			continue;
		if (!is_open++)
			fprintf(to, "<path class=\"%c\" d=\"", regime[kind].letter);
		fprintf(to, "M%zu.1 %dV%.1fh.8V%dz", i, TALL, TALL - tall, TALL);
	}
	if (is_open)
		fputs("\"/>", to);
}

int pp_still_strip(const struct pp_dataset *d, const struct pp_first *f, FILE *to)
{
	const size_t bars = d->steps < PP_STILL_BARS ? d->steps : PP_STILL_BARS;
	struct bar *bar = calloc(bars + 1, sizeof(*bar));
	double longest = 0, top;
	char kinds[160];

	if (!bar)
		return -ENOMEM;
	for (size_t i = 0; i < bars; i++) {
		bar[i].kind = REGIMES - 1;
		for (size_t s = i * d->steps / bars; s < (i + 1) * d->steps / bars; s++) {
			const size_t kind = number_of(f->regimes.letter[s]);

			bar[i].ns = fmax(bar[i].ns, f->usual.time[s]);
			bar[i].kind = kind < bar[i].kind ? kind : bar[i].kind;
		}
		longest = fmax(longest, bar[i].ns);
	}
	top = f->usual.usual_ns > 0 ? fmin(longest, REACH * f->usual.usual_ns) : longest;
	if (top > 0) {
		snprintf(kinds, sizeof(kinds), "too few to tell usual from exceptional");
		if (d->steps >= FEW_STEPS)
			pp_still_regimes(d, f, kinds, sizeof(kinds));
		fprintf(to, "<svg class=\"still\" viewBox=\"0 0 %zu %d\" preserveAspectRatio=\"none\" role=\"img\"", bars, TALL);
		fprintf(to, " aria-label=\"Time of %zu steps, of the slowest rank: %s.\">", d->steps, kinds);
		for (size_t k = REGIMES; k-- > 0;)
			put_bars(bar, bars, top, k, to);
		fputs("</svg>", to);
	}
	free(bar);
	return 0;
}

struct heat {
	const struct pp_dataset *d;
	const struct pp_evidence *e;
	int64_t *value, *room; /* [workers] of a step; room of a median */
	size_t *peers;         /* [workers] */
	double *far;           /* [rows][columns] the value farthest from the middle so far; NAN: none */
	size_t rows, columns;
	double evidence; /* the largest distance from the middle in the steps of the evidence */
};

static int64_t value_of(const struct heat *h, const struct pp_row_cell *cell, size_t w)
{
	if (!cell->present)
		return PP_UNKNOWN;
	if (h->e->category)
		return cell->exclusive_ns[h->e->category];
	return strcmp(h->e->colour, "kept_ns") ? cell->step_ns : pp_known_part(cell->late_ns, (int64_t)h->peers[w]);
}

/* Median of the known ones; PP_UNKNOWN of none. */
static int64_t median_of(const int64_t *value, size_t n, int64_t *room)
{
	size_t known = 0;

	for (size_t i = 0; i < n; i++)
		if (pp_is_known(value[i]))
			room[known++] = value[i];
	return known ? pp_select_int64(room, known, (known - 1) / 2) : PP_UNKNOWN;
}

static void add_step(struct heat *h, size_t step)
{
	const size_t workers = h->d->workers, column = step * h->columns / h->d->steps;
	const struct pp_row_cell *cell = &h->d->cell[step * workers];
	const int64_t number = h->d->step[step].number;
	const int is_shown = pp_is_known(h->e->from) && number >= h->e->from && number <= h->e->to;
	int64_t middle = 0;

	for (size_t w = 0; w < workers; w++)
		h->value[w] = value_of(h, &cell[w], w);
	if (h->e->is_difference)
		middle = pp_known_or(median_of(h->value, workers, h->room), 0);
	for (size_t w = 0; w < workers; w++) {
		double *far = &h->far[w * h->rows / workers * h->columns + column];
		const double v = pp_known_real(h->value[w]) - (double)middle;

		if (is_shown && fabs(v) > h->evidence)
			h->evidence = fabs(v);

		if (!isnan(v) && (isnan(*far) || fabs(v) > fabs(*far)))
			*far = v;
	}
}

/* The largest usual value of a rank, at least 5 % of the step: so noise stays pale. Of exceptional steps their own largest one. */
static int64_t scale_of(const struct heat *h, const struct pp_first *f)
{
	int64_t most = (int64_t)(f->usual.usual_ns * LEAST_PERCENT / 100), middle = 0;

	for (size_t w = 0; w < h->d->workers; w++) {
		h->value[w] = pp_first_value(f, w);
		if (!h->e->category && !strcmp(h->e->colour, "kept_ns"))
			h->value[w] = pp_known_part(h->value[w], (int64_t)h->peers[w]);
	}
	if (h->e->is_difference)
		middle = pp_known_or(median_of(h->value, h->d->workers, h->room), 0);
	for (size_t w = 0; w < h->d->workers; w++) {
		const int64_t far = pp_is_known(h->value[w]) ? pp_wrap_minus(h->value[w], middle) : 0;

		most = far > most ? far : -far > most ? -far : most;
	}
	if (pp_is_known(h->e->from) && f->regimes.letter[pp_dataset_step(h->d, h->e->from)] != PP_REGIME_USUAL)
		most = h->evidence > (double)most ? (int64_t)h->evidence : most;
	return most;
}

static void set_colours(struct pp_still_heat *to)
{
	static const uint8_t less[] = {58, 118, 196}, middle[] = {128, 128, 128}, more[] = {214, 112, 28};

	for (int i = 0; i <= 2 * SHADES; i++) {
		const int shade = i < SHADES ? SHADES - i : i - SHADES;

		memcpy(to->colour[i + 1], shade < GREY ? middle : i < SHADES ? less : more, 3);
		to->colour[i + 1][3] = (uint8_t)(PALEST + shade * (OPAQUE - PALEST) / SHADES);
	}
	to->png.colour = (const uint8_t(*)[4])to->colour;
	to->png.colours = 2 * SHADES + 2;
}

static void set_what(const struct pp_evidence *e, struct pp_still_heat *to)
{
	const char *name = e->category                     ? pp_category_name(e->category)
	                   : !strcmp(e->colour, "kept_ns") ? "Time for which the others wait"
	                                                   : "Step time";

	snprintf(to->what, sizeof(to->what), "%s%s", name, e->is_difference ? ", over the median of the ranks of the step" : "");
}

static int draw(struct heat *h, const struct pp_first *f, struct pp_still_heat *to)
{
	for (size_t i = 0; i < h->rows * h->columns; i++)
		h->far[i] = (double)NAN;
	for (size_t s = 0; s < h->d->steps; s++)
		add_step(h, s);
	to->scale_ns = scale_of(h, f);
	for (size_t i = 0; i < h->rows * h->columns; i++) {
		const double part = to->scale_ns > 0 ? h->far[i] / (double)to->scale_ns : 0;

		if (!isnan(h->far[i]))
			to->png.pixel[i] = (uint8_t)(1 + SHADES + lrint(SHADES * fmax(-1, fmin(1, part))));
	}
	to->png.width = (uint32_t)h->columns;
	to->png.height = (uint32_t)h->rows;
	set_colours(to);
	to->steps = (h->d->steps + h->columns - 1) / h->columns;
	to->workers = (h->d->workers + h->rows - 1) / h->rows;
	set_what(h->e, to);
	return 0;
}

int pp_still_heat_of(const struct pp_dataset *d, const struct pp_first *f, struct pp_still_heat *ret)
{
	static const struct pp_evidence step = {.from = PP_UNKNOWN, .to = PP_UNKNOWN, .rank = -1, .colour = "step_ns"};
	struct heat h = {.d = d,
	                 .e = f->findings ? &f->evidence[0] : &step,
	                 .rows = d->workers < PP_STILL_ROWS ? d->workers : PP_STILL_ROWS,
	                 .columns = d->steps < PP_STILL_COLUMNS ? d->steps : PP_STILL_COLUMNS};
	int rc = -ENOMEM;

	*ret = (struct pp_still_heat){.scale_ns = 0};
	if (d->steps < FEW_STEPS || d->workers < 2)
		return 1;
	h.value = calloc(2 * d->workers, sizeof(*h.value));
	h.room = h.value ? h.value + d->workers : NULL;
	h.peers = calloc(d->workers, sizeof(*h.peers));
	h.far = calloc(h.rows * h.columns, sizeof(*h.far));
	ret->png.pixel = calloc(h.rows * h.columns, 1);
	if (h.value && h.peers && h.far && ret->png.pixel && !pp_dataset_count_peers(d, h.peers))
		rc = draw(&h, f, ret);
	free(h.value);
	free(h.peers);
	free(h.far);
	if (rc)
		pp_still_heat_release(ret);
	return rc;
}

void pp_still_heat_release(struct pp_still_heat *heat)
{
	free(heat->png.pixel);
	heat->png.pixel = NULL;
}
