/* Reads decimal text without rounding; see number.h. */
#include "aggregate/read/kineto/number.h"

enum { DIGITS_MOST = 36, EXPONENT_MOST = 10000 }; /* digits that 128 bits hold */

struct decimal { /* value * 10^exponent */
	unsigned __int128 value;
	int exponent, is_negative;
};

static int is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Digits at *at. Those that do not fit change the exponent, or are dropped behind the point. */
static int take_digits(struct decimal *d, const char *text, size_t length, size_t *at, int *digits, int is_fraction)
{
	size_t from = *at;

	for (; *at < length && is_digit(text[*at]); ++*at) {
		if (*digits < DIGITS_MOST) {
			d->value = d->value * 10 + (unsigned)(text[*at] - '0');
			*digits += d->value != 0;
			d->exponent -= is_fraction;
		} else if (!is_fraction && d->exponent < EXPONENT_MOST) {
			d->exponent++;
		}
	}
	return *at > from ? 0 : -1;
}

static int take_exponent(struct decimal *d, const char *text, size_t length, size_t *at)
{
	int exponent = 0, is_negative = 0;
	size_t from;

	if (*at < length && (text[*at] == '-' || text[*at] == '+'))
		is_negative = text[(*at)++] == '-';
	for (from = *at; *at < length && is_digit(text[*at]); ++*at)
		exponent = exponent < EXPONENT_MOST ? exponent * 10 + (text[*at] - '0') : exponent;
	d->exponent += is_negative ? -exponent : exponent;
	return *at > from ? 0 : -1;
}

static int parse(const char *text, size_t length, struct decimal *ret_decimal)
{
	struct decimal d = {0};
	size_t at = 0;
	int digits = 0;

	if (at < length && text[at] == '-')
		d.is_negative = text[at++] == '-';
	if (take_digits(&d, text, length, &at, &digits, 0))
		return -1;
	if (at < length && text[at] == '.') {
		at++;
		if (take_digits(&d, text, length, &at, &digits, 1))
			return -1;
	}
	if (at < length && (text[at] == 'e' || text[at] == 'E')) {
		at++;
		if (take_exponent(&d, text, length, &at))
			return -1;
	}
	*ret_decimal = d;
	return at == length ? 0 : -1;
}

/* value * 10^exponent as an integer: rounded to the nearest, or cut. -1: more than `most`. */
static int scale(struct decimal *d, unsigned __int128 most, int rounds)
{
	unsigned last = 0;

	for (; d->exponent < 0 && d->value; d->exponent++) {
		last = (unsigned)(d->value % 10);
		d->value /= 10;
	}
	if (rounds && d->exponent == 0 && last >= 5)
		d->value++;
	for (; d->exponent > 0 && d->value && d->value <= most; d->exponent--)
		d->value *= 10;
	return d->value <= most ? 0 : -1;
}

static int to_signed(struct decimal *d, int rounds, int64_t *ret_value)
{
	if (scale(d, INT64_MAX, rounds))
		return -1;
	*ret_value = d->is_negative ? -(int64_t)d->value : (int64_t)d->value;
	return 0;
}

/* Most numbers: digits, a point and at most three more. Returns -1 for others, which parse() reads. */
static int read_plain(const char *text, size_t length, int *ret_fraction, int64_t *ret_value)
{
	int64_t value = 0;
	int fraction = -1; /* digits behind the point; -1: there is none */

	if (length > 18 || !length || !is_digit(text[0]) || !is_digit(text[length - 1]))
		return -1;
	for (size_t i = 0; i < length; i++) {
		if (is_digit(text[i])) {
			value = value * 10 + (text[i] - '0');
			fraction += fraction >= 0;
		} else if (text[i] == '.' && fraction < 0) {
			fraction = 0;
		} else {
			return -1;
		}
	}
	*ret_fraction = fraction < 0 ? 0 : fraction;
	*ret_value = value;
	return fraction > 3 ? -1 : 0;
}

int pp_kineto_ns(const char *text, size_t length, int64_t *ret_ns)
{
	static const int64_t scale_of[] = {1000, 100, 10, 1};
	struct decimal d;
	int64_t value;
	int fraction;

	if (!read_plain(text, length, &fraction, &value) && !__builtin_mul_overflow(value, scale_of[fraction], &value)) {
		*ret_ns = value;
		return 0;
	}
	if (parse(text, length, &d))
		return -1;
	d.exponent += 3;
	return to_signed(&d, 1, ret_ns);
}

int pp_kineto_integer(const char *text, size_t length, int64_t *ret_value)
{
	struct decimal d;
	int64_t value;
	int fraction;

	if (!read_plain(text, length, &fraction, &value) && !fraction) {
		*ret_value = value;
		return 0;
	}
	return parse(text, length, &d) ? -1 : to_signed(&d, 0, ret_value);
}

int pp_kineto_unsigned(const char *text, size_t length, uint64_t *ret_value)
{
	struct decimal d;

	if (parse(text, length, &d) || scale(&d, UINT64_MAX, 0) || (d.is_negative && d.value))
		return -1;
	*ret_value = (uint64_t)d.value;
	return 0;
}
