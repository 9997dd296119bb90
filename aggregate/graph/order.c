/* Sort of what is nearly in order; see order.h. Called by graph.c and replay.c. */
#include "aggregate/graph/order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/partition.h"

enum { BLOCK = 16 }; /* keys that are sorted by insertion */

static int is_less(const struct pp_order_key *a, const struct pp_order_key *b)
{
	return a->ns != b->ns ? a->ns < b->ns : a->id < b->id;
}

static int is_sorted(const struct pp_order_key *key, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (is_less(&key[i], &key[i - 1]))
			return 0;
	return 1;
}

static void insert(struct pp_order_key *key, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct pp_order_key one = key[i];
		size_t to = i;

		for (; to && is_less(&one, &key[to - 1]); to--)
			key[to] = key[to - 1];
		key[to] = one;
	}
}

/* How many of n keys are not behind `one`. */
static size_t count_until(const struct pp_order_key *key, size_t n, const struct pp_order_key *one)
{
	return PP_PARTITION(n, at, !is_less(one, &key[at]));
}

/* Two sorted parts that stand together become one: only what overlaps is moved. */
static void merge(struct pp_order_key *a, size_t as, size_t bs, struct pp_order_key *spare)
{
	struct pp_order_key *b = a + as, *to;
	size_t skip, i = 0, k = 0;

	if (!is_less(b, b - 1))
		return;
	skip = count_until(a, as, b);
	bs = count_until(b, bs, b - 1);
	to = a + skip;
	as -= skip;
	memcpy(spare, to, as * sizeof(*spare));
	while (i < as && k < bs)
		*to++ = is_less(&b[k], &spare[i]) ? b[k++] : spare[i++];
	memcpy(to, spare + i, (as - i) * sizeof(*spare));
}

int pp_order_sort(struct pp_order_key *key, size_t n)
{
	struct pp_order_key *spare;

	if (is_sorted(key, n))
		return 0;
	spare = malloc(n * sizeof(*spare));
	if (!spare)
		return -ENOMEM;
	for (size_t i = 0; i < n; i += BLOCK)
		insert(key + i, n - i < BLOCK ? n - i : BLOCK);
	for (size_t size = BLOCK; size < n; size *= 2)
		for (size_t i = 0; i < n - size; i += 2 * size)
			merge(key + i, size, n - i - size < size ? n - i - size : size, spare);
	free(spare);
	return 0;
}
