/* Rules of advice about input and the host; see advice_rule.h. Called by advice.c. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "aggregate/dataset/table/word.h"
#include "aggregate/tools/advice_rule.h"
#include "aggregate/tools/recommend.h"
#include "aggregate/tools/tf_data_text.h"
#include "core/base/units.h"
#include "core/base/utf8.h"
#include "core/base/wrap.h"

enum {
	FEW_PERCENT = 1,     /* of the steps' time: below it nothing is worth a word */
	LARGE_PERCENT = 5,   /* as of the input pipeline analyzer */
	BUSY_PERCENT = 90,   /* of the loader's workers, of the cores */
	HARDLY_PERCENT = 50, /* as above: no lack of workers */
	FEW_CORES = 8,       /* of a rank, for each of its devices */
	MANY_SWITCHES = 10,  /* involuntary, per step */
	NAME_BYTES = 60,
};

static int waits_for_input(const struct pp_advising *a)
{
	return a->s.cells && a->d->input_bounds && a->d->input_bound->input_bound > 0 && a->u.sum_ns[PP_CATEGORY_INPUT] > 0;
}

/* "steps wait for input 31 % of their time, 26.1 ms per step; most on rank 3, 71.8 ms". Returns the length. */
static size_t say_input(const struct pp_advising *a, struct pp_finding *f)
{
	size_t most = pp_sums_most(a->d, &a->u, PP_CATEGORY_INPUT);
	char mean[PP_TEXT_UNIT];

	f->cost_ns = pp_advice_category(a, PP_CATEGORY_INPUT);
	pp_text_time(mean, f->cost_ns);
	return (size_t)snprintf(f->evidence, sizeof(f->evidence),
	                        "steps wait for input %.1f %% of their time, %s per step; most on rank %" PRId32,
	                        pp_advice_share(a, PP_CATEGORY_INPUT), mean, a->d->worker[most].rank);
}

/* Where input takes most time, over all ranks; NULL: no input operation was recorded. */
static const struct pp_row_input_stage *largest_stage(const struct pp_advising *a)
{
	const struct pp_row_input_stage *most = NULL;

	for (size_t i = 0; i < a->d->input_stages; i++) {
		const struct pp_row_input_stage *one = &a->d->input_stage[i];

		if (one->worker < 0 && one->self_ns > 0 && (!most || one->self_ns > most->self_ns))
			most = one;
	}
	return most;
}

/* tf.data tells the cause itself; stages would name another one. */
static int is_tf_data(const struct pp_advising *a)
{
	return pp_tf_data_cause(a->d, &a->s, -1) != NULL;
}

int pp_rule_tf_data(const struct pp_advising *a, struct pp_finding *f)
{
	const struct pp_row_tf_data_pipeline *p = pp_tf_data_cause(a->d, &a->s, -1);

	if (!p)
		return 0;
	f->worker = p->worker;
	f->cost_ns = pp_advice_per_cell(a, a->s.sum_ns[PP_CATEGORY_INPUT]);
	pp_tf_data_say(a->d, p, f->evidence, sizeof(f->evidence));
	snprintf(f->advice, sizeof(f->advice), "%s", pp_intern_text(a->d->names, p->advice, NULL));
	return 1;
}

static int is_stage(const struct pp_advising *a, struct pp_finding *f, int category, const char *name)
{
	const struct pp_row_input_stage *most = waits_for_input(a) && !is_tf_data(a) ? largest_stage(a) : NULL;
	size_t at;

	if (!most || most->category != category)
		return 0;
	at = say_input(a, f);
	snprintf(f->evidence + at, sizeof(f->evidence) - at, "; %.0f %% of the input operations' time is %s", most->percent, name);
	return 1;
}

int pp_rule_input_on_demand(const struct pp_advising *a, struct pp_finding *f)
{
	return is_stage(a, f, PP_INPUT_ON_DEMAND, "reading on demand");
}

/* Mean of the ranks that have samples; -1: none has. */
static double loader_busy(const struct pp_advising *a)
{
	double sum = 0;
	size_t n = 0;

	for (size_t w = 0; w < a->d->workers; w++) {
		if (!a->d->worker[w].loader_samples)
			continue;
		sum += a->d->worker[w].loader_busy;
		n++;
	}
	return n ? 100 * sum / (double)n : -1;
}

static int has_idle_workers(const struct pp_advising *a)
{
	double busy = loader_busy(a);

	return busy >= 0 && busy < HARDLY_PERCENT;
}

