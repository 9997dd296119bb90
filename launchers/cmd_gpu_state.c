/* podprof gpu-state PAGE PID: hidden; the keeper of that pid starts it, so that no call of NVML can hold the keeper up.
 * aggregate/keeper/host/gpu_child.c has its code. */
#include <stdlib.h>

#include "aggregate/keeper/host/gpu_child.h"
#include "launchers/cmd.h"
#include "launchers/options/say.h"

int pp_cmd_gpu_state(int argc, char **argv)
{
	struct pp_err err = {""};

	if (argc != 3) {
		pp_say("'podprof gpu-state' is internal: a keeper starts it.");
		return PP_EXIT_USAGE;
	}
	/* the keeper says what failed: it stands in the page */
	return pp_gpu_child_main(argv[1], (pid_t)strtol(argv[2], NULL, 10), &err) ? PP_EXIT_FAILED : PP_EXIT_OK;
}
