/* /tf_data_pipeline and its tables of a capture made by hand: pipelines of one and of several threads, several iterators in one
 * row, and what cannot be tied. tf_data_test GOLDEN [--update]. */
#include "tests/unit/aggregate/tools_kit.h"

#include "core/capture/side.h"
#include "core/capture/thread.h"

static struct kit k;

static void add_iterator(size_t r, uint64_t id, uint64_t parent, const char *name, const char *dataset)
{
	struct pp_iterator it = {.id = id,
	                         .parent = parent,
	                         .name = pp_intern_put(k.capture.names, name, strlen(name)),
	                         .dataset = pp_intern_put(k.capture.names, dataset, strlen(dataset))};

	CHECK_INT(pp_side_append(&k.capture.rank[r], PP_SIDE_ID_iterator, &it, 1), 0);
}

/* A call of an iterator, or an element that is made or taken. Times in us. */
static struct pp_span *add(size_t r, uint32_t thread, const char *name, int64_t begin, int64_t us, uint64_t number)
{
	struct pp_span *s = add_range(&k.capture, r, thread, name, begin * 1000, (begin + us) * 1000);

	s->source = PP_SOURCE_XSPACE;
	s->range.payload = number;
	s->range.payload_type = PP_PAYLOAD_UINT64;
	return s;
}

/* range(8).prefetch(2): the first element is waited for, the second one was made ahead. */
static void add_prefetch(size_t r)
{
	add_iterator(r, 123, 0, "Iterator::Prefetch", "PrefetchDataset:1");
	add_iterator(r, 456, 123, "Iterator::Prefetch::Range", "RangeDataset:0");
	add(r, 1, "Iterator::Prefetch", 0, 100, 123);
	add(r, 1, "PrefetchConsume", 80, 20, 100);
	add(r, 1, "Iterator::Prefetch", 200, 20, 123);
	add(r, 1, "PrefetchConsume", 210, 10, 200);
	add(r, 2, "PrefetchProduce", 0, 80, 100);
	add(r, 2, "Iterator::Prefetch::Range", 0, 80, 456);
	add(r, 2, "PrefetchProduce", 100, 80, 200);
	add(r, 2, "Iterator::Prefetch::Range", 100, 80, 456);
	add(r, 2, "PrefetchProduce", 190, 10, 300); /* nobody takes it */
	add(r, 2, "Iterator::Prefetch::Range", 190, 10, 456);
}

/* range(2).map().repeat(2).batch(2) on one thread, as TensorFlow's guide has it; the map is slow. */
static void add_one_thread(size_t r)
{
	add_iterator(r, 11, 0, "Iterator::Batch", "BatchDatasetV2:3");
	add_iterator(r, 12, 11, "Iterator::Batch::ForeverRepeat", "RepeatDataset:2");
	add_iterator(r, 13, 12, "Iterator::Batch::ForeverRepeat[0]::Map", "MapDataset:1");
	add_iterator(r, 14, 13, "Iterator::Batch::ForeverRepeat[0]::Map::Range", "RangeDataset:0");
	add_iterator(r, 15, 12, "Iterator::Batch::ForeverRepeat[1]::Map", "MapDataset:1"); /* the second epoch */
	add_iterator(r, 16, 15, "Iterator::Batch::ForeverRepeat[1]::Map::Range", "RangeDataset:0");
	add(r, 1, "Iterator::Batch", 400, 60, 11);
	for (int i = 0; i < 2; i++) {
		add(r, 1, "Iterator::Batch::ForeverRepeat", 405 + 25 * i, 22, 12);
		add(r, 1, i ? "Iterator::Batch::ForeverRepeat[1]::Map" : "Iterator::Batch::ForeverRepeat[0]::Map", 406 + 25 * i, 20,
		    i ? 15 : 13);
		add(r, 1, i ? "Iterator::Batch::ForeverRepeat[1]::Map::Range" : "Iterator::Batch::ForeverRepeat[0]::Map::Range",
		    407 + 25 * i, 1, i ? 16 : 14);
	}
}

