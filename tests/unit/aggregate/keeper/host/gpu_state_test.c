/* Samples of GPUs, from a stand-in of NVML through the page to a rank's rows. argv: podprof, directories of the stand-ins (all,
 * old, new): what the file nvml.state beside each says is what its GPUs have. */
#include "aggregate/keeper/host/gpu_state.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/now.h"
#include "core/base/tick.h"
#include "core/capture/capture.h"
#include "core/capture/side.h"
#include "tests/test.h"

static const char *podprof, *directory;
static char page[64];

#define TWO_GPUS                                                                                                                   \
	"count 2\n"                                                                                                                \
	"uuid 0 GPU-00112233-4455-6677-8899-aabbccddeeff\nuuid 1 GPU-10112233-4455-6677-8899-aabbccddeeff\n"                       \
	"slice 1 MIG-20112233-4455-6677-8899-aabbccddeeff\n1 slices 7\n"                                                           \
	"0 clock 1980\n0 max_clock 1980\n0 memory_clock 2619\n0 power 650000\n0 power_now 640000\n0 limit 700000\n"                \
	"0 default 700000\n0 temperature 61\n0 reason 0\n0 busy 99\n0 used 1000\n0 processes 1\n0 remap 0\n0 energy 5000\n"        \
	"0 power_ns 0\n0 thermal_ns 0\n0 corrected 0\n0 uncorrected 0\n0 replays 3\n0 links 2\n0 link_sent 7\n"                    \
	"0 link_received 8\n0 link_errors 5\n0 pcie_sent 10\n0 pcie_received 20\n"                                                 \
	"1 clock 1425\n1 max_clock 1980\n1 reason 4\n1 power 700000\n1 link_sent 0\n1 remap 2\n"

static void say(const char *text)
{
	char path[512], part[520];
	FILE *f;

	snprintf(path, sizeof(path), "%s/nvml.state", directory);
	snprintf(part, sizeof(part), "%s.part", path);
	f = fopen(part, "we");
	CHECK(f != NULL);
	fputs(text, f);
	fclose(f);
	CHECK_INT(rename(part, path), 0);
}

/* Until GPU 0 has this many samples more, or a reason; at most 30 s. */
static void run_until(struct pp_gpu_state *s, size_t samples)
{
	const size_t before = s->store[0].used;

	for (int i = 0; i < 3000 && s->store[0].used < before + samples && !s->why[0]; i++) {
		pp_gpu_state_run(s, 1);
		pp_nap_ms(10);
	}
}

static void init(struct pp_gpu_state *s)
{
	pp_gpu_state_init(s, PP_GPU_ALWAYS, podprof);
	snprintf(s->path, sizeof(s->path), "%s", page);
}

static void start(struct pp_gpu_state *s, const char *text)
{
	say(text);
	setenv("LD_LIBRARY_PATH", directory, 1);
	init(s);
}

static const struct pp_state *row_of(struct pp_gpu_state *s, struct pp_rank *rank, unsigned first)
{
	static struct pp_device device;

	device = (struct pp_device){.number = 3};
	for (int i = 0; i < 16; i++)
		device.limits.uuid[i] = (char)(i * 0x11);
	device.limits.uuid[0] = (char)first;
	*rank = (struct pp_rank){.device = &device, .devices = 1};
	pp_gpu_state_give(s, PP_TICK_RAW, rank);
	return rank->states ? &rank->state[rank->states - 1] : NULL;
}

static int is_gone(void)
{
	return access(page, F_OK) != 0;
}

TEST(values_of_each_gpu_reach_the_rank_that_has_it)
{
	const uint64_t before = pp_tick_raw();
	struct pp_gpu_state s;
	const struct pp_state *row;
	struct pp_rank rank;

	start(&s, TWO_GPUS);
	run_until(&s, 2);
	CHECK_STR(s.why, "");
	row = row_of(&s, &rank, 0x00);
	CHECK(row && row->device == 4 && (uint64_t)row->time > before && (uint64_t)row->time < pp_tick_raw());
	CHECK_INT(row->clock_hz, 1980000000);
	CHECK_INT(row->memory_hz, 2619000000);
	CHECK_INT(row->power_mw, 640000); /* of now, not the mean of a second */
	CHECK_INT(row->temperature, 61);
	CHECK(row->reason == 0 && row->busy == 99 && row->used_bytes == 1000 && row->processes == 1 && row->remap == 0);
	CHECK(row->energy_mj == 5000 && row->power_ns == 0 && row->ecc_corrected == 0 && row->pcie_replays == 3);
	CHECK(row->nvlink_sent == 7 * 1024 && row->nvlink_received == 8 * 1024 && row->nvlink_errors == 2 * 3 * 5);
	CHECK(row->pcie_sent == 10 && row->pcie_received == 20 && row->pressure_cpu == -1);
	free(rank.state);
	row = row_of(&s, &rank, 0x10);
	CHECK(row && row->clock_hz == 1425000000 && row->reason == 4 && row->remap == 2);
	CHECK(row->power_mw == 700000 && row->temperature == -1 && row->nvlink_sent == -1); /* without links 0 is unknown */
	free(rank.state);
	row = row_of(&s, &rank, 0x20); /* a slice has what its GPU has */
	CHECK(row && row->clock_hz == 1425000000);
	free(rank.state);
	CHECK(!row_of(&s, &rank, 0x30)); /* another GPU */
	pp_gpu_state_release(&s);
	CHECK(is_gone());
}

