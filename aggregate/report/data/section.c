/* One function per section that says its line; see section.h. Each returns 0 where it has no data. */
#include "aggregate/report/data/section.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "aggregate/dataset/table/functions.h"
#include "aggregate/tools/finding_word.h"
#include "aggregate/tools/tf_data_text.h"
#include "core/base/known.h"
#include "core/base/units.h"
#include "core/base/utf8.h"
#include "core/base/wrap.h"
#include "core/ring/intern.h"

enum { NAME = 60, STANDS_OUT_PERCENT = 2 };
#define USUAL "Nothing unusual"

static int line_steps(const struct pp_section_in *in, char *to, size_t size)
{
	const struct pp_usual_steps *u = &in->first->usual;
	const struct pp_dataset *d = in->d;
	char usual[PP_TEXT_UNIT], longest[PP_TEXT_UNIT];
	size_t most = 0;

	pp_text_time(usual, llrint(u->usual_ns));
	for (size_t s = 1; s < d->steps; s++)
		most = u->time[s] > u->time[most] ? s : most;
	if (!d->steps)
		return 0;
	if (d->steps == 1)
		snprintf(to, size, "One step, %s", usual);
	else if (!u->course.is_long && u->usuals == d->steps)
		snprintf(to, size, "%zu steps, median %s: too few to tell usual from exceptional", d->steps, usual);
	else if (u->usuals == d->steps)
		snprintf(to, size, USUAL ": %zu steps, median %s", d->steps, usual);
	else
		snprintf(to, size, "%zu of %zu steps are usual, median %s. Longest: step %" PRId64 ", %s", u->usuals, d->steps,
		         usual, d->step[most].number, pp_text_time(longest, llrint(u->time[most])));
	return 1;
}

/* The first finding that names ranks; NULL: none does. */
static const struct pp_row_finding *late_ranks(const struct pp_section_in *in)
{
	for (size_t i = 0; i < in->first->findings; i++)
		if (pp_finding_names_ranks(in->first->finding[i]))
			return in->first->finding[i];
	return NULL;
}

/* Is it known how long ranks wait? If not, one that nobody names may be late all the same. */
static int is_known(const struct pp_section_in *in)
{
	return strcmp(in->first->fact[PP_FACT_waiting].value, "unknown") != 0;
}

static int line_viewer(const struct pp_section_in *in, char *to, size_t size)
{
	const struct pp_row_finding *f = late_ranks(in);
	const struct pp_dataset *d = in->d;

	if (!in->sum->cells)
		return 0;
	if (f)
		snprintf(to, size, "%s stand%s out: %s", f->who, f->finding_ranks > 1 ? "" : "s",
		         pp_reason_name(f->finding_reason));
	else
		snprintf(to, size, "%s%zu rank%s, %zu step%s", is_known(in) ? USUAL ": " : "", d->workers,
		         d->workers == 1 ? "" : "s", d->steps, d->steps == 1 ? "" : "s");
	return 1;
}

static int line_waiting(const struct pp_section_in *in, char *to, size_t size)
{
	const struct pp_row_finding *f = late_ranks(in);
	const struct pp_fact *fact = &in->first->fact[PP_FACT_waiting];
	char ns[PP_TEXT_UNIT];

	if (f && f->waiters)
		snprintf(to, size, "%" PRIu32 " rank%s %s in %s step because of %s", f->waiters,
		         f->waiters > 1 ? "s wait" : " waits", pp_text_time(ns, f->finding_wait_ns),
		         f->of_steps > 1 ? "a usual" : "the", f->who);
	else if (!strcmp(fact->value, "unknown"))
		snprintf(to, size, "Unknown: %s", fact->note);
	else
		snprintf(to, size, "Waiting: %s, %s", fact->value, fact->note);
	return 1;
}

static int line_blame(const struct pp_section_in *in, char *to, size_t size)
{
	const struct pp_dataset *d = in->d;
	const struct pp_row_blame *b = d->blame;
	int64_t all = 0;

	for (size_t i = 0; i < d->blames; i++)
		pp_wrap_add(&all, d->blame[i].blame_ns);
	if (!d->blames || all <= 0)
		return 0;
	snprintf(to, size, "Largest part: rank %" PRId32 ", %s: %.0f %% of all waiting goes back to it", b->worker,
	         pp_reason_name(b->reason), pp_sums_percent(b->blame_ns, all));
	return 1;
}

