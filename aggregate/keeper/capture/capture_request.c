/* Parses and prints the one line that requests a capture; see capture_request.h. Called by request_client.c, request_file.c and
 * the CLI. */
#include "aggregate/keeper/capture/capture_request.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/parse.h"
#include "core/base/rank_list.h"

#define HEAD "podprof 1 "

static const char *const kind_name[] = {"steps", "duration", "last", "span", "status"};
static const char *const by_name[] = {"options", "capture", "file", "signal", "trigger", "code"};

const char *pp_capture_request_kind_name(enum pp_capture_request_kind kind)
{
	return kind_name[kind];
}

const char *pp_capture_request_by_name(enum pp_capture_request_by by)
{
	return by_name[by];
}

/* "steps=5" or "ranks=0,3-5"; 0, or -1: no such argument. */
static int parse_argument(struct pp_capture_request *w, const char *argument, int *amounts)
{
	struct pp_rank_list list;

	if (!strncmp(argument, "ranks=", 6)) {
		snprintf(w->ranks, sizeof(w->ranks), "%s", argument + 6);
		return strlen(argument + 6) < sizeof(w->ranks) ? pp_rank_list_parse(w->ranks, &list, NULL) : -1;
	}
	if (!strncmp(argument, "level=", 6))
		return pp_parse_level(argument + 6, &w->level, NULL);
	for (int k = PP_CAPTURE_REQUEST_STEPS; k <= PP_CAPTURE_REQUEST_LAST; k++) {
		size_t n = strlen(kind_name[k]);

		if (strncmp(argument, kind_name[k], n) || argument[n] != '=')
			continue;
		w->kind = (enum pp_capture_request_kind)k;
		++*amounts;
		return pp_parse_int(argument + n + 1, &w->amount, NULL) || !w->amount ? -1 : 0;
	}
	return -1;
}

int pp_capture_request_parse(const char *line, struct pp_capture_request *ret, struct pp_err *err)
{
	struct pp_capture_request w = {.kind = PP_CAPTURE_REQUEST_STATUS};
	char text[PP_CAPTURE_REQUEST_LINE], *rest = NULL, *argument;
	int amounts = 0;

	if (strncmp(line, HEAD, strlen(HEAD)) || strlen(line) >= sizeof(text))
		goto bad;
	snprintf(text, sizeof(text), "%s", line + strlen(HEAD));
	argument = strtok_r(text, " ", &rest);
	if (argument && !strcmp(argument, "status") && !strtok_r(NULL, " ", &rest)) {
		*ret = w;
		return 0;
	}
	if (!argument || strcmp(argument, "capture"))
		goto bad;
	while ((argument = strtok_r(NULL, " ", &rest)))
		if (parse_argument(&w, argument, &amounts))
			goto bad;
	if (amounts != 1)
		goto bad;
	if (w.amount > INT64_MAX / 8)
		return pp_err_set(err, -EINVAL, "the number of steps or the time is too large");
	*ret = w;
	return 0;
bad:
	return pp_err_set(err, -EINVAL, "the keeper does not understand this request. Use one podprof version in the whole job");
}

int pp_capture_request_line(const struct pp_capture_request *w, char *line, size_t size)
{
	char level[32] = "";

	if (w->kind == PP_CAPTURE_REQUEST_STATUS)
		return snprintf(line, size, HEAD "status\n");
	if (w->level)
		snprintf(level, sizeof(level), " level=%s/%" PRIu32, pp_level_name((int)(w->level & 3)), w->level >> 2);
	return snprintf(line, size, HEAD "capture %s=%" PRId64 "%s%s%s\n", kind_name[w->kind], w->amount, level,
	                w->ranks[0] ? " ranks=" : "", w->ranks);
}

const char *pp_capture_request_text(const struct pp_capture_request *w, char *text, size_t size)
{
	int64_t ns = w->amount;

	if (w->kind == PP_CAPTURE_REQUEST_STEPS)
		snprintf(text, size, "--steps +%" PRId64, ns);
	else if (w->kind == PP_CAPTURE_REQUEST_STATUS || w->kind == PP_CAPTURE_REQUEST_SPAN)
		snprintf(text, size, "%s", kind_name[w->kind]);
	else if (ns % 1000000000 == 0)
		snprintf(text, size, "--%s %" PRId64 "s", kind_name[w->kind], ns / 1000000000);
	else if (ns % 1000000 == 0)
		snprintf(text, size, "--%s %" PRId64 "ms", kind_name[w->kind], ns / 1000000);
	else
		snprintf(text, size, "--%s %" PRId64 "ns", kind_name[w->kind], ns);
	return text;
}
