/* Looks at the operators of kernels; see communication.h. */
#include "aggregate/read/communication.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/utf8.h"
#include "core/base/wrap.h"
#include "core/capture/rank.h"
#include "core/capture/span.h"
#include "core/capture/thread.h"
#include "core/ring/intern.h"
#include "core/ring/record.h"
#include "core/step/category.h"
#include "core/step/classify.h"
#include "core/step/kernel_name.h"
#include "core/step/user_rules.h"

enum { NO_RULE = 1 };

enum operator_is { IS_UNKNOWN = 1, IS_COMMUNICATING, IS_COMPUTING };

struct named { /* a name, by its id */
	int64_t unsure_ns;
	uint8_t operator_is; /* 0: not looked at; else enum operator_is */
	uint8_t kernel_is;   /* 0: not looked at; else 1 + what it becomes in an operator that communicates */
	uint8_t rule_is;     /* 0: not looked at; NO_RULE; else 2 + what the user's rule makes of it */
};

/* PyTorch's own operators on tensors compute, whatever words the names of their kernels have. */
static enum operator_is what_is(struct named *n, const struct pp_intern *names, uint32_t id)
{
	size_t length;
	const char *text;

	if (!n->operator_is) {
		text = pp_intern_text(names, id, &length);
		n->operator_is = pp_operator_communicates(text, length) ? IS_COMMUNICATING
		                 : !strncmp(text, "aten::", 6)          ? IS_COMPUTING
		                                                        : IS_UNKNOWN;
	}
	return (enum operator_is)n->operator_is;
}

/* A product of matrices that sends its parts does both. */
static uint8_t inside(struct named *n, struct pp_kernel_cache *cache, const struct pp_intern *names, uint32_t id)
{
	size_t length;
	const char *text;

	if (!n->kernel_is) {
		text = pp_intern_text(names, id, &length);
		n->kernel_is = pp_kernel_cached(cache, id, text, length).is_local          ? 1 + PP_DEVICE_KERNEL
		               : pp_kernel_tensor_core(text, length) == PP_TENSOR_CORE_YES ? 1 + PP_DEVICE_UNSURE
		                                                                           : 1 + PP_DEVICE_COLLECTIVE;
	}
	return n->kernel_is - 1;
}

/* The user's word for it; -1: none. */
static int by_rule(struct named *n, const struct pp_intern *names, uint32_t id)
{
	size_t length;
	const char *text;

	if (!n->rule_is) {
		text = pp_intern_text(names, id, &length);
		switch (pp_user_rule_of_kernel(text, length)) {
		case PP_CATEGORY_DEVICE_COMPUTE:
			n->rule_is = 2 + PP_DEVICE_KERNEL;
			break;
		case PP_CATEGORY_DEVICE_COLLECTIVE:
			n->rule_is = 2 + PP_DEVICE_COLLECTIVE;
			break;
		case PP_CATEGORY_DEVICE_TO_DEVICE:
			n->rule_is = 2 + PP_DEVICE_DEVICE_TO_DEVICE;
			break;
		default:
			n->rule_is = NO_RULE;
		}
	}
	return n->rule_is - 2;
}

/* What an activity rests on that the reader took from a name, or from the kind of record. XSpace has only names of copies. */
static uint8_t evidence_of(const struct pp_span *s)
{
	switch (s->device.activity) {
	case PP_DEVICE_UNSURE:
		return PP_BY_NOTHING;
	case PP_DEVICE_COLLECTIVE:
	case PP_DEVICE_WAIT:
		return PP_BY_NAME;
	case PP_DEVICE_KERNEL:
		return PP_BY_KIND;
	default:
		return s->source == PP_SOURCE_XSPACE ? PP_BY_NAME : PP_BY_KIND;
	}
}

static void remark(struct pp_rank *rank, const struct pp_intern *names, const struct named *named)
{
	const uint32_t count = pp_intern_count(names);
	char text[PP_REMARK_TEXT];
	uint32_t most = 0;

	for (uint32_t i = 0; i < count; i++)
		if (named[i].unsure_ns > named[most].unsure_ns)
			most = i;
	if (!named[most].unsure_ns)
		return;
	snprintf(text, sizeof(text),
	         "neither name nor operator tells whether kernels communicate: they count as All others. Longest: %.*s",
	         pp_utf8_fit(pp_intern_text(names, most, NULL), 48), pp_intern_text(names, most, NULL));
	pp_remark_add(rank->remark, &rank->remarks, text);
}

static void decide(struct pp_span *s, struct named *named, struct pp_kernel_cache *cache, const struct pp_intern *names)
{
	const int rule = by_rule(&named[s->name], names, s->name),
	          may_be = s->device.activity == PP_DEVICE_KERNEL || s->device.activity == PP_DEVICE_UNSURE;
	const uint32_t op = s->device.op;
	const enum operator_is of = may_be && s->device.by != PP_BY_KIND && op && op < pp_intern_count(names)
	                                    ? what_is(&named[op], names, op)
	                                    : IS_UNKNOWN;

	if (rule >= 0) {
		s->device.activity = (uint8_t)rule;
		s->device.by = PP_BY_RULE;
	} else if (of == IS_COMPUTING && s->device.activity == PP_DEVICE_UNSURE) {
		s->device.activity = PP_DEVICE_KERNEL;
		s->device.by = PP_BY_LAUNCH;
	} else if (of == IS_COMMUNICATING) {
		s->device.activity = inside(&named[s->name], cache, names, s->name);
		s->device.by = s->device.activity == PP_DEVICE_UNSURE ? PP_BY_NOTHING : PP_BY_LAUNCH;
	} else if (!s->device.by) {
		s->device.by = evidence_of(s);
	}
	if (may_be && s->device.activity != PP_DEVICE_KERNEL)
		s->device.precision = PP_PRECISION_UNKNOWN;
	if (s->device.activity == PP_DEVICE_UNSURE && s->end > s->begin)
		named[s->name].unsure_ns = pp_wrap_plus(named[s->name].unsure_ns, s->end - s->begin);
}

int pp_communication_find(struct pp_rank *rank, const struct pp_intern *names)
{
	const uint32_t count = names ? pp_intern_count(names) : 0;
	struct pp_kernel_cache cache = {.known = NULL};
	struct named *named = count ? calloc(count, sizeof(*named)) : NULL;

	if (!named)
		return count ? -ENOMEM : 0;
	for (size_t t = 0; t < rank->threads; t++) {
		const struct pp_thread *thread = &rank->thread[t];

		for (size_t i = 0; thread->device && i < thread->spans; i++) {
			struct pp_span *s = &thread->span[i];

			if (s->kind == PP_SPAN_DEVICE && s->name < count)
				decide(s, named, &cache, names);
		}
	}
	remark(rank, names, named);
	pp_kernel_cache_release(&cache);
	free(named);
	return 0;
}
