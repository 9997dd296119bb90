/* podprof keeper --spool DIR: hidden; pp_keeper_start() of podprof run starts it. aggregate/keeper has its code. */
#include <string.h>
#include <unistd.h>

#include "aggregate/keeper/keeper.h"
#include "aggregate/keeper/unrecorded.h"
#include "launchers/cmd.h"
#include "launchers/options/say.h"

int pp_cmd_keeper(int argc, char **argv)
{
	struct pp_err err = {""};

	if (argc == 4 && !strcmp(argv[3], "--stderr"))
		pp_unrecorded_hold(STDERR_FILENO + 1);
	else if (argc != 3)
		argc = 0;
	if (!argc || strcmp(argv[1], "--spool")) {
		pp_say("'podprof keeper' is internal: 'podprof run' starts it.");
		return PP_EXIT_USAGE;
	}
	if (pp_keeper_main(argv[2], &err)) {
		pp_say("%s.", err.text);
		return PP_EXIT_FAILED;
	}
	return PP_EXIT_OK;
}
