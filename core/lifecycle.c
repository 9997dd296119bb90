/* Begin and end of the collector: constructor, fork, exit. Called by the loader, libc and collector.c. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/env.h"
#include "core/base/libc.h"
#include "core/base/now.h"
#include "core/base/opt.h"
#include "core/base/parse.h"
#include "core/collector_calls.h"
#include "core/ring/ring_file.h"
#include "core/ring/thread_ring.h"
#include "core/unrecorded.h"

static pid_t birth;       /* pid of the process that loaded the library; 0: not under podprof run */
static pid_t owner;       /* pid of the rank */
static int handlers;      /* exit handlers are registered; once per process image */
static int follows;       /* fork handlers are registered; the same */
static int64_t patience;  /* seconds that a rank that ends without an error waits for its files */
static FILE *standard[2]; /* stdout and stderr at the begin, which libc never frees */

static void child(void)
{
	if (owner && (pp_rings_are_copied() || owner != getpid()))
		pp_collector_abandon();
	pp_collector_born();
}

static void follow_forks(void)
{
	if (follows)
		return;
	follows = 1;
	pp_at_fork(child);
}

/* Did podprof run become this process? A helper's pid is another one than the variable's: it asks the kernel nothing. */
static int may_be_registered(void)
{
	const char *pid = pp_env("PODPROF_PID");

	return pid && strtol(pid, NULL, 10) == birth;
}

/* Shells and helpers run this too: it is silent and short. */
__attribute__((constructor)) static void loaded(void)
{
	if (!getenv("PODPROF_SPOOL"))
		return;
	pp_env_take();
	if (!birth)
		birth = getpid();
	standard[0] = stdout; /* may call stdout: its address */
	standard[1] = stderr;
	pp_collector_born();
	follow_forks();
	if (may_be_registered())
		pp_unrecorded_start();
}

int pp_lifecycle_is_forked(void)
{
	if (!birth)
		birth = getpid(); /* a source was called before the constructor */
	return birth != getpid();
}

/* Maps the keeper's control page; NULL: it is missing, or another podprof's (*ret_foreign). */
static struct pp_control *map_control(const char *spool, int *ret_foreign)
{
	char path[512];
	struct pp_control *c;
	int fd;

