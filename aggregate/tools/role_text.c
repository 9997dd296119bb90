/* What ranks do, in words and in classes; see role_text.h. Called by role.c. */
#include "aggregate/tools/role_text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "aggregate/dataset/table/functions.h"
#include "core/base/compare.h"
#include "core/base/grow.h"
#include "core/base/partition.h"
#include "core/base/units.h"

#define KEY_SENDER ((uint64_t)1 << 62)
#define KEY_COLLECTIVE ((uint64_t)1 << 63)

uint64_t pp_use_key(uint16_t operation, int is_message, int is_sender, int32_t low)
{
	return (is_message ? is_sender ? 0 : KEY_SENDER : KEY_COLLECTIVE) | (uint64_t)operation << 32 | (uint32_t)low;
}

static int is_receive(uint64_t key)
{
	return (key & KEY_SENDER) != 0;
}

PP_COMPARE_BY(by_size, struct pp_group_size, size)

int pp_group_sizes_add(struct pp_group_sizes *g, int32_t size)
{
	struct pp_group_size *grown;

	if (g->sizes && g->size[g->sizes - 1].size == size)
		return 0;
	grown = pp_grow(g->size, g->sizes, &g->room, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	g->size = grown;
	grown[g->sizes++] = (struct pp_group_size){size, size};
	return 0;
}

void pp_group_sizes_sort(struct pp_group_sizes *g)
{
	size_t n = 0;

	if (g->sizes)
		qsort(g->size, g->sizes, sizeof(*g->size), by_size);
	for (size_t i = 0; i < g->sizes; i++) {
		struct pp_group_size *before = n ? &g->size[n - 1] : NULL;
		int32_t size = g->size[i].size;

		if (before && before->size == size)
			continue;
		g->size[n].size = g->size[n].low = size;
		if (before && before->size > 1 && (size - before->size == 1 || size - before->size <= before->size / 4))
			g->size[n].low = before->low;
		n++;
	}
	g->sizes = n;
}

int32_t pp_group_low(const struct pp_group_sizes *g, int32_t size)
{
	const struct pp_group_size key = {size, size},
	                           *found = g->sizes ? bsearch(&key, g->size, g->sizes, sizeof(*g->size), by_size) : NULL;

	return found ? found->low : size;
}

static void append(char *to, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* What has no room is left out as a whole, and "..." says so. */
static void append(char *to, size_t size, const char *fmt, ...)
{
	char text[128];
	size_t used = strlen(to);
	va_list list;
	int n;

	va_start(list, fmt);
	n = vsnprintf(text, sizeof(text), fmt, list);
	va_end(list);
	if (n < 0 || (used >= 3 && strcmp(to + used - 3, "...") == 0))
		return;
	if (used + (size_t)n + 8 > size)
		snprintf(text, sizeof(text), "%s...", used ? "; " : "");
	snprintf(to + used, size - used, "%s", text);
}

static const struct pp_use *use_of(const struct pp_use *use, size_t n, size_t worker)
{
	size_t low = PP_PARTITION(n, at, use[at].worker < worker);

	return low < n && use[low].worker == worker ? &use[low] : NULL;
}

static int is_common(const struct pp_use *use, size_t n, size_t ranks)
{
	for (size_t i = 1; i < n; i++)
		if (use[i].count_class != use->count_class || use[i].bytes_class != use->bytes_class)
			return 0;
	return n == ranks;
}

void pp_role_words_init(struct pp_role_words *k)
{
	size_t ranks = 0, next;

	for (size_t w = 0; w < k->in->workers; w++)
		ranks += k->role[w] >= 0;
	for (size_t i = 0; i < k->uses; i = next) {
		for (next = i + 1; next < k->uses && k->use[next].key == k->use[i].key;)
			next++;
		if (k->kinds == PP_ROLE_KINDS)
			k->more++;
		else
			k->kind[k->kinds++] = (struct pp_role_kind){i, next - i, is_common(&k->use[i], next - i, ranks) != 0};
	}
}

static void append_group(const struct pp_role_words *k, uint64_t key, const char *between, char *to, size_t size)
{
	int32_t low = (int32_t)(uint32_t)key, high = low;
	const char *name = pp_operation_name((int)(key >> 32 & UINT16_MAX));

	for (size_t i = 0; i < k->sizes->sizes; i++)
		high = k->sizes->size[i].low == low ? k->sizes->size[i].size : high;
	name = *name ? name : "unknown calls";
	if (low > 0 && (size_t)low == k->in->workers)
		append(to, size, "%s%s of all ranks", between, name);
	else if (high > low)
		append(to, size, "%s%s in groups of %d to %d", between, name, (int)low, (int)high);
	else
		append(to, size, "%s%s in groups of %d", between, name, (int)low);
}

struct messages {
	double sent, received; /* per step */
	double sent_bytes, received_bytes;
};

static void append_messages(const struct messages *m, char *to, size_t size)
{
	double n = m->sent + m->received;
	char bytes[PP_TEXT_UNIT];

	if (n <= 0)
		return;
	pp_text_bytes(bytes, (uint64_t)((m->sent_bytes + m->received_bytes) / n));
	if (m->received <= 0)
		append(to, size, "sends only, %.3g messages per step, %s each", m->sent, bytes);
	else if (m->sent <= 0)
		append(to, size, "receives only, %.3g messages per step, %s each", m->received, bytes);
	else
		append(to, size, "sends %.3g and receives %.3g messages per step, %s each", m->sent, m->received, bytes);
}

static void count_message(struct messages *m, const struct pp_use *own)
{
	double bytes = own->bytes < 1e18 ? own->bytes : 1e18;

	if (is_receive(own->key)) {
		m->received += own->per_step;
		m->received_bytes += own->per_step * bytes;
	} else {
		m->sent += own->per_step;
		m->sent_bytes += own->per_step * bytes;
	}
}

static void append_collective(const struct pp_role_words *k, const struct pp_use *own, char *to, size_t size)
{
	char bytes[PP_TEXT_UNIT] = "";

	if (own->bytes >= 1)
		pp_text_bytes(bytes, (uint64_t)(own->bytes < 1e18 ? own->bytes : 1e18));
	append_group(k, own->key, *to ? "; " : "", to, size);
	append(to, size, " (%.3g per step%s%s)", own->per_step, *bytes ? ", " : "", bytes);
}

static void words_by_calls(const struct pp_role_words *k, size_t worker, char *to, size_t size)
{
	const int by_calls = k->word == PP_ROLE_BY_CALLS;
	struct messages m = {0};
	size_t without = 0;

	for (size_t i = 0; i < k->kinds; i++) {
		const struct pp_use *use = &k->use[k->kind[i].first], *own = use_of(use, k->kind[i].uses, worker);

		if (own && !(use->key & KEY_COLLECTIVE))
			count_message(&m, own);
	}
	append_messages(&m, to, size);
	if (k->end[worker] != PP_ROLE_END_NONE && *to)
		append(to, size, ", %s first", k->end[worker] == PP_ROLE_END_FIRST ? "sends" : "receives");
	for (size_t i = 0; i < k->kinds; i++) {
		const struct pp_use *use = &k->use[k->kind[i].first], *own = use_of(use, k->kind[i].uses, worker);

		if (own && use->key & KEY_COLLECTIVE && !(by_calls && k->kind[i].is_common))
			append_collective(k, own, to, size);
	}
	for (size_t i = 0; i < k->kinds && by_calls; i++) {
		uint64_t key = k->use[k->kind[i].first].key;

		if (key & KEY_COLLECTIVE && !use_of(&k->use[k->kind[i].first], k->kind[i].uses, worker))
			append_group(k, key, without++ ? ", " : *to ? "; no " : "no ", to, size);
	}
	if (k->more)
		append(to, size, "%sand %zu more kinds of calls", *to ? "; " : "", k->more);
}

void pp_role_why(const struct pp_role_words *k, size_t worker, char *to, size_t size)
{
	*to = 0;
	if (k->word == PP_ROLE_NOTHING)
		snprintf(to, size, "no operation between ranks was recorded: all ranks are compared with each other");
	else if (k->word == PP_ROLE_ALL_DIFFER)
		snprintf(to, size, "most ranks do what no other rank does: all ranks are compared with each other");
	else if (k->word == PP_ROLE_SAME)
		snprintf(to, size, "all ranks do the same: ");
	if (k->word == PP_ROLE_BY_CALLS || k->word == PP_ROLE_SAME) {
		char words[160] = "";

		words_by_calls(k, worker, words, k->word == PP_ROLE_SAME ? 150 : sizeof(words));
		if (!*words)
			snprintf(words, sizeof(words), "%s", "the same calls as others, in another number or of another size");
		snprintf(to + strlen(to), size - strlen(to), "%s", words);
	}
}

void pp_role_ranks(const struct pp_dataset *in, const int32_t *role, struct pp_row_role *row, size_t roles)
{
	const size_t size = sizeof(row->role_ranks);

	for (size_t w = 0; w < in->workers; w++) {
		struct pp_row_role *r;
		int is_next = w && role[w - 1] == role[w], goes_on = w + 1 < in->workers && role[w + 1] == role[w];
		char text[32] = "";

		if (role[w] < 0 || (size_t)role[w] >= roles)
			continue;
		r = &row[role[w]];
		if (!is_next)
			snprintf(text, sizeof(text), "%s%d", r->ranks ? ", " : "", (int)in->worker[w].rank);
		else if (!goes_on)
			snprintf(text, sizeof(text), "-%d", (int)in->worker[w].rank);
		r->ranks++;
		if (strlen(r->role_ranks) + strlen(text) + 8 < size)
			snprintf(r->role_ranks + strlen(r->role_ranks), size - strlen(r->role_ranks), "%s", text);
		else if (*text && !strstr(r->role_ranks, "..."))
			snprintf(r->role_ranks + strlen(r->role_ranks), size - strlen(r->role_ranks), ", ...");
	}
}
