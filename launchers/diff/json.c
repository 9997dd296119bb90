/* Writes a comparison as JSON, for scripts and for its page; see diff.h. docs/diff.md lists the members. */
#include "launchers/diff/json.h"

#include <math.h>

#include "aggregate/write/json_object.h"
#include "launchers/diff/text.h"

enum { SCHEMA = 2 };

static void put_change(struct pp_json *j, double a, double b)
{
	pp_json_add_real(j, "a_ns", a);
	pp_json_add_real(j, "b_ns", b);
	pp_json_add_real(j, "change_ns", b - a);
}

static void put_run_name(struct pp_json *j, const char *name, size_t run)
{
	const char text[] = {(char)('A' + run), '\0'};

	pp_json_add_text(j, name, text);
}

/* An interval where nothing could be decided is none. */
static void put_noise(struct pp_json *j, const char *of, const struct pp_noise *n, const char *unit)
{
	char name[32];
	const struct {
		const char *what;
		double value;
	} value[] = {{"a", n->a},       {"b", n->b},         {"change", n->b - n->a}, {"low", n->low},
	             {"high", n->high}, {"floor", n->floor}, {"power", n->power}};

	pp_json_open(j, of);
	pp_json_add_text(j, "result", pp_diff_word(n->word));
	for (size_t i = 0; i < sizeof(value) / sizeof(value[0]); i++) {
		snprintf(name, sizeof(name), "%s_%s", value[i].what, unit);
		if ((n->word == PP_NOISE_FEW || n->word == PP_NOISE_UNKNOWN) && i > 2)
			pp_json_add_null(j, name);
		else
			pp_json_add_real(j, name, value[i].value);
	}
	pp_json_close(j);
}

/* How the step time goes in a run, and what is exceptional in it. */
static void put_course(struct pp_json *j, const struct pp_diff *d, size_t r)
{
	static const char *const courses[] = {"steady", "sudden", "growing"};
	static const char *const rares[] = {"none", "start_up", "periodic", "one_off", "irregular"};
	const struct pp_diff_run *run = &d->run[r];
	const struct pp_series *s = &run->course;
	const int is_sudden = s->course == PP_COURSE_SUDDEN;

	pp_json_add_text(j, "course", s->is_long ? courses[s->course] : "unknown");
	pp_json_add_int(j, "changed_at_step", is_sudden ? run->d.step[run->step[s->onset]].number : INT64_MIN);
	pp_json_add_real(j, "first_ns", s->before);
	pp_json_add_real(j, "last_ns", s->level);
	pp_json_open(j, "exceptional");
	pp_json_add_text(j, "kind", rares[s->rare]);
	pp_json_add_int(j, "steps", (int64_t)s->rares);
	pp_json_add_int(j, "start_up_steps", (int64_t)s->start_ups);
	pp_json_add_int(j, "period", s->period ? (int64_t)s->period : INT64_MIN);
	pp_json_add_real(j, "each_ns", s->rare_each);
	pp_json_add_real(j, "cost_ns", s->rare_cost);
	pp_json_add_real(j, "chance_against_first", d->chance[r]);
	pp_json_close(j);
}

static void put_runs(struct pp_json *j, const struct pp_diff *d)
{
	pp_json_open_list(j, "runs");
	for (size_t r = 0; r < d->runs; r++) {
		const struct pp_dataset *s = &d->run[r].d;

		pp_json_open(j, NULL);
		put_run_name(j, "run", r);
		pp_json_add_text(j, "given", d->run[r].given);
		pp_json_add_text(j, "session", s->session);
		pp_json_add_text(j, "command", s->command);
		pp_json_add_int(j, "begin_s",
		                s->epoch_realtime_ns ? s->epoch_realtime_ns / 1000000000 + s->window_begin_ns / 1000000000
		                                     : INT64_MIN);
		pp_json_add_int(j, "ranks", s->ranks_asked);
		pp_json_add_int(j, "ranks_delivered", s->ranks_delivered);
		pp_json_add_int(j, "steps", (int64_t)d->run[r].steps);
		pp_json_add_int(j, "usual_steps", (int64_t)d->step[r].steps);
		pp_json_add_real(j, "step_ns", d->step[r].usual);
		pp_json_add_real(j, "half_interval_ns", d->half[r] > 0 ? d->half[r] : NAN);
		put_course(j, d, r);
		pp_json_close(j);
	}
	pp_json_close(j);
}

