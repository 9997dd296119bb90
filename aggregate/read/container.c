/* Lists and unpacks archives by libarchive; see container.h. Called by trace.c and launchers/analyze/inputs.c. */
#include "aggregate/read/container.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <zlib.h>

#include "aggregate/read/archive_library.h"
#include "core/base/grow.h"
#include "core/base/utf8.h"
#include "core/base/why.h"

enum { HEAD = 512, FIRST = 65536, FIRST_LARGE = 1 << 22, ROOM_EACH = 1 << 24, NAME = 512, MEMBERS_MOST = 1 << 16 };

struct names { /* of members that were seen, to tell equal ones apart */
	uint64_t *hash;
	size_t count, room;
};

static int is_tar(const unsigned char *bytes, size_t n)
{
	return n >= 262 && !memcmp(bytes + 257, "ustar", 5);
}

/* The first bytes of a .gz, unpacked. */
/* NOLINTNEXTLINE(readability-non-const-parameter): zlib writes to it */
static size_t inflate_head(const unsigned char *packed, size_t n, unsigned char *to, size_t size)
{
	z_stream z = {.next_in = (Bytef *)(uintptr_t)packed, .avail_in = (uInt)n, .next_out = to, .avail_out = (uInt)size};

	if (inflateInit2(&z, 15 + 16) != Z_OK)
		return 0;
	inflate(&z, Z_SYNC_FLUSH);
	inflateEnd(&z);
	return size - z.avail_out;
}

/* What libarchive says of a file that is packed by something else than deflate; without the library pp_container_open() says so. */
static enum pp_container_kind kind_inside(const char *path)
{
	struct pp_err why = {""};
	const struct pp_archive_library *l = pp_archive_library(path, &why);
	struct archive *a = l ? pp_archive_open(l, path, &why) : NULL;
	enum pp_container_kind kind = PP_CONTAINER_PACKED;
	struct archive_entry *entry;

	if (a && l->read_next_header(a, &entry) >= PP_ARCHIVE_WARN && (l->format(a) & PP_ARCHIVE_FORMATS) != PP_ARCHIVE_RAW)
		kind = PP_CONTAINER_ARCHIVE;
	if (a)
		l->read_free(a);
	return kind;
}

enum pp_container_kind pp_container_kind(const char *path)
{
	unsigned char packed[4 * HEAD], head[HEAD];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	ssize_t n = fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) ? pread(fd, packed, sizeof(packed), 0) : -1;

	if (fd >= 0)
		close(fd);
	if (n < 4)
		return PP_CONTAINER_NONE;
	if (!memcmp(packed, "PK\3\4", 4) || !memcmp(packed, "PK\5\6", 4) || is_tar(packed, (size_t)n))
		return PP_CONTAINER_ARCHIVE;
	if (!memcmp(packed, "\x28\xb5\x2f\xfd", 4) || (packed[0] >> 4 == 5 && !memcmp(packed + 1, "\x2a\x4d\x18", 3)) ||
	    (n >= 6 && !memcmp(packed, "\xfd\x37zXZ", 6)))
		return kind_inside(path);
	if (packed[0] == 0x1f && packed[1] == 0x8b && is_tar(head, inflate_head(packed, (size_t)n, head, sizeof(head))))
		return PP_CONTAINER_ARCHIVE;
	return PP_CONTAINER_NONE;
}

size_t pp_container_archive(const char *path)
{
	char begin[PATH_MAX];
	struct stat st;

	if (strlen(path) >= sizeof(begin) || !stat(path, &st) || errno != ENOTDIR)
		return 0;
	for (const char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
		snprintf(begin, sizeof(begin), "%.*s", (int)(at - path), path);
		if (!stat(begin, &st) && S_ISREG(st.st_mode))
			return (size_t)(at - path);
	}
	return 0;
}

/* The name of a member as a path shows it: no absolute one, nothing above the archive, no control characters. */
static void clean_name(const char *name, char *to, size_t size)
{
	char good[3 * NAME] = "";
	size_t length = name ? strlen(name) : 0;

	if (length >= NAME) {
		name += length - NAME + 1;
		length = NAME - 1;
	}
	if (length)
		pp_utf8_repair(good, name, length);
	for (char *at = good; *at; at++) {
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			*at = '_';
		if ((at == good || at[-1] == '/') && !strncmp(at, "..", 2) && (!at[2] || at[2] == '/'))
			at[0] = at[1] = '_';
	}
	name = good;
	while (*name == '/' || !strncmp(name, "./", 2))
		name += *name == '/' ? 1 : 2;
	snprintf(to, size, "%.*s", pp_utf8_fit(name, (int)size - 1), *name ? name : "member");
}

