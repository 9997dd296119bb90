/* Bytes that others may have made, changed again and again: messages and shares of other hosts, invitations, lines of requests,
 * options of a spool. Nothing crashes, and what is taken is in its range. Rounds by number, so that each run is the same; with
 * PODPROF_LONG=1 for a minute. Called by ctest security_fuzz. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "aggregate/analyze/finish.h"
#include "aggregate/dataset/merge.h"
#include "aggregate/keeper/capture/capture_request.h"
#include "aggregate/keeper/live.h"
#include "aggregate/keeper/net/rendezvous.h"
#include "aggregate/spool/settings.h"
#include "aggregate/spool/view.h"
#include "aggregate/tools/tools.h"
#include "aggregate/write/text/text.h"
#include "core/base/opt.h"
#include "core/base/rank_list.h"
#include "tests/unit/aggregate/dataset/block_kit.h"

enum { ROUNDS = 1500, MINUTE = 60, HEAD = 40, INPUT = 4096 };

static char dir[64];
static int taken[8]; /* by target: how often the bytes made sense */

/* Some bytes replaced, cut, doubled or moved; numbers get the values that hurt. `room` bytes are there. */
static size_t change(uint8_t *p, size_t n, size_t room)
{
	static const char *const odd[] = {
	        "0", "-1", "99999999999999999999", "9223372036854775807", "\n", "=", "/../", "%n", "\x1b[2J", "\xff", ","};

	for (uint64_t k = 1 + kit_random(4); k && n; k--) {
		size_t at = kit_random(n), length = 1 + kit_random(8);
		const char *text = odd[kit_random(sizeof(odd) / sizeof(odd[0]))];

		switch (kit_random(6)) {
		case 0:
			n = at;
			break;
		case 1:
			if (at + strlen(text) <= room) {
				memcpy(p + at, text, strlen(text));
				n = at + strlen(text) > n ? at + strlen(text) : n;
			}
			break;
		case 2:
			if (n + length <= room && at + length <= n) {
				memmove(p + at + length, p + at, n - at);
				n += length;
			}
			break;
		case 3:
			p[at] ^= (uint8_t)(1u << kit_random(8));
			break;
		default:
			p[at] = (uint8_t)(kit_random(3) ? kit_random(256) : 0xff);
		}
	}
	return n;
}

static void *copy_of(const void *bytes, size_t n, size_t room)
{
	uint8_t *copy = calloc(1, room + 1);

	if (copy && n)
		memcpy(copy, bytes, n);
	return copy;
}

static struct pp_wire message(void)
{
	static struct pp_wire_rank rank[2] = {{.rank = 1, .pid = 7, .state = PP_WIRE_RUNNING, .step = 9, .peer = -1},
	                                      {.rank = 3, .pid = 8, .state = PP_WIRE_DIED, .step = INT64_MIN, .peer = 2}};
	static const struct pp_wire_clock clock = {"boot", "", 1};
	struct pp_wire m = {.sequence = kit_random(0)};

	switch (kit_random(7)) {
	case 0:
		m.kind = PP_WIRE_HELLO;
		m.hello = (struct pp_wire_hello){.protocol = 1,
		                                 .job = "j",
		                                 .host = "h",
		                                 .version = "v",
		                                 .instance = 5,
		                                 .rank = rank,
		                                 .ranks = 2,
		                                 .clock = clock};
		break;
	case 1:
		m.kind = PP_WIRE_FILE;
		m.piece = (struct pp_wire_piece){1, "h.xplane.pb", 10, 30, "0123456789", 10};
		break;
	case 2:
		m.kind = PP_WIRE_HEARTBEAT;
		m.heartbeat = (struct pp_wire_heartbeat){.received = 3, .rank = rank, .ranks = 2};
		break;
	case 3:
		m.kind = PP_WIRE_GATHER;
		m.gather = (struct pp_wire_gather){.gather = 1, .session = "s", .token = ".t", .num = 1, .clock = clock};
		break;
	case 4:
		m.kind = PP_WIRE_CLIENT_TEXT;
		m.text = (struct pp_wire_text){.client = 2, .text = "podprof 1 status\n", .size = 17};
		break;
	case 5:
		m.kind = PP_WIRE_SHARE;
		m.share = (struct pp_wire_share){1, 100, -5, "why", 2};
		break;
	default:
		m.kind = PP_WIRE_REQUEST;
		m.request = (struct pp_wire_request){1, 1, 10, 20, 6};
	}
	return m;
}

