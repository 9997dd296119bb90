/* The option table. CLI, keeper and collector read the same rows. No allocation, any thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/step_windows.h"

enum pp_opt_groups {
	PP_OPT_RUN = 1,
	PP_OPT_REPORT = 2,
	PP_OPT_SALVAGE = 4,
	PP_OPT_DOCTOR = 8,
	PP_OPT_STATUS = 16,
	PP_OPT_CAPTURE = 32,
	PP_OPT_ANALYZE = 64,
	PP_OPT_EXPORT = 128,
	PP_OPT_VIEW = 256,
	PP_OPT_DIFF = 512,
	PP_OPT_FLEET = 1024,
	PP_OPT_HANG = 2048
};

enum pp_opt_id {
#define PP_OPT(name, symbol, ...) PP_OPT_ID_##symbol,
#include "core/base/opt_list.def"
#undef PP_OPT
	PP_OPTS
};

enum pp_opt_section { PP_OPT_PLAIN, PP_OPT_STEPS, PP_OPT_DEMAND, PP_OPT_WRITTEN, PP_OPT_SPOOL, PP_OPT_HOSTS, PP_OPT_SECTIONS };

struct pp_settings { /* of a job: <spool>/options, read by the keeper (aggregate/spool/settings.c) */
	char output[4096], session[128], job[128], command[512];
	char text[512]; /* all options as one line, for the dataset */
	struct pp_step_windows windows;
	int64_t every;
	int64_t steps_first, steps_last; /* from the first window's first step to the last one's last; last <= first: not asked */
	uint64_t buffer;
	int64_t wait_s;
	int xspace_per_rank;
	char rendezvous[4096]; /* directory of the rendezvous file, by which hosts find each other */
	struct pp_opt_ports {
		uint16_t first, last;
	} port;          /* to listen on for other hosts; 0: any */
	char ranks[256]; /* of --ranks */
	char site_log[4096], metrics[4096];
	int64_t keep_ns;
	struct pp_opt_slow {
		char text[64];
		int64_t thousandths;
	} trigger;
	int timed; /* a window of time, by these: */
	char delay[32], duration[32], at[32];
};

struct pp_opt {
	const char *name;     /* "window-buffer" */
	const char *env;      /* "PODPROF_WINDOW_BUFFER" */
	const char *argument; /* "BYTES"; "" for a flag */
	const char *fallback; /* default text */
	/* 0, *to is the value; -EINVAL with the sentence */
	int (*parse)(const struct pp_opt *opt, const char *value, void *to, struct pp_err *err);
	unsigned groups; /* enum pp_opt_groups */
	enum pp_opt_section section;
	size_t offset, size; /* of the destination in struct pp_settings; size 0: none */
	const char *help;
};

extern const struct pp_opt pp_opt_table[PP_OPTS];

/* Row by environment variable; NULL: none. */
const struct pp_opt *pp_opt_find_env(const char *env);

/* Sets the option's member of `s`; NULL: only checks `value`. -EINVAL with the sentence where the option does not accept it. */
int pp_opt_set(struct pp_settings *s, const struct pp_opt *opt, const char *value, struct pp_err *err);
