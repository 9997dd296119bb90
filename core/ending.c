/* The end of a rank: its wait for the keeper; see ending.h. Called by collector.c. */
#include "core/ending.h"

#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <string.h>

#include "core/base/now.h"
#include "core/coord/control.h"
#include "core/coord/self.h"
#include "core/ring/disk_fault.h"
#include "core/ring/thread_ring.h"

static FILE *standard[2]; /* stdout and stderr at the begin, which libc never frees */

void pp_ending_begin(void)
{
	standard[0] = stdout; /* may call stdout: its address */
	standard[1] = stderr;
}

int pp_ending_others_wait(void)
{
	return (pp_ring_flags(pp_ring_pool.header) & (PP_RING_NO_RANK | PP_RING_PARENT_IS_RANK)) != 0;
}

/* The page of the claim; where that keeper died, the page of the keeper that replaced it. */
static const struct pp_control *find_control(int *ret_foreign)
{
	const struct pp_control *c = pp_self.control;

	if (!c || (!pp_control_is_final(c) && !pp_control_keeper_lives(c)))
		c = pp_control_map(pp_self.spool, ret_foreign);
	return c ? c : pp_self.control;
}

static void print_message(const struct pp_control *c)
{
	char text[sizeof(c->message) + 1];

	if (pp_control_speaker(c) == pp_self.claim.rank)
		pp_self.is_speaker = 1;
	memcpy(text, c->message, sizeof(c->message));
	text[sizeof(c->message)] = '\0';
	for (char *line = text, *end; *line; line = end) {
		end = strchr(line, '\n');
		if (end)
			*end++ = '\0';
		else
			end = line + strlen(line);
		if (*line)
			pp_self_print(line);
	}
}

/* Waits until the keeper has written the files; not for one that never started or has died. */
static void wait_for_keeper(int64_t seconds)
{
	const struct pp_control *c = NULL;
	int64_t begin = pp_now_ms();
	int foreign = 0;

	while (pp_now_ms() - begin < seconds * 1000 && !foreign && !pp_ending_others_wait()) {
		if (!c)
			c = find_control(&foreign);
		if (c) {
			if (pp_control_is_final(c) || !pp_control_keeper_lives(c))
				break;
		} else if (pp_now_ms() - begin > 1000) { /* it starts before the application: a second is long */
			break;
		}
		pp_nap_ms(2);
	}
	if (foreign) {
		pp_self_print("cannot record: the keeper is of another podprof version. Use one podprof version in the whole job");
		return;
	}
	if (pp_ending_others_wait())
		return;
	if (!c) {
		pp_self_print("no session was written: this job has no keeper. Write one with 'podprof salvage'");
		return;
	}
	if (pp_control_is_final(c)) /* it may have written its message just before it ended */
		print_message(c);
	else if (!pp_control_keeper_lives(c))
		pp_self_print("no session was written: the keeper ended too early. Write one with 'podprof salvage'");
	else
		pp_self_print("the keeper is still writing the session. Wait for it with 'podprof report'");
}

/* Writes what libc writes soon after. Left to libc: what another thread prints now, what would wait for a reader, and what a pipe
 * without one refuses. */
static void flush_if_ready(FILE *file)
{
	struct pollfd p = {.fd = fileno(file), .events = POLLOUT};
	size_t pending;

	if (ftrylockfile(file))
		return;
	pending = __fpending(file);
	if (pending > 0 && pending <= PIPE_BUF && poll(&p, 1, 0) == 1 && p.revents == POLLOUT)
		(void)fflush_unlocked(file);
	funlockfile(file);
}

/* Whoever ends the rank while it waits for its files must not take its own output from it: libc writes that after all handlers. */
static void flush_output(void)
{
	for (size_t i = 0; i < sizeof(standard) / sizeof(standard[0]) && standard[i]; i++)
		flush_if_ready(standard[i]);
}

/* 1: the keeper cannot see that this rank ends, in pages that only this process has. */
static int is_cut_off(void)
{
	char text[600];

	if (!pp_disk_fault_pages())
		return 0;
	snprintf(text, sizeof(text),
	         "the disk of '%s' failed while the job ran: what this rank recorded since is lost. Give another --spool DIR",
	         pp_self.spool);
	pp_self_print(text);
	return 1;
}

void pp_ending_wait(int64_t seconds)
{
	flush_output();
	if (!is_cut_off())
		wait_for_keeper(seconds);
}
