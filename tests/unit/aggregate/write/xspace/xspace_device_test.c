/* Planes of devices in XSpace files, read back by podprof: each rank has its own streams, launches, devices and allocations again,
 * whichever number its planes had. Without memory a file is not written, or not read, with a sentence. docs/formats.md has the
 * names and stats; e2e_gpu.py reads them with xprof. */
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aggregate/read/ring/rings.h"
#include "aggregate/read/trace.h"
#include "aggregate/write/writer.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"
#include "core/step/step_attr.h"
#include "tests/test.h"
#include "tests/unit/aggregate/read/xspace/xspace_kit.h"
#include "tests/unit/capture.h"

/* malloc(), calloc() and realloc() of our code (linked with --wrap): the n-th call fails. */
static long calls, failing;
void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);

void *__wrap_malloc(size_t size)
{
	return ++calls == failing ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return ++calls == failing ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t size)
{
	return ++calls == failing ? NULL : __real_realloc(p, size);
}

enum { RANKS = 3, STEPS = 6, STEP = 100000 };

static char base[] = "/tmp/podprof-planes-XXXXXX";

struct session {
	struct pp_capture capture;
	struct pp_steps steps;
	struct pp_attr attr[RANKS];
	struct pp_output out;
	struct pp_launch launch[2];
	struct pp_device device[2];
};

static uint32_t put(struct session *s, const char *text)
{
	return pp_intern_put(s->capture.names, text, strlen(text));
}

static struct pp_span *run(struct session *s, size_t r, uint32_t stream, const char *name, int activity, int64_t begin, int64_t end)
{
	struct pp_span *span = add_span(&s->capture, r, stream, PP_SPAN_DEVICE, name, begin, end);

	span->source = PP_SOURCE_CUPTI;
	span->device.activity = (uint8_t)activity;
	span->device.correlation = (uint64_t)begin;
	span->device.host_thread = 1;
	return span;
}

/* Step k is [at, at + STEP): ranks compute, copy and reduce, unless one has no device. */
static void one_step(struct session *s, size_t r, int64_t k, int has_device)
{
	int64_t at = 1000 + k * STEP;
	struct pp_span *span;

	add_step(&s->capture, r, k, at, at + STEP);
	span = add_range(&s->capture, r, 0, "aten::mm", at + 10, at + 30000);
	span->category = PP_CATEGORY_HOST_COMPUTE;
	span = add_range(&s->capture, r, 0, "cudaLaunchKernel", at + 20, at + 400);
	span->source = PP_SOURCE_CUPTI;
	span->category = PP_CATEGORY_KERNEL_LAUNCH;
	span->range.id = (uint64_t)(at + 500);
	span->range.payload = PP_DEVICE_CALL_LAUNCH;
	add_mpi(&s->capture, r, "MPI_File_write_at", 0, at + 80000, at + 81000)->category = PP_CATEGORY_OUTPUT;
	add_mpi(&s->capture, r, "MPI_File_sync", 0, at + 82000, at + 83000)->category = PP_CATEGORY_OUTPUT;
	add_mpi(&s->capture, r, "MPI_File_read_at_all", 0, at + 84000, at + 85000)->category = PP_CATEGORY_INPUT;
	span = add_mpi(&s->capture, r, "MPI_Barrier", 0, at + 86000, at + 87000);
	span->mpi.call = PP_NCCL_FIRST + 1; /* without a number: it matches none of other ranks */
	span->mpi.comm = 0;
	if (!has_device)
		return;
	if (k != 4) { /* a step without a computation */
		span = run(s, r, 1, "half_gemm", PP_DEVICE_KERNEL, at + 500, at + 40500);
		span->device.precision = PP_PRECISION_16;
		span->device.launch = 1;
		span->device.op = put(s, "aten::mm");
	}
	run(s, r, 1, "MemcpyDToH", PP_DEVICE_DEVICE_TO_HOST, at + 50000, at + 52000)->device.bytes = 4096;
	span = run(s, r, 2, "ncclDevKernel_AllReduce", PP_DEVICE_COLLECTIVE, at + 60000, at + 70000);
	span->device.launch = 2;
	run(s, r, 2, "MemcpyDToD (P2P)", PP_DEVICE_DEVICE_TO_DEVICE, at + 71000, at + 72000)->device.bytes = 5;
	if (k == 4)
		return;
	run(s, r, 2, "Memset", PP_DEVICE_SET, at + 73000, at + 74000)->device.bytes = 6;
	if (k != 3)
		run(s, r, 2, "kernel", PP_DEVICE_KERNEL, at + STEP - 1000, at + STEP + 3000); /* over the step's end */
}