static void wire(void)
{
	struct pp_wire m = message(), back;
	struct pp_err err = {""};
	void *bytes = NULL, *again = NULL;
	uint8_t *copy;
	size_t n = 0;

	CHECK_INT(pp_wire_write(&m, &bytes, &n, &err), 0);
	CHECK_STR(err.text, "");
	copy = copy_of(bytes, n, n + 64);
	n = change(copy, n, n + 64);
	if (pp_wire_read(copy, n, &back, &err) == 0) {
		CHECK(!pp_wire_fault(&back));
		CHECK_INT(pp_wire_write(&back, &again, &n, &err), 0);
		pp_wire_release(&back);
		taken[0]++;
	} else {
		CHECK(err.text[0] && !strchr(err.text, '\n'));
	}
	free(again);
	free(copy);
	free(bytes);
}

/* The inside of a share, packed again with a head that is right. */
static size_t repack(const uint8_t *from, size_t n, uint8_t **ret_bytes)
{
	uint64_t sizes[2];
	uLongf unpacked, packed;
	uint8_t *inner, *bytes;
	uint32_t checksum;

	memcpy(sizes, from + 16, sizeof(sizes));
	unpacked = sizes[0];
	inner = calloc(1, unpacked + 65);
	CHECK_INT(uncompress(inner, &unpacked, from + HEAD, n - HEAD), Z_OK);
	sizes[0] = change(inner, unpacked, unpacked + 64);
	packed = compressBound(sizes[0]);
	bytes = calloc(1, HEAD + packed);
	memcpy(bytes, from, HEAD);
	CHECK_INT(compress2(bytes + HEAD, &packed, inner, sizes[0], 1), Z_OK);
	sizes[1] = packed;
	checksum = (uint32_t)crc32_z(0, bytes + HEAD, packed);
	memcpy(bytes + 16, sizes, sizeof(sizes));
	memcpy(bytes + 32, &checksum, sizeof(checksum));
	free(inner);
	*ret_bytes = bytes;
	return HEAD + packed;
}

/* All that a leader does with a share that it took. */
static void use(const struct pp_dataset *good, struct pp_dataset *share)
{
	const struct pp_dataset *part[2] = {good, share};
	struct pp_dataset all;
	FILE *nowhere;

	if (pp_dataset_merge(part, 2, &all, NULL))
		return;
	if (!pp_dataset_finish(&all, NULL) && !pp_tools_run(&all, NULL) && (nowhere = fopen("/dev/null", "w"))) {
		pp_text_write(&all, NULL, nowhere);
		fclose(nowhere);
	}
	pp_dataset_release(&all);
}

static void share(void)
{
	struct pp_intern *names = pp_intern_new();
	struct pp_dataset good = kit_dataset(names, 1 + kit_random(3), kit_random(6), kit_random(6));
	struct pp_dataset other = kit_dataset(names, 1 + kit_random(3), kit_random(6), kit_random(6)), back;
	uint8_t *changed = NULL;
	void *bytes = NULL;
	size_t n = 0;

	CHECK_INT(pp_block_write(&other, &bytes, &n, NULL), 0);
	for (int i = 0; i < 8; i++) {
		struct pp_err err = {""};
		size_t size = repack(bytes, n, &changed);

		if (pp_block_read(changed, size, names, &back, &err) == 0) {
			use(&good, &back);
			pp_dataset_release(&back);
			taken[1]++;
		} else {
			CHECK(err.text[0] && !strchr(err.text, '\n'));
		}
		free(changed);
	}
	free(bytes);
	pp_dataset_release(&good);
	pp_dataset_release(&other);
	pp_intern_free(names);
}

