/* Writes summary.txt: verdict first, then the evidence, then data quality; at most 50 lines, 5 more where ranks made others wait, 6
 * more where there are several clocks, 15 more where there are operators and 2 where there are kernels. Called through
 * writer_list. */
#include "aggregate/write/text/text.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "aggregate/analyze/coverage.h"
#include "aggregate/dataset/order.h"
#include "aggregate/dataset/table/functions.h"
#include "aggregate/dataset/table/word.h"
#include "aggregate/tools/answer.h"
#include "aggregate/tools/sums.h"
#include "aggregate/tools/tf_data_text.h"
#include "aggregate/tools/usual_step.h"
#include "aggregate/write/output.h"
#include "aggregate/write/text/text_clock.h"
#include "aggregate/write/text/text_table.h"
#include "aggregate/write/writer.h"
#include "core/base/compare.h"
#include "core/base/forked.h"
#include "core/base/plain.h"
#include "core/base/utf8.h"
#include "core/capture/span.h"
#include "core/ring/intern.h"
#include "core/step/kernel_name.h"

enum { MOST_PARTS = 4 /* of a window's steps */, MOST_OPS = 10, MOST_KERNELS = 3, NAME_COLUMNS = 46 };

struct sum { /* an operator over all ranks: sums of each rank's mean per step */
	uint32_t name;
	int side;     /* enum pp_side */
	int category; /* enum pp_category; 0: no other operator has the name */
	double self_ns, calls;
	double most_ns;
	int32_t most_worker, most_device; /* device: of several that the rank used, that with most; -1: not of several */
	double device_ns;
	uint32_t steps; /* most of a rank */
	uint64_t all;   /* calls in them */
};

PP_COMPARE(by_self, struct sum, PP_DOWN(self_ns) ?: PP_UP(name))

static double per_step(const struct pp_row_op *op, int64_t of)
{
	return op->steps ? (double)of / op->steps : 0;
}

/* A rank's rows of an operator: one for each device that ran it. Returns how many. */
static size_t sum_rank(const struct pp_dataset *d, size_t first, struct sum *s)
{
	const struct pp_row_op *op = &d->op[first], *most = op;
	double rank_ns = 0;
	size_t n = 0;

	for (; first + n < d->ops && op[n].worker == op->worker && pp_op_is_same(&op[n], op); n++) {
		rank_ns += per_step(&op[n], op[n].self_ns);
		s->calls += per_step(&op[n], (int64_t)op[n].calls);
		s->all += op[n].calls;
		s->steps = op[n].steps > s->steps ? op[n].steps : s->steps;
		most = op[n].self_ns > most->self_ns ? &op[n] : most;
	}
	s->self_ns += rank_ns;
	if (rank_ns > s->most_ns) {
		s->most_ns = rank_ns;
		s->most_worker = op->worker;
		s->most_device = n > 1 ? most->device : -1;
		s->device_ns = per_step(most, most->self_ns);
	}
	return n;
}

/* Sums rows of one operator, which are adjacent. */
static size_t sum_ops(const struct pp_dataset *d, struct sum *sum)
{
	size_t n = 0;

	for (size_t i = 0; i < d->ops;) {
		const struct pp_row_op *op = &d->op[i];

		if (!i || !pp_op_is_same(op, op - 1))
			sum[n++] = (struct sum){.name = op->name, .side = op->side, .category = op->category, .most_ns = -1};
		i += sum_rank(d, i, &sum[n - 1]);
	}
	return n;
}

static void put_name(const struct pp_dataset *d, uint32_t name, FILE *to)
{
	fputs("  ", to);
	fprintf(to, "%*s", NAME_COLUMNS - pp_text_name(pp_intern_text(d->names, name, NULL), NAME_COLUMNS, to), "");
}