static int line_advice(const struct pp_section_in *in, char *to, size_t size)
{
	const size_t n = in->d->advices;

	if (!n)
		return 0;
	snprintf(to, size, "%zu rule%s found evidence. The first: %s", n, n > 1 ? "s" : "", in->d->advice[0].advice);
	return 1;
}

static int line_timeline(const struct pp_section_in *in, char *to, size_t size)
{
	snprintf(to, size, "Calls and ranges of %s, in full width", in->d->workers == 1 ? "the rank" : "the ranks");
	return in->d->workers > 0;
}

static int line_workers(const struct pp_section_in *in, char *to, size_t size)
{
	const struct pp_row_finding *f = late_ranks(in);
	const struct pp_dataset *d = in->d;

	if (!d->workers)
		return 0;
	if (d->ranks_delivered < d->ranks_asked)
		snprintf(to, size, "%" PRId32 " of %" PRId32 " ranks delivered data", d->ranks_delivered, d->ranks_asked);
	else if (f)
		snprintf(to, size, "%s differ%s from the others", f->who, f->finding_ranks > 1 ? "" : "s");
	else
		snprintf(to, size, USUAL ": %zu rank%s delivered data", d->workers, d->workers == 1 ? "" : "s");
	return 1;
}

static int line_input(const struct pp_section_in *in, char *to, size_t size)
{
	const double share = pp_sums_percent(in->sum->sum_ns[PP_CATEGORY_INPUT], in->sum->all_ns);

	if (!in->sum->cells || (share <= 0 && !in->d->inputs && !in->d->input_ops))
		return 0;
	if (share <= 0)
		snprintf(to, size, USUAL ": no step waits for input");
	else
		snprintf(to, size, "%s%.1f %% of all steps' time is Input", share < STANDS_OUT_PERCENT ? USUAL ": " : "", share);
	return 1;
}

static int line_tfdata(const struct pp_section_in *in, char *to, size_t size)
{
	const struct pp_dataset *d = in->d;
	const struct pp_row_tf_data_pipeline *p = pp_tf_data_slowest(d, -1);
	char text[PP_TF_DATA_TEXT];

	if (!d->tf_data_pipelines)
		return 0;
	if (p)
		snprintf(to, size, "%s", pp_tf_data_say(d, p, text, sizeof(text)) + strlen("tf.data's "));
	else
		snprintf(to, size, USUAL ": no call of a host's input pipeline takes longer than 50 us");
	return 1;
}

/* Names are the application's. */
static const char *name_of(const struct pp_dataset *d, uint32_t id, char to[2 * NAME])
{
	const char *name = pp_intern_text(d->names, id, NULL);

	snprintf(to, (size_t)2 * NAME, "%.*s%s", pp_utf8_fit(name, NAME), name, strlen(name) > NAME ? "..." : "");
	return to;
}

static int line_op(const struct pp_section_in *in, char *to, size_t size)
{
	const struct pp_dataset *d = in->d;
	const struct pp_row_op_stat *most = NULL;
	char name[2 * NAME], ns[PP_TEXT_UNIT];

	for (size_t i = 0; i < d->op_stats; i++)
		if (!d->op_stat[i].is_idle && d->op_stat[i].host_or_device == PP_SIDE_HOST &&
		    (!most || d->op_stat[i].self_ns > most->self_ns))
			most = &d->op_stat[i];
	if (!in->sum->cells)
		return 0;
	if (!most)
		snprintf(to, size, "Ranges and calls by name");
	else
		snprintf(to, size, "Most self time: %s, %s per step and rank", name_of(d, most->name, name),
		         pp_text_time(ns, most->self_ns / in->sum->cells));
	return 1;
}

