/* Calls of Python's functions; see calls.h. Called by the interpreter, and by shim.c. */
#include "core/source/python/calls.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/now.h"
#include "core/source/emit.h"
#include "core/source/nvtx/nvtx_names.h"

enum { SLOTS = 2 * PP_CALLS_CODES, PATHS = 8192, NAME = 256, TRACE_CALL = 0, TRACE_RETURN = 3, REFILL_MS = 1000 };

struct name {
	uint32_t length; /* 0: calls of it are not recorded */
	char text[];
};

struct open {
	const void *code;
	int is_recorded;
};

struct pp_calls_python pp_calls_python;

/* Only the thread that records reads and writes these; _calls.py ends them in a forked child. */
static const struct pp_thread_ring *owner; /* NULL: none records */
static uint32_t generation;                /* of the recording that `open` is of */
static struct open open[PP_CALLS_DEEP];
static uint32_t depth, deeper; /* deeper: open calls beyond */
static uint32_t left, lost;    /* of PP_CALLS_MOST; calls beyond it since then */
static int64_t step, since_ms; /* since when */
static uint16_t domain;
static char modules[PATHS], ours[1024]; /* directories: as `paths` and `own` of pp_calls_begin() */
/* Not core/base/map.h, which frees and moves: one look-up for each event. Code objects in it are held, so that no other one takes
 * their place. NULL until the first pp_calls_begin(): a process that records no calls has no memory for them. */
static struct slot {
	const void *code;
	const struct name *name;
} * slot;
static uint32_t codes;

static int find_python(void)
{
	struct pp_calls_python *p = &pp_calls_python;

	if (p->none)
		return 0;
#define FIND(name) (*(void **)&p->name = dlsym(RTLD_DEFAULT, #name))
	if (!FIND(PyObject_GetAttrString) || !FIND(PyUnicode_AsUTF8AndSize) || !FIND(PyLong_AsLong) || !FIND(PyFrame_GetCode) ||
	    !FIND(Py_IncRef) || !FIND(Py_DecRef) || !FIND(PyErr_Fetch) || !FIND(PyErr_Restore))
		return 1;
#undef FIND
	p->none = dlsym(RTLD_DEFAULT, "_Py_NoneStruct");
	return !p->none;
}

/* A text attribute of a code object; "?" where it has none. */
static void read_text(void *code, const char *attribute, const char *other, char *text, size_t size)
{
	const struct pp_calls_python *p = &pp_calls_python;
	void *value = p->PyObject_GetAttrString(code, attribute);
	const char *utf8;

	if (!value && other)
		value = p->PyObject_GetAttrString(code, other);
	utf8 = value ? p->PyUnicode_AsUTF8AndSize(value, NULL) : NULL;
	snprintf(text, size, "%s", utf8 ? utf8 : "?");
	if (value)
		p->Py_DecRef(value);
}

/* The file as it is imported: without the directory of sys.path that it is in. */
static const char *short_file(const char *file)
{
	for (const char *path = modules, *end; (end = strchr(path, '\n')); path = end + 1)
		if (end > path && !strncmp(file, path, (size_t)(end - path)) && file[end - path] == '/')
			return file + (end - path) + 1;
	return file;
}

static struct name *make_name(void *code)
{
	const struct pp_calls_python *p = &pp_calls_python;
	char file[4096], function[NAME / 2], text[NAME + sizeof(file)];
	void *type, *value, *traceback, *line;
	struct name *name;
	size_t length = 0;

	p->PyErr_Fetch(&type, &value, &traceback); /* an exception that is on its way goes on */
	read_text(code, "co_filename", NULL, file, sizeof(file));
	read_text(code, "co_qualname", "co_name", function, sizeof(function));
	line = p->PyObject_GetAttrString(code, "co_firstlineno");
	if (strncmp(file, ours, strlen(ours)) != 0 || !ours[0])
		length = (size_t)snprintf(text, sizeof(text), "%s(%ld): %s", short_file(file), line ? p->PyLong_AsLong(line) : 0,
		                          function);
	if (line)
		p->Py_DecRef(line);
	p->PyErr_Restore(type, value, traceback);
	name = malloc(sizeof(*name) + NAME);
	if (!name)
		return NULL;
	/* Of a long one the end, where the function is. */
	name->length = (uint32_t)(length < NAME ? length : NAME);
	memcpy(name->text, text + length - name->length, name->length);
	return name;
}

