/* Keepers' messages: every kind comes back equal, what breaks a rule is refused with a sentence on both sides, and bytes changed at
 * random never crash, hang or pass with a field out of its range. */
#include "proto/message.h"

#include <errno.h>
#include <stdlib.h>

#include "tests/test.h"

static uint64_t seed = 0x9e3779b97f4a7c15ULL;

static uint64_t next_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static struct pp_wire_rank rank[3] = {
        {.rank = 0, .pid = 100, .state = PP_WIRE_STARTING, .step = INT64_MIN},
        {.rank = 5,
         .pid = 200,
         .state = PP_WIRE_RUNNING,
         .step = -3,
         .marks = 1,
         .over = 1,
         .request = 0x403,
         .first = 10,
         .last = INT64_MAX,
         .windows_passed = 3,
         .signals = 2,
         .call = 17,
         .sequence = 99,
         .comm = 0xfedcba9876543210ULL,
         .peer = -2,
         .nccl = "4d:1:4:14:14:fa0:-1:3:0:ncclAllReduce:gradients,"},
        {.rank = INT32_MAX, .pid = INT32_MAX, .state = PP_WIRE_DIED, .step = INT64_MAX, .recording = 1}};
static unsigned char data[PP_WIRE_PIECE + 1];

static const struct pp_wire_gather gather = {.gather = 8,
                                             .cut = 2,
                                             .number = 1,
                                             .from = INT64_MIN,
                                             .to = INT64_MAX,
                                             .from_realtime = -5,
                                             .to_realtime = 5,
                                             .first = 10,
                                             .last = 20,
                                             .session = "2026_11_21_17_00_00",
                                             .token = ".shared-1234",
                                             .host = "h1-2",
                                             .has_steps = 1,
                                             .tick0 = UINT64_MAX,
                                             .num = 1ULL << 40,
                                             .ns0 = -7,
                                             .bound = 100,
                                             .epoch_realtime = INT64_MAX,
                                             .shift = 31,
                                             .clock = {"boot", "monotonic 5 0", 1}};

static struct pp_wire doctor_sample(enum pp_wire_kind kind)
{
	struct pp_wire m = {.kind = kind, .sequence = 77};

	if (kind == PP_WIRE_DOCTOR_COMMAND)
		m.doctor_command = (struct pp_wire_doctor_command){5};
	else if (kind == PP_WIRE_DOCTOR_HOST)
		m.doctor_host = (struct pp_wire_doctor_host){"h\xc3\xa9",
		                                             "boot",
		                                             "+1.000000000 s",
		                                             "the kernel counts by hpet",
		                                             "kernel, chronyd",
		                                             INT32_MAX,
		                                             8,
		                                             2,
		                                             1,
		                                             1,
		                                             1,
		                                             -5,
		                                             INT64_MAX,
		                                             INT64_MIN,
		                                             2.5,
		                                             1e-300,
		                                             9.75};
	else if (kind == PP_WIRE_DOCTOR_READING)
		m.doctor_reading = (struct pp_wire_doctor_reading){INT64_MIN, INT64_MAX, 20, -1, 1LL << 62, 49.5, 3.1, 4e-8};
	else
		m.doctor_raw = (struct pp_wire_doctor_raw){.parent = 1,
		                                           .nodes = 2,
		                                           .two = 1,
		                                           .x = {1, -2},
		                                           .y = {INT64_MIN, INT64_MAX},
		                                           .half = {0.5, 1e9},
		                                           .least = 0.25,
		                                           .bound = INT64_MAX,
		                                           .date_y = -7,
		                                           .date_y_bound = 8,
		                                           .trips = UINT64_MAX,
		                                           .lost = 9};
	return m;
}

static struct pp_wire sample(enum pp_wire_kind kind)
{
	struct pp_wire m = {.kind = kind, .sequence = 77};