/* Calls of a rank, per step or per second; of a rare one how many there were in all. */
static void put_calls(const struct pp_dataset *d, const struct sum *s, double ranks, double second, FILE *to)
{
	const double calls = s->calls / ranks * (second > 0 ? second : 1);

	if (calls < 0.095 && second <= 0)
		fprintf(to, " %7" PRIu64 " call%s in %" PRIu32 " steps%s", s->all, s->all == 1 ? "" : "s", s->steps,
		        d->workers > 1 ? ", all ranks" : "");
	else
		fprintf(to, " %7.*f call%s",
		        calls >= 99.95 || calls == (double)(int64_t)calls ? 0
		        : calls < 0.095                                   ? 3
		                                                          : 1,
		        calls,
		        calls != 1       ? "s"
		        : d->workers > 1 ? " "
		                         : "");
}

static void put_op(const struct pp_dataset *d, const struct pp_sums *t, const struct sum *s, double ranks, double second, FILE *to)
{
	const double each = second > 0 ? second : 1;
	double mean = s->self_ns / ranks;
	char a[PP_TEXT_UNIT], b[PP_TEXT_UNIT];

	put_name(d, s->name, to);
	fprintf(to, " %7s %9s", pp_text_percent(b, 100 * mean * (double)t->cells / (double)t->all_ns),
	        pp_text_time(a, llround(mean * each)));
	put_calls(d, s, ranks, second, to);
	if (s->side == PP_SIDE_DEVICE)
		fputs(" on device", to);
	if (s->category)
		fprintf(to, " (%s)", pp_category_name(s->category));
	if (d->workers > 1)
		fprintf(to, "\tmost on rank %d, %s", s->most_worker, pp_text_time(b, llround(s->most_ns * each)));
	if (s->most_device >= 0)
		fprintf(to, "%s device %d, %s", d->workers > 1 ? ", of it on" : "\tmost on", s->most_device,
		        pp_text_time(b, llround(s->device_ns * each)));
	fputc('\n', to);
}

/* The category stays where it distinguishes two rows. */
static void drop_category(struct sum *sum, size_t i, size_t n)
{
	for (size_t k = 0; k < n; k++)
		if (k != i && sum[k].name == sum[i].name && sum[k].side == sum[i].side)
			return;
	sum[i].category = 0;
}

static int has_ranges(const struct pp_dataset *d)
{
	for (size_t i = 0; i < d->ops; i++)
		if (d->op[i].source != PP_SOURCE_MPI)
			return 1;
	return 0;
}

static int write_ops(const struct pp_dataset *d, const struct pp_sums *t, const char *session, FILE *to)
{
	const uint64_t cut = pp_dataset_ops_cut(d);
	const double second = pp_text_second(d, t);
	struct sum *sum;
	double ranks = 0;
	size_t n;

	if (!t->cells || t->all_ns <= 0 || !d->ops)
		return 0;
	sum = malloc((d->ops + 1) * sizeof(*sum));
	if (!sum)
		return -ENOMEM;
	for (size_t w = 0; w < d->workers; w++)
		ranks += t->worker_steps[w] > 0;
	n = sum_ops(d, sum);
	qsort(sum, n, sizeof(*sum), by_self);
	fprintf(to, "\n  Top %s by self time (mean per %s%s; %% of the %s)\n", has_ranges(d) ? "operators" : "MPI calls",
	        second > 0 ? "second" : "step", d->workers > 1 ? " and rank" : "", second > 0 ? "window" : "step");
	for (size_t i = 0; i < n && i < MOST_OPS; i++) {
		drop_category(sum, i, n);
		put_op(d, t, &sum[i], ranks, second, to);
	}
	if (n > MOST_OPS)
		fprintf(to, "  and %zu more: podprof report --table op %s\n", n - MOST_OPS, session);
	if (cut)
		fprintf(to, "  %" PRIu64 " range%s the window's edge %s not counted\n", cut,
		        cut == 1 ? " that crosses" : "s that cross", cut == 1 ? "is" : "are");
	free(sum);
	return 0;
}

