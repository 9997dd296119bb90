/* Made-up pods of 1024, 4096 and 10 240 ranks x 100 steps: what rank 0's keeper does with the hosts' shares, phase by phase:
 * read, merge, finish, each tool, each file, the page. Limits: 10 240 ranks in 2 s of CPU and 1 GB, and a rank takes as long in a
 * large pod as in a small one. `bench_pod RANKS`: one size; `bench_pod RANKS keep`: and leave its files. Runs only with
 * PODPROF_BENCH=1. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "aggregate/analyze/finish.h"
#include "aggregate/dataset/block.h"
#include "aggregate/dataset/merge.h"
#include "aggregate/graph/whole.h"
#include "aggregate/report/report.h"
#include "aggregate/session/files.h"
#include "aggregate/session/gather.h"
#include "aggregate/session/page.h"
#include "aggregate/tools/tools.h"
#include "aggregate/write/output.h"
#include "tests/bench/bench.h"
#include "tests/bench/block.h"

enum { SKIP = 77, STEPS = 100, PER_HOST = 8, SIZES = 3, REPS = 3, DEPTH = 8, PATH = 4400, CPU_MS_MOST = 2000, MB_MOST = 1000 };

#define FLAT_MOST 1.3
#define SHOWN_MS 1 /* phases below are summed up as "the rest" */

/* Phases are functions that the linker wraps, or writers by their names. */
#define WRAPPED(row)                                                                                                               \
	row(pp_block_read, "read the shares") row(pp_dataset_merge_spend, "merge") row(pp_dataset_finish, "finish")                \
	        row(pp_graph_whole, "graph of the tools")
enum phase {
	PHASE_REST,
#define ROW(name, what) PHASE_##name,
	WRAPPED(ROW)
#undef ROW
#define PP_TOOL(name) PHASE_##name,
#include "aggregate/tools/tool_list.def"
#undef PP_TOOL
	        PHASE_WRITERS,
	PHASE_PAGE = PHASE_WRITERS + 4,
	PHASE_MESSAGE,
	PHASES
};

struct result { /* of rank 0's process, shared with the parent */
	double ms[PHASES], total_ms, wall_ms;
	long peak_kb, peak_of[PHASES]; /* resident, the writer's child too */
	size_t arrivals, collectives;
	double pod_mb, page_mb;
	int done;
};

static struct result *result;
static enum phase open_phase[DEPTH];
static int opens;
static double since;
static char spool[128];

static void stop(const char *why)
{
	fprintf(stderr, "bench_pod: %s\n", why);
	_exit(1);
}

static double cpu_ms(void)
{
	double ms = 0;

	for (int i = 0; i < 2; i++) {
		struct rusage u;

		getrusage(i ? RUSAGE_CHILDREN : RUSAGE_SELF, &u);
		ms += (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3 +
		      (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e3;
	}
	return ms;
}

/* The most since the last call, kB. */
static long peak_kb(void)
{
	static long of_children;
	struct rusage children;
	char line[256];
	long kb = 0;
	FILE *f = fopen("/proc/self/status", "r");
	int reset = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);

	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "VmHWM: %ld", &kb);
	if (f)
		fclose(f);
	if (reset < 0 || write(reset, "5", 1) != 1)
		kb = kb ? kb : 1;
	if (reset >= 0)
		close(reset);
	getrusage(RUSAGE_CHILDREN, &children);
	if (children.ru_maxrss > of_children)
		kb = children.ru_maxrss > kb ? children.ru_maxrss : kb;
	of_children = children.ru_maxrss;
	return kb;
}

/* Charges the time so far to the innermost open phase. */
static void charge(void)
{
	double now = cpu_ms();
	enum phase p = opens ? open_phase[opens - 1] : PHASE_REST;
	long kb = peak_kb();

	result->ms[p] += now - since;
	if (kb > result->peak_of[p])
		result->peak_of[p] = kb;
	if (kb > result->peak_kb)
		result->peak_kb = kb;
	since = cpu_ms(); /* without the measuring */
}

static void begin(enum phase p)
{
	if (opens == DEPTH)
		stop("phases lie too deep");
	/* Shares are many: their memory is looked at with the next phase. */
	if (p != PHASE_pp_block_read) {
		charge();
	} else {
		double now = cpu_ms();

		result->ms[PHASE_REST] += now - since;
		since = now;
	}
	open_phase[opens++] = p;
}