static void invitation(void)
{
	struct pp_net_invite v = {.job = "j", .addresses = 1, .port = 7, .address = {"10.0.0.1"}}, back;
	char text[PP_RENDEZVOUS_TEXT + 65] = "";
	size_t n;

	memset(v.server_public, 'a', PP_NET_KEY - 1);
	memset(v.client_public, 'b', PP_NET_KEY - 1);
	memset(v.client_secret, 'c', PP_NET_KEY - 1);
	pp_rendezvous_print(&v, text);
	n = change((uint8_t *)text, strlen(text), sizeof(text) - 1);
	text[n] = '\0';
	if (pp_rendezvous_parse(text, &back))
		return;
	CHECK(back.port && back.addresses && back.addresses <= PP_NET_ADDRESSES && strlen(back.client_secret) == PP_NET_KEY - 1);
	taken[2]++;
}

static void request(void)
{
	static const char *const line[] = {"podprof 1 capture steps=5 ranks=0,3-5", "podprof 1 capture last=2000000000",
	                                   "podprof 1 status", "podprof 1 capture duration=1 ranks=1-4294967295"};
	char text[INPUT];
	struct pp_capture_request w;
	struct pp_err err = {""};
	struct pp_rank_list list;
	size_t n;

	snprintf(text, sizeof(text), "%s", line[kit_random(4)]);
	n = change((uint8_t *)text, strlen(text), sizeof(text) - 1);
	text[n] = '\0';
	if (pp_capture_request_parse(text, &w, &err) == 0) {
		CHECK(w.kind == PP_CAPTURE_REQUEST_STATUS || (w.amount > 0 && w.amount <= INT64_MAX / 8));
		CHECK(pp_capture_request_line(&w, text, sizeof(text)) < PP_CAPTURE_REQUEST_LINE + 64);
		text[strcspn(text, "\n")] = '\0';
		CHECK(pp_capture_request_parse(text, &w, &err) == 0);
		taken[3]++;
	} else {
		CHECK(err.text[0] && !strchr(err.text, '\n'));
	}
	taken[4] += pp_rank_list_parse(text, &list, NULL) == 0;
}

static void status_line(void)
{
	struct pp_live_rank r = {.rank = 3, .size = 8, .pid = 4711, .host = "h", .step = 12}, back;
	char text[INPUT];
	size_t n;

	pp_live_put(&r, text, sizeof(text));
	n = change((uint8_t *)text, strlen(text), sizeof(text) - 1);
	text[n] = '\0';
	taken[5] += pp_live_get(text, &back) == 0;
}

static void options(void)
{
	static struct pp_settings s;
	char text[INPUT] = "", path[128];
	size_t n = 0;
	int fd;

	for (int i = 0; i < PP_OPTS; i++) {
		const char *value = kit_random(2) ? pp_opt_table[i].fallback : "10:20,30:40";

		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s=%s\n", pp_opt_table[i].env + 8, value);
	}
	n = change((uint8_t *)text, n, sizeof(text));
	snprintf(path, sizeof(path), "%s/options", dir);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	CHECK(fd >= 0 && write(fd, text, n) == (ssize_t)n);
	close(fd);
	CHECK_INT(pp_settings_read(dir, &s, NULL), 0);
	CHECK(s.windows.count <= (int)(sizeof(s.windows.first) / sizeof(s.windows.first[0])) &&
	      memchr(s.output, 0, sizeof(s.output)));
	taken[6]++;
}

int main(void)
{
	const char *longer = getenv("PODPROF_LONG");
	time_t end = time(NULL) + MINUTE;
	char path[128];

	snprintf(dir, sizeof(dir), "/tmp/podprof-fuzz-XXXXXX");
	if (!mkdtemp(dir))
		return 77;
	for (int i = 0; (longer ? time(NULL) < end : i < ROUNDS) && test_failures < 20; i++) {
		for (int k = 0; k < 20; k++)
			wire();
		if (i % 4 == 0)
			share();
		invitation();
		for (int k = 0; k < 5; k++)
			request();
		status_line();
		if (i % 4 == 1)
			options();
	}
	for (int i = 0; i < 7; i++)
		CHECK(taken[i] > 10);
	snprintf(path, sizeof(path), "%s/options", dir);
	unlink(path);
	rmdir(dir);
	return test_end();
}
