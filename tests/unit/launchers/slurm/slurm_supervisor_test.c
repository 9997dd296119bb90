/* A user who does what it can against the supervisor of Slurm's hooks: what it runs ends in time, and nothing is left of it.
 * Needs root. */
#include "launchers/slurm/slurm_supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/now.h"
#include "core/base/proc.h"
#include "tests/test.h"

enum { NOBODY = 65534, TEXT = 1 << 18, MEMORY = 96 << 20, SOON_S = 1, LONG_S = 40, WAIT_MS = 30000 };

static struct shared {
	pid_t pid, tracer;
	int done, answer[3];
} * shared;
static char text[TEXT]; /* both streams of a supervisor */

static int become_nobody(void *data)
{
	(void)data;
	return setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY) ? -1 : 0;
}

static pid_t start(void (*run)(void *), int seconds, int out)
{
	const struct pp_slurm_work work = {
	        .name = "epilog", .seconds = seconds, .memory = MEMORY, .become = become_nobody, .run = run};
	pid_t supervisor;

	memset(shared, 0, sizeof(*shared));
	supervisor = fork();
	if (!supervisor) {
		dup2(out, STDOUT_FILENO);
		dup2(out, STDERR_FILENO);
		pp_slurm_supervise(&work);
		_exit(0);
	}
	return supervisor;
}

