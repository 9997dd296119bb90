/* The option table. CLI, keeper and collector read the same rows. No allocation, any thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/rank_list.h"
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
	PP_OPT_HANG = 2048,
	PP_OPT_SLURM = 4096
};

enum pp_opt_id {
#define PP_OPT(name, symbol, ...) PP_OPT_ID_##symbol,
#include "core/base/opt_list.def"
#undef PP_OPT
	PP_OPTS
};

enum pp_opt_section { PP_OPT_PLAIN, PP_OPT_STEPS, PP_OPT_DEMAND, PP_OPT_WRITTEN, PP_OPT_SPOOL, PP_OPT_HOSTS, PP_OPT_SECTIONS };

enum pp_opt_format { PP_OPT_CSV, PP_OPT_JSON, PP_OPT_PERFETTO, PP_OPT_CHROME, PP_OPT_FOLDED }; /* words of --format, in order */

/* Values of options, each parsed once. A value with its text has it for messages, or to be passed on. */
struct pp_opt_time {
	char text[32]; /* "": not given */
	int64_t ns;
};

struct pp_opt_ranks {
	char text[256]; /* "": all */
	struct pp_rank_list list;
};

struct pp_settings { /* of a job, TO() in the table: <spool>/options, read by the keeper (aggregate/spool/settings.c) */
	char output[4096], session[128], job[128], command[512];
	char text[512]; /* all options as one line, for the dataset */
	struct pp_step_windows windows;
	int64_t every;
	int64_t steps_first, steps_last; /* from the first window's first step to the last one's last; last <= first: not asked */
	uint64_t buffer;
	int64_t wait_s;
	int xspace_per_rank;
	int gpu_state;         /* enum pp_gpu_when of aggregate/keeper/host/gpu_state.h */
	char rendezvous[4096]; /* directory of the rendezvous file, by which hosts find each other */
	struct pp_opt_ports {
		uint16_t first, last;
	} port; /* to listen on for other hosts; 0: any */
	struct pp_opt_ranks ranks;
	char site_log[4096], metrics[4096];
	int64_t keep_ns;
	struct pp_opt_slow {
		char text[64];
		int64_t thousandths;
	} trigger;
	int timed; /* a window of time, by these: */
	struct pp_opt_time delay, duration;
	char at[32];
};

struct pp_verb_settings { /* of one run of a verb, VERB() in the table; texts are borrowed, "": not given */
	int list, json, check, unknown, all_ranks, watch, options, clock, raw;
	int format;         /* enum pp_opt_format */
	int by_collectives; /* --step-rule */
	const char *table, *tool, *categories, *html, *signal, *rules, *spool, *cupti, *map;
	double fail_above; /* percent */
	int64_t timeout_s, port, processes, after_ns, last_ns;
	uint64_t memory;
	uint32_t level;        /* pp_level_code() */
	int64_t steps_to_come; /* of podprof capture --steps +N */
};

enum pp_opt_place { PP_OPT_CHECKED, PP_OPT_OF_JOB, PP_OPT_OF_VERB };

struct pp_opt {
	const char *name;     /* "window-buffer" */
	const char *env;      /* "PODPROF_WINDOW_BUFFER" */
	const char *argument; /* "BYTES"; "" for a flag */
	const char *fallback; /* default text */
	/* 0, *to is the value; -EINVAL with the sentence */
	int (*parse)(const struct pp_opt *opt, const char *value, void *to, struct pp_err *err);
	unsigned groups; /* enum pp_opt_groups */
	enum pp_opt_section section;
	enum pp_opt_place place; /* of its destination: struct pp_settings, struct pp_verb_settings, or none */
	size_t offset, size;
	const char *help;
};

extern const struct pp_opt pp_opt_table[PP_OPTS];

/* Row by environment variable; NULL: none. */
const struct pp_opt *pp_opt_find_env(const char *env);

/* Sets the option's member of the job's or the verb's settings; the other one may be NULL, and both where `value` is only
 * checked. An empty value of an option without a default is 0 or "". -EINVAL with the sentence where the option does not accept
 * it. */
int pp_opt_set(const struct pp_opt *opt, const char *value, struct pp_settings *job, struct pp_verb_settings *verb,
               struct pp_err *err);
