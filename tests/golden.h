/* A text against a file beside the test. Included by tests whose main() takes the file, and "update" to write it anew. */
#pragma once

#include <stdio.h>
#include <stdlib.h>

#include "tests/test.h"

static inline void test_golden(const char *path, int update, const char *text)
{
	char *want = NULL;
	size_t size = 0;
	FILE *f = fopen(path, update ? "w" : "r");

	CHECK(f != NULL);
	if (f && update)
		fputs(text, f);
	else if (f && getdelim(&want, &size, '\0', f) > 0)
		CHECK_STR(text, want);
	if (f)
		fclose(f);
	free(want);
}
