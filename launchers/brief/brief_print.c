/* Prints a session as JSON; see brief_print.h. Called by the verbs that make or read sessions. */
#include "launchers/brief/brief_print.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>

#include "aggregate/report/brief.h"
#include "core/base/why.h"
#include "launchers/cmd.h"
#include "launchers/options/say.h"

int pp_brief_print(const char *directory)
{
	char pod[PATH_MAX];
	struct pp_err err = {""};

	snprintf(pod, sizeof(pod), "%s/pod.h5", directory);
	if (pp_brief_json(pod, stdout, &err)) {
		pp_say("%s.", err.text);
		return PP_EXIT_FAILED;
	}
	if (!fflush(stdout) && !ferror(stdout))
		return PP_EXIT_OK;
	pp_say("cannot print the session: %s. The file is '%s'.", pp_why(errno), pod);
	return PP_EXIT_FAILED;
}