static void put_check(struct pp_json *j, const struct pp_diff_check *c)
{
	static const char *const word[] = {"none", "passed", "failed", "undecided"};
	static const char *const why[] = {"steps", "noise", "end", "cores"};

	if (c->word == PP_DIFF_CHECK_NONE) {
		pp_json_add_null(j, "check");
		return;
	}
	pp_json_open(j, "check");
	pp_json_add_text(j, "result", word[c->word]);
	pp_json_add_real(j, "limit_percent", c->limit_percent);
	pp_json_add_real(j, "percent", c->percent);
	if (c->word == PP_DIFF_CHECK_UNDECIDED)
		pp_json_add_text(j, "why", why[c->why]);
	pp_json_close(j);
}

static void put_roles(struct pp_json *j, const struct pp_diff *d)
{
	pp_json_open_list(j, "roles");
	for (size_t g = 0; g < d->shared->groups; g++) {
		const struct pp_diff_group *group = &d->shared->group[g];

		pp_json_open(j, NULL);
		pp_json_add_int(j, "role", group->role < 0 ? INT64_MIN : group->role);
		pp_json_add_int(j, "ranks", group->ranks);
		pp_json_add_text(j, "rank_list", group->ranks_text);
		pp_json_add_text(j, "why", group->why);
		pp_json_close(j);
	}
	pp_json_close(j);
}

static void put_pair(struct pp_json *j, const struct pp_diff *d, const struct pp_diff_pair *p)
{
	pp_json_open(j, NULL);
	put_run_name(j, "from", p->from);
	put_run_name(j, "to", p->to);
	pp_json_add_real(j, "cores_explain_ns", p->cores);
	put_noise(j, "step", &p->usual, "ns");
	if (p->is_short)
		put_noise(j, "short_step", &p->step, "ns");
	else
		pp_json_add_null(j, "short_step");
	pp_json_open_list(j, "roles");
	for (size_t g = 0; g < d->shared->groups; g++) {
		pp_json_open(j, NULL);
		for (int q = 0; q < PP_DIFF_QUANTITIES; q++)
			put_noise(j, pp_diff_quantity_name(q), &p->group[g][q], "ns");
		pp_json_close(j);
	}
	pp_json_close(j);
	pp_json_close(j);
}

static void put_pairs(struct pp_json *j, const struct pp_diff *d, const char *name, const struct pp_diff_pair *pair)
{
	pp_json_open_list(j, name);
	for (size_t r = 0; r + 1 < d->runs; r++)
		put_pair(j, d, &pair[r]);
	pp_json_close(j);
}

static void put_ranks(struct pp_json *j, const struct pp_diff *d)
{
	pp_json_open_list(j, "ranks_changed");
	for (size_t i = 0; i < d->ranks; i++) {
		const struct pp_diff_rank *r = &d->rank[i];

		pp_json_open(j, NULL);
		pp_json_add_int(j, "rank", r->rank);
		pp_json_add_int(j, "other_rank", r->other);
		pp_json_add_text(j, "quantity",
		                 r->quantity == PP_DIFF_LATE ? "waited for by each other rank"
		                                             : pp_diff_quantity_name(r->quantity));
		put_change(j, r->a, r->b);
		pp_json_add_real(j, "usual_change_ns", r->others);
		pp_json_add_real(j, "noise_ns", r->noise);
		pp_json_close(j);
	}
	pp_json_close(j);
}

static void put_causes(struct pp_json *j, const struct pp_diff *d)
{
	pp_json_open_list(j, "causes");
	for (size_t i = 0; i < d->causes; i++) {
		const struct pp_diff_cause *c = &d->cause[i];

		pp_json_open(j, NULL);
		pp_json_add_int(j, "rank", c->rank);
		pp_json_add_text(j, "reason", c->reason);
		put_change(j, c->a, c->b);
		pp_json_close(j);
	}
	pp_json_close(j);
	pp_json_add_int(j, "causes_below_floor", (int64_t)d->causes_below);
}

