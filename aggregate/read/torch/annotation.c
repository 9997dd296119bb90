/* Reads a framework's annotations of its collectives, remarks of its shim, and where the names of its ranges end. Called by
 * pair.c and finish.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/read/ring/pair.h"
#include "core/base/grow.h"
#include "core/base/utf8.h"
#include "core/call/mpi_call.h"

enum { MOST = 1 << 18 }; /* far more than a useful window has */
#define BYTES_MOST ((uint64_t)1 << 62)

int pp_annotation_is_bad(const struct pp_record_annotation *t)
{
	return t->call < PP_C10D_FIRST || t->call >= PP_NCCL_FIRST || !pp_mpi_call_is_known(t->call) || t->sent > BYTES_MOST ||
	       t->received > BYTES_MOST;
}

static int make_room(struct pp_pair *p)
{
	struct pp_annotation *annotation;

	if (p->annotations == p->annotations_room && p->annotations >= MOST) {
		p->lost[PP_LOSS_EVICTED] += MOST / 2;
		p->annotations = MOST / 2;
		memmove(p->annotation, p->annotation + MOST / 2, (MOST / 2) * sizeof(*p->annotation));
	}
	annotation = pp_grow(p->annotation, p->annotations, &p->annotations_room, sizeof(*annotation));
	if (!annotation)
		return -1;
	p->annotation = annotation;
	return 0;
}

void pp_pair_annotation(struct pp_pair *p, const struct pp_record *r)
{
	const struct pp_record_annotation *t = &r->annotation;

	if (make_room(p)) {
		p->lost[PP_LOSS_EVICTED]++;
		return;
	}
	p->annotation[p->annotations++] = (struct pp_annotation){
	        .time = (int64_t)r->tick,
	        .age_ns = t->age_ns,
	        .comm = t->comm,
	        .sent = t->sent,
	        .received = t->received,
	        .sequence = t->sequence,
	        .root = t->root,
	        .call = t->call,
	};
}

void pp_remark_add(char (*remark)[PP_REMARK_TEXT], uint32_t *remarks, const char *text)
{
	uint32_t kept = *remarks < PP_REMARKS ? *remarks : PP_REMARKS;

	for (uint32_t i = 0; i < kept; i++)
		if (!strcmp(remark[i], text))
			return;
	if (kept < PP_REMARKS)
		snprintf(remark[kept], PP_REMARK_TEXT, "%s", text);
	++*remarks;
}

void pp_pair_remark(struct pp_pair *p, const char *text, size_t length)
{
	char raw[PP_REMARK_TEXT] = "", good[3 * PP_REMARK_TEXT] = "", line[PP_REMARK_TEXT];

	length = length < sizeof(raw) ? length : sizeof(raw) - 1;
	for (size_t i = 0; i < length; i++) /* control characters become blanks */
		if (text[i] && (unsigned char)text[i] < ' ')
			raw[i] = ' ';
		else
			raw[i] = text[i];
	pp_utf8_repair(good, raw, length);
	snprintf(line, sizeof(line), "%.*s", pp_utf8_fit(good, PP_REMARK_TEXT - 1), good);
	if (line[0])
		pp_remark_add(p->remark, &p->remarks, line);
}

size_t pp_name_plain(const char *text, size_t length)
{
	static const char *const marks[] = {", seq = ", ", op_id = ", ", sizes = ", ", input_op_ids = "};
	const char *end = text + length;

	if (!length)
		return 0;
	for (const char *c = memchr(text + 1, ',', length - 1); c; c = memchr(c + 1, ',', (size_t)(end - c - 1)))
		for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
			if ((size_t)(end - c) >= strlen(marks[i]) && !memcmp(c, marks[i], strlen(marks[i])))
				return (size_t)(c - text);
	return length;
}
