/* A stand-in of libcupti: the rows that gpu_host runs become records with the layouts of NVIDIA's CUPTI, in the caller's buffers.
 * No device runs; podprof knows it by the symbol podprof_replay_of_cupti and says so. By environment:
 *   REPLAY_VERSION  28 (12.9), 130001 (default), 130500, 140000: sizes of records
 *   REPLAY_FAIL     FUNCTION=RESULT;...   these functions fail
 *   REPLAY_SLOW     FUNCTION=MS;...       these take long
 *   REPLAY_CRASH    FUNCTION=1;...       these crash; late_subscriber: the first subscription after a graph was made does
 *   REPLAY_FAULT    truncated, unknown, zero, inverted, foreign, reused, backward, jump, kept: damaged records, another clock,
 *                   a clock that is set, buffers that never come back
 *   REPLAY_SKEW_NS  what the device's clock is ahead of the host's
 *   REPLAY_NEXT     NVIDIA's libcupti: its cuptiActivityGetNextRecord() walks the buffers
 *   REPLAY_DROPPED  records that CUPTI says it dropped, once
 *   REPLAY_OWNER    name of another subscriber
 *   REPLAY_AFTER    file that gets a line when the library's own destructor ran, and one for each call after it
 *   REPLAY_COUNT    file that gets two numbers at the end: activity records that were made, and of these, refused: no buffer */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/source/cupti/cupti_abi.h"
#include "tests/gpu/replay.h"

enum {
	OK = 0,
	INVALID = 1,
	LIMIT = 12,
	LONGEST = 512,
	CALLS = 1024,
	LAST_CALL = 211 /* cudaLaunchKernel: of the calls that rows make, the last that podprof selects */
};

#define EXPORTED __attribute__((visibility("default")))
#define API(name, ...)                                                                                                             \
	EXPORTED int name(__VA_ARGS__);                                                                                            \
	int name(__VA_ARGS__)

extern EXPORTED const int podprof_replay_of_cupti;
const int podprof_replay_of_cupti = 1;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pp_cupti_request request;
static pp_cupti_complete complete;
static uint64_t kinds;
static uint8_t on_call[2][CALLS];
static uint8_t *buffer;
static size_t size, used;
static uint64_t last_end; /* of the records in the buffer */
static uint32_t correlation;
static int subscribed;
static uint64_t made, refused; /* records of kinds other than DEVICE, which CUPTI gives with each window */

static int has_fault(const char *name)
{
	const char *faults = getenv("REPLAY_FAULT");

	return faults && strstr(faults, name);
}

static _Atomic int is_gone;

static void note_after(const char *text)
{
	const char *path = getenv("REPLAY_AFTER");
	FILE *f = path ? fopen(path, "ae") : NULL;

	if (f) {
		fprintf(f, "%s\n", text);
		fclose(f);
	}
}

/* As libcupti, which registers its destructors when it is loaded. */
static void gone(void)
{
	atomic_store(&is_gone, 1);
	note_after("gone");
}

__attribute__((constructor)) static void follow_exit(void)
{
	atexit(gone);
}

static int enters(const char *function)
{
	if (atomic_load(&is_gone))
		note_after(function);
	return replay_enters(function);
}

static uint32_t version(void)
{
	const char *text = getenv("REPLAY_VERSION");

	return text ? (uint32_t)strtoul(text, NULL, 10) : 130001;
}

static size_t size_of(uint32_t kind)
{
	return replay_size(kind, version());
}

static uint64_t now_ns(void)
{
	static _Atomic uint64_t readings;
	struct timespec t;
	uint64_t ns;

	clock_gettime(CLOCK_REALTIME, &t);
	ns = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	if (has_fault("jump") && atomic_fetch_add(&readings, 1) >= 14)
		ns += UINT64_C(3600000000000);
	if (has_fault("backward") && atomic_fetch_add(&readings, 1) >= 14)
		ns -= UINT64_C(3600000000000);
	return ns;
}

