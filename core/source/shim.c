/* Entry points of the shim, found by ctypes: marks at a given time, process groups, frameworks' annotations of collectives. */
#include "core/source/shim.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/now.h"
#include "core/call/mpi_call.h"
#include "core/coord/self.h"
#include "core/ring/thread_ring.h"
#include "core/source/api.h"
#include "core/source/emit.h"
#include "core/source/file_read.h"
#include "core/source/python/calls.h"
#include "core/source/python/loop_calls.h"
#include "core/source/services.h"
#include "core/source/torch/c10d.h"
#include "core/source/torch/c10d_group.h"
#include "core/source/torch/c10d_tensor.h"
#include "core/window/trigger.h"

enum { REQUESTS_MOST = 4096 };

static uint32_t recording(void)
{
	static const uint32_t of[] = {[PP_LEVEL_UNKNOWN] = PP_SHIM_RECORDING,
	                              [PP_LEVEL_STEPS] = PP_SHIM_RECORDING,
	                              [PP_LEVEL_OPERATORS] = PP_SHIM_RECORDING | PP_SHIM_OPERATORS,
	                              [PP_LEVEL_PYTHON] = PP_SHIM_RECORDING | PP_SHIM_OPERATORS | PP_SHIM_PYTHON};

	return atomic_load_explicit(&pp_wiped.recording, memory_order_relaxed) ? of[pp_ring_level(pp_ring_pool.header) & 3] : 0;
}

static uint32_t state(void)
{
	return (pp_self_is_rank() ? PP_SHIM_IS_RANK : 0) | recording() |
	       (atomic_load_explicit(&pp_api_is_marked, memory_order_relaxed) ? PP_SHIM_EXPLICIT : 0);
}

static uint32_t claim(void)
{
	pp_services.claim(PP_EVIDENCE_MARK, -1, -1);
	return state();
}

static uint64_t now(void)
{
	static _Atomic uint32_t is_decided;

	/* A later claim decides the same. */
	if (!atomic_load_explicit(&is_decided, memory_order_acquire)) {
		if (!pp_self_is_rank())
			pp_tick_init();
		atomic_store_explicit(&is_decided, 1, memory_order_release);
	}
	return pp_tick_now();
}

static uint32_t step_begin(int64_t number, uint64_t tick)
{
	pp_api_step_begin(number, tick);
	return state();
}

static uint32_t step_end(void)
{
	pp_api_step_end(0);
	return state();
}

static uint32_t step_end_at(uint64_t tick)
{
	pp_api_step_end(tick);
	return state();
}

static int is_edge(int64_t number)
{
	return pp_trigger_is_edge(number);
}

static void step_rule(const char *text)
{
	struct pp_ring_header *h = pp_ring_pool.header;

	if (!pp_self_is_rank() || !text || pp_ring_steps_by_shim(h))
		return;
	snprintf(h->step_rule, sizeof(h->step_rule), "%s", text);
	pp_ring_set_steps_by_shim(h, 1); /* the text is complete */
}

static void put_group(uint64_t id, uint32_t size, enum pp_comm_text what, const void *text, size_t length)
{
	struct pp_record r = {.tick = pp_tick_now(), .kind = PP_RECORD_COMM, .length = (uint32_t)length};
	size_t n = length < PP_TEXT_INLINE ? length : PP_TEXT_INLINE;

	r.comm.comm = id;
	r.comm.size = size;
	r.comm.is_name = what;
	memcpy(r.comm.text, text, n);
	pp_ring_put(&r, (const char *)text + n, (uint32_t)(length - n));
}

static uint64_t group(const char *name, uint32_t size, const int32_t *members)
{
	uint64_t id = pp_hash(PP_HASH_BEGIN, "c10d", 4);
	int saved = errno;

	if (!pp_emit_wanted() || !name || !members || size == 0 || size > INT32_MAX / sizeof(*members))
		return 0;
	id = pp_hash(id, name, strlen(name) + 1);
	id = pp_hash(id, members, size * sizeof(*members)) | 1;
	put_group(id, size, PP_COMM_MEMBERS, members, size * sizeof(*members));
	put_group(id, size, PP_COMM_NAME, name, strlen(name));
	errno = saved;
	return id;
}

/* Now by both clocks: the narrowest of three readings, since a thread may be interrupted between them. */
static int64_t read_clocks(pp_tick *ret_tick)
{
	pp_tick least = UINT64_MAX;
	int64_t realtime = 0;

	for (int i = 0; i < 3; i++) {
		pp_tick before = pp_tick_now(), after;
		int64_t ns = pp_clock_ns(CLOCK_REALTIME);

		after = pp_tick_now();
		if (after - before >= least)
			continue;
		least = after - before;
		*ret_tick = before + least / 2;
		realtime = ns;
	}
	return realtime;
}

static int collective(const char *work, int64_t realtime_ns, uint64_t comm, uint32_t sequence, uint64_t sent, uint64_t received,
                      int32_t root)
{
	unsigned call = work ? pp_c10d_call_of_backend(work, strlen(work)) : 0;
	struct pp_record r = {.kind = PP_RECORD_ANNOTATION};
	int saved = errno;

	if (!pp_emit_wanted())
		return 2;
	if (!call)
		return 1;
	r.annotation = (struct pp_record_annotation){.comm = comm,
	                                             .sent = sent,
	                                             .received = received,
	                                             .age_ns = read_clocks(&r.tick) - realtime_ns,
	                                             .sequence = sequence,
	                                             .root = root,
	                                             .call = (uint16_t)call};
	pp_ring_put(&r, NULL, 0);
	errno = saved;
	return 0;
}

