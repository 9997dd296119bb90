/* Members of one flat JSON object in memory: texts, numbers, null; objects and arrays are skipped. In: bytes of anybody. Out: name
 * and value, one after the other. Called by job.c. No allocation, any thread. */
#pragma once

#include <stddef.h>

enum pp_member_kind { PP_MEMBER_TEXT, PP_MEMBER_NUMBER, PP_MEMBER_NULL, PP_MEMBER_OTHER };

struct pp_members {
	const char *at, *end;
	int begun;
	char name[64];
	enum pp_member_kind kind;
	char text[4096]; /* TEXT, cut nowhere: a longer one is an error */
	double number;   /* NUMBER, finite */
};

/* Begins with an object of `length` bytes, which stay the caller's until the last member is read. */
void pp_members_begin(struct pp_members *m, const char *bytes, size_t length);
/* 1: the next member is in m; 0: the object has ended, and nothing is behind it; -EINVAL: it is no such object. */
int pp_members_next(struct pp_members *m);