/* Locked. The callback is CUPTI's user's: it may be slow, but calls nothing of CUPTI. */
static void give(int forced)
{
	uint8_t *full = buffer;

	if (!full || has_fault("kept") || (!forced && last_end > now_ns()))
		return;
	if (last_end > now_ns())
		for (size_t at = 0; at < used; at += size_of(*(uint32_t *)(void *)(full + at)))
			if (*(uint32_t *)(void *)(full + at) == PP_CUPTI_KERNEL &&
			    ((struct pp_cupti_kernel *)(void *)(full + at))->end > now_ns())
				((struct pp_cupti_kernel *)(void *)(full + at))->end = 0;
	buffer = NULL;
	last_end = 0;
	complete(NULL, 0, full, size, used - (has_fault("truncated") && used > 20 ? 20 : 0));
}

static void *record(uint32_t kind)
{
	size_t bytes = size_of(kind);
	uint8_t *at;

	made += kind != PP_CUPTI_DEVICE;
	if (buffer && used + bytes > size)
		give(1);
	if (!buffer) {
		size_t most = 0;

		used = 0;
		request(&buffer, &size, &most);
		if (!buffer || size < LONGEST) {
			refused += kind != PP_CUPTI_DEVICE;
			return NULL;
		}
	}
	at = buffer + used;
	used += bytes;
	memset(at, 0, bytes);
	memcpy(at, &kind, sizeof(kind));
	return at;
}

static void stamp(uint64_t *start, uint64_t *end, uint64_t begin, uint64_t ns)
{
	*start = begin;
	*end = begin + ns;
	if (has_fault("zero"))
		*start = *end = 0;
	if (has_fault("inverted"))
		*end = *start - 1;
	if (*end > last_end)
		last_end = *end;
	if (has_fault("foreign")) { /* as Kineto's callback for times, when it is set anew */
		*start += 100000000000000;
		*end += 100000000000000;
	}
}

static void add_call(uint32_t kind, uint32_t number, uint32_t thread, uint64_t start, uint64_t end)
{
	struct pp_cupti_call *c;

	if (!(kinds & UINT64_C(1) << kind) && !on_call[kind == PP_CUPTI_RUNTIME][number])
		return;
	c = record(kind);
	if (!c)
		return;
	c->number = number;
	stamp(&c->start, &c->end, start, end - start);
	c->pid = (uint32_t)getpid();
	c->tid = thread ? thread : (uint32_t)syscall(SYS_gettid);
	c->correlation = correlation;
}

static uint64_t skew(void)
{
	const char *text = getenv("REPLAY_SKEW_NS");

	return text ? (uint64_t)strtoll(text, NULL, 10) : 0;
}

static void add_kernel(const struct replay_row *row, uint64_t start)
{
	struct pp_cupti_kernel *k = record(PP_CUPTI_KERNEL);

	if (!k)
		return;
	stamp(&k->start, &k->end, start + row->delay + skew(), row->ns);
	k->registers = (uint16_t)row->registers;
	k->static_shared = (int32_t)row->shared;
	k->dynamic_shared = (int32_t)row->dynamic;
	for (int i = 0; i < 3; i++) {
		k->grid[i] = (int32_t)row->grid[i];
		k->block[i] = (int32_t)row->block[i];
	}
	k->device = row->device;
	k->context = row->device + 1;
	k->stream = row->stream;
	k->correlation = correlation;
	k->name = row->kernel ? row->kernel : row->name;
}

static void add_copy(const struct replay_row *row, uint64_t start)
{
	struct pp_cupti_memcpy *c = record(PP_CUPTI_MEMCPY);

	if (!c)
		return;
	c->copy = (uint8_t)row->copy;
	c->from = row->copy == 1 ? 1 : 3;
	c->to = row->copy == 2 ? 1 : 3;
	stamp(&c->start, &c->end, start + row->delay, row->ns);
	c->bytes = row->bytes;
	c->device = row->device;
	c->context = row->device + 1;
	c->stream = row->stream;
	c->correlation = correlation;
}

static void add_peer(const struct replay_row *row, uint64_t start)
{
	struct pp_cupti_memcpy2 *c = record(PP_CUPTI_MEMCPY2);

	if (!c)
		return;
	c->copy = 10;
	stamp(&c->start, &c->end, start + row->delay, row->ns);
	c->bytes = row->bytes;
	c->device = c->from_device = row->device;
	c->context = c->from_context = row->device + 1;
	c->to_device = row->other;
	c->to_context = row->other + 1;
	c->stream = row->stream;
	c->correlation = correlation;
}

