/* Finds the processes of a file and makes streams of devices' threads; see process.h. Called by finish.c. */
#include "aggregate/read/kineto/process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/read/kineto/take.h"
#include "core/base/compare.h"
#include "core/base/partition.h"
#include "core/capture/side.h"
#include "core/capture/span.h"
#include "core/ring/record.h"

PP_COMPARE_BY(compare_process, struct kineto_process, pid)

PP_COMPARE(compare_label, struct kineto_label, PP_UP(of) ?: PP_UP(pid) ?: PP_UP(tid) ?: PP_UP(order))

uint32_t pp_kineto_label(const struct kineto_store *s, enum kineto_label_of of, kineto_key pid, kineto_key tid)
{
	const struct kineto_label *l = s->label;
	size_t low = PP_PARTITION(s->labels, at,
	                          l[at].of < of || (l[at].of == of && (l[at].pid < pid || (l[at].pid == pid && l[at].tid <= tid))));

	if (low && l[low - 1].of == of && l[low - 1].pid == pid && (of != KINETO_OF_THREAD || l[low - 1].tid == tid))
		return l[low - 1].name;
	return 0;
}

struct kineto_process *pp_kineto_process(const struct kineto_processes *list, kineto_key pid)
{
	size_t low = PP_PARTITION(list->processes, at, list->process[at].pid < pid);

	return low < list->processes && list->process[low].pid == pid ? &list->process[low] : NULL;
}

static int begins(const struct kineto_store *s, uint32_t id, const char *with)
{
	return !strncmp(pp_intern_text(s->names, id, NULL), with, strlen(with));
}

/* The number at the end of "/device:GPU:3" or "NPU 3"; -1: none. */
static int64_t last_number(const struct kineto_store *s, uint32_t id)
{
	size_t length;
	const char *text = pp_intern_text(s->names, id, &length);
	size_t at = length;
	int64_t number = 0;

	while (at && text[at - 1] >= '0' && text[at - 1] <= '9')
		at--;
	for (size_t i = at; i < length && number <= UINT16_MAX; i++)
		number = number * 10 + (text[i] - '0');
	return at == length || number > UINT16_MAX ? -1 : number;
}

/* A device without a number has the next one. */
static void number_devices(struct kineto_store *s, const struct kineto_processes *list)
{
	int64_t next = 0;

	for (size_t i = 0; i < list->processes; i++) {
		struct kineto_process *p = &list->process[i];
		int64_t number = p->role == KINETO_IS_DEVICE ? last_number(s, p->name) : -1;

		if (p->role != KINETO_IS_DEVICE)
			continue;
		if (number < 0)
			number = last_number(s, p->labels);
		p->device = number < 0 ? next : number;
		next = p->device >= next ? p->device + 1 : next;
	}
	for (size_t i = 0; i < list->processes; i++) /* of a communication library: on the first device */
		if (list->process[i].role == KINETO_GROUPS)
			list->process[i].device = 0;
}

static void describe(struct kineto_store *s, struct kineto_process *p)
{
	size_t length;
	const char *name;

	p->name = pp_kineto_label(s, KINETO_OF_PROCESS, p->pid, UINT64_MAX);
	p->labels = pp_kineto_label(s, KINETO_OF_LABELS, p->pid, UINT64_MAX);
	name = pp_intern_text(s->names, p->name, &length);
	p->role = (uint8_t)pp_kineto_role(name, length);
	p->device = -1;
}

int pp_kineto_processes(struct kineto_store *s, struct kineto_processes *ret_list)
{
	struct kineto_processes list = {.process = calloc(s->tracks + 1, sizeof(*list.process))};

	if (!list.process)
		return -ENOMEM;
	if (s->labels)
		qsort(s->label, s->labels, sizeof(*s->label), compare_label);
	for (size_t t = 0; t < s->tracks; t++)
		list.process[t] = (struct kineto_process){.pid = s->track[t].pid, .first = UINT32_MAX};
	qsort(list.process, s->tracks, sizeof(*list.process), compare_process);
	for (size_t t = 0; t < s->tracks; t++)
		if (!t || list.process[t].pid != list.process[list.processes - 1].pid)
			list.process[list.processes++] = list.process[t];
	for (size_t i = 0; i < list.processes; i++)
		describe(s, &list.process[i]);
	number_devices(s, &list);
	for (uint32_t t = 0; t < s->tracks; t++) {
		struct kineto_process *p = pp_kineto_process(&list, s->track[t].pid);
		uint32_t label = pp_kineto_label(s, KINETO_OF_THREAD, s->track[t].pid, s->track[t].tid);

		p->first = t < p->first ? t : p->first;
		p->seen |= s->track[t].device < 0 ? s->track[t].seen : 0;
		p->has_steps |= s->track[t].steps != 0;
		p->has_streams |= (uint8_t)begins(s, label, "Stream");
		p->has_operations |= (uint8_t)begins(s, label, "XLA Ops");
		p->has_groups |= (uint8_t)begins(s, label, "Group");
	}
	*ret_list = list;
	return 0;
}

