/* Finds the files to analyse; see inputs.h. Called by cmd_analyze.c. */
#include "launchers/analyze/inputs.h"

#include <errno.h>
#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/grow.h"
#include "core/base/why.h"
#include "launchers/options/say.h"

struct found {
	struct pp_inputs *in;
	size_t room;
	struct {
		dev_t device;
		ino_t inode;
	} * seen; /* [in->files] */
	size_t seen_room;
};

static int ends_in(const char *name, const char *end)
{
	size_t n = strlen(name), m = strlen(end);

	return n > m && !strcmp(name + n - m, end);
}

static int may_be_trace(const char *name)
{
	static const char *const end[] = {".xplane.pb", ".xplane.pb.gz", ".json", ".json.gz"};

	for (size_t i = 0; i < sizeof(end) / sizeof(end[0]); i++)
		if (ends_in(name, end[i]))
			return 1;
	return 0;
}

/* Only a profiler's trace has such a name. Other .json files are looked at, and left out if they are something else. */
static int is_trace_by_name(const char *name)
{
	static const char *const end[] = {".xplane.pb", ".xplane.pb.gz", ".trace.json", ".trace.json.gz"};

	for (size_t i = 0; i < sizeof(end) / sizeof(end[0]); i++)
		if (ends_in(name, end[i]))
			return 1;
	return 0;
}

/* Remembers DIR of DIR/plugins/profile/SESSION/file: files of two sessions are no one session's hosts. */
static void add_session_name(struct pp_inputs *in, const char *path)
{
	const char *at = strstr(path, "plugins/profile/"), *end;
	char one[sizeof(in->sessions[0])];

	for (const char *next = at; next; next = strstr(next + 1, "plugins/profile/"))
		at = next;
	end = at ? strchr(at + strlen("plugins/profile/"), '/') : NULL;
	if (!end || end - path >= (long)sizeof(one))
		return;
	snprintf(one, sizeof(one), "%.*s", (int)(end - path), path);
	for (size_t i = 0; i < in->session_count; i++)
		if (!strcmp(in->sessions[i], one))
			return;
	if (in->session_count < sizeof(in->sessions) / sizeof(in->sessions[0]))
		snprintf(in->sessions[in->session_count++], sizeof(one), "%s", one);
}

/* `named`: by the user, so that a file of another kind is a fault and not one of `others`. */
static int add(struct found *f, const char *path, int named, struct pp_err *err)
{
	struct pp_inputs *in = f->in;
	struct pp_analyze_file one = {.rank = -1};
	struct pp_err why = {""};
	struct stat st = {.st_ino = 0};
	int rc = pp_trace_glance(path, &one.glance, &why);
	void *file, *seen;

	if (rc == -EINVAL && !named && !is_trace_by_name(path)) {
		in->others++;
		return 0;
	}
	if (rc)
		snprintf(one.why, sizeof(one.why), "%s", why.text);
	stat(path, &st);
	for (size_t i = 0; i < in->files; i++)
		if (st.st_ino && f->seen[i].device == st.st_dev && f->seen[i].inode == st.st_ino) {
			in->repeated++;
			return 0;
		}
	file = pp_grow(in->file, in->files, &f->room, sizeof(*in->file));
	in->file = file ? file : in->file;
	seen = pp_grow(f->seen, in->files, &f->seen_room, sizeof(*f->seen));
	f->seen = seen ? seen : f->seen;
	one.path = strdup(path);
	if (!file || !seen || !one.path) {
		free(one.path);
		return pp_err_set(err, -ENOMEM, "no memory for the list of files");
	}
	f->seen[in->files].device = st.st_dev;
	f->seen[in->files].inode = st.st_ino;
	in->file[in->files++] = one;
	add_session_name(in, path);
	return 0;
}

static int compare_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* Links to files are followed, those to directories are not. A link that leads nowhere is a file that cannot be read. */
static int is_file(const FTSENT *e)
{
	struct stat st;

	return e->fts_info == FTS_F || (e->fts_info == FTS_SL && (stat(e->fts_accpath, &st) || S_ISREG(st.st_mode)));
}

