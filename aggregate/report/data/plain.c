/* Writes the first screen as plain HTML; see plain.h. */
#include "aggregate/report/data/plain.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

#include "aggregate/dataset/table/functions.h"
#include "aggregate/report/data/plain_table.h"
#include "aggregate/report/data/plain_text.h"
#include "aggregate/report/data/section.h"
#include "aggregate/report/data/still.h"
#include "aggregate/tools/finding_word.h"
#include "core/base/known.h"
#include "core/base/units.h"
#include "core/base/wrap.h"

enum { TEXT = 2 * PP_ANSWER_TEXT };

/* `tag` with a text of a finding or an answer in it, with the page's units; attributes may follow the tag's name. */
static void put(struct pp_page *p, const char *tag, const char *text)
{
	char units[TEXT];

	pp_sentence_units(text, units, sizeof(units));
	fprintf(p->to, "<%s>", tag);
	pp_plain_text(p->to, units);
	fprintf(p->to, "</%.*s>", (int)strcspn(tag, " "), tag);
}

static void __attribute__((format(printf, 3, 4))) put_as(struct pp_page *p, const char *tag, const char *fmt, ...)
{
	char text[TEXT];
	va_list arguments;

	va_start(arguments, fmt);
	vsnprintf(text, sizeof(text), fmt, arguments);
	va_end(arguments);
	put(p, tag, text);
}

void pp_plain_meta(struct pp_page *p)
{
	char program[64];

	pp_text_program(p->d.command, program, sizeof(program));
	put_as(p, "title", "%s %s - podprof", program, p->d.session);
	fputs("\n<meta name=\"description\" content=\"", p->to);
	pp_plain_text(p->to, p->first.sentence);
	fputs("\">", p->to);
}

/* "CPU", "GPU (NVIDIA H200)": kinds of devices, and their model where there is one. */
static void say_device(const struct pp_dataset *d, char *to, size_t size)
{
	const char *kind = "CPU", *model = "";
	int is_one = 1;

	for (size_t w = 0; w < d->workers; w++) {
		const struct pp_row_worker *one = &d->worker[w];

		if (one->device[0] && (!strcmp(kind, "CPU") || !strcmp(kind, one->device)))
			kind = one->device;
		is_one &= !one->device_name[0] || !model[0] || !strcmp(model, one->device_name);
		if (one->device_name[0])
			model = one->device_name;
	}
	snprintf(to, size, is_one && model[0] ? "%s (%s)" : "%s", kind, model);
}

static const char *only_host(const struct pp_dataset *d)
{
	for (size_t w = 0; w < d->workers; w++)
		if (d->worker[w].host[0])
			return d->worker[w].host;
	return "";
}

void pp_plain_job(struct pp_page *p)
{
	const struct pp_dataset *d = &p->d;
	const time_t when = (time_t)(pp_wrap_plus(d->epoch_realtime_ns, d->window_begin_ns) / 1000000000);
	const size_t hosts = pp_dataset_hosts(d);
	char text[320], date[40] = "no date", a[PP_TEXT_UNIT], b[PP_TEXT_UNIT];
	struct tm tm;

	pp_text_program(d->command, text, sizeof(text));
	put(p, "b", text);
	put_as(p, "span", "%s of %s rank%s", pp_text_count(a, (uint64_t)d->ranks_delivered),
	       pp_text_count(b, (uint64_t)d->ranks_asked), d->ranks_asked == 1 ? "" : "s");
	if (hosts == 1)
		put_as(p, "span", "1 host (%s)", only_host(d));
	else
		put_as(p, "span", "%s hosts", pp_text_count(a, hosts));
	say_device(d, text, sizeof(text));
	put(p, "span", text);
	pp_text_recorded(d, text, sizeof(text));
	put(p, "span", text);
	if (d->epoch_realtime_ns && gmtime_r(&when, &tm))
		strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S UTC", &tm);
	put(p, "span", date);
}

