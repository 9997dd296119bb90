/* NCCL's profiler plug-in interface as podprof declares it: versions 3 to 7, which NCCL 2.26 to 2.32 use. The test
 * unit.core.nccl holds it to the offsets in the debug information of NCCL's own library. Foreign: NCCL calls with these structs. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum pp_nccl_type { /* bits of the mask */
	            PP_NCCL_GROUP = 1 << 0,
	            PP_NCCL_COLL = 1 << 1,
	            PP_NCCL_P2P = 1 << 2,
	            PP_NCCL_PROXY_OP = 1 << 3,
	            PP_NCCL_PROXY_STEP = 1 << 4,
	            PP_NCCL_PROXY_CTRL = 1 << 5,
	            PP_NCCL_KERNEL_CHANNEL = 1 << 6,
	            PP_NCCL_NET_PLUGIN = 1 << 7,
	            PP_NCCL_GROUP_API = 1 << 8, /* from version 5 on, as the next three */
	            PP_NCCL_COLL_API = 1 << 9,
	            PP_NCCL_P2P_API = 1 << 10,
	            PP_NCCL_KERNEL_LAUNCH = 1 << 11,
	            PP_NCCL_CE_COLL = 1 << 12, /* from version 6 on, as the next two */
	            PP_NCCL_CE_SYNC = 1 << 13,
	            PP_NCCL_CE_BATCH = 1 << 14,
	            PP_NCCL_KERNEL_PHASE = 1 << 15, /* version 7 */
};

enum { PP_NCCL_KERNEL_CHANNEL_STOP = 22 }; /* of recordEventState */

struct pp_nccl_proxy_op {
	pid_t pid; /* of the process whose handle the parent is */
	uint8_t channel;
	int peer, steps, chunk, is_send;
};

struct pp_nccl_event_v3 {
	uint8_t type; /* enum pp_nccl_type */
	void *parent;
	int rank;
	union {
		struct {
			const char *name;
			uint64_t comm, sequence;
			const char *function;
			const void *send;
			void *receive;
			size_t count;
			int root;
			const char *datatype;
			uint8_t channels, warps;
			const char *algorithm, *protocol;
		} coll;
		struct {
			const char *name;
			uint64_t comm;
			const char *function;
			void *buffer;
			const char *datatype;
			size_t count;
			int peer;
		} p2p;
		struct pp_nccl_proxy_op proxy_op;
		struct {
			uint8_t channel;
		} kernel_channel;
	};
};

struct pp_nccl_event_v4 {
	uint8_t type;
	void *parent;
	int rank;
	union {
		struct {
			uint64_t sequence;
			const char *function;
			const void *send;
			void *receive;
			size_t count;
			int root;
			const char *datatype;
			uint8_t channels, warps;
			const char *algorithm, *protocol;
		} coll;
		struct {
			const char *function;
			void *buffer;
			const char *datatype;
			size_t count;
			int peer;
			uint8_t channels;
		} p2p;
		struct pp_nccl_proxy_op proxy_op;
		struct {
			uint8_t channel;
			uint64_t timer; /* ns, the device's clock */
		} kernel_channel;
	};
};

/* Versions 5, 6 and 7: later ones add to the end of the structs only. */
struct pp_nccl_event {
	uint64_t type;
	void *parent;
	int rank;
	union {
		struct {
			bool is_captured;
			int depth;
		} group_api;
		struct {
			const char *function;
			size_t count;
			const char *datatype;
			int root;
			void *stream;
			bool is_captured;
			uint64_t tag; /* version 7 */
		} coll_api;
		struct {
			const char *function;
			size_t count;
			const char *datatype;
			void *stream;
			bool is_captured;
			uint64_t tag; /* version 7 */
		} p2p_api;
		struct {
			void *stream;
		} kernel_launch;
		struct {
			uint64_t sequence;
			const char *function;
			const void *send;
			void *receive;
			size_t count;
			int root;
			const char *datatype;
			uint8_t channels, warps;
			const char *algorithm, *protocol;
			void *group;
		} coll;
		struct {
			const char *function;
			void *buffer;
			const char *datatype;
			size_t count;
			int peer;
			uint8_t channels;
			void *group;
		} p2p;
		struct pp_nccl_proxy_op proxy_op;
		struct {
			uint8_t channel;
			uint64_t timer;
		} kernel_channel;
		struct { /* version 6 */
			uint64_t sequence;
			const char *function;
			const void *send;
			void *receive;
			size_t count;
			int root;
			const char *datatype, *strategy;
		} ce_coll;
	};
};

union pp_nccl_state { /* versions 4 to 7; of version 3 nothing is read */
	struct {
		uint64_t timer;
	} kernel_channel;
	void *data;
};

typedef void (*pp_nccl_log)(int level, unsigned long flags, const char *file, int line, const char *format, ...);

/* One of NCCL's plug-in objects: versions differ in init and in the structs of events. 0: success. */
struct pp_nccl_plugin {
	const char *name;
	void *init;
	int (*start)(void *context, void **handle, void *event);
	int (*stop)(void *handle);
	int (*state)(void *handle, int state, void *arguments);
	int (*finalize)(void *context);
};

typedef int (*pp_nccl_init_v3)(void **context, int *mask);
typedef int (*pp_nccl_init_v4)(void **context, int *mask, const char *name, uint64_t comm, int nodes, int ranks, int rank,
                               pp_nccl_log log);
typedef int (*pp_nccl_init_v5)(void **context, uint64_t comm, int *mask, const char *name, int nodes, int ranks, int rank,
                               pp_nccl_log log);