static void end(enum phase p)
{
	if (p != PHASE_pp_block_read) {
		charge();
	} else {
		double now = cpu_ms();

		result->ms[p] += now - since;
		since = now;
	}
	opens--;
}

#define WRAP(phase, name, declared, given)                                                                                         \
	int __real_##name declared;                                                                                                \
	int __wrap_##name declared;                                                                                                \
	int __wrap_##name declared                                                                                                 \
	{                                                                                                                          \
		int rc;                                                                                                            \
                                                                                                                                   \
		begin(phase);                                                                                                      \
		rc = __real_##name given;                                                                                          \
		end(phase);                                                                                                        \
		return rc;                                                                                                         \
	}

WRAP(PHASE_pp_block_read, pp_block_read,
     (const void *bytes, size_t size, struct pp_intern *names, struct pp_dataset *ret_dataset, struct pp_err *err),
     (bytes, size, names, ret_dataset, err))
WRAP(PHASE_pp_dataset_merge_spend, pp_dataset_merge_spend,
     (struct pp_dataset *const *part, size_t parts, struct pp_dataset *ret_dataset, struct pp_err *err),
     (part, parts, ret_dataset, err))
WRAP(PHASE_pp_dataset_finish, pp_dataset_finish, (struct pp_dataset * d, struct pp_err *err), (d, err))
WRAP(PHASE_pp_graph_whole, pp_graph_whole, (struct pp_graph * g, const struct pp_dataset *d), (g, d))
#define PP_TOOL(name)                                                                                                              \
	WRAP(PHASE_##name, pp_tool_##name, (const struct pp_dataset *in, struct pp_table *tables, struct pp_err *err),             \
	     (in, tables, err))
#include "aggregate/tools/tool_list.def"
#undef PP_TOOL

static const char *name_of(int p)
{
	static const char *const name[] = {[PHASE_REST] = "files of shares, directories, the rest",
#define ROW(name, what) [PHASE_##name] = what,
	                                   WRAPPED(ROW)
#undef ROW
#define PP_TOOL(name) [PHASE_##name] = "tool " #name,
#include "aggregate/tools/tool_list.def"
#undef PP_TOOL
	                                           [PHASE_PAGE] = "report.html",
	                                   [PHASE_MESSAGE] = "message"};

	if (p < PHASE_WRITERS || p >= PHASE_PAGE)
		return name[p];
	for (int i = 0, of_job = PHASE_WRITERS; pp_writer_list[i]; i++)
		if (pp_writer_list[i]->flags & PP_WRITER_OF_JOB && of_job++ == p)
			return pp_writer_list[i]->file ? pp_writer_list[i]->file : pp_writer_list[i]->name;
	return "";
}

static void put_file(const char *name, const void *bytes, size_t size)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", spool, name);
	f = fopen(path, "w");
	if (!f || fwrite(bytes, 1, size, f) != size || fclose(f))
		stop("cannot write a share");
}

/* The other hosts' keepers: their shares as files, and the list of them. */
static void make_shares(const struct block_job *job)
{
	int32_t hosts = job->ranks / PER_HOST;
	struct pp_gather_row *row = calloc((size_t)hosts, sizeof(*row));

	for (int32_t h = 1; h < hosts && row; h++) {
		struct pp_intern *names = pp_intern_new();
		struct pp_dataset d;
		struct pp_err err = {""};
		void *block;
		size_t size;

		block_make(&d, names, job, h * PER_HOST, PER_HOST);
		if (pp_block_write(&d, &block, &size, &err))
			stop(err.text);
		row[h - 1].kind = PP_GATHER_BLOCK;
		snprintf(row[h - 1].host, sizeof(row->host), "node%05d", h);
		snprintf(row[h - 1].text, sizeof(row->text), "gather-1-%d.block", h);
		put_file(row[h - 1].text, block, size);
		free(block);
		pp_dataset_release(&d);
		pp_intern_free(names);
	}
	if (!row)
		stop("no memory");
	put_file("gather-1.rows", row, (size_t)(hosts - 1) * sizeof(*row));
	_exit(0);
}

__attribute__((format(printf, 1, 2))) static void say(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	stop("");
}

