/* Makes operations of ranks from XLA's collectives; see collectives.h. */
#include "aggregate/read/xspace/collectives.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/read/xspace/hlo_table.h"
#include "aggregate/read/xspace/kind.h"
#include "aggregate/read/xspace/line.h"
#include "aggregate/read/xspace/plane.h"
#include "core/base/compare.h"
#include "core/base/grow.h"
#include "core/base/hash.h"
#include "core/base/partition.h"
#include "core/base/utf8.h"
#include "core/call/mpi_call.h"
#include "core/capture/order.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"
#include "core/ring/record.h"
#include "core/step/classify.h"

enum { RUN_BITS = 16, NESTED_RUNS = 8 };

struct one { /* a device's part of an operation */
	uint64_t comm;
	uint32_t at; /* in x->collective */
	uint32_t occurrence;
	int64_t run, begin;
	uint32_t place; /* device + 1, or 0: the host's */
	int64_t id;
	uint32_t devices;          /* of its group; 0: unknown */
	int is_joined, is_several; /* ran on the device as several kernels */
	char group[48];
};

struct work {
	struct pp_xread *x;
	struct one *one;
	size_t ones;
	struct pp_thread calls; /* of operations on devices */
	size_t calls_room, operations_room, comms_room;
	uint64_t correlation; /* of kernels without one */
	uint32_t request;
	uint64_t without_group, without_run; /* that are not joined, and why */
};

PP_COMPARE(by_run, struct pp_xrun, PP_UP(is_on_device) ?: PP_UP(place) ?: PP_UP(begin) ?: PP_DOWN(end))

PP_COMPARE(by_device, struct one, PP_UP(comm) ?: PP_UP(run) ?: PP_UP(place) ?: PP_UP(id) ?: PP_UP(begin) ?: PP_UP(at))

PP_COMPARE(by_operation, struct one, PP_UP(comm) ?: PP_UP(run) ?: PP_UP(occurrence) ?: PP_UP(begin) ?: PP_UP(at))

/* Of the parts of an operation the last to begin: the rank is ready when all of its devices are. */
PP_COMPARE(by_begin, struct one, PP_UP(begin) ?: PP_UP(comm))

static const struct pp_xhlo *hlo_of(const struct pp_xread *x, const struct pp_xcollective *c)
{
	return &x->hlo[c->hlo - 1];
}

void pp_xcollectives_take(struct pp_xread *x, const struct pp_xplane *p, const struct pp_xline *l, const struct pp_xevent *e,
                          uint32_t hlo, int64_t begin, int64_t end)
{
	const int on_device = pp_xkind_is_device(p->kind);

	if (PP_GROW(x->collective, x->collectives, x->collectives_room)) {
		x->no_memory = 1;
		return;
	}
	x->collective[x->collectives++] = (struct pp_xcollective){
	        .begin = begin,
	        .end = end,
	        .run = pp_xevent_has(e, PP_XS_RUN_ID) ? (int64_t)e->number[PP_XS_RUN_ID] : 0,
	        .has_run = pp_xevent_has(e, PP_XS_RUN_ID),
	        .id = !on_device && pp_xevent_has(e, PP_XS_ALLOCATOR_NUMBER) ? (int64_t)e->number[PP_XS_ALLOCATOR_NUMBER] : -1,
	        .thread = (uint32_t)x->rank.threads,
	        .hlo = hlo,
	        .correlation = on_device && pp_xevent_has(e, PP_XS_CORRELATION) ? e->number[PP_XS_CORRELATION] : 0,
	        .device = on_device ? p->device + 1 : 0,
	        .is_core = on_device && p->kind == PP_XPLANE_TPU && l->kind != PP_XLINE_ASYNC,
	        .is_async = l->kind == PP_XLINE_ASYNC,
	};
}

static void add_run(struct pp_xread *x, const struct pp_xrun *run)
{
	if (PP_GROW(x->run, x->runs, x->runs_room))
		x->no_memory = 1;
	else
		x->run[x->runs++] = *run;
}

void pp_xcollectives_run(struct pp_xread *x, const struct pp_xevent *e, int64_t begin, int64_t end)
{
	const int has_run = pp_xevent_has(e, PP_XS_RUN_ID), has_device = pp_xevent_has(e, PP_XS_GLOBAL_DEVICE);

	/* What runs on one device consumes the execution that its call produced. */
	if (end <= begin || pp_xevent_has(e, PP_XS_HLO_OP) || (!has_run && !(has_device && pp_xevent_has(e, PP_XS_CONSUMER))))
		return;
	add_run(x, &(struct pp_xrun){.begin = begin,
	                             .end = end,
	                             .run = (int64_t)e->number[has_run ? PP_XS_RUN_ID : PP_XS_CONSUMER],
	                             .id = has_device ? (int64_t)e->number[PP_XS_GLOBAL_DEVICE] : -1,
	                             .place = (uint32_t)x->rank.threads});
}

