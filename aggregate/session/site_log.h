/* What a finished session leaves for its site: a line in a log, and a file of metrics. In: dataset. Out: files, or a sentence
 * in the message. Called by session.c, for rank 0's host. */
#pragma once

struct pp_dataset;
struct pp_message;

struct pp_site_files { /* NULL or "": not that one */
	const char *site_log, *metrics;
	const char *logdir; /* for commands in sentences */
};

/* A failure is a sentence in the message, and nothing else. */
void pp_site_record(const struct pp_dataset *d, const struct pp_site_files *o, struct pp_message *message);
