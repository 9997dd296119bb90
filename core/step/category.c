/* The table of categories; see category.h. */
#include "core/step/category.h"

static const char *const names[] = {
#define PP_CATEGORY(id, symbol, name, colour) [id] = (name),
#include "core/step/category.def"
#undef PP_CATEGORY
};

static const char *const colours[] = {
#define PP_CATEGORY(id, symbol, name, colour) [id] = (colour),
#include "core/step/category.def"
#undef PP_CATEGORY
};

const char *pp_category_name(int id)
{
	return id >= 1 && id <= PP_CATEGORIES ? names[id] : "?";
}

const char *pp_category_colour(int id)
{
	return id >= 1 && id <= PP_CATEGORIES ? colours[id] : "#9AA0A6";
}