static void allocate(struct session *s, size_t r)
{
	struct pp_rank *rank = &s->capture.rank[r];

	rank->allocation = calloc(2, sizeof(*rank->allocation));
	for (int i = 0; rank->allocation && i < 2; i++)
		rank->allocation[rank->allocations++] = (struct pp_allocation){.time = 1000 + 2 * STEP + i,
		                                                               .allocator = put(s, "GPU_0"),
		                                                               .op = put(s, "aten::mm"),
		                                                               .is_free = i,
		                                                               .step = -1,
		                                                               .address = UINT64_C(0xffff800000000000),
		                                                               .requested = 60,
		                                                               .bytes = 64,
		                                                               .allocated = 64 * !i,
		                                                               .reserved = 0,
		                                                               .available = -1,
		                                                               .peak = 64,
		                                                               .is_counted = 1,
		                                                               .fragmentation = -1};
}

/* Rank 0 has devices 0 and 1, the others their own device 0, and rank `without` none. */
static void make(struct session *s, size_t without)
{
	struct pp_err err = {""};

	*s = (struct session){.capture = make_capture(RANKS)};
	s->launch[0] = (struct pp_launch){168, 1, 147456, {384, 1, 1}, {132, 2, 3}, 18.75F, 1};
	s->launch[1] = (struct pp_launch){.registers = 96, .block = {544, 1, 1}, .grid = {24, 1, 1}, .occupancy = -1};
	s->device[0] = (struct pp_device){.kind = "GPU",
	                                  .name = "model \"x\"",
	                                  .memory = 1 << 30,
	                                  .limits = {.capability = 9 << 16, .bandwidth = 7, .multiprocessors = 132}};
	s->device[1] = (struct pp_device){.number = 1, .kind = "GPU", .name = "model y"};
	for (size_t r = 0; r < RANKS; r++) {
		struct pp_rank *rank = &s->capture.rank[r];

		snprintf(rank->host, sizeof(rank->host), "node0");
		rank->step_marks = 1;
		for (int64_t k = 0; k < STEPS; k++)
			one_step(s, r, k, r != without);
		if (r == without)
			continue;
		rank->launch = s->launch;
		rank->launches = 2;
		rank->device = s->device;
		rank->devices = 2;
		rank->device_replay = 1;
		rank->thread[1].tid = 7;
		rank->thread[2].tid = 20;
		rank->thread[1].device = 1;
		rank->thread[2].device = r ? 1 : 2;
		rank->thread[1].name = put(s, "stream 7");
		rank->thread[2].name = put(s, "stream 20");
		allocate(s, r);
	}
	CHECK_INT(pp_steps_find(&s->capture, 1, STEPS - 1, &s->steps, &err), 0);
	for (size_t r = 0; r < RANKS; r++)
		CHECK_INT(pp_attr_rank(&s->capture.rank[r], r, &s->steps, RANKS, s->capture.names, PP_ATTR_KEEP_ALL, &s->attr[r],
		                       &err),
		          0);
	s->out = (struct pp_output){.capture = &s->capture, .steps = &s->steps, .attr = s->attr, .logdir = base, .session = "s"};
}

static void drop(struct session *s)
{
	for (size_t r = 0; r < RANKS; r++)
		pp_attr_release(&s->attr[r]);
	pp_steps_release(&s->steps);
	free_capture(&s->capture);
}

static int try_xspace(const struct session *s, struct pp_err *err)
{
	for (size_t i = 0; pp_writer_list[i]; i++)
		if (!strcmp(pp_writer_list[i]->name, "xspace"))
			return pp_writer_list[i]->write(&s->out, err);
	return -1;
}

static void write_xspace(const struct session *s)
{
	struct pp_err err = {""};

	CHECK_INT(try_xspace(s, &err), 0);
	CHECK_STR(err.text, "");
}

