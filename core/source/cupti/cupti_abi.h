/* CUPTI's binary interface, versions 12.0 to 13.x, as far as podprof uses it: results, kinds, and the beginning of each record.
 * Newer versions only append to a record, so an offset below holds in all of them: they are those of NVIDIA's headers of CUDA
 * 12.9, 13.0 and 13.5. Used by the source. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum pp_cupti_result {
	PP_CUPTI_OK = 0,
	PP_CUPTI_NOT_COMPATIBLE = 14,
	PP_CUPTI_NOT_INITIALIZED = 15,
	PP_CUPTI_NOT_SUPPORTED = 27,
	PP_CUPTI_VIRTUALIZED = 33,
	PP_CUPTI_PRIVILEGES = 35,
	PP_CUPTI_OLD_PROFILER = 36,
	PP_CUPTI_LEGACY = 38,
	PP_CUPTI_SUBSCRIBERS = 39,
	PP_CUPTI_VIRTUALIZED_PRIVILEGES = 40,
	PP_CUPTI_CONFIDENTIAL = 41,
	PP_CUPTI_CMP = 42,
	PP_CUPTI_MIG = 43,
	PP_CUPTI_SLI = 44,
	PP_CUPTI_WSL = 45,
	PP_CUPTI_UNKNOWN = 999,
};

enum {
	PP_CUPTI_API_FIRST = 19,         /* of CUDA 12.0: older records are not known here */
	PP_CUPTI_API_NULL_BUFFER = 28,   /* of CUDA 12.9: from here on a request may be refused; before, CUPTI crashes */
	PP_CUPTI_API_OVERHEAD_DATA = 22, /* of CUDA 12.4: from here on overhead records have a pointer to free */
	PP_CUPTI_API_JIT_THREAD = 22,
};

enum pp_cupti_kind {
	PP_CUPTI_MEMCPY = 1,
	PP_CUPTI_MEMSET = 2,
	PP_CUPTI_DRIVER = 4,
	PP_CUPTI_RUNTIME = 5,
	PP_CUPTI_DEVICE = 8,
	PP_CUPTI_KERNEL = 10, /* CONCURRENT_KERNEL: kind 3 would let kernels run one by one */
	PP_CUPTI_OVERHEAD = 17,
	PP_CUPTI_MEMCPY2 = 22, /* between devices */
	PP_CUPTI_SYNC = 38,
	PP_CUPTI_MEMORY2 = 49,
	PP_CUPTI_POOL = 50,
	PP_CUPTI_JIT = 52,
	PP_CUPTI_KINDS = 64 /* above all of these */
};

enum { PP_CUPTI_FORCED = 1, PP_CUPTI_TID_SYSTEM = 1 };

struct pp_cupti_kernel {
	uint32_t kind;
	uint8_t cache, shared_config;
	uint16_t registers;
	uint8_t unused1[8];
	uint64_t start, end, completed;
	uint32_t device, context, stream;
	int32_t grid[3], block[3];
	int32_t static_shared, dynamic_shared;
	uint32_t local_per_thread, local_total;
	uint32_t correlation;
	int64_t grid_id;
	const char *name;
	uint8_t unused2[32];
	uint64_t graph_node;
	uint8_t unused3[4];
	uint32_t graph;
};

struct pp_cupti_memcpy {
	uint32_t kind;
	uint8_t copy, from, to, flags;
	uint64_t bytes, start, end;
	uint32_t device, context, stream, correlation, runtime_correlation;
	uint8_t unused[20];
	uint32_t graph;
};

struct pp_cupti_memcpy2 {
	uint32_t kind;
	uint8_t copy, from, to, flags;
	uint64_t bytes, start, end;
	uint32_t device, context, stream;
	uint32_t from_device, from_context, to_device, to_context;
	uint32_t correlation;
	uint8_t unused[16];
	uint32_t graph;
};

struct pp_cupti_memset {
	uint32_t kind, value;
	uint64_t bytes, start, end;
	uint32_t device, context, stream, correlation;
	uint8_t unused[24];
	uint32_t graph;
};

struct pp_cupti_call {
	uint32_t kind, number;
	uint64_t start, end;
	uint32_t pid, tid, correlation, result;
};

struct pp_cupti_sync {
	uint32_t kind, type;
	uint64_t start, end;
	uint32_t correlation, context, stream, event;
};

enum { PP_CUPTI_SYNC_STREAM_WAIT = 2 }; /* type: a stream waits, no thread does */

struct pp_cupti_overhead {
	uint32_t kind, overhead, object;
	uint32_t pid, tid; /* where the object is a thread */
	uint32_t unused;
	uint64_t start, end;
	uint32_t correlation, reserved;
	void *data; /* from PP_CUPTI_API_OVERHEAD_DATA on: ours, for free() */
};

enum { PP_CUPTI_OBJECT_THREAD = 2 };

struct pp_cupti_memory {
	uint32_t kind, operation, memory, correlation;
	uint64_t address, bytes, timestamp, pc;
	uint32_t pid, device, context, stream;
	const char *name;
	uint32_t is_async, unused;
	uint32_t pool_type, unused2;
	uint64_t pool, threshold, pool_size, pool_used;
};

