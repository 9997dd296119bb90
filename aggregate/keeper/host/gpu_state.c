/* The keeper's side of the samples of GPUs; see gpu_state.h. */
#include "aggregate/keeper/host/gpu_state.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/now.h"
#include "core/base/tick.h"
#include "core/capture/capture.h"
#include "core/capture/side.h"

/* A first nvmlInit without a process that holds the GPU may take seconds; a later call takes below a millisecond. */
enum { MOST_SAMPLES = 16384, END_MS = 200 };

static const int64_t hangs_ns = 2000000000, starts_ns = 10000000000, wanted_ns = 3000000000, turn_ns = 100000000;

const struct pp_state pp_gpu_state_unknown = {
        .pressure_cpu = -1,
        .pressure_memory = -1,
        .pressure_io = -1,
#define PP_GPU(name, what) .name = -1,
#include "aggregate/keeper/host/gpu_value.def"
};

void pp_gpu_state_init(struct pp_gpu_state *s, enum pp_gpu_when when, const char *self)
{
	*s = (struct pp_gpu_state){.when = when, .self = self};
	pp_gpu_page_path(s->path, sizeof(s->path));
}

static void reap(struct pp_gpu_state *s)
{
	if (s->child && waitpid(s->child, NULL, WNOHANG) == s->child)
		s->child = 0;
}

void pp_gpu_state_release(struct pp_gpu_state *s)
{
	if (s->child)
		kill(s->child, SIGKILL);
	for (int waited = 0; s->child && waited < END_MS; waited += 10) {
		reap(s);
		pp_nap_ms(s->child ? 10 : 0);
	}
	if (s->page && !flock(s->fd, LOCK_EX | LOCK_NB)) /* no other keeper uses it */
		unlink(s->path);
	if (s->page)
		close(s->fd);
	pp_gpu_page_close(s->page);
	for (int i = 0; i < PP_GPUS; i++)
		free(s->store[i].row);
	*s = (struct pp_gpu_state){.when = PP_GPU_NEVER};
}

int pp_gpu_state_has_gpus(const char *root)
{
	static const char *const sign[] = {"/dev/nvidiactl", "/dev/dxg", "/proc/driver/nvidia/version"};
	char path[PATH_MAX];

	for (size_t i = 0; i < sizeof(sign) / sizeof(*sign); i++) {
		snprintf(path, sizeof(path), "%s%s", root, sign[i]);
		if (!access(path, F_OK))
			return 1;
	}
	return 0;
}

/* The keeper that used it last may remove it in between. */
static int open_page(struct pp_gpu_state *s, struct pp_err *err)
{
	for (int tries = 0; tries < 3; tries++) {
		struct stat at, opened;
		int rc = pp_gpu_page_open(s->path, &s->page, &s->fd, err);

		if (rc)
			return rc;
		if (!flock(s->fd, LOCK_SH | LOCK_NB) && !stat(s->path, &at) && !fstat(s->fd, &opened) && at.st_ino == opened.st_ino)
			return 0;
		pp_gpu_page_close(s->page);
		s->page = NULL;
		close(s->fd);
	}
	return pp_err_set(err, -EBUSY, "'%s' is being removed", s->path);
}

/* Once: a second child would hang where the first does. */
static void start_child(struct pp_gpu_state *s)
{
	char pid[16];
	char *words[] = {"podprof", "gpu-state", s->path, pid, NULL};
	struct pp_err err;
	int rc;

	s->tried = 1;
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	if (open_page(s, &err)) {
		snprintf(s->why, sizeof(s->why), "state of GPUs is not sampled: %.120s", err.text);
		return;
	}
	for (int i = 0; i < PP_GPUS; i++)
		s->next[i] = atomic_load(&s->page->gpu[i].samples);
	rc = posix_spawn(&s->child, s->self, NULL, NULL, words, environ);
	if (rc) {
		s->child = 0;
		snprintf(s->why, sizeof(s->why), "state of GPUs is not sampled: cannot start its process: %s", strerror(rc));
	}
}

/* Drops every second sample where there are too many. */
static struct pp_gpu_sample *make_room(struct pp_gpu_store *k)
{
	if (k->used == MOST_SAMPLES) {
		for (size_t i = 0; i < k->used / 2; i++)
			k->row[i] = k->row[2 * i];
		k->used /= 2;
	}
	if (k->used == k->room) {
		const size_t room = k->room ? k->room * 2 : 64;
		struct pp_gpu_sample *row = realloc(k->row, room * sizeof(*row));

		if (!row)
			return NULL;
		k->row = row;
		k->room = room;
	}
	return &k->row[k->used];
}

