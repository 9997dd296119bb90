/* A capture request as one line of text, the same on the socket and in a request file. In: text. Out: numbers, and back. Used by
 * `podprof capture`, `podprof status` and the keeper. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"

enum { PP_CAPTURE_REQUEST_LINE = 512, PP_CAPTURE_REQUEST_RANKS = 256 };

enum pp_capture_request_kind {
	PP_CAPTURE_REQUEST_STEPS,    /* amount: steps to come */
	PP_CAPTURE_REQUEST_DURATION, /* amount: ns from now on */
	PP_CAPTURE_REQUEST_LAST,     /* amount: ns up to now */
	PP_CAPTURE_REQUEST_SPAN,     /* the keeper's own: the steps around a slow one, all of them ended */
	PP_CAPTURE_REQUEST_STATUS,   /* no capture: the list of ranks and what they do now */
};

enum pp_capture_request_by { PP_BY_OPTIONS, PP_BY_CAPTURE, PP_BY_FILE, PP_BY_SIGNAL, PP_BY_TRIGGER, PP_BY_API };

struct pp_capture_request {
	enum pp_capture_request_kind kind;
	enum pp_capture_request_by by;
	int64_t amount;
	char ranks[PP_CAPTURE_REQUEST_RANKS]; /* events of these only; "" all */
	uint32_t level;                       /* pp_level_code(); 0: as the job's options say */
};

/* "podprof 1 capture steps=5 ranks=0,3-5", without a line break. -EINVAL with a message for the client. */
int pp_capture_request_parse(const char *line, struct pp_capture_request *ret, struct pp_err *err);
/* With the line break. Returns its bytes, as snprintf() does. */
int pp_capture_request_line(const struct pp_capture_request *w, char *line, size_t size);

/* As options on the command line: "--steps +5", "--duration 2s". */
const char *pp_capture_request_text(const struct pp_capture_request *w, char *text, size_t size);
/* Their names as words of a line; static. */
const char *pp_capture_request_kind_name(enum pp_capture_request_kind kind);
const char *pp_capture_request_by_name(enum pp_capture_request_by by);
