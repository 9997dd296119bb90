/* Lines between pairs of tick and CUPTI's time. Called by cupti_session.c and cupti_decode.c. */
#include "core/source/cupti/cupti_clock.h"

#include <string.h>

enum { FAR_NS = 10 };

static const int64_t SECOND = 1000000000;

void pp_cupti_clock_reset(struct pp_cupti_clock *c)
{
	c->pairs = c->last = c->jumps = 0;
	c->error_ns = 0;
}

/* NTP slews by 500 ppm at most; readings are some us wide. */
static int is_jump(int64_t ns, int64_t raw)
{
	int64_t off = ns - raw;

	return (off < 0 ? -off : off) > 50000 + raw / 1000;
}

/* How far the pair before the last lies from the line around it. */
static int64_t deviation(const struct pp_cupti_clock *c)
{
	const struct pp_cupti_pair *a = c->pair + c->pairs - 3, *b = a + 1, *e = a + 2;
	double part;
	int64_t off;

	if (c->pairs < 3 || c->jumped[c->pairs - 1] || c->jumped[c->pairs - 2])
		return 0;
	part = (double)(b->tick - a->tick) / (double)(e->tick - a->tick);
	off = b->ns - a->ns - (int64_t)(part * (double)(e->ns - a->ns));
	return off < 0 ? -off : off;
}

static void take_error(struct pp_cupti_clock *c, const struct pp_cupti_pair *p)
{
	int64_t error = p->width_ns / 2 + p->width_ns % 2 + deviation(c);

	if (error > c->error_ns)
		c->error_ns = error;
}

void pp_cupti_clock_add(struct pp_cupti_clock *c, const struct pp_cupti_pair *p)
{
	const struct pp_cupti_pair *before = c->pair + c->pairs - 1;
	int64_t ns, raw;
	uint32_t n;

	if (c->pairs && (p->tick <= before->tick || p->raw <= before->raw))
		return;
	if (c->pairs == PP_CUPTI_PAIRS) {
		n = PP_CUPTI_PAIRS / 2;
		memmove(c->pair, c->pair + n, n * sizeof(c->pair[0]));
		memmove(c->slope, c->slope + n, n * sizeof(c->slope[0]));
		memmove(c->jumped, c->jumped + n, n * sizeof(c->jumped[0]));
		c->pairs = n;
		c->last = 0;
		before = c->pair + n - 1;
	}
	n = c->pairs++;
	c->pair[n] = *p;
	c->jumped[n] = 0;
	if (!n) {
		take_error(c, p);
		return;
	}
	ns = p->ns - before->ns;
	raw = p->raw - before->raw;
	c->jumped[n] = (uint8_t)is_jump(ns, raw);
	c->jumps += c->jumped[n];
	c->slope[n] = (double)(p->tick - before->tick) / (double)(c->jumped[n] ? raw : ns);
	take_error(c, p);
}

static pp_tick from(const struct pp_cupti_pair *p, int64_t ns, double slope)
{
	return p->tick + (pp_tick)(int64_t)((double)(ns - p->ns) * slope);
}

/* The pair after `ns`: of several, where the clock was set back, the newest. */
static uint32_t find(struct pp_cupti_clock *c, int64_t ns)
{
	uint32_t i = c->last;

	if (i && i < c->pairs && c->pair[i - 1].ns <= ns && ns < c->pair[i].ns)
		return i;
	for (i = c->pairs - 1; i > 1 && ns < c->pair[i - 1].ns; i--)
		;
	return c->last = i;
}

int pp_cupti_clock_map(struct pp_cupti_clock *c, uint64_t time, pp_tick *ret_tick)
{
	const struct pp_cupti_pair *a, *b;
	int64_t ns = (int64_t)time;
	uint32_t i;

	if (c->pairs < 2)
		return 0;
	i = find(c, ns);
	a = &c->pair[i - 1];
	b = &c->pair[i];
	if (ns < a->ns - FAR_NS * SECOND || (ns > b->ns + FAR_NS * SECOND && ns > a->ns + FAR_NS * SECOND))
		return 0;
	/* Where the clock was set, a time that cannot be before the jump is after it. */
	if (c->jumped[i] && (b->ns < a->ns ? ns < a->ns : ns > a->ns + (b->raw - a->raw)))
		*ret_tick = from(b, ns, c->slope[i]);
	else
		*ret_tick = from(a, ns, c->slope[i]);
	return 1;
}