static void supervise(void (*run)(void *), int seconds)
{
	char name[] = "/tmp/slurm_supervisor_XXXXXX";
	int out = mkostemp(name, O_APPEND), status = -1;
	ssize_t n;

	unlink(name);
	CHECK(waitpid(start(run, seconds, out), &status, 0) > 0);
	CHECK_INT(status, 0);
	n = pread(out, text, TEXT - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	close(out);
}

static int is_gone(pid_t pid)
{
	int64_t until = pp_now_ms() + WAIT_MS;

	while (!kill(pid, 0) && !pp_proc_is_zombie(pid) && pp_now_ms() < until)
		pp_nap_ms(5);
	return kill(pid, 0) != 0 || pp_proc_is_zombie(pid);
}

static void wait_for_ever(void)
{
	for (;;)
		pause();
}

static void works(void *data)
{
	char status[4096];

	(void)data;
	pp_proc_read("/proc/self/status", status, sizeof(status));
	shared->answer[0] = strstr(status, "NoNewPrivs:\t1\n") && strstr(status, "CapBnd:\t0000000000000000\n") &&
	                    strstr(status, "CapPrm:\t0000000000000000\n");
	shared->answer[1] = (int)getuid();
	shared->answer[2] = setuid(0) && errno == EPERM;
	printf("one \033[31m\x7f two\r \xc2\x9b \xc3\xa4\n");
	fprintf(stderr, "three\n");
}

TEST(the_user_works)
{
	supervise(works, LONG_S);
	CHECK(strstr(text, "one ?[31m? two? \xc2? \xc3\xa4\n") && strstr(text, "three\n"));
	CHECK_INT(strlen(text), strlen("one ?[31m? two? \xc2? \xc3\xa4\nthree\n"));
	CHECK_INT(shared->answer[0], 1);
	CHECK_INT(shared->answer[1], NOBODY);
	CHECK_INT(shared->answer[2], 1);
}

static void stops(void *data)
{
	(void)data;
	shared->pid = getpid();
	prctl(PR_SET_NAME, ") Z 1 (");
	kill(getpid(), SIGSTOP);
	shared->done = 1;
}

TEST(it_stops_itself)
{
	supervise(stops, SOON_S);
	CHECK(strstr(text, "it took too long") && is_gone(shared->pid) && !shared->done);
}

static void traces(void *data)
{
	(void)data;
	shared->pid = getpid();
	prctl(PR_SET_DUMPABLE, 1);
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	if (!fork()) {
		shared->tracer = getpid();
		shared->answer[0] = !ptrace(PTRACE_SEIZE, getppid(), NULL, PTRACE_O_TRACEEXIT);
		ptrace(PTRACE_INTERRUPT, getppid(), NULL, NULL);
		wait_for_ever();
	}
	wait_for_ever();
}

/* A tracer that is in no cgroup of ours may hold the end of what it traces. */
TEST(another_process_traces_it)
{
	supervise(traces, SOON_S);
	CHECK(strstr(text, "it took too long"));
	CHECK(strstr(text, "processes that it started do not end") || (is_gone(shared->pid) && is_gone(shared->tracer)));
	kill(shared->tracer, SIGKILL);
	if (!shared->answer[0])
		fprintf(stderr, "this machine lets no user trace\n");
}

static void attacks(void *data)
{
	(void)data;
	shared->answer[0] = kill(getppid(), SIGSTOP) && errno == EPERM;
	shared->answer[1] = kill(getppid(), SIGKILL) && errno == EPERM;
	shared->answer[2] = ptrace(PTRACE_SEIZE, getppid(), NULL, NULL) && errno == EPERM;
}

TEST(it_cannot_reach_the_supervisor)
{
	supervise(attacks, LONG_S);
	CHECK_STR(text, "");
	for (int i = 0; i < 3; i++)
		CHECK_INT(shared->answer[i], 1);
}

static void floods(void *data)
{
	char line[4096];

	(void)data;
	memset(line, 'x', sizeof(line));
	for (;;)
		if (write(STDOUT_FILENO, line, sizeof(line)) < 0)
			shared->answer[0] = 1;
}

TEST(it_fills_the_pipe)
{
	supervise(floods, SOON_S);
	CHECK(strstr(text, "it took too long") && strstr(text, " bytes of its output are left out.\n"));
	CHECK(strspn(text, "x") == 65536 && strlen(text) < 66000 && !shared->answer[0]);
}

static void leaves_a_daemon(void *data)
{
	(void)data;
	if (!fork()) {
		setsid();
		if (!fork()) {
			shared->pid = getpid();
			for (int i = SIGHUP; i < SIGSYS; i++)
				sigaction(i, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
			wait_for_ever();
		}
		_exit(0);
	}
	for (int64_t until = pp_now_ms() + WAIT_MS; !*(volatile pid_t *)&shared->pid && pp_now_ms() < until;)
		pp_nap_ms(1);
	printf("ended\n");
}

TEST(a_grandchild_holds_the_pipe)
{
	supervise(leaves_a_daemon, LONG_S);
	CHECK_STR(text, "ended\n"); /* at once */
	CHECK(shared->pid > 0 && is_gone(shared->pid));
}

static void eats(void *data)
{
	(void)data;
	for (size_t taken = 0; taken < 4 * (size_t)MEMORY; taken += MEMORY / 4) {
		char *p = mmap(NULL, MEMORY / 4, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (p == MAP_FAILED)
			return;
		memset(p, 1, MEMORY / 4);
	}
	shared->done = 1;
}

TEST(it_eats_memory)
{
	supervise(eats, LONG_S);
	CHECK(!shared->done && !strstr(text, "too long"));
}

static void waits(void *data)
{
	(void)data;
	shared->pid = getpid();
	wait_for_ever();
}

/* As Slurm does at PrologEpilogTimeout. Before, its child has died with it, or it is about to. */
TEST(the_supervisor_is_killed)
{
	int nothing = open("/dev/null", O_WRONLY);
	pid_t supervisor = start(waits, LONG_S, nothing);
	char group[64];

	for (int64_t until = pp_now_ms() + WAIT_MS; !*(volatile pid_t *)&shared->pid && pp_now_ms() < until;)
		pp_nap_ms(1);
	kill(supervisor, SIGKILL);
	waitpid(supervisor, NULL, 0);
	CHECK(shared->pid > 0 && is_gone(shared->pid));
	for (int i = 0; i < 2; i++) {
		snprintf(group, sizeof(group), "/sys/fs/cgroup/%spodprof-slurm-%d", i ? "unified/" : "", (int)supervisor);
		rmdir(group);
	}
	close(nothing);
}

int main(void)
{
	if (geteuid()) {
		fprintf(stderr, "skipped: needs root\n");
		return 77;
	}
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return 1;
	the_user_works();
	it_stops_itself();
	another_process_traces_it();
	it_cannot_reach_the_supervisor();
	it_fills_the_pipe();
	a_grandchild_holds_the_pipe();
	it_eats_memory();
	the_supervisor_is_killed();
	return test_end();
}
