/* Names of hosts with a number are joined to ranges; see host_list.h. Called by aggregate/fleet and tools/finding_text.c. */
#include "aggregate/dataset/host_list.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIGITS = 9, NAME = PP_HOST_LIST_NAME, ITEM = 2 * NAME };

struct part { /* prefix, number of `width` digits, suffix */
	size_t prefix, width;
	uint32_t number;
};

static int is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* The last number before the first dot. Width 0: there is none, or one too long to count. */
static struct part split(const char *name)
{
	size_t end = strcspn(name, "."), begin;
	struct part p = {.width = 0};

	while (end && !is_digit(name[end - 1]))
		end--;
	for (begin = end; begin && is_digit(name[begin - 1]);)
		begin--;
	p.prefix = begin;
	if (end - begin > DIGITS)
		return p;
	p.width = end - begin;
	for (size_t i = begin; i < end; i++)
		p.number = p.number * 10 + (uint32_t)(name[i] - '0');
	return p;
}

static int by_parts(const void *a, const void *b)
{
	const char *x = a, *y = b;
	struct part p = split(x), q = split(y);
	int order = (p.width > q.width) - (p.width < q.width);

	if (!order && !p.width)
		return strcmp(x, y);
	if (!order)
		order = (p.prefix > q.prefix) - (p.prefix < q.prefix);
	if (!order)
		order = memcmp(x, y, p.prefix);
	if (!order)
		order = strcmp(x + p.prefix + p.width, y + q.prefix + q.width);
	return order ? order : (p.number > q.number) - (p.number < q.number);
}

/* Does a number of this form come before or behind it in one bracket? */
static int is_alike(const char *a, const char *b)
{
	struct part p = split(a), q = split(b);

	return p.width && p.width == q.width && p.prefix == q.prefix && !strncmp(a, b, p.prefix) &&
	       !strcmp(a + p.prefix + p.width, b + q.prefix + q.width);
}

static void make_plain(char *name)
{
	for (; *name; name++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._", *name))
			*name = '?';
}

/* "-004" behind "001", where the run ends there. */
static size_t end_run(const char *name, uint32_t first, char *text, size_t size)
{
	struct part p = split(name);

	return p.number == first ? 0 : (size_t)snprintf(text, size, "-%0*" PRIu32, (int)p.width, p.number);
}

/* One item from name[at] on: a name, or a bracket as long as it fits. Returns how many names it holds; 0: not even one fits. */
static size_t write_item(char (*name)[NAME], size_t names, char *text, size_t size)
{
	struct part p = split(name[0]);
	const char *suffix = name[0] + p.prefix + p.width;
	size_t n, length, last;
	uint32_t first = p.number;

	if (names == 1 || !is_alike(name[0], name[1])) {
		length = (size_t)snprintf(text, size, "%s", name[0]);
		return length < size ? 1 : 0;
	}
	length = (size_t)snprintf(text, size, "%.*s[%0*" PRIu32, (int)p.prefix, name[0], (int)p.width, p.number);
	for (n = 1, last = 0; n < names && is_alike(name[0], name[n]) && length + ITEM < size; n++) {
		uint32_t number = split(name[n]).number;

		if (number != split(name[last]).number + 1) {
			length += end_run(name[last], first, text + length, size - length);
			length += (size_t)snprintf(text + length, size - length, ",%0*" PRIu32, (int)p.width, number);
			first = number;
		}
		last = n;
	}
	if (length + ITEM >= size)
		return 0;
	length += end_run(name[last], first, text + length, size - length);
	snprintf(text + length, size - length, "]%s", suffix);
	return n;
}

size_t pp_host_list_sort(char (*name)[NAME], size_t names)
{
	size_t remaining = 0;

	for (size_t i = 0; i < names; i++)
		make_plain(name[i]);
	if (names)
		qsort(name, names, sizeof(*name), by_parts);
	for (size_t i = 0; i < names; i++)
		if (*name[i] && (!remaining || strcmp(name[remaining - 1], name[i]) != 0)) {
			if (remaining != i)
				memcpy(name[remaining], name[i], NAME);
			remaining++;
		}
	return remaining;
}

size_t pp_host_list_write(char (*name)[NAME], size_t names, char *text, size_t size)
{
	size_t remaining = pp_host_list_sort(name, names), at, used = 0;

	text[0] = '\0';
	for (at = 0; at < remaining && used + 2 < size;) {
		size_t n = write_item(name + at, remaining - at, text + used + (used > 0), size - used - (used > 0));

		if (!n)
			break;
		if (used)
			text[used] = ',';
		used += strlen(text + used);
		at += n;
	}
	text[used] = '\0';
	return remaining - at;
}

static int read_number(const char **text, size_t width, uint32_t *ret_number)
{
	uint32_t number = 0;
	size_t n = strspn(*text, "0123456789");

	if (!n || n > DIGITS || (width && n != width))
		return -EINVAL;
	for (size_t i = 0; i < n; i++)
		number = number * 10 + (uint32_t)((*text)[i] - '0');
	*text += n;
	*ret_number = number;
	return (int)n;
}

struct reader {
	int (*take)(const char *name, void *context);
	void *context;
	size_t left;
};

static int give(struct reader *r, const char *name)
{
	if (!*name || strlen(name) >= NAME || !r->left--)
		return -EINVAL;
	return r->take(name, r->context);
}

/* "001-004,007]suffix", behind the bracket. Moves *text to what follows. */
static int read_bracket(struct reader *r, const char *prefix, size_t length, const char **text)
{
	const char *close = strchr(*text, ']'), *at = *text;
	size_t tail = close ? strcspn(close + 1, ",[]") : 0, width = 0;
	char name[ITEM + DIGITS];

	if (!close || length + DIGITS + tail >= NAME)
		return -EINVAL;
	while (at < close) {
		uint32_t first, last;
		int n = read_number(&at, width, &first), rc;

		if (n < 0)
			return n;
		width = (size_t)n;
		last = first;
		if (*at == '-' && (at++, read_number(&at, width, &last) < 0))
			return -EINVAL;
		if (last < first || last - first >= PP_HOST_LIST_MOST || (at < close && *at++ != ',') ||
		    (at == close && at[-1] == ','))
			return -EINVAL;
		for (uint32_t i = first; i <= last; i++) {
			snprintf(name, sizeof(name), "%.*s%0*" PRIu32 "%.*s", (int)length, prefix, (int)width, i, (int)tail,
			         close + 1);
			rc = give(r, name);
			if (rc)
				return rc;
		}
	}
	*text = close + 1 + tail;
	return width ? 0 : -EINVAL;
}

int pp_host_list_read(const char *text, int (*take)(const char *name, void *context), void *context)
{
	struct reader r = {.take = take, .context = context, .left = PP_HOST_LIST_MOST};
	char name[NAME];

	while (*text) {
		size_t length = strcspn(text, ",[]");
		int rc;

		if (length >= sizeof(name) || text[length] == ']')
			return -EINVAL;
		if (text[length] == '[') {
			const char *prefix = text;

			text += length + 1;
			rc = read_bracket(&r, prefix, length, &text);
		} else {
			memcpy(name, text, length);
			name[length] = '\0';
			rc = give(&r, name);
			text += length;
		}
		if (rc)
			return rc;
		if (*text && (*text++ != ',' || !*text))
			return -EINVAL;
	}
	return 0;
}
