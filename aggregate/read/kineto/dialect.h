/* What producers call arguments, categories, processes and types: the rows of dialect.def. In: texts of a file. Out: their meaning.
 * Pure, any thread. Internal to this room. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aggregate/read/kineto/event.h"

enum kineto_type { KINETO_INTEGER, KINETO_VECTOR, KINETO_TEXT, KINETO_UNSIGNED, KINETO_REAL, KINETO_QUEUE_NAME, KINETO_LISTS };

enum kineto_role { /* of a process */
	           KINETO_HOST,
	           KINETO_IS_DEVICE,
	           KINETO_GROUPS,  /* of a communication library: rows of whole operations, and of their parts */
	           KINETO_IGNORED, /* computed from others */
	           KINETO_RUNTIME  /* calls of a device's runtime */
};

struct kineto_argument {
	const char *key;
	uint8_t length, type; /* type: enum kineto_type */
	uint16_t at;          /* in struct kineto_event */
	uint32_t field;       /* enum kineto_field */
};

/* Number of the argument with that key, from 1; 0: none is read. */
int pp_kineto_argument(const char *key, size_t length);
/* The argument of such a number. */
const struct kineto_argument *pp_kineto_argument_row(int number);
/* OTHER where no row knows it. */
enum kineto_category pp_kineto_category(const char *text, size_t length);
/* What a task of that type is. */
enum kineto_category pp_kineto_task(const char *text, size_t length);
/* By the process's name; HOST where no row knows it. */
enum kineto_role pp_kineto_role(const char *name, size_t length);
/* Is it the profiler's own time, or its mark? */
int pp_kineto_is_profiler(const char *name, size_t length);
/* Is it a frame in which the profiler starts, stops or saves? */
int pp_kineto_is_profiler_frame(const char *name, size_t length);
/* Does a queue only wait there? */
int pp_kineto_is_queue_wait(const char *name, size_t length);
/* Bytes of an element; 0: unknown. */
uint64_t pp_kineto_type_bytes(const char *name);
/* Kind of the device of an allocation: "GPU"; NULL: unknown. Static storage. */
const char *pp_kineto_allocator(int64_t device_type);
