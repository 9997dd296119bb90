/* Collectives of a module of XLA, of its HloProto. Called by hlo_table.c. */
#pragma once

#include "aggregate/read/xspace/hlo.h"
#include "aggregate/read/xspace/wire.h"

struct pp_hlo_module {
	const uint8_t *name; /* in the message */
	size_t length;
	struct pp_hlo_devices devices;
};

/* Reads the message; calls `take` for each collective with its name, which owns the collective then and returns 0 or -errno. The
 * caller frees ret_module->devices.id, on failure too. What is damaged is left out. 0; -ENOMEM, or what `take` returned. */
int pp_hlo_of_proto(const struct pp_field *proto, struct pp_hlo_module *ret_module,
                    int (*take)(void *context, const uint8_t *name, size_t length, struct pp_hlo *h), void *context);
