/* Groups of devices of XLA's collectives, and their bytes; see hlo.h. */
#include "aggregate/read/xspace/hlo.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/grow.h"
#include "core/base/hash.h"

enum { DEVICES_MOST = 1 << 20, DIMS_MOST = 8 };

/* What the numbers in groups count. */
enum ids { FLAT, REPLICAS, PARTITIONS, REPLICAS_OF_ALL_PARTITIONS };

static int is_text(const char *text, size_t length, const char *what)
{
	return length == strlen(what) && !memcmp(text, what, length);
}

void pp_hlo_opcode(const char *opcode, size_t length, struct pp_hlo *h)
{
	static const char *const name[PP_HLO_KINDS] = {
	        "",           "all-reduce",        "all-gather",         "reduce-scatter",
	        "all-to-all", "ragged-all-to-all", "collective-permute", "collective-broadcast"};

	h->kind = PP_HLO_NONE;
	h->part = PP_HLO_WHOLE;
	if (length > 6 && is_text(opcode + length - 6, 6, "-start")) {
		h->part = PP_HLO_START;
		length -= 6;
	} else if (length > 5 && is_text(opcode + length - 5, 5, "-done")) {
		h->part = PP_HLO_DONE;
		length -= 5;
	}
	for (int i = 1; i < PP_HLO_KINDS; i++)
		if (is_text(opcode, length, name[i]))
			h->kind = (uint8_t)i;
}

void pp_hlo_release(struct pp_hlo *h)
{
	free(h->member);
	free(h->end);
	h->member = h->end = NULL;
	h->groups = 0;
}

static uint32_t members_of(const struct pp_hlo *h)
{
	return h->groups ? h->end[h->groups - 1] : 0;
}

int pp_hlo_put_group(struct pp_hlo *h)
{
	if (h->groups == DEVICES_MOST) {
		h->is_odd = 1;
		return 0;
	}
	if (!(h->groups & (h->groups - 1)) && PP_RESIZE(h->end, 2 * (size_t)h->groups + 1))
		return -ENOMEM;
	h->end[h->groups] = members_of(h);
	h->groups++;
	return 0;
}

int pp_hlo_put_member(struct pp_hlo *h, uint64_t member)
{
	uint32_t n = members_of(h);

	if (!h->groups || n == DEVICES_MOST || member >= UINT32_MAX) {
		h->is_odd = 1;
		return 0;
	}
	if (!(n & (n - 1)) && PP_RESIZE(h->member, 2 * (size_t)n + 1))
		return -ENOMEM;
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): PP_RESIZE has made room for the first */
	h->member[n] = (uint32_t)member;
	h->end[h->groups - 1]++;
	return 0;
}

/* The numbers 0, 1, ... in an array of that shape, its dimensions in another order, as groups one after the other. */
int pp_hlo_put_iota(struct pp_hlo *h, const uint64_t *shape, size_t dims, const uint64_t *permutation, uint64_t groups,
                    uint64_t each)
{
	uint64_t stride[DIMS_MOST], at[DIMS_MOST] = {0}, total = 1;
	int rc = 0;

	for (size_t i = 0; i < dims && dims <= DIMS_MOST; i++)
		total = shape[i] && shape[i] <= DEVICES_MOST && total <= DEVICES_MOST ? total * shape[i] : 0;
	if (!dims || dims > DIMS_MOST || !total || total > DEVICES_MOST || groups > total || each > total || groups * each != total)
		return -EINVAL;
	for (size_t i = 0; i < dims; i++) {
		if (permutation && permutation[i] >= dims)
			return -EINVAL;
		stride[i] = 1;
		for (size_t k = (permutation ? permutation[i] : i) + 1; k < dims; k++)
			stride[i] *= shape[k];
	}
	for (uint64_t n = 0; n < total && !rc; n++) {
		uint64_t value = 0;

		for (size_t i = 0; i < dims; i++)
			value += at[i] * stride[i];
		rc = n % each ? 0 : pp_hlo_put_group(h);
		if (!rc)
			rc = pp_hlo_put_member(h, value);
		for (size_t i = dims; i-- > 0 && ++at[i] == shape[permutation ? permutation[i] : i];)
			at[i] = 0;
	}
	return rc;
}

static int compare_member(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return x[0] != y[0] ? (x[0] < y[0] ? -1 : 1) : (x[1] > y[1]) - (x[1] < y[1]);
}

/* The least device that a chain of pairs ties to one with this number. */
static uint32_t root_of(uint32_t *parent, uint32_t i)
{
	while (parent[i] != i)
		i = parent[i] = parent[parent[i]];
	return i;
}

static int group_by_root(struct pp_hlo *h, uint32_t *parent, uint32_t count)
{
	uint32_t *pair = calloc(2 * (size_t)count + 1, sizeof(*pair)), n = 0; /* root, member */
	int rc = pair ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < count && pair; i++)
		if (parent[i] != UINT32_MAX) {
			pair[2 * n] = root_of(parent, i);
			pair[2 * n++ + 1] = i;
		}
	if (n)
		qsort(pair, n, 2 * sizeof(*pair), compare_member);
	pp_hlo_release(h);
	for (uint32_t i = 0; i < n && !rc; i++) {
		rc = !i || pair[2 * i] != pair[2 * i - 2] ? pp_hlo_put_group(h) : 0;
		if (!rc)
			rc = pp_hlo_put_member(h, pair[2 * i + 1]);
	}
	free(pair);
	return rc;
}