/* One line, where the framework's shim reports its data loader: what steps wait for, and whether its workers had time left. */
static void write_input(const struct pp_dataset *d, const struct pp_sums *t, FILE *to)
{
	int64_t input = t->sum_ns[PP_CATEGORY_INPUT];
	size_t most = 0, loaders = 0;
	double busy = 0, most_ns = -1;
	char a[PP_TEXT_UNIT];

	for (size_t w = 0; w < d->workers; w++) {
		double ns = t->worker_steps[w] ? (double)t->worker_ns[w][PP_CATEGORY_INPUT] / (double)t->worker_steps[w] : -1;

		loaders += d->worker[w].loader_samples > 0;
		busy += d->worker[w].loader_busy;
		if (ns > most_ns) {
			most_ns = ns;
			most = w;
		}
	}
	if (!loaders || !input || t->all_ns <= 0)
		return;
	fprintf(to, "  Input:      %s of the step", pp_text_percent(a, pp_sums_percent(input, t->all_ns)));
	if (d->workers > 1)
		fprintf(to, " (most on rank %d, %s per step)", d->worker[most].rank, pp_text_time(a, llround(most_ns)));
	fprintf(to, ". Data-loader workers are busy %.0f %% of the time", 100 * busy / (double)loaders);
	if (d->workers > 1 && d->worker[most].loader_samples)
		fprintf(to, " (rank %d: %.0f %%)", d->worker[most].rank, 100 * d->worker[most].loader_busy);
	fputc('\n', to);
}

/* Kernels of which a user may think that they compute or transfer. */
static void write_other_kernels(const struct pp_dataset *d, FILE *to)
{
	static const struct {
		int activity;
		const char *text;
	} row[] = {{PP_DEVICE_WAIT, "only wait, for peers or another stream: Device collective communication without transfer"},
	           {PP_DEVICE_UNSURE,
	            "may communicate, which neither their names nor their operators tell: they count as All others"}};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		char text[PP_TEXT_UNIT];
		double percent = 0;

		for (size_t k = 0; k < d->kernel_stats; k++)
			percent += d->kernel_stat[k].activity == row[i].activity ? d->kernel_stat[k].percent : 0;
		if (percent >= 0.05)
			fprintf(to, "              %7s  %s\n", pp_text_percent(text, percent), row[i].text);
	}
}

/* Share of the kernels' time by what their names tell of tensor cores; nothing where no name tells anything. */
static void write_tensor_cores(const struct pp_dataset *d, FILE *to)
{
	double ns[PP_TENSOR_CORE_YES + 1] = {0}, all = 0;
	char text[PP_TEXT_UNIT];

	for (size_t i = 0; i < d->kernel_stats; i++)
		if (d->kernel_stat[i].activity == PP_DEVICE_KERNEL && d->kernel_stat[i].tensor_core_used <= PP_TENSOR_CORE_YES) {
			ns[d->kernel_stat[i].tensor_core_used] += (double)d->kernel_stat[i].total_ns;
			all += (double)d->kernel_stat[i].total_ns;
		}
	if (all <= 0 || ns[PP_TENSOR_CORE_UNKNOWN] >= all)
		return;
	fprintf(to, "  Tensor cores: used by %s of device compute", pp_text_percent(text, 100 * ns[PP_TENSOR_CORE_YES] / all));
	if (ns[PP_TENSOR_CORE_NO] > 0)
		fprintf(to, ", not by %s", pp_text_percent(text, 100 * ns[PP_TENSOR_CORE_NO] / all));
	if (ns[PP_TENSOR_CORE_UNKNOWN] > 0)
		fprintf(to, ", unknown of %s", pp_text_percent(text, 100 * ns[PP_TENSOR_CORE_UNKNOWN] / all));
	fputc('\n', to);
}

struct kernel_name {       /* rows of /kernel_stats with one name */
	uint32_t name, op; /* op: of the row with most time */
	size_t rows, first;
	double percent;
};

PP_COMPARE(by_name, struct kernel_name, PP_UP(name) ?: PP_UP(first))

PP_COMPARE(by_percent, struct kernel_name, PP_DOWN(percent) ?: PP_UP(first))

