/* Writes the page of a comparison: its sources around plain HTML and JSON; see diff.h. */
#include "launchers/diff/page.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "aggregate/report/data/plain_text.h"
#include "aggregate/report/page/embed.h"
#include "aggregate/write/json.h"
#include "aggregate/write/output.h"
#include "aggregate/write/writer.h"
#include "core/base/why.h"
#include "launchers/diff/board.h"
#include "launchers/diff/json.h"
#include "launchers/diff/screen.h"
#include "launchers/diff/sections.h"
#include "launchers/diff/text.h"

static void put_title(const struct pp_diff *d, FILE *to)
{
	char text[PP_DIFF_SENTENCE];

	pp_diff_sentence(d, text, sizeof(text));
	fputs("podprof diff: ", to);
	pp_plain_text(to, text);
}

/* What replaces a marker of diff.html. */
static void put(const char *marker, const struct pp_diff *d, const struct pp_diff_check *check, FILE *to)
{
	if (!strncmp(marker, "style", 5))
		fputs(pp_embed_style, to);
	else if (!strncmp(marker, "title", 5))
		put_title(d, to);
	else if (!strncmp(marker, "job", 3))
		pp_diff_screen_job(d, to);
	else if (!strncmp(marker, "head", 4))
		pp_diff_screen_head(d, check, to);
	else if (!strncmp(marker, "sections", 8))
		pp_diff_sections(d, to);
	else if (!strncmp(marker, "data", 4))
		pp_diff_json(d, check, to);
	else if (!strncmp(marker, "board", 5) && pp_diff_board(d, to))
		fputs("null", to); /* no memory: JavaScript says that the page is damaged, the rest stands in it */
	else if (!strncmp(marker, "app", 3))
		pp_json_base64(to, pp_embed_diffapp, pp_embed_diffapp_size);
	else if (!strncmp(marker, "boot", 4))
		fputs(pp_embed_boot, to);
}

void pp_diff_page(const struct pp_diff *d, const struct pp_diff_check *check, FILE *to)
{
	const char *at = pp_embed_diffpage, *marker, *end;

	while ((marker = strstr(at, "<!--")) && (end = strstr(marker, "-->"))) {
		fwrite(at, 1, (size_t)(marker - at), to);
		put(marker + 4, d, check, to);
		at = end + 3;
	}
	fputs(at, to);
}

static void copy(FILE *from, FILE *to)
{
	char bytes[4096];
	size_t n;

	rewind(from);
	while ((n = fread(bytes, 1, sizeof(bytes), from)) > 0)
		fwrite(bytes, 1, n, to);
}

int pp_diff_page_keep(FILE *page, const char *html_path, struct pp_err *err)
{
	int fd = pp_output_create(html_path, err), copied = fd < 0 ? -1 : dup(fd), lost;
	FILE *to = copied < 0 ? NULL : fdopen(copied, "w");

	if (fd < 0)
		return fd;
	if (!to) {
		int why = errno;

		if (copied >= 0)
			close(copied);
		pp_output_abandon(fd, html_path);
		return pp_err_set(err, -why, "cannot write '%s': %s", html_path, pp_why(why));
	}
	errno = 0;
	copy(page, to);
	lost = ferror(to) || ferror(page);
	if (fclose(to) || lost) {
		int why = errno ? errno : EIO;

		pp_output_abandon(fd, html_path);
		return pp_err_set(err, -why, "cannot write '%s': %s. Free space, or give another FILE", html_path, pp_why(why));
	}
	return pp_output_commit(fd, html_path, err);
}
