/* Members of an event by their keys. In: keys and values by json.c. Out: a kineto_event. Internal to this room. */
#pragma once

#include <stddef.h>

#include "aggregate/read/kineto/event.h"
#include "core/ring/intern.h"

enum kineto_top { TOP_EVENTS = 1, TOP_BASE, TOP_DISTRIBUTED, TOP_DEVICES, TOP_VERSION, TOP_SCHEMA };
enum kineto_distributed { DISTRIBUTED_RANK = 1, DISTRIBUTED_WORLD, DISTRIBUTED_GROUPS };
enum kineto_device { DEVICE_ID = 1, DEVICE_NAME, DEVICE_MEMORY };

enum kineto_place { /* what a value is a member of */
	            KINETO_TOP,
	            KINETO_EVENTS,
	            KINETO_EVENT,
	            KINETO_ARGS,
	            KINETO_ARG_LIST,
	            KINETO_DISTRIBUTED,
	            KINETO_DISTRIBUTED_LIST, /* of a merged file: one of each rank */
	            KINETO_DEVICES,
	            KINETO_DEVICE_ROW,
	            KINETO_SKIP,
};

enum { KINETO_UNKNOWN_KEY = 0 };

/* Number of the key in its place; KINETO_UNKNOWN_KEY where nothing needs it. */
int pp_kineto_key(enum kineto_place place, const char *text, size_t length);
/* Keys as they were found before: a file has the same few in each event. All 0: none. */
struct kineto_keys {
	struct kineto_known_key {
		uint64_t begin, end; /* of its text */
		uint8_t length, place, number;
	} known[256];
};

/* The same, each text once, but for long ones. */
int pp_kineto_key_again(struct kineto_keys *keys, enum kineto_place place, const char *text, size_t length);
/* Place of the members of a value that begins under that key. */
enum kineto_place pp_kineto_inside(enum kineto_place place, int key, int is_map);

struct kineto_value {
	const char *text; /* number or string; NULL: true, false, null */
	size_t length;
	int is_string;
};

/* Sets the member; `index` is its place in a list. 1: it cannot be used, as it is of another type or too large; the event can do
 * without it. -1: it cannot. */
int pp_kineto_set(struct kineto_event *e, enum kineto_place place, int key, size_t index, const struct kineto_value *v,
                  struct pp_intern *names);
