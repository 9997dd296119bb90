/* Numbers in rows whose texts functions.c has. Used where these rows are made. */
#pragma once

enum pp_input_category { /* stages of input, ids of /input_op */
	                 PP_INPUT_ON_DEMAND = 1,
	                 PP_INPUT_IN_ADVANCE,
	                 PP_INPUT_PREPROCESSING,
	                 PP_INPUT_ENQUEUING,
	                 PP_INPUT_OTHER,
	                 PP_INPUT_CATEGORIES = PP_INPUT_OTHER,
};

enum pp_tf_data_class { /* of iterators of tf.data: whose advice holds for a slow one */
	                PP_TF_DATA_UNKNOWN,
	                PP_TF_DATA_ROOT,
	                PP_TF_DATA_SOURCE,
	                PP_TF_DATA_REMOTE_SOURCE,
	                PP_TF_DATA_DATA_SERVICE,
	                PP_TF_DATA_PARALLELISABLE,
	                PP_TF_DATA_PARALLEL,
	                PP_TF_DATA_SEQUENTIAL,
	                PP_TF_DATA_OTHER,
	                PP_TF_DATA_CLASSES,
};

enum pp_memory_kind { PP_MEMORY_ALLOCATION, PP_MEMORY_REST, PP_MEMORY_EARLIER, PP_MEMORY_STACK }; /* of /memory_peak */
