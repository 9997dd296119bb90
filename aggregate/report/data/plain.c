/* Writes the first screen as plain HTML; see plain.h. */
#include "aggregate/report/data/plain.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "core/base/utf8.h"

void pp_plain_text(FILE *to, const char *text)
{
	size_t length = strlen(text);

	for (size_t i = 0, n; i < length; i += n ? n : 1) {
		const unsigned char c = (unsigned char)text[i];

		n = pp_utf8_sequence(text + i, length - i);
		if (!n || (n > 1 && !pp_utf8_shown(text + i, n)) || (n == 1 && (c < ' ' || c == 0x7f)))
			fputs("&#xfffd;", to);
		else if (n > 1)
			fwrite(text + i, 1, n, to);
		else if (strchr("&<>\"'", c))
			fprintf(to, "&#%u;", (unsigned)c);
		else
			fputc(c, to);
	}
}

static void put_span(struct pp_page *p, const char *text)
{
	fputs("<span>", p->to);
	pp_plain_text(p->to, text);
	fputs("</span>", p->to);
}

void pp_plain_meta(struct pp_page *p)
{
	char program[64];

	pp_text_program(p->d.command, program, sizeof(program));
	fputs("<title>", p->to);
	pp_plain_text(p->to, program);
	fputs(" ", p->to);
	pp_plain_text(p->to, pp_h5_file_attribute(p->h5, "session"));
	fputs(" - podprof</title>\n<meta name=\"description\" content=\"", p->to);
	pp_plain_text(p->to, p->first.sentence);
	fputs("\">", p->to);
}

void pp_plain_job(struct pp_page *p)
{
	char text[96];

	pp_text_program(p->d.command, text, sizeof(text));
	fputs("<b>", p->to);
	pp_plain_text(p->to, text);
	fputs("</b>", p->to);
	snprintf(text, sizeof(text), "%" PRId64 " of %" PRId64 " ranks", pp_h5_file_attribute_int(p->h5, "ranks_delivered", 0),
	         pp_h5_file_attribute_int(p->h5, "ranks_asked", 0));
	put_span(p, text);
}

void pp_plain_head(struct pp_page *p)
{
	fputs("<h1><a href=\"#\">", p->to);
	pp_plain_text(p->to, p->first.sentence);
	fputs("</a></h1>\n<dl class=\"facts\"></dl>", p->to);
}

void pp_plain_strip(struct pp_page *p)
{
	(void)p;
}

void pp_plain_heat(struct pp_page *p)
{
	(void)p;
}

void pp_plain_ranks(struct pp_page *p)
{
	(void)p;
}

void pp_plain_findings(struct pp_page *p)
{
	fputs("<h2>Other findings</h2>\n", p->to);
	for (size_t i = 0; i < p->answer.alsos; i++) {
		fprintf(p->to, "<details name=\"find\" data-find=\"%zu\"><summary>", i + 1);
		pp_plain_text(p->to, p->answer.also[i]->finding);
		fputs("</summary></details>\n", p->to);
	}
}

void pp_plain_quality(struct pp_page *p)
{
	fputs("<h2>Data quality</h2>\n", p->to);
	for (size_t i = 0; i < p->answer.qualifiers; i++) {
		fputs("<p>", p->to);
		pp_plain_text(p->to, p->answer.qualifier[i]);
		fputs("</p>\n", p->to);
	}
}

void pp_plain_next(struct pp_page *p)
{
	fputs("<h2>Next</h2>\n<p>", p->to);
	pp_plain_text(p->to, p->answer.next);
	fputs("</p>", p->to);
}

void pp_plain_sections(struct pp_page *p)
{
	static const struct {
		const char *id, *name;
	} section[] = {
#define PP_SECTION(id, name, group) {#id, name},
#include "aggregate/report/data/sections.def"
#undef PP_SECTION
	};

	for (size_t i = 0; i < sizeof(section) / sizeof(section[0]); i++)
		fprintf(p->to, "<details class=\"section\" id=\"%s\"><summary><b>%s</b> <span></span></summary></details>\n",
		        section[i].id, section[i].name);
}
