/* Reads Kineto files; see kineto.h. Called by aggregate/read/trace.c. */
#include "aggregate/read/kineto/kineto.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "aggregate/read/kineto/finish.h"
#include "aggregate/read/kineto/json.h"
#include "aggregate/read/kineto/release.h"
#include "aggregate/read/kineto/take.h"
#include "aggregate/read/ring/rings.h"
#include "aggregate/read/torch/c10d.h"
#include "core/base/why.h"

enum { PART = 1 << 18, PROGRESS_EVERY = 1 << 22 };

struct input {
	int fd;
	z_stream *z; /* NULL: not packed */
	unsigned char *packed;
	int in_member;           /* behind the begin of a gzip member, before its end */
	uint64_t read, unpacked; /* bytes */
};

static int open_input(const char *path, int is_gzip, struct input *ret_input)
{
	struct input in = {.fd = open(path, O_RDONLY | O_CLOEXEC)};

	if (in.fd < 0)
		return -errno;
	if (is_gzip) {
		in.packed = malloc(PART);
		in.z = calloc(1, sizeof(*in.z));
		if (!in.packed || !in.z || inflateInit2(in.z, 15 + 16) != Z_OK) {
			free(in.packed);
			free(in.z);
			close(in.fd);
			return -ENOMEM;
		}
	}
	*ret_input = in;
	return 0;
}

static void close_input(struct input *in)
{
	if (in->z)
		inflateEnd(in->z);
	free(in->z);
	free(in->packed);
	close(in->fd);
}

static long read_file(struct input *in, void *to, size_t size)
{
	long n;

	do
		n = read(in->fd, to, size);
	while (n < 0 && errno == EINTR);
	if (n > 0)
		in->read += (uint64_t)n;
	return n < 0 ? -errno : n;
}

/* More packed bytes behind those that are left. What read_file() returns. */
static long read_packed(struct input *in)
{
	long n;

	if (in->z->avail_in) /* else next_in may be NULL, which memmove() must not get */
		memmove(in->packed, in->z->next_in, in->z->avail_in);
	n = read_file(in, in->packed + in->z->avail_in, PART - in->z->avail_in);
	in->z->next_in = in->packed;
	in->z->avail_in += n > 0 ? (uInt)n : 0;
	return n;
}

/* 1: another member begins there, as gzip files may follow each other. Anything else behind the end is filling. */
static int begins_member(struct input *in)
{
	while (in->z->avail_in < 2)
		if (read_packed(in) <= 0)
			return 0;
	return in->z->next_in[0] == 0x1f && in->z->next_in[1] == 0x8b;
}

/* What read_part() returns. An error comes after all bytes before it. */
static long unpack(struct input *in, char *to, size_t size)
{
	in->z->next_out = (Bytef *)to;
	in->z->avail_out = (uInt)size;
	while (in->z->avail_out == size) {
		int code;

		if (!in->in_member && !begins_member(in))
			return 0;
		if (!in->in_member)
			inflateReset(in->z);
		in->in_member = 1;
		if (!in->z->avail_in) {
			long n = read_packed(in);

			if (n <= 0)
				return n < 0 ? n : -EBADMSG;
		}
		code = inflate(in->z, Z_NO_FLUSH);
		in->in_member = code != Z_STREAM_END;
		if (code != Z_OK && code != Z_STREAM_END && in->z->avail_out == size)
			return code == Z_MEM_ERROR ? -ENOMEM : -EBADMSG;
	}
	return (long)(size - in->z->avail_out);
}

/* Bytes read, unpacked; 0: the end; -errno. -EBADMSG: the packed bytes are damaged or cut off. */
static long read_part(struct input *in, char *to, size_t size)
{
	long n = in->z ? unpack(in, to, size) : read_file(in, to, size);

	in->unpacked += n > 0 ? (uint64_t)n : 0;
	return n;
}

