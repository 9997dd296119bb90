/* The keeper's life over hand-made rings: start, close, message, files, tidy spool; salvage; watch; settings. */
#include "aggregate/read/h5/file_dataset.h"
#include "tests/test.h"

#include <errno.h>
#include <glob.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "aggregate/keeper/capture/request.h"
#include "aggregate/keeper/capture/request_client.h"
#include "aggregate/keeper/keeper.h"
#include "aggregate/keeper/salvage.h"
#include "aggregate/read/h5/file.h"
#include "aggregate/session/message.h"
#include "aggregate/spool/control.h"
#include "aggregate/spool/settings.h"
#include "aggregate/spool/view.h"
#include "core/base/lock.h"
#include "core/base/proc.h"
#include "core/base/tick.h"
#include "core/clock/clock_map.h"
#include "tests/unit/aggregate/read/ring/ring_maker.h"

static char top[64];

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	if (!f)
		abort();
	fputs(text, f);
	fclose(f);
}

static void run(const char *fmt, const char *name)
{
	char command[512];

	snprintf(command, sizeof(command), fmt, name);
	if (system(command))
		abort();
}

/* In place of libc's, for the program's keepers: a socket must listen before it has the name by which it is asked. */
static int had_name;

int listen(int fd, int backlog)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/spool/socket", top);
	had_name |= !access(path, F_OK);
	return (int)syscall(SYS_listen, fd, backlog);
}

static void asked_once_it_listens(void)
{
	static struct pp_requests r;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char spool[96];
	struct pp_err err;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(spool, sizeof(spool), "%s/spool", top);
	CHECK(!mkdir(spool, 0700));
	CHECK_INT(pp_requests_open(&r, spool, &err), 0);
	CHECK(!had_name);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", spool);
	CHECK(fd >= 0 && !connect(fd, (struct sockaddr *)&address, sizeof(address)));
	close(fd);
	close(r.listen_fd);
	run("rm -r %s/spool", top);
}

static int exists(const char *dir, const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return !access(path, F_OK);
}

static size_t found(const char *pattern)
{
	char path[512];
	glob_t g;
	size_t n;

	snprintf(path, sizeof(path), "%s/%s", top, pattern);
	n = glob(path, 0, NULL, &g) ? 0 : g.gl_pathc;
	if (n)
		globfree(&g);
	return n;
}

/* Spool with options; the log directory is <top>/NAME-logs. */
static void make_spool(char *spool, size_t size, const char *name, const char *more)
{
	char text[1024], path[512];

	snprintf(spool, size, "%s/%s", top, name);
	mkdir(spool, 0700);
	snprintf(path, sizeof(path), "%s/options", spool);
	snprintf(text, sizeof(text), "OUTPUT=%s/%s-logs\nJOB=test-job\nCOMMAND=a.out x\nWAIT=1\n%s", top, name, more);
	write_file(path, text);
}

/* A rank's ring with `steps` steps of 1 ms, each one range of 0.5 ms. */
static void make_ring(const char *spool, int rank, int size, int pid, int steps, int state)
{
	char path[256];
	struct maker m;
	pp_tick t = pp_tick_raw() - 1000000000u;

	snprintf(path, sizeof(path), "%s/rank-%d-%d.ring", spool, rank, pid);
	maker_open(&m, path, rank, size, pid, 8);
	m.header->open_tick = t - 1000;
	m.header->open_realtime_ns = (int64_t)time(NULL) * 1000000000;
	m.header->start_time = pp_proc_start_time(pid);
	m.header->step_marks = 1;
	maker_thread(&m, 0, (uint32_t)pid);
	for (int i = 0; i < steps; i++, t += 1000000) {
		maker_step(&m, 0, PP_RECORD_STEP_BEGIN, t, i);
		maker_push(&m, 0, t + 1000, "forward");
		maker_pop(&m, 0, t + 501000);
		maker_step(&m, 0, PP_RECORD_STEP_END, t + 990000, i);
	}
	m.header->state = (uint32_t)state;
	maker_close(&m);
}

