/* Finds the repeating pattern of calls; fed by pattern.c and core/step. The method is in the header. */
#include "core/window/period.h"

#include <string.h>

enum { HISTORY_MASK = PP_PERIOD_HISTORY - 1 };

/* Symbols of each context, and BASE to that power: a context's hash is a polynomial of BASE, modulo 2^64. A place holds the last
 * context that fell on it, which the method checks: no table of keys, so not core/base/map.h. */
static const unsigned order_length[PP_PERIOD_ORDERS] = {1, 2, 4, 16};
static const uint64_t BASE = 0x9e3779b97f4a7c15u, SCATTER = 0xbf58476d1ce4e5b9u;

static uint64_t power(unsigned n)
{
	uint64_t x = 1;

	while (n--)
		x *= BASE;
	return x;
}

static uint64_t mix(uint64_t x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9u;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

void pp_period_init(struct pp_period *p)
{
	memset(p, 0, sizeof(*p));
	for (unsigned k = 0; k < PP_PERIOD_ORDERS; k++)
		p->power[k] = power(order_length[k]);
}

uint32_t pp_period_symbol(uint16_t call, int joins, int32_t root, uint64_t bytes)
{
	uint64_t kind = (uint64_t)(uint32_t)root << 16 | call;
	uint32_t h = (uint32_t)(mix(mix(bytes + 1) ^ kind) >> 32);

	h = (h & ~(uint32_t)PP_PERIOD_KIND) | (uint32_t)(mix(kind) & PP_PERIOD_KIND);
	return (h & ~3u) | 4u | (joins ? PP_PERIOD_JOINS : 0);
}

static uint32_t symbol_at(const struct pp_period *p, uint64_t position)
{
	return p->history[position & HISTORY_MASK];
}

/* Distance to the last occurrence of the same symbols, by the longest context that has one; 0: none. Adds the symbol at `i` to
 * the hashes of all contexts. */
static uint32_t move_contexts(struct pp_period *p, uint64_t i, uint32_t symbol)
{
	uint64_t seen = i - p->since;
	uint32_t distance = 0;

	for (unsigned k = 0; k < PP_PERIOD_ORDERS; k++) {
		unsigned length = order_length[k];
		uint16_t *place;
		uint32_t back;

		p->context[k] = p->context[k] * BASE + symbol;
		if (seen >= length)
			p->context[k] -= p->power[k] * symbol_at(p, i - length);
		place = &p->place[k][p->context[k] * SCATTER >> (64 - PP_PERIOD_PLACE_BITS)];
		back = (uint16_t)((uint16_t)i - *place);
		*place = (uint16_t)i;
		if (seen + 1 >= 2 * (uint64_t)length && back && back <= PP_PERIOD_MOST && back <= seen &&
		    symbol_at(p, i - back) == symbol)
			distance = back;
	}
	return distance;
}

/* The smallest period of the last `length` symbols that divides it. */
static uint32_t smallest(struct pp_period *p, uint64_t end, uint32_t length)
{
	uint64_t first = end - length;
	uint32_t k = 0;

	p->border[0] = 0;
	for (uint32_t i = 1; i < length; i++) {
		while (k && symbol_at(p, first + i) != symbol_at(p, first + k))
			k = p->border[k - 1];
		k += symbol_at(p, first + i) == symbol_at(p, first + k);
		p->border[i] = (uint16_t)k;
	}
	return length % (length - k) ? length : length - k;
}

/* The first position from `start` on where the repeating symbols are the known pattern's but for their bytes; UINT64_MAX: none. */
static uint64_t renewed_from(const struct pp_period *p, uint64_t start)
{
	for (uint32_t shift = 0; shift < p->period; shift++) {
		uint32_t k = 0;

		while (k < p->period && !((symbol_at(p, start + (shift + k) % p->period) ^ p->pattern[k]) & PP_PERIOD_KIND))
			k++;
		if (k == p->period)
			return start + shift;
	}
	return UINT64_MAX;
}

/* Adopts the trial's pattern, from its first occurrence on. end: behind the last symbol. */
static void take_over(struct pp_period *p, uint64_t end)
{
	uint32_t period = smallest(p, end, p->trial);
	uint64_t start = end - p->run - p->trial, renewed;

	while (start > p->last_end && end - (start - 1) <= PP_PERIOD_HISTORY &&
	       symbol_at(p, start - 1) == symbol_at(p, start - 1 + period))
		start--;
	renewed = period == p->period ? renewed_from(p, start) : UINT64_MAX;
	if (renewed != UINT64_MAX)
		start = renewed;
	else if (symbol_at(p, start + period - 1) == PP_PERIOD_MESSAGES)
		start++;
	for (uint64_t position = end - period; position < end; position++)
		p->pattern[(position - start) % period] = symbol_at(p, position);
	p->found += renewed == UINT64_MAX;
	p->start = start;
	p->period = period;
	p->steps = (end - start) / period;
	p->at = (uint32_t)((end - start) % period);
	p->clean = 1;
	p->skipped = 0;
	p->matched += p->steps * period;
	p->last_end = start + p->steps * period;
}

/* Has the trial come often enough? All of it came after the known pattern's last occurrence. */
static int is_confirmed(const struct pp_period *p, uint64_t end)
{
	uint64_t least = (uint64_t)PP_PERIOD_LEAST * p->trial, came = p->run + p->trial;

	if (!p->trial || came < least || came < PP_PERIOD_LEAST_CALLS || p->joined <= end - p->trial)
		return 0;
	if (p->changed <= end - p->trial && came < PP_PERIOD_MOST)
		return 0;
	if (!p->period || came >= PP_PERIOD_TAKE_OVER || came >= p->matched / 4)
		return 1;
	/* asked once, when it came so often */
	return p->trial == p->period && came == (least > PP_PERIOD_LEAST_CALLS ? least : PP_PERIOD_LEAST_CALLS) &&
	       renewed_from(p, end - came) != UINT64_MAX;
}

/* Matches one symbol with the known pattern; 1: a step ended. */
static int follow(struct pp_period *p, uint32_t symbol)
{
	if (symbol == p->pattern[p->at]) {
		p->skipped = 0;
		if (++p->at < p->period)
			return 0;
		p->at = 0;
		p->steps++;
		p->matched += p->period;
		p->last_end = p->position;
		return 1;
	}
	if (symbol == p->pattern[0]) {
		p->irregular += p->at;
		p->at = 1;
		p->skipped = 0;
	} else {
		p->irregular++;
		if (++p->skipped > p->period) {
			p->irregular += p->at;
			p->at = 0;
			p->skipped = 0;
		}
	}
	return 0;
}

/* Searches for another pattern from here on. */
static void search(struct pp_period *p, uint64_t i)
{
	p->clean = 0;
	p->since = i;
	p->trial = 0;
	p->run = p->changed = p->joined = 0;
	memset(p->context, 0, sizeof(p->context));
}

enum pp_period_event pp_period_feed(struct pp_period *p, uint32_t symbol)
{
	uint64_t i = p->position++;
	uint32_t distance;

	p->history[i & HISTORY_MASK] = symbol;
	if (p->clean && symbol != p->pattern[p->at])
		search(p, i);
	if (p->period && follow(p, symbol)) {
		p->clean = 1;
		return PP_PERIOD_STEP;
	}
	if (p->clean)
		return PP_PERIOD_NOTHING;
	distance = move_contexts(p, i, symbol);
	if (i > p->since && symbol_at(p, i - 1) != symbol)
		p->changed = i + 1;
	if (symbol & PP_PERIOD_JOINS)
		p->joined = i + 1;
	if (p->trial && symbol_at(p, i - p->trial) == symbol) {
		p->run++;
	} else {
		p->trial = distance;
		p->run = distance != 0;
	}
	if (!is_confirmed(p, i + 1))
		return PP_PERIOD_NOTHING;
	take_over(p, i + 1);
	return PP_PERIOD_FOUND;
}