static struct pp_capture read_back(const char *name, char *path, size_t size)
{
	struct pp_trace_options options = {.rank = 0};
	struct pp_trace_glance glance = {0};
	struct pp_capture c = {0};
	struct pp_err err = {""};

	snprintf(path, size, "%s/plugins/profile/s/%s.xplane.pb", base, name);
	CHECK_INT(pp_trace_glance(path, &glance, &err), 0);
	CHECK_INT(glance.is_podprof, 1);
	CHECK_INT(pp_trace_read(path, &glance, &options, &c, &err), 0);
	CHECK_STR(err.text, "");
	return c;
}

static int has_bytes(const char *path, const char *what)
{
	static char bytes[1 << 20];
	FILE *f = fopen(path, "r");
	size_t n = f ? fread(bytes, 1, sizeof(bytes), f) : 0;

	if (f)
		fclose(f);
	return n && n < sizeof(bytes) && memmem(bytes, n, what, strlen(what)) != NULL;
}

static const char *text(const struct pp_capture *c, uint32_t id)
{
	return pp_intern_text(c->names, id, NULL);
}

static void same_launch(const struct pp_rank *a, uint32_t i, const struct pp_rank *b, uint32_t k)
{
	static const struct pp_launch unknown = {.occupancy = -1};
	struct pp_launch x = i ? a->launch[i - 1] : unknown, y = k ? b->launch[k - 1] : unknown;

	x.device = y.device = 0;
	CHECK(!memcmp(&x, &y, sizeof(x)));
}

static void same_streams(const struct pp_capture *c, const struct pp_rank *a, const struct pp_capture *d, const struct pp_rank *b)
{
	size_t t = 0, other = 0;

	for (; t < a->threads; t++) {
		if (!a->thread[t].device)
			continue;
		while (other < b->threads && !b->thread[other].device)
			other++;
		CHECK(other < b->threads);
		if (other == b->threads)
			return;
		CHECK_STR(text(d, b->thread[other].name), text(c, a->thread[t].name));
		CHECK_INT(b->thread[other].spans, a->thread[t].spans);
		CHECK_INT(b->thread[other].tid, a->thread[t].tid);
		for (size_t i = 0; i < a->thread[t].spans && i < b->thread[other].spans; i++) {
			const struct pp_span *x = &a->thread[t].span[i], *y = &b->thread[other].span[i];

			CHECK(x->begin == y->begin && x->end == y->end && y->kind == PP_SPAN_DEVICE);
			CHECK_STR(text(d, y->name), text(c, x->name));
			CHECK_INT(y->device.activity, x->device.activity);
			CHECK_INT(y->device.precision, x->device.precision);
			CHECK_INT(y->device.bytes, x->device.bytes);
			CHECK_INT(y->device.correlation, x->device.correlation);
			CHECK_INT(y->device.step, -1);
			if (x->begin >= 1000 + STEP &&
			    x->begin < 1000 + (STEPS - 1) * STEP) /* beside the window xprof must count none */
				CHECK_STR(text(d, y->device.op), text(c, x->device.op));
			if (x->device.activity <= PP_DEVICE_COLLECTIVE)
				same_launch(a, x->device.launch, b, y->device.launch);
		}
		other++;
	}
	while (other < b->threads && !b->thread[other].device)
		other++;
	CHECK_INT(other, b->threads);
}

static void same_allocations(const struct pp_capture *c, const struct pp_rank *a, const struct pp_capture *d,
                             const struct pp_rank *b)
{
	CHECK_INT(b->allocations, a->allocations);
	for (size_t i = 0; i < a->allocations && i < b->allocations; i++) {
		struct pp_allocation x = a->allocation[i], y = b->allocation[i];

		CHECK_STR(text(d, y.allocator), text(c, x.allocator));
		CHECK_STR(text(d, y.op), text(c, x.op));
		x.allocator = y.allocator = x.op = y.op = 0;
		CHECK(x.time == y.time && x.is_free == y.is_free && x.address == y.address && x.step == y.step);
		CHECK(x.requested == y.requested && x.bytes == y.bytes && x.allocated == y.allocated && x.reserved == y.reserved);
		CHECK(x.available == y.available && x.peak == y.peak && x.is_counted == y.is_counted);
	}
}

