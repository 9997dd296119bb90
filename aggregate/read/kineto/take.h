/* Sorts events into threads and streams as spans. In: events by json.c. Out: kineto_store. Internal to this room. */
#pragma once

#include "aggregate/read/kineto/state.h"

/* Takes an event that is complete. 0, or -ENOMEM. */
int pp_kineto_take(struct kineto_store *s, const struct kineto_event *e);
/* Takes the values of an event that is a counter, or a range of counters: they hold from its begin. 0, or -ENOMEM. */
int pp_kineto_take_counters(struct kineto_store *s, const struct kineto_event *e, const struct kineto_value_of *value,
                            size_t values);
/* A device of deviceProperties; of one number the first counts. 0, or -ENOMEM. */
int pp_kineto_take_device(struct kineto_store *s, int64_t number, uint32_t name, uint64_t memory);
/* Counts a part that cannot be read; the first one's offset and reason go into the trace's metadata. */
void pp_kineto_damage(struct kineto_store *s, uint64_t at, const char *what);
/* Counts a value that is left out because it has another type than expected; its event is read. `argument`: its number, or 0. */
void pp_kineto_mistyped(struct kineto_store *s, int argument);
