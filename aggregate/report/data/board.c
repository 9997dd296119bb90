/* Writes what the first screen shows, for its charts: findings with their evidence, facts, ranks that stand for many. Called by
 * report.c. */
#include <inttypes.h>

#include "aggregate/report/data/page.h"
#include "aggregate/tools/finding_word.h"

static void put_evidence(struct pp_page *p, const struct pp_evidence *e)
{
	pp_page_int(p, "from", e->from);
	pp_page_int(p, "to", e->to);
	pp_page_int(p, "rank", e->rank);
	pp_page_key(p, "ranks", 0);
	for (size_t i = 0; i < e->lates; i++)
		fprintf(p->to, "%c%" PRId32, i ? ',' : '[', e->late[i]);
	fputs(e->lates ? "]" : "[]", p->to);
	pp_page_text(p, "colour", e->colour);
	pp_page_int(p, "difference", e->is_difference);
}

static void put_finding(struct pp_page *p, size_t i)
{
	const struct pp_row_finding *f = p->first.finding[i];
	char text[PP_BOTTLENECK_TEXT + 64];

	fputs(i ? ",{" : "{", p->to);
	pp_page_key(p, "kind", 1);
	pp_json_text(p->to, pp_finding_word(f->kind));
	pp_sentence_whole(f->finding, text, sizeof(text));
	pp_page_text(p, "text", i ? text : p->first.sentence);
	pp_sentence_whole(f->finding_next, text, sizeof(text));
	pp_page_text(p, "next", text);
	put_evidence(p, &p->first.evidence[i]);
	pp_page_int(p, "gain_ns", f->finding_gain_ns);
	pp_page_int(p, "usual_ns", f->usual_ns);
	fputc('}', p->to);
}

void pp_page_first(struct pp_page *p)
{
	static const char *const key[] = {
#define PP_FACT(key, name) #key,
	        PP_FACT_LIST(PP_FACT)
#undef PP_FACT
	};
	int32_t band[PP_FIRST_BANDS];

	pp_page_key(p, "finding", 0);
	fputc('[', p->to);
	for (size_t i = 0; i < p->first.findings; i++)
		put_finding(p, i);
	fputc(']', p->to);
	pp_page_key(p, "fact", 0);
	for (size_t i = 0; i < PP_FACTS; i++) {
		fputs(i ? ",{" : "[{", p->to);
		pp_page_key(p, "key", 1);
		pp_json_text(p->to, key[i]);
		pp_page_text(p, "value", p->first.fact[i].value);
		pp_page_text(p, "note", p->first.fact[i].note);
		fputc('}', p->to);
	}
	fputc(']', p->to);
	pp_first_bands(&p->d, &p->first, band);
	pp_page_key(p, "board", 0);
	fputs("{\"band_rank\":[", p->to);
	for (size_t i = 0; i < PP_FIRST_BANDS; i++)
		fprintf(p->to, "%s%" PRId32, i ? "," : "", band[i]);
	fputs("]}", p->to);
}
