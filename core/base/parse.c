/* Parses numbers that users write; see parse.h. Called by the option table, the CLI, the keeper and the collector. */
#include "core/base/parse.h"

#include <errno.h>
#include <string.h>

/* Digits up to the first other byte; returns where it stopped, NULL: no digit or more than INT64_MAX. */
static const char *digits(const char *text, uint64_t *ret_value)
{
	uint64_t value = 0;
	const char *p = text;

	for (; *p >= '0' && *p <= '9'; p++) {
		uint64_t digit = (uint64_t)(*p - '0');

		if (value > ((uint64_t)INT64_MAX - digit) / 10)
			return NULL;
		value = value * 10 + digit;
	}
	if (p == text)
		return NULL;
	*ret_value = value;
	return p;
}

int pp_parse_int(const char *text, int64_t *ret_value, struct pp_err *err)
{
	uint64_t value = 0;
	const char *end = digits(text, &value);

	if (!end || *end)
		return pp_err_set(err, -EINVAL, "'%s' is not a number. Give a whole number, 0 or more", text);
	*ret_value = (int64_t)value;
	return 0;
}

int pp_parse_bytes(const char *text, uint64_t *ret_bytes, struct pp_err *err)
{
	static const char units[] = "KMGT";
	uint64_t value = 0;
	unsigned shift = 0;
	const char *end = digits(text, &value);
	const char *unit;

	if (!end)
		goto bad;
	if (*end && (unit = strchr(units, *end >= 'a' ? *end - 32 : *end)) && *unit) {
		shift = 10 * (unsigned)(unit - units + 1);
		end++;
		if (*end == 'i')
			end++;
	}
	if (*end == 'B')
		end++;
	if (*end || value > (uint64_t)INT64_MAX >> shift)
		goto bad;
	*ret_bytes = value << shift;
	return 0;
bad:
	return pp_err_set(err, -EINVAL, "'%s' is not a size. Give bytes, or a number with K, M, G or T, for example 256M", text);
}

int pp_parse_steps(const char *text, int64_t *ret_first, int64_t *ret_last, struct pp_err *err)
{
	uint64_t first = 0, last = 0;
	const char *end = digits(text, &first);

	if (!end || *end != ':' || !(end = digits(end + 1, &last)) || *end)
		return pp_err_set(err, -EINVAL, "'%s' is not a range of steps. Give A:B for steps A to B-1, for example 10:20",
		                  text);
	if (first >= last)
		return pp_err_set(err, -EINVAL,
		                  "'%s' has no step: the first number must be less than the second, for example 10:20", text);
	*ret_first = (int64_t)first;
	*ret_last = (int64_t)last;
	return 0;
}

int pp_parse_ports(const char *text, uint16_t *ret_first, uint16_t *ret_last, struct pp_err *err)
{
	uint64_t first = 0, last = 0;
	const char *end = digits(text, &first);

	end = end && *end == ':' ? digits(end + 1, &last) : NULL;
	if (!end || *end || !first || first > last || last > UINT16_MAX)
		return pp_err_set(err, -EINVAL,
		                  "'%s' is not a range of ports. Give A:B, both from 1 to 65535, for example 20000:20100", text);
	*ret_first = (uint16_t)first;
	*ret_last = (uint16_t)last;
	return 0;
}

int pp_parse_time(const char *text, int64_t *ret_ns, struct pp_err *err)
{
	static const struct {
		const char *unit;
		int64_t ns;
	} units[] = {{"", 1000000000}, {"s", 1000000000},  {"ms", 1000000},     {"us", 1000},
	             {"ns", 1},        {"m", 60000000000}, {"h", 3600000000000}};
	uint64_t value = 0;
	const char *end = digits(text, &value);

	for (size_t i = 0; end && i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(end, units[i].unit) || value > (uint64_t)(INT64_MAX / units[i].ns))
			continue;
		*ret_ns = (int64_t)value * units[i].ns;
		return 0;
	}
	return pp_err_set(err, -EINVAL, "'%s' is not a time. Give seconds, or a number with ms, s, m or h, for example 500ms",
	                  text);
}

int pp_parse_slow(const char *text, int64_t *ret_thousandths, struct pp_err *err)
{
	uint64_t whole = 0, part = 0;
	static const char *const begin[] = {"step-over=", "step>"};
	const char *end = NULL, *point = NULL;

	for (size_t i = 0; i < sizeof(begin) / sizeof(begin[0]) && !end; i++)
		end = strncmp(text, begin[i], strlen(begin[i])) != 0 ? NULL : digits(text + strlen(begin[i]), &whole);

	if (end && *end == '.') {
		point = end + 1;
		end = digits(point, &part);
	}
	for (int64_t i = point && end ? end - point : 3; i < 3; i++)
		part *= 10;
	if (!end || strcmp(end, "x") || (point && end - point > 3) || whole > 1000 || whole * 1000 + part <= 1000)
		return pp_err_set(
		        err, -EINVAL,
		        "'%s' is not a rule. Give step-over=Kx for steps slower than K times the rank's median, for example "
		        "step-over=3x",
		        text);
	*ret_thousandths = (int64_t)(whole * 1000 + part);
	return 0;
}

static const char *const level_name[] = {
        [PP_LEVEL_UNKNOWN] = "", [PP_LEVEL_STEPS] = "steps", [PP_LEVEL_OPERATORS] = "operators", [PP_LEVEL_PYTHON] = "python"};

const char *pp_level_name(int level)
{
	return level > PP_LEVEL_UNKNOWN && level <= PP_LEVEL_PYTHON ? level_name[level] : "";
}

int pp_parse_level(const char *text, uint32_t *ret_code, struct pp_err *err)
{
	const size_t length = strcspn(text, "/");
	uint64_t every = 1;
	const char *end = text[length] ? digits(text + length + 1, &every) : "";

	for (int i = PP_LEVEL_STEPS; end && !*end && every && every <= PP_LEVEL_EVERY_MOST && i <= PP_LEVEL_PYTHON; i++)
		if (strlen(level_name[i]) == length && !strncmp(level_name[i], text, length)) {
			*ret_code = pp_level_code((enum pp_level)i, (uint32_t)every);
			return 0;
		}
	return pp_err_set(err, -EINVAL,
	                  "'%s' is no level. Give steps, operators or python, or one of them in each K-th step, for example "
	                  "operators/10",
	                  text);
}