/* How many names. /kernel_stats has the rows with most time first. */
static size_t sum_names(const struct pp_dataset *d, struct kernel_name *name)
{
	size_t n = 0;

	for (size_t i = 0; i < d->kernel_stats; i++)
		name[i] = (struct kernel_name){d->kernel_stat[i].name, d->kernel_stat[i].op, 1, i, d->kernel_stat[i].percent};
	qsort(name, d->kernel_stats, sizeof(*name), by_name);
	for (size_t i = 0; i < d->kernel_stats; i++) {
		if (n && name[n - 1].name == name[i].name) {
			name[n - 1].rows++;
			name[n - 1].percent += name[i].percent;
		} else {
			name[n++] = name[i];
		}
	}
	qsort(name, n, sizeof(*name), by_percent);
	return n;
}

static void write_by_name(const struct pp_dataset *d, FILE *to)
{
	struct kernel_name *name = calloc(d->kernel_stats + 1, sizeof(*name));
	size_t names = name ? sum_names(d, name) : 0;
	char text[PP_TEXT_UNIT];

	if (!name)
		return;
	fprintf(to, "  Kernels:    %zu names, %zu by operator and shape; %% of the time of all kernels:\n", names, d->kernel_stats);
	for (size_t i = 0; i < names && i < MOST_KERNELS; i++) {
		const char *op = pp_intern_text(d->names, name[i].op, NULL);

		fprintf(to, "              %7s  ", pp_text_percent(text, name[i].percent));
		pp_text_name(pp_intern_text(d->names, name[i].name, NULL), PP_TEXT_NAME, to);
		fputs(!*op ? "" : name[i].rows > 1 ? ", most by operator " : ", operator ", to);
		pp_text_name(op, PP_TEXT_NAME, to);
		fputc('\n', to);
	}
	free(name);
}

/* Where a device recorded something: its precision, and the kernels with most time, one in a line. */
static void write_kernels(const struct pp_dataset *d, FILE *to)
{
	const char *between = "";
	char text[PP_TEXT_UNIT];

	if (!d->kernel_stats)
		return;
	for (size_t i = d->precisions; i-- > 0;) {
		const struct pp_row_precision *p = &d->precision[i];

		if (p->precision == PP_PRECISION_UNKNOWN ? !*between : p->compute_ns <= 0)
			continue;
		if (p->precision == PP_PRECISION_UNKNOWN && p->compute_ns <= 0)
			continue;
		fprintf(to, "%s%s %s", *between ? between : "  Precision:  of device compute, ", pp_text_percent(text, p->percent),
		        p->precision == PP_PRECISION_UNKNOWN ? "unknown" : pp_precision_name(p->precision));
		between = ", ";
	}
	fputs(*between ? "\n" : "", to);
	write_tensor_cores(d, to);
	write_by_name(d, to);
	write_other_kernels(d, to);
}

/* The slowest pipeline of tf.data, or that none is slow, and what could not be tied. */
static void write_tf_data(const struct pp_dataset *d, FILE *to)
{
	const struct pp_row_tf_data_pipeline *p = pp_tf_data_slowest(d, -1);
	char text[PP_TF_DATA_TEXT];

	if (p)
		fprintf(to, "  tf.data:    %s\n", pp_tf_data_say(d, p, text, sizeof(text)) + strlen("tf.data's "));
	else
		fprintf(to, "  tf.data:    no call of the host's pipelines is longer than 50 us\n");
	if (*pp_tf_data_say_left_out(d, text, sizeof(text)))
		fprintf(to, "              not tied to a call: %s\n", text);
}

/* One line, where steps wait for input: the stage of input that takes most time. */
static void write_stage(const struct pp_dataset *d, FILE *to)
{
	const struct pp_row_input_stage *most = NULL;

	for (size_t i = 0; i < d->input_stages && d->input_stage[i].worker < 0; i++)
		if (!most || d->input_stage[i].self_ns > most->self_ns)
			most = &d->input_stage[i];
	if (d->tf_data_pipelines) { /* iterators tell more than stages */
		write_tf_data(d, to);
		return;
	}
	if (most && most->category != PP_INPUT_OTHER && d->input_bounds && d->input_bound->input_bound)
		fprintf(to, "  Input time: %.0f %% of the input operations' time is %s\n", most->percent,
		        pp_input_category_name(most->category));
}

