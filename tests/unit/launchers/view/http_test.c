/* Requests of `podprof view`: who is let in, what is refused, and bytes without a meaning. */
#include "launchers/view/http.h"

#include <stdint.h>
#include <stdlib.h>

#include "tests/test.h"

#define TOKEN "0123456789abcdef0123456789abcdef"
#define HOST "Host: 127.0.0.1:9001\r\n"

static const struct pp_http_gate gate = {TOKEN, 9001};
static struct pp_http_request request;

static int parse(const char *text)
{
	request = (struct pp_http_request){.name = "none"};
	return pp_http_parse(text, strlen(text), &gate, &request);
}

TEST(requests_with_the_token_are_read)
{
	CHECK_INT(parse("GET /" TOKEN "/report.html HTTP/1.1\r\n" HOST "\r\n"), 200);
	CHECK_STR(request.name, "report.html");
	CHECK_INT(request.method, PP_HTTP_GET);
	CHECK_INT(parse("HEAD /" TOKEN "/ HTTP/1.1\r\naccept: */*\r\nhOsT:\tLocalHost:9001 \r\n\r\n"), 200);
	CHECK_STR(request.name, "");
	CHECK_INT(request.method, PP_HTTP_HEAD);
	CHECK_INT(parse("OPTIONS /" TOKEN "/trace.perfetto-trace HTTP/1.1\r\n" HOST "Origin: https://ui.perfetto.dev\r\n\r\n"),
	          200);
	CHECK_INT(request.method, PP_HTTP_OPTIONS);
	CHECK_INT(parse("GET /" TOKEN "/a HTTP/1.0\r\n" HOST "\r\nbody"), 200);
	CHECK_STR(request.name, "a");
}

TEST(requests_without_the_token_get_404_whatever_they_ask)
{
	static const char *const paths[] = {"/",
	                                    "/" TOKEN,
	                                    "/report.html",
	                                    "/0123456789abcdef0123456789abcdee/report.html",
	                                    "/1123456789abcdef0123456789abcdef/report.html",
	                                    "/" TOKEN "0/report.html",
	                                    "//" TOKEN "/report.html",
	                                    "/0123456789ABCDEF0123456789ABCDEF/report.html"};
	char text[256];

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		for (int method = 0; method < 2; method++) {
			snprintf(text, sizeof(text), "%s %s HTTP/1.1\r\n" HOST "\r\n", method ? "POST" : "GET", paths[i]);
			CHECK_INT(parse(text), 404);
			CHECK_STR(request.name, "none");
		}
}

TEST(other_hosts_get_404)
{
	static const char *const hosts[] = {"127.0.0.1",
	                                    "127.0.0.1:9002",
	                                    "evil.example:9001",
	                                    "127.0.0.1:9001.evil.example",
	                                    "localhost:9001:80",
	                                    "[::1]:9001",
	                                    "",
	                                    "127.0.0.1:90010"};
	char text[256];

	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
		snprintf(text, sizeof(text), "GET /" TOKEN "/pod.h5 HTTP/1.1\r\nHost: %s\r\n\r\n", hosts[i]);
		CHECK_INT(parse(text), 404);
	}
}

TEST(broken_requests_get_400)
{
	static const char *const texts[] = {"GET /" TOKEN "/a HTTP/1.1\r\n\r\n",                  /* no host */
	                                    "GET /" TOKEN "/a HTTP/1.1\r\n" HOST HOST "\r\n",     /* two */
	                                    "GET /" TOKEN "/a HTTP/1.1\r\n" HOST " more\r\n\r\n", /* a folded line */
	                                    "GET /" TOKEN "/a HTTP/1.1\r\n" HOST "a b: c\r\n\r\n",
	                                    "GET /" TOKEN "/a HTTP/1.1\r\n" HOST ": c\r\n\r\n",
	                                    "GET /" TOKEN "/a HTTP/2.0\r\n" HOST "\r\n",
	                                    "GET /" TOKEN "/a b HTTP/1.1\r\n" HOST "\r\n",
	                                    "GET /" TOKEN "/a\r\n" HOST "\r\n",
	                                    "GET http://127.0.0.1:9001/" TOKEN "/a HTTP/1.1\r\n" HOST "\r\n",
	                                    " /" TOKEN "/a HTTP/1.1\r\n" HOST "\r\n",
	                                    "GET /" TOKEN "/a HTTP/1.1\n" HOST "\r\n",
	                                    "GET /" TOKEN "/a HTTP/1.1\r\n" HOST "x: \r\r\n\r\n",
	                                    "GET /" TOKEN "/a\x01 HTTP/1.1\r\n" HOST "\r\n",
	                                    "\r\n\r\n"};
	static const char nul[] = "GET /" TOKEN "/a HTTP/1.1\r\n" HOST "x: \0\r\n\r\n";

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		CHECK_INT(parse(texts[i]), 400);
	CHECK_INT(pp_http_parse(nul, sizeof(nul) - 1, &gate, &request), 400);
}

