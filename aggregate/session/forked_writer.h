/* A forked writer: works in a child on a copy of the keeper's memory while the parent drains on (copy-on-write: memory that the
 * parent changes meanwhile exists twice). In: work. Out: its answer, or an error for its crash. The process may have other
 * threads: core/base/forked.h says what the child may call. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "aggregate/session/message.h"
#include "core/base/err.h"

struct pp_forked_answer {
	int code;
	struct pp_err err;
	struct pp_message message;
	char *claimed;  /* shared with the child: the directories that it made, one per line, twice PP_SESSION_PATH bytes */
	char text[512]; /* why no session was written */
};

struct pp_forked_work {
	int (*run)(void *context, struct pp_forked_answer *answer);
	void (*after)(void *context); /* NULL, or work after the answer was sent; no caller waits for it */
	void *context;
};

struct pp_forked_writer {
	pid_t pid; /* 0: none, or already reaped */
	int fd;    /* -1: the answer has arrived */
	int64_t deadline_ms;
	char *claimed; /* as answer.claimed */
	size_t got;
	struct pp_forked_answer answer;
};

/* 0, or -errno where fork failed: the caller does the work itself. */
int pp_forked_writer_start(struct pp_forked_writer *a, const struct pp_forked_work *work, int64_t limit_ms);
/* 1 once a->answer has arrived; never blocks. A crash, an early exit and a missed deadline give an answer with an error. */
int pp_forked_writer_done(struct pp_forked_writer *a);
/* 1 once the child has ended, after pp_forked_writer_done(); never blocks. */
int pp_forked_writer_reaped(struct pp_forked_writer *a);
