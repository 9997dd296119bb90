/* Lets the n-th call of a kind fail. In: TORTURE_* of the environment. Out: a page of counts that torture.py reads.
 * Test code only: libtorture.so is preloaded by tests/torture/torture.py and is no part of podprof. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

enum torture_kind {
	TORTURE_ALLOC,
	TORTURE_OPEN,
	TORTURE_NAME,
	TORTURE_FILE,
	TORTURE_MMAP,
	TORTURE_READ,
	TORTURE_WRITE,
	TORTURE_PROCESS,
	TORTURE_KINDS
};

struct torture_page { /* the file TORTURE_PAGE, shared by all processes of a job */
	_Atomic uint64_t calls[TORTURE_KINDS];
	_Atomic uint64_t fired;
	char what[256]; /* the first call that failed: function, module, offset */
};

/* 1: this call is to fail (errno is not yet set). `caller`: the return address; only calls of the chosen modules count. */
int torture_hits(enum torture_kind kind, const char *function, const void *caller);
/* What it fails with: TORTURE_ERRNO, else `usual`. */
int torture_error(int usual);
/* 1: a write that is hit is cut short instead. */
int torture_is_short(void);
/* The environment of a keeper that is about to be started, with ours put back; `env` itself where it is none. */
char *const *torture_environment(char *const *argv, char *const *env);
void *torture_next(const char *name);
