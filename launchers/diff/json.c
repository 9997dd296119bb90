/* Writes a comparison as JSON, for scripts and for its page; see diff.h. docs/diff.md lists the members. */
#include "launchers/diff/json.h"

#include <inttypes.h>
#include <string.h>

#include "aggregate/write/json.h"
#include "launchers/diff/text.h"

enum { SCHEMA = 1 };

/* Members of an object are written behind a comma, except the first. */
static void key(FILE *to, const char *name)
{
	fprintf(to, ",\"%s\":", name);
}

static void put_text(FILE *to, const char *name, const char *text)
{
	key(to, name);
	pp_json_text(to, text);
}

static void put_int(FILE *to, const char *name, int64_t value)
{
	key(to, name);
	pp_json_int(to, value);
}

static void put_real(FILE *to, const char *name, double value)
{
	key(to, name);
	pp_json_real(to, value);
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
	} value[] = {{"a", n->a}, {"b", n->b}, {"change", n->b - n->a}, {"low", n->low}, {"high", n->high}, {"floor", n->floor}};

	fprintf(to, "{\"result\":\"%s\"", pp_diff_word(n->word));
	for (size_t i = 0; i < sizeof(value) / sizeof(value[0]); i++) {
		snprintf(name, sizeof(name), "%s_%s", value[i].what, unit);
		if (n->word == PP_NOISE_UNDECIDED && i > 2)
			put_int(to, name, INT64_MIN);
		else
			put_real(to, name, value[i].value);
	}
	fprintf(to, ",\"block_steps\":[%" PRIu32 ",%" PRIu32 "]}", n->block_a, n->block_b);
}

static void put_runs(FILE *to, const struct pp_diff *d)
{
	key(to, "runs");
	for (size_t r = 0; r < d->runs; r++) {
		const struct pp_dataset *s = &d->run[r].d;

		fprintf(to, "%s{\"run\":\"%c\"", r ? "," : "[", (char)('A' + r));
		put_text(to, "given", d->run[r].given);
		put_text(to, "session", s->session);
		put_text(to, "command", s->command);
		put_int(to, "begin_s",
		        s->epoch_realtime_ns ? s->epoch_realtime_ns / 1000000000 + s->window_begin_ns / 1000000000 : INT64_MIN);
		put_int(to, "ranks", s->ranks_asked);
		put_int(to, "ranks_delivered", s->ranks_delivered);
		put_int(to, "steps", (int64_t)d->run[r].steps);
		put_real(to, "step_ns", pp_noise_mean((struct pp_noise_series){d->run[r].slowest, d->run[r].steps}));
		key(to, "half_interval_ns");
		if (d->half[r] > 0)
			pp_json_real(to, d->half[r]);
		else
			fputs("null", to);
		fputc('}', to);
	}
	fputc(']', to);
}

static void put_check(FILE *to, const struct pp_diff_check *c)
{
	static const char *const word[] = {"none", "passed", "failed", "undecided"};

	key(to, "check");
	if (c->word == PP_DIFF_CHECK_NONE) {
		fputs("null", to);
		return;
	}
	fprintf(to, "{\"result\":\"%s\"", word[c->word]);
	put_real(to, "limit_percent", c->limit_percent);
	put_real(to, "percent", c->percent);
	if (c->word == PP_DIFF_CHECK_UNDECIDED)
		put_text(to, "why", c->is_by_cores ? "cores" : "steps");
	fputc('}', to);
}

static void put_roles(FILE *to, const struct pp_diff *d)
{
	key(to, "roles");
	fputc('[', to);
	for (size_t g = 0; g < d->shared->groups; g++) {
		const struct pp_diff_group *group = &d->shared->group[g];

		fprintf(to, "%s{\"role\":", g ? "," : "");
		pp_json_int(to, group->role < 0 ? INT64_MIN : group->role);
		put_int(to, "ranks", group->ranks);
		put_text(to, "rank_list", group->ranks_text);
		put_text(to, "why", group->why);
		fputc('}', to);
	}
	fputc(']', to);
}