void pp_xcollectives_module(struct pp_xread *x, struct pp_xplane *p, struct pp_xline *l, const struct pp_field *event)
{
	struct pp_xrun run = {.id = -1, .place = p->device, .is_on_device = 1};
	const struct pp_xmeta *m;
	struct pp_xevent e;
	const uint8_t *open;

	x->rank.trace.derived++;
	if (!pp_xevent_read(x, p, l, event, &e, &run.begin, &run.end) || !pp_xevent_has(&e, PP_XS_RUN_ID))
		return;
	m = pp_xplane_event(x, p, e.metadata);
	open = m && m->length ? memchr(m->text, '(', m->length) : NULL;
	run.run = (int64_t)e.number[PP_XS_RUN_ID];
	run.program = pp_xevent_has(&e, PP_XS_PROGRAM) ? e.number[PP_XS_PROGRAM] : 0;
	if (m && m->length) /* "jit_f(123)" */
		run.name = pp_intern_put(x->names, (const char *)m->text, open ? (size_t)(open - m->text) : m->length);
	add_run(x, &run);
}

/* The innermost execution around a time at a place; NULL: none. */
static const struct pp_xrun *run_at(const struct pp_xread *x, int is_on_device, uint32_t place, int64_t time)
{
	const struct pp_xrun *r = x->run;
	size_t at = PP_PARTITION(
	        x->runs, i,
	        r[i].is_on_device < is_on_device ||
	                (r[i].is_on_device == is_on_device && (r[i].place < place || (r[i].place == place && r[i].begin <= time))));

	for (int n = 0; n < NESTED_RUNS && at-- > 0; n++) {
		if (r[at].is_on_device != is_on_device || r[at].place != place)
			return NULL;
		if (r[at].end > time)
			return &r[at];
	}
	return NULL;
}

static struct pp_span *span_of(struct pp_xread *x, const struct pp_xcollective *c)
{
	struct pp_thread *t = &x->rank.thread[c->thread];
	size_t at = PP_PARTITION(t->spans, i, t->span[i].begin < c->begin);

	for (; at < t->spans && t->span[at].begin == c->begin; at++)
		if (t->span[at].end == c->end && t->span[at].kind == (c->device ? PP_SPAN_DEVICE : PP_SPAN_RANGE))
			return &t->span[at];
	return NULL;
}

PP_COMPARE(by_correlation, struct pp_xcollective *const, PP_ORDER((*x)->correlation, (*y)->correlation))

/* The execution in which a launch lies is that of what it launched. */
static void take_run(struct pp_xread *x, struct pp_xcollective *c, const struct pp_xrun *r)
{
	const struct pp_xrun *outer = r;

	if (!r)
		return;
	c->run = r->run;
	c->has_run = 1;
	for (int n = 0; c->id < 0 && n < NESTED_RUNS && outer >= x->run; n++, outer--)
		if (outer->place == r->place && outer->is_on_device == r->is_on_device && outer->end >= r->end &&
		    outer->run == r->run)
			c->id = outer->id;
}

static void take_runs_of_launches(struct pp_xread *x)
{
	struct pp_xcollective **wanted =
	        calloc(x->collectives + 1, sizeof(*wanted)); /* NOLINT(bugprone-sizeof-expression): pointers */
	size_t n = 0;

	x->no_memory |= !wanted;
	for (size_t i = 0; i < x->collectives && wanted; i++)
		if (x->collective[i].correlation && !x->collective[i].has_run)
			wanted[n++] = &x->collective[i];
	if (n) /* NOLINTNEXTLINE(bugprone-sizeof-expression): the same */
		qsort(wanted, n, sizeof(*wanted), by_correlation);
	for (size_t t = 0; n && t < x->rank.threads; t++) {
		const struct pp_thread *thread = &x->rank.thread[t];

		for (size_t i = 0; !thread->device && i < thread->spans; i++) {
			const struct pp_span *s = &thread->span[i];
			const uint64_t id = s->kind == PP_SPAN_RANGE || s->kind == PP_SPAN_MARK ? s->range.id : 0;
			size_t at = id ? PP_PARTITION(n, k, wanted[k]->correlation < id) : n;

			for (; at < n && wanted[at]->correlation == id; at++)
				take_run(x, wanted[at], run_at(x, 0, (uint32_t)t, s->begin));
		}
	}
	free(wanted);
}

