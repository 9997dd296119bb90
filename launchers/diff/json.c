/* Writes a comparison as JSON, for scripts and for its page; see diff.h. docs/diff.md lists the members. */
#include "launchers/diff/json.h"

#include <inttypes.h>
#include <string.h>

#include "aggregate/write/json.h"
#include "launchers/diff/text.h"

enum { SCHEMA = 2 };

static void open_list(FILE *to, const char *name)
{
	pp_json_key(to, name);
	fputc('[', to);
}

static void put_change(FILE *to, double a, double b)
{
	pp_json_put_real(to, "a_ns", a);
	pp_json_put_real(to, "b_ns", b);
	pp_json_put_real(to, "change_ns", b - a);
}

static void put_run_name(FILE *to, const char *name, size_t run)
{
	fprintf(to, ",\"%s\":\"%c\"", name, (char)('A' + run));
}

/* An interval where nothing could be decided is none. */
static void put_noise(FILE *to, const struct pp_noise *n, const char *unit)
{
	char name[32];
	const struct {
		const char *what;
		double value;
	} value[] = {{"a", n->a},       {"b", n->b},         {"change", n->b - n->a}, {"low", n->low},
	             {"high", n->high}, {"floor", n->floor}, {"power", n->power}};

	fprintf(to, "{\"result\":\"%s\"", pp_diff_word(n->word));
	for (size_t i = 0; i < sizeof(value) / sizeof(value[0]); i++) {
		snprintf(name, sizeof(name), "%s_%s", value[i].what, unit);
		if ((n->word == PP_NOISE_FEW || n->word == PP_NOISE_UNKNOWN) && i > 2)
			pp_json_put_int(to, name, INT64_MIN);
		else
			pp_json_put_real(to, name, value[i].value);
	}
	fputc('}', to);
}

/* How the step time goes in a run, and what is exceptional in it. */
static void put_course(FILE *to, const struct pp_diff *d, size_t r)
{
	static const char *const courses[] = {"steady", "sudden", "growing"};
	static const char *const rares[] = {"none", "start_up", "periodic", "one_off", "irregular"};
	const struct pp_diff_run *run = &d->run[r];
	const struct pp_series *s = &run->course;
	const int is_sudden = s->course == PP_COURSE_SUDDEN;

	pp_json_put_text(to, "course", s->is_long ? courses[s->course] : "unknown");
	pp_json_put_int(to, "changed_at_step", is_sudden ? run->d.step[run->step[s->onset]].number : INT64_MIN);
	pp_json_put_real(to, "first_ns", s->before);
	pp_json_put_real(to, "last_ns", s->level);
	pp_json_key(to, "exceptional");
	fprintf(to, "{\"kind\":\"%s\",\"steps\":%zu,\"start_up_steps\":%zu", rares[s->rare], s->rares, s->start_ups);
	pp_json_put_int(to, "period", s->period ? (int64_t)s->period : INT64_MIN);
	pp_json_put_real(to, "each_ns", s->rare_each);
	pp_json_put_real(to, "cost_ns", s->rare_cost);
	pp_json_put_real(to, "chance_against_first", d->chance[r]);
	fputc('}', to);
}

static void put_runs(FILE *to, const struct pp_diff *d)
{
	pp_json_key(to, "runs");
	for (size_t r = 0; r < d->runs; r++) {
		const struct pp_dataset *s = &d->run[r].d;

		fprintf(to, "%s{\"run\":\"%c\"", r ? "," : "[", (char)('A' + r));
		pp_json_put_text(to, "given", d->run[r].given);
		pp_json_put_text(to, "session", s->session);
		pp_json_put_text(to, "command", s->command);
		pp_json_put_int(to, "begin_s",
		                s->epoch_realtime_ns ? s->epoch_realtime_ns / 1000000000 + s->window_begin_ns / 1000000000
		                                     : INT64_MIN);
		pp_json_put_int(to, "ranks", s->ranks_asked);
		pp_json_put_int(to, "ranks_delivered", s->ranks_delivered);
		pp_json_put_int(to, "steps", (int64_t)d->run[r].steps);
		pp_json_put_int(to, "usual_steps", (int64_t)d->step[r].steps);
		pp_json_put_real(to, "step_ns", d->step[r].usual);
		pp_json_key(to, "half_interval_ns");
		if (d->half[r] > 0)
			pp_json_real(to, d->half[r]);
		else
			fputs("null", to);
		put_course(to, d, r);
		fputc('}', to);
	}
	fputc(']', to);
}

