/* Any bytes as a mangled name of C++: a text of a bounded length, or none; see fuzz.h. */
#include <stdlib.h>
#include <string.h>

#include "aggregate/read/demangle.h"
#include "core/step/classify.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char text[PP_DEMANGLED], *name = malloc(size + 1); /* of its very size, for the sanitizer */
	size_t length;

	if (!name)
		abort();
	memcpy(name, bytes, size);
	length = pp_demangle(name, size, text);
	if (length && (length >= sizeof(text) || strlen(text) != length))
		abort();
	for (int origin = 0; origin < PP_ORIGINS; origin++)
		if (!pp_category_of((enum pp_origin)origin, name, size).category)
			abort();
	free(name);
	return 0;
}
