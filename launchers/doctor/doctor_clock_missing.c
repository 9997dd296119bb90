/* Names the hosts of a job that did not connect to podprof doctor --clock. Called by doctor_clock_lead.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/plain.h"
#include "launchers/doctor/doctor_clock.h"

struct names {
	char *text;
	size_t size;
};

static void add(struct names *n, const char *fmt, const char *name, int rank) __attribute__((format(printf, 2, 0)));

static void add(struct names *n, const char *fmt, const char *name, int rank)
{
	size_t used = strlen(n->text);
	char one[128];

	snprintf(one, sizeof(one), fmt, name, rank);
	pp_plain(one, "");
	if (used + strlen(one) + 3 < n->size)
		snprintf(n->text + used, n->size - used, "%s%s", used ? ", " : "", one);
}

/* By the launcher's own list of who is where: each host once, by its first rank. 0: it has none. */
static int by_launcher(const struct pp_doctor_run *r, const struct pp_doctor_came *came, size_t count, struct names *n)
{
	size_t size = (size_t)r->job.size;
	char(*of_rank)[72] = r->rendezvous.pmix ? calloc(size, sizeof(*of_rank)) : NULL;
	int known = of_rank != NULL;

	pp_doctor_clock_guard(1);
	for (size_t rank = 0; known && rank < size; rank++)
		known = !pp_pmix_host(r->rendezvous.pmix, (uint32_t)rank, of_rank[rank], sizeof(of_rank[rank]));
	pp_doctor_clock_guard(0);
	for (size_t rank = 0; known && rank < size; rank++) {
		int here = 0;

		for (size_t i = 0; i < count && !here; i++)
			here = (size_t)came[i].rank < size && !strcmp(of_rank[came[i].rank], of_rank[rank]);
		for (size_t i = 0; i < rank && !here; i++)
			here = !strcmp(of_rank[i], of_rank[rank]);
		if (!here)
			add(n, "'%s' (rank %d)", of_rank[rank], (int)rank);
	}
	free(of_rank);
	return known;
}

/* Ranks that stand on each host one after another: those of whom nobody came. 0: they do not. */
static int by_rank(const struct pp_doctor_run *r, const struct pp_doctor_came *came, size_t count, struct names *n)
{
	int size = r->job.local_size;

	for (size_t i = 0; i < count && size > 0; i++)
		if (came[i].local_size != size || came[i].rank % size)
			size = 0;
	for (int rank = 0; size > 0 && rank < r->job.size; rank += size) {
		size_t i = 0;

		while (i < count && came[i].rank != rank)
			i++;
		if (i == count)
			add(n, "%sthe host of rank %d", "", rank);
	}
	return size > 0;
}

void pp_doctor_clock_missing(const struct pp_doctor_run *r, const struct pp_doctor_came *came, size_t count, char *ret_text,
                             size_t size)
{
	struct names n = {ret_text, size};
	int ranks = 0;

	ret_text[0] = '\0';
	if (by_launcher(r, came, count, &n) || by_rank(r, came, count, &n))
		return;
	for (size_t i = 0; i < count; i++)
		ranks += came[i].local_size > 0 ? came[i].local_size : 1;
	if (r->job.hosts)
		add(&n, "%s%d of the job's hosts", "", r->job.hosts - (int)count);
	else if (r->job.size - ranks == 1)
		add(&n, "%sthe host of one rank", "", 1);
	else
		add(&n, "%sthe hosts of %d ranks", "", r->job.size - ranks);
}
