/* The process that samples GPUs; see gpu_child.h. */
#include "aggregate/keeper/host/gpu_child.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "aggregate/keeper/host/gpu_page.h"
#include "aggregate/keeper/host/nvml.h"
#include "core/base/lock.h"
#include "core/base/now.h"

/* Twice a second: the clock of a GPU changes no faster than the driver's own control loop shows it. */
enum { PERIOD_NS = 500000000, IDLE_NS = 1000000000, LINKS_EVERY = 10, LOCK_MS = 500 };

static int is_wanted(const struct pp_gpu_page *page)
{
	return pp_clock_ns(CLOCK_MONOTONIC) < atomic_load(&page->wanted_until);
}

/* Another keeper's child samples until its keeper ends. */
static int take_turn(int fd, struct pp_gpu_page *page, pid_t keeper)
{
	while (getppid() == keeper) {
		if (!pp_lock_take(fd)) {
			atomic_store(&page->in_call_since, 0);
			atomic_store(&page->failed, 0);
			atomic_store(&page->gpus, 0);
			atomic_store(&page->sampler, (int32_t)getpid());
			return 1;
		}
		pp_nap_ms(LOCK_MS);
	}
	return 0;
}

static void sample_all(struct pp_nvml *n, struct pp_gpu_page *page, int with_links)
{
	struct pp_gpu_sample sample;

	for (unsigned i = 0; i < atomic_load(&page->gpus); i++) {
		pp_nvml_sample(n, i, with_links, &sample);
		pp_gpu_put(&page->gpu[i], &sample);
	}
}

static void go_on(struct pp_nvml *n, struct pp_gpu_page *page, pid_t keeper)
{
	for (uint64_t turn = 0; getppid() == keeper;) {
		const uint32_t seen = atomic_load(&page->asked);
		const int wanted = is_wanted(page);

		if (wanted)
			sample_all(n, page, turn++ % LINKS_EVERY == 0);
		pp_gpu_wait(page, seen, wanted ? PERIOD_NS : IDLE_NS);
	}
}

int pp_gpu_child_main(const char *path, pid_t keeper, struct pp_err *err)
{
	struct pp_gpu_page *page;
	struct pp_nvml *n;
	int fd, rc;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "podprof-gpu");
	rc = pp_gpu_page_open(path, &page, &fd, err);
	if (rc)
		return rc;
	if (!take_turn(fd, page, keeper))
		return 0;
	rc = pp_nvml_open(page, &n, err);
	if (rc) {
		snprintf(page->why, sizeof(page->why), "%.*s", (int)sizeof(page->why) - 1, err->text);
		atomic_store(&page->failed, 1);
		return rc;
	}
	go_on(n, page, keeper);
	pp_nvml_free(n);
	return 0;
}
