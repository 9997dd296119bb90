/* NVTX's payloads: of ranges and marks, and the functions of its payload module. In: NVTX calls, any thread. Out: records. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/ring/record.h"
#include "core/source/nvtx/nvtx_abi.h"

/* A range or mark whose attributes have a payload, payload and all. `name`: text of the attributes, `length` bytes. */
void pp_nvtx_emit_payload(enum pp_record_kind kind, uint16_t domain, uint64_t id, const struct pp_nvtx_attributes *a,
                          const char *name, size_t length) __attribute__((cold));
