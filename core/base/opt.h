/* The option table and its value parsers. CLI, keeper and guest read the same rows.
 * In: text. Out: numbers, or the sentence that says why not. No allocation, any thread. */
#ifndef PP_BASE_OPT_H
#define PP_BASE_OPT_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"

enum pp_opt_type {
	PP_OPT_STR,
	PP_OPT_INT,
	PP_OPT_BYTES,
	PP_OPT_STEPS,
	PP_OPT_FLAG,
	PP_OPT_TIME,
	PP_OPT_RANKS,
	PP_OPT_SLOW,
	PP_OPT_PORTS
};
enum pp_opt_groups {
	PP_OPT_RUN = 1,
	PP_OPT_REPORT = 2,
	PP_OPT_SALVAGE = 4,
	PP_OPT_DOCTOR = 8,
	PP_OPT_STATUS = 16,
	PP_OPT_CAPTURE = 32
};

enum pp_opt_id {
#define PP_OPT(name, symbol, argument, fallback, type, groups, help) PP_OPT_ID_##symbol,
#include "core/base/opt_list.def"
#undef PP_OPT
	PP_OPTS
};

struct pp_opt {
	const char *name;     /* "window-buffer" */
	const char *env;      /* "PODPROF_WINDOW_BUFFER" */
	const char *argument; /* "BYTES"; "" for a FLAG */
	const char *fallback; /* default text */
	enum pp_opt_type type;
	unsigned groups; /* enum pp_opt_groups */
	const char *help;
};

extern const struct pp_opt pp_opt_table[PP_OPTS];

/* Row by name, by environment variable; NULL: none. */
const struct pp_opt *pp_opt_find(const char *name);
const struct pp_opt *pp_opt_find_env(const char *env);

/* Is `value` one that the option takes? 0 or -EINVAL with the sentence. */
int pp_opt_check(const struct pp_opt *opt, const char *value, struct pp_err *err);

/* "10": not negative. */
int pp_opt_parse_int(const char *text, int64_t *ret_value, struct pp_err *err);
/* "4096", "256K", "64M", "2G" (powers of 1024; an ending B or iB is taken too). */
int pp_opt_parse_bytes(const char *text, uint64_t *ret_bytes, struct pp_err *err);
/* "10:20": [10, 20). Both not negative, the first less than the last. */
int pp_opt_parse_steps(const char *text, int64_t *ret_first, int64_t *ret_last, struct pp_err *err);
/* "20000:20100", or one number: ports to try, in order. */
int pp_opt_parse_ports(const char *text, uint16_t *ret_first, uint16_t *ret_last, struct pp_err *err);
/* "step>3x", "step>2.5x": 3000, 2500. More than 1, at most 1000. */
int pp_opt_parse_slow(const char *text, int64_t *ret_thousandths, struct pp_err *err);
/* "2", "2s", "500ms", "10us", "1m", "1h" to ns. */
int pp_opt_parse_time(const char *text, int64_t *ret_ns, struct pp_err *err);

#endif