static void put_check(FILE *to, const struct pp_diff_check *c)
{
	static const char *const word[] = {"none", "passed", "failed", "undecided"};
	static const char *const why[] = {"steps", "noise", "end", "cores"};

	pp_json_key(to, "check");
	if (c->word == PP_DIFF_CHECK_NONE) {
		fputs("null", to);
		return;
	}
	fprintf(to, "{\"result\":\"%s\"", word[c->word]);
	pp_json_put_real(to, "limit_percent", c->limit_percent);
	pp_json_put_real(to, "percent", c->percent);
	if (c->word == PP_DIFF_CHECK_UNDECIDED)
		pp_json_put_text(to, "why", why[c->why]);
	fputc('}', to);
}

static void put_roles(FILE *to, const struct pp_diff *d)
{
	open_list(to, "roles");
	for (size_t g = 0; g < d->shared->groups; g++) {
		const struct pp_diff_group *group = &d->shared->group[g];

		fprintf(to, "%s{\"role\":", g ? "," : "");
		pp_json_int(to, group->role < 0 ? INT64_MIN : group->role);
		pp_json_put_int(to, "ranks", group->ranks);
		pp_json_put_text(to, "rank_list", group->ranks_text);
		pp_json_put_text(to, "why", group->why);
		fputc('}', to);
	}
	fputc(']', to);
}

static void put_pair(FILE *to, const struct pp_diff *d, const struct pp_diff_pair *p)
{
	fprintf(to, "{\"from\":\"%c\"", (char)('A' + p->from));
	put_run_name(to, "to", p->to);
	pp_json_put_real(to, "cores_explain_ns", p->cores);
	pp_json_key(to, "step");
	put_noise(to, &p->usual, "ns");
	pp_json_key(to, "short_step");
	if (p->is_short)
		put_noise(to, &p->step, "ns");
	else
		fputs("null", to);
	open_list(to, "roles");
	for (size_t g = 0; g < d->shared->groups; g++) {
		fputs(g ? ",{" : "{", to);
		for (int q = 0; q < PP_DIFF_QUANTITIES; q++) {
			fputs(q ? "," : "", to);
			pp_json_text(to, pp_diff_quantity_name(q));
			fputc(':', to);
			put_noise(to, &p->group[g][q], "ns");
		}
		fputc('}', to);
	}
	fputs("]}", to);
}

static void put_pairs(FILE *to, const struct pp_diff *d, const char *name, const struct pp_diff_pair *pair)
{
	open_list(to, name);
	for (size_t r = 0; r + 1 < d->runs; r++) {
		fputs(r ? "," : "", to);
		put_pair(to, d, &pair[r]);
	}
	fputc(']', to);
}

static void put_ranks(FILE *to, const struct pp_diff *d)
{
	open_list(to, "ranks_changed");
	for (size_t i = 0; i < d->ranks; i++) {
		const struct pp_diff_rank *r = &d->rank[i];

		fprintf(to, "%s{\"rank\":%" PRId32 ",\"other_rank\":%" PRId32, i ? "," : "", r->rank, r->other);
		pp_json_put_text(to, "quantity",
		                 r->quantity == PP_DIFF_LATE ? "waited for by each other rank"
		                                             : pp_diff_quantity_name(r->quantity));
		put_change(to, r->a, r->b);
		pp_json_put_real(to, "usual_change_ns", r->others);
		pp_json_put_real(to, "noise_ns", r->noise);
		fputc('}', to);
	}
	fputc(']', to);
}

static void put_causes(FILE *to, const struct pp_diff *d)
{
	open_list(to, "causes");
	for (size_t i = 0; i < d->causes; i++) {
		const struct pp_diff_cause *c = &d->cause[i];

		fprintf(to, "%s{\"rank\":%" PRId32, i ? "," : "", c->rank);
		pp_json_put_text(to, "reason", c->reason);
		put_change(to, c->a, c->b);
		fputc('}', to);
	}
	fputc(']', to);
	pp_json_put_int(to, "causes_below_floor", (int64_t)d->causes_below);
}