/* Workers with pauses are not too slow: see loader_not_busy. */
int pp_rule_input_in_advance(const struct pp_advising *a, struct pp_finding *f)
{
	return !has_idle_workers(a) && is_stage(a, f, PP_INPUT_IN_ADVANCE, "reading in advance");
}

int pp_rule_input_preprocessing(const struct pp_advising *a, struct pp_finding *f)
{
	return is_stage(a, f, PP_INPUT_PREPROCESSING, "preprocessing");
}

int pp_rule_input_other(const struct pp_advising *a, struct pp_finding *f)
{
	const struct pp_row_input_stage *most = waits_for_input(a) ? largest_stage(a) : NULL;

	if (!waits_for_input(a) || is_tf_data(a) || (most && most->category != PP_INPUT_OTHER))
		return 0;
	say_input(a, f);
	return 1;
}

/* Ranks that spend at least a hundredth of their time between the steps and in them on input between the steps. */
int pp_rule_input_between_steps(const struct pp_advising *a, struct pp_finding *f)
{
	int64_t sum = 0, gaps = 0, seen = 0, most = 0;
	int32_t worst = -1;
	char mean[PP_TEXT_UNIT], longest[PP_TEXT_UNIT], ranks[PP_RANKS_TEXT];

	for (size_t i = 0; i < a->d->input_betweens; i++) {
		const struct pp_row_input_between *one = &a->d->input_between[i];
		size_t w = pp_dataset_worker(a->d, one->worker);
		int64_t all = w == SIZE_MAX ? 0 : pp_wrap_plus(a->s.worker_ns[w][0], one->outside_ns);

		if (w == SIZE_MAX || !one->gaps || pp_sums_percent(one->input_ns, all) < FEW_PERCENT)
			continue;
		a->is[w] = 1;
		sum = pp_wrap_plus(sum, one->input_ns);
		gaps += one->gaps;
		seen += one->gaps_with_input;
		if (one->input_ns / one->gaps <= most)
			continue;
		most = one->input_ns / one->gaps;
		worst = one->worker;
	}
	if (gaps <= 0 || sum <= 0)
		return 0;
	f->worker = pp_advice_only(a);
	f->cost_ns = sum / gaps;
	snprintf(f->evidence, sizeof(f->evidence),
	         "input between the steps: %s per step on %s (most on rank %" PRId32 ", %s), behind %" PRId64 " of %" PRId64
	         " steps; it is in no step and in no table of steps",
	         pp_text_time(mean, f->cost_ns), pp_advice_ranks(a, ranks), worst, pp_text_time(longest, most), seen, gaps);
	return 1;
}

static int is_python(const char *name)
{
	size_t length = strcspn(name, "#");
	static const char generator[] = "::Generator";

	if (strstr(name, "PyFunc") || strstr(name, "py_function"))
		return 1;
	return length >= sizeof(generator) - 1 && !strncmp(name, "Iterator::", 10) &&
	       !strncmp(name + length - (sizeof(generator) - 1), generator, sizeof(generator) - 1);
}

/* Python runs in the bottleneck, if tf.data says which that is: a generator, or the function of a map. */
static int may_be_python(const struct pp_advising *a)
{
	const struct pp_row_tf_data_pipeline *p = pp_tf_data_cause(a->d, &a->s, -1);

	return !p || p->class == PP_TF_DATA_PARALLELISABLE || p->class == PP_TF_DATA_PARALLEL ||
	       !strcmp(pp_intern_text(a->d->names, p->type, NULL), "Generator");
}

int pp_rule_input_python(const struct pp_advising *a, struct pp_finding *f)
{
	uint8_t *python_names = pp_advice_names(a, is_python);
	const struct pp_row_input_op *most = NULL;
	int64_t all = 0, python = 0;
	const char *name;
	size_t at;

	if (!python_names)
		return -ENOMEM;
	for (size_t i = 0; i < a->d->input_ops && waits_for_input(a) && may_be_python(a); i++) {
		const struct pp_row_input_op *op = &a->d->input_op[i];

		all = pp_wrap_plus(all, op->self_ns);
		if (!pp_advice_has_name(a, python_names, op->name))
			continue;
		python = pp_wrap_plus(python, op->self_ns);
		most = !most || op->self_ns > most->self_ns ? op : most;
	}
	free(python_names);
	if (!most || pp_sums_percent(python, all) < LARGE_PERCENT)
		return 0;
	name = pp_intern_text(a->d->names, most->name, NULL);
	at = say_input(a, f);
	snprintf(f->evidence + at, sizeof(f->evidence) - at, "; %.0f %% of the input operations' time is in \"%.*s\" and others",
	         pp_sums_percent(python, all), pp_utf8_fit(name, NAME_BYTES), name);
	return 1;
}

