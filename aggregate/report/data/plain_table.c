/* Writes the table of ranks; see plain_table.h. */
#include "aggregate/report/data/plain_table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/dataset/table/functions.h"
#include "aggregate/report/data/plain_text.h"
#include "core/base/compare.h"
#include "core/base/known.h"
#include "core/base/units.h"

enum { CATEGORIES = 3, SMALL = 100 /* of the step: a category of less has no column */ };

struct of_worker {
	int64_t ns;
	size_t worker;
};

PP_COMPARE(by_most, struct of_worker, PP_DOWN(ns) ?: PP_UP(worker))

static int is_late(const struct pp_first *f, int32_t rank)
{
	for (size_t i = 0; f->findings && i < f->evidence[0].lates; i++)
		if (f->evidence[0].late[i] == rank)
			return 1;
	return 0;
}

/* Workers to show, [PP_PLAIN_RANKS]; returns how many. list: [workers] room. */
static size_t choose(const struct pp_dataset *d, const struct pp_first *f, struct of_worker *list, size_t *show)
{
	size_t n = 0, shown = 0, known = 0;

	for (size_t w = 0; w < d->workers; w++)
		known += f->mean[w].steps > 0;
	for (size_t w = 0; w < d->workers && shown < PP_PLAIN_RANKS; w++)
		if (f->mean[w].steps && (known <= PP_PLAIN_RANKS || is_late(f, d->worker[w].rank)))
			show[shown++] = w;
	if (known <= PP_PLAIN_RANKS)
		return shown;
	for (size_t w = 0; w < d->workers; w++)
		if (f->mean[w].steps && !is_late(f, d->worker[w].rank))
			list[n++] = (struct of_worker){pp_known_or(pp_first_value(f, w), 0), w};
	qsort(list, n, sizeof(*list), by_most);
	for (size_t i = 0; i < n && shown < PP_PLAIN_RANKS; i++)
		show[shown++] = list[i % 2 ? n - 1 - i / 2 : i / 2].worker;
	return shown;
}

/* The category that shows the sentence, then those with most time over all ranks; communication is waiting and transfer. */
static size_t choose_categories(const struct pp_dataset *d, const struct pp_first *f, int *show)
{
	int64_t sum[PP_CATEGORIES + 1] = {0}, step = 0;
	size_t shown = 0;

	for (size_t w = 0; w < d->workers; w++) {
		step += f->mean[w].ns[0];
		for (int c = 1; c <= PP_CATEGORIES; c++)
			sum[c] += c == PP_CATEGORY_HOST_COMMUNICATION || c == PP_CATEGORY_DEVICE_COLLECTIVE ? 0 : f->mean[w].ns[c];
	}
	if (f->findings && f->evidence[0].category)
		show[shown++] = f->evidence[0].category;
	while (shown < CATEGORIES) {
		int best = 0;

		for (int c = 1; c <= PP_CATEGORIES; c++) {
			int is_shown = 0;

			for (size_t i = 0; i < shown; i++)
				is_shown |= show[i] == c;
			best = !is_shown && sum[c] > step / SMALL && (!best || sum[c] > sum[best]) ? c : best;
		}
		if (!best)
			break;
		show[shown++] = best;
	}
	return shown;
}

static void put_time(int64_t ns, FILE *to)
{
	char text[PP_TEXT_UNIT], units[PP_TEXT_UNIT];

	pp_sentence_units(pp_text_time(text, ns), units, sizeof(units));
	fprintf(to, "<td class=\"num\">%s", units);
}

int pp_plain_table(const struct pp_dataset *d, const struct pp_first *f, const char *session, FILE *to)
{
	struct of_worker *list = malloc((d->workers + 1) * sizeof(*list));
	size_t show[PP_PLAIN_RANKS], shown, categories;
	int category[CATEGORIES];
	char more[PP_TEXT_UNIT];

	if (!list)
		return -ENOMEM;
	shown = choose(d, f, list, show);
	free(list);
	if (!shown)
		return 0;
	categories = choose_categories(d, f, category);
	fprintf(to, "<div class=\"plain\"><table><caption>The usual step of %s</caption>\n<tr><th>rank",
	        shown < d->workers ? "some ranks" : "each rank");
	for (size_t i = 0; i < categories; i++)
		fprintf(to, "<th class=\"num\">%s", pp_category_name(category[i]));
	fputs("<th class=\"num\">waiting<th class=\"num\">transfer<th class=\"num\">step", to);
	for (size_t i = 0; i < shown; i++) {
		const struct pp_rank_mean *m = &f->mean[show[i]];
		const int32_t rank = d->worker[show[i]].rank;

		fprintf(to, "\n<tr><th>%" PRId32 "%s", rank, is_late(f, rank) ? " (late)" : "");
		for (size_t c = 0; c < categories; c++)
			put_time(m->ns[category[c]], to);
		put_time(m->wait_ns, to);
		put_time(m->transfer_ns, to);
		put_time(m->ns[0], to);
	}
	fputs("\n</table>", to);
	if (shown < d->workers) {
		fprintf(to, "<p>%s more ranks: <code>podprof report --table worker ", pp_text_count(more, d->workers - shown));
		pp_plain_text(to, session);
		fputs("</code></p>", to);
	}
	fputs("</div>", to);
	return 0;
}
