/* Fills /straggler: the patterns that delays have over steps, ranks, hosts and roles, in words. Called by tools.c. docs/steps.md,
 * "Classes of stragglers", has the statistic. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "aggregate/dataset/table/functions.h"
#include "aggregate/tools/late_pattern.h"
#include "aggregate/tools/tools.h"
#include "core/base/units.h"

struct shares { /* of the variance of delays: between ranks, hosts, roles, steps */
	double rank, host, role, step;
};

static void say(char *to, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Appends. Absurd numbers have no room: the end is cut then. */
static void say(char *to, size_t size, const char *fmt, ...)
{
	size_t used = strlen(to);
	va_list list;

	va_start(list, fmt);
	vsnprintf(to + used, size - used, fmt, list);
	va_end(list);
}

static const char *look_at(int reason)
{
	static const char *const text[PP_REASONS] = {
	        "nothing that was recorded explains it: mark ranges in its code",
	        "compare its kernels and the clock rates of its device with another rank's",
	        "compare its copies between devices with another rank's",
	        "check its device links and network port",
	        "compare its operators with another rank's, its share of the data and its cores",
	        "check its CPU: cores, affinity, other processes",
	        "check its data loader, its files and their storage",
	        "check what it writes, and where to",
	        "compile before the steps, or keep shapes equal",
	        "it sleeps or runs unmarked code: mark ranges, or check cores and other processes",
	        "check its network port and its share of the messages",
	        "look at what it does between steps",
	};

	return text[reason > 0 && reason < PP_REASONS ? reason : 0];
}

static void say_next(const struct pp_late_pattern *p, char *to, size_t size)
{
	const char *look = look_at(p->reason);

	switch (p->class) {
	case PP_LATE_RANK:
		snprintf(to, size, "move the rank to another place to see whether the delay follows it; %s", look);
		break;
	case PP_LATE_HOST:
		snprintf(to, size, "compare the host with another one: clock rates, cooling, other processes, network, storage; %s",
		         look);
		break;
	case PP_LATE_ROLE:
		snprintf(to, size, "give this role less work or more ranks: move layers or data to the other roles; %s", look);
		break;
	case PP_LATE_ROTATING:
		snprintf(to, size, "cure the cause, not a rank: what takes turns is data, experts or a shared resource; %s", look);
		break;
	case PP_LATE_PERIODIC:
		snprintf(to, size, "find what runs at this period: checkpoints, logging, evaluation, garbage collection; %s",
		         p->reason == PP_CATEGORY_OUTPUT ? "write in the background, or less often" : look);
		break;
	case PP_LATE_ONE_OFF:
		snprintf(to, size, "open this step in the timeline; if it does not come again, ignore it, else %s", look);
		break;
	default:
		snprintf(to, size,
		         "no rank, host or role to repair: reduce noise (pin ranks, keep cores free) or synchronise less");
	}
}

static size_t put_percent(char *to, size_t size, double part, double whole)
{
	int n = snprintf(to, size, "%.*f %%", 100 * part<10 * whole, whole> 0 ? 100 * part / whole : 0);

	return n > 0 ? (size_t)n : 0;
}

/* "12.3 ms (31 % of a step)" */
static const char *put_delay(const struct pp_late_series *k, double ns, char *to, size_t size)
{
	char time[PP_TEXT_UNIT], share[24];

	pp_text_time(time, ns < 9e18 ? (int64_t)ns : INT64_MAX);
	put_percent(share, sizeof(share), ns, k->step_ns);
	snprintf(to, size, "%s (%s of a step)", time, share);
	return to;
}

static void put_rank(const struct pp_late_series *k, size_t rank, char *to, size_t size)
{
	if (rank == SIZE_MAX)
		snprintf(to, size, "whichever rank is last");
	else
		snprintf(to, size, "rank %d on host %.40s", (int)k->in->worker[rank].rank, k->in->worker[rank].host);
}

static void say_periodic(const struct pp_late_series *k, const struct pp_late_pattern *p, char *to, size_t size)
{
	char delay[64], who[72];
	long long first = (long long)k->in->step[k->first + p->at].number;

	put_delay(k, p->each_ns, delay, sizeof(delay));
	put_rank(k, p->rank, who, sizeof(who));
	if (p->all_stall)
		say(to, size, "All ranks together stall every %zu steps by %s, %zu of %zu times from step %lld on: %s", p->period,
		    delay, p->steps, p->of, first, pp_reason_name(p->reason));
	else
		say(to, size, "Every %zu steps %s delays the others by %s, %zu of %zu times from step %lld on: %s", p->period, who,
		    delay, p->steps, p->of, first, pp_reason_name(p->reason));
}

static void say_none(const struct pp_late_series *k, const struct shares *v, double delay, char *to, size_t size)
{
	char text[64], share[3][24];

	put_delay(k, k->steps ? delay / (double)k->steps : 0, text, sizeof(text));
	put_percent(share[0], sizeof(share[0]), v->rank, 1);
	put_percent(share[1], sizeof(share[1]), v->step, 1);
	say(to, size, "No pattern in %zu steps: ranks wait %s on average. Of the variance, ranks explain %s, steps %s", k->steps,
	    text, share[0], share[1]);
}

static void say_what(const struct pp_late_series *k, const struct pp_late_pattern *p, char *to, size_t size)
{
	char delay[64], who[72];

	put_delay(k, p->each_ns, delay, sizeof(delay));
	put_rank(k, p->rank, who, sizeof(who));
	switch (p->class) {
	case PP_LATE_RANK:
		who[0] = 'R';
		say(to, size, "%s is later than its peers by %s in %zu of %zu steps: %s", who, delay, p->steps, p->of,
		    pp_reason_name(p->reason));
		break;
	case PP_LATE_HOST:
		say(to, size, "All %zu ranks of host %.40s together delay the others by %s in %zu of %zu steps: %s", p->ranks,
		    k->in->worker[p->rank].host, delay, p->steps, p->of, pp_reason_name(p->reason));
		break;
	case PP_LATE_ROLE:
		say(to, size, "Role %d (%zu ranks, from rank %d on) delays the others by %s in %zu of %zu steps: %s", (int)p->role,
		    p->ranks, (int)k->in->worker[p->rank].rank, delay, p->steps, p->of, pp_reason_name(p->reason));
		break;
	case PP_LATE_ROTATING:
		say(to, size, "%zu ranks take turns: another one delays the others by %s in %zu of %zu steps", p->ranks, delay,
		    p->steps, p->of);
		if (p->period)
			say(to, size, ", again after %zu steps", p->period);
		say(to, size, ": %s", pp_reason_name(p->reason));
		break;
	case PP_LATE_PERIODIC:
		say_periodic(k, p, to, size);
		break;
	default:
		if (p->steps > 1)
			say(to, size, "In %zu of %zu steps, first in step %lld, %s delayed the others by up to %s: %s", p->steps,
			    p->of, (long long)k->in->step[k->first + p->at].number, who, delay, pp_reason_name(p->reason));
		else
			say(to, size, "Once, in step %lld, %s delayed the others by %s: %s",
			    (long long)k->in->step[k->first + p->at].number, who, delay, pp_reason_name(p->reason));
	}
}

/* Sum of squares of group means about the mean; member sums by a key per rank. */
static double between(const double *sum, const double *many, size_t n, double mean)
{
	double square = 0;

	for (size_t i = 0; i < n; i++)
		if (many[i] > 0)
			square += many[i] * (sum[i] / many[i] - mean) * (sum[i] / many[i] - mean);
	return square;
}

static double share_by(const struct pp_late_series *k, double *sum, double *many, double mean, const size_t *key)
{
	for (size_t w = 0; w <= k->ranks; w++)
		sum[w] = many[w] = 0;
	for (size_t s = 0; s < k->steps; s++)
		for (size_t w = 0; w < k->ranks; w++) {
			sum[key[w]] += k->delay[s * k->ranks + w];
			many[key[w]]++;
		}
	return between(sum, many, k->ranks, mean);
}

static int by_host(const void *a, const void *b, void *context)
{
	const struct pp_dataset *in = context;
	size_t x = *(const size_t *)a, y = *(const size_t *)b;
	int order = strncmp(in->worker[x].host, in->worker[y].host, sizeof(in->worker[x].host));

	return order ? order : (x > y) - (x < y);
}

static void number_hosts(const struct pp_dataset *in, size_t *order, size_t *key)
{
	size_t host = 0;

	for (size_t w = 0; w < in->workers; w++)
		order[w] = w;
	qsort_r(order, in->workers, sizeof(*order), by_host, (void *)in);
	for (size_t i = 0; i < in->workers; i++) {
		host += i && strncmp(in->worker[order[i]].host, in->worker[order[i - 1]].host, sizeof(in->worker[0].host)) != 0;
		key[order[i]] = host;
	}
}

static int find_shares(const struct pp_late_series *k, struct shares *ret)
{
	size_t n = k->ranks + 1, *key = calloc(n, sizeof(*key)), *order = calloc(n, sizeof(*order));
	double *sum = calloc(n, sizeof(*sum)), *many = calloc(n, sizeof(*many)), mean = 0, all = 0, step = 0;
	double cells = (double)k->steps * (double)k->ranks;

	if (key && order && sum && many && cells > 0) {
		for (size_t s = 0; s < k->steps; s++)
			mean += k->total[s] / cells;
		for (size_t i = 0; i < k->steps * k->ranks; i++)
			all += (k->delay[i] - mean) * (k->delay[i] - mean);
		for (size_t s = 0; s < k->steps; s++)
			step += (double)k->ranks * (k->total[s] / (double)k->ranks - mean) *
			        (k->total[s] / (double)k->ranks - mean);
		all = all > 0 ? all : 1;
		for (size_t w = 0; w < k->ranks; w++)
			key[w] = w;
		ret->step = step / all;
		ret->rank = share_by(k, sum, many, mean, key) / all;
		for (size_t w = 0; w < k->ranks; w++)
			key[w] = (size_t)k->in->worker[w].role < k->ranks ? (size_t)k->in->worker[w].role : k->ranks - 1;
		ret->role = share_by(k, sum, many, mean, key) / all;
		number_hosts(k->in, order, key);
		ret->host = share_by(k, sum, many, mean, key) / all;
	}
	n = key && order && sum && many;
	free(key);
	free(order);
	free(sum);
	free(many);
	return n ? 0 : -ENOMEM;
}

static int by_ns(const void *a, const void *b)
{
	const struct pp_late_pattern *x = a, *y = b;

	if (x->ns < y->ns || x->ns > y->ns)
		return x->ns > y->ns ? -1 : 1;
	if (x->class != y->class)
		return x->class < y->class ? -1 : 1;
	return (x->rank > y->rank) - (x->rank < y->rank);
}

static int add_row(const struct pp_late_series *k, const struct pp_late_pattern *p, const struct shares *v, double delay,
                   struct pp_table *to)
{
	struct pp_row_straggler_class *row = pp_table_add(to);

	if (!row)
		return -ENOMEM;
	row->class = (pp_c_CODE)p->class;
	row->class_worker = p->rank == SIZE_MAX ? -1 : k->in->worker[p->rank].rank;
	row->class_role = p->role;
	row->class_reason = (pp_c_CODE)p->reason;
	row->class_ns = p->ns < (double)PP_TABLE_TIME_MAX ? (int64_t)(p->ns + 0.5) : PP_TABLE_TIME_MAX;
	row->class_steps = p->steps < UINT32_MAX ? (uint32_t)p->steps : UINT32_MAX;
	row->first_step = p->at < k->steps ? k->in->step[k->first + p->at].number : k->steps ? k->in->step[k->first].number : 0;
	row->period = p->class == PP_LATE_PERIODIC ? (int64_t)p->period : 0;
	row->confidence = p->confidence;
	row->rank_share = v->rank;
	row->host_share = v->host;
	row->role_share = v->role;
	row->step_share = v->step;
	if (p->class == PP_LATE_HOST)
		snprintf(row->class_host, sizeof(row->class_host), "%.*s", (int)sizeof(row->class_host) - 1,
		         k->in->worker[p->rank].host);
	if (p->class == PP_LATE_NONE)
		say_none(k, v, delay, row->what, sizeof(row->what));
	else
		say_what(k, p, row->what, sizeof(row->what));
	say_next(p, row->next, sizeof(row->next));
	return 0;
}

static int add_rows(const struct pp_late_series *k, struct pp_late_patterns *found, const struct shares *v, double delay,
                    struct pp_table *to)
{
	struct pp_late_pattern none = {.class = PP_LATE_NONE, .rank = SIZE_MAX, .role = -1, .at = SIZE_MAX};
	double n = (double)k->steps;
	int rc = 0;

	none.confidence = n / (n + 2) / (1 + (k->step_ns > 0 && n > 0 ? delay / n / k->step_ns : 0));
	if (!found->patterns)
		return add_row(k, &none, v, delay, to);
	qsort(found->pattern, found->patterns, sizeof(*found->pattern), by_ns);
	for (size_t i = 0; i < found->patterns && !rc; i++)
		rc = add_row(k, &found->pattern[i], v, delay, to);
	if (!rc && found->left_out) {
		struct pp_row_straggler_class *last = (struct pp_row_straggler_class *)to->row + to->rows - 1;

		say(last->what, sizeof(last->what), "; %zu more patterns have no row", found->left_out);
	}
	return rc;
}

int pp_tool_straggler_class(const struct pp_dataset *in, struct pp_table *tables, struct pp_err *err)
{
	struct pp_late_series k;
	struct pp_late_patterns *found;
	struct shares v = {0};
	double delay = 0;
	int rc = -ENOMEM;

	if (in->workers < 2 || !in->steps || !in->cell || !tables[PP_TABLE_blame_step].rows)
		return 0;
	found = calloc(1, sizeof(*found));
	if (!found || pp_late_series_init(&k, in, &tables[PP_TABLE_blame_step])) {
		free(found);
		return pp_err_set(err, -ENOMEM, "no memory for the classes of stragglers");
	}
	for (size_t s = 0; s < k.steps; s++)
		delay += k.total[s];
	rc = find_shares(&k, &v);
	rc = rc ? rc : pp_late_patterns(&k, found);
	rc = rc ? rc : add_rows(&k, found, &v, delay, &tables[PP_TABLE_straggler_class]);
	pp_late_series_release(&k);
	free(found);
	return rc ? pp_err_set(err, rc, "no memory for the classes of stragglers") : 0;
}