static int by_name(const void *a, const void *b)
{
	const struct pp_row_file *x = *(const struct pp_row_file *const *)a, *y = *(const struct pp_row_file *const *)b;

	if (x->name != y->name)
		return x->name < y->name ? -1 : 1;
	return (x->worker > y->worker) - (x->worker < y->worker);
}

/* Files whose bytes several ranks read, all of them equally many: the one with most time. */
static size_t most_shared(const struct pp_row_file **file, size_t files, size_t *ret_first, int64_t *ret_ns)
{
	size_t found = 0;

	*ret_ns = 0;
	for (size_t i = 0, end; i < files; i = end) {
		int64_t ns = 0;
		int equal = 1;

		for (end = i; end < files && file[end]->name == file[i]->name; end++) {
			equal &= file[end]->bytes_read == file[i]->bytes_read;
			ns = pp_wrap_plus(ns, file[end]->read_ns);
		}
		if (end - i < 2 || !equal || ns <= *ret_ns)
			continue;
		found = end - i;
		*ret_first = i;
		*ret_ns = ns;
	}
	return found;
}

int pp_rule_input_same_file(const struct pp_advising *a, struct pp_finding *f)
{
	const struct pp_row_file **file =
	        malloc((a->d->files + 1) * sizeof(*file)); /* NOLINT(bugprone-sizeof-expression): pointers */
	size_t files = 0, ranks, first = 0;
	char bytes[PP_TEXT_UNIT];
	const char *name;
	int64_t ns = 0;

	if (!file)
		return -ENOMEM;
	for (size_t i = 0; i < a->d->files; i++)
		if (a->d->file[i].bytes_read && a->d->file[i].read_ns > 0)
			file[files++] = &a->d->file[i];
	if (files)
		qsort(file, files, sizeof(*file), by_name); /* NOLINT(bugprone-sizeof-expression): pointers */
	ranks = most_shared(file, files, &first, &ns);
	if (ranks && pp_sums_percent(ns, a->s.all_ns) >= LARGE_PERCENT) {
		name = pp_intern_text(a->d->names, file[first]->name, NULL);
		f->cost_ns = pp_advice_per_cell(a, ns);
		snprintf(f->evidence, sizeof(f->evidence),
		         "%zu ranks read '%.*s', each %s of it, which takes %.1f %% of the steps' time", ranks,
		         pp_utf8_fit(name, NAME_BYTES), name, pp_text_bytes(bytes, file[first]->bytes_read),
		         pp_sums_percent(ns, a->s.all_ns));
	} else {
		ranks = 0;
	}
	free(file); /* NOLINT(bugprone-multi-level-implicit-pointer-conversion): pointers */
	return ranks > 0;
}

static void say_busy(const struct pp_advising *a, struct pp_finding *f)
{
	size_t at = say_input(a, f);

	snprintf(f->evidence + at, sizeof(f->evidence) - at, "; %.0f %% of the data loader's workers are busy", loader_busy(a));
}

int pp_rule_loader_busy(const struct pp_advising *a, struct pp_finding *f)
{
	if (!waits_for_input(a) || !(loader_busy(a) >= BUSY_PERCENT))
		return 0;
	say_busy(a, f);
	return 1;
}

int pp_rule_loader_not_busy(const struct pp_advising *a, struct pp_finding *f)
{
	if (!waits_for_input(a) || !has_idle_workers(a))
		return 0;
	say_busy(a, f);
	return 1;
}

int pp_rule_preprocess_on_device(const struct pp_advising *a, struct pp_finding *f)
{
	size_t found = SIZE_MAX, at;

	for (size_t w = 0; w < a->d->workers && found == SIZE_MAX; w++)
		if (a->d->worker[w].devices > 0 && a->d->worker[w].cores > 0 &&
		    (int64_t)a->d->worker[w].cores < (int64_t)a->d->worker[w].devices * FEW_CORES)
			found = w;
	if (found == SIZE_MAX || !is_stage(a, f, PP_INPUT_PREPROCESSING, "preprocessing"))
		return 0;
	at = strlen(f->evidence);
	snprintf(f->evidence + at, sizeof(f->evidence) - at, "; rank %" PRId32 " has %" PRId32 " cores, %" PRId32 " devices",
	         a->d->worker[found].rank, a->d->worker[found].cores, a->d->worker[found].devices);
	return 1;
}