void pp_plain_head(struct pp_page *p)
{
	static const char *const name[] = {
#define PP_FACT(key, name) name,
	        PP_FACT_LIST(PP_FACT)
#undef PP_FACT
	};

	fputs("<h1><a href=\"#\">", p->to);
	pp_plain_text(p->to, p->first.sentence);
	fputs("</a></h1>\n<dl class=\"facts\">", p->to);
	for (size_t i = 0; i < PP_FACTS; i++) {
		fputs("\n<div>", p->to);
		put(p, "dt", name[i]);
		put(p, "dd", p->first.fact[i].value);
		put(p, "dd class=\"n\"", p->first.fact[i].note);
		fputs("</div>", p->to);
	}
	fputs("\n</dl>", p->to);
}

void pp_plain_strip(struct pp_page *p)
{
	if (pp_still_strip(&p->d, &p->first, p->to) && !p->code)
		p->code = pp_err_set(p->err, -ENOMEM, "no memory for the pictures of the report");
}

void pp_plain_heat(struct pp_page *p)
{
	struct pp_still_heat heat;
	const struct pp_dataset *d = &p->d;
	char text[512], units[512], scale[PP_TEXT_UNIT], of[96] = "";
	int rc = pp_still_heat_of(d, &p->first, &heat);

	if (!rc) {
		if (heat.steps > 1 || heat.workers > 1)
			snprintf(of, sizeof(of), " A pixel is the extreme value of up to %zu ranks and %zu steps.", heat.workers,
			         heat.steps);
		snprintf(text, sizeof(text),
		         "%s. Rows: %zu ranks, in order. Columns: steps %" PRId64 " to %" PRId64
		         ". Orange: more, blue: less; the strongest colour is %s or more.%s",
		         heat.what, d->workers, d->step[0].number, d->step[d->steps - 1].number, pp_text_time(scale, heat.scale_ns),
		         of);
		fputs("<img class=\"still\" alt=\"", p->to);
		pp_sentence_units(text, units, sizeof(units));
		pp_plain_text(p->to, units);
		fputs("\" src=\"data:image/png;base64,", p->to);
		rc = pp_png_put(&heat.png, p->to);
		fputs("\">", p->to);
		pp_still_heat_release(&heat);
	}
	if (rc < 0 && !p->code)
		p->code = pp_err_set(p->err, -ENOMEM, "no memory for the pictures of the report");
}

void pp_plain_ranks(struct pp_page *p)
{
	if (pp_plain_table(&p->d, &p->first, p->answer.session, p->to) && !p->code)
		p->code = pp_err_set(p->err, -ENOMEM, "no memory for the table of ranks of the report");
}

/* "Shown in steps 41..43, on rank 3, by Host compute." */
static void say_evidence(const struct pp_evidence *e, char *to, size_t size)
{
	char rank[32] = "", step[64];

	to[0] = '\0';
	if (!pp_is_known(e->from))
		return;
	if (e->rank >= 0)
		snprintf(rank, sizeof(rank), ", on rank %" PRId32, e->rank);
	if (e->from == e->to)
		snprintf(step, sizeof(step), "step %" PRId64, e->from);
	else
		snprintf(step, sizeof(step), "steps %" PRId64 "..%" PRId64, e->from, e->to);
	snprintf(to, size, "It shows in %s%s%s%s.", step, rank, e->category ? ", by " : "",
	         e->category ? pp_category_name(e->category) : "");
}

void pp_plain_findings(struct pp_page *p)
{
	char text[PP_BOTTLENECK_TEXT + 64], kind[32];

	fputs("<h2>Other findings</h2>\n", p->to);
	for (size_t i = 1; i < p->first.findings; i++) {
		const struct pp_row_finding *f = p->first.finding[i];

		fprintf(p->to, "<details name=\"find\" data-find=\"%zu\"><summary>", i);
		put(p, "span class=\"t\"", pp_sentence_kind(f->kind, kind, sizeof(kind)));
		fputc(' ', p->to);
		pp_sentence_whole(f->finding, text, sizeof(text));
		put(p, "span class=\"x\"", text);
		fputs("</summary><div class=\"in\">", p->to);
		pp_sentence_whole(f->finding_next, text, sizeof(text));
		if (text[0])
			put_as(p, "p", "%s.", text);
		say_evidence(&p->first.evidence[i], text, sizeof(text));
		put(p, "p", text);
		fputs("</div></details>\n", p->to);
	}
	if (p->first.findings < 2)
		put(p, "p", p->first.findings ? "Nothing else was found." : "None.");
	if (p->answer.more_findings) {
		fprintf(p->to, "<p>%zu more: <code>podprof report --table finding ", p->answer.more_findings);
		pp_plain_text(p->to, p->answer.session);
		fputs("</code></p>", p->to);
	}
}

