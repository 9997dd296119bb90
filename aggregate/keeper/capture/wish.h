/* What is asked for by a capture: its one line of text, the same on the socket and in a request file. In: text. Out: numbers, and
 * back. Used by `podprof capture`, `podprof status` and the keeper. */
#ifndef PP_KEEPER_WISH_H
#define PP_KEEPER_WISH_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"

enum { PP_WISH_LINE = 512, PP_WISH_RANKS = 256 };

enum pp_wish_kind {
	PP_WISH_STEPS,    /* amount: steps to come */
	PP_WISH_DURATION, /* amount: ns from now on */
	PP_WISH_LAST,     /* amount: ns up to now */
	PP_WISH_SPAN,     /* the keeper's own: the steps around a slow one, which are over */
	PP_WISH_STATUS,   /* no capture: what ranks do now */
};

enum pp_wish_by { PP_BY_OPTIONS, PP_BY_CAPTURE, PP_BY_FILE, PP_BY_SIGNAL, PP_BY_TRIGGER, PP_BY_CODE };

struct pp_wish {
	enum pp_wish_kind kind;
	enum pp_wish_by by;
	int64_t amount;
	char ranks[PP_WISH_RANKS]; /* events of these only; "" all */
};

/* "podprof 1 capture steps=5 ranks=0,3-5": without a line break. -EINVAL with a sentence for who asked. */
int pp_wish_parse(const char *line, struct pp_wish *ret, struct pp_err *err);
/* With the line break. Returns its bytes, as snprintf() does. */
int pp_wish_line(const struct pp_wish *w, char *line, size_t size);

/* As users say it: "--steps +5", "--duration 2s". */
const char *pp_wish_text(const struct pp_wish *w, char *text, size_t size);
const char *pp_wish_kind_name(enum pp_wish_kind kind);
const char *pp_wish_by_name(enum pp_wish_by by);

#endif