static const struct pp_span *next_call(const struct pp_rank *r, size_t *at)
{
	const struct pp_thread *t = &r->thread[0];

	while (*at < t->spans && t->span[*at].kind != PP_SPAN_MPI)
		++*at;
	return *at < t->spans ? &t->span[(*at)++] : NULL;
}

static void same_calls(const struct pp_rank *a, const struct pp_rank *b)
{
	const struct pp_span *x, *y;
	size_t at = 0, other = 0;

	while ((x = next_call(a, &at))) {
		y = next_call(b, &other);
		CHECK(y != NULL);
		if (!y)
			return;
		CHECK_INT(y->mpi.call, x->mpi.call);
		CHECK_INT(y->mpi.comm, x->mpi.comm);
		CHECK_INT(y->category, x->category);
		CHECK(y->begin == x->begin && y->end == x->end);
	}
	CHECK(!next_call(b, &other));
}

static void same_rank(const struct session *s, size_t r, const struct pp_capture *d, const struct pp_rank *b)
{
	const struct pp_rank *a = &s->capture.rank[r];
	int64_t ns[2] = {0};

	CHECK_INT(b->rank, (int)r);
	same_calls(a, b);
	same_streams(&s->capture, a, d, b);
	same_allocations(&s->capture, a, d, b);
	for (size_t t = 0; t < b->threads; t++)
		for (size_t i = 0; i < b->thread[t].spans; i++) {
			const struct pp_span *x = &b->thread[t].span[i];

			if (x->kind == PP_SPAN_STEP)
				ns[0] += x->end - x->begin;
			if (x->kind == PP_SPAN_RANGE && !strcmp(text(d, x->name), "cudaLaunchKernel"))
				ns[1] += x->category == PP_CATEGORY_KERNEL_LAUNCH;
		}
	CHECK_INT(ns[0], (STEPS - 2) * STEP); /* without those beside the window */
	CHECK_INT(ns[1], STEPS);
}

/* One file of all ranks: device 0 of rank 1 is another one than rank 0's. */
TEST(ranks_of_a_host)
{
	struct session s;
	struct pp_capture c;
	char path[512];

	make(&s, 2);
	write_xspace(&s);
	c = read_back("node0", path, sizeof(path));
	CHECK(has_bytes(path, "/device:GPU:0 (replay)") && has_bytes(path, "/device:GPU:1 (replay)"));
	CHECK(has_bytes(path, "/device:GPU:2 (replay)") && !has_bytes(path, "/device:GPU:3"));
	CHECK_INT(c.ranks, RANKS);
	for (size_t r = 0; r < RANKS && r < c.ranks; r++)
		same_rank(&s, r, &c, &c.rank[r]);
	CHECK_INT(c.rank[0].devices, 2);
	CHECK_STR(c.rank[0].device[0].name, "model \"x\"");
	CHECK_INT(c.rank[0].device[0].memory, 1 << 30);
	CHECK_STR(c.rank[0].device[1].name, "model y");
	CHECK_INT(c.rank[1].devices, 1);
	CHECK_STR(c.rank[1].device[0].name, "model \"x\"");
	CHECK_INT(c.rank[2].devices + c.rank[2].launches, 0);
	/* what the file says of itself: the replay, not whose steps xprof shows */
	CHECK_INT(c.rank[0].remarks, 1);
	CHECK_STR(c.rank[0].remark[0], "podprof: node0: device records are a replay of recorded data: no device ran");
	CHECK(has_bytes(path, "podprof: node0: xprof shows the steps of rank 0"));
	CHECK(has_bytes(path, "podprof: this step has no device compute"));
	pp_capture_release(&c);
	drop(&s);
}

/* Steps are the lowest rank's, which has no device: a plane of another rank shows them. */
TEST(steps_of_a_rank_without)
{
	struct session s;
	struct pp_capture c;
	char path[512];

	make(&s, 0);
	write_xspace(&s);
	c = read_back("node0", path, sizeof(path));
	CHECK_INT(c.ranks, RANKS);
	for (size_t r = 0; r < RANKS && r < c.ranks; r++)
		same_rank(&s, r, &c, &c.rank[r]);
	CHECK_INT(c.rank[0].devices, 0);
	CHECK(has_bytes(path, "podprof: node0: xprof shows the steps of rank 0"));
	CHECK(has_bytes(path, "podprof: this step has no device compute") && !has_bytes(path, "/device:GPU:2"));
	pp_capture_release(&c);
	drop(&s);
}