/* One line: the allocator with the largest peak. */
static void write_allocator(const struct pp_dataset *d, FILE *to)
{
	const struct pp_row_allocator *most = d->allocator;
	char a[PP_TEXT_UNIT];

	for (size_t i = 1; i < d->allocators; i++)
		if (d->allocator[i].peak_bytes > most->peak_bytes)
			most = &d->allocator[i];
	if (!d->allocators)
		return;
	fprintf(to, "  Allocators: largest peak %s, of %.40s", pp_text_bytes(a, (uint64_t)most->peak_bytes),
	        pp_intern_text(d->names, most->allocator, NULL));
	if (d->workers > 1)
		fprintf(to, " on rank %d", most->worker);
	if (most->peak_step >= 0)
		fprintf(to, ", in step %" PRId64, most->peak_step);
	if (most->fragmentation >= 0)
		fprintf(to, ", fragmentation %.0f %%", 100 * most->fragmentation);
	fputs(most->is_counted ? ", counted from recorded calls only\n" : "\n", to);
}

/* One line: the device of which PyTorch's caching allocator held most. */
static void write_torch(const struct pp_dataset *d, FILE *to)
{
	const struct pp_row_torch_memory *most = d->torch_memory;
	uint64_t retries = 0, out_of_memory = 0;
	char a[PP_TEXT_UNIT], b[PP_TEXT_UNIT];

	for (size_t i = 0; i < d->torch_memories; i++) {
		if (d->torch_memory[i].reserved_peak_bytes > most->reserved_peak_bytes)
			most = &d->torch_memory[i];
		retries += d->torch_memory[i].retries;
		out_of_memory += d->torch_memory[i].out_of_memory;
	}
	if (!d->torch_memories)
		return;
	fprintf(to, "  PyTorch:    caching allocator held at most %s of cuda:%d", pp_text_bytes(a, most->reserved_peak_bytes),
	        most->device);
	if (d->workers > 1)
		fprintf(to, " on rank %d", most->worker);
	fprintf(to, ", tensors used at most %s", pp_text_bytes(b, most->allocated_peak_bytes));
	if (retries)
		fprintf(to, ", %" PRIu64 " retries", retries);
	if (out_of_memory)
		fprintf(to, ", out of memory %" PRIu64 " times", out_of_memory);
	fputc('\n', to);
}

static int is_interpreter(const char *name, size_t length)
{
	return (length >= 6 && !strncmp(name, "python", 6)) || (length == 4 && !strncmp(name, "bash", 4)) ||
	       (length == 2 && !strncmp(name, "sh", 2));
}

/* Its own options come before the script, with values that look like words. */
static int is_launcher(const char *name, size_t length)
{
	return (length == 8 && !strncmp(name, "torchrun", 8)) || (length == 21 && !strncmp(name, "torch.distributed.run", 21));
}

/* Before a program's name in a shell's text. */
static int is_prefix(const char *word, size_t length)
{
	return memchr(word, '=', length) || (length == 4 && !strncmp(word, "exec", 4)) || (length == 3 && !strncmp(word, "env", 3));
}

void pp_text_program(const char *command, char *text, size_t size)
{
	int is_launched = 0;

	snprintf(text, size, "job");
	for (const char *p = command; *p;) {
		size_t n = strcspn(p, " "), from = 0, end = n;

		for (size_t i = 0; i < n; i++)
			if (p[i] == '/')
				from = i + 1;
		from += from < n && strchr("'\"", p[from]);
		while (end > from && strchr("'\";", p[end - 1]))
			end--;
		if (end > from && (p == command || (p[0] != '-' && !is_prefix(p, n))) &&
		    (!is_launched || (end - from > 3 && !strncmp(p + end - 3, ".py", 3)))) {
			snprintf(text, size, "%.*s", (int)(end - from), p + from);
			if (is_launcher(p + from, end - from))
				is_launched = 1;
			else if (is_launched || !is_interpreter(p + from, end - from))
				break;
		}
		p += n + (p[n] == ' ');
	}
	pp_plain(text, "");
}

