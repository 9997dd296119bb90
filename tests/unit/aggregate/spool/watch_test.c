/* How ranks ended: what the kernel says of a process, and what a dataset says of its ranks. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aggregate/dataset/dataset.h"
#include "aggregate/dataset/status.h"
#include "aggregate/spool/watch.h"
#include "core/base/proc.h"
#include "tests/test.h"

static pid_t child_that(int exits)
{
	pid_t child = fork();

	if (!child) {
		if (exits)
			_exit(3);
		pause();
	}
	return child;
}

static void wait_for_zombie(pid_t child)
{
	siginfo_t info;

	waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT);
}

/* Its parent has not waited for it: any kernel says how it ended. */
TEST(end_of_a_zombie)
{
	for (int exits = 0; exits < 2; exits++) {
		pid_t child = child_that(exits);
		struct pp_watch w;

		pp_watch_open(&w, child, pp_proc_start_time(child));
		CHECK_INT(w.gone && !exits, 0);
		if (!exits)
			kill(child, SIGKILL);
		wait_for_zombie(child);
		pp_watch_all(&w, 1);
		CHECK_INT(w.gone, 1);
		CHECK_INT(w.end, exits ? 3 << 8 : SIGKILL);
		CHECK(w.gone_ms > 0);
		waitpid(child, NULL, 0);
		pp_watch_close(&w);
	}
}

/* Its parent was faster: from Linux 6.15 on the descriptor still says it. */
TEST(end_of_a_reaped_process)
{
	pid_t child = child_that(0);
	struct utsname u;
	struct pp_watch w;
	int major = 0, minor = 0;

	uname(&u);
	CHECK_INT(sscanf(u.release, "%d.%d", &major, &minor), 2);
	pp_watch_open(&w, child, pp_proc_start_time(child));
	kill(child, SIGSEGV);
	waitpid(child, NULL, 0);
	CHECK_INT(pp_watch_gone(&w), 1);
	if (major > 6 || (major == 6 && minor >= 15))
		CHECK_INT(w.end & 0x7f, SIGSEGV);
	else
		CHECK(w.end == -1);
}

TEST(end_of_one_that_was_gone_before)
{
	pid_t child = child_that(1);
	struct pp_watch w;

	waitpid(child, NULL, 0);
	pp_watch_open(&w, child, 0);
	CHECK_INT(pp_watch_gone(&w), 1);
	CHECK_INT(w.end, -1);
}

static void check_sentences(struct pp_dataset *d, const char *const *want)
{
	char text[200];
	size_t n = 0;

	pp_status_join(d);
	for (; want[n]; n++) {
		CHECK_INT(pp_status_sentence(d, n, text, sizeof(text)), 1);
		CHECK_STR(text, want[n]);
	}
	CHECK_INT(pp_status_sentence(d, n, text, sizeof(text)), 0);
}

static void check_ranks(const char *const status[4], const char *const *want)
{
	struct pp_row_worker worker[4] = {{.rank = 0}, {.rank = 1}, {.rank = 2}, {.rank = 3}};
	struct pp_dataset d = {.worker = worker, .workers = 4};

	for (int i = 0; i < 4; i++)
		snprintf(worker[i].status, sizeof(worker[i].status), "%s", status[i]);
	check_sentences(&d, want);
}

/* The launcher's SIGTERM to the others is the end of the job, not a killed rank. */
TEST(sentences)
{
	static const char ended[] = PP_STATUS_ENDED "15 (SIGTERM)", killed[] = PP_STATUS_KILLED "signal 9 (SIGKILL)";

	check_ranks((const char *const[]){ended, ended, killed, ended},
	            (const char *const[]){"rank 2 was killed: signal 9 (SIGKILL)",
	                                  "ranks 0-1, 3 are partial: ended by the launcher after rank 2 was killed", NULL});
	check_ranks((const char *const[]){killed, "delivered", killed, ended},
	            (const char *const[]){"ranks 0, 2 were killed: signal 9 (SIGKILL)",
	                                  "rank 3 is partial: ended by the launcher after 2 ranks were killed", NULL});
	check_ranks((const char *const[]){ended, PP_STATUS_ABORTED, "delivered", ended},
	            (const char *const[]){"ranks 0, 3 are partial: ended by the launcher after rank 1 called MPI_Abort",
	                                  "rank 1 is partial: called MPI_Abort", NULL});
	check_ranks((const char *const[]){ended, ended, ended, ended},
	            (const char *const[]){"ranks 0-3 are partial: ended by signal 15 (SIGTERM)", NULL});
	check_ranks((const char *const[]){"delivered", "delivered", PP_STATUS_NOTHING_CAME, "salvaged"},
	            (const char *const[]){NULL});
}

int main(void)
{
	end_of_a_zombie();
	end_of_a_reaped_process();
	end_of_one_that_was_gone_before();
	sentences();
	return test_end();
}