static double mb_of(const char *directory, const char *name)
{
	char path[PATH + 64];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return stat(path, &st) ? 0 : (double)st.st_size / 1e6;
}

static void write_session(struct pp_dataset *d, struct pp_output *out)
{
	struct pp_steps steps = {.rule = PP_STEP_RULE_PODPROF};
	struct pp_message m = {.delivered = 0};
	struct pp_session_page page = {.pid = 0};
	char directory[PATH], path[PATH + 16];
	struct pp_err err = {""};
	int of_job = PHASE_WRITERS, rc;

	out->dataset = d;
	if (pp_output_make_dirs(out, &err))
		stop(err.text);
	snprintf(directory, sizeof(directory), "%s/podprof/%s", out->logdir, out->session);
	snprintf(path, sizeof(path), "%s/pod.h5", directory);
	begin(PHASE_PAGE);
	pp_session_page_begin(&page, directory, d);
	end(PHASE_PAGE);
	for (int i = 0; pp_writer_list[i]; i++) {
		if (!(pp_writer_list[i]->flags & PP_WRITER_OF_JOB))
			continue;
		begin((enum phase)of_job);
		if (pp_writer_list[i]->write(out, &err))
			stop(err.text);
		end((enum phase)of_job++);
	}
	begin(PHASE_MESSAGE);
	pp_message_session(&m, d, &steps, d->names, out->logdir, out->session);
	end(PHASE_MESSAGE);
	begin(PHASE_PAGE);
	pp_session_page_go(&page);
	rc = page.pid ? pp_session_page_end(&page, &err) : pp_session_page(directory, d, NULL, &err);
	if (rc)
		stop(err.text);
	end(PHASE_PAGE);
	result->pod_mb = mb_of(directory, "pod.h5");
	result->page_mb = mb_of(directory, "report.html");
}

/* As session.c on rank 0's host. */
static void be_leader(const struct block_job *job)
{
	struct pp_gather g = {.leads = 1, .number = 1, .log = say};
	struct pp_output out = {.logdir = spool, .session = "pod", .partial = 1};
	struct pp_intern *names = pp_intern_new();
	struct pp_dataset own, merged;
	struct pp_err err = {""};
	int fd[2];

	snprintf(g.spool, sizeof(g.spool), "%s", spool);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd))
		stop("no socket");
	close(fd[0]); /* all shares are there */
	g.fd = fd[1];
	block_make(&own, names, job, 0, PER_HOST);
	own.ranks_asked = job->ranks;
	peak_kb();
	since = cpu_ms();
	result->wall_ms = -bench_ns() / 1e6;
	result->total_ms = -since;
	if (pp_gather_merge(&g, &own, names, &merged, &err))
		stop(err.text);
	pp_dataset_release(&own);
	pp_files_tools(&merged);
	result->arrivals = merged.arrivals;
	result->collectives = merged.collectives;
	write_session(&merged, &out);
	charge();
	result->wall_ms += bench_ns() / 1e6;
	result->total_ms = 0;
	for (int p = 0; p < PHASES; p++)
		result->total_ms += result->ms[p];
	result->done = 1;
	_exit(0);
}

static void in_child(void (*work)(const struct block_job *job), const struct block_job *job)
{
	int status = 1;
	pid_t child = fork();

	if (!child)
		work(job);
	if (child < 0 || waitpid(child, &status, 0) != child || status) {
		fprintf(stderr, "bench_pod: a process of %d ranks ended with %d\n", (int)job->ranks, status);
		exit(1);
	}
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *place)
{
	(void)st;
	(void)type;
	(void)place;
	return remove(path);
}

static int by_total(const void *a, const void *b)
{
	const struct result *x = a, *y = b;

	return (x->total_ms > y->total_ms) - (x->total_ms < y->total_ms);
}