static void put_operations(struct pp_json *j, const struct pp_diff *d)
{
	pp_json_open_list(j, "collectives");
	for (size_t i = 0; i < d->operations; i++) {
		const struct pp_diff_operation *o = &d->operation[i];

		pp_json_open(j, NULL);
		pp_json_add_text(j, "call", o->name);
		pp_json_add_int(j, "a_ranks", o->size_a ? o->size_a : INT64_MIN);
		pp_json_add_int(j, "b_ranks", o->size_b ? o->size_b : INT64_MIN);
		pp_json_add_bool(j, "changed", pp_diff_operation_changed(o));
		pp_json_add_real(j, "a_per_step", o->count_a);
		pp_json_add_real(j, "b_per_step", o->count_b);
		pp_json_add_real(j, "a_bytes", o->bytes_a);
		pp_json_add_real(j, "b_bytes", o->bytes_b);
		put_noise(j, "wait", &o->wait, "ns");
		put_noise(j, "transfer", &o->transfer, "ns");
		put_noise(j, "busbw", &o->busbw, "bytes_per_s");
		pp_json_close(j);
	}
	pp_json_close(j);
	pp_json_add_int(j, "collectives_not_compared", (int64_t)d->operations_left);
}

static void put_ops(struct pp_json *j, const struct pp_diff *d)
{
	pp_json_open_list(j, "operators");
	for (size_t i = 0; i < d->ops; i++) {
		const struct pp_diff_op *o = &d->op[i];

		pp_json_open(j, NULL);
		pp_json_add_text(j, "name", o->name);
		pp_json_add_text(j, "side", o->side == PP_SIDE_DEVICE ? "device" : "host");
		put_change(j, o->a, o->b);
		pp_json_add_real(j, "a_calls", o->calls_a);
		pp_json_add_real(j, "b_calls", o->calls_b);
		pp_json_close(j);
	}
	pp_json_close(j);
	pp_json_add_int(j, "operators_below_floor", (int64_t)d->ops_below);
}

static void put_environment(struct pp_json *j, const struct pp_diff *d)
{
	pp_json_open_list(j, "environment");
	for (size_t i = 0; i < d->environments; i++) {
		pp_json_open(j, NULL);
		pp_json_add_text(j, "what", d->environment[i].what);
		pp_json_open_list(j, "values");
		for (size_t r = 0; r < d->runs; r++)
			pp_json_add_text(j, NULL, d->environment[i].value[r]);
		pp_json_close(j);
		pp_json_close(j);
	}
	pp_json_close(j);
	pp_json_add_int(j, "environment_equal", (int64_t)d->environments_same);
}

void pp_diff_json(const struct pp_diff *d, const struct pp_diff_check *check, FILE *to)
{
	struct pp_json json = {.to = to}, *j = &json;
	char text[PP_DIFF_SENTENCE];

	pp_diff_sentence(d, text, sizeof(text));
	pp_json_open(j, NULL);
	pp_json_add_int(j, "schema", SCHEMA);
	pp_json_add_text(j, "text", text);
	pp_json_add_text(j, "result", pp_diff_word(pp_diff_last(d)->step.word));
	put_check(j, check);
	put_runs(j, d);
	pp_json_add_int(j, "ranks_compared", (int64_t)d->shared->ranks);
	pp_json_add_int(j, "ranks_of_other_roles", (int64_t)d->shared->ranks_left);
	pp_json_add_text(j, "only_in_first", d->shared->left[0]);
	pp_json_add_text(j, "only_in_last", d->shared->left[1]);
	put_roles(j, d);
	put_pairs(j, d, "against_first", d->first);
	put_pairs(j, d, "against_before", d->runs > 2 ? d->before : d->first);
	put_ranks(j, d);
	put_causes(j, d);
	put_operations(j, d);
	put_ops(j, d);
	put_environment(j, d);
	pp_json_close(j);
	fputc('\n', to);
}