TEST(two_keepers_share_one_process)
{
	struct pp_gpu_state one, two;

	start(&one, TWO_GPUS);
	run_until(&one, 1);
	init(&two);
	run_until(&two, 1);
	CHECK(one.child && two.child && one.child != two.child);
	CHECK_INT(atomic_load(&two.page->sampler), one.child);
	pp_gpu_state_release(&one);
	CHECK(!is_gone());
	run_until(&two, 2); /* its own child takes over */
	CHECK_INT(atomic_load(&two.page->sampler), two.child);
	pp_gpu_state_release(&two);
	CHECK(is_gone());
}

TEST(a_call_that_never_returns_is_named_and_holds_nobody_up)
{
	struct pp_gpu_state s;
	int64_t before;

	start(&s, TWO_GPUS "hang nvmlDeviceGetClockInfo\n");
	for (int i = 0; i < 3000 && !s.why[0]; i++) {
		before = pp_now_ms();
		pp_gpu_state_run(&s, 1);
		CHECK(pp_now_ms() - before < 2000);
		pp_nap_ms(10);
	}
	CHECK(strstr(s.why, "NVML does not answer (nvmlDeviceGetClockInfo, for "));
	pp_gpu_state_release(&s);
}

static void check_why(const char *state, const char *words)
{
	struct pp_gpu_state s;

	start(&s, state);
	run_until(&s, 1);
	if (!strstr(s.why, words))
		printf("note '%s'\n", s.why);
	CHECK(strstr(s.why, words));
	pp_gpu_state_release(&s);
	CHECK(is_gone());
}

TEST(what_cannot_be_sampled_is_said)
{
	check_why("count 0\n", "NVML sees no GPU");
	check_why(TWO_GPUS "fail nvmlInitWithFlags 9\n", "the driver is not loaded");
	check_why(TWO_GPUS "fail nvmlInitWithFlags 18\n", "library and driver are of different versions");
	check_why(TWO_GPUS "fail nvmlDeviceGetCount_v2 999\n", "nvmlDeviceGetCount_v2 gives error 999");
}

TEST(a_value_that_is_not_permitted_is_unknown)
{
	struct pp_gpu_state s;
	const struct pp_state *row;
	struct pp_rank rank;

	start(&s, TWO_GPUS "fail nvmlDeviceGetMemoryInfo 4\nfail nvmlDeviceGetFieldValues 4\nfail nvmlDeviceGetPowerUsage 3\n");
	run_until(&s, 1);
	row = row_of(&s, &rank, 0x00);
	CHECK(row && row->clock_hz == 1980000000 && row->used_bytes == -1 && row->pcie_sent == -1 && row->power_mw == -1);
	CHECK(row->energy_mj == 5000 && row->temperature == 61); /* by calls of their own */
	free(rank.state);
	pp_gpu_state_release(&s);
}

/* As the library of CUDA 11.8, and as one without what is deprecated. */
TEST(each_release_gives_what_it_can)
{
	struct pp_gpu_state s;
	const struct pp_state *row;
	struct pp_rank rank;

	start(&s, TWO_GPUS);
	run_until(&s, 1);
	row = row_of(&s, &rank, 0x00);
	CHECK(row && row->temperature == 61 && row->reason == 0 && row->power_ns == 0 && row->thermal_ns == 0);
	free(rank.state);
	pp_gpu_state_release(&s);
}

TEST(outside_of_windows_nothing_is_sampled)
{
	struct pp_gpu_state s;

	start(&s, TWO_GPUS);
	s.when = PP_GPU_WINDOW;
	pp_gpu_state_run(&s, 0);
	CHECK(!s.tried);
	s.when = PP_GPU_NEVER;
	pp_gpu_state_run(&s, 1);
	CHECK(!s.tried && is_gone());
	pp_gpu_state_release(&s);
	CHECK(!pp_gpu_state_has_gpus("/nonexistent"));
}

TEST(a_file_of_somebody_else_is_not_used)
{
	struct pp_gpu_state s;
	CHECK_INT(symlink("/etc/passwd", page), 0);
	start(&s, TWO_GPUS);
	pp_gpu_state_run(&s, 1);
	CHECK(strstr(s.why, "state of GPUs is not sampled: cannot open") && !s.child);
	pp_gpu_state_release(&s);
	unlink(page);
	close(open(page, O_CREAT | O_WRONLY | O_CLOEXEC, 0666));
	chmod(page, 0666);
	init(&s);
	pp_gpu_state_run(&s, 1);
	CHECK(strstr(s.why, "is not a file of this user alone"));
	pp_gpu_state_release(&s);
	unlink(page);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	podprof = argv[1];
	directory = argv[2];
	snprintf(page, sizeof(page), "/tmp/podprof-gpu-test-%d", (int)getpid());
	if (argc > 3) { /* another release: what differs */
		each_release_gives_what_it_can();
		return test_end();
	}
	values_of_each_gpu_reach_the_rank_that_has_it();
	two_keepers_share_one_process();
	a_call_that_never_returns_is_named_and_holds_nobody_up();
	what_cannot_be_sampled_is_said();
	a_value_that_is_not_permitted_is_unknown();
	each_release_gives_what_it_can();
	outside_of_windows_nothing_is_sampled();
	a_file_of_somebody_else_is_not_used();
	return test_end();
}
