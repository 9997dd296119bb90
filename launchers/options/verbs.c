/* The table of verbs: a new one is a row here and a cmd_NAME.c. Read by podprof.c, man.c and completion.c. */
#include "launchers/options/verbs.h"

#include <string.h>

#include "launchers/cmd.h"

const struct pp_verb pp_verbs[PP_VERBS] = {
        {"run", pp_cmd_run, "run a job, or one rank of it, and record it", &pp_verb_run},
        {"report", pp_cmd_report, "print the summary of the newest session", &pp_verb_report},
        {"capture", pp_cmd_capture, "capture the next steps of a live job, on all ranks", &pp_verb_capture},
        {"status", pp_cmd_status, "what the ranks of a live job do now, slowest first", &pp_verb_status},
        {"salvage", pp_cmd_salvage, "make a session out of what a dead job left", &pp_verb_salvage},
        {"doctor", pp_cmd_doctor, "what works on this node, and the fix for what does not", &pp_verb_doctor},
        {"completion", pp_cmd_completion, "print the completion script of bash, zsh or fish", &pp_verb_completion},
        {"arrive", pp_cmd_arrive, NULL, NULL},
        {"keeper", pp_cmd_keeper, NULL, NULL},
        {"man", pp_cmd_man, NULL, NULL},
        {"probe", pp_cmd_probe, NULL, NULL},
};

const struct pp_verb *pp_verb_find(const char *name)
{
	for (int i = 0; i < PP_VERBS; i++)
		if (!strcmp(pp_verbs[i].name, name))
			return &pp_verbs[i];
	return NULL;
}
