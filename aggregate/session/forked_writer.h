/* Work in a forked child on a copy of the keeper's memory (copy-on-write: what the parent drops or fills meanwhile is held twice)
 * while the parent drains on. In: work. Out: its answer, or the sentence of its crash. The process may have other threads:
 * core/base/forked.h says what the child may call. */
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
	char *claimed;  /* shared with the child: twice PP_SESSION_PATH bytes, the directories that it made, a line each */
	char text[512]; /* where no session was written: why */
};

struct pp_forked_work {
	int (*run)(void *context, struct pp_forked_answer *answer);
	void (*after)(void *context); /* NULL, or what nobody waits for: runs when the answer has been sent */
	void *context;
};

struct pp_forked_writer {
	pid_t pid; /* 0: none, or it has been waited for */
	int fd;    /* -1: the answer is there */
	int64_t deadline_ms;
	char *claimed; /* as answer.claimed */
	size_t got;
	struct pp_forked_answer answer;
};

/* 0, or -errno where there is no child: the caller does the work itself. */
int pp_forked_writer_start(struct pp_forked_writer *a, const struct pp_forked_work *work, int64_t limit_ms);
/* 1 once a->answer is there; never blocks. A crash, an early end and a missed deadline are answers with a sentence. */
int pp_forked_writer_done(struct pp_forked_writer *a);
/* 1 once the child has ended, after pp_forked_writer_done(); never blocks. */
int pp_forked_writer_reaped(struct pp_forked_writer *a);
