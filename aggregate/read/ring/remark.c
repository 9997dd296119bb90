/* Sentences for /quality about a rank. In: REMARK records. Out: pp_rank.remark. */
#include <stdio.h>
#include <string.h>

#include "aggregate/read/ring/reader.h"
#include "aggregate/read/ring/track.h"
#include "core/base/utf8.h"
#include "core/capture/capture.h"

struct remarks { /* of a ring: as struct pp_rank has them */
	char remark[PP_REMARKS][PP_REMARK_TEXT];
	uint32_t remarks;
};

static void take(struct pp_track *track, const struct pp_record *r, const char *text, size_t length)
{
	struct remarks *m = pp_pair_state(track->pair, PP_READER_REMARK, sizeof(*m));
	char raw[PP_REMARK_TEXT] = "", good[3 * PP_REMARK_TEXT] = "", line[PP_REMARK_TEXT];

	(void)r;
	length = length < sizeof(raw) ? length : sizeof(raw) - 1;
	for (size_t i = 0; i < length; i++) /* control characters become blanks */
		if (text[i] && (unsigned char)text[i] < ' ')
			raw[i] = ' ';
		else
			raw[i] = text[i];
	pp_utf8_repair(good, raw, length);
	snprintf(line, sizeof(line), "%.*s", pp_utf8_fit(good, PP_REMARK_TEXT - 1), good);
	if (m && line[0])
		pp_remark_add(m->remark, &m->remarks, line);
}

static int finish(struct pp_pair *p, struct pp_rank *rank, size_t first_thread)
{
	struct remarks *m = p->state[PP_READER_REMARK];

	(void)first_thread;
	for (uint32_t i = 0; m && i < m->remarks; i++)
		if (i < PP_REMARKS)
			pp_remark_add(rank->remark, &rank->remarks, m->remark[i]);
		else
			rank->remarks++;
	return 0;
}

static const struct pp_reader_kind kinds[] = {
        {.kind = PP_RECORD_REMARK, .take = take},
        {.kind = PP_RECORD_NONE},
};

const struct pp_reader_ops pp_reader_remark = {
        .name = "remark",
        .kinds = kinds,
        .finish = finish,
};
