/* podprof salvage SPOOL -o DIR: a session out of rings that no keeper finished; the work is aggregate/keeper's pp_salvage(). */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "aggregate/keeper/keeper.h"
#include "core/base/step_windows.h"
#include "launchers/cmd.h"
#include "launchers/options.h"
#include "launchers/spool.h"

const struct pp_options_verb pp_verb_salvage = {
        .name = "podprof salvage",
        .arguments = "SPOOL",
        .doc = "Make a session out of what a dead job left in its spool directory. 'podprof doctor' lists such spools."
               "\vThe spool is not changed; remove it once the session is good.",
        .groups = PP_OPT_SALVAGE,
};

static int refuse(const struct pp_spool_state *state, const char *spool)
{
	if (state->life == PP_SPOOL_RECORDING || state->life == PP_SPOOL_WRITING) {
		pp_say("cannot salvage '%s': its keeper (pid %d) is alive. Wait for it with 'podprof report %s'.", spool,
		       state->keeper_pid, state->output);
		return PP_EXIT_FAILED;
	}
	if (!state->rings) {
		pp_say("cannot salvage '%s': no rank recorded anything in it. Remove it.", spool);
		return PP_EXIT_FAILED;
	}
	return PP_EXIT_OK;
}

int pp_cmd_salvage(int argc, char **argv)
{
	struct pp_session_options session = {.salvaged = 1};
	struct pp_step_windows windows;
	struct pp_options options;
	struct pp_spool_state state;
	struct pp_err err = {""};
	char message[3072] = "", logdir[PP_SPOOL_PATH];
	int first, code, rc = pp_options_parse(&pp_verb_salvage, argc, argv, &options, &first);

	if (rc >= 0)
		return rc;
	if (argc - first != 1) {
		pp_say("salvage takes one spool directory: 'podprof salvage SPOOL -o DIR'. 'podprof doctor' lists them.");
		return PP_EXIT_USAGE;
	}
	pp_options_environment(&options, PP_OPT_SALVAGE, NULL);
	if (pp_spool_read(argv[first], &state)) {
		pp_say("cannot salvage '%s': it is not a directory of yours. 'podprof doctor' lists the spools of dead jobs.",
		       argv[first]);
		return PP_EXIT_FAILED;
	}
	rc = refuse(&state, argv[first]);
	if (rc)
		return rc;
	code = pp_logdir_open(options.value[PP_OPT_ID_OUTPUT], logdir, sizeof(logdir), &err);
	if (code) {
		pp_say("%s. Nothing was salvaged; %s.", err.text, pp_logdir_cure(code));
		return PP_EXIT_FAILED;
	}
	session.logdir = logdir;
	session.session = options.value[PP_OPT_ID_SESSION];
	session.xspace_per_rank = !strcmp(options.value[PP_OPT_ID_XSPACE], "rank");
	/* Several windows: what is left in the rings is one session, of all of them. */
	if (*options.value[PP_OPT_ID_STEPS] && !pp_step_windows_parse(options.value[PP_OPT_ID_STEPS], &windows, NULL)) {
		session.steps_first = windows.first[0];
		session.steps_last = windows.last[windows.count - 1];
	}
	rc = pp_salvage(argv[first], &session, message, sizeof(message), &err);
	for (char *line = message, *next; !rc && line && *line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		pp_say("%s", line);
	}
	if (rc)
		pp_say("%s.", err.text);
	return rc ? PP_EXIT_FAILED : PP_EXIT_OK;
}
