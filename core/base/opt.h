/* The option table. CLI, keeper and guest read the same rows. No allocation, any thread. */
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

#endif
