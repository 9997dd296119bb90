/* Stands in for libpodprof.so under libpodprof-mpi.so: keeps the records of this process for tests/mpi/fake.h, and writes them as
 * lines to $PP_FAKE_LOG.<rank> where that is set (PP_FAKE_EACH: at
 * once, not a chunk at a time). PP_FAKE_BENCH: a ring that is always drained. PP_FAKE_REFUSE: claim says no. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/call/mpi_call.h"
#include "core/window/period.h"
#include "tests/mpi/fake.h"

#define PUBLIC __attribute__((visibility("default")))

enum { SMALL = 5, LARGE = 1023, THREADS = 64 };

struct fake_thread {
	struct pp_record chunk[LARGE];
	_Atomic uint32_t committed;
	uint32_t taken;
	struct pp_ring_cursor cursor;
	struct pp_where where;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct fake_thread *threads[THREADS];
static int thread_count;
static __thread struct fake_thread *mine;
static struct fake_record *kept;
static size_t kept_count, kept_room;
static _Atomic uint32_t recording;
static int tick_kind, claimed_rank = -1, claimed_size = -1, bench, each;
static uint32_t last_mpi_state;
static uint64_t bench_count;
static FILE *out;
static pthread_key_t key;
static const struct pp_source_ops *source;

static void line(const struct fake_record *f)
{
	const struct pp_record *r = &f->record;

	if (!out)
		return;
	if (r->kind == PP_RECORD_MPI)
		fprintf(out, "mpi %s comm=%016llx seq=%u peer=%d sent=%llu received=%llu request=%u flags=%u ok=%d\n",
		        pp_mpi_call_info(r->mpi.call)->name, (unsigned long long)r->mpi.comm, r->mpi.sequence, r->mpi.peer,
		        (unsigned long long)r->mpi.sent, (unsigned long long)r->mpi.received, r->mpi.request, r->mpi.flags,
		        r->mpi.end >= r->tick);
	else if (r->kind == PP_RECORD_REQUEST)
		fprintf(out, "request %u %s peer=%d received=%llu flags=%u\n", r->request.request,
		        pp_mpi_call_info(r->request.call)->name, r->request.peer, (unsigned long long)r->request.received,
		        r->request.flags);
	else if (r->kind == PP_RECORD_COMM)
		fprintf(out, "comm %016llx size=%u %s\n", (unsigned long long)r->comm.comm, r->comm.size,
		        r->comm.is_name == PP_COMM_NEAR ? "near"
		        : r->comm.is_name               ? f->text
		                                        : "members");
	else if (r->kind == PP_RECORD_REMARK)
		fprintf(out, "remark %s\n", f->text);
	else
		fprintf(out, "kind %u\n", r->kind);
	fflush(out);
}

static void keep(const struct pp_record *r, const void *rest, uint32_t rest_length)
{
	struct fake_record *f;

	if (bench) {
		bench_count++;
		return;
	}
	if (kept_count == kept_room) {
		kept_room = kept_room ? 2 * kept_room : 1024;
		kept = realloc(kept, kept_room * sizeof *kept);
		if (!kept)
			abort();
	}
	f = &kept[kept_count++];
	memset(f, 0, sizeof *f);
	f->record = *r;
	if (r->kind == PP_RECORD_COMM || r->kind == PP_RECORD_REMARK) {
		uint32_t inside = r->length < PP_TEXT_INLINE ? r->length : PP_TEXT_INLINE;

		if (rest_length != r->length - inside)
			abort();
		memcpy(f->text, r->kind == PP_RECORD_COMM ? r->comm.text : r->range.text, inside);
		memcpy(f->text + inside, rest, rest_length < sizeof f->text - inside ? rest_length : sizeof f->text - inside);
	}
	line(f);
}

/* Under the lock. */
static void drain_thread(struct fake_thread *t)
{
	uint32_t n = atomic_load_explicit(&t->committed, memory_order_acquire);

	for (; t->taken < n; t->taken++)
		keep(&t->chunk[t->taken], NULL, 0);
}

static void ended(void *arg)
{
	(void)arg;
	source->thread_end();
}

static struct fake_thread *self(void)
{
	if (mine)
		return mine;
	if (source)
		pthread_setspecific(key, &lock);
	mine = calloc(1, sizeof *mine);
	if (!mine)
		abort();
	mine->cursor.first = mine->cursor.next = mine->chunk;
	mine->cursor.end = mine->chunk;
	mine->cursor.committed = &mine->committed;
	mine->cursor.generation = mine->cursor.active = PP_RING_BUSY;
	pthread_mutex_lock(&lock);
	if (thread_count < THREADS)
		threads[thread_count++] = mine;
	pthread_mutex_unlock(&lock);
	return mine;
}