/* Its execution, and the program where the operation's text does not say it. */
static uint32_t find_run(struct pp_xread *x, struct pp_xcollective *c)
{
	const struct pp_xhlo *h = hlo_of(x, c);
	const struct pp_xrun *r = c->device ? run_at(x, 1, c->device - 1, c->begin) : NULL;

	if (!c->has_run)
		take_run(x, c, r);
	return h->module || !r ? h->module : pp_xhlo_module(x, r->program != 0, r->program, r->name);
}

static uint32_t name_of_run(const struct pp_xread *x, const struct pp_xcollective *c, uint32_t module)
{
	const struct pp_xrun *r = module || !c->device ? NULL : run_at(x, 1, c->device - 1, c->begin);

	return module ? x->module[module - 1].name : r ? r->name : 0;
}

static uint64_t hash_name(uint64_t hash, const struct pp_intern *names, uint32_t id)
{
	size_t length;
	const char *text = pp_intern_text(names, id, &length);

	return pp_hash(hash, text, length + 1);
}

/* The operation on a device: its group, and the number that it has on all ranks. */
static void add_one(struct work *w, uint32_t at)
{
	static const struct pp_hlo_devices unknown = {0};
	struct pp_xread *x = w->x;
	struct pp_xcollective *c = &x->collective[at];
	const struct pp_xhlo *h = hlo_of(x, c);
	const uint32_t module = find_run(x, c), name = name_of_run(x, c, module);
	struct one *one = &w->one[w->ones];
	struct pp_hlo_group group;

	if (!pp_hlo_group_of(&h->hlo, module ? &x->module[module - 1].devices : &unknown, c->id, &group))
		return;
	*one = (struct one){.at = at, .begin = c->begin, .place = c->device, .id = c->id, .devices = group.devices};
	one->is_joined = c->has_run && group.is_known && name;
	w->without_group += !group.is_known;
	w->without_run += group.is_known && !one->is_joined;
	one->run = one->is_joined ? c->run : 0;
	one->comm = hash_name(hash_name(PP_HASH_BEGIN, x->names, name), x->names, h->op);
	one->comm = pp_hash(one->comm, &group.key, sizeof(group.key));
	if (!one->is_joined) { /* of this device only */
		one->comm = pp_hash(one->comm, &x->options->rank, sizeof(x->options->rank));
		one->comm = pp_hash(one->comm, &c->device, sizeof(c->device));
		one->comm = pp_hash(one->comm, &c->id, sizeof(c->id));
	}
	one->comm |= 1;
	memcpy(one->group, group.text, sizeof(one->group));
	w->ones++;
}

/* Call number of what runs on a device, or on a thread of the host. */
static unsigned call_of(const struct pp_xhlo *h, int on_device)
{
	static const char *const name[PP_HLO_KINDS] = {"",
	                                               "xla::all-reduce",
	                                               "xla::all-gather",
	                                               "xla::reduce-scatter",
	                                               "xla::all-to-all",
	                                               "xla::ragged-all-to-all",
	                                               "xla::collective-permute",
	                                               "xla::collective-broadcast"};
	char text[40];

	snprintf(text, sizeof(text), "%s%s", name[h->hlo.kind], on_device ? "" : " (host)");
	return pp_c10d_call_of(text, strlen(text));
}

static void add_comm(struct work *w, const struct one *one, uint32_t parts)
{
	struct pp_xread *x = w->x;
	const struct pp_xhlo *h = hlo_of(x, &x->collective[one->at]);
	const int is_even = one->is_joined && one->devices && one->devices % parts == 0;
	struct pp_comm *comm;
	char text[256];
	int n;

	if (PP_GROW(x->rank.comm, x->rank.comms, w->comms_room)) {
		x->no_memory = 1;
		return;
	}
	comm = &x->rank.comm[x->rank.comms++];
	n = snprintf(text, sizeof(text), "%.*s%s%s", pp_utf8_fit(pp_intern_text(x->names, h->op, NULL), 180),
	             pp_intern_text(x->names, h->op, NULL), one->group[0] ? " " : "", one->group);
	*comm = (struct pp_comm){.id = one->comm,
	                         .name = pp_intern_put(x->names, text, (size_t)n),
	                         .size = is_even ? one->devices / parts : one->devices,
	                         .devices = is_even && parts > 1 ? one->devices : 0};
}

static struct pp_span_mpi operation_of(struct work *w, const struct one *one)
{
	const struct pp_xcollective *c = &w->x->collective[one->at];
	const struct pp_xhlo *h = hlo_of(w->x, c);
	const uint64_t bytes = pp_hlo_bytes(&h->hlo, one->devices);