/* How many members before it had the name; -1: no memory. */
static int seen_before(struct names *names, const char *name)
{
	uint64_t hash = 0xcbf29ce484222325u;
	int before = 0;

	for (const char *at = name; *at; at++)
		hash = (hash ^ (unsigned char)*at) * 0x100000001b3u;
	for (size_t i = 0; i < names->count; i++)
		before += names->hash[i] == hash;
	if (PP_GROW(names->hash, names->count, names->room))
		return -1;
	names->hash[names->count++] = hash;
	return before;
}

/* [PATH_MAX]. A file keeps how its name ends. */
static void put_path(char *path, const char *archive, const char *name, int before)
{
	const char *slash = strrchr(name, '/');
	int length = slash ? (int)(slash - name) + 1 : 0;

	if (before)
		snprintf(path, PATH_MAX, "%s/%.*s%d#%s", archive, length, name, before + 1, name + length);
	else
		snprintf(path, PATH_MAX, "%s/%s", archive, name);
}

/* The next file of the archive. 1: `path` [PATH_MAX] is its path; 0: there is none, and `damage` says whether there should be. */
static int next_file(const struct pp_archive_library *l, struct archive *a, const char *archive, struct names *names, char *path,
                     struct archive_entry **ret_entry, char *damage, size_t size)
{
	struct archive_entry *entry;
	char name[NAME];
	int rc, before;

	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): may warn null-dereference: only the library opens an archive */
	while ((rc = l->read_next_header(a, &entry)) >= PP_ARCHIVE_WARN && rc != PP_ARCHIVE_END) {
		const char *given = l->entry_pathname_utf8(entry);

		if ((l->entry_filetype(entry) & S_IFMT) != S_IFREG && l->entry_filetype(entry))
			continue;
		if (names->count >= MEMBERS_MOST) {
			snprintf(damage, size, "it has more than %d files", MEMBERS_MOST);
			return 0;
		}
		clean_name(given ? given : l->entry_pathname(entry), name, sizeof(name));
		before = seen_before(names, name);
		if (before < 0) {
			snprintf(damage, size, "no memory");
			return 0;
		}
		put_path(path, archive, name, before);
		*ret_entry = entry;
		return 1;
	}
	if (rc != PP_ARCHIVE_END)
		snprintf(damage, size, "%.90s", l->error_string(a) ? l->error_string(a) : "it is damaged");
	return 0;
}

/* Up to `size` more bytes of the member at which the archive is. */
static void read_some(const struct pp_archive_library *l, struct archive *a, char *to, size_t size, struct pp_container_member *m)
{
	size_t upto = m->length + size;
	ssize_t n = 1;

	while (m->length < upto && n > 0) {
		/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): without the library no archive was opened */
		n = l->read_data(a, to + m->length, upto - m->length);
		m->length += n > 0 ? (size_t)n : 0;
	}
	if (n < 0 && !m->length)
		m->why = l->error_string(a) ? l->error_string(a) : "it is damaged";
}

static int is_more_needed(const char *bytes, size_t n)
{
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): n bytes are there */
	return n == FIRST && (*bytes == '{' || *bytes == '[' || (bytes[0] == 0x1f && (unsigned char)bytes[1] == 0x8b));
}

int pp_container_list(const char *path, int (*take)(void *context, const struct pp_container_member *member), void *context,
                      char *damage, size_t size, struct pp_err *err)
{
	const struct pp_archive_library *l = pp_archive_library(path, err);
	struct archive *a = l ? pp_archive_open(l, path, err) : NULL;
	char *bytes = malloc(FIRST_LARGE), *member = malloc(PATH_MAX);
	locale_t locale = pp_archive_locale_enter();
	struct names names = {.hash = NULL};
	struct archive_entry *entry;
	int rc = a ? 0 : l ? -EBADMSG : -ENOSYS;

	*damage = '\0';
	if (!bytes || !member)
		rc = pp_err_set(err, -ENOMEM, "cannot unpack '%s': no memory", path);
	while (!rc && next_file(l, a, path, &names, member, &entry, damage, size)) {
		struct pp_container_member m = {.path = member, .bytes = bytes};

		read_some(l, a, bytes, FIRST, &m);
		if (is_more_needed(bytes, m.length))
			read_some(l, a, bytes, FIRST_LARGE - FIRST, &m);
		if (l->entry_size_is_set(entry) && l->entry_size(entry) > 0)
			m.size = (uint64_t)l->entry_size(entry);
		rc = take(context, &m);
	}
	if (a)
		l->read_free(a);
	pp_archive_locale_leave(locale);
	free(names.hash);
	free(bytes);
	free(member);
	return rc;
}

static int new_file(struct pp_container_file *f, const char *path, struct pp_err *err)
{
	const char *directory = getenv("TMPDIR");
	char name[PATH_MAX];

	directory = directory && *directory ? directory : "/tmp";
	f->fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (f->fd < 0 && snprintf(name, sizeof(name), "%s/podprof-XXXXXX", directory) < (int)sizeof(name)) {
		f->fd = mkostemp(name, O_CLOEXEC);
		if (f->fd >= 0)
			unlink(name);
	}
	if (f->fd < 0)
		return pp_err_set(err, -errno, "cannot unpack '%s': no file can be made in '%s' (TMPDIR): %s", path, directory,
		                  pp_why(errno));
	snprintf(f->path, sizeof(f->path), "/proc/self/fd/%d", f->fd);
	return 0;
}

