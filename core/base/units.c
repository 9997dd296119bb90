/* Formats numbers for people. Called by the summary and the verdict. */
#include "core/base/units.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>

#include "core/base/known.h"

const char *pp_text_time(char text[PP_TEXT_UNIT], int64_t ns)
{
	static const struct {
		double ns;
		const char *unit;
	} unit[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}};
	double v = fabs((double)ns);
	size_t u = 0;

	if (!pp_is_known(ns)) {
		snprintf(text, PP_TEXT_UNIT, "unknown");
		return text;
	}
	/* 999.5 us is 1.00 ms: the unit is chosen by what will be printed */
	while (u < 3 && v < 0.9995 * unit[u].ns)
		u++;
	v /= unit[u].ns;
	snprintf(text, PP_TEXT_UNIT, "%s%.*f %s", ns < 0 ? "-" : "",
	         u == 3 || v >= 99.95 ? 0
	         : v >= 9.995         ? 1
	                              : 2,
	         v, unit[u].unit);
	return text;
}

const char *pp_text_percent(char text[PP_TEXT_UNIT], double percent)
{
	if (percent > 0 && percent < 0.05)
		snprintf(text, PP_TEXT_UNIT, "< 0.1 %%");
	else
		snprintf(text, PP_TEXT_UNIT, "%.*f %%", percent < 99.95, percent);
	return text;
}

const char *pp_text_bytes(char text[PP_TEXT_UNIT], uint64_t bytes)
{
	static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double v = (double)bytes;
	size_t u = 0;

	for (; v >= 1023.5 && u + 1 < sizeof(unit) / sizeof(unit[0]); u++)
		v /= 1024;
	snprintf(text, PP_TEXT_UNIT, "%.*f %s", u == 0 || v >= 99.95 ? 0 : v >= 9.995 ? 1 : 2, v, unit[u]);
	return text;
}

const char *pp_text_count(char text[PP_TEXT_UNIT], uint64_t n)
{
	char digits[24];
	int length = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)n), at = 0;

	for (int i = 0; i < length && at + 2 < PP_TEXT_UNIT; i++) {
		if (i && (length - i) % 3 == 0)
			text[at++] = ' ';
		text[at++] = digits[i];
	}
	text[at] = '\0';
	return text;
}
