/* Names of tf.data's events: what they are, and types by their exact names. */
#include "aggregate/analyze/tf_data_type.h"

#include <string.h>

#include "aggregate/dataset/table/functions.h"
#include "tests/test.h"

static void check(const char *name, const char *type, enum pp_tf_data_class class, unsigned flags)
{
	struct pp_tf_type t = pp_tf_type_of(name);

	CHECK(t.length == strlen(type) && !memcmp(t.text, type, t.length));
	CHECK_INT(t.class, class);
	CHECK_INT(t.flags, flags);
}

TEST(types)
{
	check("Iterator::Root", "Root", PP_TF_DATA_ROOT, 0);
	check("Iterator::Root::Prefetch::ParallelMapV2", "ParallelMapV2", PP_TF_DATA_PARALLEL, PP_TF_ASYNC);
	check("Iterator::Root::ParallelInterleaveV4[2]::TFRecord", "TFRecord", PP_TF_DATA_SOURCE, 0);
	check("Iterator::Batch::Map", "Map", PP_TF_DATA_PARALLELISABLE, 0);
	check("Iterator::FixedLengthRecordV2", "FixedLengthRecordV2", PP_TF_DATA_SOURCE, 0);
	check("Iterator::Root::Filter", "Filter", PP_TF_DATA_SEQUENTIAL, 0);
	check("Iterator::ReverbDataset", "ReverbDataset", PP_TF_DATA_REMOTE_SOURCE, 0);
	check("Iterator::Root::DataServiceV4", "DataServiceV4", PP_TF_DATA_DATA_SERVICE, PP_TF_ASYNC);
	check("Iterator::Root::ExperimentalMapAndBatch", "ExperimentalMapAndBatch", PP_TF_DATA_PARALLEL, PP_TF_ASYNC);
	check("Iterator::Root::SyntheticDatasetOp", "SyntheticDatasetOp", PP_TF_DATA_SOURCE, 0);
	check("Iterator::Root::ForeverRepeat[0]", "ForeverRepeat", PP_TF_DATA_OTHER, PP_TF_EACH);
	/* words in a name decide nothing */
	check("Iterator::Root::MyTFRecordMap", "MyTFRecordMap", PP_TF_DATA_UNKNOWN, 0);
	check("Iterator::Root::MapV", "MapV", PP_TF_DATA_UNKNOWN, 0);
	check("Iterator::Root::V2", "V2", PP_TF_DATA_UNKNOWN, 0);
	check("Iterator::", "", PP_TF_DATA_UNKNOWN, 0);
	for (int c = 0; c < PP_TF_DATA_CLASSES; c++)
		CHECK(pp_tf_data_class_name(c)[0]);
}

TEST(events)
{
	CHECK_INT(pp_tf_event_of("Iterator::Root"), PP_TF_ROOT);
	CHECK_INT(pp_tf_event_of("Iterator::Prefetch"), PP_TF_ROOT);
	CHECK_INT(pp_tf_event_of("Iterator::Root::Prefetch"), PP_TF_ITERATOR);
	CHECK_INT(pp_tf_event_of("PrefetchProduce"), PP_TF_PRODUCE);
	CHECK_INT(pp_tf_event_of("ParallelBatchConsume"), PP_TF_CONSUME);
	CHECK_INT(pp_tf_event_of("PrefetchProducer"), PP_TF_NONE);
	CHECK_INT(pp_tf_event_of("MyPrefetchProduce"), PP_TF_NONE);
	CHECK_INT(pp_tf_event_of("IteratorGetNextOp::DoCompute"), PP_TF_NONE);
	CHECK_INT(pp_tf_event_of("MakeIterator::Root"), PP_TF_NONE);
	CHECK(pp_tf_is_of_device("Iterator::Prefetch::Generator"));
	CHECK(pp_tf_is_of_device("Iterator::Root::Prefetch::Generator"));
	CHECK(!pp_tf_is_of_device("Iterator::Root::Prefetch::FlatMap[0]::Generator"));
}

int main(void)
{
	types();
	events();
	return test_end();
}
