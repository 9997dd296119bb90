/* Looks up the rows of dialect.def; see dialect.h. Called by fields.c, take.c, collectives.c and process.c. */
#include "aggregate/read/kineto/dialect.h"

#include <string.h>
#include <strings.h>

#include "core/base/partition.h"

enum { INTEGER = KINETO_INTEGER, VECTOR = KINETO_VECTOR, TEXT = KINETO_TEXT, UNSIGNED = KINETO_UNSIGNED, REAL = KINETO_REAL };
enum { QUEUE = KINETO_QUEUE_NAME, LISTS = KINETO_LISTS };

static const struct kineto_argument argument[] = {
#define PP_KINETO_ARGUMENT(key, type, member, field) {key, sizeof(key) - 1, type, offsetof(struct kineto_event, member), field},
#include "aggregate/read/kineto/dialect.def"
};

struct row {
	const char *pattern;
	size_t length;
	uint64_t value;
};

static const struct row category[] = {
#define PP_KINETO_CATEGORY(pattern, group) {pattern, sizeof(pattern) - 1, KINETO_##group},
#include "aggregate/read/kineto/dialect.def"
};

static const struct row task[] = {
#define PP_KINETO_TASK(pattern, group) {pattern, sizeof(pattern) - 1, KINETO_##group},
#include "aggregate/read/kineto/dialect.def"
};

enum { ROLE_DEVICE = KINETO_IS_DEVICE, ROLE_GROUPS = KINETO_GROUPS, ROLE_DERIVED = KINETO_IGNORED, ROLE_RUNTIME = KINETO_RUNTIME };

static const struct row role[] = {
#define PP_KINETO_PROCESS(pattern, role) {pattern, sizeof(pattern) - 1, ROLE_##role},
#include "aggregate/read/kineto/dialect.def"
};

static const struct row profiler[] = {
#define PP_KINETO_PROFILER(pattern) {pattern, sizeof(pattern) - 1, 1},
#include "aggregate/read/kineto/dialect.def"
};

static const struct row queue_wait[] = {
#define PP_KINETO_QUEUE_WAIT(pattern) {pattern, sizeof(pattern) - 1, 1},
#include "aggregate/read/kineto/dialect.def"
};

static const struct row type[] = {
#define PP_KINETO_TYPE(name, bytes) {name, sizeof(name) - 1, bytes},
#include "aggregate/read/kineto/dialect.def"
};

static const struct {
	int64_t number;
	const char *kind;
} allocator[] = {
#define PP_KINETO_ALLOCATOR(number, kind) {number, kind},
#include "aggregate/read/kineto/dialect.def"
};

/* Can they be the same letter? Almost all rows end here. */
static int is_like(char a, char b)
{
	return !((a ^ b) & ~0x20);
}

static int matches(const struct row *row, const char *text, size_t length)
{
	const char *pattern = row->pattern;
	const size_t n = row->length;

	if (pattern[0] != '*' && pattern[n - 1] != '*')
		return n == length && pattern[0] == text[0] && !memcmp(pattern, text, n);
	if (pattern[0] == '*' && n > 1 && pattern[n - 1] == '*') {
		for (size_t at = 0; at + n - 2 <= length; at++)
			if (is_like(pattern[1], text[at]) && !strncasecmp(pattern + 1, text + at, n - 2))
				return 1;
		return 0;
	}
	if (pattern[0] == '*')
		return length >= n - 1 && (n == 1 || is_like(pattern[n - 1], text[length - 1])) &&
		       !strncasecmp(pattern + 1, text + length - (n - 1), n - 1);
	return length >= n - 1 && is_like(pattern[0], text[0]) && !strncasecmp(pattern, text, n - 1);
}

#define FIND(rows, text, length) find(rows, sizeof(rows) / sizeof((rows)[0]), text, length)

/* 0: no row. */
static uint64_t find(const struct row *row, size_t rows, const char *text, size_t length)
{
	for (size_t i = 0; i < rows; i++)
		if (matches(&row[i], text, length))
			return row[i].value;
	return 0;
}

int pp_kineto_argument(const char *key, size_t length)
{
	const size_t arguments = sizeof(argument) / sizeof(argument[0]);
	size_t low = PP_PARTITION(arguments, at, argument[at].length < length);

	for (; low < arguments && argument[low].length == length; low++)
		if (argument[low].key[0] == key[0] && !memcmp(argument[low].key, key, length))
			return (int)low + 1;
	return 0;
}

const struct kineto_argument *pp_kineto_argument_row(int number)
{
	return &argument[number - 1];
}

enum kineto_category pp_kineto_category(const char *text, size_t length)
{
	return (enum kineto_category)FIND(category, text, length);
}

enum kineto_category pp_kineto_task(const char *text, size_t length)
{
	return (enum kineto_category)FIND(task, text, length);
}

enum kineto_role pp_kineto_role(const char *name, size_t length)
{
	return (enum kineto_role)FIND(role, name, length);
}

int pp_kineto_is_profiler(const char *name, size_t length)
{
	return FIND(profiler, name, length) != 0;
}

/* torch/profiler/profiler.py(123): stop */
int pp_kineto_is_profiler_frame(const char *name, size_t length)
{
	static const char file[] = "torch/profiler/profiler.py(";
	static const char *const function[] = {"start",         "stop",      "start_trace", "stop_trace", "prepare_trace",
	                                       "_start_warmup", "__enter__", "__exit__",    "_stop",      "export_chrome_trace"};
	const char *at = memmem(name, length, file, sizeof(file) - 1);
	const char *colon = at ? memmem(at, length - (size_t)(at - name), "): ", 3) : NULL;

	if (!colon)
		return pp_kineto_is_profiler(name, length);
	colon += 3;
	length -= (size_t)(colon - name);
	for (size_t i = 0; i < sizeof(function) / sizeof(function[0]); i++)
		if (strlen(function[i]) == length && !memcmp(function[i], colon, length))
			return 1;
	return 0;
}

int pp_kineto_is_queue_wait(const char *name, size_t length)
{
	return FIND(queue_wait, name, length) != 0;
}

uint64_t pp_kineto_type_bytes(const char *name)
{
	return FIND(type, name, strlen(name));
}

const char *pp_kineto_allocator(int64_t device_type)
{
	for (size_t i = 0; i < sizeof(allocator) / sizeof(allocator[0]); i++)
		if (allocator[i].number == device_type)
			return allocator[i].kind;
	return NULL;
}
