/* Processes of a file, by what their names say: devices, a library's groups, what a viewer computed. In: a store whose file is
 * read. Out: its tracks, those of devices as streams. Internal to this room. */
#pragma once

#include "aggregate/read/kineto/dialect.h"
#include "aggregate/read/kineto/state.h"

struct kineto_process {
	kineto_key pid;
	uint32_t name, labels; /* pp_intern ids; 0: none */
	uint32_t seen;         /* bits of enum kineto_category, of its threads */
	uint32_t first;        /* track */
	uint8_t role;          /* enum kineto_role */
	uint8_t has_streams, has_operations, has_groups, has_steps;
	int64_t device; /* number; -1: none */
};

struct kineto_processes {
	struct kineto_process *process; /* by pid */
	size_t processes;
};

/* Lists them. -ENOMEM. The caller frees ret_list->process. */
int pp_kineto_processes(struct kineto_store *s, struct kineto_processes *ret_list);
/* The process with that pid; NULL: none. */
struct kineto_process *pp_kineto_process(const struct kineto_processes *list, kineto_key pid);
/* Makes threads of devices streams of them, and leaves out what was computed from others. 0, or -ENOMEM. */
int pp_kineto_convert(struct kineto_store *s, const struct kineto_processes *list);
/* The label that the file gives a thread or process last; 0: none. The labels are sorted by pp_kineto_processes(). */
uint32_t pp_kineto_label(const struct kineto_store *s, enum kineto_label_of of, kineto_key pid, kineto_key tid);
