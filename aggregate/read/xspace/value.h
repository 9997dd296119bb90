/* Values of stats. Called by all that read events and planes. */
#pragma once

#include "aggregate/read/xspace/state.h"

struct pp_xtext {
	const uint8_t *text;
	size_t length;
	struct pp_xmeta *meta; /* of a reference */
};

struct pp_xvalue { /* of a stat */
	int is_text, is_double;
	uint64_t number; /* integer; of a text that is a number too */
	double real;
	const uint8_t *text;
	size_t length;
	struct pp_xmeta *meta; /* of a text that is a reference */
};

/* Which stat a message is, and its value where it means something here; PP_XS_NONE: nothing. Texts point into the file. */
enum pp_xs_kind pp_xvalue_read(struct pp_xread *x, struct pp_xplane *p, const struct pp_field *stat, struct pp_xvalue *v);
/* pp_intern id of a text; 0: the value is none. */
uint32_t pp_xvalue_text(struct pp_xread *x, const struct pp_xvalue *v);
/* pp_intern id; 0: it is empty. */
uint32_t pp_xvalue_intern(struct pp_xread *x, const struct pp_xtext *t);