static void drop(struct kineto_store *s, struct kineto_track *t)
{
	s->trace.derived += t->spans;
	s->trace.events -= t->spans;
	t->spans = t->steps = 0;
}

/* Does the thread of a device show work, and not what a viewer drew beside it? */
static int is_work(const struct kineto_store *s, const struct kineto_process *p, uint32_t label)
{
	if (p->role == KINETO_GROUPS)
		return !p->has_groups || begins(s, label, "Group");
	if (p->has_streams)
		return begins(s, label, "Stream");
	return !p->has_operations || begins(s, label, "XLA Ops");
}

static uint8_t activity_of(const struct kineto_foreign *f, struct pp_kernel_kind kind, const struct kineto_process *p)
{
	if (p->role == KINETO_GROUPS)
		return PP_DEVICE_COLLECTIVE;
	if (f && f->group == KINETO_COPY && pp_kernel_is_one(kind.activity))
		return PP_DEVICE_DEVICE_TO_DEVICE;
	return kind.activity;
}

/* 0: it is no work. */
static int convert_span(struct kineto_store *s, const struct kineto_process *p, struct pp_span *span)
{
	const struct kineto_foreign *f =
	        span->range.payload_type == KINETO_MARK_FOREIGN ? &s->foreign[span->range.payload - 1] : NULL;
	const uint64_t correlation = f ? span->range.id : 0;
	const uint32_t id = pp_kernel_text(&s->texts, s->names, span->name);
	size_t length;
	const char *name = pp_intern_text(s->names, id, &length);
	const struct pp_kernel_kind kind = pp_kernel_cached(&s->kernels, id, name, length);

	if (span->kind != PP_SPAN_RANGE || (f && f->group == KINETO_DERIVED) || pp_kineto_is_queue_wait(name, length))
		return 0;
	if (p->role == KINETO_GROUPS && !p->has_groups && kind.activity != PP_DEVICE_COLLECTIVE)
		return 0;
	span->name = id;
	span->kind = PP_SPAN_DEVICE;
	span->device = (struct pp_span_device){.correlation = correlation,
	                                       .bytes = f ? f->bytes : 0,
	                                       .op = f ? f->op : 0,
	                                       .launch = f ? f->launch : 0,
	                                       .activity = activity_of(f, kind, p)};
	if (span->device.activity == PP_DEVICE_KERNEL)
		span->device.precision = kind.precision;
	return 1;
}

static int convert(struct kineto_store *s, const struct kineto_process *p, struct kineto_track *t)
{
	uint32_t label = pp_kineto_label(s, KINETO_OF_THREAD, t->pid, t->tid);
	size_t count = 0;

	if (!is_work(s, p, label)) {
		drop(s, t);
		return 0;
	}
	for (size_t i = 0; i < t->spans; i++)
		if (convert_span(s, p, &t->span[i]))
			t->span[count++] = t->span[i];
	s->trace.derived += t->spans - count;
	s->trace.events -= t->spans - count;
	t->spans = count;
	t->steps = 0;
	t->device = p->device;
	t->may_nest = !p->has_streams;
	t->stream = p->role == KINETO_GROUPS ? KINETO_NAMED_QUEUE | (int64_t)label : (int64_t)(t->tid >> 1);
	return count ? pp_kineto_take_device(s, t->device, 0, 0) : 0;
}

/* Calls of a device's runtime that the file shows as a process of their own. */
static void mark_launches(struct kineto_track *t)
{
	for (size_t i = 0; i < t->spans; i++) {
		struct pp_span *span = &t->span[i];

		if (span->kind != PP_SPAN_RANGE)
			continue;
		span->range.origin = PP_ORIGIN_RUNTIME;
		span->range.payload = 0;
		span->range.payload_type =
		        span->range.payload_type == KINETO_MARK_FOREIGN && span->range.id ? KINETO_MARK_LAUNCH : 0;
	}
}

int pp_kineto_convert(struct kineto_store *s, const struct kineto_processes *list)
{
	int rc = 0;

	for (size_t t = 0; t < s->tracks && rc == 0; t++) {
		const struct kineto_process *p = pp_kineto_process(list, s->track[t].pid);

		if (!p || s->track[t].device >= 0)
			continue;
		if (p->role == KINETO_IGNORED)
			drop(s, &s->track[t]);
		else if (p->role == KINETO_RUNTIME)
			mark_launches(&s->track[t]);
		else if (p->role == KINETO_IS_DEVICE || p->role == KINETO_GROUPS)
			rc = convert(s, p, &s->track[t]);
	}
	return rc;
}
