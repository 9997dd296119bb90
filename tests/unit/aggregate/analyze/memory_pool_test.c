/* /memory_pool of a capture made by hand. memory_pool_test GOLDEN [--update]. */
#include "core/capture/side.h"
#include "core/ring/record.h"
#include "tests/unit/aggregate/tools_kit.h"

enum { MOST = 64 };

static struct pp_pool_event *event(struct kit *k, size_t r, uint32_t device, uint64_t address, int action, int64_t time)
{
	struct pp_rank *rank = &k->capture.rank[r];
	struct pp_pool_event *e;

	if (!rank->pool_event)
		rank->pool_event = calloc(MOST, sizeof(*e));
	e = &rank->pool_event[rank->pool_events++];
	*e = (struct pp_pool_event){.time = time,
	                            .address = address,
	                            .size = -1,
	                            .used = -1,
	                            .threshold = -1,
	                            .device = device,
	                            .record = (uint32_t)rank->pool_events,
	                            .action = (uint8_t)action};
	return e;
}

static struct pp_pool_event *sized(struct pp_pool_event *e, int64_t size, int64_t used, int64_t threshold)
{
	e->size = size;
	e->used = used;
	e->threshold = threshold;
	return e;
}

static void call(struct kit *k, size_t r, uint32_t device, uint64_t pool, int is_free, int64_t time, int64_t used)
{
	struct pp_rank *rank = &k->capture.rank[r];
	struct pp_allocation *a;

	if (!rank->allocation)
		rank->allocation = calloc(MOST, sizeof(*a));
	a = &rank->allocation[rank->allocations++];
	*a = (struct pp_allocation){.time = time,
	                            .allocator = pp_intern_put(k->capture.names, "GPU_0_pool_0", 12),
	                            .is_free = is_free,
	                            .address = rank->allocations,
	                            .step = -1,
	                            .requested = 8,
	                            .bytes = 8,
	                            .allocated = used < 0 ? 8 : used,
	                            .is_counted = used < 0,
	                            .reserved = -1,
	                            .available = -1,
	                            .peak = -1,
	                            .fragmentation = -1,
	                            .pool = pool,
	                            .device = device};
}

/* A whole life, on both devices with one handle; the sizes of allocations count. */
static void add_whole(struct kit *k)
{
	for (uint32_t device = 0; device < 2; device++) {
		sized(event(k, 0, device, 0x100, PP_DEVICE_POOL_CREATED, kit_at(1)), 0, 0, 0);
		sized(event(k, 0, device, 0x100, PP_DEVICE_POOL_ALLOCATED, kit_at(1) + 10), 1000 << device, 8, 500);
		call(k, 0, device, 0x100, 0, kit_at(1) + 10, 8);
		call(k, 0, device, 0x100, 0, kit_at(1) + 20, 16);
	}
	sized(event(k, 0, 0, 0x100, PP_DEVICE_POOL_TRIMMED, kit_at(2)), 600, 16, 400);
	event(k, 0, 0, 0x100, PP_DEVICE_POOL_DESTROYED, kit_at(3));
	call(k, 0, 0, 0x100, 1, kit_at(3) + 10, 0); /* of the destroyed one */
	sized(event(k, 0, 0, 0x100, PP_DEVICE_POOL_FREED, kit_at(3) + 10), 8, 0, 400);
}

/* Handles that are used again: after a destroy, without a destroy that was seen, without a creation that was seen. */
static void add_again(struct kit *k)
{
	event(k, 0, 0, 0x200, PP_DEVICE_POOL_CREATED, kit_at(1));
	event(k, 0, 0, 0x200, PP_DEVICE_POOL_DESTROYED, kit_at(1) + 10);
	event(k, 0, 0, 0x200, PP_DEVICE_POOL_CREATED, kit_at(2));
	event(k, 0, 0, 0x200, PP_DEVICE_POOL_CREATED, kit_at(3));
	event(k, 0, 0, 0x200, PP_DEVICE_POOL_DESTROYED, kit_at(3) + 10);
	call(k, 0, 0, 0x200, 0, kit_at(4), -1); /* what is in use is not known of this one */
}

/* Destroyed, trimmed, freed without a creation; another process's; and what another rank has. */
static void add_parts(struct kit *k)
{
	struct pp_pool_event *e;

	event(k, 1, 0, 0x300, PP_DEVICE_POOL_DESTROYED, kit_at(2));
	event(k, 1, 0, 0x400, PP_DEVICE_POOL_TRIMMED, kit_at(2));
	event(k, 1, 0, 0x400, PP_DEVICE_POOL_TRIMMED, kit_at(3));
	sized(event(k, 1, 0, 0x500, PP_DEVICE_POOL_FREED, kit_at(2)), 64, 32, INT64_MAX);
	e = event(k, 1, 3, 0x600, PP_DEVICE_POOL_CREATED, kit_at(2));
	e->is_imported = 1;
	call(k, 1, 0, 0xffffffffffffff00, 0, kit_at(2), 77); /* the pool's own record was lost */
}

/* Before the window: what holds when it begins counts; a pool that was gone by then does not, nor do trims. */
static void add_before(struct kit *k)
{
	sized(event(k, 1, 1, 0x700, PP_DEVICE_POOL_CREATED, 10), 0, 0, 0)->is_before = 1;
	sized(event(k, 1, 1, 0x700, PP_DEVICE_POOL_ALLOCATED, 20), 5000, 4000, 0)->is_before = 1;
	sized(event(k, 1, 1, 0x700, PP_DEVICE_POOL_TRIMMED, 30), 3000, 2000, 100)->is_before = 1;
	call(k, 1, 1, 0x700, 1, kit_at(2), 1000);
	event(k, 1, 1, 0x800, PP_DEVICE_POOL_CREATED, 10)->is_before = 1;
	event(k, 1, 1, 0x800, PP_DEVICE_POOL_DESTROYED, 20)->is_before = 1;
	event(k, 1, 1, 0x900, PP_DEVICE_POOL_CREATED, 10)->is_before = 1;
}

int main(int argc, char **argv)
{
	struct kit k;

	kit_begin(&k);
	add_whole(&k);
	add_again(&k);
	add_parts(&k);
	add_before(&k);
	kit_end(&k);
	kit_table(&k, PP_TABLE_memory_pool);
	kit_check(&k, argv[1], argc > 2);
	return test_end();
}
