/* The source of devices against stand-ins of CUDA and CUPTI: a program runs with the collector, then its ring is read back. Each
 * fault leaves the program unharmed and is counted or said. No device runs here. */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/now.h"
#include "core/ring/drain.h"
#include "core/source/cupti/cupti_abi.h"
#include "tests/gpu/replay.h"
#include "tests/test.h"

enum {
	NAMES = 1024,
	REMARKS = 8,
	RESULTS = 48 /* above all of CUPTI's but the last, 999 */,
	RUNS_MOST = 20,
	OTHERS_MOST = 64,
	FULL_MS = 1500
};

static const char UNREAD[] = "not all records of devices were read before recording ended";

struct seen {
	uint64_t records, device[PP_DEVICE_SET + 1], call[PP_DEVICE_CALLS], names, launches, infos, memory, lost_rows;
	uint64_t pool[PP_DEVICE_POOL_FREED + 1], pool_most, pool_imported, pool_keeps_all;
	uint64_t dropped, untimed, unknown, reversed, of_other_clock, ring_full, not_replay, bad_number, bad_time, streams[64],
	        without_call, synced;
	uint32_t children;
	uint8_t name_there[NAMES], launch_there[NAMES];
	pp_tick step_begin, step_end;
	char remark[REMARKS][256];
	int remarks;
};

/* Of CUPTI, those that podprof calls */
static const char *const functions[] = {"cuptiGetVersion",
                                        "cuptiGetTimestamp",
                                        "cuptiSubscribe_v2",
                                        "cuptiUnsubscribe",
                                        "cuptiSetThreadIdType",
                                        "cuptiActivityRegisterCallbacks",
                                        "cuptiActivityEnable",
                                        "cuptiActivityDisable",
                                        "cuptiActivityEnableAndDump",
                                        "cuptiActivityEnableRuntimeApi",
                                        "cuptiActivityEnableDriverApi",
                                        "cuptiActivityEnableAllSyncRecords",
                                        "cuptiActivityFlushAll",
                                        "cuptiActivityGetNextRecord",
                                        "cuptiActivityGetNumDroppedRecords"};
enum { FUNCTIONS = sizeof(functions) / sizeof(functions[0]) };

static const char *library, *directory, *fixture, *wheels, *wheels_before;
static struct seen seen;

static void text_of(const struct pp_record *r, const char *first, char *ret, size_t size)
{
	size_t n = r->length < PP_TEXT_INLINE ? r->length : PP_TEXT_INLINE, used = n < size - 1 ? n : size - 1;

	memcpy(ret, first, used);
	for (uint32_t m = 1; m <= r->more; m++)
		for (uint32_t k = 0; k < r[m].length && used < size - 1; k++)
			ret[used++] = r[m].text[k];
	ret[used] = '\0';
}

static void on_device(const struct pp_record *r)
{
	const struct pp_record_device *d = &r->device;

	if (d->activity <= PP_DEVICE_SET)
		seen.device[d->activity]++;
	seen.not_replay += !d->is_replay;
	seen.bad_time += d->end < r->tick || r->tick < seen.step_begin;
	seen.streams[d->stream % 64] |= UINT64_C(1) << d->device;
	if (d->activity == PP_DEVICE_KERNEL)
		seen.bad_number +=
		        d->name >= NAMES || !seen.name_there[d->name] || d->launch >= NAMES || !seen.launch_there[d->launch];
}

static void on_pool(const struct pp_record_device_pool *p)
{
	if (p->action <= PP_DEVICE_POOL_FREED)
		seen.pool[p->action]++;
	seen.not_replay += !p->is_replay;
	seen.pool_most = p->size > seen.pool_most ? p->size : seen.pool_most;
	seen.pool_imported += p->is_imported && !p->size && !p->used && !p->threshold;
	seen.pool_keeps_all += p->device == 1 && p->threshold == UINT64_MAX;
}

