/* The rare packets of a Perfetto trace, by protobuf-c: head, tracks, names. In: plain values, valid UTF-8. Out: bytes as in
 * Trace.packet of proto/perfetto.proto. Each function writes where `room` is enough, and returns the size that it needs; 0: no
 * memory. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct pp_perfetto_attribute {
	const char *key, *text; /* text NULL: number */
	int64_t number;
};

struct pp_perfetto_head {
	int has_date;      /* else the next two are nothing, and times are of no clock that has a date */
	uint64_t clock_ns; /* time of the trace's own clock at `date_ns` */
	uint64_t date_ns;  /* ns after 1970 */
	const struct pp_perfetto_attribute *attribute;
	size_t attributes;
};

struct pp_perfetto_track {
	uint64_t uuid, parent; /* parent 0: none */
	const char *name;
	int32_t pid;              /* 0: not a process */
	const char *const *label; /* of a process */
	size_t labels;
	int32_t order;    /* among those of its parent */
	const char *unit; /* NULL: not a counter */
};

enum pp_perfetto_names { PP_PERFETTO_CATEGORIES, PP_PERFETTO_EVENTS, PP_PERFETTO_ANNOTATIONS, PP_PERFETTO_TEXTS };

struct pp_perfetto_name {
	uint64_t iid; /* not 0 */
	const char *text;
};

/* The first packets: the clock, the defaults of the sequence, what the trace is of. */
size_t pp_perfetto_head_put(uint8_t *to, size_t room, const struct pp_perfetto_head *head);
/* A track, before its first event. */
size_t pp_perfetto_track_put(uint8_t *to, size_t room, const struct pp_perfetto_track *track);
/* Interned names, before the first event that uses one. */
size_t pp_perfetto_names_put(uint8_t *to, size_t room, enum pp_perfetto_names of, const struct pp_perfetto_name *name,
                             size_t names);