	if (kind == PP_WIRE_HELLO)
		m.hello = (struct pp_wire_hello){1,    "job", "host-\xc3\xa9",   "0.1.0", 0xfedcba9876543210ULL,
		                                 rank, 3,     {"boot", "ns", 1}, 2};
	else if (kind == PP_WIRE_HELLO_ACK)
		m.hello_ack = (struct pp_wire_hello_ack){1, 3, "2026_11_21_17_00_00", NULL, 9, "h0"};
	else if (kind == PP_WIRE_HEARTBEAT)
		m.heartbeat = (struct pp_wire_heartbeat){UINT64_MAX, INT64_MIN, rank, 2, 1ULL << 63, 1};
	else if (kind == PP_WIRE_BYE)
		m.bye.reason = "ranks have ended";
	else if (kind == PP_WIRE_BLOCK || kind == PP_WIRE_FILE)
		m.piece = (struct pp_wire_piece){4, "h1.xplane.pb", 1ULL << 40, (1ULL << 40) + 1000, data, 1000};
	else if (kind == PP_WIRE_REQUEST)
		m.request = (struct pp_wire_request){7, 2, INT64_MIN, INT64_MAX, 42};
	else if (kind == PP_WIRE_GATHER)
		m.gather = gather;
	else if (kind == PP_WIRE_SHARE)
		m.share = (struct pp_wire_share){8, 1ULL << 40, -28, "no space", 2};
	else if (kind == PP_WIRE_COMPARE)
		m.compare = (struct pp_wire_compare){64,   65535, (const uint8_t *)"0123456789abcdef", 16, 1, 7, 2, "10.0.0.1 ::1",
		                                     "h7", 511};
	else if (kind == PP_WIRE_CLOCK)
		m.clock = (struct pp_wire_clock_place){1ULL << 40, 7, 65535, 2, "10.0.0.2", 1, data, 40};
	else if (kind >= PP_WIRE_DOCTOR_COMMAND)
		m = doctor_sample(kind);
	else
		m.text = (struct pp_wire_text){kind == PP_WIRE_CLIENT_TEXT ? 9 : 0, kind == PP_WIRE_CLIENT_TEXT, "wait\n", 5};
	return m;
}

static int ranks_equal(const struct pp_wire_rank *a, const struct pp_wire_rank *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (a[i].rank != b[i].rank || a[i].pid != b[i].pid || a[i].state != b[i].state || a[i].step != b[i].step ||
		    a[i].marks != b[i].marks || a[i].recording != b[i].recording || a[i].over != b[i].over ||
		    a[i].request != b[i].request || a[i].first != b[i].first || a[i].last != b[i].last ||
		    a[i].windows_passed != b[i].windows_passed || a[i].signals != b[i].signals || a[i].call != b[i].call ||
		    a[i].sequence != b[i].sequence || a[i].comm != b[i].comm || a[i].peer != b[i].peer)
			return 0;
	return 1;
}

static void compare_gather(const struct pp_wire_gather *b)
{
	CHECK(b->gather == 8 && b->cut == 2 && b->number == 1 && b->from == INT64_MIN && b->to == INT64_MAX);
	CHECK(b->from_realtime == -5 && b->to_realtime == 5 && b->first == 10 && b->last == 20);
	CHECK(b->tick0 == UINT64_MAX && b->num == 1ULL << 40 && b->ns0 == -7 && b->bound == 100 && b->shift == 31);
	CHECK(b->epoch_realtime == INT64_MAX && b->clock.tick_kind == 1);
	CHECK_STR(b->session, gather.session);
	CHECK_STR(b->token, gather.token);
	CHECK_STR(b->host, "h1-2");
	CHECK_INT(b->has_steps, 1);
	CHECK_STR(b->clock.boot_id, "boot");
	CHECK_STR(b->clock.timens, "monotonic 5 0");
}

static void compare_doctor(const struct pp_wire *a, const struct pp_wire *b)
{
	const struct pp_wire_doctor_host *h = &a->doctor_host, *g = &b->doctor_host;
	const struct pp_wire_doctor_raw *r = &a->doctor_raw, *s = &b->doctor_raw;

	if (a->kind == PP_WIRE_DOCTOR_COMMAND) {
		CHECK_INT(b->doctor_command.kind, 5);
	} else if (a->kind == PP_WIRE_DOCTOR_HOST) {
		CHECK(!memcmp(h->name, g->name,
		              offsetof(struct pp_wire_doctor_host, rank) - offsetof(struct pp_wire_doctor_host, name)));
		CHECK(g->rank == INT32_MAX && g->local_size == 8 && g->tick_kind == 2);
		CHECK(g->stamps && g->claims && g->synchronised && g->error_ns == -5 && g->error_most_ns == INT64_MAX);
		CHECK(g->frequency_ppb == INT64_MIN && h->ticks_per_ns == g->ticks_per_ns && h->cost_ns == g->cost_ns);
		CHECK(h->resolution_ns == g->resolution_ns);
	} else if (a->kind == PP_WIRE_DOCTOR_READING) {
		CHECK(!memcmp(&a->doctor_reading, &b->doctor_reading, sizeof(a->doctor_reading))); /* no padding */
	} else {
		CHECK(s->parent == 1 && s->nodes == 2 && s->two);
		CHECK(!memcmp(r->x, s->x, sizeof(*r) - offsetof(struct pp_wire_doctor_raw, x))); /* no padding */
	}
}