static void read_gpu(struct pp_gpu_state *s, unsigned i)
{
	const struct pp_gpu *gpu = &s->page->gpu[i];
	const uint64_t end = atomic_load_explicit(&gpu->samples, memory_order_acquire);

	if (end - s->next[i] >= PP_GPU_SAMPLES) /* overwritten, or another process began to sample */
		s->next[i] = end >= PP_GPU_SAMPLES ? end - PP_GPU_SAMPLES + 1 : 0;
	for (; s->next[i] < end; s->next[i]++) {
		struct pp_gpu_sample *to = make_room(&s->store[i]);

		if (to && pp_gpu_get(gpu, s->next[i], to))
			s->store[i].used++;
	}
}

/* Why there are no samples, as far as the page tells. */
static void see_failure(struct pp_gpu_state *s, int64_t now)
{
	const struct pp_gpu_page *p = s->page;
	const int64_t since = atomic_load(&p->in_call_since);

	if (atomic_load(&p->failed))
		snprintf(s->why, sizeof(s->why), "state of GPUs is not sampled: %.140s", p->why);
	else if (since && now - since > (atomic_load(&p->gpus) ? hangs_ns : starts_ns))
		snprintf(s->why, sizeof(s->why), "state of GPUs is not sampled: NVML does not answer (%.63s, for %.0f s)", p->call,
		         (double)(now - since) / 1e9);
}

void pp_gpu_state_run(struct pp_gpu_state *s, int recording)
{
	const int64_t now = pp_clock_ns(CLOCK_MONOTONIC);
	const int begins = recording && !s->recording;

	s->recording = recording;
	if (s->when == PP_GPU_NEVER || (!recording && s->when != PP_GPU_ALWAYS))
		return;
	if (!s->tried && (s->when == PP_GPU_ALWAYS || pp_gpu_state_has_gpus("")))
		start_child(s);
	if (!s->page || (now < s->next_ns && !begins))
		return;
	s->next_ns = now + turn_ns;
	atomic_store(&s->page->wanted_until, now + wanted_ns);
	if (begins)
		pp_gpu_ask(s->page);
	reap(s);
	for (unsigned i = 0; i < atomic_load(&s->page->gpus); i++)
		read_gpu(s, i);
	see_failure(s, now);
}

/* A slice has the clock, the power and the heat of the GPU that it is of. */
static int is_of(const struct pp_gpu *gpu, const struct pp_device *device)
{
	static const char unknown[16];
	const char *uuid = device->limits.uuid;

	if (!memcmp(uuid, unknown, sizeof(unknown)))
		return 0;
	for (int i = 0; i < PP_GPU_SLICES; i++)
		if (!memcmp(gpu->slice[i], uuid, sizeof(gpu->slice[i])))
			return 1;
	return !memcmp(gpu->uuid, uuid, sizeof(gpu->uuid));
}

static int give_rows(const struct pp_gpu_store *k, const struct pp_device *device, int kind, struct pp_rank *rank)
{
	struct pp_state *row = calloc(k->used + 1, sizeof(*row));
	int rc;

	if (!row)
		return -ENOMEM;
	for (size_t i = 0; i < k->used; i++) {
		const int64_t *value = k->row[i].value;

		row[i] = pp_gpu_state_unknown;
		row[i].time = (int64_t)(kind == PP_TICK_RAW ? k->row[i].raw : k->row[i].counter);
		row[i].device = device->number + 1;
#define PP_GPU(name, what) row[i].name = value[PP_GPU_##name];
#include "aggregate/keeper/host/gpu_value.def"
	}
	rc = pp_side_append(rank, PP_SIDE_ID_state, row, k->used);
	free(row);
	return rc;
}

/* Why a device of the rank has no sample. */
static void say_missing(const struct pp_gpu_state *s, struct pp_rank *rank)
{
	const int64_t since = atomic_load(&s->page->in_call_since);

	if (!atomic_load(&s->page->gpus) || since)
		snprintf(rank->state_why, sizeof(rank->state_why),
		         "state of GPUs is not sampled: NVML had not answered yet (%.63s)", s->page->call);
	else
		snprintf(rank->state_why, sizeof(rank->state_why),
		         "state of GPUs is not sampled: NVML knows no GPU that is this rank's, or the window was too short");
}

void pp_gpu_state_give(const struct pp_gpu_state *s, int tick_kind, struct pp_rank *rank)
{
	size_t with = 0;

	for (size_t d = 0; s->page && d < rank->devices; d++)
		for (unsigned i = 0; i < atomic_load(&s->page->gpus); i++)
			if (s->store[i].used && is_of(&s->page->gpu[i], &rank->device[d]))
				with += !give_rows(&s->store[i], &rank->device[d], tick_kind, rank);
	if (rank->devices && s->why[0])
		snprintf(rank->state_why, sizeof(rank->state_why), "%s", s->why);
	else if (rank->devices && s->page && !with)
		say_missing(s, rank);
}
