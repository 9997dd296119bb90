/* What all verbs print on stderr, and the log directory among their arguments. Sentences end with a full stop. One thread. */
#pragma once

/* Prints one line on stderr, after "podprof: ". */
void pp_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The same for each line of a text, which it cuts at its line breaks. */
void pp_say_lines(char *text);

/* For each line of a text, which it cuts: "'FILE' LINE.", or "LINE." without a file (NULL). */
void pp_say_of(char *lines, const char *file);

/* 1: stdout has taken all that was printed; else one line says why `what` was not, such as "the hosts". */
int pp_is_printed(const char *what);
/* Is the descriptor a terminal that can write over a line? TERM=dumb cannot. */
int pp_can_rewrite(int fd);
/* What goes on, on stderr, over the same before; on a dumb terminal once, elsewhere not at all. */
void pp_progress(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Takes that line away. */
void pp_progress_end(void);
/* Columns of the terminal that stdout is; INT_MAX: it has no limit, 0: stdout is no terminal. */
int pp_columns(void);

struct pp_options_verb;

/* The one directory among the arguments from `first` on, or the default; NULL after one error line: there are more. */
const char *pp_given_directory(const struct pp_options_verb *verb, int argc, char **argv, int first);
/* The log directory of a verb as realpath() has it, to be freed; NULL after one error line. */
char *pp_given_logdir(const char *given);
