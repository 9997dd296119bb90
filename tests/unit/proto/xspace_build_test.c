/* The XSpace encoder: both bodies give the same bytes, these are what the format says, and the stream is whole however it is cut.
 */
#include "proto/xspace_stream.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "proto/varint.h"
#include "tests/test.h"

static uint64_t get_varint(const uint8_t **p)
{
	uint64_t v = 0;
	int shift = 0;

	do
		v |= (uint64_t)(**p & 0x7f) << shift, shift += 7;
	while (*(*p)++ & 0x80);
	return v;
}

TEST(varints)
{
	uint8_t bytes[16];

	for (int bit = 0; bit < 64; bit++)
		for (int d = -1; d <= 1; d++) {
			uint64_t v = (UINT64_C(1) << bit) + (uint64_t)(int64_t)d;
			const uint8_t *p = bytes;
			uint8_t *end = pp_varint_put(bytes, v);

			CHECK(get_varint(&p) == v);
			CHECK(p == end);
		}
	CHECK_INT(pp_varint_put_padded(bytes, 300) - bytes, 5);
	const uint8_t *p = bytes;

	CHECK_INT(get_varint(&p), 300);
}

TEST(both_encoders_agree)
{
	struct pp_xevent e = {0};
	uint8_t a[PP_XEVENT_BYTES], b[PP_XEVENT_BYTES];

	for (int bit = 0; bit < 64; bit++) {
		uint64_t v = UINT64_C(1) << bit;

		e = (struct pp_xevent){(uint32_t)(v | 1), PP_XEVENT_STATS, (int64_t)v, (int64_t)(v - 1)};
		for (uint32_t i = 0; i < e.stats; i++) {
			uint8_t kind = i == 1 ? PP_XSTAT_DOUBLE : PP_XSTAT_UINT;

			e.stat[i] = (struct pp_xstat){.id = (uint8_t)(1 + i * 25), .kind = kind, .u = v + i};
		}
		size_t n = (size_t)(pp_xevent_put(a, &e) - a);

		CHECK_INT(pp_xevent_put_portable(b, &e) - b, n);
		CHECK(!memcmp(a, b, n));
		CHECK_INT(a[1], n - 2);
		CHECK(n <= PP_XEVENT_BYTES - 8);
	}
}

TEST(known_bytes)
{
	/* event { metadata_id 1, offset 300, duration 5, stat { metadata_id 2, int64 -1 } } */
	static const uint8_t want[] = {0x22, 22, 8,    1,    16,   0xac, 2,    24,   5,    0x22, 13,   8,
	                               2,    32, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1};
	struct pp_xevent e = {1, 1, 300, 5, {{.id = 2, .kind = PP_XSTAT_INT, .i = -1}}};
	uint8_t got[PP_XEVENT_BYTES];
	size_t n = (size_t)(pp_xevent_put(got, &e) - got);

	CHECK_INT(n, sizeof(want));
	CHECK(!memcmp(got, want, sizeof(want)));
}

/* Many planes, lines and events across the arena's edge: every length covers exactly what is inside. */
TEST(stream_is_whole)
{
	enum { LINES = 3, EVENTS = 60000 };
	char path[] = "/tmp/podprof-xspace-XXXXXX";
	int fd = mkstemp(path);
	static char name[3 << 20];
	struct pp_xstream s;
	struct pp_err err = {""};
	uint64_t plane, line;

	memset(name, 'n', sizeof(name));
	CHECK_INT(pp_xstream_init(&s, fd, 0, &err), 0);
	plane = pp_xstream_begin(&s, PP_XSPACE_PLANES);
	for (int l = 0; l < LINES; l++) {
		line = pp_xstream_begin(&s, PP_XPLANE_LINES);
		pp_xstream_text(&s, PP_XLINE_NAME, name, sizeof(name) >> l);
		for (int i = 0; i < EVENTS; i++) {
			struct pp_xevent e = {1, 0, i, 1};

			pp_xstream_event(&s, &e);
		}
		pp_xstream_end(&s, line);
	}
	pp_xstream_end(&s, plane);
	CHECK_INT(pp_xstream_finish(&s, &err), 0);
	CHECK_INT(s.events, LINES * EVENTS);
	pp_xstream_release(&s);

	off_t size = lseek(fd, 0, SEEK_END);
	uint8_t *all = malloc((size_t)size);
	const uint8_t *p = all, *end;
	int events = 0, lines = 0;

	CHECK(all && pread(fd, all, (size_t)size, 0) == size);
	CHECK_INT(get_varint(&p), PP_XSPACE_PLANES << 3 | 2);
	CHECK(get_varint(&p) == (uint64_t)(all + size - p));
	while (p < all + size) {
		CHECK_INT(get_varint(&p), PP_XPLANE_LINES << 3 | 2);
		uint64_t n = get_varint(&p);

		for (end = p + n, lines++; p < end; events++) {
			uint64_t tag = get_varint(&p);
			uint64_t length = get_varint(&p);

			events -= tag != (PP_XLINE_EVENTS << 3 | 2);
			p += length;
		}
		CHECK(p == end);
	}
	CHECK_INT(lines, LINES);
	CHECK_INT(events, LINES * EVENTS);
	free(all);
	close(fd);
	unlink(path);
}

TEST(near_two_gib_events_are_left_out)
{
	struct pp_xevent e = {1, 0, 0, 1};
	struct pp_err err = {""};
	struct pp_xstream s;
	int fd = fileno(tmpfile());

	CHECK_INT(pp_xstream_init(&s, fd, 0x7fffffff - 1000, &err), 0);
	for (int i = 0; i < 1000; i++)
		pp_xstream_event(&s, &e);
	CHECK(s.events > 50 && s.events < 200);
	CHECK_INT(s.events + s.skipped, 1000);
	CHECK_INT(pp_xstream_finish(&s, &err), 0);
	CHECK(lseek(fd, 0, SEEK_END) <= 1000);
	pp_xstream_release(&s);
}

TEST(write_error_is_reported)
{
	struct pp_err err = {""};
	struct pp_xstream s;

	CHECK_INT(pp_xstream_init(&s, -1, 0, &err), 0);
	pp_xstream_text(&s, 1, "x", 1);
	CHECK_INT(pp_xstream_finish(&s, &err), -EBADF);
	CHECK(err.text[0] != '\0');
	pp_xstream_release(&s);
}

int main(void)
{
	varints();
	both_encoders_agree();
	known_bytes();
	stream_is_whole();
	near_two_gib_events_are_left_out();
	write_error_is_reported();
	return test_end();
}