/* A rank of another clock that began to record 5 ms before it had its ring: a call of 10 ms, `per_ns` ticks a ns. */
static void make_early_ring(const char *spool, int rank, int size, int pid, enum pp_tick_kind kind, double per_ns)
{
	pp_tick t = (kind == PP_TICK_RAW ? pp_tick_raw() : pp_tick_counter_after()) - (pp_tick)(5e7 * per_ns);
	char path[256];
	struct maker m;

	snprintf(path, sizeof(path), "%s/rank-%d-%d.ring", spool, rank, pid);
	maker_open(&m, path, rank, size, pid, 8);
	m.header->tick_kind = (uint32_t)kind;
	m.header->open_tick = t;
	m.header->start_time = pp_proc_start_time(pid);
	maker_thread(&m, 0, (uint32_t)pid);
	maker_mpi(&m, 0, t - (pp_tick)(5e6 * per_ns), t + (pp_tick)(5e6 * per_ns), 0, 0, -1);
	m.header->state = PP_RANK_ENDING;
	maker_close(&m);
}

static int dead_pid(void)
{
	pid_t child = fork();

	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
	return child;
}

/* pp_keeper_main() in a child, as the command does. */
static pid_t start_keeper(const char *spool)
{
	pid_t child = fork();

	if (!child) {
		struct pp_err err = {""};
		char log[256];

		snprintf(log, sizeof(log), "%s/keeper.log", top);
		if (!freopen(log, "a", stderr))
			_exit(9);
		_exit(pp_keeper_main(spool, &(struct pp_death){.times = 0}, &err) ? 1 : 0);
	}
	return child;
}

static int end_of(pid_t child)
{
	int status = -1;

	waitpid(child, &status, 0);
	return status;
}

TEST(clean_end)
{
	char spool[256];
	pid_t keeper;
	int a = dead_pid(), b = dead_pid();

	make_spool(spool, sizeof(spool), "clean", "SESSION=one\n");
	make_ring(spool, 0, 2, a, 12, PP_RANK_ENDING);
	make_ring(spool, 1, 2, b, 12, PP_RANK_OPEN);
	keeper = start_keeper(spool);
	CHECK_INT(end_of(keeper), 0);
	CHECK(!exists(top, "clean"));
	CHECK(exists(top, "clean-logs/podprof/one/pod.h5"));
	CHECK(exists(top, "clean-logs/podprof/one/summary.txt"));
	CHECK_INT(found("clean-logs/plugins/profile/one/*.xplane.pb"), 1);
	CHECK_INT(found("clean-logs/podprof/one/*.part"), 0);
}

TEST(two_kinds_of_ticks)
{
	char spool[256], path[300];
	struct pp_clock_pair a, b;
	struct pp_err err = {""};
	struct pp_dataset d;
	struct pp_h5_file *h5;

	pp_clock_read_pair(PP_TICK_COUNTER, &a);
	usleep(20000);
	pp_clock_read_pair(PP_TICK_COUNTER, &b);
	make_spool(spool, sizeof(spool), "kinds", "SESSION=one\n");
	make_early_ring(spool, 0, 2, dead_pid(), PP_TICK_RAW, 1);
	make_early_ring(spool, 1, 2, dead_pid(), PP_TICK_COUNTER, (double)(b.tick - a.tick) / (double)(b.raw_ns - a.raw_ns));
	CHECK_INT(end_of(start_keeper(spool)), 0);
	snprintf(path, sizeof(path), "%s/kinds-logs/podprof/one/pod.h5", top);
	CHECK_INT(pp_h5_file_open(path, &h5, &err), 0);
	CHECK_INT(pp_h5_file_dataset(h5, UINT64_MAX, &d, &err), 0);
	CHECK_INT(d.workers, 2);
	CHECK_INT(d.steps, 1);
	for (size_t w = 0; w < 2; w++) { /* 10 ms by both, and none of it before the epoch */
		CHECK(d.cell[w].step_ns > 9900000 && d.cell[w].step_ns < 10100000);
		CHECK(d.cell[w].begin_ns >= 0);
	}
	CHECK(d.worker[0].domain != d.worker[1].domain);
	pp_dataset_release(&d);
	pp_h5_file_close(h5);
}