/* Less than a tenth of the file system is free: the rest is for others. */
static int is_full(int fd)
{
	struct statvfs s;

	return !fstatvfs(fd, &s) && s.f_blocks && s.f_bavail < s.f_blocks / 10;
}

static int write_at(int fd, const char *bytes, size_t n, uint64_t offset)
{
	while (n) {
		ssize_t written = pwrite(fd, bytes, n, (off_t)offset);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return -1;
		bytes += written;
		offset += (uint64_t)written;
		n -= (size_t)written;
	}
	return 0;
}

/* One block of a member, which may have holes. */
static void write_block(struct pp_container_file *f, const void *bytes, size_t n, int64_t offset, uint64_t limit)
{
	if (offset < 0 || (uint64_t)offset < f->size)
		snprintf(f->damage, sizeof(f->damage), "its parts are out of order");
	else if ((uint64_t)offset > limit || n > limit - (uint64_t)offset)
		snprintf(f->damage, sizeof(f->damage), "unpacked, it is more than %d times as large; the rest is not read",
		         PP_CONTAINER_RATIO);
	else if (write_at(f->fd, bytes, n, (uint64_t)offset))
		snprintf(f->damage, sizeof(f->damage), "it cannot be unpacked to TMPDIR: %.50s", pp_why(errno));
	else
		f->size = (uint64_t)offset + n;
}

/* The member at which the archive is, until it has `most` bytes. What is missing of all of it is said in f->damage. */
static void unpack(const struct pp_archive_library *l, struct archive *a, uint64_t most, uint64_t limit,
                   struct pp_container_file *f)
{
	uint64_t check_at = 0;

	while (f->size < most && !f->damage[0]) {
		const void *bytes;
		size_t n = 0;
		int64_t offset = 0;
		int rc;

		if (f->size >= check_at && is_full(f->fd)) {
			snprintf(f->damage, sizeof(f->damage),
			         "nine tenths of TMPDIR's file system are full; the rest is not read");
			return;
		}
		check_at = f->size >= check_at ? f->size + ROOM_EACH : check_at;
		rc = l->read_data_block(a, &bytes, &n, &offset);
		if (rc == PP_ARCHIVE_END)
			return;
		if (rc < 0)
			snprintf(f->damage, sizeof(f->damage), "%.90s", l->error_string(a) ? l->error_string(a) : "it is damaged");
		else if (n)
			write_block(f, bytes, n, offset, limit);
	}
}

/* Moves the archive to the member of that path; a packed file has only one. */
static int find_member(const struct pp_archive_library *l, struct archive *a, const char *archive, const char *path,
                       struct pp_err *err)
{
	struct names names = {.hash = NULL};
	char *member = malloc(PATH_MAX), damage[96] = "";
	struct archive_entry *entry;
	int found = 0;

	while (member && !found && next_file(l, a, archive, &names, member, &entry, damage, sizeof(damage)))
		/* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): the caller has the path of one */
		found = !strcmp(archive, path) || !strcmp(member, path);
	free(names.hash);
	free(member);
	return found ? 0
	             : pp_err_set(err, -EBADMSG, "cannot read '%s': %s", path, damage[0] ? damage : "the archive has no such file");
}

int pp_container_open(const char *path, uint64_t most, struct pp_container_file *ret_file, struct pp_err *err)
{
	size_t length = pp_container_archive(path);
	char *archive = strndup(path, length ? length : strlen(path));
	const struct pp_archive_library *l = archive ? pp_archive_library(path, err) : NULL;
	struct archive *a = l ? pp_archive_open(l, archive, err) : NULL;
	struct pp_container_file f = {.fd = -1};
	struct stat st = {.st_size = 0};
	locale_t locale = pp_archive_locale_enter();
	int rc = a ? 0 : l ? -EBADMSG : -ENOSYS;

	if (!archive)
		rc = pp_err_set(err, -ENOMEM, "cannot unpack '%s': no memory", path);
	if (!rc)
		rc = find_member(l, a, archive, path, err);
	if (!rc)
		rc = new_file(&f, path, err);
	if (!rc) {
		/* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): it was opened by that path */
		stat(archive, &st);
		unpack(l, a, most, (uint64_t)st.st_size * PP_CONTAINER_RATIO, &f);
		if (!f.size)
			rc = pp_err_set(err, -EBADMSG, "cannot unpack '%s': %s", path, f.damage[0] ? f.damage : "it is empty");
	}
	if (a)
		l->read_free(a);
	pp_archive_locale_leave(locale);
	free(archive);
	if (rc)
		pp_container_close(&f);
	else
		*ret_file = f;
	return rc;
}

void pp_container_close(struct pp_container_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
}
