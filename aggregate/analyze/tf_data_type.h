/* What tf.data's iterators are by their names. In: names of events. Out: type, class and what joins threads. Pure. Called by
 * tf_data.c and tf_data_call.c. */
#pragma once

#include <stddef.h>

#include "aggregate/dataset/table/word.h"

enum pp_tf_type_flags { PP_TF_ASYNC = 1, PP_TF_EACH = 2 };

struct pp_tf_type {
	const char *text; /* in the name: "ParallelMapV2", without the number of an input */
	size_t length;
	enum pp_tf_data_class class;
	unsigned flags; /* enum pp_tf_type_flags */
};

enum pp_tf_event {
	PP_TF_NONE,
	PP_TF_ITERATOR, /* one call of an iterator */
	PP_TF_ROOT,     /* of one that the program calls: its name has one part */
	PP_TF_PRODUCE,  /* an element is made ahead */
	PP_TF_CONSUME,
};

/* What an event of the host with this name is. */
enum pp_tf_event pp_tf_event_of(const char *name);
/* The type of the iterator "Iterator::Root::Zip[0]::ParallelMapV2": its last part. */
struct pp_tf_type pp_tf_type_of(const char *name);
/* What to do about a slow iterator of the class: enum pp_tf_data_class. */
const char *pp_tf_advice(int class);
/* Does the iterator give elements of the host's pipeline to one device? tf.distribute makes one for each. */
int pp_tf_is_of_device(const char *name);
