/* /advice of made-up jobs: each rule holds with its evidence, and does not with a little less of it. */
#include <stdlib.h>

#include "aggregate/dataset/table/word.h"
#include "aggregate/tools/tools.h"
#include "core/base/known.h"
#include "core/capture/span.h"
#include "tests/test.h"
#include "tests/unit/aggregate/pod_made.h"

enum { RANKS = 4, STEPS = 10, US = 1000, MS = 1000 * US };

static const char *const rules[] = {
#define PP_ADVICE(name, items, advice) #name,
#include "aggregate/tools/advice_rule.def"
#undef PP_ADVICE
};
enum { RULES = sizeof(rules) / sizeof(rules[0]) };
static int tested[RULES];

#define ADD(d, table, rows, ...)                                                                                                   \
	do {                                                                                                                       \
		(d)->table = realloc((d)->table, ((d)->rows + 1) * sizeof(*(d)->table));                                           \
		(d)->table[(d)->rows++] = (struct pp_row_##table){__VA_ARGS__};                                                    \
	} while (0)

/* How a step communicates; 0: a large allreduce. */
enum talk { TALK_LARGE, TALK_SMALL, TALK_LATE_RECEIVER, TALK_LATE_SENDER, TALK_EXCHANGE, TALK_SLOW_PART, TALK_LATE_FILE };

static void talk(struct pp_made_job *m, enum talk how, uint64_t upper, uint64_t lower)
{
	if (how == TALK_LATE_RECEIVER || how == TALK_LATE_SENDER || how == TALK_EXCHANGE) {
		pp_made_work(m, how != TALK_LATE_SENDER, PP_CATEGORY_HOST_COMPUTE, 2 * MS);
		pp_made_message(m, 0, 1, 3, 1 << 21, 100 * US, 0);
	}
	if (how == TALK_EXCHANGE)
		pp_made_message(m, 1, 0, 3, 1 << 21, 100 * US, 0);
	if (how == TALK_SLOW_PART) {
		pp_made_collective(m, upper, "MPI_Allreduce", 1 << 21, 100 * US);
		pp_made_collective(m, lower, "MPI_Allreduce", 1 << 21, 900 * US);
	}
	if (how == TALK_LATE_FILE) {
		pp_made_work(m, 1, PP_CATEGORY_HOST_COMPUTE, 2 * MS);
		pp_made_collective(m, 1, "MPI_File_write_at_all", 1 << 21, 100 * US);
	}
	for (int i = 0; i < (how == TALK_SMALL ? 10 : 1); i++)
		pp_made_collective(m, 1, "MPI_Allreduce", how == TALK_SMALL ? 4096 : 1 << 21, 100 * US);
}

/* Steps of about 10 ms. */
static struct pp_dataset make(enum talk how)
{
	static const int32_t upper[] = {0, 1}, lower[] = {2, 3};
	struct pp_made_job m;
	uint64_t a, b;

	pp_made_begin(&m, RANKS, RANKS, 0, STEPS);
	a = pp_made_communicator(&m, "upper", upper, 2);
	b = pp_made_communicator(&m, "lower", lower, 2);
	for (size_t s = 0; s < STEPS; s++) {
		for (size_t r = 0; r < RANKS; r++) {
			pp_made_step_begin(&m, r, s);
			pp_made_work(&m, r, PP_CATEGORY_HOST_COMPUTE, 10 * MS);
		}
		talk(&m, how, a, b);
		pp_made_end_all(&m);
	}
	return pp_made_end(&m);
}

/* Part of the computing of steps [first, last) was this. */
static void spend(struct pp_dataset *d, enum pp_category category, int percent, size_t first, size_t last)
{
	for (size_t i = first * RANKS; i < last * RANKS; i++) {
		d->cell[i].exclusive_ns[PP_CATEGORY_HOST_COMPUTE] -= (int64_t)percent * MS / 10;
		d->cell[i].exclusive_ns[category] += (int64_t)percent * MS / 10;
	}
}

static uint32_t name(struct pp_dataset *d, const char *text)
{
	return pp_intern_put((struct pp_intern *)d->names, text, strlen(text));
}

static const struct pp_row_advice *find(const struct pp_dataset *d, const char *rule)
{
	for (size_t i = 0; i < d->advices; i++)
		if (!strcmp(d->advice[i].rule, rule))
			return &d->advice[i];
	return NULL;
}

static void check_rows(const struct pp_dataset *d)
{
	for (size_t i = 0; i < d->advices; i++) {
		CHECK(d->advice[i].evidence[0] && strpbrk(d->advice[i].evidence, "0123456789") && d->advice[i].advice[0]);
		CHECK((d->advice[i].cost_ns > 0 || !pp_is_known(d->advice[i].cost_ns)) &&
		      (!i || d->advice[i].cost_ns <= d->advice[i - 1].cost_ns));
	}
}

/* `make_up` changes the dataset: with evidence, or with too little of it. `says`: a part of the evidence. */
static void check_rule(const char *rule, enum talk how, enum talk without, void (*make_up)(struct pp_dataset *d, int with),
                       const char *says)
{
	for (int with = 0; with < 2; with++) {
		struct pp_dataset d = make(with ? how : without);
		struct pp_intern *names = (struct pp_intern *)d.names;
		const struct pp_row_advice *row;
		struct pp_err err = {""};

		if (make_up)
			make_up(&d, with);
		CHECK_INT(pp_tools_run(&d, &err), 0);
		row = find(&d, rule);
		if (!row != !with || (row && !strstr(row->evidence, says))) {
			fprintf(stderr, "%s %s: %s\n", rule, with ? "with" : "without", row ? row->evidence : "(no row)");
			CHECK(0);
		}
		CHECK(1);
		check_rows(&d);
		pp_dataset_release(&d);
		pp_intern_free(names);
	}
	for (int i = 0; i < RULES; i++)
		tested[i] |= !strcmp(rules[i], rule);
}

/* Without: the receives were posted before the work, and complete in a call behind it. */
static void post_early(struct pp_dataset *d, int with)
{
	for (size_t i = 0; i < d->collectives && !with; i++)
		for (uint64_t k = d->collective[i].row_first; d->collective[i].message && k < d->collective[i].row_first + 2; k++) {
			struct pp_row_arrival *row = &d->arrival[k];

			if (row->is_root)
				continue;
			row->call = (uint32_t)k + 1;
			row->call_begin_ns = row->arrival_ns;
			row->arrival_ns -= 2 * MS + MS;
		}
}

/* Without: each rank sends and receives in one call. */
static void one_call(struct pp_dataset *d, int with)
{
	struct pp_row_arrival *first = NULL;

	for (size_t i = 0; i < d->collectives && !with; i++) {
		struct pp_row_arrival *second = &d->arrival[d->collective[i].row_first];

		if (!d->collective[i].message)
			continue;
		if (d->collective[i].source == 0) {
			first = second;
			continue;
		}
		for (int r = 0; r < 2; r++) {
			struct pp_row_arrival *other = &second[second[0].worker != first[r].worker];

			other->arrival_ns = first[r].call_begin_ns = other->call_begin_ns = first[r].arrival_ns;
			first[r].exit_ns = first[r].call_end_ns = other->call_end_ns = other->exit_ns;
			first[r].call = other->call = (uint32_t)i + 1;
		}
	}
}

static void between(struct pp_dataset *d, int with)
{
	ADD(d, input_between, input_betweens, .worker = 2, .input_ns = with ? 18 * MS : 90 * US, .outside_ns = 27 * MS, .gaps = 9,
	    .gaps_with_input = 9);
}

static void stage(struct pp_dataset *d, int with, int category, const char *text)
{
	spend(d, PP_CATEGORY_INPUT, with ? 10 : 3, 0, STEPS);
	ADD(d, input_op, input_ops, .name = name(d, text), .worker = 1, .category = (int8_t)category, .count = 10, .total_ns = MS,
	    .self_ns = MS);
}

static void on_demand(struct pp_dataset *d, int with)
{
	stage(d, with, PP_INPUT_ON_DEMAND, "read");
}

static void in_advance(struct pp_dataset *d, int with)
{
	stage(d, with, PP_INPUT_IN_ADVANCE, "prefetch");
}

static void preprocessing(struct pp_dataset *d, int with)
{
	stage(d, with, PP_INPUT_PREPROCESSING, "decode");
}

static void other_input(struct pp_dataset *d, int with)
{
	spend(d, PP_CATEGORY_INPUT, with ? 10 : 3, 0, STEPS);
}

static void python(struct pp_dataset *d, int with)
{
	stage(d, 1, PP_INPUT_PREPROCESSING, with ? "Iterator::Root::Generator#a=1#" : "Iterator::Root::Map#a=1#");
}

static void same_file(struct pp_dataset *d, int with)
{
	for (int32_t w = 0; w < 2; w++)
		ADD(d, file, files, .name = name(d, "all.bin"), .worker = w, .reads = 1,
		    .bytes_read = (uint64_t)(with ? 1 : w + 1) << 20, .read_ns = 20 * MS);
}

static void loader(struct pp_dataset *d, double busy)
{
	stage(d, 1, PP_INPUT_IN_ADVANCE, "prefetch");
	d->worker[1].loader_samples = 5;
	d->worker[1].loader_busy = busy;
}

static void loader_busy(struct pp_dataset *d, int with)
{
	loader(d, with ? 0.95 : 0.7);
}

static void loader_not_busy(struct pp_dataset *d, int with)
{
	loader(d, with ? 0.2 : 0.7);
}

static void advance_workers_busy(struct pp_dataset *d, int with)
{
	loader(d, with ? 0.7 : 0.2);
}

static void few_cores(struct pp_dataset *d, int with)
{
	preprocessing(d, 1);
	d->worker[1].devices = 1;
	d->worker[1].cores = with ? 4 : 64;
}

static void kernel(struct pp_dataset *d, const char *text, int activity, int precision, int64_t ns)
{
	ADD(d, kernel, kernels, .name = name(d, text), .activity = (int8_t)activity, .precision = (int8_t)precision, .worker = 1,
	    .occurrences = 400, .total_ns = ns, .bytes = 400 << 20, .occupancy_percent = (double)NAN);
}

static void copies(struct pp_dataset *d, int with)
{
	stage(d, 1, with ? PP_INPUT_ENQUEUING : PP_INPUT_ON_DEMAND, "infeed");
	kernel(d, "Memcpy HtoD (Pinned -> Device)", PP_DEVICE_HOST_TO_DEVICE, 0, 30 * MS);
}

static void pageable(struct pp_dataset *d, int with)
{
	kernel(d, with ? "Memcpy HtoD (Pageable -> Device)" : "Memcpy HtoD (Pinned -> Device)", PP_DEVICE_HOST_TO_DEVICE, 0,
	       30 * MS);
}

static void several_devices(struct pp_dataset *d, int with)
{
	stage(d, 1, PP_INPUT_ON_DEMAND, "read");
	d->worker[3].devices = with ? 2 : 1;
}

static void shared(struct pp_dataset *d, int with)
{
	for (int w = 0; w < RANKS; w++)
		d->worker[w].host_cores = with ? 2 : 4;
}

static void threads(struct pp_dataset *d, int with)
{
	for (int64_t s = 0; s < STEPS; s++)
		ADD(d, process, processes, .step = s, .worker = 2, .present = 1, .cpu_user_ns = 38 * MS, .cpu_system_ns = 1 * MS,
		    .involuntary_switches = with ? 20 : 5);
}

static void precision(struct pp_dataset *d, int with)
{
	spend(d, PP_CATEGORY_DEVICE_COMPUTE, 20, 0, STEPS);
	kernel(d, "sgemm", PP_DEVICE_KERNEL, with ? PP_PRECISION_32 : PP_PRECISION_16, 80 * MS);
}

static void layout(struct pp_dataset *d, int with)
{
	kernel(d, "gemm", PP_DEVICE_KERNEL, PP_PRECISION_16, 80 * MS);
	kernel(d, with ? "void cudnn::ops::nchwToNhwcKernel<float>" : "add", PP_DEVICE_KERNEL, PP_PRECISION_16, 8 * MS);
}

static void launches(struct pp_dataset *d, int with)
{
	spend(d, PP_CATEGORY_KERNEL_LAUNCH, with ? 20 : 5, 0, STEPS);
	kernel(d, "add", PP_DEVICE_KERNEL, PP_PRECISION_16, 4 * MS);
}

static void allocator(struct pp_dataset *d, int32_t rank, int64_t peak)
{
	ADD(d, allocator, allocators, .worker = rank, .allocator = name(d, "GPU_0"), .peak_bytes = peak << 28,
	    .device_bytes = (int64_t)100 << 28, .capacity_bytes = PP_UNKNOWN, .free_bytes = PP_UNKNOWN);
}

static void small_batch(struct pp_dataset *d, int with)
{
	launches(d, 1);
	allocator(d, 0, with ? 30 : 70);
}

static void idle(struct pp_dataset *d, int with)
{
	ADD(d, op_idle, op_idles, .worker = 0, .side = PP_SIDE_DEVICE, .idle_ns = (with ? 40 : 20) * MS, .step_ns = 100 * MS);
	ADD(d, op_idle, op_idles, .worker = 0, .side = PP_SIDE_HOST, .idle_ns = 90 * MS, .step_ns = 100 * MS);
	ADD(d, op_idle, op_idles, .worker = 1, .side = PP_SIDE_DEVICE, .idle_ns = 22 * MS, .step_ns = 100 * MS);
}

static void callbacks(struct pp_dataset *d, int with)
{
	ADD(d, op, ops, .name = name(d, with ? "model/py_function" : "model/matmul"), .category = PP_CATEGORY_HOST_COMPUTE,
	    .side = PP_SIDE_HOST, .worker = 1, .calls = 20, .total_ns = 20 * MS, .self_ns = 20 * MS, .max_ns = MS, .steps = STEPS);
}

static void results(struct pp_dataset *d, int with)
{
	kernel(d, "gemm", PP_DEVICE_KERNEL, 0, 5 * MS);
	spend(d, PP_CATEGORY_OUTPUT, with ? 10 : 2, 0, STEPS);
}

/* Without: a job with devices reads results. */
static void on_devices(struct pp_dataset *d, int with)
{
	spend(d, PP_CATEGORY_OUTPUT, 10, 0, STEPS);
	if (!with)
		kernel(d, "gemm", PP_DEVICE_KERNEL, 0, 5 * MS);
}

static void checkpoint(struct pp_dataset *d, int with)
{
	spend(d, PP_CATEGORY_OUTPUT, with ? 90 : 2, 0, with ? 1 : STEPS);
}

/* Without: ranks only wait for a late one before they write. */
static void late_file(struct pp_dataset *d, int with)
{
	if (with)
		spend(d, PP_CATEGORY_OUTPUT, 10, 0, STEPS);
	else
		pp_made_files(d, PP_CATEGORY_OUTPUT);
}

static void compile(struct pp_dataset *d, int with)
{
	spend(d, PP_CATEGORY_COMPILATION, 50, with ? 5 : 0, with ? 6 : 1);
}

static void compile_first(struct pp_dataset *d, int with)
{
	compile(d, !with);
}

static void retries(struct pp_dataset *d, int with)
{
	ADD(d, torch_memory, torch_memories, .worker = 3, .step = 1, .retries = with ? 2 : 0);
}

static void full(struct pp_dataset *d, int with)
{
	allocator(d, 2, with ? 97 : 90);
}

static void gpu(struct pp_dataset *d, int32_t worker, int64_t uncorrected, int64_t remap, int64_t errors, int64_t processes)
{
	ADD(d, gpu, gpus, .worker = worker, .device = 1, .ecc_uncorrected = uncorrected, .remap = remap, .nvlink_errors = errors,
	    .processes = processes);
}

static void faults(struct pp_dataset *d, int with)
{
	gpu(d, 0, 0, PP_UNKNOWN, PP_UNKNOWN, PP_UNKNOWN);
	gpu(d, 1, with ? 2 : 0, with ? 2 : 0, with ? 7 : 0, 1);
	gpu(d, 2, 0, with ? 1 : 0, 0, 1);
}

/* RANKS ranks on one host. */
static void others(struct pp_dataset *d, int with)
{
	gpu(d, 3, 0, 0, 0, with ? RANKS + 1 : RANKS);
}

/* Each rank has a device, rank 3 two, which run equal kernels. */
static void slow_device(struct pp_dataset *d, int with)
{
	for (int32_t w = 0; w < RANKS + 1; w++)
		ADD(d, kernel, kernels, .name = name(d, "gemm"), .activity = PP_DEVICE_KERNEL, .grid_x = 1,
		    .worker = w < RANKS ? w : 3, .device = w == RANKS, .occurrences = STEPS,
		    .total_ns = (w == RANKS && with ? 2 : 1) * STEPS * MS);
}

static void imbalance(struct pp_dataset *d, int with)
{
	for (int32_t w = 0; w < RANKS; w++)
		allocator(d, w, w == 1 ? with ? 85 : 70 : 40);
}

static void add_pipeline(struct pp_dataset *d, int64_t most_ns)
{
	on_demand(d, 1);
	ADD(d, tf_data_pipeline, tf_data_pipelines, .worker = 2, .name = name(d, "Host:0"), .calls = 10, .slow_calls = 3,
	    .total_ns = 400 * MS, .most_ns = most_ns, .type = name(d, "ParallelMapV2"),
	    .path = name(d, "Iterator::Root::ParallelMapV2"), .class = PP_TF_DATA_PARALLEL, .bottleneck_ns = 15 * MS,
	    .advice = name(d, "use more threads"));
}

static void tf_data(struct pp_dataset *d, int with)
{
	add_pipeline(d, with ? 16 * MS : 50 * US);
}

/* Where tf.data names the iterator, stages name no other cause. */
static void stage_of_tf_data(struct pp_dataset *d, int with)
{
	add_pipeline(d, with ? 50 * US : 16 * MS);
}

static void resident(struct pp_dataset *d, int with)
{
	for (int32_t w = 0; w < RANKS; w++)
		ADD(d, memory, memories, .worker = w, .rss_bytes = (uint64_t)(w == 1 ? with ? 40 : 29 : 20) << 27);
}

/* No evidence, no advice. */
TEST(nothing)
{
	struct pp_dataset d = make(TALK_LARGE);
	struct pp_intern *names = (struct pp_intern *)d.names;
	struct pp_err err = {""};

	CHECK_INT(pp_tools_run(&d, &err), 0);
	CHECK_INT(d.advices, 0);
	pp_dataset_release(&d);
	pp_intern_free(names);
}

TEST(each)
{
	check_rule("input_between_steps", 0, 0, between,
	           "2.00 ms per step on rank 2 (most on rank 2, 2.00 ms), behind 9 of 9 steps");
	check_rule("input_on_demand", 0, 0, on_demand, "% of the input operations' time is reading on demand");
	check_rule("tf_data", 0, 0, tf_data,
	           "tf.data's pipeline Host:0 on rank 2: 3 of 10 calls longer than 50 us, the slowest 16.0 ms; its bottleneck is "
	           "ParallelMapV2 (parallel transformation), 15.0 ms of its own: Iterator::Root::ParallelMapV2");
	check_rule("input_on_demand", 0, 0, stage_of_tf_data, "reading on demand");
	check_rule("input_in_advance", 0, 0, in_advance, "1.00 ms per step");
	check_rule("input_in_advance", 0, 0, advance_workers_busy, "100 % of the input operations' time is reading in advance");
	check_rule("input_preprocessing", 0, 0, preprocessing, "100 % of the input");
	check_rule("input_other", 0, 0, other_input, "wait for input 9.9 %");
	check_rule("input_python", 0, 0, python, "\"Iterator::Root::Generator#a=1#\"");
	check_rule("input_same_file", 0, 0, same_file, "2 ranks read 'all.bin', each 1.00 MiB");
	check_rule("loader_busy", 0, 0, loader_busy, "95 % of the data loader's workers");
	check_rule("loader_not_busy", 0, 0, loader_not_busy, "20 % of the data loader's workers");
	check_rule("preprocess_on_device", 0, 0, few_cores, "rank 1 has 4 cores, 1 devices");
	check_rule("input_copies", 0, 0, copies, "10.0 copies per step and rank, 1.00 MiB each");
	check_rule("pageable_copies", 0, 0, pageable, "400 of 400 copies");
	check_rule("devices_fed_in_turn", 0, 0, several_devices, "up to 2 devices per process on rank 3");
	check_rule("shared_cores", 0, 0, shared, "4 ranks share 2 cores on host h0");
	check_rule("too_many_threads", 0, 0, threads, "rank 2 uses 97 % of its 4 cores, with 20 involuntary");
	check_rule("mixed_precision", 0, 0, precision, "100 % of device compute is in 32 bit");
	check_rule("layout", 0, 0, layout, "400 kernels only change");
	check_rule("launch_bound", 0, 0, launches, "with 10 kernels of 10.0 us each");
	check_rule("larger_batch", 0, 0, small_batch, "at most 30 % of a device's memory");
	check_rule("device_idle", 0, 0, idle, "most on rank 0, 40 %");
	check_rule("host_callbacks", 0, 0, callbacks, "0.5 callbacks to the host per step and rank");
	check_rule("results_every_step", 0, 0, results, "in 10 of 10 steps");
	check_rule("output", 0, 0, checkpoint, "in 1 of 10 steps");
	check_rule("output", 0, 0, on_devices, "in 10 of 10 steps");
	check_rule("output", TALK_LARGE, TALK_LATE_FILE, late_file, "in 10 of 10 steps");
	check_rule("compile_in_steps", 0, 0, compile, "in 1 of 10 steps");
	check_rule("compile_first_steps", 0, 0, compile_first, "in 1 of 10 steps");
	check_rule("out_of_memory", 0, 0, retries, "2 times, and there was not enough 0 times: rank 3");
	check_rule("near_out_of_memory", 0, 0, full, "rank 2 had 24.2 GiB of 25.0 GiB");
	check_rule(
	        "gpu_faults", 0, 0, faults,
	        "GPU 1 of rank 1: 2 errors of memory in the window that were not corrected, a row of memory could not be remapped, "
	        "7 errors of NVLink in the window; 2 GPUs in all have such faults");
	check_rule("device_slow", 0, 0, slow_device,
	           "device 1 of rank 3 takes 2.00 times as long as other devices for equal kernels, which are 100 % of its");
	check_rule("gpu_shared", 0, 0, others, "5 processes compute on GPU 1 of rank 3, and the job has 4 ranks on its host");
	check_rule("memory_imbalance", 0, 0, imbalance, "rank 1 used at most 21.2 GiB of device memory, 85 % of the device's");
	check_rule("memory_imbalance", 0, 0, resident,
	           "rank 1 used at most 5.00 GiB of resident memory; the median of 4 ranks is 2.50 GiB");
	check_rule("late_receiver", TALK_LATE_RECEIVER, TALK_LATE_SENDER, NULL, "in 10 of 10 messages");
	check_rule("late_receiver", TALK_LATE_RECEIVER, TALK_LATE_RECEIVER, post_early, "in 10 of 10 messages");
	check_rule("late_receiver", TALK_LATE_RECEIVER, TALK_EXCHANGE, one_call, "in 10 of 10 messages");
	check_rule("small_messages", TALK_SMALL, TALK_LARGE, NULL,
	           "MPI_Allreduce on communicator 'MPI_COMM_WORLD' of ranks 0-3: 10 per step, 4.00 KiB each");
	check_rule("slow_communicator", TALK_SLOW_PART, TALK_LARGE, NULL, "communicator 'lower' of ");
	for (int i = 0; i < RULES; i++) {
		if (!tested[i])
			fprintf(stderr, "no case for rule %s\n", rules[i]);
		CHECK(tested[i]);
	}
}

int main(void)
{
	nothing();
	each();
	return test_end();
}
