/* Makes the four facts below the sentence; see fact.h. */
#include "aggregate/report/data/fact.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "aggregate/dataset/table/functions.h"
#include "aggregate/tools/finding_word.h"
#include "aggregate/tools/sums.h"
#include "core/base/known.h"
#include "core/base/units.h"

enum { SHORT_NAME = 40 };

struct facts {
	const struct pp_dataset *d;
	const struct pp_usual_steps *u;
	const struct pp_rank_mean *mean;
	const struct pp_answer *a;
	const struct pp_row_finding *f; /* NULL: none */
	struct pp_fact *fact;
};

static void __attribute__((format(printf, 4, 5))) put(const struct facts *x, int which, const char *value, const char *fmt, ...)
{
	struct pp_fact *fact = &x->fact[which];
	char note[2 * sizeof(fact->note)];
	va_list arguments;

	va_start(arguments, fmt);
	vsnprintf(note, sizeof(note), fmt, arguments);
	va_end(arguments);
	pp_sentence_units(value, fact->value, sizeof(fact->value));
	pp_sentence_units(note, fact->note, sizeof(fact->note));
}

/* Are there ranks that no common clock compares? */
static int is_split(const struct pp_dataset *d)
{
	return pp_dataset_domains(d) > 1;
}

/* Why nothing is known of waiting; NULL: it is. */
static const char *why_unknown(const struct facts *x, size_t known)
{
	const struct pp_dataset *d = x->d;

	if (!x->u->usuals)
		return "no complete step was recorded";
	if (d->workers < 2)
		return "there is only one rank";
	if (known && !(is_split(d) && (size_t)pp_dataset_domains(d) == d->workers && !d->device_between_clocks))
		return NULL;
	return d->trace_files && is_split(d) ? "each trace file has a clock of its own"
	       : is_split(d)                 ? "the ranks have no common clock"
	                                     : "no recorded operation tells who waited";
}

/* "95 % of the usual step of 4.53 ms" */
static const char *share(const struct facts *x, int64_t ns, int64_t of, char *text, size_t size)
{
	const double percent = pp_sums_percent(ns, of);
	char step[PP_TEXT_UNIT];

	snprintf(text, size, "%.*f %% of %s of %s", percent >= 9.95 || percent <= 0 ? 0 : 1, percent, pp_usual_steps_name(x->d),
	         pp_text_time(step, of));
	return text;
}

static void say_waiting(const struct facts *x)
{
	const char *const per = x->u->usuals > 1 ? "per usual step" : "in the step";
	int64_t sum = PP_UNKNOWN, step = 0;
	size_t known = 0;
	char ns[PP_TEXT_UNIT], value[48], base[80];
	const char *why;

	for (size_t w = 0; w < x->d->workers; w++) {
		pp_known_add(&sum, x->mean[w].wait_ns);
		known += pp_is_known(x->mean[w].wait_ns);
		step += pp_is_known(x->mean[w].wait_ns) ? x->mean[w].ns[0] / (int64_t)x->d->workers : 0;
	}
	why = why_unknown(x, known);
	if (x->f && pp_finding_names_ranks(x->f) && x->f->waiters) {
		snprintf(value, sizeof(value), "%s %s", pp_text_time(ns, x->f->finding_wait_ns), per);
		put(x, PP_FACT_waiting, value, "mean of %" PRIu32 " rank%s; %s", x->f->waiters, x->f->waiters > 1 ? "s" : "",
		    share(x, x->f->finding_wait_ns, x->f->usual_ns, base, sizeof(base)));
	} else if (why || !known) {
		put(x, PP_FACT_waiting, "unknown", "%s", why ? why : "no step tells");
	} else {
		snprintf(value, sizeof(value), "%s %s", pp_text_time(ns, sum / (int64_t)known), per);
		put(x, PP_FACT_waiting, value, "mean of %zu ranks%s; %s", known,
		    is_split(x->d) && !x->d->device_between_clocks ? ", each for those of its clock" : "",
		    share(x, sum / (int64_t)known, step * (int64_t)x->d->workers / (int64_t)known, base, sizeof(base)));
	}
}

static const char *whom(const struct pp_row_finding *f)
{
	return strlen(f->who) <= SHORT_NAME ? f->who : f->kind == PP_FINDING_LINK ? "the link" : "they";
}

static void say_gain(const struct facts *x)
{
	const struct pp_row_finding *f = x->f;
	char gain[PP_TEXT_UNIT], step[PP_TEXT_UNIT], value[64];
	const char *per = f && f->of_steps > 1 ? "per usual step, " : "", *why = why_unknown(x, 1);
	const size_t end = strlen(PP_FINDING_NO_WAIT);

	if (!f) {
		put(x, PP_FACT_gain, "unknown", "%s",
		    x->d->steps ? "an older podprof made this session" : "no complete step was recorded");
		return;
	}
	snprintf(value, sizeof(value), "%s of %s", pp_text_time(gain, f->finding_gain_ns), pp_text_time(step, f->usual_ns));
	if (pp_is_known(f->finding_gain_ns) && f->kind >= PP_FINDING_PERIODIC && f->kind <= PP_FINDING_START_UP)
		put(x, PP_FACT_gain, value, "mean of all %" PRIu32 " steps, if these steps were as the usual one", f->of_steps);
	else if (pp_is_known(f->finding_gain_ns) && f->kind == PP_FINDING_LINK)
		put(x, PP_FACT_gain, value, "%sif %s were as the usual links", per, whom(f));
	else if (pp_is_known(f->finding_gain_ns) && pp_finding_names_ranks(f))
		put(x, PP_FACT_gain, value, "%sif %s were as fast as the others", per, whom(f));
	else if (pp_is_known(f->finding_gain_ns) && f->kind == PP_FINDING_ROTATING)
		put(x, PP_FACT_gain, value, "%sif no rank were late", per);
	else if (pp_is_known(f->finding_gain_ns))
		put(x, PP_FACT_gain, value, "%sif %s took no time", per, pp_reason_name(f->finding_reason));
	else if (why)
		put(x, PP_FACT_gain, "unknown", "%s", why);
	else if (strlen(f->finding) > end && !strcmp(f->finding + strlen(f->finding) - end, PP_FINDING_NO_WAIT))
		put(x, PP_FACT_gain, "none found", "no rank costs 2 %% of %s or more", pp_usual_steps_name(x->d));
	else
		put(x, PP_FACT_gain, "unknown", "no rank, link or step was found that limits the job");
}