/* Step numbers increase; their difference may overflow. */
static int is_next(const struct pp_dataset *d, size_t i)
{
	return (uint64_t)d->step[i].number - (uint64_t)d->step[i - 1].number == 1;
}

void pp_text_steps(const struct pp_dataset *d, char *text, size_t size)
{
	char part[64];
	size_t parts = 0, begin = 0;

	if (!d->steps)
		return;
	snprintf(text, size, "step%s", d->steps == 1 ? "" : "s");
	for (size_t i = 0; i < d->steps; i++) {
		if (i + 1 < d->steps && is_next(d, i + 1))
			continue;
		if (i == begin)
			snprintf(part, sizeof(part), "%s %" PRId64, parts ? "," : "", d->step[i].number);
		else
			snprintf(part, sizeof(part), "%s %" PRId64 "..%" PRId64, parts ? "," : "", d->step[begin].number,
			         d->step[i].number);
		if (++parts > MOST_PARTS || strlen(text) + strlen(part) >= size)
			break;
		memcpy(text + strlen(text), part, strlen(part) + 1);
		begin = i + 1;
	}
	if (begin < d->steps)
		snprintf(text, size, "%zu steps of %" PRId64 "..%" PRId64, d->steps, d->step[0].number,
		         d->step[d->steps - 1].number);
}

/* Of the ranks that have one. */
static const char *device_of(const struct pp_dataset *d)
{
	const char *device = "CPU";

	for (size_t w = 0; w < d->workers && !strcmp(device, "CPU"); w++)
		if (d->worker[w].device[0])
			device = d->worker[w].device;
	return device;
}

void pp_text_recorded(const struct pp_dataset *d, char *text, size_t size)
{
	char coverage[PP_COVERAGE_TEXT], steps[128] = "no steps";
	const int is_cut = pp_coverage_text(d, coverage, sizeof(coverage));

	pp_text_steps(d, steps, sizeof(steps));
	if (d->steps == 1 && !strncmp(d->step_rule, "window", 6))
		snprintf(text, size, "the %s%s as one step", is_cut ? "last " : "", is_cut ? coverage : "window");
	else if (is_cut)
		snprintf(text, size, "%s (%s kept)", steps, coverage);
	else
		snprintf(text, size, "%s", steps);
}

static void write_head(const struct pp_dataset *d, FILE *to)
{
	time_t when = (time_t)((d->epoch_realtime_ns + d->window_begin_ns) / 1000000000);
	size_t hosts = pp_dataset_hosts(d);
	char program[64], date[32] = "no date", recorded[PP_COVERAGE_TEXT + 160];
	struct tm tm;

	pp_text_program(d->command, program, sizeof(program));
	pp_text_recorded(d, recorded, sizeof(recorded));
	if (d->epoch_realtime_ns) {
		pp_local_time(when, &tm);
		strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S", &tm);
	}
	fprintf(to, "%s  %d of %d rank%s, %zu host%s, %s     %s     %s     session %s\n", program, d->ranks_delivered,
	        d->ranks_asked, d->ranks_asked == 1 ? "" : "s", hosts, hosts == 1 ? "" : "s", device_of(d), recorded, date,
	        d->session);
}

/* What that costs, what else there is, and what to do about it; only what there is to say. */
static void write_pod(const struct pp_answer *a, FILE *to)
{
	if (a->pod.what_if[0])
		fprintf(to, "  What if:    %s\n", a->pod.what_if);
	for (size_t i = 0; i < a->alsos; i++)
		fprintf(to, "  Also:       %s\n", a->also[i]->finding);
	if (a->more_findings)
		fprintf(to, "              and %zu more: podprof report --table finding %s\n", a->more_findings, a->session);
	if (a->pod.advice[0])
		fprintf(to, "  Advice:     %s\n", a->pod.advice);
	if (a->pod.more)
		fprintf(to, "              and %zu more: podprof report --table advice %s\n", a->pod.more, a->session);
}

