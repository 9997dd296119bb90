/* Writes inputs that are right into folders of corpora, for libFuzzer to change. Usage: make_seeds tests/fuzz/corpus
 * Rings are made by ring_items.c. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "aggregate/fleet/job.h"
#include "aggregate/keeper/clock/clock_file.h"
#include "aggregate/keeper/live.h"
#include "aggregate/keeper/net/rendezvous.h"
#include "core/base/known.h"
#include "core/base/opt.h"
#include "core/ring/ring_file.h"
#include "proto/message.h"
#include "tests/unit/aggregate/dataset/block_kit.h"

static const char *to;

/* `first`: the byte that chooses, in targets that have several readers; -1: none. */
static void put(const char *folder, const char *name, int first, const void *bytes, size_t size)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", to, folder);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/%s/%s", to, folder, name);
	f = fopen(path, "wb");
	if (!f)
		exit(1);
	if (first >= 0)
		fputc(first, f);
	fwrite(bytes, 1, size, f);
	if (fclose(f))
		exit(1);
}

static void put_text(const char *folder, const char *name, int first, const char *text)
{
	put(folder, name, first, text, strlen(text));
}

static void blocks(void)
{
	for (int i = 0; i < 4; i++) {
		struct pp_intern *names = pp_intern_new();
		struct pp_dataset d = kit_dataset(names, 1 + (size_t)i / 2, (size_t)i, (size_t)i);
		void *bytes = NULL;
		uint64_t unpacked;
		uLongf n;
		size_t size;
		uint8_t *inner;
		char name[16];

		if (pp_block_write(&d, &bytes, &size, NULL))
			exit(1);
		memcpy(&unpacked, (char *)bytes + 16, sizeof(unpacked));
		n = unpacked;
		inner = malloc(n);
		if (!inner || uncompress(inner, &n, (uint8_t *)bytes + 40, size - 40) != Z_OK)
			exit(1);
		snprintf(name, sizeof(name), "made-%d", i);
		put("block", name, -1, inner, n);
		free(inner);
		free(bytes);
		pp_dataset_release(&d);
		pp_intern_free(names);
	}
}

static void wire(const char *name, struct pp_wire m)
{
	void *bytes = NULL;
	size_t size;

	if (pp_wire_write(&m, &bytes, &size, NULL))
		exit(1);
	put("wire", name, -1, bytes, size);
	free(bytes);
}

static void wires(void)
{
	static struct pp_wire_rank rank[2] = {{.rank = 1, .pid = 7, .state = PP_WIRE_RUNNING, .step = 9, .peer = -1, .nccl = "a"},
	                                      {.rank = 3, .pid = 8, .state = PP_WIRE_DIED, .step = INT64_MIN, .members = "0:2:1,"}};
	static const struct pp_wire_clock clock = {"boot", "", 1};
	static const uint8_t key[PP_WIRE_KEY] = {1, 2, 3}, chain[64] = {0};
	struct pp_wire_hello hello = {1, "job", "host", "0.1", 5, rank, 2, {"boot", "", 1}, 1};
	struct pp_wire_gather gather = {.gather = 1, .session = "s", .token = ".t", .ranks = "0-3", .num = 1, .epoch_realtime = 1};

	gather.clock = clock;
	wire("hello", (struct pp_wire){.kind = PP_WIRE_HELLO, .sequence = 1, .hello = hello});
	wire("ack", (struct pp_wire){.kind = PP_WIRE_HELLO_ACK, .hello_ack = {1, 2, "s", "", 5, "host"}});
	wire("file", (struct pp_wire){.kind = PP_WIRE_FILE, .piece = {1, "h.xplane.pb", 10, 30, "0123456789", 10}});
	wire("heartbeat", (struct pp_wire){.kind = PP_WIRE_HEARTBEAT, .heartbeat = {3, 4, rank, 2, 5, 0}});
	wire("bye", (struct pp_wire){.kind = PP_WIRE_BYE, .bye = {"why"}});
	wire("request", (struct pp_wire){.kind = PP_WIRE_REQUEST, .request = {1, 1, 10, 20}});
	wire("text", (struct pp_wire){.kind = PP_WIRE_CLIENT_TEXT, .text = {2, 0, "podprof 1 status\n", 17}});
	wire("gather", (struct pp_wire){.kind = PP_WIRE_GATHER, .gather = gather});
	wire("share", (struct pp_wire){.kind = PP_WIRE_SHARE, .share = {1, 100, -5, "why", 2}});
	wire("compare",
	     (struct pp_wire){.kind = PP_WIRE_COMPARE, .compare = {1, 7, key, sizeof(key), 0, 0, 1, "10.0.0.1", "h", 2}});
	wire("clock", (struct pp_wire){.kind = PP_WIRE_CLOCK, .clock = {1, 0, 7, 1, "10.0.0.1", 0, chain, sizeof(chain)}});
	wire("doctor", (struct pp_wire){.kind = PP_WIRE_DOCTOR_HOST, .doctor_host = {.name = "h", .ticks_per_ns = 1}});
	wire("reading", (struct pp_wire){.kind = PP_WIRE_DOCTOR_READING, .doctor_reading = {.tick = 5, .ticks_per_ns = 1}});
	wire("raw", (struct pp_wire){.kind = PP_WIRE_DOCTOR_RAW, .doctor_raw = {.nodes = 2, .x = {1, 2}, .y = {3, 4}}});
}

