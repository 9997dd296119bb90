/* Stands in for the keepers of a job: makes the page of a spool, starts the job with it, rings the bell for agreements and
 * looks what the ranks make of it: coord_bell SPOOL RANKS REQUESTS COMMAND... Ends with the job's exit code, or 1 where ranks
 * did not agree. Its lines are what coord_jobs.py checks. Without requests the job ends by itself; with PP_BRIEF an answer is
 * not waited for long. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/now.h"
#include "core/ring/ring_file.h"

enum { MOST_RANKS = 64, COUNT = 3, BEGIN_MS = 30000, ANSWER_MS = 10000, BRIEF_MS = 1500 };

static const char *spool;
static int ranks, answer_ms;
static struct pp_control *control;
static struct pp_ring_header *ring[MOST_RANKS];

static void nap(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
}

static void make_page(void)
{
	char path[512];
	int fd;

	snprintf(path, sizeof path, "%s/control", spool);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || ftruncate(fd, sizeof *control))
		exit(2);
	control = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (control == MAP_FAILED)
		exit(2);
	control->version = PP_RING_VERSION;
	control->byte_order = PP_RING_BYTE_ORDER;
	control->keeper_pid = getpid();
	control->keeper_state = PP_KEEPER_DRAINING;
	memcpy(control->magic, PP_CONTROL_MAGIC, sizeof control->magic);
}

static void find_rings(void)
{
	DIR *d = opendir(spool);
	struct dirent *e;
	char path[1024];
	int r, fd;

	while (d && (e = readdir(d))) {
		if (sscanf(e->d_name, "rank-%d-", &r) != 1 || r < 0 || r >= ranks || ring[r] || !strstr(e->d_name, ".ring"))
			continue;
		snprintf(path, sizeof path, "%s/%s", spool, e->d_name);
		fd = open(path, O_RDONLY);
		if (fd < 0)
			continue;
		if (lseek(fd, 0, SEEK_END) >= (off_t)sizeof *ring[r])
			ring[r] = mmap(NULL, sizeof *ring[r], PROT_READ, MAP_SHARED, fd, 0);
		close(fd);
	}
	if (d)
		closedir(d);
}

static int all_initialised(void)
{
	int n = 0;

	find_rings();
	for (int r = 0; r < ranks; r++)
		n += ring[r] && atomic_load(&ring[r]->coordinator) != PP_COORDINATOR_UNKNOWN;
	return n == ranks;
}

static void ring_bell(enum pp_ask_kind kind, int64_t first, int64_t last)
{
	uint32_t bell = atomic_load(&control->bell);

	atomic_store(&control->request_kind, kind);
	atomic_store(&control->request_first, first);
	atomic_store(&control->request_last, last);
	atomic_store(&control->bell, bell + 1);
}

/* What rank r says of the newest request; -1: nothing yet. */
static int word(int r)
{
	uint64_t w = atomic_load(&ring[r]->request);

	return w >> 8 == atomic_load(&control->bell) ? (int)(w & 255) : -1;
}

static int is_decided(int w)
{
	return w == PP_REQUEST_TAKEN || w == PP_REQUEST_LATE || w == PP_REQUEST_STARTED || w == PP_REQUEST_PASSED ||
	       w == PP_REQUEST_ALONE;
}

static int all_say(int (*is)(int))
{
	for (int r = 0; r < ranks; r++)
		if (!is(word(r)))
			return 0;
	return 1;
}

static int is_over(int w)
{
	return w == PP_REQUEST_LATE || w == PP_REQUEST_PASSED || w == PP_REQUEST_ALONE;
}

static int wait_until(int (*is)(int), pid_t job)
{
	int64_t deadline = pp_now_ms() + answer_ms;

	while (!all_say(is)) {
		if (pp_now_ms() > deadline || kill(job, 0))
			return 0;
		nap();
	}
	return 1;
}

static int margin(void)
{
	int m = 2;

	for (int n = 1; n < ranks; n *= 2)
		m += 2;
	return m;
}

