/* NVTX's schemas, enumerations and names of handles, which later payloads need. In: NVTX calls, any thread.
 * Out: rows of pp_ring_header.definition. Held from the first call of a process on, put into the ring file when it becomes the
 * rank. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/source/nvtx/nvtx_abi.h"

/* Id of the schema: the application's own, or `foreign` (a chained tool's, 0 none), or a new one. */
uint64_t pp_nvtx_schema_register(uint16_t domain, const struct pp_nvtx_schema *schema, uint64_t foreign);
/* The same for an enumeration. */
uint64_t pp_nvtx_enum_register(uint16_t domain, const struct pp_nvtx_enum *e, uint64_t foreign);
/* `what`: module << 16 | function, or NVTX's resource type. */
void pp_nvtx_handle_name(uint16_t domain, uint32_t what, uint64_t handle, const char *name);
/* Bytes of a payload by its schema, 0 where it has no size; no lock, any thread. */
size_t pp_nvtx_schema_size(uint16_t domain, uint64_t schema);
/* Name of the schema; "" where it has none. Lives as long as the process. */
const char *pp_nvtx_schema_name(uint16_t domain, uint64_t schema, size_t *ret_length);
/* This process has become the rank. */
void pp_nvtx_definitions_publish(void);
/* Resets the lock in a forked child: its holder is gone. */
void pp_nvtx_definitions_child(void);
