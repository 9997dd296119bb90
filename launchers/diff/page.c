/* Writes the page of a comparison: its sources around the JSON text; see diff.h. */
#include "launchers/diff/page.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "aggregate/report/page/embed.h"
#include "aggregate/write/json.h"
#include "aggregate/write/output.h"
#include "aggregate/write/writer.h"
#include "core/base/why.h"

static void copy(FILE *from, FILE *to)
{
	char bytes[4096];
	size_t n;

	rewind(from);
	while ((n = fread(bytes, 1, sizeof(bytes), from)) > 0)
		fwrite(bytes, 1, n, to);
}

/* diff.html with its markers replaced: <!--style-->, <!--data-->, <!--app-->, <!--boot-->. */
static void put(FILE *json, FILE *to)
{
	const char *at = pp_embed_diffpage, *marker, *end;

	while ((marker = strstr(at, "<!--")) && (end = strstr(marker, "-->"))) {
		fwrite(at, 1, (size_t)(marker - at), to);
		if (!strncmp(marker + 4, "style", 5))
			fputs(pp_embed_style, to);
		else if (!strncmp(marker + 4, "data", 4))
			copy(json, to);
		else if (!strncmp(marker + 4, "app", 3))
			pp_json_base64(to, pp_embed_diffapp, pp_embed_diffapp_size);
		else if (!strncmp(marker + 4, "boot", 4))
			fputs(pp_embed_boot, to);
		at = end + 3;
	}
	fputs(at, to);
}

int pp_diff_page(FILE *json, const char *html_path, struct pp_err *err)
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
	put(json, to);
	lost = ferror(to) || ferror(json);
	if (fclose(to) || lost) {
		int why = errno ? errno : EIO;

		pp_output_abandon(fd, html_path);
		return pp_err_set(err, -why, "cannot write '%s': %s. Free space, or give another FILE", html_path, pp_why(why));
	}
	return pp_output_commit(fd, html_path, err);
}