/* 1: all ranks record the same steps; 0: some were late, or were told otherwise; -1: no answer, or not the same. */
static int request(int n, pid_t job)
{
	int64_t begin = pp_now_ms();
	int late = 0, alone = 0;

	ring_bell(PP_ASK_AGREE, margin(), COUNT);
	for (int again = n % 3; again; again--) { /* withdrawn, or asked for again, while some are at it */
		if (n % 2)
			nap();
		if (n % 4 == 2)
			ring_bell(PP_ASK_NOTHING, 0, 0);
		ring_bell(PP_ASK_AGREE, margin(), COUNT);
	}
	if (!wait_until(is_decided, job)) {
		printf("request %d: no answer:", n);
		for (int r = 0; r < ranks; r++)
			printf(" %d", word(r));
		printf("\n");
		return -1;
	}
	for (int r = 0; r < ranks; r++) {
		late += word(r) == PP_REQUEST_LATE;
		alone += word(r) == PP_REQUEST_ALONE;
		if (ring[r]->request_row.first != ring[0]->request_row.first ||
		    ring[r]->request_row.last != ring[0]->request_row.last) {
			printf("request %d: rank %d has other steps\n", n, r);
			return -1;
		}
	}
	printf("request %d: steps %lld..%lld, %d late, %d alone, %lld ms\n", n, (long long)ring[0]->request_row.first,
	       (long long)ring[0]->request_row.last - 1, late, alone, (long long)(pp_now_ms() - begin));
	if (!late && !alone && !wait_until(is_over, job)) {
		printf("request %d: does not pass\n", n);
		return -1;
	}
	return !late && !alone;
}

static void stop(void)
{
	char path[512];

	snprintf(path, sizeof path, "%s/stop", spool);
	close(open(path, O_WRONLY | O_CREAT, 0600));
}

/* Requests come also while ranks finalise, and behind that. */
static int ring_to_the_end(pid_t job)
{
	int status = 0;
	pid_t done;

	while (!(done = waitpid(job, &status, WNOHANG))) {
		ring_bell(PP_ASK_AGREE, margin(), COUNT);
		nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
	}
	return done == job ? status : 0; /* it was over before */
}

int main(int argc, char **argv)
{
	int requests, good = 0, wrong = 0, status = 0;
	int64_t deadline = pp_now_ms() + BEGIN_MS;
	pid_t job;

	if (argc < 5)
		return 2;
	spool = argv[1];
	ranks = (int)strtol(argv[2], NULL, 10);
	requests = (int)strtol(argv[3], NULL, 10);
	setlinebuf(stdout);
	make_page();
	setenv("PODPROF_SPOOL", spool, 1);
	setenv("PODPROF_WAIT", "0", 1);
	answer_ms = getenv("PP_BRIEF") ? BRIEF_MS : ANSWER_MS;
	if (requests)
		setenv("PP_STOP", spool, 1);
	job = fork();
	if (!job) {
		execvp(argv[4], argv + 4);
		_exit(127);
	}
	while (!all_initialised() && pp_now_ms() < deadline && !waitpid(job, &status, WNOHANG))
		nap();
	find_rings();
	for (int r = 0; r < ranks; r++)
		printf("rank %d: coordinator %u %s\n", r, ring[r] ? atomic_load(&ring[r]->coordinator) : 99,
		       ring[r] ? ring[r]->coordinator_why : "");
	for (int n = 0; n < requests && all_initialised() && !wrong; n++) {
		int rc = request(n, job);

		good += rc > 0;
		wrong += rc < 0;
	}
	ring_bell(PP_ASK_AGREE, margin(), COUNT); /* ranks finalise with it in any state */
	stop();
	status = ring_to_the_end(job);
	printf("%d of %d agreed, job ended with %d\n", good, requests, WEXITSTATUS(status));
	return wrong ? 1 : WEXITSTATUS(status);
}
