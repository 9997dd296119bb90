/* Adds to the comment of a job that was killed; see slurm_comment.h. Called by the epilog in cmd_slurm.c. */
#include "launchers/slurm/slurm_comment.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launchers/cmd.h"
#include "launchers/options/say.h"
#include "launchers/slurm/slurm_child.h"

enum { MOST = 1024, LIMIT_MS = 2000 };

/* Slurm puts the text between quotes of its own. */
static int is_plain(const char *text)
{
	return !text[strcspn(text, "'\"`\\")];
}

/* 0: a text that is not to be sent. */
static int compose(const char *had, const char *text, char *set, size_t size)
{
	char own[MOST];

	snprintf(own, sizeof(own), "podprof: %s", text);
	for (char *p = own; *p; p++)
		if ((unsigned char)*p < ' ' || strchr("'\"`\\", *p))
			*p = '_';
	return is_plain(had) && snprintf(set, size, "Comment=%s%s%s", had, *had ? "; " : "", own) < (int)size;
}

void pp_slurm_comment(const char *text)
{
	const char *job = getenv("SLURM_JOB_ID"), *had = getenv("SLURM_JOB_COMMENT");
	char which[64], set[MOST + sizeof("Comment=")];
	char *words[] = {(char *)"sacctmgr",
	                 (char *)"--immediate",
	                 (char *)"modify",
	                 (char *)"job",
	                 (char *)"where",
	                 which,
	                 (char *)"set",
	                 set,
	                 NULL};
	int rc;

	snprintf(which, sizeof(which), "JobID=%s", job ? job : "");
	if (!compose(had ? had : "", text, set, sizeof(set))) {
		pp_say("the comment of job %s stays as it is: it has a quote, or no room for the session's path.", job ? job : "");
		return;
	}
	rc = pp_slurm_call(words, LIMIT_MS);
	if (rc)
		pp_say("the comment of job %s stays as it is: sacctmgr %s.", job ? job : "",
		       rc == -ETIMEDOUT          ? "did not end within 2 s"
		       : rc == PP_EXIT_NOT_FOUND ? "is not in PATH"
		                                 : "refused");
}