/* Two inputs of one zip are two rows. Elements of MapAndBatch are made by two threads at once. */
static void add_zip(size_t r)
{
	add_iterator(r, 21, 0, "Iterator::Root", "ZipDataset:4");
	add_iterator(r, 22, 21, "Iterator::Root::Zip", "ZipDataset:4");
	add_iterator(r, 23, 22, "Iterator::Root::Zip[0]::MapAndBatch", "fused(MapDataset:1,BatchDatasetV2:2)");
	add_iterator(r, 24, 22, "Iterator::Root::Zip[1]::MyOwn", "MyOwnDataset:3");
	add_iterator(r, 25, 23, "Iterator::Root::Zip[0]::MapAndBatch::TFRecord", "TFRecordDatasetV2:0");
	add(r, 1, "Iterator::Root", 500, 200, 21);
	add(r, 1, "Iterator::Root::Zip", 501, 198, 22);
	add(r, 1, "Iterator::Root::Zip[0]::MapAndBatch", 502, 150, 23);
	add(r, 1, "MapAndBatchConsume", 640, 5, 7);
	add(r, 1, "Iterator::Root::Zip[1]::MyOwn", 660, 30, 24);
	for (int i = 0; i < 2; i++) {
		add(r, 2 + (uint32_t)i, "MapAndBatchProduce", 510, 100 + 20 * i, 7);
		add(r, 2 + (uint32_t)i, "Iterator::Root::Zip[0]::MapAndBatch::TFRecord", 510, 90 + 20 * i, 25);
	}
}

/* What the host's pipeline gives to one device; and what cannot be tied. */
static void add_rest(size_t r)
{
	add_iterator(r, 31, 0, "Iterator::Root", "");
	add_iterator(r, 32, 31, "Iterator::Root::Prefetch", "");
	add_iterator(r, 33, 32, "Iterator::Root::Prefetch::Generator", "");
	add_iterator(r, 41, 42, "Iterator::Root::Map::A", ""); /* each is the other's parent */
	add_iterator(r, 42, 41, "Iterator::Root::Map::B", "");
	add(r, 1, "Iterator::Root", 750, 10, 31);
	add(r, 1, "Iterator::Root::Prefetch", 751, 8, 32);
	add(r, 1, "PrefetchConsume", 752, 1, 555); /* made before the window */
	add(r, 1, "ParallelInterleaveConsume", 753, 1, UINT64_MAX);
	add(r, 1, "Iterator::Root::Map::A", 770, 5, 41);
	add(r, 1, "Iterator::Root::Map::B", 771, 3, 42);
	add(r, 1, "Iterator::Root::Map", 780, 5, 99); /* no such iterator */
	add(r, 1, "Iterator::Root::Map", 790, 5, 0)->range.payload_type = PP_PAYLOAD_NONE;
	add(r, 1, "Iterator::Root", 795, 5, 31)->flags = PP_SPAN_CUT_END;
	add(r, 1, "Iterator::Root::Map", 810, 5, 41)->source = PP_SOURCE_NVTX; /* the program named a range so */
	add(r, 1, "ParallelMapConsume", 820, 1, 1);
}

int main(int argc, char **argv)
{
	kit_begin(&k);
	add_prefetch(0);
	add_one_thread(0);
	add_zip(0);
	add_rest(0);
	add_prefetch(1);
	kit_end(&k);
	kit_table(&k, PP_TABLE_tf_data_pipeline);
	kit_table(&k, PP_TABLE_tf_data_left_out);
	kit_table(&k, PP_TABLE_tf_data_iterator);
	kit_table(&k, PP_TABLE_tf_data_call);
	kit_table(&k, PP_TABLE_tf_data_node);
	kit_check(&k, argv[1], argc > 2);
	return test_end();
}
