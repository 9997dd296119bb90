/* Sends calls of exported names to the wrappers of an ABI. In: entry.S. Out: the addresses that it jumps to. */
#pragma once

#include <stdint.h>

/* index: twice the row of the table, and 1 more for PMPI_X; caller: where the call returns to. Where it goes; enters it into
 * pp_dispatch_slot where it always goes there. errno kept. */
void *pp_dispatch(uint32_t index, const void *caller) __attribute__((visibility("hidden")));
