/* Any bytes as a request to `podprof view`, in parts as they arrive: a status that http.h names, the same for every division into
 * parts; 200 only with the token; see fuzz.h. */
#include <stdlib.h>
#include <string.h>

#include "launchers/view/http.h"
#include "tests/fuzz/fuzz.h"

#define TOKEN "0123456789abcdef0123456789abcdef" /* of corpus/http */

static const struct pp_http_gate gate = {TOKEN, 9001};

static void check(const char *text, size_t size, int status, const struct pp_http_request *r)
{
	static const int statuses[] = {0, 200, 400, 404, 405, 431};
	size_t known = 0;

	while (known < sizeof(statuses) / sizeof(statuses[0]) && statuses[known] != status)
		known++;
	if (known == sizeof(statuses) / sizeof(statuses[0]) || (!status && size >= PP_HTTP_MOST))
		abort();
	if (status != 200 && status != 405)
		return;
	if (!memmem(text, size, " /" TOKEN "/", sizeof(" /" TOKEN "/") - 1))
		abort();
	if (status == 200 && (r->method > PP_HTTP_OPTIONS || !memchr(r->name, '\0', sizeof(r->name)) ||
	                      (*r->name && !memmem(text, size, r->name, strlen(r->name)))))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	const size_t most = size < PP_HTTP_MOST ? size : PP_HTTP_MOST; /* what serve.c keeps */
	struct pp_http_request r = {.name = ""}, part;
	int status = most ? pp_http_parse(text, most, &gate, &r) : 0, early;

	check(text, most, status, &r);
	for (size_t n = 1; n < most; n += 1 + n / 8) {
		char *copy = malloc(n); /* of its own, so that a sanitizer sees a byte read too many */

		if (!copy)
			abort();
		memcpy(copy, text, n);
		early = pp_http_parse(copy, n, &gate, &part);
		if (early && (early != status || (status == 200 && (part.method != r.method || strcmp(part.name, r.name) != 0))))
			abort();
		free(copy);
	}
	return 0;
}
