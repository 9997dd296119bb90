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

#include "aggregate/read/kineto/glance.h"
#include "aggregate/read/kineto/kineto.h"
#include "aggregate/read/xspace/xspace.h"
#include "core/base/file_name.h"
#include "core/base/why.h"
#include "core/capture/capture.h"

enum { GLANCE = 65536, GLANCE_LARGE = 1 << 22 };

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

/* Bytes at the begin of the file, unpacked; -errno. -ESPIPE: a pipe, a socket, a device. */
static long first_bytes(const char *path, char *to, size_t size, struct pp_trace_glance *g)
{
	unsigned char *packed;
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
	packed = malloc(size);
	n = packed ? pread(fd, packed, size, 0) : -1;
	n = n < 0 ? (packed ? -errno : -ENOMEM) : n;
	close(fd);
	g->is_gzip = n >= 2 && packed[0] == 0x1f && packed[1] == 0x8b;
	if (g->is_gzip)
		n = unpack(packed, (size_t)n, to, size);
	else if (n > 0)
		memcpy(to, packed, (size_t)n);
	free(packed);
	return n;
}

/* The file's name without what its format adds: host.xplane.pb, host_4711.1711964646000000000.pt.trace.json.gz. */
static void host_of_name(const char *path, char *host, size_t size)
{
	static const char *const ends[] = {".gz", ".json", ".trace", ".pt", ".pb", ".xplane"};
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

/* Looks at the file's first `size` bytes. *ret_more: more of them may tell what it is. */
static int recognise(const char *path, size_t size, struct pp_trace_glance *g, int *ret_more, struct pp_err *err)
{
	char *bytes = malloc(size);
	long n = bytes ? first_bytes(path, bytes, size, g) : -ENOMEM;
	int rc = 0;

	*ret_more = 0;
	if (n == -ESPIPE)
		rc = pp_err_set(err, -EINVAL, "cannot read '%s': it is no regular file. Copy its bytes to a file first", path);
	else if (n < 0)
		rc = pp_err_set(err, (int)n, "cannot read '%s': %s", path, pp_why((int)-n));
	else if (n == 0)
		rc = g->is_gzip ? pp_err_set(err, -EBADMSG, "cannot read '%s': nothing can be unpacked", path)
		                : pp_err_set(err, -EINVAL, "cannot read '%s': it is empty", path);
	else if (pp_kineto_glance(bytes, (size_t)n, g))
		g->format = PP_TRACE_KINETO;
	else if (pp_xspace_glance(bytes, (size_t)n, g))
		g->format = PP_TRACE_XSPACE;
	else if (is_wide_text(bytes, (size_t)n))
		rc = pp_err_set(err, -EINVAL, "cannot read '%s': it is UTF-16 or UTF-32. Convert it to UTF-8, for example by iconv",
		                path);
	else
		rc = pp_err_set(err, -EINVAL, "cannot read '%s': it is neither XSpace (.xplane.pb) nor a Kineto trace (.json)",
		                path);
	if (rc && n > 0)
		/* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): n bytes were read */
		*ret_more = (size_t)n == size && (bytes[0] == '{' || bytes[0] == '[');
	free(bytes);
	return rc;
}

int pp_trace_glance(const char *path, struct pp_trace_glance *ret_glance, struct pp_err *err)
{
	struct pp_trace_glance g = {.rank = -1, .world = -1};
	int more, rc;

	host_of_name(path, g.host, sizeof(g.host));
	host_of_torch(path, &g);
	rc = recognise(path, GLANCE, &g, &more, err);
	if (rc && more) /* other keys come first */
		rc = recognise(path, GLANCE_LARGE, &g, &more, err);
	*ret_glance = rc ? (struct pp_trace_glance){.rank = -1, .world = -1, .bytes = g.bytes} : g;
	return rc;
}

int pp_trace_read(const char *path, const struct pp_trace_glance *glance, const struct pp_trace_options *options,
                  struct pp_capture *ret_capture, struct pp_err *err)
{
	return (glance->format == PP_TRACE_KINETO ? pp_kineto_read : pp_xspace_read)(path, glance, options, ret_capture, err);
}