static int walk(struct found *f, const char *directory, struct pp_err *err)
{
	char *const roots[] = {(char *)directory, NULL};
	FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, compare_name);
	size_t before = f->in->files;
	FTSENT *e;
	int rc = 0;

	while (tree && !rc && (e = fts_read(tree))) {
		if (e->fts_info == FTS_D && e->fts_level > 0 && e->fts_name[0] == '.')
			fts_set(tree, e, FTS_SKIP);
		if (e->fts_info == FTS_DNR && !e->fts_level) {
			rc = pp_err_set(err, -e->fts_errno, "cannot read '%s': %s", directory, pp_why(e->fts_errno));
		} else if (e->fts_info == FTS_DNR || e->fts_info == FTS_ERR || e->fts_info == FTS_NS) {
			pp_say("cannot read '%s': %s. What is in it is not analysed.", e->fts_path, pp_why(e->fts_errno));
			f->in->unread++;
		}
		if (!is_file(e))
			continue;
		if (may_be_trace(e->fts_name))
			rc = add(f, e->fts_path, 0, err);
		else
			f->in->others++;
	}
	if (!tree)
		rc = pp_err_set(err, -errno, "cannot read '%s': %s", directory, pp_why(errno));
	else
		fts_close(tree);
	if (!rc && f->in->files == before && !f->in->repeated)
		rc = pp_err_set(err, -ENOENT, "'%s' has no trace: no .xplane.pb and no Kineto .json, plain or .gz", directory);
	return rc;
}

static size_t directory_length(const char *path)
{
	const char *end = strrchr(path, '/');

	return end ? (size_t)(end - path) : 0;
}

/* JAX and TensorBoard put a trace for Chrome or Perfetto beside the XSpace that they made it of: the same events once more. */
static int is_made_of_another(const struct pp_inputs *in, const struct pp_analyze_file *file)
{
	size_t n = directory_length(file->path);

	if (file->glance.format == PP_TRACE_XSPACE || ends_in(file->path, ".pt.trace.json") ||
	    ends_in(file->path, ".pt.trace.json.gz") ||
	    !(ends_in(file->path, "trace.json") || ends_in(file->path, "trace.json.gz")))
		return 0;
	for (size_t i = 0; i < in->files; i++) {
		const struct pp_analyze_file *other = &in->file[i];

		if (other->glance.format == PP_TRACE_XSPACE && !other->why[0] && directory_length(other->path) == n &&
		    !memcmp(other->path, file->path, n))
			return 1;
	}
	return 0;
}

static void leave_out_copies(struct pp_inputs *in)
{
	size_t count = 0;

	for (size_t i = 0; i < in->files; i++) {
		if (is_made_of_another(in, &in->file[i])) {
			free(in->file[i].path);
			in->file[i] = (struct pp_analyze_file){.path = NULL, .glance.format = in->file[i].glance.format};
			in->copies++;
		}
	}
	for (size_t i = 0; i < in->files; i++)
		if (in->file[i].path)
			in->file[count++] = in->file[i];
	in->files = count;
}

static int find(struct found *f, const char *word, struct pp_err *err)
{
	struct stat st;

	if (stat(word, &st))
		return pp_err_set(err, -errno, "cannot read '%s': %s", word, pp_why(errno));
	return S_ISDIR(st.st_mode) ? walk(f, word, err) : add(f, word, 1, err);
}

/* Words that give no file stand in the way only where no other word gives one. */
int pp_inputs_find(char *const *word, size_t words, struct pp_inputs *ret_inputs, struct pp_err *err)
{
	struct pp_inputs in = {.file = NULL};
	struct found f = {.in = &in};
	int rc = 0, bad = 0;

	for (size_t i = 0; i < words && rc != -ENOMEM; i++) {
		struct pp_err one = {""};

		rc = find(&f, word[i], &one);
		if (!rc)
			continue;
		if (in.bad_words++) /* the first one waits: it may be all that there is to say */
			pp_say("%s.", one.text);
		else
			pp_err_set(err, bad = rc, "%s", one.text);
	}
	free(f.seen);
	rc = rc == -ENOMEM || !in.files ? bad : 0;
	if (!rc && bad) {
		pp_say("%s.", err->text);
		snprintf(in.bad_word, sizeof(in.bad_word), "%.180s", err->text);
	}
	if (rc) {
		pp_inputs_release(&in);
		return rc;
	}
	leave_out_copies(&in);
	*ret_inputs = in;
	return 0;
}

void pp_inputs_release(struct pp_inputs *in)
{
	for (size_t i = 0; i < in->files; i++) {
		free(in->file[i].path);
		free(in->file[i].block);
	}
	free(in->file);
	in->file = NULL;
	in->files = 0;
}