static void add_set(const struct replay_row *row, uint64_t start)
{
	struct pp_cupti_memset *s = record(PP_CUPTI_MEMSET);

	if (!s)
		return;
	stamp(&s->start, &s->end, start + row->delay, row->ns);
	s->bytes = row->bytes;
	s->device = row->device;
	s->context = row->device + 1;
	s->stream = row->stream;
	s->correlation = correlation;
}

static void add_memory(const struct replay_row *row, uint64_t start)
{
	struct pp_cupti_memory *m = record(PP_CUPTI_MEMORY2);

	if (!m)
		return;
	m->operation = row->kind == REPLAY_ALLOC ? 1 : 2;
	m->memory = 3;
	m->correlation = correlation;
	m->address = row->address;
	m->bytes = row->bytes;
	m->timestamp = has_fault("zero") ? 0 : start;
	m->pid = (uint32_t)getpid();
	m->device = row->device;
	m->context = row->device + 1;
	m->pool_type = row->pool ? PP_CUPTI_POOL_LOCAL : 0;
	m->pool = row->pool;
	m->pool_size = row->pool_size;
	m->pool_used = row->pool_used;
	m->threshold = row->threshold;
}

static void add_pool(const struct replay_row *row, uint64_t start)
{
	struct pp_cupti_memory_pool *p = record(PP_CUPTI_POOL);

	if (!p)
		return;
	p->action = (uint32_t)row->pool_action;
	p->type = row->is_imported ? PP_CUPTI_POOL_IMPORTED : PP_CUPTI_POOL_LOCAL;
	p->correlation = correlation;
	p->pid = (uint32_t)getpid();
	p->device = row->device;
	p->address = row->pool;
	p->size = row->pool_size;
	p->threshold = row->threshold;
	p->timestamp = has_fault("zero") ? 0 : start;
	p->used = row->pool_used;
}

static void add_sync(const struct replay_row *row, uint64_t start, uint64_t end)
{
	struct pp_cupti_sync *s = record(PP_CUPTI_SYNC);

	if (!s)
		return;
	s->type = 3;
	stamp(&s->start, &s->end, start, end - start);
	s->correlation = correlation;
	s->context = row->device + 1;
	s->stream = row->stream;
}

/* As the runtime's call and what it causes: the call's record comes last. */
static void ran(const struct replay_row *row, uint64_t start, uint64_t end)
{
	static const uint32_t number[] = {0, 211, 41, 161, 51, 20, 22, 131, 0};
	static const int kind[] = {PP_CUPTI_DEVICE,  PP_CUPTI_KERNEL,  PP_CUPTI_MEMCPY, PP_CUPTI_MEMCPY2, PP_CUPTI_MEMSET,
	                           PP_CUPTI_MEMORY2, PP_CUPTI_MEMORY2, PP_CUPTI_SYNC,   PP_CUPTI_POOL};

	pthread_mutex_lock(&lock);
	correlation += has_fault("reused") && correlation ? 0 : 1;
	if (row->correlation)
		correlation = row->correlation;
	if (row->part == REPLAY_OF_DEVICE) {
		add_kernel(row, start);
	} else if (row->part == REPLAY_OF_BOTH && kinds & UINT64_C(1) << kind[row->kind]) {
		if (row->kind == REPLAY_KERNEL)
			add_kernel(row, start);
		else if (row->kind == REPLAY_COPY)
			add_copy(row, start);
		else if (row->kind == REPLAY_PEER)
			add_peer(row, start);
		else if (row->kind == REPLAY_SET)
			add_set(row, start);
		else if (row->kind == REPLAY_SYNC)
			add_sync(row, start, end);
		else if (row->kind == REPLAY_POOL)
			add_pool(row, start);
		else if (row->kind != REPLAY_DEVICE)
			add_memory(row, start);
		if (has_fault("unknown"))
			record(REPLAY_UNKNOWN);
	}
	if (row->part != REPLAY_OF_DEVICE && row->kind != REPLAY_DEVICE &&
	    row->kind != REPLAY_POOL) /* podprof selects no call of pools */
		add_call(PP_CUPTI_RUNTIME, number[row->kind], row->thread, start, end);
	pthread_mutex_unlock(&lock);
}

