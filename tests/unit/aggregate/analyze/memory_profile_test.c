/* /allocator, /memory_timeline and /memory_peak of a capture made by hand. memory_profile_test GOLDEN [--update]. */
#include "tests/unit/aggregate/tools_kit.h"

#include "core/capture/side.h"

enum { MANY = 2500 };

static struct pp_allocation *call(struct kit *k, size_t r, const char *allocator, int is_free, uint64_t address, int64_t time)
{
	struct pp_rank *rank = &k->capture.rank[r];
	struct pp_allocation *a;

	if (!rank->allocation)
		rank->allocation = calloc(MANY, sizeof(*a));
	a = &rank->allocation[rank->allocations++];
	*a = (struct pp_allocation){.time = time,
	                            .allocator = pp_intern_put(k->capture.names, allocator, strlen(allocator)),
	                            .is_free = is_free,
	                            .address = address,
	                            .step = -1,
	                            .requested = -1,
	                            .bytes = -1,
	                            .allocated = -1,
	                            .reserved = -1,
	                            .available = -1,
	                            .peak = -1,
	                            .fragmentation = -1};
	return a;
}

/* As BFC reports it: 1000 bytes of stack, 5000 in use before the recording, 10000 in all. */
static struct pp_allocation *bfc(struct kit *k, int is_free, uint64_t address, int64_t time, int64_t bytes, int64_t heap)
{
	struct pp_allocation *a = call(k, 0, "GPU_0_bfc", is_free, address, time);

	a->bytes = bytes;
	a->requested = bytes > 8 ? bytes - 8 : bytes;
	a->allocated = heap;
	a->reserved = 1000;
	a->available = 9000 - heap;
	a->fragmentation = 0.25;
	a->peak = 8500;
	return a;
}

static void name(struct kit *k, struct pp_allocation *a, const char *op, const char *region, const char *shape)
{
	a->op = pp_intern_put(k->capture.names, op, strlen(op));
	a->region = pp_intern_put(k->capture.names, region, strlen(region));
	a->type = pp_intern_put(k->capture.names, "float", 5);
	a->shape = pp_intern_put(k->capture.names, shape, strlen(shape));
}

static void add_bfc(struct kit *k)
{
	name(k, bfc(k, 0, 0x100, kit_at(1) + 10, 512, 5512), "weights", "persist/dynamic", "[128]");
	name(k, bfc(k, 0, 0x200, kit_at(2) + 10, 256, 5768), "MatMul", "temp", "[64]");
	name(k, bfc(k, 0, 0x300, kit_at(2) + 20, 256, 6024), "MatMul", "temp", "[64]");
	name(k, bfc(k, 0, 0x400, kit_at(2) + 30, 256, 6280), "MatMul", "output", "[64]");
	bfc(k, 1, 0x900, kit_at(2) + 35, 80, 6200);                                  /* allocated before the recording began */
	name(k, bfc(k, 0, 0x500, kit_at(2) + 40, 80, 6280), "Relu", "temp", "[20]"); /* the peak once more: the last one counts */
	bfc(k, 1, 0x200, kit_at(2) + 50, 256, 6024);
	bfc(k, 1, 0x300, kit_at(3) + 10, 0, 5768); /* its size is that of its allocation */
	name(k, bfc(k, 0, 0x300, kit_at(3) + 20, 64, 5832), "Softmax", "temp", "[16]");
}

/* An allocator that reports nothing of itself: PyTorch on CPU. Sizes that are no sizes count as unknown. */
static void add_cpu(struct kit *k)
{
	call(k, 1, "cpu", 0, 1, kit_at(1))->bytes = 100;
	call(k, 1, "cpu", 0, 2, kit_at(2))->bytes = INT64_MAX - 50;
	call(k, 1, "cpu", 0, 3, kit_at(3))->bytes = INT64_MAX; /* the sum stays at the most */
	call(k, 1, "cpu", 1, 3, kit_at(4));
	call(k, 1, "cpu", 1, 7, kit_at(9))->bytes = INT64_MIN;
}

/* More calls than the timeline has points: the peak stays, and the rest is counted. */
static void check_many(struct kit *k)
{
	size_t points = 0, peaks = 0;

	for (size_t i = 0; i < k->d.memory_timelines; i++) {
		const struct pp_row_memory_timeline *row = &k->d.memory_timeline[i];

		if (strcmp(pp_intern_text(k->d.names, row->allocator, NULL), "many"))
			continue;
		points++;
		peaks += row->in_use_bytes == 8 * (MANY - 100);
	}
	CHECK_INT(points, 1000);
	CHECK_INT(peaks, 1);
	for (size_t i = 0; i < k->d.allocators; i++)
		if (!strcmp(pp_intern_text(k->d.names, k->d.allocator[i].allocator, NULL), "many"))
			CHECK_INT(k->d.allocator[i].timeline_left_out, MANY - 100 - 1000);
}

int main(int argc, char **argv)
{
	struct kit k;

	kit_begin(&k);
	add_bfc(&k);
	add_cpu(&k);
	kit_end(&k);
	kit_table(&k, PP_TABLE_allocator);
	kit_table(&k, PP_TABLE_memory_timeline);
	kit_table(&k, PP_TABLE_memory_peak);
	kit_check(&k, argv[1], argc > 2);

	kit_begin(&k);
	for (int64_t i = 0; i < MANY - 100; i++) { /* each of another size: more rows than the peak has */
		struct pp_allocation *a = call(&k, 0, "many", 0, (uint64_t)i, kit_at(1));

		a->bytes = 8;
		a->requested = i % 1200;
	}
	kit_end(&k);
	check_many(&k);
	CHECK_INT(k.d.memory_peaks, 1001);
	CHECK_INT(k.d.memory_peak[1000].kind, 1);
	CHECK_INT(k.d.memory_peak[1000].bytes, 8 * 2 * 200);
	fclose(k.to);
	free(k.text);
	pp_dataset_release(&k.d);
	for (size_t r = 0; r < KIT_RANKS; r++)
		pp_attr_release(&k.attr[r]);
	pp_steps_release(&k.steps);
	free_capture(&k.capture);
	return test_end();
}