static void compare_small(const struct pp_wire *a, const struct pp_wire *b)
{
	if (a->kind == PP_WIRE_BYE) {
		CHECK_STR(b->bye.reason, a->bye.reason);
	} else if (a->kind == PP_WIRE_REQUEST) {
		CHECK(b->request.number == 7 && b->request.kind == 2 && b->request.first == INT64_MIN &&
		      b->request.last == INT64_MAX && b->request.level == 42);
	} else if (a->kind == PP_WIRE_SHARE) {
		CHECK(b->share.gather == 8 && b->share.block == 1ULL << 40 && b->share.code == -28 && b->share.files == 2);
		CHECK_STR(b->share.reason, "no space");
	} else if (a->kind == PP_WIRE_COMPARE) {
		CHECK(b->compare.domain == 64 && b->compare.port == 65535 && b->compare.key_size == 16 && b->compare.same);
		CHECK(!memcmp(b->compare.key, "0123456789abcdef", 16));
		CHECK(b->compare.parent == 7 && b->compare.hops == 2 && b->compare.serves == 511);
		CHECK_STR(b->compare.addresses, "10.0.0.1 ::1");
		CHECK_STR(b->compare.host, "h7");
	} else if (a->kind == PP_WIRE_CLOCK) {
		CHECK(b->clock.round == 1ULL << 40 && b->clock.parent == 7 && b->clock.port == 65535 && b->clock.verdict == 2);
		CHECK(b->clock.lost && b->clock.chain_size == 40 && !memcmp(b->clock.chain, data, 40));
		CHECK_STR(b->clock.addresses, "10.0.0.2");
	} else {
		CHECK(b->text.client == a->text.client && b->text.ended == a->text.ended);
		CHECK(b->text.size == 5 && !memcmp(b->text.text, "wait\n", 5));
	}
}

static void compare(const struct pp_wire *a, const struct pp_wire *b)
{
	CHECK_INT(a->kind, b->kind);
	CHECK(a->sequence == b->sequence);
	if (a->kind == PP_WIRE_HELLO) {
		CHECK_STR(b->hello.job, a->hello.job);
		CHECK_STR(b->hello.host, a->hello.host);
		CHECK_STR(b->hello.version, a->hello.version);
		CHECK(a->hello.instance == b->hello.instance && a->hello.protocol == b->hello.protocol && b->hello.ranks == 3);
		CHECK(ranks_equal(a->hello.rank, b->hello.rank, 3) && b->hello.clock.tick_kind == 1 && b->hello.transport == 2);
		CHECK_STR(b->hello.clock.boot_id, "boot");
	} else if (a->kind == PP_WIRE_HELLO_ACK) {
		CHECK_STR(b->hello_ack.session, a->hello_ack.session);
		CHECK_STR(b->hello_ack.refused, "");
		CHECK_STR(b->hello_ack.host, "h0");
		CHECK(b->hello_ack.instance == 9 && b->hello_ack.host_index == 3);
	} else if (a->kind == PP_WIRE_HEARTBEAT) {
		CHECK(b->heartbeat.received == UINT64_MAX && b->heartbeat.job_ns == INT64_MIN && b->heartbeat.ranks == 2);
		CHECK(ranks_equal(rank, b->heartbeat.rank, 2) && b->heartbeat.over && b->heartbeat.first_tick == 1ULL << 63);
	} else if (a->kind == PP_WIRE_BLOCK || a->kind == PP_WIRE_FILE) {
		CHECK_STR(b->piece.name, a->piece.name);
		CHECK(a->piece.gather == b->piece.gather && a->piece.offset == b->piece.offset && a->piece.total == b->piece.total);
		CHECK(b->piece.size == 1000 && !memcmp(b->piece.bytes, data, 1000));
	} else if (a->kind == PP_WIRE_GATHER) {
		compare_gather(&b->gather);
	} else if (a->kind >= PP_WIRE_DOCTOR_COMMAND) {
		compare_doctor(a, b);
	} else {
		compare_small(a, b);
	}
}

static int next_kind(int kind)
{
	return kind == PP_WIRE_HELLO_ACK ? PP_WIRE_BLOCK : kind + 1;
}

