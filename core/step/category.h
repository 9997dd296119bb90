/* Categories of exclusive time: ids, names, colours; core/step/category.def. Used by step_attr, blocks and every table. */
#pragma once

enum pp_category {
	PP_CATEGORY_BY_NAME = 0,
#define PP_CATEGORY(id, symbol, name, colour) PP_CATEGORY_##symbol = (id),
#include "core/step/category.def"
#undef PP_CATEGORY
	PP_CATEGORIES = 10, /* ids are 1..PP_CATEGORIES */
};

/* Name of an id, "?" where there is none. Static storage. */
const char *pp_category_name(int id);
/* Its colour, "#rrggbb". */
const char *pp_category_colour(int id);
