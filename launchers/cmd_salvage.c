/* podprof salvage SPOOL -o DIR: writes a session from rings that no keeper finished, by pp_salvage() of aggregate/keeper. */
#include <stdio.h>
#include <string.h>

#include "aggregate/keeper/salvage.h"
#include "aggregate/spool/state.h"
#include "core/base/shell_word.h"
#include "core/base/step_windows.h"
#include "launchers/brief/brief_print.h"
#include "launchers/cmd.h"
#include "launchers/options/options.h"
#include "launchers/options/say.h"
#include "launchers/run/logdir.h"

const struct pp_options_verb pp_verb_salvage = {
        .name = "podprof salvage",
        .arguments = "SPOOL...",
        .doc = "Write a session from the spool of a job whose keeper died, or from the spools of all its hosts. 'podprof doctor' "
               "lists such spools.\vThe records of the spool stay. The last line says how to remove the spool. If ranks of the job "
               "still run, the session has what they recorded so far, and the spool can be salvaged again.",
        .groups = PP_OPT_SALVAGE,
};

/* Prints how to remove the spool; never where podprof did not make all that is in it. `before`: "", or a sentence and a blank. */
static void say_remove(const char *spool, const char *before)
{
	char word[PP_SPOOL_PATH + 32];

	if (pp_spool_is_one(spool) == 1)
		pp_say("%sRemove the spool with: rm -r %s", before, pp_shell_word(spool, word, sizeof(word)));
	else if (*before)
		pp_say("%sIt also holds files that podprof did not write.", before);
}

/* `others`: further spools are salvaged together with it; one without records is then left out. */
static int refuse(const char *spool, int others, int *ret_empty)
{
	char session[PP_SESSION_PATH], before[PP_SESSION_PATH + 64];
	struct pp_spool_state state;

	if (pp_spool_read(spool, &state)) {
		pp_say("cannot salvage '%s': it is no directory, or belongs to another user. 'podprof doctor' lists the spools of "
		       "dead jobs.",
		       spool);
		return PP_EXIT_FAILED;
	}
	if (pp_spool_is_one(spool) < 0) {
		pp_say("cannot salvage '%s': it is not a spool of podprof. 'podprof doctor' lists the spools of dead jobs.", spool);
		return PP_EXIT_FAILED;
	}
	if (state.life == PP_SPOOL_RECORDING || state.life == PP_SPOOL_WRITING) {
		pp_say("cannot salvage '%s': its keeper (pid %d) is alive. Wait for it with 'podprof report %s'.", spool,
		       state.keeper_pid, state.output);
		return PP_EXIT_FAILED;
	}
	*ret_empty = !state.rings;
	if (!state.rings && others) {
		pp_say("left out '%s': no rank recorded anything in it.", spool);
		return PP_EXIT_OK;
	}
	if (!state.rings) {
		snprintf(before, sizeof(before), "cannot salvage '%s': no rank recorded anything in it. ", spool);
		say_remove(spool, before);
		return PP_EXIT_FAILED;
	}
	if (pp_spool_salvaged(spool, session, sizeof(session))) {
		pp_say("'%s' was salvaged already: its session is '%s'. Print it with 'podprof report %s'.", spool, session,
		       session);
		say_remove(spool, "");
		return PP_EXIT_FAILED;
	}
	return PP_EXIT_OK;
}

/* Puts those that have records first; returns how many. *ret_code: why nothing is salvaged. */
static size_t choose(char **spool, int spools, int *ret_code)
{
	int count = 0, empty = 0;

	for (int i = 0; i < spools; i++) {
		/* the last one, where no other has records, is refused */
		*ret_code = refuse(spool[i], count || i + 1 < spools, &empty);
		if (*ret_code)
			return 0;
		if (!empty)
			spool[count++] = spool[i];
	}
	return (size_t)count;
}

int pp_cmd_salvage(int argc, char **argv)
{
	struct pp_session_options session = {.salvaged = 1};
	struct pp_message result = {.delivered = 0};
	struct pp_options options;
	const struct pp_step_windows *windows = &options.job.windows;
	struct pp_err err = {""};
	char message[3072] = "", logdir[PP_SPOOL_PATH], marked[PP_SESSION_PATH];
	size_t count, left_out = 0, rings_left_out = 0, alive = 0;
	int first, code, rc = pp_options_parse(&pp_verb_salvage, argc, argv, &options, &first);

	if (rc >= 0)
		return rc;
	if (argc - first < 1) {
		pp_say("no spool to salvage. Type 'podprof salvage SPOOL... -o DIR'; 'podprof doctor' lists the spools of dead "
		       "jobs.");
		return PP_EXIT_USAGE;
	}
	pp_options_environment(&options, PP_OPT_SALVAGE, NULL);
	count = choose(argv + first, argc - first, &rc);
	if (rc)
		return rc;
	code = pp_logdir_open(options.text[PP_OPT_ID_OUTPUT], logdir, sizeof(logdir), NULL, &err);
	if (code) {
		pp_say("%s. Nothing was salvaged; %s.", err.text, pp_logdir_cure(code));
		return PP_EXIT_FAILED;
	}
	session.logdir = logdir;
	session.ret_rings_left_out = &rings_left_out;
	session.ret_alive = &alive;
	session.ret_message = &result;
	session.memory = options.verb.memory;
	session.session = options.text[PP_OPT_ID_SESSION];
	session.xspace_per_rank = options.job.xspace_per_rank;
	session.site_log = options.text[PP_OPT_ID_SITE_LOG];
	session.metrics = options.text[PP_OPT_ID_METRICS];
	/* With several windows the rest in the rings becomes one session, of all of them. */
	if (windows->count) {
		session.steps_first = windows->first[0];
		session.steps_last = windows->last[windows->count - 1];
	}
	rc = pp_salvage(argv + first, count, &session, message, sizeof(message), &left_out, &err);
	if (rc)
		pp_say("%s.", err.text);
	else
		pp_say_lines(message);
	for (size_t i = 0; !rc && !alive && i < count - left_out; i++)
		if (!result.session[0] || pp_spool_salvaged(argv[first + (int)i], marked, sizeof(marked)))
			say_remove(argv[first + (int)i], "");
	if (!rc && result.session[0] && options.verb.json) {
		snprintf(marked, sizeof(marked), "%s/podprof/%s", *result.moved ? result.moved : logdir, result.session);
		rc = pp_brief_print(marked);
	}
	return rc || !result.session[0] ? PP_EXIT_FAILED : left_out || rings_left_out || alive ? PP_EXIT_PARTIAL : PP_EXIT_OK;
}
