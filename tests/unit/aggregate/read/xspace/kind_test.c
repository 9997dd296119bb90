/* Dialects of XSpace: planes of any vendor, XLA's categories and operations, who made the ranges of a host. */
#include "aggregate/read/xspace/kind.h"
#include "core/capture/capture.h"
#include "core/capture/thread.h"
#include "core/step/category.h"
#include "tests/test.h"
#include "tests/unit/aggregate/read/xspace/xspace_kit.h"

enum { HLO_OP = 1, HLO_MODULE, CATEGORY, TF_OP, CODE, ANNOTATION, CORRELATION, ACCESSED, VALUE };

static struct bytes file, plane, line, event;
static struct pp_capture c;
static const char *const names[16] = {"first", "second", "third", "fourth", "fifth"};
static const char *name[16];

static void end_plane(void)
{
	for (int64_t i = 1; i < 16; i++)
		if (name[i])
			put_name(&plane, 4, i, name[i]);
	put_name(&plane, 5, HLO_OP, "hlo_op");
	put_name(&plane, 5, HLO_MODULE, "hlo_module");
	put_name(&plane, 5, CATEGORY, "hlo_category");
	put_name(&plane, 5, TF_OP, "tf_op");
	put_name(&plane, 5, CODE, "_src");
	put_name(&plane, 5, ANNOTATION, "annotation");
	put_name(&plane, 5, ACCESSED, "bytes_accessed");
	put_message(&file, 1, &plane);
}

/* An event of the line, 10 ns after the one before; its stats: a text each, or none. */
static void add(int64_t id, int64_t stat, const char *text)
{
	begin_event(&event, id, 10 * id, 5);
	if (stat)
		put_stat_text(&event, 4, stat, text);
	put_message(&line, 4, &event);
}

static const struct pp_rank *read_file(void)
{
	struct pp_err err = {""};

	pp_capture_release(&c);
	c = (struct pp_capture){0};
	if (read_bytes(file.b, file.n, &c, &err)) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
	file.n = 0;
	memcpy(name, names, sizeof(name));
	return &c.rank[0];
}

/* A device of each vendor, and a plug-in's own; two of one number are two. */
TEST(devices_of_any_vendor)
{
	static const char *const planes[] = {"/device:GPU:0", "/device:XPU:1", "/device:TPU:0", "/device:CUSTOM:VE:2",
	                                     "/device:CUSTOM:NPU 3"};
	const struct pp_rank *r;
	char text[256] = "";

	for (size_t i = 0; i < 5; i++) {
		begin_plane(&plane, planes[i]);
		begin_line(&line, 1, i == 2 ? "XLA Ops" : "Stream #1");
		add(1, HLO_OP, "fusion.1");
		put_message(&plane, 3, &line);
		name[1] = "fusion_1";
		put_name(&plane, 5, CORRELATION, "correlation_id");
		end_plane();
	}
	r = read_file();
	CHECK_INT(r->devices, 5);
	CHECK_INT(r->threads, 5);
	for (size_t i = 0; i < r->devices; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s %u %u,", r->device[i].kind, r->device[i].number,
		         r->thread[i].device);
	CHECK_STR(text, "GPU 0 1,XPU 1 2,TPU 2 3,VE 3 4,NPU 4 5,");
}

/* A plane of a plug-in that says nothing of a device: its events are shown, and no time of the step is theirs. */
TEST(a_plane_of_a_network)
{
	const struct pp_rank *r;

	begin_plane(&plane, "/device:CUSTOM:Megascale Trace");
	begin_line(&line, 1, "slice 0");
	add(1, 0, NULL);
	put_message(&plane, 3, &line);
	put_name(&plane, 4, 1, "all-reduce.1");
	put_message(&file, 1, &plane);
	r = read_file();
	CHECK_INT(r->devices, 0);
	CHECK_INT(r->threads, 1);
	CHECK_INT(r->thread[0].device, 0);
	CHECK_INT(r->thread[0].span[0].kind, PP_SPAN_ASYNC);
}

/* A viewer's file may have a GPU's operations only; beside streams they are the same events once more. */
TEST(operations_of_a_gpu)
{
	const struct pp_rank *r;

	for (int streams = 0; streams < 2; streams++) {
		begin_plane(&plane, "/device:GPU:0");
		begin_line(&line, 1, "XLA Ops");
		add(1, 0, NULL);
		put_message(&plane, 3, &line);
		begin_line(&line, 2, "Stream #7");
		if (streams)
			add(2, 0, NULL);
		if (streams)
			put_message(&plane, 3, &line);
		end_plane();
		r = read_file();
		CHECK_INT(r->threads, 1);
		CHECK_STR(name_of(&c, r->thread[0].name), streams ? "Stream #7" : "XLA Ops");
		CHECK_INT(r->trace.derived, streams);
	}
}

/* Counters of a device are no work of it. */
TEST(counters_of_a_device)
{
	const struct pp_rank *r;

	begin_plane(&plane, "/device:TPU:0");
	begin_line(&line, 1, "_counters_");
	begin_event(&event, 1, 10, 0);
	put_stat(&event, 4, VALUE, 7);
	put_message(&line, 4, &event);
	put_message(&plane, 3, &line);
	put_name(&plane, 5, VALUE, "% util");
	name[1] = "HBM";
	end_plane();
	r = read_file();
	CHECK_INT(r->devices, 1);
	CHECK_INT(r->threads, 1);
	CHECK_INT(r->thread[0].device, 0);
	CHECK_INT(r->thread[0].span[0].kind, PP_SPAN_COUNTER);
	CHECK_STR(name_of(&c, r->thread[0].span[0].name), "HBM % util");
}