/* Where a part may end: behind a comma, so that no number or word is cut in two; else at its end. */
static size_t part_end(const char *text, size_t length)
{
	const char *comma = memrchr(text, ',', length);

	return comma ? (size_t)(comma - text) + 1 : length;
}

static int is_bom(const char *text, size_t length)
{
	return length >= 3 && !memcmp(text, "\xef\xbb\xbf", 3);
}

/* Feeds all of the file. *ret_why: errno of a read that failed; what came before is read. */
static int read_all(struct input *in, struct kineto_json *json, const struct pp_trace_options *options, uint64_t bytes,
                    int *ret_why)
{
	char *text = malloc(PART);
	size_t length = 0;
	uint64_t shown = 0;
	int rc = text ? 0 : -ENOMEM, is_first = 1;

	while (rc == 0) {
		long n = read_part(in, text + length, PART - length);
		size_t end;

		if (n < 0)
			*ret_why = (int)-n;
		length += n > 0 ? (size_t)n : 0;
		end = n > 0 && !(is_first && length < 3) ? part_end(text, length) : length;
		if (is_first && is_bom(text, length) && end >= 3)
			rc = pp_kineto_json_feed(json, text + 3, end - 3);
		else
			rc = pp_kineto_json_feed(json, text, end);
		is_first = 0;
		if (n <= 0)
			break;
		length -= end;
		memmove(text, text + end, length);
		if (options->progress && in->read - shown >= PROGRESS_EVERY) {
			shown = in->read;
			options->progress(options->context, in->read, bytes);
		}
	}
	free(text);
	return rc;
}

static void cannot(struct pp_err *err, int code, const char *path)
{
	pp_err_set(err, code, "cannot read '%s': %s", path, code == -ENOMEM ? "no memory" : pp_why(-code));
}

static void nothing(struct pp_err *err, const char *path, const struct kineto_store *s)
{
	const struct pp_trace_metadata *t = &s->trace;

	if (t->damage[0])
		pp_err_set(err, -EINVAL, "cannot read '%s': no event with a time; at byte %llu: %s", path,
		           (unsigned long long)t->damaged_at, t->damage);
	else
		pp_err_set(err, -EINVAL, "cannot read '%s': it has no event with a time", path);
}

int pp_kineto_read(const char *path, const struct pp_trace_glance *glance, const struct pp_trace_options *options,
                   struct pp_capture *ret_capture, struct pp_err *err)
{
	struct kineto_store s = {.rank = -1, .world = -1, .trace.clock_bound_ns = -1, .names = pp_intern_new()};
	struct kineto_json *json = pp_kineto_json_new(&s);
	struct pp_capture capture = {.names = NULL};
	struct input in = {.fd = -1};
	const char *at = options->bytes_at ? options->bytes_at : path;
	int why = 0, has_annotations = 0, rc = s.names && json ? open_input(at, glance->is_gzip, &in) : -ENOMEM;

	if (rc)
		goto out;
	rc = read_all(&in, json, options, glance->bytes, &why);
	close_input(&in);
	if (rc == 0)
		pp_kineto_json_end(json);
	if (rc == 0 && why)
		pp_kineto_damage(&s, in.unpacked, why == EBADMSG ? "the packed file is cut off or damaged" : pp_why(why));
	if (rc == 0)
		rc = pp_kineto_finish(&s, glance, options->rank, path, &capture);
	for (size_t i = 0; rc == 0 && i < capture.ranks; i++)
		has_annotations |= capture.rank[i].annotations != 0;
	if (rc == 0 && has_annotations)
		rc = pp_c10d_convert(&capture, err);
	if (rc == 0)
		*ret_capture = capture;
	else if (capture.rank)
		pp_capture_release(&capture);
out:
	pp_kineto_json_free(json);
	if (rc == -ENODATA)
		nothing(err, path, &s);
	else if (rc)
		cannot(err, rc, path);
	pp_kineto_release(&s);
	return rc == -ENODATA ? -EINVAL : rc;
}