static void remark(const char *text)
{
	size_t length = text ? strlen(text) : 0, n = length < PP_TEXT_INLINE ? length : PP_TEXT_INLINE;
	struct pp_record r = {.tick = pp_tick_now(), .kind = PP_RECORD_REMARK, .length = (uint32_t)length};

	if (!length || !pp_emit_wanted())
		return;
	memcpy(r.range.text, text, n);
	pp_ring_put(&r, text + n, (uint32_t)(length - n));
}

static void say(const char *text)
{
	if (text && pp_self_is_rank())
		pp_self_print(text);
}

static void want_net(void)
{
	if (pp_self_is_rank())
		pp_ring_set_net_wanted(pp_ring_pool.header, 1);
}

static uint32_t claim_group(int32_t rank, int32_t size, int own)
{
	if (!pp_self_is_rank())
		atomic_store_explicit(&pp_api_is_marked, 0, memory_order_relaxed); /* a parent did */
	pp_services.claim_group(rank, size, own);
	return state();
}

static int rank(void)
{
	return pp_services.rank();
}

static uint16_t call_of(const char *name)
{
	return (uint16_t)pp_c10d_call_of(name, strlen(name));
}

static void execution(uint64_t comm, uint32_t sequence, uint64_t tick, uint32_t request)
{
	struct pp_record r = {.tick = tick, .kind = PP_RECORD_MPI};
	int saved = errno;

	if (!pp_emit_wanted() || !comm || !request)
		return;
	r.mpi = (struct pp_record_mpi){
	        .end = tick, .comm = comm, .sequence = sequence, .peer = -1, .request = request, .call = call_of("xla::execution")};
	pp_ring_put(&r, NULL, 0);
	errno = saved;
}

static void waited(uint64_t begin, uint64_t end, uint32_t first, uint32_t last)
{
	struct pp_record r = {.tick = begin, .kind = PP_RECORD_MPI}, done = {.tick = end, .kind = PP_RECORD_REQUEST};
	int saved = errno;

	if (!pp_emit_wanted() || end < begin || last < first || last - first >= REQUESTS_MOST)
		return;
	r.mpi = (struct pp_record_mpi){.end = end, .peer = -1, .call = call_of("xla::wait")};
	pp_ring_put(&r, NULL, 0);
	for (uint32_t request = first; request <= last; request++) {
		done.request = (struct pp_record_request){.request = request, .peer = -1, .call = r.mpi.call};
		pp_ring_put(&done, NULL, 0);
	}
	errno = saved;
}

static void range(const char *name, int category, uint64_t begin, uint64_t end)
{
	struct pp_emit e = {.kind = PP_RECORD_PUSH, .source = PP_SOURCE_API, .category = (uint8_t)category};
	int saved = errno;

	if (!pp_emit_wanted() || !name || end < begin)
		return;
	pp_emit_range_at(&e, begin, name, strlen(name));
	e = (struct pp_emit){.kind = PP_RECORD_POP, .source = PP_SOURCE_API};
	pp_emit_range_at(&e, end, "", 0);
	errno = saved;
}

static int file_reads_start(void)
{
	int saved = errno, is_started = pp_file_reads_start(now);

	errno = saved;
	return is_started;
}

static void finish(int status)
{
	pp_services.end(status);
}

static uint64_t torch_group(const char *key, const char *name, uint32_t size, const int32_t *members)
{
	int on_host;
	uint64_t object = pp_c10d_asked(&on_host);
	int32_t rank = pp_services.rank(), own = -1;

	if (!object || !key || !name || !members || !pp_self_is_rank())
		return 0;
	for (uint32_t i = 0; i < size && own < 0; i++)
		own = members[i] == rank ? (int32_t)i : -1;
	return pp_c10d_group_name(object, key, name, size, members, own, on_host);
}

static void torch_groups(void)
{
	int saved = errno;

	if (pp_emit_wanted())
		pp_c10d_groups_report(atomic_load_explicit(&pp_wiped.recording, memory_order_relaxed));
	errno = saved;
}

static const struct podprof_shim table = {
        .size = sizeof(struct podprof_shim),
        .state = state,
        .claim = claim,
        .now = now,
        .step_begin = step_begin,
        .step_end = step_end,
        .is_edge = is_edge,
        .step_rule = step_rule,
        .group = group,
        .collective = collective,
        .remark = remark,
        .say = say,
        .spool = pp_self_spool,
        .want_net = want_net,
        .step_end_at = step_end_at,
        .claim_group = claim_group,
        .finish = finish,
        .torch_tensors = pp_c10d_tensor_learn,
        .torch_group = torch_group,
        .execution = execution,
        .waited = waited,
        .rank = rank,
        .torch_groups = torch_groups,
        .calls_begin = pp_calls_begin,
        .calls_end = pp_calls_end,
        .calls_on_begin = pp_calls_on_begin,
        .calls_on_end = pp_calls_on_end,
        .calls_on_profile = pp_calls_on_profile,
        .range = range,
        .file_reads = pp_file_reads,
        .file_reads_of_all = pp_file_reads_of_all,
        .file_read_ticks = pp_file_read_ticks,
        .file_read_ticks_of_all = pp_file_read_ticks_of_all,
        .file_reads_start = file_reads_start,
        .python_calls = pp_python_calls,
        .python_loop = pp_python_loop,
};

__attribute__((visibility("default"))) const struct podprof_shim *podprof_shim(void);

const struct podprof_shim *podprof_shim(void)
{
	return &table;
}