/* A file of each rank: numbers are those of its process. */
TEST(a_file_of_each_rank)
{
	char name[32], path[512];
	struct pp_capture c;
	struct session s;

	make(&s, 2);
	s.out.xspace_per_rank = 1;
	s.capture.rank[1].device_replay = 0;
	write_xspace(&s);
	for (size_t r = 0; r < RANKS; r++) {
		snprintf(name, sizeof(name), "node0-rank%04zu", r);
		c = read_back(name, path, sizeof(path));
		CHECK_INT(c.ranks, 1);
		same_rank(&s, r, &c, &c.rank[0]);
		if (r == 1) {
			CHECK(has_bytes(path, "/device:GPU:0") && !has_bytes(path, "/device:GPU:1") && !has_bytes(path, "replay"));
			CHECK_INT(c.rank[0].remarks, 0);
		}
		pp_capture_release(&c);
	}
	drop(&s);
}

static void write_without_memory(const struct session *s, const char *path)
{
	for (failing = 1;; failing++) {
		struct pp_err err = {""};
		int rc;

		unlink(path);
		calls = 0;
		rc = try_xspace(s, &err);
		if (calls < failing)
			break;
		if (rc) {
			CHECK(strstr(err.text, "memory") != NULL);
			CHECK(access(path, F_OK) != 0);
		} else {
			CHECK(has_bytes(path, "/device:GPU:2 (replay)") && has_bytes(path, "Task Environment"));
		}
	}
	CHECK(failing > 20);
	failing = 0;
}

static void read_without_memory(const char *path)
{
	struct pp_trace_options options = {.rank = 0};
	struct pp_trace_glance glance = {0};
	struct pp_err err = {""};

	CHECK_INT(pp_trace_glance(path, &glance, &err), 0);
	for (failing = 1;; failing++) {
		struct pp_capture c = {0};
		int rc;

		err.text[0] = '\0';
		calls = 0;
		rc = pp_trace_read(path, &glance, &options, &c, &err);
		if (rc)
			CHECK(strstr(err.text, "memory") != NULL);
		else
			pp_capture_release(&c);
		if (calls < failing)
			break;
	}
	CHECK(failing > 20);
	failing = 0;
}

TEST(no_memory)
{
	struct session s;
	char path[512];

	make(&s, 2);
	snprintf(path, sizeof(path), "%s/plugins/profile/s/node0.xplane.pb", base);
	write_without_memory(&s, path);
	write_xspace(&s);
	read_without_memory(path);
	drop(&s);
}

/* A file that says it is ours, with a line whose name has a byte of 0. */
TEST(zero_in_a_name)
{
	static struct bytes space, plane, line, event;
	static const char name[] = "rank 0 a\0bcd";
	struct pp_capture c = {0};
	struct pp_err err = {""};

	put_text(&space, 4, "node0");
	begin_plane(&plane, "/host:CPU");
	put_int(&line, 1, 1);
	put_bytes(&line, 2, name, sizeof(name) - 1);
	begin_event(&event, 1, 1000, 10);
	put_message(&line, 4, &event);
	put_message(&plane, 3, &line);
	put_name(&plane, 4, 1, "work");
	put_message(&space, 1, &plane);
	CHECK_INT(read_bytes(space.b, space.n, &c, &err), 0);
	CHECK_INT(c.ranks, 1);
	CHECK_INT(c.rank[0].threads, 1);
	CHECK_STR(text(&c, c.rank[0].thread[0].name), "a\xef\xbf\xbd"
	                                              "bcd");
	pp_capture_release(&c);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

int main(void)
{
	CHECK(mkdtemp(base) != NULL);
	ranks_of_a_host();
	steps_of_a_rank_without();
	a_file_of_each_rank();
	no_memory();
	zero_in_a_name();
	nftw(base, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return test_end();
}
