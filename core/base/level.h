/* Levels of --level: what a rank records of a step beside steps, ranges and communication. In: the option, requests. Out: one
 * number for both, which goes through control pages, messages and step records. */
#pragma once

#include <stdint.h>

enum pp_level {
	PP_LEVEL_UNKNOWN,
	PP_LEVEL_STEPS,     /* no operators */
	PP_LEVEL_OPERATORS, /* a framework's operators */
	PP_LEVEL_PYTHON,    /* these, and calls of Python functions */
};

/* A level in each n-th step: n << 2 | level. 0: none. */
enum { PP_LEVEL_EVERY_MOST = 1 << 20 };

static inline uint32_t pp_level_code(enum pp_level level, uint32_t every)
{
	return every << 2 | (uint32_t)level;
}

/* The level of step `number`: the code's where n divides it, else STEPS; before the first mark (INT64_MIN) the code's. */
static inline uint32_t pp_level_at(uint32_t code, int64_t number)
{
	const int64_t every = code >> 2;

	return every > 1 && number != INT64_MIN && number % every ? PP_LEVEL_STEPS : code & 3;
}
