/* Calls of Python's functions with an interpreter that is made up here: what is nested, what began before, what is too deep. */
#include "core/source/python/calls.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/now.h"
#include "core/source/emit.h"
#include "core/source/nvtx/nvtx_names.h"
#include "tests/test.h"

struct code {
	const char *co_filename, *co_qualname, *co_name;
	long co_firstlineno;
	int references;
};

static struct pp_ring_header header;
static struct pp_thread_slot slot;
static struct pp_thread_ring ring = {.slot = &slot};
static struct pp_thread_ring other = {.slot = &slot};
static char seen[4096];
static uint64_t lost;
static int pushes;

_Thread_local struct pp_thread_ring *pp_thread_self = &ring;
struct pp_pool pp_ring_pool;
struct pp_wiped pp_wiped;

int pp_emit_claim(void)
{
	return 0;
}

/* "name<" and ">": the ring has no room, so all records come here. */
void pp_emit_range_slow(const struct pp_emit *e, const char *name, size_t length)
{
	size_t n = strlen(seen);

	CHECK_INT(e->domain, 7);
	CHECK_INT(e->source, PP_SOURCE_PYTHON);
	pushes += e->kind == PP_RECORD_PUSH;
	if (n + length + 2 < sizeof(seen))
		snprintf(seen + n, sizeof(seen) - n, "%.*s%c", (int)length, name, e->kind == PP_RECORD_PUSH ? '<' : '>');
}

void pp_ring_lose(enum pp_loss loss)
{
	lost += loss == PP_LOSS_CALLS;
}

struct pp_thread_ring *pp_thread_enter(void)
{
	return pp_thread_self;
}

void *pp_nvtx_domain_create(const char *name, void *foreign)
{
	CHECK_STR(name, PP_CALLS_DOMAIN);
	return foreign;
}

uint16_t pp_nvtx_domain_index(const void *handle)
{
	(void)handle;
	return 7;
}

static void *get_attribute(void *object, const char *name)
{
	struct code *code = object;

	return !strcmp(name, "co_filename")      ? (void *)code->co_filename
	       : !strcmp(name, "co_qualname")    ? (void *)code->co_qualname
	       : !strcmp(name, "co_name")        ? (void *)code->co_name
	       : !strcmp(name, "co_firstlineno") ? (void *)&code->co_firstlineno
	                                         : NULL;
}

static const char *as_utf8(void *unicode, intptr_t *ret_size)
{
	(void)ret_size;
	return unicode;
}

static long as_long(void *number)
{
	return *(long *)number;
}

static void *code_of(void *frame)
{
	((struct code *)frame)->references++;
	return frame;
}

static void hold(void *object)
{
	((struct code *)object)->references++;
}

static void drop(void *object)
{
	(void)object;
}

static void fetch(void **type, void **value, void **traceback)
{
	*type = *value = *traceback = NULL;
}

static void restore(void *type, void *value, void *traceback)
{
	CHECK(!type && !value && !traceback);
}

static int none;
static struct code outer = {"/lib/python/torch/nn/linear.py", "Linear.forward", "forward", 20, 0};
static struct code inner = {"/data/me/train.py", NULL, "step", 3, 0}; /* Python 3.10 has no co_qualname */
static struct code ours = {"/opt/podprof/python/podprof/_torch.py", "Adapter.follow", "follow", 9, 0};

static void start(void)
{
	pp_calls_python = (struct pp_calls_python){get_attribute, as_utf8, as_long, code_of, hold, drop, fetch, restore, &none};
	pp_ring_pool.header = &header;
	atomic_store(&pp_wiped.recording, 1);
	pp_thread_self = &ring;
	seen[0] = '\0';
	lost = 0;
	pushes = 0;
	CHECK_INT(pp_calls_begin("/lib/python/site\n/lib/python\n", "/opt/podprof/python/"), 0);
}