TEST(message_of_a_waiting_rank)
{
	char spool[256], path[300];
	pid_t keeper, rank = fork();
	struct pp_control *c = MAP_FAILED;
	int fd = -1;

	if (!rank) {
		pause();
		_exit(0);
	}
	make_spool(spool, sizeof(spool), "wait", "STEPS=3:6\nSESSION=two\n");
	make_ring(spool, 0, 2, rank, 12, PP_RANK_ENDING);
	make_ring(spool, 1, 2, dead_pid(), 12, PP_RANK_OPEN);
	keeper = start_keeper(spool);
	snprintf(path, sizeof(path), "%s/control", spool);
	for (int i = 0; i < 1000 && fd < 0; i++, usleep(2000))
		fd = open(path, O_RDONLY);
	if (fd >= 0)
		c = mmap(NULL, sizeof(*c), PROT_READ, MAP_SHARED, fd, 0);
	CHECK(c != MAP_FAILED);
	for (int i = 0; c != MAP_FAILED && i < 5000 && atomic_load(&c->keeper_state) < PP_KEEPER_DONE; i++)
		usleep(2000);
	if (c != MAP_FAILED) {
		CHECK_INT(c->keeper_state, PP_KEEPER_DONE);
		CHECK(strstr(c->message, "steps 3..5 captured on 2 of 2 ranks, 1 host\n") == c->message);
		CHECK(strstr(c->message, "wait-logs/podprof/two  (podprof report ") != NULL);
		CHECK(strstr(c->message, "rank 1 is partial: killed, or ended by _exit() (which of them is unknown)") != NULL);
		munmap(c, sizeof(*c));
	}
	CHECK(exists(spool, "control"));
	CHECK_INT(pp_keeper_lock(spool, NULL), -EBUSY);
	kill(rank, SIGKILL);
	end_of(rank);
	CHECK_INT(end_of(keeper), 0);
	CHECK(!exists(top, "wait"));
	close(fd);
}

TEST(nobody_recorded)
{
	char spool[256], path[300], text[64];

	make_spool(spool, sizeof(spool), "empty", "");
	snprintf(path, sizeof(path), "%s/run-%d", spool, dead_pid());
	snprintf(text, sizeof(text), "0 1 1\n");
	write_file(path, text);
	CHECK_INT(end_of(start_keeper(spool)), 0);
	CHECK(!exists(top, "empty"));
	CHECK(!exists(top, "empty-logs"));
}

TEST(session_cannot_be_written)
{
	char spool[256];

	make_spool(spool, sizeof(spool), "bad", "SESSION=.bad\n"); /* another log directory would not help */
	make_ring(spool, 0, 1, dead_pid(), 3, PP_RANK_ENDING);
	CHECK_INT(end_of(start_keeper(spool)), 0);
	CHECK(exists(spool, "control"));
	CHECK_INT(found("bad/*.ring"), 1);
}

TEST(term_finishes_what_is_there)
{
	char spool[256];
	pid_t keeper, rank = fork();

	if (!rank) {
		pause();
		_exit(0);
	}
	make_spool(spool, sizeof(spool), "term", "SESSION=three\n");
	make_ring(spool, 0, 1, rank, 5, PP_RANK_OPEN);
	keeper = start_keeper(spool);
	usleep(300000);
	CHECK(!exists(top, "term-logs/podprof/three/pod.h5"));
	kill(keeper, SIGTERM);
	CHECK_INT(end_of(keeper), 0);
	CHECK(exists(top, "term-logs/podprof/three/pod.h5"));
	CHECK(exists(top, "term"));
	kill(rank, SIGKILL);
	end_of(rank);
}

TEST(salvage)
{
	char spool[256], logs[256], path[300], message[1024] = "", *one = spool;
	struct pp_session_options o = {.logdir = logs, .session = "dead"};
	struct pp_err err = {""};
	size_t left_out;
	int lock;

	make_spool(spool, sizeof(spool), "dead", "");
	snprintf(logs, sizeof(logs), "%s/dead-logs", top);
	CHECK_INT(pp_salvage(&one, 1, &o, message, sizeof(message), &left_out, &err), -ENOENT);
	make_ring(spool, 0, 3, dead_pid(), 8, PP_RANK_OPEN);
	snprintf(path, sizeof(path), "%s/keeper.lock", spool);
	CHECK_INT(pp_lock_is_held(path), 0);
	lock = pp_keeper_lock(spool, &err); /* who only asks has not taken it */
	CHECK(lock >= 0);
	CHECK_INT(pp_lock_is_held(path), 1);
	CHECK_INT(pp_salvage(&one, 1, &o, message, sizeof(message), &left_out, &err), -EBUSY);
	close(lock);
	snprintf(path, sizeof(path), "%s/dead-file", top);
	write_file(path, "a file");
	o.logdir = path;
	CHECK_INT(pp_salvage(&one, 1, &o, message, sizeof(message), &left_out, &err), -ENOTDIR);
	CHECK(strstr(err.text, "not a directory. Use another directory for -o") != NULL);
	o.logdir = logs;
	for (int i = 0; i < 2; i++) {
		CHECK_INT(pp_salvage(&one, 1, &o, message, sizeof(message), &left_out, &err), 0);
		CHECK(strstr(message, "captured on 1 of 3 ranks") != NULL);
		CHECK(strstr(message, "2 ranks missing: rank 1, 2") != NULL);
	}
	CHECK(exists(logs, "podprof/dead/pod.h5"));
	CHECK(exists(logs, "podprof/dead-2/pod.h5"));
}