/* The median turn by CPU time. Returns whether a limit was missed. */
static int measure(int32_t ranks, int limited, int keep, double *ret_ms_per_rank)
{
	struct block_job job = {.ranks = ranks, .steps = STEPS, .calls = 2, .per_host = PER_HOST};
	struct result cold, turn[REPS], *r = &turn[REPS / 2];
	char what[120], note[400], kept[PATH];
	struct bench_figure f = {.bench = "pod", .what = what, .unit = "ms", .note = note};
	double load[1] = {0};
	int missed;

	if (mkdir(spool, 0700))
		stop("cannot make a directory in /dev/shm");
	snprintf(kept, sizeof(kept), "%s/podprof", spool);
	in_child(make_shares, &job);
	getloadavg(load, 1);
	for (int i = -1; i < REPS; i++) {
		nftw(kept, remove_one, 16, FTW_DEPTH | FTW_PHYS);
		*result = (struct result){.done = 0};
		if (i >= 0)
			bench_warm();
		in_child(be_leader, &job);
		*(i < 0 ? &cold : &turn[i]) = *result;
	}
	if (keep)
		printf("its files: %s\n", spool);
	else
		nftw(spool, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	qsort(turn, REPS, sizeof(*turn), by_total);
	for (int p = 0; p < PHASES; p++) {
		if (r->ms[p] < SHOWN_MS)
			continue;
		snprintf(what, sizeof(what), "made-up pod of %d ranks: %s", ranks, name_of(p));
		snprintf(note, sizeof(note), "CPU; %.0f MB at most", (double)r->peak_of[p] / 1e3);
		f.value = r->ms[p];
		f.low = f.high = r->ms[p];
		for (int i = 0; i < REPS; i++) {
			f.low = turn[i].ms[p] < f.low ? turn[i].ms[p] : f.low;
			f.high = turn[i].ms[p] > f.high ? turn[i].ms[p] : f.high;
		}
		bench_print(&f);
	}
	f = (struct bench_figure){
	        "pod", what, "ms", r->total_ms, turn[0].total_ms, turn[REPS - 1].total_ms, limited ? CPU_MS_MOST : 0, 0, note};
	snprintf(what, sizeof(what), "made-up pod of %d ranks: all, CPU of rank 0's keeper", ranks);
	snprintf(note, sizeof(note),
	         "%d steps, %zu operations with %zu rows; pod.h5 %.0f MB, page %.1f MB; wall %.0f ms; load %.1f; %d turns", STEPS,
	         r->collectives, r->arrivals, r->pod_mb, r->page_mb, r->wall_ms, load[0], REPS);
	missed = bench_print(&f);
	f = (struct bench_figure){
	        "pod", what, "ms", cold.total_ms, cold.total_ms, cold.total_ms, 0, 0, "see bench_warm() in tests/bench/bench.h"};
	snprintf(what, sizeof(what), "made-up pod of %d ranks: the same, memory never touched before", ranks);
	bench_print(&f);
	f = (struct bench_figure){"pod", what, "MB", 0, 0, 0, limited ? MB_MOST : 0, 0, "resident, its writers' too"};
	snprintf(what, sizeof(what), "made-up pod of %d ranks: memory of rank 0's keeper", ranks);
	f.value = f.low = f.high = (double)r->peak_kb / 1e3;
	missed |= bench_print(&f);
	*ret_ms_per_rank = turn[0].total_ms / ranks;
	return missed;
}

int main(int argc, char **argv)
{
	static const int32_t ranks[SIZES] = {1024, 4096, 10240};
	struct bench_figure f = {
	        .bench = "pod", .what = "CPU per rank, made-up pods of 10240 / 1024 ranks", .unit = "x", .gate = FLAT_MOST};
	double per_rank[SIZES];
	int missed = 0;

	if (!bench_asked())
		return SKIP;
	result = mmap(NULL, sizeof(*result), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (result == MAP_FAILED)
		return 1;
	snprintf(spool, sizeof(spool), "/dev/shm/pp-pod-%d", (int)getpid());
	printf("These pods are made up (tests/bench/block_make.c): %d ranks per host. Each step has one\n"
	       "MPI_Allreduce of all ranks, every fourth nonblocking, and one of the rank's tensor group (its host) or data\n"
	       "group (its local rank on %d hosts), in turns. One rank is late in every call. Each host has a clock of its own.\n"
	       "There are no event files.\n",
	       PER_HOST, BLOCK_DATA_HOSTS);
	fflush(stdout);
	if (argc > 1)
		return measure((int32_t)strtol(argv[1], NULL, 10) / PER_HOST * PER_HOST, 0, argc > 2, per_rank);
	for (int i = 0; i < SIZES; i++)
		missed |= measure(ranks[i], i == SIZES - 1, 0, &per_rank[i]);
	f.value = f.low = f.high = per_rank[SIZES - 1] / per_rank[0];
	return missed | bench_print(&f);
}
