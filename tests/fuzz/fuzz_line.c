/* Any bytes as a line that others send or leave: a request, a list of ranks, a line of status, an invitation. The first byte
 * chooses; see fuzz.h. */
#include <stdlib.h>

#include "aggregate/keeper/capture/capture_request.h"
#include "aggregate/keeper/live.h"
#include "aggregate/keeper/net/rendezvous.h"
#include "core/base/rank_list.h"
#include "tests/fuzz/fuzz.h"
#include "tests/test.h"

static void request(char *text)
{
	char again[PP_CAPTURE_REQUEST_LINE + 64], shown[PP_CAPTURE_REQUEST_LINE];
	struct pp_capture_request w;
	struct pp_err err = {""};

	if (pp_capture_request_parse(text, &w, &err)) {
		CHECK(err.text[0] && !strchr(err.text, '\n'));
		return;
	}
	CHECK(w.kind == PP_CAPTURE_REQUEST_STATUS || (w.amount > 0 && w.amount <= INT64_MAX / 8));
	CHECK(pp_capture_request_text(&w, shown, sizeof(shown)) != NULL);
	CHECK(pp_capture_request_line(&w, again, sizeof(again)) < (int)sizeof(again));
	again[strcspn(again, "\n")] = '\0';
	CHECK_INT(pp_capture_request_parse(again, &w, NULL), 0);
}

static void invitation(char *text)
{
	struct pp_net_invite v;

	if (pp_rendezvous_parse(text, &v))
		return;
	CHECK(v.port && v.addresses && v.addresses <= PP_NET_ADDRESSES && strlen(v.client_secret) == PP_NET_KEY - 1);
}

/* What is read is written, and read again as the same. */
static void status(const char *text)
{
	struct pp_live_rank r, back;
	char again[PP_LIVE_LINE];

	if (pp_live_get(text, &r))
		return;
	(void)pp_live_get_nccl(text, &r);
	CHECK(pp_live_put(&r, again, sizeof(again)) < (int)sizeof(again));
	CHECK_INT(pp_live_get(again, &back), 0);
	CHECK_INT(back.rank, r.rank);
	CHECK_INT(back.state, r.state);
}

static void nccl(const char *text)
{
	struct pp_live_rank r = {.rank = 3};

	(void)pp_live_get_nccl(text, &r);
	CHECK(memchr(r.nccl, 0, sizeof(r.nccl)) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct pp_rank_list list;
	char *text = malloc(size + 1);

	if (!text)
		abort();
	memcpy(text, size ? bytes + 1 : bytes, size ? size - 1 : 0);
	text[size ? size - 1 : 0] = '\0';
	switch (size ? bytes[0] % 5 : 0) {
	case 0:
		request(text);
		break;
	case 1:
		(void)pp_rank_list_parse(text, &list, NULL);
		break;
	case 2:
		status(text);
		break;
	case 3:
		nccl(text);
		break;
	default:
		invitation(text);
	}
	free(text);
	if (test_failures)
		abort();
	return 0;
}