/* Verdict first, then what qualifies it, and what to do. */
static void write_answer(const struct pp_answer *a, FILE *to)
{
	fprintf(to, "\n  Bottleneck: %s\n", a->bottleneck);
	for (size_t i = 0; i < a->qualifiers; i++)
		fprintf(to, "  Caution:    %s\n", a->qualifier[i]);
	if (a->more)
		fprintf(to, "  Caution:    %zu more: podprof report --table warning %s\n", a->more, a->session);
	if (a->straggler[0])
		fprintf(to, "  Straggler:  %s\n", a->straggler);
	write_pod(a, to);
	if (a->command) /* on a line of its own, which no terminal folds: it may be copied */
		fprintf(to, "  Next:       %.*s\n              $ %s\n\n", (int)a->command - 1, a->next, a->next + a->command);
	else
		fprintf(to, "  Next:       %s\n\n", a->next);
	if (a->step[0])
		fprintf(to, "  Step time:  %s\n", a->step);
	if (a->pod.efficiency[0])
		fprintf(to, "  Efficiency: %s\n", a->pod.efficiency);
}

int pp_text_write(const struct pp_dataset *d, const char *logdir, FILE *to)
{
	struct pp_answer answer;
	struct pp_sums t = {.cells = 0}, u = {.cells = 0}; /* of all steps, as tables of operators are, and of usual ones */
	struct pp_usual_steps usual;
	int code = pp_usual_steps_find(d, &usual);

	code = code ? code : pp_sums_of(d, &t);
	code = code ? code : pp_sums_of_steps(d, usual.is_usual, &u);
	code = code ? code : pp_answer_of(d, &t, logdir, &answer);
	if (code)
		goto release;
	write_head(d, to);
	write_answer(&answer, to);
	pp_text_kinds(d, to);
	pp_text_longest(d, &t, &usual, to);
	pp_text_lost(d, to);
	pp_text_memory(d, to);
	write_allocator(d, to);
	write_torch(d, to);
	pp_text_files(d, to);
	pp_text_window(d, to);
	pp_text_breakdown(d, &u, usual.usuals < d->steps, to);
	write_input(d, &t, to);
	write_stage(d, to);
	write_kernels(d, to);
	code = write_ops(d, &t, answer.session, to);
	if (!code)
		code = pp_text_workers(d, &t, &u, &answer, to);
	fputc('\n', to);
	pp_text_clock(d, to);
	pp_text_quality(d, &t, &answer, to);
release:
	pp_sums_release(&t);
	pp_sums_release(&u);
	pp_usual_steps_release(&usual);
	return code;
}

/* Removes control bytes: names are the application's, and users read the file on terminals. */
static int write_plain(const struct pp_dataset *d, const char *logdir, int fd)
{
	char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);
	int code = to ? pp_text_write(d, logdir, to) : -ENOMEM, lost = to && ferror(to);

	if (to && (fclose(to) || lost) && !code)
		code = -ENOMEM;
	if (!code)
		pp_plain(text, "\n\t");
	for (size_t at = 0; at < size && !code;) {
		ssize_t n = write(fd, text + at, size - at);

		if (n < 0 && errno != EINTR)
			code = -errno;
		at += n > 0 ? (size_t)n : 0;
	}
	free(text);
	return code;
}

static int write_text(const struct pp_output *out, struct pp_err *err)
{
	char *path;
	int fd, code = pp_output_make_dir(out, err);

	if (code)
		return code;
	if (asprintf(&path, "%s/podprof/%s/summary.txt", out->logdir, out->session) < 0)
		return pp_err_set(err, -ENOMEM, "no memory for the name of a file");
	fd = pp_output_create(path, err);
	if (fd < 0) {
		code = fd;
		goto free_path;
	}
	code = write_plain(out->dataset, out->logdir, fd);
	if (code) {
		pp_output_abandon(fd, path);
		pp_err_set(err, code, "cannot write '%s': %s", path, strerror(-code));
	} else {
		code = pp_output_commit(fd, path, err);
	}
free_path:
	free(path);
	return code;
}

const struct pp_writer_ops pp_writer_text = {
        .name = "text",
        .file = "summary.txt",
        .flags = PP_WRITER_OF_JOB,
        .write = write_text,
};