TEST(round_trip)
{
	for (int kind = PP_WIRE_HELLO; kind < PP_WIRE_KINDS; kind = next_kind(kind)) {
		struct pp_wire m = sample((enum pp_wire_kind)kind), back;
		struct pp_err err = {""};
		size_t size = 0;
		void *bytes = NULL;

		CHECK_INT(pp_wire_write(&m, &bytes, &size, &err), 0);
		CHECK_INT(pp_wire_read(bytes, size, &back, &err), 0);
		compare(&m, &back);
		pp_wire_release(&back);
		free(bytes);
	}
}

static void refused(struct pp_wire m, const char *why)
{
	struct pp_err err = {""};
	void *bytes = NULL;
	size_t size;

	CHECK(pp_wire_write(&m, &bytes, &size, &err) == -EINVAL);
	CHECK(strstr(err.text, why) != NULL);
	CHECK(bytes == NULL);
}

TEST(rules)
{
	static char longer[PP_WIRE_TEXT + 2];
	static const char *const name[] = {"", "..", ".", "a/b", "/etc/passwd", "a\nb"};
	struct pp_wire m;

	memset(longer, 'a', PP_WIRE_TEXT + 1);
	m = sample(PP_WIRE_HELLO), m.hello.host = longer, refused(m, "too long");
	m = sample(PP_WIRE_HELLO), m.hello.host = "evil\033[2J", refused(m, "control");
	m = sample(PP_WIRE_HELLO), m.hello.ranks = PP_WIRE_RANKS + 1, refused(m, "too many");
	m = sample(PP_WIRE_GATHER), m.gather.from = 5, m.gather.to = 4, refused(m, "before it begins");
	m = sample(PP_WIRE_GATHER), m.gather.session = "../x", refused(m, "name");
	m = sample(PP_WIRE_GATHER), m.gather.session = ".x", refused(m, "name");
	m = sample(PP_WIRE_GATHER), m.gather.token = "a/b", refused(m, "name");
	m = sample(PP_WIRE_GATHER), m.gather.shift = 64, refused(m, "clock");
	m = sample(PP_WIRE_GATHER), m.gather.num = 1ULL << 62, refused(m, "clock");
	m = sample(PP_WIRE_GATHER), m.gather.from_realtime = INT64_MIN + 1, refused(m, "date");
	m = sample(PP_WIRE_GATHER), m.gather.to_realtime = INT64_MAX - 1, refused(m, "date");
	m = sample(PP_WIRE_GATHER), m.gather.from_realtime = INT64_MAX - 9, m.gather.to_realtime = INT64_MAX - 1; /* in 2262 */
	CHECK(pp_wire_fault(&m) == NULL);
	m = sample(PP_WIRE_COMPARE), m.compare.key_size = 15, refused(m, "key");
	m = sample(PP_WIRE_COMPARE), m.compare.port = 0, refused(m, "port");
	m = sample(PP_WIRE_COMPARE), m.compare.parent = 64, refused(m, "place");
	m = sample(PP_WIRE_COMPARE), m.compare.domain = 0, refused(m, "place");
	m = sample(PP_WIRE_CLOCK), m.clock.port = 65536, refused(m, "port");
	m = sample(PP_WIRE_CLOCK), m.clock.chain_size = PP_WIRE_CHAIN + 1, refused(m, "too long");
	m = sample(PP_WIRE_DOCTOR_HOST), memset(m.doctor_host.name, 'a', sizeof(m.doctor_host.name)), refused(m, "too long");
	m = sample(PP_WIRE_DOCTOR_HOST), m.doctor_host.name[0] = 0x1b, refused(m, "control");
	m = sample(PP_WIRE_DOCTOR_HOST), m.doctor_host.rank = -1, refused(m, "range");
	m = sample(PP_WIRE_DOCTOR_HOST), m.doctor_host.local_size = -1, refused(m, "range");
	m = sample(PP_WIRE_DOCTOR_HOST), m.doctor_host.ticks_per_ns = 0, refused(m, "range");
	m = sample(PP_WIRE_DOCTOR_RAW), m.doctor_raw.nodes = 3, refused(m, "bursts");
	m = sample(PP_WIRE_SHARE), m.share.code = 1, refused(m, "code");
	m = sample(PP_WIRE_CLIENT_TEXT), m.text.size = PP_WIRE_LONG_TEXT + 1, refused(m, "too long");
	m = sample(PP_WIRE_BLOCK), m.piece.size = sizeof(data), m.piece.total = UINT64_MAX, refused(m, "larger");
	m = sample(PP_WIRE_BLOCK), m.piece.total = m.piece.offset + 999, refused(m, "larger");
	m = sample(PP_WIRE_BLOCK), m.piece.offset = UINT64_MAX, refused(m, "larger");
	m = sample(PP_WIRE_BYE), m.kind = (enum pp_wire_kind)99, refused(m, "unknown kind");
	for (size_t i = 0; i < sizeof(name) / sizeof(name[0]); i++) {
		m = sample(PP_WIRE_FILE);
		m.piece.name = name[i];
		refused(m, i < 5 ? "name" : "control");
	}
}

