/* Groups ranks by status; see status.h. Called by quality.c, message.c and the summary. */
#include "aggregate/dataset/status.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "aggregate/dataset/dataset.h"

static int begins(const struct pp_row_worker *w, const char *word)
{
	return !strncmp(w->status, word, strlen(word));
}

/* How many have such a status, and the first of them. */
static size_t count(const struct pp_dataset *d, const char *word, int32_t *ret_first)
{
	size_t n = 0;

	for (size_t w = d->workers; w-- > 0;)
		if (begins(&d->worker[w], word)) {
			*ret_first = d->worker[w].rank;
			n++;
		}
	return n;
}

int pp_status_mpi_is_unseen(const struct pp_dataset *d)
{
	for (size_t i = 0; i < d->warnings; i++)
		if (strstr(d->warning[i].warning, PP_STATUS_MPI_UNSEEN))
			return 1;
	return 0;
}

void pp_status_join(struct pp_dataset *d)
{
	char text[sizeof(d->worker->status)];
	int32_t first = 0;
	size_t killed = count(d, PP_STATUS_KILLED, &first);

	if (killed > 1)
		snprintf(text, sizeof(text), PP_STATUS_PARTIAL "ended by the launcher after %zu ranks were killed", killed);
	else if (killed)
		snprintf(text, sizeof(text), PP_STATUS_PARTIAL "ended by the launcher after rank %d was killed", (int)first);
	else if (count(d, PP_STATUS_ABORTED, &first))
		snprintf(text, sizeof(text), PP_STATUS_PARTIAL "ended by the launcher after rank %d called MPI_Abort", (int)first);
	else
		return;
	for (size_t w = 0; w < d->workers; w++)
		if (begins(&d->worker[w], PP_STATUS_ENDED))
			memcpy(d->worker[w].status, text, sizeof(text));
}

static int is_first(const struct pp_dataset *d, size_t w)
{
	for (size_t i = 0; i < w; i++)
		if (!strcmp(d->worker[i].status, d->worker[w].status))
			return 0;
	return 1;
}

static int has_status(const struct pp_row_worker *w, const void *status)
{
	return !strcmp(w->status, status);
}

/* `words` ends with NULL. */
static int say_nth(const struct pp_dataset *d, const char *const *words, size_t n, char *text, size_t size)
{
	const struct pp_row_worker *one = NULL;
	char ranks[96];
	size_t many;

	for (; *words && !one; words++)
		for (size_t w = 0; w < d->workers && !one; w++)
			if (begins(&d->worker[w], *words) && is_first(d, w) && !n--)
				one = &d->worker[w];
	if (!one)
		return 0;
	many = pp_dataset_list_ranks(d, has_status, one->status, ", ", ranks, sizeof(ranks));
	snprintf(text, size, "%s %s %s", ranks,
	         begins(one, PP_STATUS_KILLED) ? many > 1 ? "were" : "was"
	         : many > 1                    ? "are"
	                                       : "is",
	         one->status);
	return 1;
}

/* Killed ranks come first: they explain why others ended. */
int pp_status_sentence(const struct pp_dataset *d, size_t n, char *text, size_t size)
{
	static const char *const word[] = {PP_STATUS_KILLED, PP_STATUS_PARTIAL, NULL};

	return say_nth(d, word, n, text, size);
}

int pp_status_missing(const struct pp_dataset *d, size_t n, char *text, size_t size)
{
	static const char *const word[] = {PP_STATUS_MISSING, NULL};

	return say_nth(d, word, n, text, size);
}

/* A rank that ended by itself was done with MPI. */
static int has_place(const struct pp_row_worker *w)
{
	return strcmp(w->status, PP_STATUS_DELIVERED) != 0 && w->last_place[0] &&
	       strncmp(w->last_place, "after MPI_Finalize", 18) != 0;
}

static int is_alive(const struct pp_row_worker *w)
{
	return !strcmp(w->status, PP_STATUS_SALVAGED_ALIVE);
}

static int is_at(const struct pp_row_worker *w, const void *other)
{
	const struct pp_row_worker *o = other;

	return has_place(w) && is_alive(w) == is_alive(o) && w->last_step == o->last_step && !strcmp(w->last_place, o->last_place);
}

int pp_status_place(const struct pp_dataset *d, size_t n, char *text, size_t size)
{
	char ranks[96], step[48] = "";
	const char *verb = "ended";
	size_t w, i, many;

	for (w = 0; w < d->workers; w++) {
		if (!has_place(&d->worker[w]))
			continue;
		for (i = 0; i < w && !is_at(&d->worker[i], &d->worker[w]); i++)
			;
		if (i == w && !n--)
			break;
	}
	if (w == d->workers)
		return 0;
	many = pp_dataset_list_ranks(d, is_at, &d->worker[w], ", ", ranks, sizeof(ranks));
	if (d->worker[w].last_step != INT64_MIN)
		snprintf(step, sizeof(step), "in step %" PRId64 " and ", d->worker[w].last_step);
	if (is_alive(&d->worker[w]))
		verb = many > 1 ? "were" : "was";
	snprintf(text, size, "%s %s %s%s", ranks, verb, step, d->worker[w].last_place);
	return many > 0;
}