static void on_one(const struct pp_record *r)
{
	switch (r->kind) {
	case PP_RECORD_STEP_BEGIN:
		if (!seen.step_begin)
			seen.step_begin = r->tick;
		seen.children += r->step.number >= 1000;
		break;
	case PP_RECORD_DEVICE:
		on_device(r);
		break;
	case PP_RECORD_DEVICE_CALL:
		if (r->device_call.call < PP_DEVICE_CALLS)
			seen.call[r->device_call.call]++;
		seen.bad_number += r->device_call.name >= NAMES || !seen.name_there[r->device_call.name];
		seen.without_call += !r->device_call.tid;
		seen.synced += r->device_call.call == PP_DEVICE_CALL_SYNC && r->device_call.stream == 7;
		break;
	case PP_RECORD_DEVICE_NAME:
		seen.names++;
		if (r->device_name.number < NAMES)
			seen.name_there[r->device_name.number]++;
		break;
	case PP_RECORD_DEVICE_LAUNCH:
		seen.launches++;
		if (r->device_launch.number < NAMES)
			seen.launch_there[r->device_launch.number]++;
		break;
	case PP_RECORD_DEVICE_INFO:
		seen.infos++;
		break;
	case PP_RECORD_DEVICE_MEMORY:
		seen.memory++;
		break;
	case PP_RECORD_DEVICE_POOL:
		on_pool(&r->device_pool);
		seen.bad_time += r->tick < seen.step_begin;
		break;
	case PP_RECORD_DEVICE_LOST:
		seen.lost_rows++;
		seen.dropped += r->device_lost.dropped;
		seen.untimed += r->device_lost.untimed;
		seen.unknown += r->device_lost.unknown;
		seen.reversed += r->device_lost.reversed;
		seen.of_other_clock += r->device_lost.of_other_clock;
		break;
	case PP_RECORD_REMARK:
		if (seen.remarks < REMARKS)
			text_of(r, r->range.text, seen.remark[seen.remarks++], sizeof(seen.remark[0]));
		break;
	}
}

static void on_records(void *context, uint32_t slot, const struct pp_record *r, uint32_t count)
{
	(void)context;
	(void)slot;
	for (uint32_t i = 0; i < count; i += 1 + r[i].more) {
		/* Numbers begin again at 1 with each chunk. */
		if ((r[i].kind == PP_RECORD_DEVICE_NAME && r[i].device_name.number == 1))
			memset(seen.name_there, 0, sizeof(seen.name_there));
		if (r[i].kind == PP_RECORD_DEVICE_LAUNCH && r[i].device_launch.number == 1)
			memset(seen.launch_there, 0, sizeof(seen.launch_there));
		seen.records++;
		on_one(&r[i]);
	}
}

static struct pp_drain *drain;
static int is_unread; /* the keeper does not read until the program has ended */
static int is_late;   /* it does not read until the ring has been full for a while */

static void open_ring(const char *spool)
{
	char path[512] = "";
	struct dirent *e;
	DIR *dir = opendir(spool);
	struct pp_err err = {""};

	while (dir && (e = readdir(dir)))
		if (strstr(e->d_name, ".ring"))
			snprintf(path, sizeof(path), "%s/%s", spool, e->d_name);
	if (dir)
		closedir(dir);
	if (*path)
		pp_drain_open(path, 0, &drain, &err);
}

/* Of podprof's thread in the program. */
static uint64_t lost_in_ring(void)
{
	const struct pp_ring_header *h = pp_drain_header(drain);
	uint64_t n = 0;

	for (uint32_t i = 0; i < pp_ring_thread_used(h); i++)
		if (!strcmp(h->thread[i].name, "podprof-cupti"))
			n += h->thread[i].lost[PP_LOSS_RING_FULL];
	return n;
}

static int may_read(void)
{
	if (is_late && lost_in_ring()) {
		pp_nap_ms(FULL_MS);
		is_late = 0;
	}
	return !is_unread && !is_late;
}