static void lines(void)
{
	struct pp_live_rank r = {
	        .rank = 3, .size = 8, .pid = 4711, .host = "h", .step = 12, .members = "0:4:1,", .call = "MPI_Wait"};
	struct pp_net_invite v = {.job = "j", .addresses = 1, .port = 7, .address = {"10.0.0.1"}};
	char text[PP_RENDEZVOUS_TEXT + PP_LIVE_LINE];

	memset(v.server_public, 'a', PP_NET_KEY - 1);
	memset(v.client_public, 'b', PP_NET_KEY - 1);
	memset(v.client_secret, 'c', PP_NET_KEY - 1);
	put_text("line", "steps", 0, "podprof 1 capture steps=5 ranks=0,3-5");
	put_text("line", "last", 0, "podprof 1 capture last=2000000000");
	put_text("line", "duration", 0, "podprof 1 capture duration=1 ranks=1-4294967295");
	put_text("line", "list", 0, "podprof 1 status");
	put_text("line", "ranks", 1, "0,3-5,7");
	pp_live_put(&r, text, sizeof(text));
	text[strcspn(text, "\n")] = '\0';
	put_text("line", "status", 2, text);
	put_text("line", "nccl", 3, "nccl 1234 2 8 all_reduce 5 4");
	pp_rendezvous_print(&v, text);
	put_text("line", "invitation", 4, text);
}

static void spools(void)
{
	static struct pp_control control = {
	        .version = PP_RING_VERSION, .byte_order = PP_RING_BYTE_ORDER, .message = "cannot write"};
	struct pp_clock_file_head head = {.parent = 0, .self = 1, .tick_kind = 1, .ticks_per_ns = 1, .rate = 1, .wander = 1e-7};
	struct pp_clock_file_burst burst[2] = {{.trips = 5}, {.trips = 9}};
	struct pp_clock_file file = {.records = 0};
	char options[8192] = "JOB=7\nCOMMAND=./train --size 3\nVERSION=0.1\n", where[64] = "/tmp/podprof-seeds-XXXXXX", text[16384];
	size_t n = strlen(options);
	FILE *f;

	for (int i = 0; i < PP_OPTS; i++)
		n += (size_t)snprintf(options + n, sizeof(options) - n, "%s=%s\n", pp_opt_table[i].env + 8,
		                      pp_opt_table[i].fallback);
	put_text("spool", "options", 0, options);
	put_text("spool", "windows", 0, "STEPS=10:20,30:40\nEVERY=100\nBUFFER=64M\nSLOW_STEP=2\n");
	put_text("spool", "rules", 1, "# ours\nfetch shard* = Input\nall reduce = Collective\n");
	put_text("spool", "run", 2, "3 8 123456 1\n");
	memcpy(control.magic, PP_CONTROL_MAGIC, sizeof(control.magic));
	put("spool", "control", 3, &control, sizeof(control));
	put_text("spool", "salvaged", 5, "/tmp/logs/podprof/2026_01_01_00_00_00\n");
	for (int i = 0; i < 2; i++) {
		struct pp_band_group *g = &burst[i].group;

		*g = (struct pp_band_group){
		        .x = 1000 + i * 1000000, .y = 2000 + i * 1000000, .ups = 1, .downs = 1, .samples = 2, .least = 5};
		g->first = g->x;
		g->up[0] = (struct pp_band_point){0, 5};
		g->down[0] = (struct pp_band_point){0, -5};
		burst[i].now = (struct pp_clock_pair){0};
	}
	pp_clock_file_fits(&file, &head);
	if (!mkdtemp(where) || pp_clock_file_write(&file, where, &head, burst, 2, 1, NULL))
		exit(1);
	snprintf(options, sizeof(options), "%s/clocks", where);
	f = fopen(options, "rb");
	n = f ? fread(text, 1, sizeof(text), f) : 0;
	put("spool", "clocks", 4, text, n);
	if (f)
		fclose(f);
	unlink(options);
	rmdir(where);
}