enum pp_cupti_pool_type { PP_CUPTI_POOL_LOCAL = 1, PP_CUPTI_POOL_IMPORTED = 2 };
enum pp_cupti_pool_action { PP_CUPTI_POOL_CREATED = 1, PP_CUPTI_POOL_DESTROYED = 2, PP_CUPTI_POOL_TRIMMED = 3 };

struct pp_cupti_memory_pool {
	uint32_t kind, action, type, correlation;
	uint32_t pid, device;
	uint64_t trimmed_to; /* bytes that a trim left at least */
	uint64_t address, size, threshold, timestamp, used;
};

struct pp_cupti_jit {
	uint32_t kind, entry, operation, device;
	uint64_t start, end;
	uint32_t correlation, unused;
	uint64_t operation_correlation, cache_bytes;
	const char *path;
	uint32_t pid, tid; /* from PP_CUPTI_API_JIT_THREAD on */
};

struct pp_cupti_device {
	uint32_t kind, flags;
	uint64_t bandwidth; /* kB/s */
	uint64_t memory;
	uint32_t constant, l2, warp_threads, clock_khz, copy_engines, multiprocessors, ipc;
	uint32_t warps, blocks, shared, registers, block_registers, block_shared, block_threads;
	uint8_t unused[24];
	uint32_t major_number, minor_number, id, ecc;
	uint8_t uuid[16];
	const char *name;
	uint8_t is_visible, is_mig;
	uint8_t unused2[6];
	uint32_t gpu_instance, compute_instance;
	uint8_t mig_uuid[16]; /* is_mig: of the slice; uuid is the whole device's */
};

#define PP_CUPTI_AT(record, member, offset) _Static_assert(offsetof(struct pp_cupti_##record, member) == (offset), "CUPTI's layout")
PP_CUPTI_AT(kernel, registers, 6);
PP_CUPTI_AT(kernel, device, 40);
PP_CUPTI_AT(kernel, grid, 52);
PP_CUPTI_AT(kernel, correlation, 92);
PP_CUPTI_AT(kernel, name, 104);
PP_CUPTI_AT(kernel, graph, 156);
PP_CUPTI_AT(memcpy, correlation, 44);
PP_CUPTI_AT(memcpy, graph, 72);
PP_CUPTI_AT(memcpy2, correlation, 60);
PP_CUPTI_AT(memcpy2, graph, 80);
PP_CUPTI_AT(memset, correlation, 44);
PP_CUPTI_AT(memset, graph, 72);
PP_CUPTI_AT(call, result, 36);
PP_CUPTI_AT(sync, stream, 32);
PP_CUPTI_AT(overhead, start, 24);
PP_CUPTI_AT(overhead, data, 48);
PP_CUPTI_AT(memory, timestamp, 32);
PP_CUPTI_AT(memory, pool, 88);
PP_CUPTI_AT(memory, pool_used, 112);
PP_CUPTI_AT(memory_pool, address, 32);
PP_CUPTI_AT(memory_pool, used, 64);
PP_CUPTI_AT(jit, tid, 68);
PP_CUPTI_AT(device, warps, 52);
PP_CUPTI_AT(device, major_number, 104);
PP_CUPTI_AT(device, name, 136);
PP_CUPTI_AT(device, is_mig, 145);
PP_CUPTI_AT(device, mig_uuid, 160);

struct pp_cupti_subscriber { /* of cuptiSubscribe_v2 */
	size_t size;
	const char *name;
	char *other; /* gets the name of the present user */
	size_t other_size;
};

/* Both may come on any thread. */
typedef void (*pp_cupti_request)(uint8_t **buffer, size_t *size, size_t *most);
typedef void (*pp_cupti_complete)(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);
typedef void (*pp_cupti_callback)(void *data, int domain, uint32_t number, const void *info);

struct pp_cupti_api { /* functions of one libcupti; NULL where it has none */
	void *library;
	uint32_t version;
	int is_replay; /* it is a stand-in: no device runs what it reports */
	char path[256];
	int (*get_version)(uint32_t *ret_version);
	int (*get_timestamp)(uint64_t *ret_ns);
	int (*subscribe)(void **ret_handle, pp_cupti_callback callback, void *data);
	int (*subscribe_v2)(void **ret_handle, pp_cupti_callback callback, void *data, struct pp_cupti_subscriber *params);
	int (*unsubscribe)(void *handle);
	int (*thread_id_type)(int type);
	int (*register_callbacks)(pp_cupti_request request, pp_cupti_complete complete);
	int (*enable)(int kind);
	int (*disable)(int kind);
	int (*enable_and_dump)(int kind);
	int (*enable_driver)(uint32_t number, uint8_t on);
	int (*enable_runtime)(uint32_t number, uint8_t on);
	int (*all_sync)(uint8_t on);
	int (*flush_all)(uint32_t flag);
	int (*next_record)(uint8_t *buffer, size_t valid, void **record);
	int (*dropped)(void *context, uint32_t stream, size_t *ret_count);
};