/* A full chunk, or text that does not fit: drain, keep, begin the chunk anew. */
static int put(const struct pp_record *record, const void *rest, uint32_t rest_length)
{
	struct fake_thread *t = self();

	t->cursor.generation = PP_RING_BUSY;
	pthread_mutex_lock(&lock);
	drain_thread(t);
	keep(record, rest, rest_length);
	t->taken = 0;
	atomic_store(&t->committed, 0);
	t->cursor.next = t->chunk;
	t->cursor.end = t->chunk + (bench ? LARGE : each ? 0 : SMALL);
	t->cursor.generation = t->cursor.active = 1;
	pthread_mutex_unlock(&lock);
	return 1;
}

static struct pp_where *where(void)
{
	return &self()->where;
}

static struct pp_ring_cursor *cursor(void)
{
	return &self()->cursor;
}

static int claim(enum pp_grounds evidence, int rank, int size)
{
	const char *log = getenv("PP_FAKE_LOG");
	char path[512];

	if (evidence != PP_EVIDENCE_MPI || getenv("PP_FAKE_REFUSE"))
		return 0;
	bench = getenv("PP_FAKE_BENCH") != NULL;
	each = getenv("PP_FAKE_EACH") != NULL;
#if defined(__x86_64__)
	tick_kind = bench;
#endif
	claimed_rank = rank;
	claimed_size = size;
	if (log) {
		snprintf(path, sizeof path, "%s.%d", log, rank);
		out = fopen(path, "w");
	}
	atomic_store(&recording, 1);
	return 1;
}

static int session_rank(void)
{
	return claimed_rank;
}

static void mpi_state(uint32_t state)
{
	last_mpi_state = state;
}

static void say(const char *text)
{
	fprintf(stderr, "podprof: %s\n", text);
}

static void drain_all(void)
{
	for (int i = 0; i < thread_count; i++)
		drain_thread(threads[i]);
}

static size_t take(struct fake_record *to, size_t room)
{
	size_t n;

	pthread_mutex_lock(&lock);
	drain_all();
	n = kept_count < room ? kept_count : room;
	if (n)
		memcpy(to, kept, n * sizeof *to);
	kept_count -= n;
	memmove(kept, kept + n, kept_count * sizeof *kept);
	pthread_mutex_unlock(&lock);
	return n;
}

static void record_on(int on)
{
	atomic_store(&recording, (uint32_t)on);
}

static int add_source(const struct pp_source_ops *of_mpi)
{
	if (!pthread_key_create(&key, ended))
		source = of_mpi;
	return 0;
}

/* No keeper: no bell rings, and nobody asks the ranks to agree. */
static const _Atomic uint32_t silent;

static void poll_requests(void)
{
}

static void coordinate(const struct pp_coord_ops *ops)
{
	(void)ops;
}

static const char *spool(void)
{
	return NULL;
}

static void coordinator(enum pp_coordinator what, const char *why)
{
	(void)what;
	(void)why;
}

static void pause_recording(int paused)
{
	atomic_store(&recording, !paused);
}

static _Atomic uint32_t pattern;
static struct pp_period machine;

static void collective(uint16_t call, int32_t root, uint64_t bytes, uint32_t messages, int failed)
{
	if (messages)
		pp_period_feed(&machine, PP_PERIOD_MESSAGES);
	pp_period_feed(&machine, failed ? PP_PERIOD_GAP : pp_period_symbol(call, 1, root, bytes));
}

static void pattern_on(int on)
{
	pp_period_init(&machine);
	atomic_store(&pattern, (uint32_t)on);
}

static uint64_t pattern_steps(void)
{
	return machine.steps;
}

static uint64_t counted(void)
{
	return bench_count;
}

static const struct pp_where *line_of(int thread)
{
	return thread < thread_count ? &threads[thread]->where : NULL;
}

static void claimed(int *rank, int *size, uint32_t *state)
{
	*rank = claimed_rank;
	*size = claimed_size;
	*state = last_mpi_state;
}

__attribute__((destructor)) static void end(void)
{
	pthread_mutex_lock(&lock);
	drain_all();
	pthread_mutex_unlock(&lock);
}

static void comm(const struct pp_ring_comm *row)
{
	(void)row;
}

static void comm_freed(uint64_t id)
{
	(void)id;
}

extern PUBLIC const struct podprof_collector podprof_collector;
PUBLIC const struct podprof_collector podprof_collector = {
        .size = sizeof podprof_collector,
        .claim = claim,
        .rank = session_rank,
        .recording = &recording,
        .put = put,
        .where = where,
        .tick_kind = &tick_kind,
        .mpi_state = mpi_state,
        .say = say,
        .cursor = cursor,
        .pause = pause_recording,
        .add_source = add_source,
        .pattern = &pattern,
        .collective = collective,
        .bell = &silent,
        .acknowledged = &silent,
        .poll = poll_requests,
        .coordinate = coordinate,
        .spool = spool,
        .coordinator = coordinator,
        .want_net = poll_requests,
        .comm = comm,
        .comm_freed = comm_freed,
};

extern PUBLIC const struct pp_fake pp_fake;
PUBLIC const struct pp_fake pp_fake = {.take = take,
                                       .record_on = record_on,
                                       .claimed = claimed,
                                       .counted = counted,
                                       .line_of = line_of,
                                       .pattern_on = pattern_on,
                                       .pattern_steps = pattern_steps};
