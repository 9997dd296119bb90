/* Maps a file, or unpacks a .gz into memory of its own; see source.h. */
#include "aggregate/read/xspace/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "core/base/memory_room.h"
#include "core/base/why.h"

enum { FIRST_ROOM = 4 << 20, PART = 1 << 20, PAGE = 65536 };

/* Half of what this process may use: unpacked bytes beyond it are not read. */
static uint64_t most_unpacked(void)
{
	uint64_t room = pp_memory_room(PP_MEMORY_CGROUP, PP_MEMORY_ROOT);
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
	uint64_t machine = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : UINT64_MAX;

	return (room < machine ? room : machine) / 2;
}

static int map_file(const char *path, const char *at, struct pp_xsource *s, struct pp_err *err)
{
	int fd = open(at, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	void *p;

	if (fd < 0)
		return pp_err_set(err, -errno, "cannot read '%s': %s", path, pp_why(errno));
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size <= 0) {
		close(fd);
		return pp_err_set(err, -EINVAL, "cannot read '%s': it is empty or no file", path);
	}
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED) {
		int why = errno;

		close(fd);
		return pp_err_set(err, -why, "cannot map '%s': %s", path, pp_why(why));
	}
	close(fd);
	s->bytes = p;
	s->size = s->mapped = (size_t)st.st_size;
	s->file_bytes = (uint64_t)st.st_size;
	return 0;
}

struct unpacked {
	uint8_t *bytes;
	size_t used, room;
	uint64_t most;
};

/* 1: there is no room for more. */
static int make_room(struct unpacked *u)
{
	size_t room = u->room ? 2 * u->room : FIRST_ROOM;
	void *p;

	if (u->used < u->room)
		return 0;
	if (room > u->most && u->room)
		return 1;
	p = u->room ? mremap(u->bytes, u->room, room, MREMAP_MAYMOVE)
	            : mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return 1;
	u->bytes = p;
	u->room = room;
	return 0;
}

/* All members of the packed file; returns what is wrong with it, NULL: nothing. */
static const char *inflate_all(const struct pp_xsource *packed, z_stream *z, struct unpacked *u,
                               const struct pp_trace_options *options)
{
	size_t at = 0;

	for (;;) {
		size_t left = packed->size - at, part = left < PART ? left : PART;
		int rc;

		if (make_room(u))
			return "the unpacked bytes do not fit in memory; the rest is not read";
		z->next_in = (Bytef *)(uintptr_t)(packed->bytes + at);
		z->avail_in = (uInt)part;
		z->next_out = u->bytes + u->used;
		z->avail_out = (uInt)(u->room - u->used < PART ? u->room - u->used : PART);
		rc = inflate(z, Z_NO_FLUSH);
		at += part - z->avail_in;
		u->used = (size_t)(z->next_out - u->bytes);
		pp_xsource_release(packed, packed->bytes + (at > 2 * PART ? at - 2 * PART : 0), packed->bytes + at);
		if (options && options->progress)
			options->progress(options->context, at / 2, packed->size);
		if (rc == Z_STREAM_END) { /* gzip files may follow each other; anything else behind the end is filling */
			if (packed->size - at < 2 || packed->bytes[at] != 0x1f || packed->bytes[at + 1] != 0x8b)
				return NULL;
			inflateReset(z);
		} else if (rc == Z_BUF_ERROR && at == packed->size) {
			return "the gzip file is cut off";
		} else if (rc != Z_OK && rc != Z_BUF_ERROR) {
			return "the gzip file is damaged";
		}
	}
}

static int unpack(const char *path, const struct pp_trace_options *options, struct pp_xsource *s, struct pp_err *err)
{
	struct unpacked u = {.most = most_unpacked()};
	z_stream z = {0};
	const char *wrong;

	if (inflateInit2(&z, 15 + 16) != Z_OK)
		return pp_err_set(err, -ENOMEM, "cannot unpack '%s': no memory", path);
	wrong = inflate_all(s, &z, &u, options);
	inflateEnd(&z);
	munmap((void *)(uintptr_t)s->bytes, s->mapped);
	s->bytes = u.bytes;
	s->size = u.used;
	s->mapped = u.room;
	s->is_unpacked = 1;
	if (wrong)
		snprintf(s->damage, sizeof(s->damage), "%s", wrong);
	if (!u.used) {
		pp_xsource_close(s);
		return pp_err_set(err, -EINVAL, "cannot unpack '%s': %s", path, wrong ? wrong : "it is empty");
	}
	return 0;
}

int pp_xsource_open(const char *path, const struct pp_trace_options *options, struct pp_xsource *ret_source, struct pp_err *err)
{
	struct pp_xsource s = {0};
	int rc = map_file(path, options && options->bytes_at ? options->bytes_at : path, &s, err);

	if (!rc && s.size > 1 && s.bytes[0] == 0x1f && s.bytes[1] == 0x8b)
		rc = unpack(path, options, &s, err);
	if (!rc)
		*ret_source = s;
	return rc;
}

void pp_xsource_close(struct pp_xsource *s)
{
	if (s->mapped)
		munmap((void *)(uintptr_t)s->bytes, s->mapped);
	*s = (struct pp_xsource){0};
}

void pp_xsource_release(const struct pp_xsource *s, const uint8_t *from, const uint8_t *to)
{
	size_t begin = (size_t)(from - s->bytes), end = (size_t)(to - s->bytes);

	begin = (begin + PAGE - 1) / PAGE * PAGE;
	end = end / PAGE * PAGE;
	if (begin < end)
		madvise((void *)(uintptr_t)(s->bytes + begin), end - begin, MADV_DONTNEED);
}

/* Unpacking a file, which is done before, is the first half of it. */
void pp_xsource_progress(const struct pp_xsource *s, const struct pp_trace_options *options, const uint8_t *at)
{
	double part = (double)(at - s->bytes) / (double)s->size, file = (double)s->file_bytes;

	if (options->progress)
		options->progress(options->context, (uint64_t)(s->is_unpacked ? (file + part * file) / 2 : part * file),
		                  s->file_bytes);
}