static int line_kernel(const struct pp_section_in *in, char *to, size_t size)
{
	const struct pp_dataset *d = in->d;
	char name[2 * NAME];

	if (!d->kernel_stats)
		return 0;
	snprintf(to, size, "Most time: %s, %.1f %% of the time of all kernels", name_of(d, d->kernel_stat[0].name, name),
	         d->kernel_stat[0].percent);
	return 1;
}

static int line_collectives(const struct pp_section_in *in, char *to, size_t size)
{
	const struct pp_sums *s = in->sum;
	const int64_t ns = pp_wrap_plus(s->sum_ns[PP_CATEGORY_HOST_COMMUNICATION], s->sum_ns[PP_CATEGORY_DEVICE_COLLECTIVE]);

	if (s->all_ns <= 0)
		return 0;
	if (in->d->workers > 1 && pp_is_known(s->transfer_ns) && pp_is_known(s->wait_ns))
		snprintf(to, size, "Exposed communication: %.1f %% of all steps' time; waiting %.1f %%, transfer %.1f %%",
		         pp_sums_percent(ns, s->all_ns), pp_sums_percent(s->wait_ns, s->all_ns),
		         pp_sums_percent(s->transfer_ns, s->all_ns));
	else
		snprintf(to, size, "Exposed communication: %.1f %% of all steps' time", pp_sums_percent(ns, s->all_ns));
	return 1;
}

static int line_memory(const struct pp_section_in *in, char *to, size_t size)
{
	const struct pp_dataset *d = in->d;
	const struct pp_row_memory *most = d->memory;
	char bytes[PP_TEXT_UNIT];

	if (!d->memories)
		return d->allocators || d->torch_memories ? snprintf(to, size, "Allocators of devices") > 0 : 0;
	for (size_t i = 1; i < d->memories; i++)
		most = d->memory[i].rss_bytes > most->rss_bytes ? &d->memory[i] : most;
	snprintf(to, size, "Largest RSS: %s, rank %" PRId32, pp_text_bytes(bytes, most->rss_bytes), most->worker);
	return 1;
}

static int line_skyline(const struct pp_section_in *in, char *to, size_t size)
{
	const struct pp_dataset *d = in->d;

	snprintf(to, size, "Memory of all ranks at the same instants");
	return d->workers > 0 && (d->memories || d->torch_memories || d->memory_timelines);
}

static int line_tables(const struct pp_section_in *in, char *to, size_t size)
{
	(void)in;
	snprintf(to, size, "What pod.h5 holds besides");
	return 1;
}

static int line_clock(const struct pp_section_in *in, char *to, size_t size)
{
	const struct pp_fact *fact = &in->first->fact[PP_FACT_clock];

	if (!in->d->workers)
		return 0;
	if (!strcmp(fact->value, "unknown"))
		snprintf(to, size, "Clock error unknown: %s", fact->note);
	else
		snprintf(to, size, "Clock error %s: %s", fact->value, fact->note);
	return 1;
}

static int line_quality(const struct pp_section_in *in, char *to, size_t size)
{
	const size_t n = in->answer->qualifiers + in->answer->more;

	if (n)
		snprintf(to, size, "%zu caution%s: %s", n, n > 1 ? "s, the first" : "", in->answer->qualifier[0]);
	else
		snprintf(to, size, USUAL);
	return 1;
}

static int line_run(const struct pp_section_in *in, char *to, size_t size)
{
	snprintf(to, size, "%.*s", pp_utf8_fit(in->d->command, 2 * NAME), in->d->command);
	return 1;
}

int pp_section_line(int section, const struct pp_section_in *in, char to[PP_SECTION_TEXT])
{
	static int (*const line[])(const struct pp_section_in *in, char *to, size_t size) = {
#define PP_SECTION(id, name, group) line_##id,
#include "aggregate/report/data/sections.def"
#undef PP_SECTION
	};
	char text[2 * PP_SECTION_TEXT] = "";
	const int has_data = line[section](in, text, sizeof(text));

	if (section != PP_SECTION_run && text[0] >= 'a' && text[0] <= 'z')
		text[0] = (char)(text[0] - 'a' + 'A');
	pp_sentence_units(text, to, PP_SECTION_TEXT);
	return has_data;
}
