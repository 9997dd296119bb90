/* Writes records of devices into a ring made by hand, as the collector's thread for CUPTI does. Used by tests of rings. */
#pragma once

#include "tests/unit/aggregate/read/ring/ring_maker.h"

static inline void device_name(struct maker *m, uint32_t slot, uint32_t number, const char *text)
{
	struct pp_record r = {.tick = 1, .kind = PP_RECORD_DEVICE_NAME, .device_name = {.number = number}};

	maker_put(m, slot, &r, text, (uint32_t)strlen(text));
}

static inline void device_launch(struct maker *m, uint32_t slot, uint32_t number, uint32_t registers, uint32_t shared,
                                 uint32_t block, uint32_t grid)
{
	struct pp_record r = {.tick = 1,
	                      .kind = PP_RECORD_DEVICE_LAUNCH,
	                      .device_launch = {.number = number,
	                                        .registers = registers,
	                                        .dynamic_shared = shared,
	                                        .block = {block, 1, 1},
	                                        .grid = {grid, 1, 1}}};

	maker_put(m, slot, &r, NULL, 0);
}

static inline void device_ran(struct maker *m, uint32_t slot, pp_tick begin, pp_tick end, struct pp_record_device device)
{
	struct pp_record r = {.tick = begin, .kind = PP_RECORD_DEVICE, .device = device};

	r.device.end = end;
	maker_put(m, slot, &r, NULL, 0);
}

static inline void device_called(struct maker *m, uint32_t slot, pp_tick begin, pp_tick end, struct pp_record_device_call call)
{
	struct pp_record r = {.tick = begin, .kind = PP_RECORD_DEVICE_CALL, .device_call = call};

	r.device_call.end = end;
	maker_put(m, slot, &r, NULL, 0);
}

static inline void device_memory(struct maker *m, uint32_t slot, pp_tick tick, struct pp_record_device_memory memory)
{
	struct pp_record r = {.tick = tick, .kind = PP_RECORD_DEVICE_MEMORY, .device_memory = memory};

	maker_put(m, slot, &r, NULL, 0);
}

static inline void device_pool(struct maker *m, uint32_t slot, pp_tick tick, struct pp_record_device_pool pool)
{
	struct pp_record r = {.tick = tick, .kind = PP_RECORD_DEVICE_POOL, .device_pool = pool};

	maker_put(m, slot, &r, NULL, 0);
}

/* A device with the limits of an H100. */
static inline void device_info(struct maker *m, uint32_t slot, uint16_t device, const char *name)
{
	const struct pp_device_limits limits = {.memory = UINT64_C(85) << 30,
	                                        .bandwidth = UINT64_C(3350000000000),
	                                        .capability = 9 << 16,
	                                        .multiprocessors = 132,
	                                        .warps = 64,
	                                        .blocks = 32,
	                                        .registers = 65536,
	                                        .shared = 233472,
	                                        .warp_threads = 32,
	                                        .block_registers = 65536,
	                                        .block_shared = 232448,
	                                        .clock_khz = 1980000};
	struct pp_record r = {.tick = 1, .kind = PP_RECORD_DEVICE_INFO, .device_info = {.device = device}};
	char text[sizeof(limits) + 64];

	memcpy(text, &limits, sizeof(limits));
	snprintf(text + sizeof(limits), 64, "%s", name);
	maker_put(m, slot, &r, text, (uint32_t)(sizeof(limits) + strlen(name)));
}
