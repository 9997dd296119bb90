/* The lines that rank 0 prints when a session is complete. In: dataset. Out: text. */
#pragma once

#include <stddef.h>

#include "aggregate/dataset/dataset.h"

struct pp_message {
	char head[256], where[1024], must_know[640], failure[640];
	char there[160], lacking[160]; /* files, by what users call them */
	int code;                      /* the first failure of the files written last, -errno */
	char moved[64];                /* the log directory where it is another than the wanted one, or "" */
	char what[144], session[64];   /* "steps 10..19"; where */
	int delivered, asked;          /* ranks */
	size_t hosts;
	int salvaged; /* losses are named before the files' directory */
};

/* What to do about a file or directory that could not be written, of -errno; no stop behind it. */
const char *pp_message_cure(int code);
/* Result of a writer: 0, or -errno with its error. */
void pp_message_file(struct pp_message *m, const char *file, int code, const char *sentence);
void pp_message_session(struct pp_message *m, const struct pp_dataset *d, const struct pp_steps *steps,
                        const struct pp_intern *names, const char *logdir, const char *session);
/* The session is on this node, below `to`, because its log directory fails, as `why` says. */
void pp_message_moved(struct pp_message *m, const char *to, const char *why);
/* Of a salvaged session: steps requested, found, lost. `last_step`: the highest that a rank marked, or INT64_MIN. */
void pp_message_salvaged(struct pp_message *m, const struct pp_dataset *d, const struct pp_steps *steps, int64_t last_step);
/* One more thing that the user must know. */
void pp_message_add(struct pp_message *m, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* All lines that are not empty, newline between. */
void pp_message_text(const struct pp_message *m, char *text, size_t size);
void pp_message_copy(char *to, size_t size, const char *from);
