/* Is a domain a library's, by the begin of its name? See library_domain.h. Called by aggregate/read. */
#include "core/step/library_domain.h"

static const char *const prefixes[] = {
#define PP_LIBRARY_DOMAIN(prefix) prefix,
#include "core/step/library_domain.def"
#undef PP_LIBRARY_DOMAIN
};

static int lower(char c)
{
	return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

static int begins_with(const char *name, size_t size, const char *prefix)
{
	size_t n = 0;

	while (n < size && prefix[n] && lower(name[n]) == prefix[n])
		n++;
	return !prefix[n] && !(n < size && lower(name[n]) >= 'a' && lower(name[n]) <= 'z');
}

int pp_library_domain(const char *name, size_t size)
{
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (begins_with(name, size, prefixes[i]))
			return 1;
	return 0;
}
