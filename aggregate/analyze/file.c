/* Sums what every rank read and wrote per file, from the calls of MPI I/O. Called by build.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/analyze/build.h"
#include "aggregate/analyze/join.h"
#include "aggregate/analyze/request.h"
#include "core/base/compare.h"
#include "core/call/mpi_call.h"
#include "core/capture/capture.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"

struct known { /* a file of one rank, from its opening to its close */
	uint64_t comm;
	uint32_t name;
};

struct files {
	struct pp_table out;
	struct known *known; /* of this rank, by comm */
	size_t knowns;
	size_t first; /* row of this rank */
	int32_t rank;
};

PP_COMPARE_BY(compare_known, struct known, comm)

static int list_known(struct files *f, const struct pp_rank *rank)
{
	f->known = calloc(rank->comms + 1, sizeof(*f->known));
	f->knowns = 0;
	if (!f->known)
		return -ENOMEM;
	for (size_t c = 0; c < rank->comms; c++)
		if (rank->comm[c].kind == PP_COMM_FILE)
			f->known[f->knowns++] = (struct known){rank->comm[c].id, rank->comm[c].name};
	qsort(f->known, f->knowns, sizeof(*f->known), compare_known);
	return 0;
}

/* This rank's row of a name; NULL: no memory. */
static struct pp_row_file *use_of(struct files *f, uint32_t name)
{
	struct pp_row_file *row = f->out.row;

	for (size_t i = f->out.rows; i-- > f->first;)
		if (row[i].name == name)
			return &row[i];
	row = pp_table_add(&f->out);
	if (row) {
		row->name = name;
		row->worker = f->rank;
	}
	return row;
}

static int ends_with(const char *text, const char *end)
{
	size_t a = strlen(text), b = strlen(end);

	return a >= b && strcmp(text + a - b, end) == 0;
}

static void count(struct pp_row_file *u, const struct pp_span *span, const struct pp_requests *requests)
{
	const struct pp_mpi_call *info = pp_mpi_call_info(span->mpi.call);
	const struct pp_done *done = info->nonblocking ? pp_requests_find(requests, span->mpi.request) : NULL;
	int64_t ns = done ? done->span->end - done->span->begin : span->end - span->begin;
	int failed = ((span->flags | (done ? done->span->flags : 0)) & PP_SPAN_FAILED) != 0; /* it took time but moved nothing */
	int counts = !failed && !ends_with(info->name, "_end"); /* of a split operation only the begin counts */

	switch (info->class) {
	case PP_MPI_READ:
	case PP_MPI_READ_ALL:
		u->reads += counts;
		u->bytes_read += failed ? 0 : done ? done->span->mpi.received : span->mpi.received;
		u->read_ns += ns;
		return;
	case PP_MPI_WRITE:
	case PP_MPI_WRITE_ALL:
		u->writes += counts;
		u->bytes_written += failed ? 0 : span->mpi.sent;
		u->write_ns += ns;
		return;
	default:
		u->opens += !failed && ends_with(info->name, "_open");
		u->other_ns += ns;
	}
}

static int count_thread(struct files *f, const struct pp_thread *thread, const struct pp_requests *requests)
{
	for (size_t k = 0; k < pp_thread_others(thread, PP_SPAN_BIT(PP_SPAN_MPI)); k++) {
		const struct pp_span *span = &thread->span[pp_thread_other(thread, k)];
		struct known key = {.comm = span->mpi.comm};
		const struct known *known;
		struct pp_row_file *u;

		if (span->kind != PP_SPAN_MPI || !span->mpi.comm || !pp_mpi_class_is_file(pp_mpi_call_info(span->mpi.call)->class))
			continue;
		known = bsearch(&key, f->known, f->knowns, sizeof(key), compare_known);
		if (!known) /* an open that failed */
			continue;
		u = use_of(f, known->name);
		if (!u)
			return -ENOMEM;
		count(u, span, requests);
	}
	return 0;
}

static int count_rank(struct files *f, const struct pp_rank *rank)
{
	struct pp_requests requests;
	int rc = list_known(f, rank);

	if (rc == 0 && f->knowns) {
		rc = pp_requests_init(&requests, rank);
		for (size_t t = 0; t < rank->threads && rc == 0; t++)
			rc = count_thread(f, &rank->thread[t], &requests);
		pp_requests_release(&requests);
	}
	free(f->known);
	return rc;
}

int pp_join_files(struct pp_join *j)
{
	struct files f = {.out = {.desc = pp_table_desc(PP_TABLE_file)}};
	int rc = 0;

	for (size_t r = 0; r < j->in->capture->ranks && rc == 0; r++) {
		f.first = f.out.rows;
		f.rank = j->in->capture->rank[r].rank;
		rc = count_rank(&f, &j->in->capture->rank[r]);
	}
	j->d->file = f.out.row;
	j->d->files = f.out.rows;
	return rc;
}
