/* The bytes of our encoder and stream, read by other hands: every field of every event by protobuf C++ and by protobuf-c, from
 * their code of proto/xplane.proto; what protobuf C++ writes of the same events is read by protobuf-c, and is our bytes. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/xspace_stream.h"
#include "tests/bench/encode.h"
#include "tests/test.h"

#include "xplane.pb-c.h"

enum { EVENTS = 20000, ROOM = EVENTS * PP_XEVENT_BYTES, TEXT = 4096 };

static struct encode_event want[EVENTS], got[EVENTS];
static uint8_t bytes[ROOM], other[ROOM];

static uint64_t next(void)
{
	static uint64_t seed = 88172645463325252u;

	seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
	return seed;
}

/* A number of any length: varints of all sizes come. Never 0, which proto3 leaves out. */
static uint64_t any_length(int most_bits)
{
	uint64_t v = next() >> (64 - 1 - (int)(next() % (uint64_t)most_bits));

	return v ? v : 1;
}

static void make_events(void)
{
	static const int kind[] = {ENCODE_DOUBLE, ENCODE_UINT, ENCODE_INT, ENCODE_REF};

	for (int i = 0; i < EVENTS; i++) {
		struct encode_event *e = &want[i];

		e->metadata = (int64_t)any_length(32);
		e->offset_ps = (int64_t)any_length(i % 50 ? 55 : 63);
		e->duration_ps = (int64_t)any_length(i % 70 ? 50 : 63);
		e->stats = (uint32_t)i % (ENCODE_STATS + 1);
		for (uint32_t s = 0; s < e->stats; s++) {
			int rare = next() % 8 == 0;

			e->stat[s].id = 1 + (int64_t)(next() % PP_XSTAT_ID_MOST);
			e->stat[s].kind = kind[rare ? next() % 4 : 1 + next() % 3];
			e->stat[s].bits = rare ? (next() % 3 ? any_length(63) : UINT64_MAX - next() % 100) : any_length(40);
		}
	}
}

static struct pp_xevent event_of(const struct encode_event *e)
{
	static const uint8_t tag[] = {[ENCODE_DOUBLE] = PP_XSTAT_DOUBLE,
	                              [ENCODE_UINT] = PP_XSTAT_UINT,
	                              [ENCODE_INT] = PP_XSTAT_INT,
	                              [ENCODE_REF] = PP_XSTAT_REF};
	struct pp_xevent to = {(uint32_t)e->metadata, e->stats, e->offset_ps, e->duration_ps};

	for (uint32_t s = 0; s < e->stats; s++)
		to.stat[s] = (struct pp_xstat){.id = (uint8_t)e->stat[s].id, .kind = tag[e->stat[s].kind], .u = e->stat[s].bits};
	return to;
}

static void write_name(struct pp_xstream *s, uint32_t field, uint32_t id, const char *name)
{
	uint64_t entry = pp_xstream_begin(s, field), meta;

	pp_xstream_varint(s, 1, id);
	meta = pp_xstream_begin(s, 2);
	pp_xstream_varint(s, PP_XMETA_ID, id);
	pp_xstream_text(s, PP_XMETA_NAME, name, strlen(name));
	pp_xstream_end(s, meta);
	pp_xstream_end(s, entry);
}

/* As xspace.c writes: names after the events, a stat of the plane, a second plane without lines. */
static size_t write_space(void)
{
	char path[] = "/tmp/podprof-readback-XXXXXX";
	struct pp_xstat of_plane = {.id = 2, .kind = PP_XSTAT_UINT, .u = UINT64_MAX};
	struct pp_xstream s;
	struct pp_err err;
	uint64_t plane, line;
	int fd = mkstemp(path);
	ssize_t n;

	if (fd < 0 || pp_xstream_init(&s, fd, 0, &err))
		abort();
	unlink(path);
	pp_xstream_text(&s, PP_XSPACE_HOSTNAMES, "node", 4);
	plane = pp_xstream_begin(&s, PP_XSPACE_PLANES);
	pp_xstream_varint(&s, PP_XPLANE_ID, 1000);
	pp_xstream_text(&s, PP_XPLANE_NAME, "/host:CPU", 9);
	line = pp_xstream_begin(&s, PP_XPLANE_LINES);
	pp_xstream_varint(&s, PP_XLINE_ID, 7);
	pp_xstream_text(&s, PP_XLINE_NAME, "rank 0 main", 11);
	for (int i = 0; i < EVENTS; i++) {
		struct pp_xevent e = event_of(&want[i]);

		if (i % 3)
			pp_xstream_event(&s, &e);
		else
			pp_xstream_long_event(&s, &e, e.stat, e.stats);
	}
	pp_xstream_end(&s, line);
	write_name(&s, PP_XPLANE_EVENT_METADATA, 3, "forward");
	write_name(&s, PP_XPLANE_STAT_METADATA, 9, "r\xc3\xa9sum\xc3\xa9");
	pp_xstream_stat(&s, PP_XPLANE_STATS, &of_plane);
	pp_xstream_end(&s, plane);
	plane = pp_xstream_begin(&s, PP_XSPACE_PLANES);
	pp_xstream_varint(&s, PP_XPLANE_ID, 1001);
	pp_xstream_end(&s, plane);
	CHECK_INT(pp_xstream_finish(&s, &err), 0);
	pp_xstream_release(&s);
	n = pread(fd, bytes, sizeof(bytes), 0);
	close(fd);
	return n < 0 ? 0 : (size_t)n;
}

