/* Reads the text of an instruction of XLA, as it stands in names of events; see hlo_text.h. */
#include "aggregate/read/xspace/hlo_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/read/xspace/hlo_shape.h"

enum { NESTED_MOST = 16, DIMS_MOST = 8 };

struct text {
	const char *at, *end;
};

static int take(struct text *t, char c)
{
	if (t->at == t->end || *t->at != c)
		return 0;
	t->at++;
	return 1;
}

static int take_word(struct text *t, const char *word)
{
	const size_t n = strlen(word);

	if ((size_t)(t->end - t->at) < n || memcmp(t->at, word, n) != 0)
		return 0;
	t->at += n;
	return 1;
}

/* Returns 0 where there is none. */
static int take_number(struct text *t, uint64_t *ret_number)
{
	uint64_t n = 0;
	const char *from = t->at;

	for (; t->at < t->end && *t->at >= '0' && *t->at <= '9'; t->at++)
		n = n < UINT64_MAX / 100 ? 10 * n + (uint64_t)(*t->at - '0') : n;
	*ret_number = n;
	return t->at > from;
}

/* Behind what closes that which is open here. */
static void skip_braces(struct text *t)
{
	size_t open = 0;

	do {
		open += t->at < t->end && (*t->at == '{' || *t->at == '(');
		open -= open && t->at < t->end && (*t->at == '}' || *t->at == ')');
		t->at += t->at < t->end;
	} while (open && t->at < t->end);
}

/* "bf16[8,<=128]{1,0:T(8,128)}": an array. */
static void take_array(struct text *t, struct pp_hlo_shape *s)
{
	const char *type = t->at;
	uint64_t elements = 1, dimension;
	unsigned bits;

	while (t->at < t->end && *t->at != '[' && *t->at != ',' && *t->at != ')' && *t->at != ' ')
		t->at++;
	bits = pp_hlo_type_bits(type, (size_t)(t->at - type));
	if (take(t, '[')) {
		while (t->at < t->end && !take(t, ']')) {
			take_word(t, "<=");
			if (take_number(t, &dimension))
				elements = pp_hlo_times(elements, dimension);
			else if (!take(t, ','))
				t->at++;
		}
	} else {
		bits = 0; /* token */
	}
	if (t->at < t->end && *t->at == '{')
		skip_braces(t);
	pp_hlo_shape_add(s, elements, bits);
}

/* A shape; of a tuple the bytes of its first two parts too. Returns 0 where it is none. */
/* NOLINTNEXTLINE(misc-no-recursion): NESTED_MOST deep */
static int take_shape(struct text *t, unsigned nested, struct pp_hlo_shape *s)
{
	if (!take(t, '(')) {
		take_array(t, s);
		return 1;
	}
	for (unsigned part = 0; nested < NESTED_MOST && t->at < t->end; part++) {
		const uint64_t before = s->bytes;

		if (take(t, ')'))
			return 1;
		if (take_word(t, "/*")) /* "/+index=5+/" */
			while (t->at < t->end && !take_word(t, "*/"))
				t->at++;
		if (!take_shape(t, nested + 1, s))
			return 0;
		if (!nested)
			pp_hlo_shape_part(s, part, before);
		take_word(t, ", ");
		take(t, ',');
	}
	return 0;
}

/* "{{0,1},{2,3}}"; "{}" has none. */
static int take_lists(struct text *t, struct pp_hlo *h)
{
	uint64_t member;
	int rc = 0;

	h->is_odd |= !take(t, '{');
	while (!rc && !h->is_odd && take(t, '{')) {
		rc = pp_hlo_put_group(h);
		while (!rc && take_number(t, &member)) {
			rc = pp_hlo_put_member(h, member);
			take(t, ',');
		}
		h->is_odd |= !take(t, '}');
		take(t, ',');
	}
	h->is_odd |= !take(t, '}');
	return rc;
}

/* Numbers up to what closes them. Returns how many; 0: they are too many, or none. */
static size_t take_numbers(struct text *t, char close, uint64_t *number)
{
	size_t n = 0;

	while (n < DIMS_MOST && take_number(t, &number[n]) && ++n && take(t, ','))
		continue;
	return take(t, close) ? n : 0;
}

/* "[2,4]<=[8]" or "[2,4]<=[4,2]T(1,0)": groups, members of each, the array and the order of its dimensions. */
static int take_iota(struct text *t, struct pp_hlo *h)
{
	uint64_t shape[DIMS_MOST], array[DIMS_MOST], order[DIMS_MOST];
	size_t dims, turned = 0;
	int rc;

	if (!take(t, '[') || take_numbers(t, ']', shape) != 2 || !take_word(t, "<=[") || !(dims = take_numbers(t, ']', array))) {
		h->is_odd = 1;
		return 0;
	}
	if (take_word(t, "T("))
		turned = take_numbers(t, ')', order);
	if (turned && turned != dims) {
		h->is_odd = 1;
		return 0;
	}
	rc = pp_hlo_put_iota(h, array, dims, turned ? order : NULL, shape[0], shape[1]);
	h->is_odd |= rc == -EINVAL;
	return rc == -EINVAL ? 0 : rc;
}

static int take_attributes(struct text *t, struct pp_hlo *h)
{
	int rc = 0;

	while (t->at < t->end && !rc) {
		if (take_word(t, ", channel_id="))
			h->has_channel = 1;
		else if (take_word(t, ", use_global_device_ids=true"))
			h->is_global = 1;
		else if (take_word(t, ", replica_groups=") && !h->groups)
			rc = t->at < t->end && *t->at == '[' ? take_iota(t, h) : take_lists(t, h);
		else if (take_word(t, ", source_target_pairs=") && !h->groups)
			rc = take_lists(t, h);
		else if (*t->at == '{')
			skip_braces(t);
		else
			t->at++;
	}
	if (!rc && h->kind == PP_HLO_PERMUTE)
		rc = pp_hlo_join_pairs(h);
	return rc;
}

int pp_hlo_of_text(const char *text, size_t length, struct pp_hlo *ret_hlo)
{
	const char *equals = length ? memmem(text, length, " = ", 3) : NULL, *opcode;
	struct pp_hlo_shape shape = {0};
	struct pp_hlo h = {.kind = PP_HLO_NONE};
	struct text t;

	if (!equals)
		return 0;
	t = (struct text){equals + 3, text + length};
	if (!take_shape(&t, 0, &shape) || !take(&t, ' '))
		return 0;
	opcode = t.at;
	while (t.at < t.end && *t.at != '(')
		t.at++;
	pp_hlo_opcode(opcode, (size_t)(t.at - opcode), &h);
	if (h.kind == PP_HLO_NONE)
		return 0;
	skip_braces(&t);
	pp_hlo_take_shape(&h, &shape);
	if (take_attributes(&t, &h)) {
		pp_hlo_release(&h);
		return -ENOMEM;
	}
	*ret_hlo = h;
	return 1;
}
