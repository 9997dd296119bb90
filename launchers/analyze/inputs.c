/* Finds the files to analyse; see inputs.h. Called by cmd_analyze.c. */
#include "launchers/analyze/inputs.h"

#include <errno.h>
#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "aggregate/read/container.h"
#include "aggregate/read/trace.h"
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

static int is_archive_by_name(const char *name)
{
	static const char *const end[] = {".zip", ".tar", ".tar.gz", ".tgz", ".tar.zst", ".tzst", ".tar.xz", ".txz"};

	for (size_t i = 0; i < sizeof(end) / sizeof(end[0]); i++)
		if (ends_in(name, end[i]))
			return 1;
	return 0;
}

static int may_be_trace(const char *name)
{
	static const char *const end[] = {".xplane.pb", ".xplane.pb.gz", ".xplane.pb.zst", ".json", ".json.gz", ".json.zst"};

	for (size_t i = 0; i < sizeof(end) / sizeof(end[0]); i++)
		if (ends_in(name, end[i]))
			return 1;
	return 0;
}

/* Only a profiler's trace has such a name. Other .json files are looked at, and left out if they are something else. */
static int is_trace_by_name(const char *name)
{
	static const char *const end[] = {".xplane.pb",  ".xplane.pb.gz",  ".xplane.pb.zst",
	                                  ".trace.json", ".trace.json.gz", ".trace.json.zst"};

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

/* The file of this path, or, where it is that of a member, its archive. */
static void find_on_disk(const char *path, size_t archive, struct stat *st)
{
	char *on_disk = strndup(path, archive ? archive : strlen(path));

	if (!on_disk || stat(on_disk, st))
		st->st_ino = 0;
	free(on_disk);
}

/* Has the list the file? Members are the same if they have one name in one archive. */
static int is_there(const struct found *f, const char *path, size_t archive, const struct stat *st)
{
	const char *member = path + archive;

	for (size_t i = 0; i < f->in->files && st->st_ino; i++) {
		const char *other = f->in->file[i].path;
		size_t n = strlen(other), m = strlen(member);

		if (f->seen[i].device == st->st_dev && f->seen[i].inode == st->st_ino &&
		    (!archive || (n > m && !strcmp(other + n - m, member))))
			return 1;
	}
	return 0;
}

/* Adds a file to the list, unless it has it; `archive`: length of its archive's path, 0: it is in none. */
static int put(struct found *f, const char *path, size_t archive, struct pp_analyze_file one, struct pp_err *err)
{
	struct pp_inputs *in = f->in;
	void *file, *seen;
	struct stat st;

	find_on_disk(path, archive, &st);
	if (is_there(f, path, archive, &st)) {
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
	/* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign): is_there() has filled it */
	f->seen[in->files].device = st.st_dev;
	f->seen[in->files].inode = st.st_ino;
	in->file[in->files++] = one;
	add_session_name(in, path);
	return 0;
}

struct archive { /* that is listed */
	struct found *f;
	size_t length; /* of its path */
	struct pp_err *err;
	size_t others;
};

/* A file in an archive, as if it was one in a directory. */
static int add_member(void *context, const struct pp_container_member *m)
{
	struct archive *a = context;
	struct pp_analyze_file one = {.rank = -1};
	struct pp_err why = {""};
	const char *name = strrchr(m->path, '/') + 1;
	const int is_of_system = !strncmp(name, "._", 2); /* macOS keeps what else it knows of a file in such ones */
	int rc = -EINVAL;

	if (may_be_trace(name) && !is_of_system)
		rc = m->why ? pp_err_set(&why, -EBADMSG, "cannot unpack '%s': %s", m->path, m->why)
		            : pp_trace_glance_at(m->path, m->bytes, m->length, m->size ? m->size : m->length, &one.glance, &why);
	if (rc == -EINVAL && (is_of_system || !is_trace_by_name(name))) {
		a->others++;
		return 0;
	}
	if (rc)
		snprintf(one.why, sizeof(one.why), "%s", why.text);
	return put(a->f, m->path, a->length, one, a->err);
}

static int compare_path(const void *a, const void *b)
{
	return strcmp(((const struct pp_analyze_file *)a)->path, ((const struct pp_analyze_file *)b)->path);
}

/* The files of an archive, in order of their names. */
static int add_archive(struct found *f, const char *path, int named, struct pp_err *err)
{
	struct pp_inputs *in = f->in;
	struct archive a = {.f = f, .length = strlen(path), .err = err};
	size_t before = in->files, repeated = in->repeated;
	char damage[96];
	int rc = pp_container_list(path, add_member, &a, damage, sizeof(damage), err);

	if (rc)
		return rc;
	if (in->files == before && in->repeated == repeated && !damage[0]) {
		in->others++;
		return named ? pp_err_set(err, -ENOENT, "'%s' has no trace: no .xplane.pb and no Kineto .json", path) : 0;
	}
	if (in->files > before)
		qsort(in->file + before, in->files - before, sizeof(*in->file), compare_path);
	in->member_others += a.others;
	if (!damage[0])
		return 0;
	if (in->files == before)
		return pp_err_set(err, -EBADMSG, "cannot unpack '%s': %s", path, damage);
	pp_say("cannot unpack all of '%s': %s. What stands before is analysed.", path, damage);
	in->damaged_archives++;
	return 0;
}

/* `named`: by the user, so that a file of another kind is a fault and not one of `others`. */
static int add(struct found *f, const char *path, int named, struct pp_err *err)
{
	struct pp_analyze_file one = {.rank = -1};
	struct pp_err why = {""};
	int rc;

	if (pp_container_kind(path) == PP_CONTAINER_ARCHIVE) {
		rc = add_archive(f, path, named, &why);
		if (!rc || named || rc == -ENOMEM)
			return rc ? pp_err_set(err, rc, "%s", why.text) : 0;
	} else {
		rc = pp_trace_glance(path, &one.glance, &why);
	}
	if (rc == -EINVAL && !named && !is_trace_by_name(path)) {
		f->in->others++;
		return 0;
	}
	if (rc)
		snprintf(one.why, sizeof(one.why), "%s", why.text);
	return put(f, path, 0, one, err);
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
		if (may_be_trace(e->fts_name) || is_archive_by_name(e->fts_name))
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