TEST(other_methods_get_405_and_long_names_404)
{
	char text[512];

	CHECK_INT(parse("POST /" TOKEN "/a HTTP/1.1\r\n" HOST "\r\n"), 405);
	CHECK_INT(parse("get /" TOKEN "/a HTTP/1.1\r\n" HOST "\r\n"), 405);
	snprintf(text, sizeof(text), "GET /" TOKEN "/%0*d HTTP/1.1\r\n" HOST "\r\n", PP_HTTP_NAME - 1, 0);
	CHECK_INT(parse(text), 200);
	snprintf(text, sizeof(text), "GET /" TOKEN "/%0*d HTTP/1.1\r\n" HOST "\r\n", PP_HTTP_NAME, 0);
	CHECK_INT(parse(text), 404);
}

TEST(a_request_ends_before_8_kib_or_gets_431)
{
	static const char begin[] = "GET /" TOKEN "/a HTTP/1.1\r\n" HOST "x: ";
	static char text[2 * PP_HTTP_MOST];

	memset(text, 'y', sizeof(text));
	memcpy(text, begin, sizeof(begin) - 1);
	for (size_t n = 0; n < PP_HTTP_MOST; n++)
		CHECK_INT(pp_http_parse(text, n, &gate, &request), 0);
	CHECK_INT(pp_http_parse(text, PP_HTTP_MOST, &gate, &request), 431);
	memcpy(text + PP_HTTP_MOST - 4, "\r\n\r\n", 4);
	CHECK_INT(pp_http_parse(text, PP_HTTP_MOST - 1, &gate, &request), 0);
	CHECK_INT(pp_http_parse(text, PP_HTTP_MOST, &gate, &request), 200);
	memset(text + PP_HTTP_MOST - 4, 'y', 4);
	memcpy(text + PP_HTTP_MOST, "\r\n\r\n", 4);
	CHECK_INT(pp_http_parse(text, sizeof(text), &gate, &request), 431);
}

/* Changes a good request, and sends noise: 200 only for a request that has the whole token and the host. */
TEST(random_bytes_get_an_answer_or_wait)
{
	static const char good[] = "GET /" TOKEN "/report.html HTTP/1.1\r\n" HOST "accept: */*\r\n\r\n";
	unsigned state = 1;
	char text[256];

	for (int round = 0; round < 200000; round++) {
		size_t size = sizeof(good) - 1;
		int status;

		memcpy(text, good, size);
		for (int change = round % 2 ? 1 + round % 3 : (int)size; change--;) {
			state = state * 1103515245 + 12345;
			text[round % 2 ? (state >> 8) % size : (size_t)change] = (char)(state >> 16);
		}
		status = pp_http_parse(text, size, &gate, &request);
		if (status != 0 && status != 200 && status != 400 && status != 404 && status != 405)
			CHECK_INT(status, 400);
		if (status == 200 &&
		    (!memmem(text, size, "/" TOKEN "/", PP_HTTP_TOKEN + 2) || memchr(request.name, '\0', PP_HTTP_NAME) == NULL))
			CHECK_STR(text, "a request with the token");
	}
	CHECK_INT(parse(good), 200);
}

TEST(heads_name_what_follows)
{
	struct pp_http_answer answer = {.status = 200, .type = "text/html", .length = 5000000000};
	char head[512];
	size_t n = pp_http_head(head, sizeof(head), &answer);

	CHECK_INT(n, strlen(head));
	CHECK(!strncmp(head, "HTTP/1.1 200 OK\r\n", 17) && !strcmp(head + n - 4, "\r\n\r\n"));
	CHECK(strstr(head, "\r\nContent-Length: 5000000000\r\n") && strstr(head, "\r\nX-Content-Type-Options: nosniff\r\n"));
	CHECK(strstr(head, "\r\nCache-Control: no-store\r\n") && !strstr(head, "Access-Control"));
	answer.is_for_viewer = 1;
	CHECK(pp_http_head(head, sizeof(head), &answer) &&
	      strstr(head, "\r\nAccess-Control-Allow-Origin: https://ui.perfetto.dev\r\n"));
	CHECK_INT(pp_http_head(head, 20, &answer), 0);
	answer = (struct pp_http_answer){.status = 404};
	CHECK(pp_http_head(head, sizeof(head), &answer));
	CHECK_STR(head, "HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
}

TEST(tokens_differ)
{
	char a[PP_HTTP_TOKEN + 1] = "", b[PP_HTTP_TOKEN + 1] = "";

	CHECK_INT(pp_http_token(a), 0);
	CHECK_INT(pp_http_token(b), 0);
	CHECK_INT(strspn(a, "0123456789abcdef"), PP_HTTP_TOKEN);
	CHECK(strcmp(a, b) != 0);
}

int main(void)
{
	requests_with_the_token_are_read();
	requests_without_the_token_get_404_whatever_they_ask();
	other_hosts_get_404();
	broken_requests_get_400();
	other_methods_get_405_and_long_names_404();
	a_request_ends_before_8_kib_or_gets_431();
	random_bytes_get_an_answer_or_wait();
	heads_name_what_follows();
	tokens_differ();
	return test_end();
}