/* At exit: podprof's thread has ended, or has given up. */
__attribute__((destructor)) static void say_count(void)
{
	const char *path = getenv("REPLAY_COUNT");
	FILE *f = path ? fopen(path, "we") : NULL;

	if (f) {
		fprintf(f, "%llu %llu\n", (unsigned long long)made, (unsigned long long)refused);
		fclose(f);
	}
}

static void hook(replay_hook function)
{
	void *cuda = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
	_Atomic(replay_hook) *at = cuda ? dlsym(cuda, "replay_hook_of_cupti") : NULL;

	if (at)
		atomic_store(at, function);
}

static void say_is_on(int on)
{
	void *cuda = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
	_Atomic int *at = cuda ? dlsym(cuda, "replay_cupti_is_on") : NULL;

	if (at)
		atomic_store(at, on);
}

API(cuptiGetVersion, uint32_t *ret_version)
{
	*ret_version = version();
	return enters("cuptiGetVersion");
}

API(cuptiGetTimestamp, uint64_t *ret_ns)
{
	*ret_ns = now_ns();
	return enters("cuptiGetTimestamp");
}

API(cuptiSubscribe, void **ret_handle, pp_cupti_callback callback, void *data)
{
	void *cuda = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
	_Atomic int *graph = cuda ? dlsym(cuda, "replay_has_graph") : NULL;
	static int was;
	int rc = graph && atomic_load(graph) && !was ? enters("late_subscriber") : 0;

	was = 1;
	if (!rc)
		rc = enters("cuptiSubscribe");
	(void)callback;
	(void)data;
	if (rc || subscribed || getenv("REPLAY_OWNER"))
		return rc ? rc : PP_CUPTI_SUBSCRIBERS;
	subscribed = 1;
	*ret_handle = &subscribed;
	return OK;
}

API(cuptiSubscribe_v2, void **ret_handle, pp_cupti_callback callback, void *data, struct pp_cupti_subscriber *params)
{
	int rc = enters("cuptiSubscribe_v2");

	if (!rc)
		rc = cuptiSubscribe(ret_handle, callback, data);
	if (rc == PP_CUPTI_SUBSCRIBERS && getenv("REPLAY_OWNER") && params->other) {
		strncpy(params->other, getenv("REPLAY_OWNER"), params->other_size - 1);
		params->other[params->other_size - 1] = '\0';
	}
	return rc;
}

API(cuptiUnsubscribe, void *handle)
{
	subscribed = 0;
	return handle == &subscribed ? enters("cuptiUnsubscribe") : INVALID;
}

API(cuptiSetThreadIdType, int type)
{
	(void)type;
	return enters("cuptiSetThreadIdType");
}

API(cuptiActivityRegisterCallbacks, pp_cupti_request new_request, pp_cupti_complete new_complete)
{
	int rc = enters("cuptiActivityRegisterCallbacks");

	if (rc)
		return rc;
	pthread_mutex_lock(&lock);
	request = new_request;
	complete = new_complete;
	buffer = NULL; /* as CUPTI: of the callbacks before */
	pthread_mutex_unlock(&lock);
	hook(ran);
	return OK;
}

API(cuptiActivityEnable, int kind)
{
	int rc = enters("cuptiActivityEnable");
	char one[40];

	if (rc)
		return rc;
	snprintf(one, sizeof(one), "kind%d", kind);
	rc = replay_asked("REPLAY_FAIL", one);
	if (!rc)
		kinds |= UINT64_C(1) << kind;
	return rc;
}

API(cuptiActivityDisable, int kind)
{
	kinds &= ~(UINT64_C(1) << kind);
	return enters("cuptiActivityDisable");
}

