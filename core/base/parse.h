/* Numbers, sizes, times and ranges as users write them. In: text. Out: numbers, or the sentence that says why not.
 * No allocation, any thread. */
#pragma once

#include <stdint.h>

#include "core/base/err.h"
#include "core/base/level.h"

/* "10": not negative. */
int pp_parse_int(const char *text, int64_t *ret_value, struct pp_err *err);
/* "4096", "256K", "64M", "2G" (powers of 1024; an ending B or iB is taken too). */
int pp_parse_bytes(const char *text, uint64_t *ret_bytes, struct pp_err *err);
/* "10:20": [10, 20). Both not negative, the first less than the last. */
int pp_parse_steps(const char *text, int64_t *ret_first, int64_t *ret_last, struct pp_err *err);
/* "20000:20100", or one number: ports to try, in order. */
int pp_parse_ports(const char *text, uint16_t *ret_first, uint16_t *ret_last, struct pp_err *err);
/* "step-over=3x", "step>2.5x": 3000, 2500. More than 1, at most 1000. */
int pp_parse_slow(const char *text, int64_t *ret_thousandths, struct pp_err *err);
/* "steps"; "" of what is no enum pp_level or unknown. Static. */
const char *pp_level_name(int level);
/* "operators", "python/10": pp_level_code(). */
int pp_parse_level(const char *text, uint32_t *ret_code, struct pp_err *err);
/* "2", "2s", "500ms", "10us", "1m", "1h" to ns. */
int pp_parse_time(const char *text, int64_t *ret_ns, struct pp_err *err);