/* NULL: there are too many. */
static const struct name *name_of(void *code)
{
	size_t at = (size_t)(((uintptr_t)code >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 40) % SLOTS;
	struct name *made;

	for (; slot[at].code; at = (at + 1) % SLOTS)
		if (slot[at].code == code)
			return slot[at].name;
	if (codes == PP_CALLS_CODES)
		return NULL;
	made = make_name(code);
	if (!made)
		return NULL;
	pp_calls_python.Py_IncRef(code);
	codes++;
	slot[at].name = made;
	slot[at].code = code;
	return made;
}

/* Another step, or second, has room for as many calls again. */
static int has_room(void)
{
	const int64_t now_step = pp_thread_self->slot->where.step;
	const int64_t now_ms = !left && lost % 1024 == 0 ? pp_now_ms() : since_ms;

	if (now_step != step || now_ms - since_ms >= REFILL_MS) {
		step = now_step;
		since_ms = now_ms;
		left = PP_CALLS_MOST;
		lost = 0;
	}
	if (!left) {
		lost++;
		return 0;
	}
	left--;
	return 1;
}

static void put(enum pp_record_kind kind, const char *text, uint32_t length)
{
	const struct pp_emit e = {.kind = (uint16_t)kind, .domain = domain, .source = PP_SOURCE_PYTHON};

	pp_emit_range(&e, text, length);
}

static void close_down_to(uint32_t n)
{
	for (; depth > n; depth--)
		if (open[depth - 1].is_recorded)
			put(PP_RECORD_POP, "", 0);
}

/* Is this a thread, and a time, to record? */
static inline int is_wanted(void)
{
	uint32_t on;

	if (__builtin_expect(!owner || pp_thread_self != owner, 0))
		return 0;
	on = atomic_load_explicit(&pp_wiped.recording, memory_order_relaxed);
	if (__builtin_expect(on != generation, 0)) { /* what was open before is closed by the reader */
		depth = deeper = 0;
		generation = on;
	}
	return on != 0;
}

static void call_begins(void *code)
{
	const struct name *name;

	if (!is_wanted())
		return;
	name = name_of(code);
	if (name && !name->length)
		return;
	if (depth == PP_CALLS_DEEP) {
		deeper++;
		pp_ring_lose(PP_LOSS_CALLS);
		return;
	}
	open[depth] = (struct open){code, name && has_room()};
	if (open[depth++].is_recorded)
		put(PP_RECORD_PUSH, name->text, name->length);
	else
		pp_ring_lose(PP_LOSS_CALLS);
}

/* A call may end that began before recording did: no open one is its. */
static void call_ends(void *code)
{
	const struct name *name;
	uint32_t at;

	if (!is_wanted())
		return;
	if (deeper) {
		name = name_of(code);
		deeper -= !name || name->length;
		return;
	}
	for (at = depth; at && open[at - 1].code != code; at--)
		;
	if (at)
		close_down_to(at - 1);
}

void *pp_calls_on_begin(void *self, void *const *arguments, intptr_t count)
{
	(void)self;
	if (count > 0)
		call_begins(arguments[0]);
	return pp_calls_python.none; /* from Python 3.12 on nobody counts its references */
}

void *pp_calls_on_end(void *self, void *const *arguments, intptr_t count)
{
	(void)self;
	if (count > 0)
		call_ends(arguments[0]);
	return pp_calls_python.none;
}

int pp_calls_on_profile(void *self, void *frame, int what, void *argument)
{
	void *code;

	(void)self;
	(void)argument;
	if ((what != TRACE_CALL && what != TRACE_RETURN) || !is_wanted())
		return 0;
	code = pp_calls_python.PyFrame_GetCode(frame);
	if (what == TRACE_CALL)
		call_begins(code);
	else
		call_ends(code);
	pp_calls_python.Py_DecRef(code);
	return 0;
}

int pp_calls_begin(const char *paths, const char *own)
{
	int saved = errno;

	if (!pp_emit_wanted() || find_python() || !pp_thread_enter())
		return 1;
	if (!slot)
		slot = calloc(SLOTS, sizeof(*slot));
	if (!slot) {
		errno = saved;
		return 1;
	}
	snprintf(modules, sizeof(modules), "%s", paths);
	snprintf(ours, sizeof(ours), "%s", own);
	if (!domain)
		domain = pp_nvtx_domain_index(pp_nvtx_domain_create(PP_CALLS_DOMAIN, NULL));
	depth = deeper = 0;
	left = PP_CALLS_MOST;
	since_ms = pp_now_ms();
	step = pp_thread_self->slot->where.step;
	generation = atomic_load_explicit(&pp_wiped.recording, memory_order_relaxed);
	owner = pp_thread_self;
	errno = saved;
	return 0;
}

void pp_calls_end(void)
{
	if (is_wanted())
		close_down_to(0);
	depth = deeper = 0;
	owner = NULL;
}