static void put_operations(FILE *to, const struct pp_diff *d)
{
	open_list(to, "collectives");
	for (size_t i = 0; i < d->operations; i++) {
		const struct pp_diff_operation *o = &d->operation[i];

		fputs(i ? ",{\"call\":" : "{\"call\":", to);
		pp_json_text(to, o->name);
		pp_json_put_int(to, "a_ranks", o->size_a ? o->size_a : INT64_MIN);
		pp_json_put_int(to, "b_ranks", o->size_b ? o->size_b : INT64_MIN);
		fprintf(to, ",\"changed\":%s", pp_diff_operation_changed(o) ? "true" : "false");
		pp_json_put_real(to, "a_per_step", o->count_a);
		pp_json_put_real(to, "b_per_step", o->count_b);
		pp_json_put_real(to, "a_bytes", o->bytes_a);
		pp_json_put_real(to, "b_bytes", o->bytes_b);
		pp_json_key(to, "wait");
		put_noise(to, &o->wait, "ns");
		pp_json_key(to, "transfer");
		put_noise(to, &o->transfer, "ns");
		pp_json_key(to, "busbw");
		put_noise(to, &o->busbw, "bytes_per_s");
		fputc('}', to);
	}
	fputc(']', to);
	pp_json_put_int(to, "collectives_not_compared", (int64_t)d->operations_left);
}

static void put_ops(FILE *to, const struct pp_diff *d)
{
	open_list(to, "operators");
	for (size_t i = 0; i < d->ops; i++) {
		const struct pp_diff_op *o = &d->op[i];

		fputs(i ? ",{\"name\":" : "{\"name\":", to);
		pp_json_text(to, o->name);
		pp_json_put_text(to, "side", o->side == PP_SIDE_DEVICE ? "device" : "host");
		put_change(to, o->a, o->b);
		pp_json_put_real(to, "a_calls", o->calls_a);
		pp_json_put_real(to, "b_calls", o->calls_b);
		fputc('}', to);
	}
	fputc(']', to);
	pp_json_put_int(to, "operators_below_floor", (int64_t)d->ops_below);
}

static void put_environment(FILE *to, const struct pp_diff *d)
{
	open_list(to, "environment");
	for (size_t i = 0; i < d->environments; i++) {
		fputs(i ? ",{\"what\":" : "{\"what\":", to);
		pp_json_text(to, d->environment[i].what);
		pp_json_key(to, "values");
		for (size_t r = 0; r < d->runs; r++) {
			fputc(r ? ',' : '[', to);
			pp_json_text(to, d->environment[i].value[r]);
		}
		fputs("]}", to);
	}
	fputc(']', to);
	pp_json_put_int(to, "environment_equal", (int64_t)d->environments_same);
}

void pp_diff_json(const struct pp_diff *d, const struct pp_diff_check *check, FILE *to)
{
	char text[400];

	pp_diff_sentence(d, text, sizeof(text));
	fprintf(to, "{\"schema\":%d", SCHEMA);
	pp_json_put_text(to, "text", text);
	pp_json_put_text(to, "result", pp_diff_word(pp_diff_last(d)->step.word));
	put_check(to, check);
	put_runs(to, d);
	pp_json_put_int(to, "ranks_compared", (int64_t)d->shared->ranks);
	pp_json_put_int(to, "ranks_of_other_roles", (int64_t)d->shared->ranks_left);
	pp_json_put_text(to, "only_in_first", d->shared->left[0]);
	pp_json_put_text(to, "only_in_last", d->shared->left[1]);
	put_roles(to, d);
	put_pairs(to, d, "against_first", d->first);
	put_pairs(to, d, "against_before", d->runs > 2 ? d->before : d->first);
	put_ranks(to, d);
	put_causes(to, d);
	put_operations(to, d);
	put_ops(to, d);
	put_environment(to, d);
	fputs("}\n", to);
}
