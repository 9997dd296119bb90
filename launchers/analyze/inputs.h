/* Which files `podprof analyze` reads: those given, and those in given directories
 * and archives. In: words of the command line. Out: a list in
 * order of paths, each file once. Called by cmd_analyze.c. */
#pragma once

#include <stddef.h>

#include "aggregate/session/analyze.h"

struct pp_inputs {
	struct pp_analyze_file *file; /* [files]; path, glance and, where it cannot be read, why */
	size_t files;
	size_t others;           /* files in the directories that are no traces */
	size_t repeated;         /* given twice */
	size_t copies;           /* traces of a viewer, made of an XSpace file beside them */
	char sessions[3][256];   /* directories plugins/profile/SESSION in which files lie */
	size_t session_count;    /* 3: three or more */
	size_t unread;           /* directories in the given ones that cannot be read, of which a line was printed */
	size_t member_others;    /* files in archives that are no traces */
	size_t damaged_archives; /* that could be read to some point only, of which a line was printed */
	size_t bad_words;   /* words that are no file and no directory, or directories without a trace; a line each was printed */
	char bad_word[200]; /* why the first of them is one */
};

/* -ENOENT, -EACCES: no word is a file or a directory with a trace, with the sentence. Released by pp_inputs_release(). */
int pp_inputs_find(char *const *word, size_t words, struct pp_inputs *ret_inputs, struct pp_err *err);
/* Frees the list with its paths and blocks. */
void pp_inputs_release(struct pp_inputs *in);