static const char *const names =
        "host node\nplane 1000 /host:CPU\nline 7 rank 0 main\n3=3 forward\n9=9 r\xc3\xa9sum\xc3\xa9\nplane 1001 \n";

static int same_event(const struct encode_event *a, const struct encode_event *b)
{
	int same = a->metadata == b->metadata && a->offset_ps == b->offset_ps && a->duration_ps == b->duration_ps &&
	           a->stats == b->stats;

	for (uint32_t s = 0; same && s < a->stats; s++)
		same = a->stat[s].id == b->stat[s].id && a->stat[s].kind == b->stat[s].kind && a->stat[s].bits == b->stat[s].bits;
	return same;
}

static int different(void)
{
	int n = 0;

	for (int i = 0; i < EVENTS; i++)
		n += !same_event(&want[i], &got[i]);
	return n;
}

static struct encode_stat stat_of(const Podprof__Xplane__XStat *from)
{
	struct encode_stat to = {from->metadata_id, (int)from->value_case, 0};

	switch (from->value_case) {
	case PODPROF__XPLANE__XSTAT__VALUE_DOUBLE_VALUE:
		memcpy(&to.bits, &from->double_value, 8);
		break;
	case PODPROF__XPLANE__XSTAT__VALUE_UINT64_VALUE:
		to.bits = from->uint64_value;
		break;
	case PODPROF__XPLANE__XSTAT__VALUE_INT64_VALUE:
		to.bits = (uint64_t)from->int64_value;
		break;
	case PODPROF__XPLANE__XSTAT__VALUE_REF_VALUE:
		to.bits = from->ref_value;
		break;
	default:
		break;
	}
	return to;
}

/* Events of the first line of the first plane into got[]; their number, or -1. */
static long read_with_c(const uint8_t *from, size_t size)
{
	Podprof__Xplane__XSpace *space = podprof__xplane__xspace__unpack(NULL, size, from);
	long n = -1;

	memset(got, 0, sizeof(got));
	if (space && space->n_planes && space->planes[0]->n_lines) {
		const Podprof__Xplane__XLine *line = space->planes[0]->lines[0];

		n = (long)line->n_events;
		for (size_t i = 0; i < line->n_events && i < EVENTS; i++) {
			const Podprof__Xplane__XEvent *e = line->events[i];

			got[i] = (struct encode_event){e->metadata_id, e->offset_ps, e->duration_ps, (uint32_t)e->n_stats};
			for (size_t s = 0; s < e->n_stats && s < ENCODE_STATS; s++)
				got[i].stat[s] = stat_of(e->stats[s]);
		}
	}
	podprof__xplane__xspace__free_unpacked(space, NULL);
	return n;
}

TEST(protobuf_c_reads_ours)
{
	size_t size = write_space();

	CHECK_INT(read_with_c(bytes, size), EVENTS);
	CHECK_INT(different(), 0);
}

#ifdef BENCH_PROTOBUF
TEST(protobuf_cpp_reads_ours)
{
	size_t size = write_space();
	char text[TEXT] = "";

	memset(got, 0, sizeof(got));
	CHECK_INT(encode_protobuf_read(bytes, size, 0, 0, got, EVENTS, text, sizeof(text)), EVENTS);
	CHECK_INT(different(), 0);
	CHECK_STR(text, names);
	/* Cut anywhere, nobody takes it for whole. */
	CHECK_INT(encode_protobuf_read(bytes, size - 1, 0, 0, got, EVENTS, text, sizeof(text)), -1);
	CHECK_INT(read_with_c(bytes, size - 1), -1);
}

TEST(protobuf_c_reads_cpp)
{
	size_t size = encode_protobuf_space(want, EVENTS, other, sizeof(other));

	CHECK(size > 0);
	CHECK_INT(read_with_c(other, size), EVENTS);
	CHECK_INT(different(), 0);
}

TEST(bytes_of_an_event_are_those_of_cpp)
{
	int wrong = 0;

	for (int i = 0; i < EVENTS; i++) {
		struct pp_xevent e = event_of(&want[i]);
		size_t n = encode_protobuf_event(&want[i], other, sizeof(other));

		wrong += (size_t)(pp_xevent_put(bytes, &e) - bytes) != n + 2 || memcmp(bytes + 2, other, n) != 0;
		wrong += (size_t)(pp_xevent_put_portable(bytes, &e) - bytes) != n + 2 || memcmp(bytes + 2, other, n) != 0;
	}
	CHECK_INT(wrong, 0);
}
#endif

int main(void)
{
	make_events();
	protobuf_c_reads_ours();
#ifdef BENCH_PROTOBUF
	protobuf_cpp_reads_ours();
	protobuf_c_reads_cpp();
	bytes_of_an_event_are_those_of_cpp();
#else
	if (!test_failures) {
		printf("skipped: protobuf C++ was not found at build time (libprotobuf-dev, protobuf-compiler); protobuf-c read "
		       "our bytes\n");
		return 77;
	}
	(void)names;
#endif
	return test_end();
}