static void put_pair(FILE *to, const struct pp_diff *d, const struct pp_diff_pair *p)
{
	fprintf(to, "{\"from\":\"%c\"", (char)('A' + p->from));
	put_run_name(to, "to", p->to);
	put_real(to, "cores_explain_ns", p->cores);
	key(to, "step");
	put_noise(to, &p->step, "ns");
	key(to, "roles");
	fputc('[', to);
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

static void put_pairs(FILE *to, const struct pp_diff *d)
{
	key(to, "against_first");
	for (size_t r = 0; r + 1 < d->runs; r++) {
		fputc(r ? ',' : '[', to);
		put_pair(to, d, &d->first[r]);
	}
	fputc(']', to);
	key(to, "against_before");
	for (size_t r = 0; r + 1 < d->runs; r++) {
		fputc(r ? ',' : '[', to);
		put_pair(to, d, d->runs > 2 ? &d->before[r] : &d->first[r]);
	}
	fputc(']', to);
}

static void put_ranks(FILE *to, const struct pp_diff *d)
{
	key(to, "ranks_changed");
	fputc('[', to);
	for (size_t i = 0; i < d->ranks; i++) {
		const struct pp_diff_rank *r = &d->rank[i];

		fprintf(to, "%s{\"rank\":%" PRId32, i ? "," : "", r->rank);
		put_text(to, "quantity",
		         r->quantity == PP_DIFF_LATE ? "waited for by each other rank" : pp_diff_quantity_name(r->quantity));
		put_real(to, "a_ns", r->a);
		put_real(to, "b_ns", r->b);
		put_real(to, "change_ns", r->b - r->a);
		put_real(to, "usual_change_ns", r->others);
		put_real(to, "noise_ns", r->noise);
		fputc('}', to);
	}
	fputc(']', to);
}

static void put_causes(FILE *to, const struct pp_diff *d)
{
	key(to, "causes");
	fputc('[', to);
	for (size_t i = 0; i < d->causes; i++) {
		const struct pp_diff_cause *c = &d->cause[i];

		fprintf(to, "%s{\"rank\":%" PRId32, i ? "," : "", c->rank);
		put_text(to, "reason", c->reason);
		put_real(to, "a_ns", c->a);
		put_real(to, "b_ns", c->b);
		put_real(to, "change_ns", c->b - c->a);
		fputc('}', to);
	}
	fputc(']', to);
	put_int(to, "causes_below_floor", (int64_t)d->causes_below);
}

static void put_operations(FILE *to, const struct pp_diff *d)
{
	key(to, "collectives");
	fputc('[', to);
	for (size_t i = 0; i < d->operations; i++) {
		const struct pp_diff_operation *o = &d->operation[i];

		fputs(i ? ",{\"call\":" : "{\"call\":", to);
		pp_json_text(to, o->name);
		put_int(to, "ranks", o->size);
		fprintf(to, ",\"changed\":%s", pp_diff_operation_changed(o) ? "true" : "false");
		put_real(to, "a_per_step", o->count_a);
		put_real(to, "b_per_step", o->count_b);
		put_real(to, "a_bytes", o->bytes_a);
		put_real(to, "b_bytes", o->bytes_b);
		key(to, "wait");
		put_noise(to, &o->wait, "ns");
		key(to, "transfer");
		put_noise(to, &o->transfer, "ns");
		key(to, "busbw");
		put_noise(to, &o->busbw, "bytes_per_s");
		fputc('}', to);
	}
	fputc(']', to);
	put_int(to, "collectives_not_compared", (int64_t)d->operations_left);
}

static void put_ops(FILE *to, const struct pp_diff *d)
{
	key(to, "operators");
	fputc('[', to);
	for (size_t i = 0; i < d->ops; i++) {
		const struct pp_diff_op *o = &d->op[i];

		fputs(i ? ",{\"name\":" : "{\"name\":", to);
		pp_json_text(to, o->name);
		put_text(to, "side", o->side == PP_SIDE_DEVICE ? "device" : "host");
		put_real(to, "a_ns", o->a);
		put_real(to, "b_ns", o->b);
		put_real(to, "change_ns", o->b - o->a);
		put_real(to, "a_calls", o->calls_a);
		put_real(to, "b_calls", o->calls_b);
		fputc('}', to);
	}
	fputc(']', to);
	put_int(to, "operators_below_floor", (int64_t)d->ops_below);
}

static void put_environment(FILE *to, const struct pp_diff *d)
{
	key(to, "environment");
	fputc('[', to);
	for (size_t i = 0; i < d->environments; i++) {
		fputs(i ? ",{\"what\":" : "{\"what\":", to);
		pp_json_text(to, d->environment[i].what);
		key(to, "values");
		for (size_t r = 0; r < d->runs; r++) {
			fputc(r ? ',' : '[', to);
			pp_json_text(to, d->environment[i].value[r]);
		}
		fputs("]}", to);
	}
	fputc(']', to);
	put_int(to, "environment_equal", (int64_t)d->environments_same);
}

void pp_diff_json(const struct pp_diff *d, const struct pp_diff_check *check, FILE *to)
{
	char text[400];

	pp_diff_sentence(d, text, sizeof(text));
	fprintf(to, "{\"schema\":%d", SCHEMA);
	put_text(to, "text", text);
	put_text(to, "result", pp_diff_word(pp_diff_last(d)->step.word));
	put_check(to, check);
	put_runs(to, d);
	put_int(to, "ranks_compared", (int64_t)d->shared->ranks);
	put_int(to, "ranks_of_other_roles", (int64_t)d->shared->ranks_left);
	put_roles(to, d);
	put_pairs(to, d);
	put_ranks(to, d);
	put_causes(to, d);
	put_operations(to, d);
	put_ops(to, d);
	put_environment(to, d);
	fputs("}\n", to);
}