/* Bytes of one sample with some of them changed, cut or grown: read, or refused with a sentence. */
static void mutate(const uint8_t *from, size_t n, int *taken)
{
	struct pp_wire m;
	struct pp_err err = {""};
	uint8_t *copy = malloc(n + 16);
	size_t size = n;

	if (!copy)
		return;
	memcpy(copy, from, n);
	memset(copy + n, 0xff, 16);
	for (uint64_t k = 1 + next_random() % 4; k; k--)
		copy[next_random() % n] = (uint8_t)next_random();
	if (next_random() % 4 == 0)
		size = next_random() % (n + 16);
	if (pp_wire_read(copy, size, &m, &err) == 0) {
		void *again = NULL;
		size_t again_size;

		/* What is taken keeps the sender's rules too. */
		CHECK_INT(pp_wire_write(&m, &again, &again_size, &err), 0);
		free(again);
		pp_wire_release(&m);
		(*taken)++;
	} else {
		CHECK(err.text[0] != '\0');
	}
	free(copy);
}

TEST(hostile_bytes)
{
	int taken = 0;

	for (int kind = PP_WIRE_HELLO; kind < PP_WIRE_KINDS; kind = next_kind(kind)) {
		struct pp_wire m = sample((enum pp_wire_kind)kind);
		size_t size = 0;
		void *bytes = NULL;

		CHECK_INT(pp_wire_write(&m, &bytes, &size, NULL), 0);
		for (int i = 0; bytes && i < 5000; i++)
			mutate(bytes, size, &taken);
		free(bytes);
	}
	CHECK(taken > 100 && taken < 59000);
}

/* The array that a text is copied to is smaller than the text. */
TEST(text_beyond_array)
{
	struct pp_wire m = sample(PP_WIRE_DOCTOR_HOST);
	struct pp_err err = {""};
	uint8_t *why = NULL;
	void *bytes = NULL;
	size_t size = 0;

	memset(m.doctor_host.why, 'a', 90);
	m.doctor_host.why[90] = '\0';
	CHECK_INT(pp_wire_write(&m, &bytes, &size, &err), 0);
	why = bytes ? memmem(bytes, size, "\x22\x5a\x61\x61", 4) : NULL; /* field 4, 90 bytes */
	CHECK(why != NULL);
	if (why)
		*why = 1 << 3 | 2; /* a name */
	CHECK_INT(pp_wire_read(bytes, size, &m, &err), -EBADMSG);
	CHECK(strstr(err.text, "too long") != NULL);
	free(bytes);
}

/* Many empty parts: the frame is small, what it unpacks to is not. */
TEST(bomb)
{
	size_t n = PP_WIRE_MAX - 8, parts = (n - 5) / 2, inner = parts * 2;
	uint8_t *bytes = malloc(PP_WIRE_MAX + 1), *p = bytes;
	struct pp_wire m;
	struct pp_err err = {""};

	if (!bytes)
		return;
	*p++ = 12 << 3 | 2; /* heartbeat */
	for (uint64_t v = inner;; v >>= 7) {
		*p++ = (uint8_t)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
		if (v <= 0x7f)
			break;
	}
	for (size_t i = 0; i < parts; i++) {
		*p++ = 3 << 3 | 2;
		*p++ = 0;
	}
	CHECK(pp_wire_read(bytes, (size_t)(p - bytes), &m, &err) == -EBADMSG);
	CHECK(pp_wire_read(bytes, PP_WIRE_MAX + 1, &m, &err) == -EBADMSG);
	CHECK(strstr(err.text, "too long") != NULL);
	free(bytes);
}

int main(void)
{
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (unsigned char)next_random();
	round_trip();
	rules();
	hostile_bytes();
	text_beyond_array();
	bomb();
	return test_end();
}