int pp_rule_devices_fed_in_turn(const struct pp_advising *a, struct pp_finding *f)
{
	char ranks[PP_RANKS_TEXT];
	int32_t most = 0;
	size_t at;

	for (size_t w = 0; w < a->d->workers; w++) {
		a->is[w] = a->d->worker[w].devices > 1;
		most = a->d->worker[w].devices > most ? a->d->worker[w].devices : most;
	}
	if (most < 2 || !waits_for_input(a))
		return 0;
	f->worker = pp_advice_only(a);
	at = say_input(a, f);
	snprintf(f->evidence + at, sizeof(f->evidence) - at, "; up to %" PRId32 " devices per process on %s", most,
	         pp_advice_ranks(a, ranks));
	return 1;
}

static int by_host(const void *a, const void *b)
{
	const struct pp_row_worker *x = *(const struct pp_row_worker *const *)a, *y = *(const struct pp_row_worker *const *)b;
	int order = strcmp(x->host, y->host);

	return order ? order : (x > y) - (x < y);
}

int pp_rule_shared_cores(const struct pp_advising *a, struct pp_finding *f)
{
	size_t workers = a->d->workers, most = 0, hosts = 0;
	const struct pp_row_worker **worker =
	        malloc((workers + 1) * sizeof(*worker)); /* NOLINT(bugprone-sizeof-expression): pointers */
	const struct pp_row_worker *worst = NULL;

	if (!worker)
		return -ENOMEM;
	for (size_t w = 0; w < workers; w++)
		worker[w] = &a->d->worker[w];
	qsort(worker, workers, sizeof(*worker), by_host); /* NOLINT(bugprone-sizeof-expression): pointers */
	for (size_t i = 0, end; i < workers; i = end) {
		for (end = i; end < workers && !strcmp(worker[end]->host, worker[i]->host); end++)
			;
		if (worker[i]->host_cores <= 0 || end - i <= (size_t)worker[i]->host_cores)
			continue;
		hosts++;
		for (size_t k = i; k < end; k++)
			a->is[worker[k] - a->d->worker] = 1;
		if (end - i <= most)
			continue;
		most = end - i;
		worst = worker[i];
	}
	free(worker); /* NOLINT(bugprone-multi-level-implicit-pointer-conversion): pointers */
	if (!worst)
		return 0;
	snprintf(f->evidence, sizeof(f->evidence),
	         "%zu ranks share %" PRId32 " core%s on host %s%s: a rank may be late only for lack of one", most,
	         worst->host_cores, worst->host_cores == 1 ? "" : "s", worst->host, hosts > 1 ? ", and on others" : "");
	return 1;
}

struct use { /* of a rank's cores, over its steps */
	int64_t cpu_ns, switches, steps;
};

static struct use *uses_of(const struct pp_dataset *d)
{
	struct use *use = calloc(d->workers + 1, sizeof(*use));

	for (size_t i = 0; use && i < d->processes; i++) {
		const struct pp_row_process *p = &d->process[i];
		size_t w = pp_dataset_worker(d, p->worker);

		if (w == SIZE_MAX || !p->present)
			continue;
		use[w].cpu_ns = pp_wrap_plus(use[w].cpu_ns, pp_wrap_plus(p->cpu_user_ns, p->cpu_system_ns));
		use[w].switches = pp_wrap_plus(use[w].switches, p->involuntary_switches);
		use[w].steps++;
	}
	return use;
}

/* A rank whose threads use its cores up and take them from each other. */
int pp_rule_too_many_threads(const struct pp_advising *a, struct pp_finding *f)
{
	struct use *use = uses_of(a->d);
	double most = 0;

	if (!use)
		return -ENOMEM;
	for (size_t w = 0; w < a->d->workers; w++) {
		const struct pp_row_worker *one = &a->d->worker[w];
		double percent = one->cores > 0 ? pp_sums_percent(use[w].cpu_ns, a->s.worker_ns[w][0]) / one->cores : 0;

		if (!use[w].steps || use[w].steps != a->s.worker_steps[w] || percent < BUSY_PERCENT || percent <= most ||
		    use[w].switches / use[w].steps < MANY_SWITCHES)
			continue;
		most = percent;
		f->worker = one->rank;
		snprintf(f->evidence, sizeof(f->evidence),
		         "rank %" PRId32 " uses %.0f %% of its %" PRId32 " core%s, with %" PRId64
		         " involuntary context switches per step",
		         f->worker, most, one->cores, one->cores == 1 ? "" : "s", use[w].switches / use[w].steps);
	}
	free(use);
	return most > 0;
}
