/* NVIDIA's occupancy formula; see occupancy.h. */
#include "aggregate/read/occupancy.h"

#include <stdint.h>

#include "core/capture/side.h"
#include "core/ring/record.h"

enum {
	REGISTER_UNIT = 256,   /* registers of a warp are allocated in these */
	SHARED_UNIT = 128,     /* bytes of a block's shared memory, from compute capability 8 on */
	OLD_SHARED_UNIT = 256, /* before */
	SYSTEM_SHARED = 1024   /* bytes of each block that the driver takes, from compute capability 8 on */
};

static uint64_t round_up(uint64_t value, uint64_t unit)
{
	return (value + unit - 1) / unit * unit;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Each part of a multiprocessor has its share of the registers. */
static uint64_t blocks_by_registers(const struct pp_launch *l, const struct pp_device_limits *d, uint64_t warps)
{
	const uint64_t parts = d->capability == 0x60000 ? 2 : 4;
	uint64_t of_warp = round_up((uint64_t)l->registers * d->warp_threads, REGISTER_UNIT);

	if (!of_warp)
		return d->blocks;
	if (d->block_registers &&
	    of_warp * round_up(warps, parts) > d->block_registers) /* the device checks as if all parts took some */
		return 0;
	return d->registers / parts / of_warp * parts / warps;
}

static uint64_t blocks_by_shared(const struct pp_launch *l, const struct pp_device_limits *d)
{
	const int is_new = d->capability >> 16 >= 8;
	uint64_t bytes = (uint64_t)l->static_shared + l->dynamic_shared + (is_new ? SYSTEM_SHARED : 0);

	bytes = round_up(bytes, is_new ? SHARED_UNIT : OLD_SHARED_UNIT);
	return bytes ? d->shared / bytes : d->blocks;
}

float pp_occupancy(const struct pp_launch *launch, const struct pp_device_limits *limits)
{
	const struct pp_launch *l = launch;
	const struct pp_device_limits *d = limits;
	uint64_t threads, warps, blocks;

	if (!d->warps || !d->blocks || !d->registers || !d->shared || !d->warp_threads || !d->capability)
		return -1;
	for (int i = 0; i < 3; i++)
		if (!l->block[i] || l->block[i] > 1024) /* CUDA's limit of each side */
			return -1;
	threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];
	warps = (threads + d->warp_threads - 1) / d->warp_threads;
	blocks = least(d->blocks, d->warps / warps);
	blocks = least(blocks, blocks_by_registers(l, d, warps));
	blocks = least(blocks, blocks_by_shared(l, d));
	return blocks ? 100 * (float)(blocks * warps) / (float)d->warps : -1;
}