static void fleets(void)
{
	static struct pp_fleet_job job = {.version = 2,
	                                  .time_s = 1700000000,
	                                  .job = "j",
	                                  .session = "2026_11_21_10_40_02",
	                                  .ranks = 8,
	                                  .delivered = 8,
	                                  .hosts = 2,
	                                  .steps = 10,
	                                  .step_ns = 84100000,
	                                  .wait_share = 0.182,
	                                  .verdict = "rank",
	                                  .bottleneck = "rank 3, Input: \"9 ms\"",
	                                  .straggler_rank = -1,
	                                  .cause = "persistent",
	                                  .cause_list = "gpu001",
	                                  .cause_ns = 1000000,
	                                  .list = "gpu[001-002]"};
	char text[4 * PP_FLEET_LINE] = "";
	size_t n = pp_fleet_job_write(&job, text);

	job.cause[0] = job.cause_list[0] = '\0';
	job.cause_ns = PP_UNKNOWN;
	snprintf(job.job, sizeof(job.job), "other");
	n += pp_fleet_job_write(&job, text + n);
	job.version = 1;
	snprintf(job.straggler, sizeof(job.straggler), "gpu002");
	snprintf(job.job, sizeof(job.job), "third");
	n += pp_fleet_job_write(&job, text + n);
	put("fleet", "three", -1, text, n);
	put_text("fleet", "damaged", -1,
	         "{\"version\": 2, \"job\": \"\\u00e9\\ud83d\\ude00\", \"list\": \"a[1-9999999]\", \"x\": [1, {}]}\n{}\n");
}

static void names(void)
{
	static const char *const name[] = {
	        "_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE",
	        "_ZN7cutlass13device_kernelINS_4gemm6kernel13GemmUniversalIN4cute5tupleIJiiiiEEEEEEvNT_6ParamsE",
	        "_Z3sumIJidEEvDpPKT_",
	        "_Z4callPFviPKcE",
	        "_Z5tableRA4_Kf",
	        "_ZL6statici",
	        "_ZN1A1BIbLb1ELb0EEC1Ev",
	        "_ZNK1A3getEv",
	        "_Z4sizei.cold",
	        "_ZSt4copyPcS_",
	        "_Z1fILin3ELj7EEvv",
	        "_Z1fI1AXadL_Z1gvEEEvv",
	        "_ZZZN1a1fEvENKUlvE_clEvE1b",
	        "_Z3fooIDTplfp_fp0_EEvv",
	        "scope/layer/Fetch:Infeed"};

	for (size_t i = 0; i < sizeof(name) / sizeof(name[0]); i++) {
		char file[16];

		snprintf(file, sizeof(file), "name-%zu", i);
		put_text("name", file, -1, name[i]);
	}
}

int main(int argc, char **argv)
{
	to = argc > 1 ? argv[1] : ".";
	blocks();
	wires();
	lines();
	spools();
	fleets();
	names();
	return test_failures != 0;
}
