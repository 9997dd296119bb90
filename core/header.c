/* Fills the header of a ring at the claim. Called by collector.c. */
#include "core/header.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/env.h"
#include "core/base/now.h"
#include "core/base/opt.h"
#include "core/base/proc.h"
#include "core/base/tick.h"

/* "--steps=10:20 --wait=5": the options that are set, in the order of the table. */
static void options_text(char *text, size_t size)
{
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < PP_OPTS; i++) {
		const char *value = pp_env(pp_opt_table[i].env);

		if (!value || used >= size)
			continue;
		used += (size_t)snprintf(text + used, size - used, "%s--%s=%s", used ? " " : "", pp_opt_table[i].name, value);
	}
}

static void command_text(char *text, size_t size)
{
	long n = pp_proc_read("/proc/self/cmdline", text, size);

	for (long i = 0; i + 1 < n; i++)
		if (!text[i])
			text[i] = ' ';
}

/* Counters are slower: the tick is before the process began, whatever their rate, and however clocks were steered meanwhile. The
 * margin grows with the age; it is for records that are damaged, and those have any tick. */
enum { TICKS_PER_NS_MOST = 8 };

/* A forked child may still have a tick of its parent's. */
static pp_tick start_tick(pp_tick open)
{
	static pp_tick first; /* 0: not yet, or unknown */
	const uint64_t age = (uint64_t)pp_proc_age_ns();

	if (!first && age)
		first = age < open / TICKS_PER_NS_MOST ? open - age * TICKS_PER_NS_MOST : 1;
	return first <= open ? first : 0;
}

void pp_header_fill(struct pp_ring_header *h, const struct pp_claim *claim, const struct pp_step_windows *asked)
{
	h->rank = claim->rank;
	h->size = claim->size;
	h->local_rank = claim->local_rank;
	h->local_size = claim->local_size;
	pp_ring_set_claim_by(h, (uint32_t)claim->by);
	h->pid = getpid();
	h->pid_space = pp_proc_pid_space();
	h->start_time = pp_proc_start_time(h->pid);
	h->tick_kind = (uint32_t)pp_tick_kind;
	pp_proc_boot_id(h->boot_id, sizeof(h->boot_id));
	pp_proc_timens(h->timens_ns, sizeof(h->timens_ns));
	snprintf(h->podprof_version, sizeof(h->podprof_version), "%s", PODPROF_VERSION);
	options_text(h->options, sizeof(h->options));
	command_text(h->command, sizeof(h->command));
	gethostname(h->host, sizeof(h->host) - 1);
	h->window_first = asked->first[0];
	h->window_last = asked->last[0];
	pp_ring_set_state(h, PP_RANK_OPEN);
	h->open_realtime_ns = pp_clock_ns(CLOCK_REALTIME);
	h->open_tick = pp_tick_now();
	h->start_tick = start_tick(h->open_tick);
}