/* Of a job in which nothing limits the step between ranks. */
static void say_steady(const struct facts *x)
{
	const struct pp_usual_steps *u = x->u;
	char spread[PP_TEXT_UNIT];

	if (!u->course.is_long)
		put(x, PP_FACT_kind, "unknown", "%zu step%s %s too few to tell", x->d->steps, x->d->steps == 1 ? "" : "s",
		    x->d->steps == 1 ? "is" : "are");
	else
		put(x, PP_FACT_kind, "steady", "%zu of %zu steps are usual; half IQR %s", u->usuals, x->d->steps,
		    pp_text_time(spread, llrint(u->spread_ns)));
}

static void say_kind(const struct facts *x)
{
	const struct pp_row_finding *f = x->f;
	char kind[32], reason[64] = "";

	if (!f) {
		put(x, PP_FACT_kind, "unknown", "%s",
		    x->d->steps ? "an older podprof made this session" : "no complete step was recorded");
		return;
	}
	if (f->finding_reason)
		snprintf(reason, sizeof(reason), "; %s", pp_reason_name(f->finding_reason));
	pp_sentence_kind(f->kind, kind, sizeof(kind));
	switch (f->kind) {
	case PP_FINDING_CATEGORY:
		say_steady(x);
		break;
	case PP_FINDING_UNSPLIT:
		put(x, PP_FACT_kind, "unknown", "wait and transfer are not separated");
		break;
	case PP_FINDING_NOT_RECORDED:
		put(x, PP_FACT_kind, "unknown", "MPI calls were not recorded");
		break;
	case PP_FINDING_SUDDEN:
		put(x, PP_FACT_kind, kind, "from step %" PRId64 " on%s", f->finding_first, reason);
		break;
	case PP_FINDING_PERIODIC:
		put(x, PP_FACT_kind, kind, "every %" PRId64 " steps, %" PRIu32 " times%s", f->finding_period, f->finding_steps,
		    reason);
		break;
	case PP_FINDING_INPUT:
	case PP_FINDING_OUTPUT:
		put(x, PP_FACT_kind, kind, "of %s", x->d->workers > 1 ? "all ranks" : "the only rank");
		break;
	default:
		put(x, PP_FACT_kind, kind, "in %" PRIu32 " of %" PRIu32 " %ssteps%s", f->finding_steps, f->of_steps,
		    f->kind < PP_FINDING_PERIODIC || f->kind == PP_FINDING_PROGRESS ? "usual " : "", reason);
	}
}

static int is_joined_by(const struct pp_dataset *d, enum pp_joined_by how)
{
	for (size_t w = 0; w < d->workers; w++)
		if (!pp_worker_is_missing(&d->worker[w]) && d->worker[w].joined_by == (pp_c_CODE)how)
			return 1;
	return 0;
}

static void say_clock(const struct facts *x)
{
	const struct pp_dataset *d = x->d;
	const size_t domains = (size_t)pp_dataset_domains(d);
	char ns[PP_TEXT_UNIT], value[48];

	snprintf(value, sizeof(value), "<= %s", pp_text_time(ns, d->pair_bound_ns));
	if (d->workers < 2 || d->ranks_delivered < 2)
		put(x, PP_FACT_clock, "unknown", "%s", d->workers < 2 ? "there is only one rank" : "only one rank delivered data");
	else if (domains > 1 && d->trace_files && domains == (size_t)d->ranks_delivered)
		put(x, PP_FACT_clock, "unknown", "each trace file has a clock of its own");
	else if (domains > 1)
		put(x, PP_FACT_clock, "unknown", "%zu groups of ranks have no common clock", domains);
	else if (!pp_is_known(d->pair_bound_ns))
		put(x, PP_FACT_clock, "unknown", "the clocks were not compared");
	else if (is_joined_by(d, PP_JOINED_BY_COLLECTIVES))
		put(x, PP_FACT_clock, value, "between any two ranks; clocks of files, aligned by the ends of collectives");
	else if (is_joined_by(d, PP_JOINED_BY_WALL_CLOCK))
		put(x, PP_FACT_clock, value, "by the wall clock of the host, as the files round it");
	else if (d->host_clocks < 2)
		put(x, PP_FACT_clock, value, "all ranks share one clock");
	else
		put(x, PP_FACT_clock, value, "between any two ranks; clocks of %zu hosts compared", d->host_clocks);
}

void pp_facts_of(const struct pp_dataset *d, const struct pp_usual_steps *u, const struct pp_rank_mean *mean,
                 const struct pp_answer *a, struct pp_fact ret[PP_FACTS])
{
	const struct facts x = {.d = d, .u = u, .mean = mean, .a = a, .f = a->finding, .fact = ret};

	say_waiting(&x);
	say_gain(&x);
	say_kind(&x);
	say_clock(&x);
}