/* What XLA says of an operation goes before its name. */
TEST(categories_before_names)
{
	static const struct {
		const char *name, *category;
		int activity;
	} row[] = {
	        {"fusion.7", "all-reduce", PP_DEVICE_COLLECTIVE},
	        {"all-reduce-scatter_fusion", "loop fusion", PP_DEVICE_KERNEL},
	        {"x", "all-gather-start", PP_DEVICE_COLLECTIVE},
	        {"y", "collective-permute-done", PP_DEVICE_COLLECTIVE},
	        {"copy.1", "data formatting", PP_DEVICE_KERNEL},
	        {"copy-start.1", "copy-start", PP_DEVICE_DEVICE_TO_DEVICE},
	        {"in", "infeed", PP_DEVICE_HOST_TO_DEVICE},
	        {"out", "outfeed", PP_DEVICE_DEVICE_TO_HOST},
	        {"r", "reduce", PP_DEVICE_KERNEL},
	        {"ncclDevKernel_AllReduce_Sum_f32_RING_LL", "async-start", PP_DEVICE_COLLECTIVE},
	};
	const struct pp_rank *r;

	begin_plane(&plane, "/device:TPU:0");
	begin_line(&line, 1, "XLA Ops");
	for (int64_t i = 0; i < 10; i++) {
		name[i + 1] = row[i].name;
		add(i + 1, CATEGORY, row[i].category);
	}
	put_message(&plane, 3, &line);
	end_plane();
	r = read_file();
	CHECK_INT(r->thread[0].spans, 10);
	for (size_t i = 0; i < 10; i++)
		CHECK_INT(r->thread[0].span[i].device.activity, row[i].activity);
}

/* The module is a part of an operation's name; bytes of a collective come with its metadata or with itself. */
TEST(an_operation_and_its_module)
{
	const struct pp_rank *r;

	begin_plane(&plane, "/device:GPU:0");
	begin_line(&line, 1, "Stream #1");
	begin_event(&event, 1, 10, 5);
	put_stat_text(&event, 4, HLO_OP, "fusion.3");
	put_stat_text(&event, 4, HLO_MODULE, "jit_step");
	put_message(&line, 4, &event);
	begin_event(&event, 2, 20, 5);
	put_stat_text(&event, 4, CATEGORY, "all-reduce");
	put_stat(&event, 4, ACCESSED, 4096);
	put_message(&line, 4, &event);
	put_message(&plane, 3, &line);
	end_plane();
	r = read_file();
	CHECK_STR(name_of(&c, r->thread[0].span[0].device.op), "jit_step/fusion.3");
	CHECK_INT(r->thread[0].span[0].device.bytes, 0);
	CHECK_INT(r->thread[0].span[1].device.bytes, 4096);
}

static int origin(const struct pp_rank *r, size_t thread, size_t span)
{
	return r->thread[thread].span[span].range.origin;
}

/* By stats, then by the name's form, then by the thread. */
TEST(who_made_a_range)
{
	const struct pp_rank *r;

	name[1] = "my save stage";
	name[2] = "$train.py:12 load";
	name[3] = "ThunkExecutor::Execute";
	name[4] = "dot.4";
	name[5] = "layer/MatMul";
	name[6] = "all-reduce-start.1";
	name[7] = "cuLaunchKernel";
	begin_plane(&plane, "/host:CPU");
	put_name(&plane, 5, CORRELATION, "correlation_id");
	begin_line(&line, 1, "python");
	add(1, ANNOTATION, "x");
	add(2, 0, NULL);
	add(3, 0, NULL);
	add(4, CODE, "external/xla/xla/pjrt/x.cc");
	add(5, TF_OP, "layer/MatMul:MatMul");
	put_message(&plane, 3, &line);
	begin_line(&line, 2, "tf_XLAEigen/123");
	add(1, 0, NULL);
	add(4, HLO_OP, "dot.4");
	add(6, HLO_OP, "all-reduce-start.1");
	begin_event(&event, 7, 70, 5);
	put_stat(&event, 4, CORRELATION, 3);
	put_stat_text(&event, 4, HLO_OP, "dot.4");
	put_message(&line, 4, &event);
	put_message(&plane, 3, &line);
	end_plane();
	r = read_file();
	CHECK_INT(origin(r, 0, 0), PP_ORIGIN_PROGRAM);
	CHECK_INT(origin(r, 0, 1), PP_ORIGIN_PYTHON);
	CHECK_INT(origin(r, 0, 2), PP_ORIGIN_LIBRARY);
	CHECK_INT(origin(r, 0, 3), PP_ORIGIN_LIBRARY);
	CHECK_INT(origin(r, 0, 4), PP_ORIGIN_OPERATOR);
	CHECK_INT(origin(r, 1, 0), PP_ORIGIN_LIBRARY);
	CHECK_INT(origin(r, 1, 1), PP_ORIGIN_OPERATOR);
	CHECK_INT(origin(r, 1, 3), PP_ORIGIN_RUNTIME);
	CHECK_INT(r->thread[1].span[1].category, 0);
	CHECK_INT(r->thread[1].span[2].category, PP_CATEGORY_HOST_COMMUNICATION);
}

int main(void)
{
	memcpy(name, names, sizeof(name));
	devices_of_any_vendor();
	a_plane_of_a_network();
	operations_of_a_gpu();
	counters_of_a_device();
	categories_before_names();
	an_operation_and_its_module();
	who_made_a_range();
	CHECK_INT(pp_xkind_hlo_communicates("all-reduced_sum", 15), 0);
	CHECK_INT(pp_xkind_hlo_communicates("%all-to-all.12", 14), 1);
	CHECK_INT(pp_xkind_plane("/host:__ScopeRangeCallStack__"), PP_XPLANE_OTHER);
	pp_capture_release(&c);
	return test_end();
}
