/* What is not equal in the surroundings of the runs; see compare.h. */
#include "aggregate/diff/environment.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/dataset/table/functions.h"
#include "core/base/grow.h"
#include "core/base/utf8.h"

enum { MOST_WORDS = 64, QUEUE_PERCENT = 2 };

struct list { /* distinct texts with their counts, in order of appearance */
	char word[MOST_WORDS][PP_DIFF_NAME];
	size_t count[MOST_WORDS], words, more;
};

static void add(struct list *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void add(struct list *l, const char *fmt, ...)
{
	char word[PP_DIFF_NAME];
	size_t i = 0;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(word, sizeof(word), fmt, ap);
	va_end(ap);
	while (i < l->words && strcmp(l->word[i], word) != 0)
		i++;
	if (i == MOST_WORDS) {
		l->more++;
		return;
	}
	if (i == l->words)
		snprintf(l->word[l->words++], sizeof(word), "%s", word);
	l->count[i]++;
}

/* "h0 x4, h1 x4"; `counts` 0: without the numbers. What has no room is counted. */
static void put(const struct list *l, int counts, char *to)
{
	size_t n = 0, i;

	to[0] = '\0';
	for (i = 0; i < l->words; i++) {
		char text[PP_DIFF_NAME + 32], many[24] = "";

		if (counts && l->count[i] > 1)
			snprintf(many, sizeof(many), " x%zu", l->count[i]);
		snprintf(text, sizeof(text), "%s%s%s", n ? ", " : "", l->word[i], many);
		if (n + strlen(text) + 24 > PP_DIFF_VALUE)
			break;
		n += (size_t)snprintf(to + n, PP_DIFF_VALUE - n, "%s", text);
	}
	if (l->words - i + l->more)
		snprintf(to + n, PP_DIFF_VALUE - n, "%sand %zu more", n ? ", " : "", l->words - i + l->more);
}

static void cut(char *to, const char *text)
{
	size_t length = strlen(text);

	if (length < PP_DIFF_VALUE)
		snprintf(to, PP_DIFF_VALUE, "%s", text);
	else
		snprintf(to, PP_DIFF_VALUE, "%.*s..", pp_utf8_fit(text, PP_DIFF_VALUE - 4), text);
}

static void ranks(const struct pp_diff_run *r, char *to)
{
	snprintf(to, PP_DIFF_VALUE, "%" PRId32 " of %" PRId32, r->d.ranks_delivered, r->d.ranks_asked);
}

static void steps(const struct pp_diff_run *r, char *to)
{
	const struct pp_dataset *d = &r->d;

	snprintf(to, PP_DIFF_VALUE, d->steps > 1 ? "%zu (%" PRId64 "..%" PRId64 ")" : "%zu (%" PRId64 ")", d->steps,
	         d->steps ? d->step[0].number : 0, d->steps ? d->step[d->steps - 1].number : 0);
}

static void step_rule(const struct pp_diff_run *r, char *to)
{
	cut(to, r->d.step_rule);
}

static void command(const struct pp_diff_run *r, char *to)
{
	cut(to, r->d.command);
}

/* Names of files and of the session are of no matter. */
static void options(const struct pp_diff_run *r, char *to)
{
	static const char *const not [] = {"--output=", "--session=", "--spool=", "--rendezvous="};
	size_t n = 0;

	to[0] = '\0';
	for (const char *word = r->d.options; *word; word += strcspn(word, " "), word += strspn(word, " ")) {
		int length = (int)strcspn(word, " "), is_of_no_matter = 0;

		for (size_t i = 0; i < sizeof(not ) / sizeof(not [0]); i++)
			is_of_no_matter |= !strncmp(word, not [i], strlen(not [i]));
		if (!is_of_no_matter && n + (size_t)length + 2 < PP_DIFF_VALUE)
			n += (size_t)snprintf(to + n, PP_DIFF_VALUE - n, "%s%.*s", n ? " " : "", length, word);
	}
}

enum field { VERSION, HOST, DEVICE, CORES, DEVICES };

static void workers(const struct pp_diff_run *r, enum field field, char *to)
{
	struct list *l = calloc(1, sizeof(*l));

	to[0] = '\0';
	for (size_t w = 0; l && w < r->d.workers; w++) {
		const struct pp_row_worker *k = &r->d.worker[w];

		if (pp_worker_is_missing(k))
			continue;
		if (field == VERSION)
			add(l, "%s", k->version);
		else if (field == HOST)
			add(l, "%s", k->host);
		else if (field == DEVICE)
			add(l, "%s", k->device_name[0] ? k->device_name : k->device[0] ? k->device : "CPU");
		else if (field == CORES)
			add(l, "%" PRId32 " of %" PRId32, k->cores, k->host_cores);
		else
			add(l, "%" PRId32, k->devices);
	}
	if (l)
		put(l, field == HOST || field == DEVICE, to);
	free(l);
}

static void version(const struct pp_diff_run *r, char *to)
{
	workers(r, VERSION, to);
}

static void hosts(const struct pp_diff_run *r, char *to)
{
	workers(r, HOST, to);
}

static void device(const struct pp_diff_run *r, char *to)
{
	workers(r, DEVICE, to);
}

static void devices(const struct pp_diff_run *r, char *to)
{
	workers(r, DEVICES, to);
}

static void cores(const struct pp_diff_run *r, char *to)
{
	workers(r, CORES, to);
}

/* "8, 2 x4": sizes of communicators with collectives. */
static void communicators(const struct pp_diff_run *r, char *to)
{
	struct list *l = calloc(1, sizeof(*l));
	size_t most = 0;
	uint32_t last = UINT32_MAX;

	to[0] = '\0';
	while (l && most++ < MOST_WORDS) { /* sizes, largest first */
		uint32_t next = 0;

		for (size_t i = 0; i < r->d.communicators; i++)
			if (r->d.communicator[i].size < last && r->d.communicator[i].size > next)
				next = r->d.communicator[i].size;
		for (size_t i = 0; next > 1 && i < r->d.communicators; i++)
			if (r->d.communicator[i].size == next)
				add(l, "%" PRIu32, next);
		if (next <= 1)
			break;
		last = next;
	}
	if (l)
		put(l, 1, to);
	free(l);
}

/* "(0-3), (4-7)" */
static void roles(const struct pp_diff_run *r, char *to)
{
	struct list *l = calloc(1, sizeof(*l));

	to[0] = '\0';
	for (size_t i = 0; l && i < r->d.roles; i++)
		add(l, "(%s)", r->d.role[i].role_ranks);
	if (l)
		put(l, 0, to);
	free(l);
}

/* "AllReduce: RING SIMPLE" */
static void nccl(const struct pp_diff_run *r, char *to)
{
	struct list *l = calloc(1, sizeof(*l));

	to[0] = '\0';
	for (size_t i = 0; l && i < r->d.all_reduces; i++) {
		const struct pp_row_all_reduce *a = &r->d.all_reduce[i];
		const char *algorithm = pp_nccl_algorithm_name(a->algorithm), *protocol = pp_nccl_protocol_name(a->protocol);

		if ((algorithm && *algorithm) || (protocol && *protocol))
			add(l, "%s of %" PRId32 ": %s %s", pp_operation_name(a->operation), a->ranks, algorithm ? algorithm : "",
			    protocol ? protocol : "");
	}
	if (l)
		put(l, 0, to);
	free(l);
}

static int add_fact(struct pp_diff *d, const char *what, char (*value)[PP_DIFF_VALUE])
{
	if (PP_RESIZE(d->environment, d->environments + 1)) {
		free(value);
		return -ENOMEM;
	}
	d->environment[d->environments++] = (struct pp_diff_environment){what, value};
	return 0;
}

/* It always differs a little: a few percent of the time do not count. */
static int add_queue(struct pp_diff *d)
{
	char(*value)[PP_DIFF_VALUE] = calloc(d->runs, sizeof(*value));
	double low = 1e9, high = -1;

	if (!value)
		return -ENOMEM;
	for (size_t r = 0; r < d->runs; r++) {
		double percent = 100 * d->run[r].queue;

		if (percent < 0) {
			snprintf(value[r], sizeof(value[r]), "unknown");
			continue;
		}
		snprintf(value[r], sizeof(value[r]), "%.1f %% of their time", percent);
		low = percent < low ? percent : low;
		high = percent > high ? percent : high;
	}
	if (high - low > QUEUE_PERCENT)
		return add_fact(d, "ranks ready without a core", value);
	d->environments_same++;
	free(value);
	return 0;
}

int pp_diff_environments(struct pp_diff *d)
{
	static const struct {
		const char *what;
		void (*put)(const struct pp_diff_run *r, char *to); /* at most PP_DIFF_VALUE bytes */
	} fact[] = {{"command", command},
	            {"ranks", ranks},
	            {"hosts", hosts},
	            {"device", device},
	            {"devices per rank", devices},
	            {"cores per rank", cores},
	            {"steps", steps},
	            {"step rule", step_rule},
	            {"communicators' ranks", communicators},
	            {"ranks of each role", roles},
	            {"NCCL's algorithms", nccl},
	            {"podprof version", version},
	            {"podprof options", options}};

	for (size_t f = 0; f < sizeof(fact) / sizeof(fact[0]); f++) {
		char(*value)[PP_DIFF_VALUE] = calloc(d->runs, sizeof(*value));
		int differs = 0;

		if (!value)
			return -ENOMEM;
		for (size_t r = 0; r < d->runs; r++) {
			fact[f].put(&d->run[r], value[r]);
			differs |= strcmp(value[r], value[0]) != 0;
		}
		if (!differs) {
			d->environments_same++;
			free(value);
		} else if (add_fact(d, fact[f].what, value)) {
			return -ENOMEM;
		}
	}
	return add_queue(d);
}