int pp_hlo_join_pairs(struct pp_hlo *h)
{
	uint32_t count = 0, n = members_of(h), *parent;
	int rc;

	for (uint32_t i = 0; i < n; i++)
		count = h->member[i] >= count ? h->member[i] + 1 : count;
	if (!n || n != 2 * h->groups || count > DEVICES_MOST) {
		h->is_odd |= n > 0;
		return 0;
	}
	parent = malloc(count * sizeof(*parent));
	if (!parent)
		return -ENOMEM;
	memset(parent, 0xff, count * sizeof(*parent));
	for (uint32_t i = 0; i < n; i++)
		parent[h->member[i]] = h->member[i];
	for (uint32_t i = 0; i < n; i += 2) {
		uint32_t a = root_of(parent, h->member[i]), b = root_of(parent, h->member[i + 1]);

		parent[a > b ? a : b] = a > b ? b : a;
	}
	rc = group_by_root(h, parent, count);
	free(parent);
	return rc;
}

uint64_t pp_hlo_bytes(const struct pp_hlo *h, uint32_t devices)
{
	uint64_t scattered;

	if (h->kind != PP_HLO_REDUCE_SCATTER || h->operand)
		return h->result > h->operand ? h->result : h->operand;
	return devices && !__builtin_mul_overflow(h->result, (uint64_t)devices, &scattered) ? scattered : 0;
}

static enum ids ids_of(const struct pp_hlo *h)
{
	if (h->is_global)
		return FLAT;
	if (!h->has_channel)
		return REPLICAS;
	return h->kind == PP_HLO_ALL_REDUCE || h->kind == PP_HLO_ALL_GATHER || h->kind == PP_HLO_REDUCE_SCATTER
	               ? REPLICAS_OF_ALL_PARTITIONS
	               : PARTITIONS;
}

/* The group with that number in it; -1: none. */
static int64_t group_with(const struct pp_hlo *h, uint32_t number)
{
	uint32_t group = 0;

	for (uint32_t i = 0; i < members_of(h); i++) {
		while (h->end[group] <= i)
			group++;
		if (h->member[i] == number)
			return group;
	}
	return -1;
}

/* Members of the group; of the first where all are alike, and which is unknown; 0: unknown. */
static uint32_t size_of(const struct pp_hlo *h, int64_t group)
{
	const uint32_t each = h->groups ? h->end[0] : 0;

	if (group >= 0)
		return h->end[group] - (group ? h->end[group - 1] : 0);
	for (uint32_t i = 0; i < h->groups; i++)
		if (h->end[i] != (i + 1) * each)
			return 0;
	return each;
}

static void write_group(const struct pp_hlo *h, int64_t group, uint32_t beside, struct pp_hlo_group *g)
{
	const uint32_t from = group > 0 ? h->end[group - 1] : 0, until = group >= 0 ? h->end[group] : 0;
	const char *close = "}";
	size_t at = 0;

	for (uint32_t i = from; i < until && !close[1]; i++) {
		if (at > sizeof(g->text) - 20)
			close = ",...}";
		else
			at += (size_t)snprintf(g->text + at, sizeof(g->text) - at, "%s%u", i == from ? "{" : ",", h->member[i]);
	}
	if (at)
		snprintf(g->text + at, sizeof(g->text) - at, "%s", close);
	g->key = pp_hash(PP_HASH_BEGIN, &beside, sizeof(beside));
	if (until > from)
		g->key = pp_hash(g->key, h->member + from, (until - from) * sizeof(*h->member));
	g->is_known = 1;
}

int pp_hlo_group_of(const struct pp_hlo *h, const struct pp_hlo_devices *d, int64_t device, struct pp_hlo_group *ret_group)
{
	const enum ids ids = ids_of(h);
	const uint32_t all = d->replicas * d->partitions;
	const uint32_t several = ids == REPLICAS ? d->partitions : ids == PARTITIONS ? d->replicas : 1; /* sets of such groups */
	uint32_t at = 0, number, beside = 0;
	int64_t group = -1;

	*ret_group = (struct pp_hlo_group){.devices = 0};
	if (h->is_odd)
		return 1;
	while (d->id && device >= 0 && at < all && d->id[at] != device)
		at++;
	if (d->id && device >= 0 && at < all) {
		number = ids == FLAT ? at : ids == PARTITIONS ? at % d->partitions : at / d->partitions;
		beside = ids == REPLICAS ? at % d->partitions : ids == PARTITIONS ? at / d->partitions : 0;
		group = h->groups ? group_with(h, number) : -1;
		if (h->groups && group < 0)
			return 0;
		write_group(h, group, beside, ret_group);
	} else if (several <= 1 && h->groups <= 1) {
		group = (int64_t)h->groups - 1;
		write_group(h, group, 0, ret_group);
	}
	if (h->groups <= 1 && several <= 1)
		ret_group->text[0] = '\0';
	ret_group->devices = !h->groups ? (several ? all / several : 0) : size_of(h, group);
	if (h->groups && ids == REPLICAS_OF_ALL_PARTITIONS)
		ret_group->devices *= d->partitions;
	return 1;
}