static void put_losses(struct pp_page *p)
{
	const struct pp_dataset *d = &p->d;
	uint64_t lost = 0, records = 0;
	char count[PP_TEXT_UNIT], of[PP_TEXT_UNIT];
	size_t ranks = 0;

	for (size_t w = 0; w < d->workers; w++) {
		for (size_t c = 0; c < PP_LOSSES; c++)
			lost += c == PP_LOSS_EVICTED ? 0 : d->worker[w].dropped[c];
		records += d->worker[w].records;
		ranks += d->worker[w].records > 0;
	}
	if (!lost && records)
		put_as(p, "p", "Nothing lost: %s records of %s rank%s.", pp_text_count(count, records), pp_text_count(of, ranks),
		       ranks > 1 ? "s" : "");
}

void pp_plain_quality(struct pp_page *p)
{
	const struct pp_answer *a = &p->answer;
	char text[PP_QUALIFIER_TEXT + 16];

	fputs("<h2>Data quality</h2>\n", p->to);
	put_losses(p);
	for (size_t i = 0; i < a->qualifiers; i++) {
		pp_sentence_whole(a->qualifier[i], text, sizeof(text));
		fputc('\n', p->to);
		put_as(p, "p", "%s.", text);
	}
	if (a->more)
		put_as(p, "p", "%zu more: podprof report --table warning %s", a->more, a->session);
	if (a->level[0])
		put_as(p, "p", "Level: %s.", a->level);
	if (a->overhead[0])
		put_as(p, "p", "Overhead: %s.", a->overhead);
}

/* The command stands alone, to be copied. */
void pp_plain_next(struct pp_page *p)
{
	const struct pp_answer *a = &p->answer;
	char text[PP_ANSWER_TEXT + 32];

	fputs("<h2>Next</h2>\n", p->to);
	pp_sentence_whole(a->next, text, sizeof(text));
	if (!a->command) {
		put_as(p, "p", "%s.", text);
		return;
	}
	pp_sentence_whole(a->next, text, a->command + 4 < sizeof(text) ? a->command + 4 : sizeof(text));
	text[a->command - 1] = '\0';
	put(p, "p", text);
	fputs("\n<p class=\"next\"><code>", p->to);
	pp_plain_text(p->to, a->next + a->command);
	fputs("</code></p>", p->to);
}

static int has_group(struct pp_page *p, const char *group)
{
	const char *name;

	for (size_t g = 0; group[0] && (name = pp_h5_file_name(p->h5, NULL, g)); g++)
		if (!strcmp(name, group))
			return 1;
	return !group[0];
}

void pp_plain_sections(struct pp_page *p)
{
	static const struct {
		const char *id, *name, *group;
	} section[] = {
#define PP_SECTION(id, name, group) {#id, name, group},
#include "aggregate/report/data/sections.def"
#undef PP_SECTION
	};
	const struct pp_section_in in = {&p->d, &p->sum, &p->answer, &p->first};
	char line[PP_SECTION_TEXT], absent[PP_SECTION_TEXT] = "", ids[PP_SECTION_TEXT] = "";

	for (int i = 0; i < PP_SECTIONS; i++) {
		if (!pp_section_line(i, &in, line) || !has_group(p, section[i].group)) {
			snprintf(absent + strlen(absent), sizeof(absent) - strlen(absent), "%s%s", absent[0] ? ", " : "",
			         section[i].name);
			snprintf(ids + strlen(ids), sizeof(ids) - strlen(ids), "%s%s", ids[0] ? " " : "", section[i].id);
			continue;
		}
		fprintf(p->to, "<details class=\"section\" id=\"%s\"><summary><b>%s</b> ", section[i].id, section[i].name);
		put(p, "span", line);
		fputs("</summary></details>\n", p->to);
	}
	if (!absent[0])
		return;
	fprintf(p->to, "<details class=\"section\" id=\"absent\" data-sections=\"%s\"><summary><b>No data for</b> ", ids);
	put(p, "span", absent);
	fputs("</summary></details>\n", p->to);
}