	return (struct pp_span_mpi){.comm = one->comm,
	                            .sent = bytes,
	                            .received = bytes,
	                            .sequence = one->is_joined ? (uint32_t)((uint64_t)one->run << RUN_BITS) | one->occurrence
	                                                       : one->occurrence,
	                            .peer = -1,
	                            .call = (uint16_t)call_of(h, c->device != 0)};
}

/* On the host the range itself is the call. */
static void put_call(struct work *w, const struct one *one)
{
	const struct pp_xcollective *c = &w->x->collective[one->at];
	struct pp_span *s = span_of(w->x, c);

	if (!s)
		return;
	s->kind = PP_SPAN_MPI;
	s->mpi = operation_of(w, one);
	w->x->rank.thread[c->thread].kinds |= PP_SPAN_BIT(PP_SPAN_MPI);
}

/* The kernel that the operation was; one that is none of several and has a number of its own then. 0: none is known. */
static uint32_t kernel_of(struct work *w, const struct one *one)
{
	const struct pp_xcollective *c = &w->x->collective[one->at];
	struct pp_span *s = c->is_paired || one->is_several ? NULL : span_of(w->x, c);

	if (!s || s->device.activity != PP_DEVICE_COLLECTIVE)
		return 0;
	s->flags &= (uint8_t)~PP_SPAN_IN_OPERATION;
	if (!s->device.correlation)
		s->device.correlation = ++w->correlation;
	return (uint32_t)s->device.correlation;
}

static void add_span(struct work *w, const struct pp_span *s)
{
	struct pp_thread *t = &w->calls;

	if (PP_GROW(t->span, t->spans, w->calls_room)) {
		w->x->no_memory = 1;
		return;
	}
	t->span[t->spans++] = *s;
	t->kinds |= PP_SPAN_BIT(s->kind);
	t->first = t->spans == 1 || s->begin < t->first ? s->begin : t->first;
	t->last = t->spans == 1 || s->end > t->last ? s->end : t->last;
}

/* On a device: a call that takes no time when the device begins, and its request. */
static void put_operation(struct work *w, const struct one *one)
{
	struct pp_xread *x = w->x;
	const struct pp_xcollective *c = &x->collective[one->at];
	struct pp_span s = {.begin = c->begin, .end = c->begin, .kind = PP_SPAN_MPI, .source = PP_SOURCE_XSPACE};
	const char *name;

	if (PP_GROW(x->rank.operation, x->rank.operations, w->operations_room)) {
		x->no_memory = 1;
		return;
	}
	s.mpi = operation_of(w, one);
	s.mpi.request = ++w->request;
	name = pp_mpi_call_info(s.mpi.call)->name;
	s.name = pp_intern_put(x->names, name, strlen(name));
	x->rank.operation[x->rank.operations++] = (struct pp_operation){.request = s.mpi.request,
	                                                                .correlation = kernel_of(w, one),
	                                                                .device_ns = one->is_several ? 0 : c->end - c->begin,
	                                                                .device = c->device};
	add_span(w, &s);
	s.kind = PP_SPAN_REQUEST;
	s.end = c->end;
	add_span(w, &s);
}

static void finish_calls(struct work *w)
{
	struct pp_xread *x = w->x;
	static const char name[] = "XLA collectives";

	if (!w->calls.spans)
		return;
	w->calls.name = pp_intern_put(x->names, name, sizeof(name) - 1);
	if (pp_order_spans(w->calls.span, w->calls.spans) || PP_GROW(x->rank.thread, x->rank.threads, x->threads_room)) {
		x->no_memory = 1;
		free(w->calls.span);
		return;
	}
	x->rank.thread[x->rank.threads++] = w->calls;
}

/* What is in no row of its own is no kernel without an operation. */
static void mark_parts(struct pp_xread *x)
{
	for (size_t i = 0; i < x->collectives; i++) {
		struct pp_span *s = x->collective[i].device ? span_of(x, &x->collective[i]) : NULL;

		if (s)
			s->flags |= PP_SPAN_IN_OPERATION;
	}
}

