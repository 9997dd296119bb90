/* Writes a capture as text; see capture_dump.h. Called by join_test.c. */
#include "tests/unit/core/capture/capture_dump.h"

#include <inttypes.h>
#include <string.h>

#include "core/capture/capture.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"
#include "core/ring/intern.h"
#include "core/ring/record.h"

static uint64_t number(const char *at, size_t size)
{
	uint64_t wide = 0;

	memcpy(&wide, at, size < sizeof(wide) ? size : sizeof(wide)); /* little-endian, as all hosts of podprof */
	return wide;
}

static void dump_bytes(const char *at, size_t size, FILE *to)
{
	for (size_t i = 0; i < size; i++)
		fprintf(to, "%02x", (unsigned char)at[i]);
}

static void dump_real(const char *at, size_t size, FILE *to)
{
	float narrow;
	double wide;

	memcpy(&narrow, at, sizeof(narrow));
	if (size == sizeof(wide)) {
		memcpy(&wide, at, sizeof(wide));
		fprintf(to, "%.17g", wide);
	} else {
		fprintf(to, "%.9g", (double)narrow);
	}
}

static void dump_ranks(const char *row, const struct pp_side_field *field, FILE *to)
{
	const int32_t *ranks;
	uint64_t n = number(row + field->with, sizeof(uint32_t));

	memcpy(&ranks, row + field->offset, sizeof(ranks));
	if (!ranks)
		fputs("unknown", to);
	for (uint64_t i = 0; ranks && i < n; i++)
		fprintf(to, "%s%" PRId32, i ? "," : "", ranks[i]);
}

static void dump_field(const struct pp_capture *c, const char *row, const struct pp_side_field *field, FILE *to)
{
	const char *at = row + field->offset;

	fprintf(to, " %s=", field->name);
	switch (field->type) {
	case PP_SIDE_TYPE_NAME:
		fprintf(to, "'%s'", pp_intern_text(c->names, (uint32_t)number(at, sizeof(uint32_t)), NULL));
		break;
	case PP_SIDE_TYPE_F:
		dump_real(at, field->size, to);
		break;
	case PP_SIDE_TYPE_TEXT:
		fprintf(to, "'%.*s'", (int)field->size, at);
		break;
	case PP_SIDE_TYPE_BYTES:
		dump_bytes(at, field->size, to);
		break;
	case PP_SIDE_TYPE_RANKS:
		dump_ranks(row, field, to);
		break;
	case PP_SIDE_TYPE_I:
	case PP_SIDE_TYPE_TICK:
	case PP_SIDE_TYPE_AGED:
		fprintf(to, "%" PRId64,
		        field->size == sizeof(int32_t) ? (int32_t)number(at, sizeof(int32_t)) : (int64_t)number(at, field->size));
		break;
	case PP_SIDE_TYPE_U:
	case PP_SIDE_TYPE_BEFORE:
		fprintf(to, "%" PRIu64, number(at, field->size));
	}
}

static void dump_span(const struct pp_capture *c, const struct pp_span *s, FILE *to)
{
	fprintf(to, "  span %" PRId64 " %" PRId64 " kind=%d category=%d flags=%d source=%d '%s'", s->begin, s->end, s->kind,
	        s->category, s->flags, s->source, pp_intern_text(c->names, s->name, NULL));
	if (s->kind == PP_SPAN_MPI || s->kind == PP_SPAN_REQUEST)
		fprintf(to,
		        " comm=%" PRIx64 " sent=%" PRIu64 " received=%" PRIu64 " sequence=%u peer=%d request=%u call=%d flags=%d",
		        s->mpi.comm, s->mpi.sent, s->mpi.received, s->mpi.sequence, s->mpi.peer, s->mpi.request, s->mpi.call,
		        s->mpi.flags);
	else if (s->kind == PP_SPAN_DEVICE)
		fprintf(to,
		        " correlation=%" PRIu64 " bytes=%" PRIu64 " step=%" PRId64
		        " op='%s' launch=%u activity=%d precision=%d thread=%u",
		        s->device.correlation, s->device.bytes, s->device.step, pp_intern_text(c->names, s->device.op, NULL),
		        s->device.launch, s->device.activity, s->device.precision, s->device.host_thread);
	else if (s->kind == PP_SPAN_STEP)
		fprintf(to, " number=%" PRId64 " period=%u matched=%" PRIu64 " irregular=%" PRIu64, s->step.number, s->step.period,
		        s->step.matched, s->step.irregular);
	else if (s->kind == PP_SPAN_COUNTER)
		fprintf(to, " value=%.17g", s->value);
	else if (s->range.payload_type == PP_PAYLOAD_EXT && c->payloads)
		fprintf(to, " id=%" PRIu64 " domain=%d payload='%s'", s->range.id, s->range.domain,
		        pp_intern_text(c->payloads, (uint32_t)s->range.payload, NULL));
	else
		fprintf(to, " id=%" PRIu64 " domain=%d payload=%d:%" PRIx64, s->range.id, s->range.domain, s->range.payload_type,
		        s->range.payload);
	fputc('\n', to);
}

static void dump_rank(const struct pp_capture *c, const struct pp_rank *r, FILE *to)
{
	fprintf(to,
	        "rank %d of %d host='%s' recorded=%" PRId64 "..%" PRId64 " horizon=%" PRId64 " records=%" PRIu64 " lost=", r->rank,
	        r->size, r->host, r->recorded_from, r->recorded_to, r->horizon, r->records);
	for (size_t i = 0; i < sizeof(r->lost) / sizeof(r->lost[0]); i++)
		fprintf(to, "%s%" PRIu64, i ? "," : "", r->lost[i]);
	fputc('\n', to);
	for (size_t t = 0; t < r->threads; t++) {
		const struct pp_thread *thread = &r->thread[t];

		fprintf(to, " thread %u device=%u main=%d '%s' %" PRId64 "..%" PRId64 "\n", thread->tid, thread->device,
		        thread->is_main, pp_intern_text(c->names, thread->name, NULL), thread->first, thread->last);
		for (size_t i = 0; i < thread->spans; i++)
			dump_span(c, &thread->span[i], to);
	}
	for (const struct pp_side_array *side = pp_side_arrays; side < pp_side_arrays + PP_SIDE_IDS; side++)
		for (size_t i = 0; i < pp_side_count(side, r); i++) {
			fprintf(to, " %s", side->name);
			for (size_t f = 0; f < side->fields; f++)
				dump_field(c, pp_side_rows(side, r) + i * side->size, &side->field[f], to);
			fputc('\n', to);
		}
}

void pp_capture_dump(const struct pp_capture *c, FILE *to)
{
	fprintf(to, "capture of %zu ranks of %d\n", c->ranks, c->ranks_asked);
	for (size_t i = 0; i < c->ranks; i++)
		dump_rank(c, &c->rank[i], to);
}
