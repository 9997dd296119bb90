/* HTTP/1.1 of `podprof view`: one request per connection, without a body. In: bytes of an unknown client. Out: which
 * resource it may read, or the status that refuses it. No I/O. Not a library's: docs/security.md has what libmicrohttpd lets in. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { PP_HTTP_MOST = 8192 /* bytes of a request */, PP_HTTP_TOKEN = 32 /* characters */, PP_HTTP_NAME = 32 };

enum pp_http_method { PP_HTTP_GET, PP_HTTP_HEAD, PP_HTTP_OPTIONS };

struct pp_http_gate { /* what a request must know */
	char token[PP_HTTP_TOKEN + 1];
	int port;
};

struct pp_http_request {
	enum pp_http_method method;
	char name[PP_HTTP_NAME]; /* what follows "/TOKEN/" */
};

struct pp_http_answer {
	int status;
	const char *type;  /* NULL: no body */
	uint64_t length;   /* of the body */
	int is_for_viewer; /* the page of Perfetto may read it */
};

/* 128 random bits in hexadecimal digits. 0 or -errno. */
int pp_http_token(char ret_token[PP_HTTP_TOKEN + 1]);

/* 0: the request has not ended yet. 200: *ret_request may be answered. Other: the status that refuses it; 404 says nothing about
 * the token. */
int pp_http_parse(const char *text, size_t size, const struct pp_http_gate *gate, struct pp_http_request *ret_request);

/* The head of an answer; returns its length, 0 where it does not fit. */
size_t pp_http_head(char *to, size_t size, const struct pp_http_answer *answer);
