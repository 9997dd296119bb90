/* /input_op, /input_stage, /input_wait and /step_statistics of a capture made by hand. input_op_test GOLDEN [--update]. */
#include "tests/unit/aggregate/tools_kit.h"

#include "core/capture/thread.h"

static void add_copy(struct pp_capture *c, size_t r, enum pp_device_activity activity, int64_t begin, int64_t end)
{
	add_span(c, r, 3, PP_SPAN_DEVICE, "Memcpy", begin, end)->device.activity = (uint8_t)activity;
	c->rank[r].thread[3].device = 1;
}

/* tf.data's iterators on a thread of their own, nested as TensorFlow nests them. */
static void add_iterators(struct pp_capture *c, int64_t at)
{
	add_range(c, 0, 1, "Iterator::Batch::Map#id=3#", at, at + 500);
	add_range(c, 0, 1, "Iterator::Batch::Map::TFRecord", at + 100, at + 300);
	add_range(c, 0, 1, "decode:DecodeJpeg", at + 300, at + 450); /* no input operation: the time stays with Map */
	add_range(c, 0, 1, "Iterator::Prefetch::TFRecord", at + 600, at + 700);
	add_range(c, 0, 1, "Iterator::ParallelMap::TFRecordReader", at + 700, at + 730);
	add_range(c, 0, 1, "PrefetchConsume#element_id=7#", at + 750, at + 760); /* a link between threads */
	add_range(c, 0, 1, "Iterator::Prefetch", at + 800, at + 900);
	add_range(c, 0, 1, "Iterator::Prefetch", at + 850, at + 950); /* sticks out */
}

static void add_others(struct pp_capture *c, int64_t at)
{
	add_range(c, 1, 0, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", at, at + 100);
	add_range(c, 1, 0, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at + 100, at + 150);
	add_range(c, 1, 0, "IteratorGetNextOp::DoCompute", at + 150, at + 170);
	add_range(c, 1, 0, "train/InfeedEnqueueTuple:InfeedEnqueue", at + 170, at + 180);
	add_range(c, 1, 0, "MemcpyHToD", at + 180, at + 190);
	add_range(c, 1, 0, "cond_input_3:_Arg", at + 190, at + 195);                     /* an operator, whatever its path says */
	add_range(c, 1, 0, "IteratorGetNextAsOptional_1/_23:_Recv", at + 195, at + 199); /* its type is _Recv */
	add_range(c, 1, 0, "next/Get_2:IteratorGetNext", at + 270, at + 280);
	add_range(c, 1, 0, "my batch", at + 200, at + 260)->category = PP_CATEGORY_INPUT;
	add_range(c, 1, 0, "augment", at + 210, at + 220);
	add_range(c, 1, 0, "forward", at + 300, at + 900);
	add_copy(c, 1, PP_DEVICE_HOST_TO_DEVICE, at + 190, at + 230);
	add_copy(c, 1, PP_DEVICE_DEVICE_TO_HOST, at + 900, at + 990);
}

static void add_reads(struct pp_capture *c, int64_t at)
{
	struct pp_span *span = add_mpi(c, 0, "MPI_File_read_at", 0, at + 20, at + 60);

	span->mpi.comm = 5;
	span = add_mpi(c, 0, "MPI_File_iread_at", 0, at + 100, at + 105);
	span->mpi.comm = 5;
	span = add_span(c, 0, 2, PP_SPAN_REQUEST, "MPI_File_iread_at", at + 100, at + 400);
	span->mpi.call = call_number("MPI_File_iread_at");
	add_mpi(c, 0, "MPI_File_write_at", 0, at + 500, at + 600)->mpi.comm = 5;
}

int main(int argc, char **argv)
{
	struct kit k;

	kit_begin(&k);
	for (int64_t s = 1; s < KIT_STEPS - 1; s++) {
		add_iterators(&k.capture, kit_at(s));
		add_others(&k.capture, kit_at(s));
	}
	add_reads(&k.capture, kit_at(2));
	add_range(&k.capture, 0, 1, "Iterator::Prefetch", kit_at(5), kit_at(5) + 500)->flags = PP_SPAN_CUT_END;
	add_range(&k.capture, 0, 0, "load_batch", kit_at(3), kit_at(3) + 900);
	kit_end(&k);
	CHECK_INT(k.d.input_op_left_out->cut, 1);
	kit_table(&k, PP_TABLE_input_op);
	kit_table(&k, PP_TABLE_input_stage);
	kit_table(&k, PP_TABLE_input_bound);
	kit_table(&k, PP_TABLE_input_wait);
	kit_table(&k, PP_TABLE_step_statistics);
	kit_check(&k, argv[1], argc > 2);
	return test_end();
}