/* Runs gpu_host and reads its ring as the keeper does, meanwhile too. `more`: "NAME=value ...". Returns its status. */
static int job(const char *program, const char *arguments, const char *more)
{
	static const struct pp_drain_sink sink = {.records = on_records};
	char spool[] = "/tmp/podprof-gpu-XXXXXX", command[2048];
	int status = -1;
	pid_t child;

	memset(&seen, 0, sizeof(seen));
	drain = NULL;
	if (!mkdtemp(spool))
		return -1;
	snprintf(command, sizeof(command),
	         "exec env PODPROF_SPOOL=%s PODPROF_WAIT=0 LD_PRELOAD=%s CUDA_INJECTION64_PATH=%s LD_LIBRARY_PATH=%s "
	         "REPLAY_FIXTURE=%s "
	         "PODPROF_STEPS=2:5 %s timeout -s KILL 100 %s/%s %s",
	         spool, library, library, directory, fixture, more, directory, program, arguments);
	child = fork();
	if (!child) {
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	while (!waitpid(child, &status, WNOHANG)) {
		if (!drain)
			open_ring(spool);
		else if (may_read())
			pp_drain_run(drain, &sink);
		pp_nap_ms(is_unread ? 5 : 1);
	}
	if (!drain)
		open_ring(spool);
	CHECK(drain != NULL);
	if (drain) {
		pp_drain_run(drain, &sink);
		pp_drain_run(drain, &sink);
		seen.ring_full = lost_in_ring();
		pp_drain_close(drain);
	}
	snprintf(command, sizeof(command), "rm -rf '%s'", spool);
	CHECK_INT(system(command), 0); /* NOLINT(cert-env33-c): a test's own directory */
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int is_said(const char *text)
{
	for (int i = 0; i < seen.remarks; i++)
		if (strstr(seen.remark[i], text))
			return 1;
	return 0;
}

static int has_remark(const char *text)
{
	if (is_said(text))
		return 1;
	fprintf(stderr, "no remark '%s' among %d; first: '%s'\n", text, seen.remarks, seen.remark[0]);
	return 0;
}

/* On a busy machine podprof's thread may not read all before the deadline of a step, and says so: then the job runs again. */
static int whole_job(const char *arguments, const char *more)
{
	int rc, runs = 0;

	do
		rc = job("gpu_host", arguments, more);
	while (!rc && is_said(UNREAD) && ++runs < RUNS_MOST);
	return rc;
}

static uint64_t all(void)
{
	uint64_t n = 0;

	for (int i = 0; i <= PP_DEVICE_SET; i++)
		n += seen.device[i];
	return n;
}

/* Steps 0 to 5 are recorded: the window 2:5, an edge step on each side and one to warm up; and what comes before step 0, when CUPTI
 * may come on too, and say once more what it says at first. A step has 6 kernels, 3 copies, one set, one copy between devices, two
 * of memory. The first one may come before CUPTI is on. */
static void plain_by(const char *more)
{
	CHECK_INT(whole_job("8 1 1 pause,ready", more), 0);
	CHECK(seen.device[PP_DEVICE_KERNEL] >= 24 && seen.device[PP_DEVICE_KERNEL] <= 36);
	CHECK(seen.device[PP_DEVICE_HOST_TO_DEVICE] >= 8 && seen.device[PP_DEVICE_DEVICE_TO_HOST] >= 4);
	CHECK(seen.device[PP_DEVICE_DEVICE_TO_DEVICE] >= 4 && seen.device[PP_DEVICE_SET] >= 4);
	CHECK(seen.call[PP_DEVICE_CALL_LAUNCH] >= 24 && seen.call[PP_DEVICE_CALL_COPY] >= 20);
	CHECK(seen.call[PP_DEVICE_CALL_SYNC] >= 4 && seen.synced == seen.call[PP_DEVICE_CALL_SYNC]);
	CHECK(seen.infos == 2 || seen.infos == 4);
	CHECK(seen.memory >= 8);
	CHECK(seen.streams[7] == 3 && seen.streams[20] == 3);
	CHECK_INT(seen.not_replay + seen.bad_number + seen.bad_time + seen.without_call, 0);
	CHECK_INT(seen.unknown + seen.dropped, 0);
	CHECK(seen.untimed + seen.ring_full <= 6); /* of the edge step, on a busy machine: it still runs, or is not read */
	CHECK(has_remark("a stand-in replays records of devices: no device ran"));
	CHECK_INT((uint64_t)seen.remarks * 2, seen.infos);
}

TEST(plain)
{
	plain_by("REPLAY_VERSION=28");
	plain_by("REPLAY_VERSION=130001");
	plain_by("REPLAY_VERSION=130500");
	CHECK_INT(whole_job("8 1 4 pause,ready", ""), 0);
	CHECK(seen.device[PP_DEVICE_KERNEL] >= 96 && !seen.bad_number);
	CHECK_INT(whole_job("8 1 1 late,pause,ready", ""), 0);
	CHECK(seen.device[PP_DEVICE_KERNEL] >= 12 && !seen.bad_number);
	/* CUPTI comes on before the first step, and so slowly that recording is off and on again, or off when it names the devices:
	 * the window has all, and the devices are not lost. */
	for (int i = 0; i < 2; i++) {
		CHECK_INT(job("gpu_host", "60 1 1 early,pause",
		              i ? "PODPROF_STEPS=20:50 REPLAY_SLOW=cuptiActivityEnableAndDump=200"
		                : "PODPROF_STEPS=2:50 REPLAY_SLOW=cuptiActivityEnableAndDump=300"),
		          0);
		CHECK_INT(seen.dropped, 0);
		CHECK(seen.infos >= 2 && seen.device[PP_DEVICE_KERNEL] >= 12);
	}
}

TEST(no_device)
{
	char crash[1024] = "REPLAY_DEVICES=0 'REPLAY_CRASH=";

	/* Nothing of CUPTI is called where there is no device: some releases crash then. */
	for (int i = 0; i < FUNCTIONS; i++)
		snprintf(crash + strlen(crash), sizeof(crash) - strlen(crash), "%s=1%s", functions[i],
		         i + 1 < FUNCTIONS ? ";" : "'");
	CHECK_INT(job("gpu_host", "8 1 1 none,pause", crash), 0);
	CHECK_INT(all() + (uint64_t)seen.remarks, 0);
	CHECK(job("gpu_host", "8 1 1 none,pause", strstr(crash, "'")) != 0); /* they do crash */
	CHECK_INT(job("gpu_host", "8 1 1 none", "REPLAY_DEVICES=0"), 0);
	CHECK_INT(all() + (uint64_t)seen.remarks, 0);
	CHECK_INT(job("gpu_host", "8 1 1 pause", "PODPROF_CUPTI=off"), 0);
	CHECK_INT(all() + (uint64_t)seen.remarks, 0);
	CHECK_INT(job("gpu_host", "8 1 1 pause", "PODPROF_CUPTI=/nowhere/libcupti.so"), 0);
	CHECK(!all() && has_remark("--cupti '/nowhere/libcupti.so' cannot be loaded"));
	CHECK_INT(job("gpu_host", "8 1 1 late,pause", "CUDA_INJECTION64_PATH=/other/tool.so"), 0);
	CHECK(!all() && has_remark("CUDA_INJECTION64_PATH is set to '/other/tool.so'. Unset it"));
	CHECK_INT(job("gpu_host", "8 1 1 pause", "REPLAY_VERSION=17"), 0);
	CHECK(!all() && has_remark("older than CUDA 12"));
}

TEST(faults)
{
	CHECK_INT(whole_job("8 1 1 pause,ready", "REPLAY_FAULT=truncated"), 0);
	CHECK(seen.unknown >= 1 && all() >= 20);
	CHECK_INT(whole_job("8 1 1 pause,ready", "REPLAY_FAULT=unknown"), 0);
	CHECK(seen.unknown >= 40 && all() >= 40 && !seen.untimed);
	CHECK_INT(whole_job("8 1 1 pause,ready", "REPLAY_VERSION=140000"), 0); /* longer records than podprof knows */
	CHECK(all() >= 40 && !seen.unknown);
	CHECK_INT(whole_job("8 1 1 pause,ready", "REPLAY_FAULT=zero"), 0);
	CHECK(seen.untimed >= 80 && !all());
	CHECK_INT(whole_job("8 1 1 pause,ready", "REPLAY_FAULT=inverted"), 0);
	CHECK(seen.reversed >= 80 && !seen.untimed && !all());
	CHECK_INT(whole_job("8 1 1 pause,ready", "REPLAY_FAULT=foreign"), 0);
	CHECK(seen.of_other_clock >= 60 && !seen.untimed && !seen.reversed && !all());
	CHECK_INT(whole_job("8 1 1 pause,ready", "REPLAY_FAULT=reused"), 0);
	CHECK(all() >= 40 && !seen.untimed);
	CHECK_INT(whole_job("8 1 1 pause,ready", "REPLAY_FAULT=kept"), 0);
	CHECK_INT(all(), 0);
	CHECK_INT(whole_job("8 1 1 pause,ready", "REPLAY_FAULT=jump"), 0);
	CHECK(has_remark("the wall clock was set"));
	CHECK_INT(whole_job("8 1 1 pause,ready", "REPLAY_FAULT=backward"), 0);
	CHECK(has_remark("the wall clock was set"));
	CHECK_INT(whole_job("8 1 1 pause,ready", "REPLAY_DROPPED=7"), 0);
	CHECK(seen.dropped >= 7);
	CHECK_INT(job("gpu_host", "8 1 1 pause,ready", "REPLAY_SLOW=cuptiActivityFlushAll=2500"), 0);
	CHECK(has_remark(UNREAD));
	CHECK_INT(whole_job("8 1 1 pause,ready", "REPLAY_SLOW=cuptiSubscribe_v2=90"), 0); /* as on a busy machine */
	CHECK(all() >= 40);
	CHECK_INT(whole_job("8 1 1 fork,pause,ready", ""), 0);
	CHECK(all() >= 40 && !seen.children);
}

TEST(other_users)
{
	CHECK_INT(job("gpu_host", "8 1 1 pause", "REPLAY_OWNER=Nsight"), 0);
	CHECK(!all() && has_remark("another profiler uses it: Nsight. Run without that profiler"));
	CHECK_INT(job("gpu_host", "8 1 1 pause", "'REPLAY_FAIL=cuptiSubscribe_v2=35'"), 0);
	CHECK(!all() && has_remark("not enough privileges. As root: NVreg_RestrictProfilingToAdminUsers=0"));
	CHECK_INT(job("gpu_host", "8 1 1 pause", "'REPLAY_FAIL=kind10=43'"), 0);
	CHECK(!all() && has_remark("MIG slice"));
	CHECK_INT(job("gpu_host_linked", "8 1 1 steal,pause,ready", ""), 0);
	CHECK(all() >= 10 && all() < 40 && has_remark("another profiler of the program took it over"));
}

/* Each function of CUPTI fails, by every result. */
TEST(every_error)
{
	const char *is_long = getenv("PODPROF_LONG");
	static const int common[] = {PP_CUPTI_NOT_INITIALIZED, PP_CUPTI_PRIVILEGES, PP_CUPTI_SUBSCRIBERS, PP_CUPTI_UNKNOWN};
	char more[128];

	for (int i = 0; i < FUNCTIONS; i++)
		for (int k = 0; k < (is_long && *is_long ? RESULTS : 4); k++) {
			int result = is_long && *is_long ? k + 1 : common[k];

			snprintf(more, sizeof(more), "'REPLAY_FAIL=%s=%d'", functions[i],
			         result == RESULTS ? PP_CUPTI_UNKNOWN : result);
			CHECK_INT(job("gpu_host", "7 1 1 pause", more), 0);
			for (int m = 0; m < seen.remarks; m++)
				CHECK(strlen(seen.remark[m]) < 160);
			CHECK_INT(seen.bad_number, 0);
		}
}

/* Steps 1 to 5 at least, each with all of pools.replay. A pool's size is written when it is another than before, so not with each
 * of a step's 4 allocations and 4 frees. */
static void pools_by(const char *more)
{
	CHECK_INT(whole_job("8 1 1 pause,ready", more), 0);
	CHECK(seen.pool[PP_DEVICE_POOL_CREATED] >= 16 && seen.pool[PP_DEVICE_POOL_TRIMMED] >= 4);
	CHECK(seen.pool[PP_DEVICE_POOL_DESTROYED] >= 16);
	CHECK(seen.pool[PP_DEVICE_POOL_ALLOCATED] >= 12 && seen.pool[PP_DEVICE_POOL_ALLOCATED] < seen.memory);
	CHECK(seen.pool[PP_DEVICE_POOL_FREED] >= 8);
	CHECK(seen.pool[PP_DEVICE_POOL_ALLOCATED] + seen.pool[PP_DEVICE_POOL_FREED] <= seen.memory * 3 / 4 + 2);
	CHECK_INT(seen.pool_most, 100663296);
	CHECK(seen.pool_imported >= 4 && seen.pool_keeps_all >= 8);
	CHECK(seen.unknown >= 4 && seen.unknown <= 8); /* the bad one of each step */
	CHECK_INT(seen.not_replay + seen.bad_number + seen.bad_time, 0);
}

TEST(pools)
{
	char path[512];
	const char *had = fixture;

	snprintf(path, sizeof(path), "%.*s/pools.replay", (int)(strrchr(fixture, '/') - fixture), fixture);
	fixture = path;
	pools_by("REPLAY_VERSION=28");
	pools_by("REPLAY_VERSION=130500");
	pools_by("REPLAY_VERSION=140000");
	/* CUPTI refuses the kind: what else there is stays, and sizes come with the allocations. */
	CHECK_INT(whole_job("8 1 1 pause,ready", "REPLAY_FAIL=kind50=27"), 0);
	CHECK(has_remark("some kinds of records are missing"));
	CHECK(seen.device[PP_DEVICE_KERNEL] >= 8 && seen.memory >= 32 && seen.pool[PP_DEVICE_POOL_ALLOCATED] >= 8);
	CHECK_INT(seen.pool[PP_DEVICE_POOL_CREATED] + seen.pool[PP_DEVICE_POOL_DESTROYED] + seen.pool[PP_DEVICE_POOL_TRIMMED], 0);
	CHECK_INT(seen.unknown + seen.pool_imported, 0);
	/* It refuses another: pools stay. */
	CHECK_INT(whole_job("8 1 1 pause,ready", "REPLAY_FAIL=kind49=27"), 0);
	CHECK(seen.pool[PP_DEVICE_POOL_CREATED] >= 16 && !seen.memory && !seen.pool[PP_DEVICE_POOL_ALLOCATED]);
	CHECK_INT(whole_job("8 1 1 pause,ready", "REPLAY_FAULT=zero"), 0);
	CHECK(seen.untimed >= 60 && !seen.pool[PP_DEVICE_POOL_CREATED] && !seen.pool[PP_DEVICE_POOL_ALLOCATED]);
	CHECK_INT(whole_job("8 1 1 pause,ready", "REPLAY_FAULT=truncated"), 0);
	CHECK(seen.unknown >= 1 && seen.pool[PP_DEVICE_POOL_CREATED] >= 16);
	fixture = had;
}

/* 8 devices with 64 streams each, and a name for each kernel. */
static void write_dense(char *path)
{
	int fd = mkstemp(path);
	FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;

	CHECK(f != NULL);
	if (!f)
		return;
	fputs("podprof replay of CUPTI: CONSTRUCTED\n", f);
	for (int d = 0; d < 8; d++)
		fprintf(f, "device %d 85899345920 3352320000 90 132 replayed\n", d);
	for (int i = 0; i < 512; i++)
		fprintf(f, "kernel %d %d 1000 2000 %d 0 0 %dx1x1 128x1x1 kernel_%d_of_a_model_with_a_name_longer_than_a_record\n",
		        i / 64, i % 64, 32 + i % 64, i + 1, i);
	fclose(f);
}

/* What the stand-in wrote to that file; 0: two numbers. */
static int read_count(const char *path, uint64_t *ret_made, uint64_t *ret_refused)
{
	unsigned long long made = 0, refused = 0;
	FILE *f = fopen(path, "re");
	int n = f ? fscanf(f, "%llu %llu", &made, &refused) : 0; /* NOLINT(cert-err34-c): checked by what it is compared to */

	if (f)
		fclose(f);
	*ret_made = made;
	*ret_refused = refused;
	return n == 2 ? 0 : -1;
}

/* Each record that the stand-in made was read or is counted as lost, once. The ring's count has a few more: remarks, devices, and
 * numbers of losses. A ring that nobody reads is full, and so may lack the remark that records were not read. */
static void check_all_counted(const char *path)
{
	uint64_t read = all() + seen.memory, made, refused, sum;

	for (int i = 0; i < PP_DEVICE_CALLS; i++)
		read += seen.call[i];
	sum = read + seen.ring_full + seen.dropped + seen.untimed + seen.unknown;
	CHECK_INT(read_count(path, &made, &refused), 0);
	fprintf(stderr, "many: %llu made, %llu of them refused; %llu read, %llu lost in the ring, %llu dropped, %llu untimed\n",
	        (unsigned long long)made, (unsigned long long)refused, (unsigned long long)read, (unsigned long long)seen.ring_full,
	        (unsigned long long)seen.dropped, (unsigned long long)seen.untimed);
	CHECK(sum + refused <= made + OTHERS_MOST);
	CHECK(sum + refused >= made || is_unread || has_remark(UNREAD));
}

/* A million kernels in a window with a ring of 1 MiB, read as the keeper does, and not read at all: what does not fit
 * is counted. */
TEST(many)
{
	char path[] = "/tmp/podprof-dense-XXXXXX", count[] = "/tmp/podprof-count-XXXXXX", more[128];
	const char *had = fixture;

	write_dense(path);
	fixture = path;
	close(mkstemp(count));
	snprintf(more, sizeof(more), "PODPROF_RING_SIZE=1M REPLAY_COUNT=%s", count);
	for (is_unread = 0; is_unread < 2; is_unread++) {
		CHECK_INT(job("gpu_host", "7 400 1 ready", more), 0);
		check_all_counted(count);
		CHECK_INT(seen.bad_number + seen.bad_time, 0);
		/* A ring that nobody reads may be full before podprof's thread has its first buffer. */
		CHECK(is_unread ? seen.ring_full > 0 : seen.device[PP_DEVICE_KERNEL] > 100);
		for (int i = 0; !is_unread && i < 64; i++)
			CHECK_INT(seen.streams[i], 0xff);
	}
	is_unread = 0;
	fixture = had;
	unlink(path);
	unlink(count);
}

/* One line: the library's destructor ran, and nothing of it was called later. */
static int only_gone(const char *path)
{
	char text[64] = "";
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

	if (f)
		fclose(f);
	if (n && !strcmp(text, "gone\n"))
		return 1;
	fprintf(stderr, "calls of libcupti at the end: '%s'\n", text);
	return 0;
}

/* The process ends in a window: CUPTI is switched off before its own destructors run, and all that it had is read. */
TEST(at_exit)
{
	char after[] = "/tmp/podprof-after-XXXXXX", count[] = "/tmp/podprof-count-XXXXXX", more[256];

	close(mkstemp(after));
	close(mkstemp(count));
	for (int i = 0; i < 3; i++) {
		static const char *const program[] = {"gpu_host", "gpu_host_linked", "gpu_host"};
		uint64_t made = 0, refused = 0, read = 0;

		close(open(after, O_WRONLY | O_TRUNC | O_CLOEXEC));
		snprintf(more, sizeof(more), "PODPROF_STEPS=2:50 REPLAY_AFTER=%s REPLAY_COUNT=%s %s", after, count,
		         i == 2 ? "REPLAY_SLOW=cuptiActivityDisable=20" : "");
		CHECK_INT(job(program[i], "8 1 1 pause,ready", more), 0);
		CHECK(only_gone(after));
		CHECK_INT(read_count(count, &made, &refused), 0);
		for (int k = 0; k < PP_DEVICE_CALLS; k++)
			read += seen.call[k];
		/* what a call waited for is in the record of that call */
		CHECK_INT(made, read + all() + seen.memory + seen.untimed + seen.call[PP_DEVICE_CALL_SYNC]);
		CHECK(seen.device[PP_DEVICE_KERNEL] >= 36);
		CHECK_INT(seen.dropped + seen.ring_full + refused, 0);
	}
	close(open(after, O_WRONLY | O_TRUNC | O_CLOEXEC));
	snprintf(more, sizeof(more), "PODPROF_STEPS=2:50 REPLAY_AFTER=%s REPLAY_FAULT=kept", after);
	CHECK_INT(job("gpu_host", "8 1 1 pause,ready", more), 0);
	CHECK(only_gone(after) && has_remark("did not come back: records of devices may be missing"));
	unlink(after);
	unlink(count);
}

/* Releases that need their subscriber before the program makes graphs get it with CUDA, with nothing on; others are left alone. */
TEST(early)
{
	char more[512];

	/* CUDA comes up in step 2, after recording was switched off; the window begins long after the graph was made. */
	for (int i = 0; i < 2; i++) {
		snprintf(more, sizeof(more),
		         "PODPROF_STEPS=20:25 REPLAY_VERSION=%d REPLAY_DRIVER=12040 REPLAY_CRASH=late_subscriber=1 "
		         "PODPROF_CUPTI=%s/libcupti.so.13",
		         i ? 24 : 22, directory);
		CHECK_INT(job("gpu_host", "28 1 1 graph,late,pause", more) != 0, i);
		CHECK(i || seen.device[PP_DEVICE_KERNEL] >= 12);
	}
	CHECK_INT(job("gpu_host", "8 1 1 pause", "REPLAY_VERSION=18"), 0);
	CHECK(!all() && has_remark("older than CUDA 12, and may crash programs with CUDA graphs"));
}

/* podprof's thread counts what CUPTI dropped once a second. While the ring is full the number cannot be written: it stays for the
 * next time, for CUPTI says it once. */
TEST(lost_later)
{
	char path[] = "/tmp/podprof-dense-XXXXXX";
	const char *had = fixture;

	write_dense(path);
	fixture = path;
	is_late = 1;
	CHECK_INT(job("gpu_host", "200 10 1 pause,ready", "PODPROF_STEPS=2:190 PODPROF_RING_SIZE=1M REPLAY_DROPPED=12345"), 0);
	CHECK(!is_late && seen.ring_full > 0);
	CHECK(seen.dropped >= 12345);
	is_late = 0;
	fixture = had;
	unlink(path);
}

/* The size of the kind's record by NVIDIA's iterator: the distance of two of them. 0: it knows no such kind. */
static size_t real_size(int (*next)(uint8_t *, size_t, void **), uint32_t kind)
{
	static uint64_t buffer[1024];
	uint8_t *at = (uint8_t *)buffer;
	void *record = NULL;

	for (size_t i = 0; i < sizeof(buffer) / sizeof(buffer[0]); i++)
		memcpy(&buffer[i], &kind, sizeof(kind)); /* a record may begin anywhere */
	if (next(at, sizeof(buffer), &record) || record != at || next(at, sizeof(buffer), &record))
		return 0;
	return (size_t)((uint8_t *)record - at);
}

static void sizes_are(const char *path, uint32_t version)
{
	static const struct {
		uint32_t kind;
		size_t view; /* podprof's struct of it */
	} kinds[] = {{PP_CUPTI_MEMCPY, sizeof(struct pp_cupti_memcpy)},
	             {PP_CUPTI_MEMCPY2, sizeof(struct pp_cupti_memcpy2)},
	             {PP_CUPTI_MEMSET, sizeof(struct pp_cupti_memset)},
	             {PP_CUPTI_DRIVER, sizeof(struct pp_cupti_call)},
	             {PP_CUPTI_RUNTIME, sizeof(struct pp_cupti_call)},
	             {PP_CUPTI_DEVICE, sizeof(struct pp_cupti_device)},
	             {PP_CUPTI_KERNEL, sizeof(struct pp_cupti_kernel)},
	             {PP_CUPTI_OVERHEAD, sizeof(struct pp_cupti_overhead)},
	             {PP_CUPTI_SYNC, sizeof(struct pp_cupti_sync)},
	             {PP_CUPTI_MEMORY2, sizeof(struct pp_cupti_memory)},
	             {PP_CUPTI_POOL, sizeof(struct pp_cupti_memory_pool)},
	             {PP_CUPTI_JIT, sizeof(struct pp_cupti_jit)},
	             {REPLAY_UNKNOWN, 0}};
	void *cupti = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	int (*next)(uint8_t *, size_t, void **) = NULL;

	if (cupti)
		*(void **)&next = dlsym(cupti, "cuptiActivityGetNextRecord");
	CHECK(next != NULL);
	for (size_t i = 0; next && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		size_t real = real_size(next, kinds[i].kind);

		CHECK_INT(real, replay_size(kinds[i].kind, version));
		CHECK(real >= kinds[i].view);
	}
}

/* Its iterator walks the stand-in's buffers: podprof reads the same records as with the stand-in's own. */
static void walked_by(const char *path, uint32_t version)
{
	char more[1200];

	sizes_are(path, version);
	snprintf(more, sizeof(more), "REPLAY_VERSION=%u REPLAY_NEXT=%s", version, path);
	plain_by(more);
	snprintf(more, sizeof(more), "REPLAY_VERSION=%u REPLAY_NEXT=%s REPLAY_FAULT=unknown", version, path);
	CHECK_INT(whole_job("8 1 1 pause,ready", more), 0);
	CHECK(seen.unknown >= 40 && all() >= 40 && !seen.untimed);
	snprintf(more, sizeof(more), "REPLAY_VERSION=%u REPLAY_NEXT=%s REPLAY_FAULT=truncated", version, path);
	CHECK_INT(whole_job("8 1 1 pause,ready", more), 0);
	CHECK(all() >= 20);
}

/* The library itself without a device, where it may crash: the program is linked with it, or podprof is told to take it. */
static void harmless(const char *path)
{
	char more[2200];

	snprintf(more, sizeof(more), "LD_LIBRARY_PATH=%.*s PODPROF_CUPTI=%s", (int)(strrchr(path, '/') - path), path, path);
	CHECK_INT(job("gpu_host", "8 1 1 none,pause", more), 0);
	CHECK_INT(all() + (uint64_t)seen.remarks, 0);
	if (strstr(path, "libcupti.so.13")) { /* the one of gpu_host_linked */
		CHECK_INT(job("gpu_host_linked", "8 1 1 none,pause", more), 0);
		CHECK_INT(all() + (uint64_t)seen.remarks, 0);
	}
	/* with a driver that has no device, then one that has nothing of what CUPTI needs */
	snprintf(more, sizeof(more), "REPLAY_DEVICES=0 PODPROF_CUPTI=%s", path);
	CHECK_INT(job("gpu_host", "8 1 1 none,pause", more), 0);
	CHECK_INT(all() + (uint64_t)seen.remarks, 0);
	snprintf(more, sizeof(more), "PODPROF_CUPTI=%s ASAN_OPTIONS=detect_leaks=0", path); /* NVIDIA's own */
	CHECK_INT(job("gpu_host", "8 1 1 pause", more), 0);
	CHECK(!all() && has_remark("devices are not recorded: the driver"));
}

/* NVIDIA's own libraries. From CUDA 13.3 on their iterators do not work without a driver. */
TEST(real)
{
	char twelve[512], before[512], newest[512];

	snprintf(twelve, sizeof(twelve), "%s/cuda_cupti/lib/libcupti.so.12", wheels);
	snprintf(newest, sizeof(newest), "%s/cu13/lib/libcupti.so.13", wheels);
	snprintf(before, sizeof(before), "%s/cu13/lib/libcupti.so.13", wheels_before);
	if (access(twelve, R_OK) || access(before, R_OK) || access(newest, R_OK))
		exit(77);
	walked_by(twelve, 28);
	walked_by(before, 130101);
	harmless(twelve);
	harmless(before);
	harmless(newest);
}

static const struct {
	const char *name;
	void (*run)(void);
} parts[] = {{"plain", plain},
             {"no_device", no_device},
             {"faults", faults},
             {"other_users", other_users},
             {"many", many},
             {"every_error", every_error},
             {"real", real},
             {"pools", pools},
             {"lost_later", lost_later},
             {"at_exit", at_exit},
             {"early", early}};

int main(int argc, char **argv)
{
	if (argc < 5)
		return 1;
	library = argv[1];
	directory = argv[2];
	fixture = argv[3];
	wheels = argc > 6 ? argv[5] : "";
	wheels_before = argc > 6 ? argv[6] : "";
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (!strcmp(argv[4], parts[i].name))
			parts[i].run();
	return test_end();
}
