/* The verbs of podprof: one file each, dispatched by podprof.c. Each gets argv[0] = its own name and returns the exit code. */
#pragma once

enum pp_exit {
	PP_EXIT_OK = 0,
	PP_EXIT_FAILED = 1,
	PP_EXIT_PARTIAL = 2,        /* analyze, salvage: a session was written, but not from all that was given */
	PP_EXIT_CONTRADICTS = 2,    /* report --check: values of the session contradict each other */
	PP_EXIT_SLOWER = 3,         /* diff --fail-above: it is slower by more than that */
	PP_EXIT_STUCK = 4,          /* hang: something is stuck */
	PP_EXIT_UNKNOWN = 5,        /* hang: whether anything is stuck is not known */
	PP_EXIT_USAGE = 64,         /* podprof's own command line is invalid: nothing was started */
	PP_EXIT_NOT_RUNNABLE = 126, /* as in a shell */
	PP_EXIT_NOT_FOUND = 127,
};

/* Records a job. Does not return where the job starts: its program replaces podprof. */
int pp_cmd_run(int argc, char **argv);
/* Print and compare sessions. */
int pp_cmd_report(int argc, char **argv);
int pp_cmd_diff(int argc, char **argv);
int pp_cmd_fleet(int argc, char **argv);
int pp_cmd_export(int argc, char **argv);
/* Serve a session, and make one of other files. */
int pp_cmd_view(int argc, char **argv);
int pp_cmd_analyze(int argc, char **argv);
int pp_cmd_salvage(int argc, char **argv);
/* Ask the keepers of a running job. */
int pp_cmd_capture(int argc, char **argv);
int pp_cmd_status(int argc, char **argv);
int pp_cmd_hang(int argc, char **argv);
/* Check and set up a node. */
int pp_cmd_doctor(int argc, char **argv);
int pp_cmd_slurm(int argc, char **argv);
int pp_cmd_completion(int argc, char **argv);
int pp_cmd_keeper(int argc, char **argv);    /* hidden: the keeper's process */
int pp_cmd_gpu_state(int argc, char **argv); /* hidden: its child, which calls NVML */
int pp_cmd_arrive(int argc, char **argv);    /* hidden: a rank on a host without a spool starts it */
int pp_cmd_task(int argc, char **argv);      /* hidden: Slurm's plug-in starts it for each task */
int pp_cmd_man(int argc, char **argv);       /* hidden: the build prints the man pages by it */
int pp_cmd_probe(int argc, char **argv);     /* hidden: the job that doctor records */

struct pp_options_verb;
extern const struct pp_options_verb pp_verb_run, pp_verb_report, pp_verb_capture, pp_verb_status, pp_verb_hang, pp_verb_salvage,
        pp_verb_doctor, pp_verb_analyze, pp_verb_diff, pp_verb_fleet, pp_verb_export, pp_verb_view, pp_verb_completion,
        pp_verb_slurm;