static void begins(struct code *code)
{
	void *arguments[2] = {code, NULL};

	CHECK(pp_calls_on_begin(NULL, arguments, 2) == &none);
}

static void ends(struct code *code)
{
	void *arguments[3] = {code, NULL, NULL};

	CHECK(pp_calls_on_end(NULL, arguments, 3) == &none);
}

TEST(nested)
{
	start();
	ends(&inner); /* it began before */
	begins(&outer);
	begins(&inner);
	begins(&ours);
	ends(&ours);
	ends(&inner);
	ends(&outer);
	ends(&inner);
	CHECK_STR(seen, "torch/nn/linear.py(20): Linear.forward</data/me/train.py(3): step<>>");
	pp_calls_on_profile(NULL, &outer, 0, NULL);
	pp_calls_on_profile(NULL, &outer, 4, NULL); /* of a builtin */
	pp_calls_on_profile(NULL, &outer, 3, NULL);
	CHECK_INT(pushes, 3);
	CHECK_INT(lost, 0);
	CHECK(outer.references > 0); /* its place in memory stays its own */
}

/* Another thread's calls, and those of a window before, are none of this one's. */
TEST(others)
{
	start();
	begins(&outer);
	pp_thread_self = &other;
	begins(&inner);
	ends(&outer);
	pp_thread_self = &ring;
	CHECK_INT(pushes, 1);
	atomic_store(&pp_wiped.recording, 0);
	begins(&inner);
	ends(&inner);
	CHECK_INT(pushes, 1);
	atomic_store(&pp_wiped.recording, 2);
	ends(&outer);
	begins(&outer);
	seen[0] = '\0';
	pp_calls_end(); /* what is open ends */
	CHECK_STR(seen, ">");
	begins(&inner);
	CHECK_STR(seen, ">");
}

/* A frame that has gone without an event, as with greenlets, does not take the ends of those around it. */
TEST(without_an_end)
{
	start();
	begins(&outer);
	begins(&inner);
	seen[0] = '\0';
	ends(&outer);
	CHECK_STR(seen, ">>");
}

TEST(too_deep)
{
	start();
	for (int i = 0; i < PP_CALLS_DEEP + 10; i++)
		begins(&outer);
	CHECK_INT(pushes, PP_CALLS_DEEP);
	CHECK_INT(lost, 10);
	begins(&ours);
	ends(&ours);
	for (int i = 0; i < 10; i++)
		ends(&outer);
	seen[0] = '\0';
	for (int i = 0; i < PP_CALLS_DEEP; i++)
		ends(&outer);
	CHECK_INT(strlen(seen), PP_CALLS_DEEP);
}

/* The next step has room again, and the next second, which a slow machine may need. */
TEST(too_many)
{
	const int64_t begun = pp_now_ms();

	start();
	slot.where.step = 5;
	for (int i = 0; i < PP_CALLS_MOST + 100; i++) {
		begins(&outer);
		ends(&outer);
	}
	CHECK(pushes >= PP_CALLS_MOST);
	CHECK_INT(pushes + lost, PP_CALLS_MOST + 100);
	CHECK(lost > 0 || pp_now_ms() - begun >= 1000);
	lost = 0;
	slot.where.step = 6;
	begins(&inner);
	ends(&inner);
	CHECK_INT(lost, 0);
}

/* Code objects that are made again and again fill the table: no more than that. */
TEST(too_much_code)
{
	struct code *many = calloc(PP_CALLS_CODES + 1, sizeof(*many));

	start();
	for (int i = 0; many && i <= PP_CALLS_CODES; i++) {
		many[i] = inner;
		begins(&many[i]);
		ends(&many[i]);
		slot.where.step = i;
	}
	CHECK(lost > 0 && lost < 10);
	/* They stay: the table refers to them. */
}

int main(void)
{
	nested();
	others();
	without_an_end();
	too_deep();
	too_many();
	too_much_code();
	return test_end();
}
