/* The verbs of podprof: one file each, dispatched by podprof.c. Each gets argv[0] = its own name and returns the exit code. */
#pragma once

enum pp_exit {
	PP_EXIT_OK = 0,
	PP_EXIT_FAILED = 1,
	PP_EXIT_USAGE = 64,         /* podprof's own command line is wrong: nothing was started */
	PP_EXIT_NOT_RUNNABLE = 126, /* as a shell says it */
	PP_EXIT_NOT_FOUND = 127,
};

int pp_cmd_run(int argc, char **argv);
int pp_cmd_report(int argc, char **argv);
int pp_cmd_capture(int argc, char **argv);
int pp_cmd_status(int argc, char **argv);
int pp_cmd_doctor(int argc, char **argv);
int pp_cmd_salvage(int argc, char **argv);
int pp_cmd_completion(int argc, char **argv);
int pp_cmd_keeper(int argc, char **argv); /* hidden: the process beside the job */
int pp_cmd_arrive(int argc, char **argv); /* hidden: a rank on a host without a spool starts it */
int pp_cmd_man(int argc, char **argv);    /* hidden: the build prints the man pages by it */
int pp_cmd_probe(int argc, char **argv);  /* hidden: the job that doctor records */

struct pp_options_verb;
extern const struct pp_options_verb pp_verb_run, pp_verb_report, pp_verb_capture, pp_verb_status, pp_verb_salvage, pp_verb_doctor,
        pp_verb_completion;

/* One line on stderr, "podprof: " in front. */
void pp_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* A JSON string on stdout; bytes that are no ASCII stand as they are. */
void pp_say_json(const char *text);

/* strerror() as a part of a sentence: first letter small. Static buffer of the caller's thread. */
const char *pp_why(int error);

/* The log directory that a verb was given, as realpath() has it, for free(); NULL after one sentence. */
char *pp_given_logdir(const char *given);
