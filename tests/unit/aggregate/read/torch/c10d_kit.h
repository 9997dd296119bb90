/* Captures of torch.distributed made by hand: ranges of its calls and of gloo's threads, what was told of them, and what becomes of
 * both. Used by c10d*_test.c. */
#pragma once

#include "aggregate/analyze/build.h"
#include "aggregate/dataset/dataset.h"
#include "aggregate/read/torch/c10d.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"
#include "tests/test.h"
#include "tests/unit/capture.h"

enum { RANKS = 2, GROUP_A = 70, GROUP_B = 80 };

struct made {
	struct pp_capture capture;
	struct pp_steps steps;
	struct pp_attr attr[RANKS];
	struct pp_dataset d;
};

static inline struct pp_span *add_itt(struct pp_capture *c, size_t r, uint32_t t, const char *name, int64_t begin, int64_t end)
{
	struct pp_span *s = add_range(c, r, t, name, begin, end);

	s->source = PP_SOURCE_ITT;
	return s;
}

/* At `time`, as it was told `age` later. */
static inline struct pp_annotation *add_annotations(struct pp_capture *c, size_t r, uint64_t comm, uint32_t sequence,
                                                    const char *work, int64_t time, int64_t age)
{
	struct pp_rank *rank = &c->rank[r];
	struct pp_annotation *annotation;

	if (!rank->annotation)
		rank->annotation = calloc(MADE_SPANS, sizeof(*rank->annotation));
	annotation = &rank->annotation[rank->annotations++];
	*annotation = (struct pp_annotation){.time = time,
	                                     .age_ns = age,
	                                     .comm = comm,
	                                     .sequence = sequence,
	                                     .sent = 100 * (uint64_t)(sequence + 1),
	                                     .received = 100 * (uint64_t)(sequence + 1),
	                                     .root = -1,
	                                     .call = (uint16_t)pp_c10d_call_of_backend(work, strlen(work))};
	return annotation;
}

/* One all_reduce of GROUP_A: begun on the main thread, told, done on gloo's thread `t`. */
static inline void add_all_reduce(struct pp_capture *c, size_t r, uint32_t sequence, int64_t begin, uint32_t t, int64_t work,
                                  int64_t done)
{
	add_itt(c, r, 0, "c10d::allreduce_", begin, begin + 10);
	add_itt(c, r, t, "gloo:all_reduce", work, done);
	add_annotations(c, r, GROUP_A, sequence, "gloo:all_reduce", begin + 5, 1000);
}

static inline void convert(struct pp_capture *c)
{
	struct pp_err err = {""};

	CHECK_INT(pp_c10d_convert(c, &err), 0);
	for (size_t r = 0; r < c->ranks; r++)
		for (size_t t = 0; t < c->rank[r].threads; t++) {
			const struct pp_thread *thread = &c->rank[r].thread[t];

			for (size_t i = 1; i < thread->spans; i++) {
				const struct pp_span *a = &thread->span[i - 1], *b = &thread->span[i];

				CHECK(a->begin < b->begin || (a->begin == b->begin && a->end >= b->end));
			}
		}
}

/* The n-th span of a kind of a thread; NULL: there are fewer. */
static inline const struct pp_span *nth(const struct pp_capture *c, size_t r, uint32_t t, enum pp_span_kind kind, size_t n)
{
	const struct pp_thread *thread = &c->rank[r].thread[t];

	for (size_t i = 0; i < thread->spans; i++)
		if (thread->span[i].kind == kind && n-- == 0)
			return &thread->span[i];
	return NULL;
}

/* The n-th wait. */
static inline const struct pp_span *nth_wait(const struct pp_capture *c, size_t r, size_t n)
{
	const struct pp_span *span;

	for (size_t i = 0; (span = nth(c, r, 0, PP_SPAN_MPI, i)); i++)
		if (pp_mpi_call_info(span->mpi.call)->class == PP_MPI_WAIT && n-- == 0)
			return span;
	return NULL;
}

static inline int is_span(const struct pp_span *span, int64_t begin, int64_t end)
{
	if (span && span->begin == begin && span->end == end)
		return 1;
	fprintf(stderr, "a span is [%lld, %lld], not [%lld, %lld]\n", span ? (long long)span->begin : -1,
	        span ? (long long)span->end : -1, (long long)begin, (long long)end);
	return 0;
}

static inline void build(struct made *m)
{
	struct pp_dataset_input in = {.capture = &m->capture,
	                              .steps = &m->steps,
	                              .attr = m->attr,
	                              .session = "s",
	                              .job = "j",
	                              .command = "c",
	                              .options = "o",
	                              .bound_ns = 2};
	struct pp_err err = {""};

	convert(&m->capture);
	CHECK_INT(pp_steps_find(&m->capture, 0, 0, &m->steps, &err), 0);
	for (size_t r = 0; r < m->capture.ranks; r++)
		CHECK_INT(pp_attr_rank(&m->capture.rank[r], r, &m->steps, m->capture.ranks, m->capture.names, PP_ATTR_KEEP_ALL,
		                       &m->attr[r], &err),
		          0);
	CHECK_INT(pp_dataset_build(&in, &m->d, &err), 0);
}

static inline void drop(struct made *m)
{
	pp_dataset_release(&m->d);
	for (size_t r = 0; r < m->capture.ranks; r++)
		pp_attr_release(&m->attr[r]);
	pp_steps_release(&m->steps);
	free_capture(&m->capture);
}

static inline int warned(const struct pp_dataset *d, const char *text)
{
	for (size_t i = 0; i < d->warnings; i++)
		if (strstr(d->warning[i].warning, text))
			return 1;
	return 0;
}
