/* Looks tf.data's types up by their exact names; see tf_data_type.h and tf_data_type.def. */
#include "aggregate/analyze/tf_data_type.h"

#include <string.h>

#define ITERATOR "Iterator::"

enum { ASYNC = PP_TF_ASYNC, EACH = PP_TF_EACH };

static const struct {
	const char *name;
	enum pp_tf_data_class class;
	unsigned flags;
} types[] = {
#define PP_TF_TYPE(name, class, flags) {name, PP_TF_DATA_##class, flags},
#include "aggregate/analyze/tf_data_type.def"
};

enum pp_tf_event pp_tf_event_of(const char *name)
{
	/* Datasets with threads of their own, as these name their events. */
	static const char *const link[] = {"Prefetch",     "ParallelInterleave", "ParallelMap",   "MapAndBatch",
	                                   "ParseExample", "ParallelBatch",      "ParallelFilter"};

	if (!strncmp(name, ITERATOR, strlen(ITERATOR)))
		return strstr(name + strlen(ITERATOR), "::") ? PP_TF_ITERATOR : PP_TF_ROOT;
	for (size_t i = 0; i < sizeof(link) / sizeof(link[0]); i++) {
		const char *end = name + strlen(link[i]);

		if (strncmp(name, link[i], strlen(link[i])) != 0)
			continue;
		if (!strcmp(end, "Produce"))
			return PP_TF_PRODUCE;
		if (!strcmp(end, "Consume"))
			return PP_TF_CONSUME;
	}
	return PP_TF_NONE;
}

/* Without what stands before and behind the type's own name in some releases. */
static size_t strip(const char **text, size_t length)
{
	static const char before[] = "Experimental", behind[] = "Dataset";
	size_t digits = length;

	if (length > sizeof(before) - 1 && !memcmp(*text, before, sizeof(before) - 1)) {
		*text += sizeof(before) - 1;
		length -= sizeof(before) - 1;
		digits = length;
	}
	while (digits && (*text)[digits - 1] >= '0' && (*text)[digits - 1] <= '9')
		digits--;
	if (digits > 1 && digits < length && (*text)[digits - 1] == 'V')
		length = digits - 1;
	if (length > sizeof(behind) - 1 && !memcmp(*text + length - (sizeof(behind) - 1), behind, sizeof(behind) - 1))
		length -= sizeof(behind) - 1;
	return length;
}

struct pp_tf_type pp_tf_type_of(const char *name)
{
	struct pp_tf_type type = {.text = name, .class = PP_TF_DATA_UNKNOWN};
	const char *at, *own;
	size_t length;

	while ((at = strstr(type.text, "::")))
		type.text = at + 2;
	type.length = strcspn(type.text, "[(#");
	own = type.text;
	length = strip(&own, type.length);
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (length != strlen(types[i].name) || memcmp(own, types[i].name, length) != 0)
			continue;
		type.class = types[i].class;
		type.flags = types[i].flags;
	}
	return type;
}

int pp_tf_is_of_device(const char *name)
{
	return !strcmp(name, ITERATOR "Prefetch::Generator") || !strcmp(name, ITERATOR "Root::Prefetch::Generator");
}

const char *pp_tf_advice(int class)
{
	static const char *const advice[PP_TF_DATA_CLASSES] = {
	        [PP_TF_DATA_UNKNOWN] = "the type of dataset is not a known one: measure the pipeline alone, with it and without",
	        [PP_TF_DATA_ROOT] =
	                "the pipeline's own bookkeeping is slow: look for a lack of cores (threadpool_size, cpu_budget of its "
	                "root)",
	        [PP_TF_DATA_SOURCE] =
	                "read the source in parallel (interleave with num_parallel_calls=tf.data.AUTOTUNE, several files), "
	                "and keep the data near the host",
	        [PP_TF_DATA_REMOTE_SOURCE] = "the remote source is slow: profile the host that serves it",
	        [PP_TF_DATA_DATA_SERVICE] = "the tf.data service is slow: profile its workers, and start more of them",
	        [PP_TF_DATA_PARALLELISABLE] =
	                "run this transformation in parallel: num_parallel_calls=tf.data.AUTOTUNE; cache() behind "
	                "it where the data fit into memory and it has nothing random",
	        [PP_TF_DATA_PARALLEL] =
	                "the threads of this transformation are too slow: a larger num_parallel_calls or AUTOTUNE, as far "
	                "as there are cores, or a cheaper function (no py_function); cache() behind it",
	        [PP_TF_DATA_SEQUENTIAL] =
	                "this transformation runs on one thread: run several copies of the pipeline over shards and "
	                "interleave them, or cache() behind it",
	        [PP_TF_DATA_OTHER] =
	                "look at what makes its elements: prefetch(tf.data.AUTOTUNE) at the end of the pipeline, and its "
	                "input in parallel",
	};

	return class >= 0 && class < PP_TF_DATA_CLASSES ? advice[class] : advice[PP_TF_DATA_UNKNOWN];
}
