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

enum pp_memory_kind { PP_MEMORY_ALLOCATION, PP_MEMORY_REST, PP_MEMORY_EARLIER, PP_MEMORY_STACK }; /* of /memory_peak */