/* A start that lasts until its done; both only begin and wait where the file has what ran beside the core. */
static void pair(struct pp_xread *x)
{
	const uint32_t names = pp_intern_count(x->names);
	uint8_t *is_async = calloc(names + 1, 1);
	uint32_t *start = calloc(names + 1, sizeof(*start)); /* index + 1 of the last one of that name */

	x->no_memory |= !is_async || !start;
	for (size_t i = 0; i < x->collectives && !x->no_memory; i++)
		if (x->collective[i].is_async)
			is_async[hlo_of(x, &x->collective[i])->op] = 1;
	for (size_t i = 0; i < x->collectives && !x->no_memory; i++) {
		struct pp_xcollective *c = &x->collective[i], *before;
		const struct pp_xhlo *h = hlo_of(x, c);
		const uint32_t of = h->hlo.part == PP_HLO_DONE ? h->start : h->op;
		struct pp_span *s;

		if (!c->is_core || h->hlo.part == PP_HLO_WHOLE)
			continue;
		c->is_left_out = h->hlo.part == PP_HLO_DONE || is_async[of];
		s = is_async[of] ? span_of(x, c) : NULL;
		if (s) {
			s->device.activity = PP_DEVICE_WAIT;
			s->device.by = PP_BY_KIND;
		}
		if (h->hlo.part == PP_HLO_START) {
			c->is_paired = 1; /* its own time is that of beginning it */
			start[of] = (uint32_t)i + 1;
			continue;
		}
		before = of && start[of] ? &x->collective[start[of] - 1] : NULL;
		if (before && before->thread == c->thread && !before->is_left_out && c->begin >= before->begin) {
			before->end = c->end;
			start[of] = 0;
		}
	}
	free(is_async);
	free(start);
}

/* Numbers how often an operation ran in an execution on a device. */
static void number(struct work *w)
{
	if (w->ones)
		qsort(w->one, w->ones, sizeof(*w->one), by_device);
	for (size_t i = 0, n; i < w->ones; i += n) {
		const struct one *first = &w->one[i];
		const struct pp_xcollective *c = &w->x->collective[first->at];

		for (n = 1; i + n < w->ones && w->one[i + n].comm == first->comm && w->one[i + n].run == first->run &&
		            w->one[i + n].place == first->place && w->one[i + n].id == first->id;)
			n++;
		for (size_t k = 0; k < n; k++)
			w->one[i + k].occurrence = (uint32_t)k;
		w->one[i].is_several = n > 1 && first->is_joined && hlo_of(w->x, c)->hlo.is_once;
		for (size_t k = 1; k < n && w->one[i].is_several; k++)
			w->one[i + k].occurrence = UINT32_MAX;
	}
}

/* One part of each operation of the rank: that of the device that is ready last. */
static void choose(struct work *w)
{
	size_t chosen = 0;
	uint32_t most = 1;

	if (w->ones)
		qsort(w->one, w->ones, sizeof(*w->one), by_operation);
	for (size_t i = 0, n; i < w->ones; i += n) {
		const struct one first = w->one[i];

		for (n = 1; i + n < w->ones && w->one[i + n].comm == first.comm && w->one[i + n].run == first.run &&
		            w->one[i + n].occurrence == first.occurrence;)
			n++;
		if (first.is_joined && first.occurrence >> RUN_BITS)
			continue;
		if (!chosen || w->one[chosen - 1].comm != first.comm)
			most = 1;
		most = n > most ? (uint32_t)n : most;
		w->one[chosen++] = w->one[i + n - 1];
		if (i + n == w->ones || w->one[i + n].comm != first.comm)
			add_comm(w, &w->one[chosen - 1], most);
	}
	w->ones = chosen;
	if (w->ones)
		qsort(w->one, w->ones, sizeof(*w->one), by_begin);
}

static void remark_one(struct pp_xread *x, uint64_t n, const char *why)
{
	char text[PP_REMARK_TEXT];

	if (!n)
		return;
	snprintf(text, sizeof(text), "%" PRIu64 " collectives of XLA are joined with no other device's: the file does not say %s",
	         n, why);
	pp_remark_add(x->rank.remark, &x->rank.remarks, text);
}

void pp_xcollectives_finish(struct pp_xread *x)
{
	struct work w = {.x = x, .correlation = PP_CORRELATION_OWN};

	if (!x->collectives)
		return;
	w.one = calloc(x->collectives, sizeof(*w.one));
	x->no_memory |= !w.one;
	if (x->runs)
		qsort(x->run, x->runs, sizeof(*x->run), by_run);
	take_runs_of_launches(x);
	mark_parts(x);
	pair(x);
	for (size_t i = 0; i < x->collectives && !x->no_memory; i++)
		if (!x->collective[i].is_left_out)
			add_one(&w, (uint32_t)i);
	remark_one(x, w.without_group, "which of several groups their device is in");
	remark_one(x, w.without_run, "of which execution they are");
	number(&w);
	choose(&w);
	for (size_t i = 0; i < w.ones && !x->no_memory; i++)
		(x->collective[w.one[i].at].device ? put_operation : put_call)(&w, &w.one[i]);
	finish_calls(&w);
	free(w.one);
}