API(cuptiActivityEnableAndDump, int kind)
{
	void *cuda = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
	const struct replay_fixture *(*rows)(void) = NULL;
	int rc = enters("cuptiActivityEnableAndDump");

	if (cuda)
		*(void **)&rows = dlsym(cuda, "replay_rows");
	if (rc || !rows || kind != PP_CUPTI_DEVICE)
		return rc;
	pthread_mutex_lock(&lock);
	for (int i = 0; i < rows()->rows; i++) {
		const struct replay_row *r = &rows()->row[i];
		struct pp_cupti_device *d = r->kind == REPLAY_DEVICE ? record(PP_CUPTI_DEVICE) : NULL;

		if (!d)
			continue;
		d->id = r->device;
		d->bandwidth = r->bandwidth;
		d->memory = r->bytes;
		d->multiprocessors = r->multiprocessors;
		d->major_number = r->capability / 10;
		d->minor_number = r->capability % 10;
		d->warp_threads = 32;
		d->warps = 64;
		d->blocks = 32;
		d->registers = d->block_registers = 65536;
		d->shared = 233472;
		d->block_shared = 49152;
		d->name = r->name;
		d->is_visible = 1;
		d->is_mig = getenv("REPLAY_MIG") != NULL;
		replay_uuid(r->device, 0, d->uuid);
		replay_uuid(r->device, d->is_mig, d->mig_uuid);
	}
	pthread_mutex_unlock(&lock);
	return OK;
}

API(cuptiActivityEnableRuntimeApi, uint32_t number, uint8_t on)
{
	int rc = enters("cuptiActivityEnableRuntimeApi");

	if (!rc && number < CALLS)
		on_call[1][number] = on;
	if (!rc && number == LAST_CALL)
		say_is_on(on);
	return rc;
}

API(cuptiActivityEnableDriverApi, uint32_t number, uint8_t on)
{
	int rc = enters("cuptiActivityEnableDriverApi");

	if (!rc && number < CALLS)
		on_call[0][number] = on;
	return rc;
}

API(cuptiActivityEnableAllSyncRecords, uint8_t on)
{
	(void)on;
	return enters("cuptiActivityEnableAllSyncRecords");
}

API(cuptiActivityFlushAll, uint32_t flag)
{
	int rc = enters("cuptiActivityFlushAll");

	if (rc)
		return rc;
	pthread_mutex_lock(&lock);
	give(flag != 0);
	pthread_mutex_unlock(&lock);
	return OK;
}

/* NVIDIA's, which needs no device; NULL: it is not asked for. */
static int (*nvidia_next(void))(uint8_t *, size_t, void **)
{
	static int (*_Atomic found)(uint8_t *, size_t, void **);
	const char *path = getenv("REPLAY_NEXT");
	int (*next)(uint8_t *, size_t, void **) = atomic_load(&found);
	void *library = path && !next ? dlopen(path, RTLD_LAZY | RTLD_LOCAL) : NULL;

	if (path && !next) {
		*(void **)&next = library ? dlsym(library, "cuptiActivityGetNextRecord") : NULL;
		if (!next) {
			fprintf(stderr, "replay: '%s' cannot be loaded\n", path);
			_exit(9);
		}
		atomic_store(&found, next);
	}
	return next;
}

API(cuptiActivityGetNextRecord, uint8_t *data, size_t valid, void **at)
{
	int rc = enters("cuptiActivityGetNextRecord");
	int (*real)(uint8_t *, size_t, void **) = nvidia_next();
	uint8_t *next = *at ? (uint8_t *)*at + size_of(*(uint32_t *)*at) : data;

	if (rc || real)
		return rc ? rc : real(data, valid, at);
	if ((size_t)(next - data) + sizeof(uint32_t) > valid || !size_of(*(uint32_t *)(void *)next) || (*at && next == *at))
		return LIMIT;
	*at = next;
	return OK;
}

API(cuptiActivityGetNumDroppedRecords, void *context, uint32_t stream, size_t *ret_count)
{
	static atomic_int is_said;
	const char *text = atomic_exchange(&is_said, 1) ? NULL : getenv("REPLAY_DROPPED");

	(void)context;
	(void)stream;
	*ret_count = text ? strtoul(text, NULL, 10) : 0;
	return enters("cuptiActivityGetNumDroppedRecords");
}
