/* Looks for the words of kernel_rules.def in a name; see kernel_name.h. Called once per name. */
#include "core/step/kernel_name.h"

#include <string.h>
#include <strings.h>

enum property { PRECISION, TENSOR_CORE, COLLECTIVE };

enum { PRECISION_16 = PP_PRECISION_16, PRECISION_32 = PP_PRECISION_32 };
enum { TENSOR_CORE_NO = PP_TENSOR_CORE_NO, TENSOR_CORE_YES = PP_TENSOR_CORE_YES, COLLECTIVE_YES = 1 };

static const struct word {
	const char *text;
	enum property property;
	int value;
} words[] = {
#define PP_KERNEL_WORD(property, value, text) {text, property, property##_##value},
#include "core/step/kernel_rules.def"
#undef PP_KERNEL_WORD
};

/* 0: no word says it. */
static int find(enum property property, const char *name)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		const struct word *w = &words[i];

		if (w->property != property)
			continue;
		if (property == COLLECTIVE ? !strncasecmp(name, w->text, strlen(w->text)) : strcasestr(name, w->text) != NULL)
			return w->value;
	}
	return 0;
}

enum pp_precision pp_kernel_precision(const char *name)
{
	return (enum pp_precision)find(PRECISION, name);
}

enum pp_tensor_core pp_kernel_tensor_core(const char *name)
{
	return (enum pp_tensor_core)find(TENSOR_CORE, name);
}

int pp_kernel_is_collective(const char *name)
{
	return find(COLLECTIVE, name);
}
