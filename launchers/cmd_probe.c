/* podprof probe: hidden; the smallest job that podprof records: three marked steps. Run by doctor under podprof run. */
#include "core/podprof.h"
#include "launchers/cmd.h"
#include "launchers/options/say.h"

int pp_cmd_probe(int argc, char **argv)
{
	(void)argv;
	if (argc != 1) {
		pp_say("'podprof probe' is internal: 'podprof doctor' runs it, without arguments.");
		return PP_EXIT_USAGE;
	}
	for (int i = 0; i < 3; i++) {
		podprof_step_begin(i);
		podprof_range_push_as("probe", PODPROF_HOST_COMPUTE);
		podprof_range_pop();
		podprof_step_end();
	}
	return PP_EXIT_OK;
}