	snprintf(path, sizeof(path), "%s/control", spool);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	/* A short file: the keeper is still making it. */
	if (lseek(fd, 0, SEEK_END) < (off_t)sizeof(*c)) {
		close(fd);
		return NULL;
	}
	c = mmap(NULL, sizeof(*c), PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (c == MAP_FAILED)
		return NULL;
	*ret_foreign = memcmp(c->magic, PP_CONTROL_MAGIC, sizeof(c->magic)) || c->version != PP_RING_VERSION ||
	               c->byte_order != PP_RING_BYTE_ORDER;
	if (*ret_foreign) {
		munmap(c, sizeof(*c));
		return NULL;
	}
	return c;
}

const struct pp_control *pp_collector_control_in(const char *spool)
{
	int foreign = 0;

	return map_control(spool, &foreign);
}

static const struct pp_control *page; /* as mapped at the claim: at exit the process may no longer be allowed to open files */

const struct pp_control *pp_collector_control(void)
{
	if (!page)
		page = pp_collector_control_in(pp_collector_spool());
	return page;
}

void pp_lifecycle_abandon(void)
{
	owner = 0;
	page = NULL; /* it may be of a claim in another spool */
}

/* By a robust futex, which the kernel changes when the keeper ends: the application may have forbidden itself the system calls
 * that could ask. Without one the keeper counts as alive. */
static int keeper_lives(const struct pp_control *c)
{
	return !(atomic_load_explicit(&c->keeper_life, memory_order_acquire) & FUTEX_OWNER_DIED);
}

static int has_said_all(const struct pp_control *c)
{
	uint32_t state = pp_control_keeper_state(c);

	return state == PP_KEEPER_DONE || state == PP_KEEPER_FAILED;
}

int pp_lifecycle_has_keeper(void)
{
	return !page || (!has_said_all(page) && keeper_lives(page));
}

/* The page of the claim; where that keeper died, the page of the keeper that replaced it. */
static const struct pp_control *find_control(int *ret_foreign)
{
	const struct pp_control *c = page;

	if (!c || (!has_said_all(c) && !keeper_lives(c)))
		c = map_control(pp_collector_spool(), ret_foreign);
	return c ? c : page;
}

static void print_message(const struct pp_control *c)
{
	char text[sizeof(c->message) + 1];

	if (pp_control_speaker(c) == pp_collector_rank())
		pp_collector_speak();
	memcpy(text, c->message, sizeof(c->message));
	text[sizeof(c->message)] = '\0';
	for (char *line = text, *end; *line; line = end) {
		end = strchr(line, '\n');
		if (end)
			*end++ = '\0';
		else
			end = line + strlen(line);
		if (*line)
			pp_collector_say(line);
	}
}

/* Others wait for the files: ranks that this process started, or a rank that started this process. */
static int others_wait(void)
{
	return (pp_ring_flags(pp_ring_pool.header) & (PP_RING_NO_RANK | PP_RING_PARENT_IS_RANK)) != 0;
}

/* Waits until the keeper has written the files; not for one that never started or has died. */
static void wait_for_keeper(int64_t seconds)
{
	const struct pp_control *c = NULL;
	int64_t begin = pp_now_ms();
	int foreign = 0;

	while (pp_now_ms() - begin < seconds * 1000 && !foreign && !others_wait()) {
		if (!c)
			c = find_control(&foreign);
		if (c) {
			if (has_said_all(c) || !keeper_lives(c))
				break;
		} else if (pp_now_ms() - begin > 1000) { /* it starts before the application: a second is long */
			break;
		}
		pp_nap_ms(2);
	}
	if (foreign) {
		pp_collector_say(
		        "cannot record: the keeper is of another podprof version. Use one podprof version in the whole job");
		return;
	}
	if (others_wait())
		return;
	if (!c) {
		pp_collector_say("no session was written: this job has no keeper. Write one with 'podprof salvage'");
		return;
	}
	if (has_said_all(c)) /* it may have written its message just before it ended */
		print_message(c);
	else if (!keeper_lives(c))
		pp_collector_say("no session was written: the keeper ended too early. Write one with 'podprof salvage'");
	else
		pp_collector_say("the keeper is still writing the session. Wait for it with 'podprof report'");
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

static void ending(int status, void *arg)
{
	int saved = errno;

	(void)arg;
	if (!owner || owner != getpid() || !pp_collector_is_rank())
		return;
	pp_collector_finish(status);
	if (others_wait())
		return;
	/* Without MPI_Finalize the rank has failed, whatever its status: the other ranks hang until the launcher sees it end. */
	if ((status == 0 || status == PP_EXIT_STATUS_UNKNOWN) && patience > 0 && !pp_collector_mpi_runs()) {
		flush_output();
		wait_for_keeper(patience);
	}
	errno = saved;
}

/* For C libraries that do not pass the status. */
static void ending_somehow(void *arg)
{
	ending(PP_EXIT_STATUS_UNKNOWN, arg);
}

void pp_lifecycle_end(int status)
{
	ending(status, NULL);
	owner = 0;
}

void pp_lifecycle_start(void)
{
	const char *text = pp_env(pp_opt_table[PP_OPT_ID_WAIT].env);

	owner = getpid();
	if (!text || !*text || pp_parse_int(text, &patience, NULL))
		pp_parse_int(pp_opt_table[PP_OPT_ID_WAIT].fallback, &patience, NULL);
	follow_forks();
	if (handlers)
		return;
	handlers = 1;
	if (on_exit)
		on_exit(ending, NULL);
	else if (__cxa_atexit)
		__cxa_atexit(ending_somehow, NULL, (void *)&__dso_handle);
}
