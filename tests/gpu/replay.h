/* Stand-ins of NVIDIA's driver and of CUPTI for tests: no device runs. Both libraries and gpu_host use it.
 *
 * A fixture is a text file. Its first line is "podprof replay of CUPTI: CONSTRUCTED" or "... RECORDED on DEVICE". Rows:
 *   device ID MEMORY BANDWIDTH_KB CAPABILITY MULTIPROCESSORS NAME
 *   kernel DEVICE STREAM DELAY_NS NS REGISTERS STATIC DYNAMIC GRIDxGRIDxGRID BLOCKxBLOCKxBLOCK NAME
 *   copy htod|dtoh|dtod DEVICE STREAM DELAY_NS NS BYTES
 *   peer DEVICE STREAM DELAY_NS NS BYTES OTHER
 *   set DEVICE STREAM DELAY_NS NS BYTES
 *   alloc|free DEVICE BYTES ADDRESS
 *   poolalloc|poolfree DEVICE BYTES ADDRESS POOL SIZE USED THRESHOLD
 *   pool create|trim|destroy|import|bad DEVICE POOL SIZE USED THRESHOLD
 *   sync DEVICE STREAM NS
 * The host program calls each row; the record begins DELAY_NS after the call, so that times belong to the run. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum replay_kind {
	REPLAY_DEVICE,
	REPLAY_KERNEL,
	REPLAY_COPY,
	REPLAY_PEER,
	REPLAY_SET,
	REPLAY_ALLOC,
	REPLAY_FREE,
	REPLAY_SYNC,
	REPLAY_POOL
};

enum replay_part {
	REPLAY_OF_BOTH,
	REPLAY_OF_HOST,  /* the call */
	REPLAY_OF_DEVICE /* what it launched when CUPTI was on, which may be off by now */
};

enum { REPLAY_ROWS = 1024, REPLAY_NAME = 200 };

struct replay_row {
	enum replay_kind kind;
	enum replay_part part;
	unsigned device, stream, other;
	unsigned long long delay, ns, bytes, address, bandwidth;
	unsigned capability, multiprocessors, registers, shared, dynamic, grid[3], block[3];
	unsigned long long pool, pool_size, pool_used, threshold;
	int copy;        /* CUPTI's kind */
	int pool_action; /* CUPTI's; 0: none that it has */
	int is_imported;
	uint32_t thread, correlation; /* of the launch; 0: the caller's, the next */
	const char *kernel;           /* NULL, or its name, where the row does not last as long as the record */
	char name[REPLAY_NAME];
};

struct replay_fixture {
	struct replay_row row[REPLAY_ROWS];
	int rows;
	char head[128];
};

/* UUID of a device: REPLAY_FIRST_GPU, 0 without, is the GPU that the program's device 0 is. REPLAY_MIG=1: of a slice of it. */
void replay_uuid(unsigned device, int is_slice, uint8_t ret_uuid[16]);

/* The file in REPLAY_FIXTURE; 0, or -1 with a line on stderr. */
int replay_read(const char *path, struct replay_fixture *f);

/* What the driver's stand-in calls for each row that the program "runs"; set by the stand-in of CUPTI while it records. */
typedef void (*replay_hook)(const struct replay_row *row, uint64_t start, uint64_t end);

/* In the driver's stand-in. */
typedef void (*replay_run)(int row);

/* A kernel on a stream of the driver's stand-in, which runs them in the order of their launches. Times are CLOCK_REALTIME, ns. */
struct replay_kernel {
	const char *name;
	unsigned stream;
	uint64_t ns;                                /* how long it runs, where end() is NULL */
	uint64_t (*end)(void *arg, uint64_t start); /* when it ends, if that depends on others; may wait */
	void *arg;
};

/* All in the driver's stand-in: a launch returns at once; the next kernel of a stream waits for all that the other has got
 * so far; the host waits for what is on the stream. Launches and waits of the host are numbered from 1. REPLAY_KERNELS
 * names a file that gets a line for each kernel that ended: its number, begin of its launch, its start and end. */
typedef void (*replay_launch_function)(const struct replay_kernel *kernel);
typedef void (*replay_stream_wait_function)(unsigned stream, unsigned other);
typedef void (*replay_synchronize_function)(unsigned stream);

/* The number behind FUNCTION= in that variable; 0: none. */
int replay_asked(const char *variable, const char *function);
/* Each function of the stand-ins begins so: REPLAY_SLOW, REPLAY_CRASH; returns the result of REPLAY_FAIL, 0: it may go on. */
int replay_enters(const char *function);
enum { REPLAY_UNKNOWN = 40 }; /* NVLINK, a kind that podprof does not know */

/* Bytes of a record of CUPTI's kind; 0: the stand-in has none. */
size_t replay_size(uint32_t kind, uint32_t version);
