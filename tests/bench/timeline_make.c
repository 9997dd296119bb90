/* A timeline made up; see timeline_make.h. */
#include "tests/bench/timeline_make.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/grow.h"
#include "core/capture/span.h"

enum { STEP_NS = 5000000, LATE_NS = 2000000, CALL_NS = 200000 };

struct maker {
	struct pp_timeline *t;
	const struct timeline_job *job;
	size_t events, details, flows, samples; /* room */
	uint32_t *call;                         /* [ranks][steps] event of the collective */
};

static uint32_t name(struct maker *m, const char *text)
{
	return pp_intern_put(m->t->names, text, strlen(text));
}

#define ADD(m, what, ...)                                                                                                          \
	do {                                                                                                                       \
		void *more = pp_grow((m)->t->what, (m)->t->what##s, &(m)->what##s, sizeof(*(m)->t->what));                         \
		if (!more)                                                                                                         \
			abort();                                                                                                   \
		(m)->t->what = more;                                                                                               \
		(m)->t->what[(m)->t->what##s++] = (__typeof__(*(m)->t->what)){__VA_ARGS__};                                        \
	} while (0)

static int64_t begin_of(int step)
{
	return 1000000 + (int64_t)step * STEP_NS;
}

static int64_t arrival_of(const struct maker *m, int rank, int step)
{
	return begin_of(step) + (rank == m->job->late ? STEP_NS - CALL_NS : STEP_NS - CALL_NS - LATE_NS) + rank * 37 % 1000;
}

static void add_event(struct maker *m, uint32_t name, int64_t begin, int64_t end, int step, int depth, int kind, int category)
{
	ADD(m, event, .begin_ns = begin, .end_ns = end, .self_ns = end - begin, .name = name, .track = (uint32_t)m->t->tracks - 1,
	    .step = (uint32_t)step + 1, .depth = (uint16_t)depth, .kind = (uint8_t)kind, .category = (uint8_t)category);
}

static struct pp_timeline_track *add_track(struct maker *m, int rank, int of, uint32_t name, uint32_t tid, uint32_t device)
{
	struct pp_timeline_track *track = &m->t->track[m->t->tracks++];

	*track = (struct pp_timeline_track){.rank = (uint32_t)rank,
	                                    .of = (uint8_t)of,
	                                    .name = name,
	                                    .tid = tid,
	                                    .device = device,
	                                    .is_main = of == PP_TIMELINE_THREAD,
	                                    .depths = 1,
	                                    .event = (uint32_t)m->t->events};
	m->t->rank[rank].tracks++;
	return track;
}

static void end_track(const struct maker *m, struct pp_timeline_track *track)
{
	track->events = (uint32_t)m->t->events - track->event;
}

/* The call that all ranks make, and for which rank it waits. */
static void add_call(struct maker *m, int rank, int step)
{
	const int64_t begin = arrival_of(m, rank, step), last = arrival_of(m, m->job->late, step);

	ADD(m, detail, .comm = 0x5eed, .sent = 4096, .received = 4096, .until_ns = rank == m->job->late ? begin : last,
	    .bound_ns = 41, .sequence = (uint32_t)step, .peer = -1, .last = rank == m->job->late ? -1 : m->job->late,
	    .has = PP_TIMELINE_HAS_SEQUENCE | PP_TIMELINE_HAS_WAIT);
	m->call[rank * m->job->steps + step] = (uint32_t)m->t->events;
	add_event(m, name(m, "MPI_Allreduce"), begin, begin_of(step + 1) - 1000, step, 1, PP_SPAN_MPI,
	          PP_CATEGORY_HOST_COMMUNICATION);
	m->t->event[m->t->events - 1].detail = (uint32_t)m->t->details;
}

static void add_thread(struct maker *m, int rank)
{
	struct pp_timeline_track *track = add_track(m, rank, PP_TIMELINE_THREAD, name(m, "main"), 4000 + (uint32_t)rank, 0);

	track->depths = 3;
	for (int s = 0; s < m->job->steps; s++) {
		const int64_t begin = begin_of(s), arrival = arrival_of(m, rank, s),
		              part = (arrival - begin) / (m->job->ranges + 1);

		add_event(m, name(m, "train step"), begin, begin_of(s + 1) - 500, s, 0, PP_SPAN_RANGE, PP_CATEGORY_HOST_COMPUTE);
		add_event(m, name(m, "forward and backward"), begin, arrival, s, 1, PP_SPAN_RANGE, PP_CATEGORY_HOST_COMPUTE);
		for (int i = 0; i < m->job->ranges; i++) {
			char text[32];

			snprintf(text, sizeof(text), "layer %d", i % 48);
			add_event(m, name(m, text), begin + i * part, begin + i * part + part * 3 / 4, s, 2, PP_SPAN_RANGE,
			          i % 8 ? PP_CATEGORY_HOST_COMPUTE : PP_CATEGORY_INPUT);
		}
		add_call(m, rank, s);
	}
	end_track(m, track);
}

static void add_stream(struct maker *m, int rank)
{
	struct pp_timeline_track *track = add_track(m, rank, PP_TIMELINE_STREAM, name(m, "Stream 7"), 7, 1);

	track->device_name = name(m, "NVIDIA H100 80GB HBM3 (simulated)");
	for (int s = 0; s < m->job->steps; s++)
		for (int i = 0; i < m->job->ranges / 2; i++) {
			const int64_t begin = begin_of(s) + i * (STEP_NS / (m->job->ranges + 1));

			add_event(m, name(m, "gemm_kernel"), begin, begin + STEP_NS / (m->job->ranges + 1) / 2, s, 0,
			          PP_SPAN_DEVICE, PP_CATEGORY_DEVICE_COMPUTE);
		}
	end_track(m, track);
}

static void add_requests(struct maker *m, int rank)
{
	struct pp_timeline_track *track = add_track(m, rank, PP_TIMELINE_REQUESTS, 0, 0, 0);

	for (int s = 0; s < m->job->steps; s++)
		add_event(m, name(m, "MPI_Isend"), begin_of(s) + 1000, begin_of(s) + 90000, s, 0, PP_SPAN_REQUEST,
		          PP_CATEGORY_HOST_COMMUNICATION);
	end_track(m, track);
}

static void add_rank(struct maker *m, int rank)
{
	struct pp_timeline_rank *r = &m->t->rank[rank];
	struct pp_timeline_track *track;
	struct pp_timeline_counter *counter = &m->t->counter[m->t->counters++];

	*r = (struct pp_timeline_rank){.rank = rank,
	                               .bound_ns = 41,
	                               .pid = 4000 + (uint32_t)rank,
	                               .track = (uint32_t)m->t->tracks,
	                               .counter = (uint32_t)m->t->counters - 1,
	                               .counters = 1};
	snprintf(r->host, sizeof(r->host), "node%03d", rank / 8);
	track = add_track(m, rank, PP_TIMELINE_STEPS, 0, 0, 0);
	for (int s = 0; s < m->job->steps; s++) {
		char text[32];

		snprintf(text, sizeof(text), "step %d", s);
		add_event(m, name(m, text), begin_of(s), begin_of(s + 1) - 500, s, 0, PP_SPAN_STEP, 0);
	}
	end_track(m, track);
	add_thread(m, rank);
	add_requests(m, rank);
	if (m->job->devices)
		add_stream(m, rank);
	*counter = (struct pp_timeline_counter){.rank = (uint32_t)rank,
	                                        .name = name(m, "RSS"),
	                                        .unit = "byte",
	                                        .sample = (uint32_t)m->t->samples,
	                                        .samples = (uint32_t)m->job->steps};
	for (int s = 0; s < m->job->steps; s++)
		ADD(m, sample, .time_ns = begin_of(s), .value = 1e9 + rank * 1e6 + s * 1e5);
}

void timeline_make(struct pp_timeline *t, const struct timeline_job *job)
{
	const size_t ranks = (size_t)job->ranks, steps = (size_t)job->steps;
	struct maker m = {.t = t, .job = job, .call = calloc(ranks * steps + 1, sizeof(*m.call))};

	*t = (struct pp_timeline){.names = pp_intern_new(),
	                          .ranks = ranks,
	                          .steps = steps,
	                          .comms = 1,
	                          .epoch_realtime_ns = 1700000000000000000,
	                          .rank = calloc(ranks + 1, sizeof(*t->rank)),
	                          .track = calloc(ranks * 4 + 1, sizeof(*t->track)),
	                          .counter = calloc(ranks + 1, sizeof(*t->counter)),
	                          .step = calloc(steps + 1, sizeof(*t->step)),
	                          .comm = calloc(1, sizeof(*t->comm)),
	                          .begin_ns = begin_of(0),
	                          .end_ns = begin_of(job->steps)};
	if (!m.call || !t->names || !t->rank || !t->track || !t->counter || !t->step || !t->comm)
		abort();
	snprintf(t->session, sizeof(t->session), "made_up");
	snprintf(t->job, sizeof(t->job), "train (simulated)");
	snprintf(t->clock, sizeof(t->clock), "all ranks share one clock, clock error <= 41 ns");
	snprintf(t->source, sizeof(t->source), "podprof");
	t->comm[0] = (struct pp_timeline_comm){.id = 0x5eed, .name = name(&m, "MPI_COMM_WORLD"), .size = (uint32_t)job->ranks};
	for (int s = 0; s < job->steps; s++)
		t->step[s] = (struct pp_timeline_step){.number = s, .begin_ns = begin_of(s), .end_ns = begin_of(s + 1) - 500};
	for (int r = 0; r < job->ranks; r++)
		add_rank(&m, r);
	for (int r = 0; r < job->ranks; r++) /* in the order of their begins: of each rank the calls come in order */
		for (int s = 0; s < job->steps; s++)
			if (r != job->late)
				ADD(&m, flow, .from = m.call[r * job->steps + s], .to = m.call[job->late * job->steps + s],
				    .kind = PP_FLOW_COLLECTIVE);
	free(m.call);
}
