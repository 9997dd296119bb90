/* podprof_shim(): what the shim in the application's Python (launchers/python) needs beside podprof.h, called through ctypes.
 * In: frameworks' annotations. Out: records, and values in the ring's header. Append only; `size` lets shim and library differ in
 * age. Any thread; never fails, keeps errno, writes nothing on stdout. */
#pragma once

#include <stdint.h>

enum pp_shim_state {
	PP_SHIM_IS_RANK = 1,   /* this process records, or may */
	PP_SHIM_RECORDING = 2, /* right now */
	PP_SHIM_EXPLICIT = 4,  /* the program marks its steps itself (podprof.h) */
	PP_SHIM_OPERATORS = 8, /* recording, and the level has operators in this step */
	PP_SHIM_PYTHON = 16,   /* and calls of Python functions */
};

struct podprof_shim {
	uint64_t size;
	uint32_t (*state)(void); /* enum pp_shim_state; costs three loads */
	/* This process becomes the rank, if no other is. Returns state(). */
	uint32_t (*claim)(void);
	uint64_t (*now)(void); /* a tick, for step_begin() */
	/* Step `number` began at a tick of now(), or now (0). Records since then belong to it. A mark of the shim is not
	 * EXPLICIT. Returns state() after the mark has switched recording on or off. */
	uint32_t (*step_begin)(int64_t number, uint64_t tick);
	uint32_t (*step_end)(void);
	/* 1: a mark of this number may switch recording: annotate now what belongs into the window. */
	int (*is_edge)(int64_t number);
	/* The rule by which the shim marks steps, shown with them; at most 63 bytes. The first call counts. */
	void (*step_rule)(const char *text);
	/* A process group: name, world ranks of its members. Returns its id, equal on all ranks; 0 where nothing is recorded. */
	uint64_t (*group)(const char *name, uint32_t size, const int32_t *members);
	/* A collective that began at realtime_ns (CLOCK_REALTIME). work: its backend's name ("gloo:all_reduce"). Returns 0:
	 * recorded; 1: unknown work; 2: nothing is recorded. */
	int (*collective)(const char *work, int64_t realtime_ns, uint64_t group, uint32_t sequence, uint64_t sent,
	                  uint64_t received, int32_t root);
	/* A sentence for /quality, where something is recorded. */
	void (*remark)(const char *text);
	/* One line on stderr, "podprof: " in front; rank 0 only. */
	void (*say)(const char *text);
	/* The directory shared with the keeper, "" before claim(). */
	const char *(*spool)(void);
	/* Rank 0: its keeper is to admit other hosts: it writes <spool>/invite. */
	void (*want_net)(void);
	/* The step ended at a tick of now(). Returns state(). */
	uint32_t (*step_end_at)(uint64_t tick);
	/* This process is rank `rank` of a process group of `size`; own: the program itself started it, so the launcher's variables
	 * are its parent's. Returns state(). */
	uint32_t (*claim_group)(int32_t rank, int32_t size, int own);
	/* The process ends without exit handlers: does their work now. */
	void (*finish)(int status);
	/* Tensors at `at` (tensor._cdata) have so many elements of a type (c10::ScalarType): learns where a tensor has its size.
	 * 0: it is not found, so collectives have no bytes. */
	int (*torch_tensors)(const uint64_t *at, const int64_t *elements, const int32_t *type, int tensors);
	/* The process group whose sequence number this thread has asked for last. key: its name, equal on all ranks. Returns its
	 * id; 0: its methods do not come through this library. Also while nothing is recorded. */
	uint64_t (*torch_group)(const char *key, const char *name, uint32_t size, const int32_t *members);
	/* A framework has dispatched, at a tick of now(), an execution that all members of a group take part in, the sequence-th of
	 * them. request: this rank's number of it, not 0. */
	void (*execution)(uint64_t group, uint32_t sequence, uint64_t tick, uint32_t request);
	/* The program waited for results from begin to end, ticks of now(): executions with requests first to last are complete. */
	void (*waited)(uint64_t begin, uint64_t end, uint32_t first, uint32_t last);
	/* Number of this rank, once it is the rank. */
	int (*rank)(void);
	/* Records the names and members of all process groups of torch_group(), once in a recording. */
	void (*torch_groups)(void);
	/* core/source/python/calls.h; on_...: addresses of functions of the interpreter's types. */
	int (*calls_begin)(const char *paths, const char *own);
	void (*calls_end)(void);
	void *(*calls_on_begin)(void *self, void *const *arguments, intptr_t count);
	void *(*calls_on_end)(void *self, void *const *arguments, intptr_t count);
	int (*calls_on_profile)(void *self, void *frame, int what, void *argument);
	/* A range of this thread that is over, from begin to end, ticks of now(). category: as podprof_range_push_as() has it. */
	void (*range)(const char *name, int category, uint64_t begin, uint64_t end);
	/* How often this thread, and this process, has read a file, also one that is no rank. 0 without libpodprof-io.so. */
	uint64_t (*file_reads)(void);
	uint64_t (*file_reads_of_all)(void);
	uint64_t (*file_read_ticks)(void); /* time in these reads */
	uint64_t (*file_read_ticks_of_all)(void);
	int (*file_reads_start)(void); /* from now on they are counted; 0: they cannot be */
	/* As pp_python_calls() and pp_python_loop(). */
	uint64_t (*python_calls)(void);
	void (*python_loop)(uint64_t frame, uint64_t code, uint64_t other_code);
};
