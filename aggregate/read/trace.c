/* Recognises files of other profilers and calls their reader; see trace.h. Called by aggregate/session/analyze.c. */
#include "aggregate/read/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "aggregate/read/container.h"
#include "aggregate/read/kineto/glance.h"
#include "aggregate/read/kineto/kineto.h"
#include "aggregate/read/xspace/xspace.h"
#include "core/base/file_name.h"
#include "core/base/why.h"
#include "core/capture/capture.h"

enum { GLANCE = 65536, GLANCE_LARGE = 1 << 22, CUT = 1 << 18 };

/* Unpacks what can be unpacked of a damaged begin, too. */
/* NOLINTNEXTLINE(readability-non-const-parameter): zlib writes to it */
static long unpack(const unsigned char *packed, size_t n, char *to, size_t size)
{
	z_stream z = {.next_in = (Bytef *)(uintptr_t)packed, .avail_in = (uInt)n, .next_out = (Bytef *)to, .avail_out = (uInt)size};

	if (inflateInit2(&z, 15 + 16) != Z_OK)
		return -ENOMEM;
	while (inflate(&z, Z_NO_FLUSH) == Z_STREAM_END && inflateReset(&z) == Z_OK)
		continue;
	inflateEnd(&z);
	return (long)(size - z.avail_out);
}

/* Bytes at the begin of the file, as they lie there; -errno. -ESPIPE: a pipe, a socket, a device. */
static long first_bytes(const char *path, char *to, size_t size, struct pp_trace_glance *g)
{
	struct stat st;
	long n;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return errno == ENXIO ? -ESPIPE : -errno; /* a socket */
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		int why = S_ISDIR(st.st_mode) ? EISDIR : ESPIPE;

		close(fd);
		return -why;
	}
	g->bytes = (uint64_t)st.st_size;
	n = pread(fd, to, size, 0);
	n = n < 0 ? -errno : n;
	close(fd);
	return n;
}

/* The file's name without what its format adds: host.xplane.pb, host_4711.1711964646000000000.pt.trace.json.gz. */
static void host_of_name(const char *path, char *host, size_t size)
{
	static const char *const ends[] = {".gz", ".zst", ".json", ".trace", ".pt", ".pb", ".xplane"};
	const char *name = pp_file_name(path);
	size_t length = strlen(name);

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		size_t n = strlen(ends[i]);

		if (length > n && !strncmp(name + length - n, ends[i], n))
			length -= n;
	}
	snprintf(host, size, "%.*s", (int)length, name);
}

/* Digits at the end of a text. */
static size_t digits(const char *text, size_t length)
{
	size_t n = 0;

	while (n < length && text[length - 1 - n] >= '0' && text[length - 1 - n] <= '9')
		n++;
	return n;
}

/* PyTorch names a file HOST_PID.TIME.pt.trace.json, with the time in ns or ms: its host is HOST then. */
static void host_of_torch(const char *path, struct pp_trace_glance *g)
{
	const char *name = pp_file_name(path), *end = strstr(name, ".pt.trace.json");
	size_t length = end ? (size_t)(end - name) : 0, time = digits(name, length), pid;

	if (time < 10 || time + 1 >= length || name[length - time - 1] != '.')
		return;
	length -= time + 1;
	pid = digits(name, length);
	if (!pid || pid + 1 >= length || name[length - pid - 1] != '_' || length - pid - 1 >= sizeof(g->host))
		return;
	snprintf(g->host, sizeof(g->host), "%.*s", (int)(length - pid - 1), name);
	g->says_host = 1;
}

/* Text of 16-bit or 32-bit characters. */
static int is_wide_text(const char *bytes, size_t n)
{
	static const char *const begins[] = {"\xff\xfe", "\xfe\xff", "{\0", "[\0", "\0{", "\0["};

	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
		if (n >= 2 && !memcmp(bytes, begins[i], 2))
			return 1;
	return 0;
}

/* Which format bytes of a file are. */
static int judge(const char *path, const char *bytes, long n, struct pp_trace_glance *g, struct pp_err *err)
{
	if (n == -ESPIPE)
		return pp_err_set(err, -EINVAL, "cannot read '%s': it is no regular file. Copy its bytes to a file first", path);
	if (n < 0)
		return pp_err_set(err, (int)n, "cannot read '%s': %s", path, pp_why((int)-n));
	if (n == 0)
		return g->is_gzip ? pp_err_set(err, -EBADMSG, "cannot read '%s': nothing can be unpacked", path)
		                  : pp_err_set(err, -EINVAL, "cannot read '%s': it is empty", path);
	if (pp_kineto_glance(bytes, (size_t)n, g))
		g->format = PP_TRACE_KINETO;
	else if (pp_xspace_glance(bytes, (size_t)n, g))
		g->format = PP_TRACE_XSPACE;
	else if (is_wide_text(bytes, (size_t)n))
		return pp_err_set(err, -EINVAL,
		                  "cannot read '%s': it is UTF-16 or UTF-32. Convert it to UTF-8, for example by iconv", path);
	else
		return pp_err_set(err, -EINVAL, "cannot read '%s': it is neither XSpace (.xplane.pb) nor a Kineto trace (.json)",
		                  path);
	return 0;
}

