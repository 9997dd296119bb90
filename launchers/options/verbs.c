/* The table of verbs: a new one is a row here and a cmd_NAME.c. Verbs of one group stand together. Read by
 * podprof.c, man.c and completion.c. */
#include "launchers/options/verbs.h"

#include <string.h>

#include "launchers/cmd.h"

const struct pp_verb pp_verbs[PP_VERBS] = {
        {"run", pp_cmd_run, "Record", "run a job, or one of its ranks, and record it", &pp_verb_run},
        {"report", pp_cmd_report, "Read", "print the summary of a session, and write its report.html", &pp_verb_report},
        {"diff", pp_cmd_diff, "Read", "compare two or more sessions, and fail where a job became slower", &pp_verb_diff},
        {"fleet", pp_cmd_fleet, "Read", "list the hosts that slowed many jobs", &pp_verb_fleet},
        {"export", pp_cmd_export, "Read", "print the tables of a tool, or write the timeline", &pp_verb_export},
        {"view", pp_cmd_view, "Read", "show the report and the trace of a session in a browser", &pp_verb_view},
        {"analyze", pp_cmd_analyze, "Read", "make a session from traces of TensorFlow, JAX and PyTorch", &pp_verb_analyze},
        {"salvage", pp_cmd_salvage, "Read", "write a session from the spool of a job whose keeper died", &pp_verb_salvage},
        {"capture", pp_cmd_capture, "While the job runs", "capture the next steps, or the last seconds, of all ranks",
         &pp_verb_capture},
        {"status", pp_cmd_status, "While the job runs", "print what each rank does now, slowest first", &pp_verb_status},
        {"hang", pp_cmd_hang, "While the job runs", "find out why a job hangs, and which rank is the cause", &pp_verb_hang},
        {"doctor", pp_cmd_doctor, "Check and set up", "check what works on this node, and print fixes", &pp_verb_doctor},
        {"slurm", pp_cmd_slurm, "Check and set up", "check the set-up of Slurm; its prolog and epilog", &pp_verb_slurm},
        {"completion", pp_cmd_completion, "Check and set up", "print the completion script of bash, zsh or fish",
         &pp_verb_completion},
        {"arrive", pp_cmd_arrive, NULL, NULL, NULL},
        {"gpu-state", pp_cmd_gpu_state, NULL, NULL, NULL},
        {"keeper", pp_cmd_keeper, NULL, NULL, NULL},
        {"man", pp_cmd_man, NULL, NULL, NULL},
        {"probe", pp_cmd_probe, NULL, NULL, NULL},
        {"task", pp_cmd_task, NULL, NULL, NULL},
};

const struct pp_verb *pp_verb_find(const char *name)
{
	for (int i = 0; i < PP_VERBS; i++)
		if (!strcmp(pp_verbs[i].name, name))
			return &pp_verbs[i];
	return NULL;
}