TEST(watch)
{
	struct pp_watch w;
	pid_t child = fork();

	if (!child) {
		pause();
		_exit(0);
	}
	pp_watch_open(&w, child, pp_proc_start_time(child));
	CHECK_INT(pp_watch_gone(&w), 0);
	kill(child, SIGKILL);
	for (int i = 0; i < 500 && !pp_watch_gone(&w); i++)
		usleep(2000);
	CHECK_INT(pp_watch_gone(&w), 1); /* a zombie is gone */
	end_of(child);
	CHECK_INT(pp_watch_gone(&w), 1);
	pp_watch_open(&w, getpid(), pp_proc_start_time(getpid()) + 1);
	CHECK_INT(pp_watch_gone(&w), 1);
	pp_watch_open(&w, getpid(), 0);
	CHECK_INT(pp_watch_gone(&w), 0);
	pp_watch_close(&w);
	pp_watch_open(&w, 0, 0);
	CHECK_INT(pp_watch_gone(&w), 1);
}

TEST(settings)
{
	char spool[256];
	struct pp_settings s;

	make_spool(spool, sizeof(spool), "settings",
	           "STEPS=10:20\nWINDOW_BUFFER=1M\nXSPACE=rank\nRING_SIZE=nonsense\nUNKNOWN=1\nno line\n");
	CHECK_INT(pp_settings_read(spool, &s, NULL), 0);
	CHECK_INT(s.steps_first, 10);
	CHECK_INT(s.steps_last, 20);
	CHECK_INT(s.buffer, 1 << 20);
	CHECK_INT(s.wait_s, 1);
	CHECK_INT(s.xspace_per_rank, 1);
	CHECK_STR(s.job, "test-job");
	CHECK_STR(s.command, "a.out x");
	CHECK(strstr(s.text, "--steps=10:20") != NULL);
	CHECK_INT(pp_settings_read("/nowhere", &s, NULL), -ENOENT);
	CHECK_INT(s.buffer, 256 << 20);
	CHECK_INT(s.steps_last, 0);
}

/* This host's own steps 3 to 6; in the session are those that all hosts have, and a clock that is not joined. */
TEST(message_of_all_hosts)
{
	int64_t own[] = {3, 4, 5, 6};
	struct pp_row_step all[] = {{4}, {5}};
	struct pp_steps steps = {.rule = PP_STEP_RULE_PODPROF, .number = own, .steps = 4};
	struct pp_row_worker worker[] = {{.host = "a"}, {.host = "b"}, {.host = "c"}};
	struct pp_row_host_clock clock[] = {{.host_bound_ns = 0}, {.host_bound_ns = 4000}, {.host_bound_ns = PP_BOUND_UNKNOWN}};
	struct pp_dataset d = {.worker = worker, .workers = 3, .step = all, .steps = 2, .host_clock = clock, .host_clocks = 3};
	struct pp_message m = {.head = ""};

	d.ranks_delivered = d.ranks_asked = 3;
	d.pair_bound_ns = 4000;
	pp_message_session(&m, &d, &steps, NULL, "logs", "one");
	CHECK_STR(m.head, "steps 4..5 captured on 3 of 3 ranks, 3 hosts, clock error <= 4.00 us on 2 of them");
	clock[1].host_bound_ns = PP_BOUND_UNKNOWN;
	pp_message_session(&m, &d, &steps, NULL, "logs", "one");
	CHECK_STR(m.head, "steps 4..5 captured on 3 of 3 ranks, 3 hosts, clocks of 2 of them not compared");
}

int main(void)
{
	snprintf(top, sizeof(top), "%s", "/dev/shm/pp-keeper-XXXXXX");
	if (!mkdtemp(top))
		return 1;
	asked_once_it_listens();
	watch();
	settings();
	message_of_all_hosts();
	clean_end();
	two_kinds_of_ticks();
	message_of_a_waiting_rank();
	nobody_recorded();
	session_cannot_be_written();
	term_finishes_what_is_there();
	salvage();
	if (test_failures)
		run("cat %s/keeper.log >&2", top);
	run("rm -r %s", top);
	return test_end();
}