/* The same for bytes that may be packed; `size` is the most that is looked at. *ret_more: more of them may tell what it is. */
static int judge_packed(const char *path, const char *bytes, long n, size_t size, struct pp_trace_glance *g, int *ret_more,
                        struct pp_err *err)
{
	char *unpacked = NULL;
	int rc;

	/* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): n bytes were read */
	g->is_gzip = n >= 2 && (unsigned char)bytes[0] == 0x1f && (unsigned char)bytes[1] == 0x8b;
	if (g->is_gzip) {
		unpacked = malloc(size);
		n = unpacked ? unpack((const unsigned char *)bytes, (size_t)n, unpacked, size) : -ENOMEM;
		bytes = unpacked;
	}
	rc = judge(path, bytes, n, g, err);
	*ret_more = rc && n > 0 && (size_t)n == size && (bytes[0] == '{' || bytes[0] == '[');
	free(unpacked);
	return rc;
}

/* Looks at the first `size` bytes of the file, which are at `at`. */
static int recognise(const char *path, const char *at, size_t size, struct pp_trace_glance *g, int *ret_more, struct pp_err *err)
{
	char *bytes = malloc(size);
	long n = bytes ? first_bytes(at, bytes, size, g) : -ENOMEM;
	int rc = judge_packed(path, bytes, n, size, g, ret_more, err);

	free(bytes);
	return rc;
}

static struct pp_trace_glance begin(const char *path)
{
	struct pp_trace_glance g = {.rank = -1, .world = -1};

	host_of_name(path, g.host, sizeof(g.host));
	host_of_torch(path, &g);
	return g;
}

static void give(struct pp_trace_glance *to, const struct pp_trace_glance *g, int rc)
{
	*to = rc ? (struct pp_trace_glance){.rank = -1, .world = -1, .bytes = g->bytes} : *g;
}

int pp_trace_glance_at(const char *path, const void *bytes, size_t length, uint64_t size, struct pp_trace_glance *ret_glance,
                       struct pp_err *err)
{
	struct pp_trace_glance g = begin(path);
	int more, rc;

	g.bytes = size;
	rc = judge_packed(path, bytes, (long)length, GLANCE_LARGE, &g, &more, err);
	give(ret_glance, &g, rc);
	return rc;
}

/* Are its bytes to be unpacked before a reader can read them? */
static int is_contained(const char *path)
{
	return pp_container_archive(path) || pp_container_kind(path) == PP_CONTAINER_PACKED;
}

int pp_trace_glance(const char *path, struct pp_trace_glance *ret_glance, struct pp_err *err)
{
	struct pp_trace_glance g = begin(path);
	struct pp_container_file file = {.fd = -1};
	int more, rc = is_contained(path) ? pp_container_open(path, GLANCE_LARGE, &file, err) : 0;
	const char *at = file.fd >= 0 ? file.path : path;

	if (!rc) {
		rc = recognise(path, at, GLANCE, &g, &more, err);
		if (rc && more) /* other keys come first */
			rc = recognise(path, at, GLANCE_LARGE, &g, &more, err);
	}
	pp_container_close(&file);
	give(ret_glance, &g, rc);
	return rc;
}

/* What is missing behind the last byte that could be unpacked: the cause of what a reader finds wrong there. */
static void add_damage(struct pp_capture *c, const struct pp_container_file *f)
{
	for (size_t i = 0; i < c->ranks && f->damage[0]; i++) {
		struct pp_trace_metadata *t = &c->rank[i].trace;

		if (!t->damaged++ || t->damaged_at + CUT >= f->size) {
			t->damaged_at = f->size;
			snprintf(t->damage, sizeof(t->damage), "%s", f->damage);
		}
	}
}

static int read_plain(const char *path, const struct pp_trace_glance *glance, const struct pp_trace_options *options,
                      struct pp_capture *ret_capture, struct pp_err *err)
{
	return (glance->format == PP_TRACE_KINETO ? pp_kineto_read : pp_xspace_read)(path, glance, options, ret_capture, err);
}

int pp_trace_read(const char *path, const struct pp_trace_glance *glance, const struct pp_trace_options *options,
                  struct pp_capture *ret_capture, struct pp_err *err)
{
	struct pp_trace_options how = *options;
	struct pp_container_file file;
	int rc;

	if (!is_contained(path))
		return read_plain(path, glance, options, ret_capture, err);
	rc = pp_container_open(path, UINT64_MAX, &file, err);
	if (rc)
		return rc;
	how.bytes_at = file.path;
	rc = read_plain(path, glance, &how, ret_capture, err);
	if (!rc)
		add_damage(ret_capture, &file);
	pp_container_close(&file);
	return rc;
}
