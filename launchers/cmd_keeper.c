/* podprof keeper --spool DIR: hidden; pp_keeper_start() of podprof run starts it. It becomes two processes, the keeper and its
 * guard; aggregate/keeper has their code. */
#include <string.h>
#include <unistd.h>

#include "aggregate/keeper/guard.h"
#include "aggregate/keeper/keeper.h"
#include "aggregate/keeper/unrecorded.h"
#include "launchers/cmd.h"
#include "launchers/options/say.h"

int pp_cmd_keeper(int argc, char **argv)
{
	struct pp_err err = {""};
	struct pp_death death;
	int has_stderr = argc == 4 && !strcmp(argv[3], "--stderr"), code;

	if ((argc != 3 && !has_stderr) || strcmp(argv[1], "--spool")) {
		pp_say("'podprof keeper' is internal: 'podprof run' starts it.");
		return PP_EXIT_USAGE;
	}
	code = pp_guard(argv[2], argv[0], &death);
	if (code >= 0)
		return code;
	if (has_stderr && !death.times) /* the guard has closed it */
		pp_unrecorded_hold(STDERR_FILENO + 1);
	if (pp_keeper_main(argv[2], &death, &err)) {
		pp_say("%s.", err.text);
		return PP_EXIT_FAILED;
	}
	return PP_EXIT_OK;
}
