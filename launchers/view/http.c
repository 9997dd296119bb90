/* Requests and heads of answers of `podprof view`; see http.h. Called by serve.c. */
#include "launchers/view/http.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

static const char viewer_origin[] = "https://ui.perfetto.dev";

int pp_http_token(char ret_token[PP_HTTP_TOKEN + 1])
{
	unsigned char bits[PP_HTTP_TOKEN / 2];

	if (getrandom(bits, sizeof(bits), 0) != (ssize_t)sizeof(bits))
		return errno ? -errno : -EIO;
	for (size_t i = 0; i < sizeof(bits); i++)
		snprintf(ret_token + 2 * i, 3, "%02x", bits[i]);
	return 0;
}

/* In a time that does not depend on how much of it is right. */
static int is_token(const char *path, const char *token)
{
	unsigned different = 0;

	if (path[0] != '/' || strnlen(path, PP_HTTP_TOKEN + 2) < PP_HTTP_TOKEN + 2)
		return 0;
	for (int i = 0; i < PP_HTTP_TOKEN; i++)
		different |= (unsigned char)path[i + 1] ^ (unsigned char)token[i];
	return !different && path[PP_HTTP_TOKEN + 1] == '/';
}

/* Pages of other sites reach this port by names that they choose (DNS rebinding): only the machine's own names are right. */
static int is_host(const char *value, int port)
{
	static const char *const names[] = {"127.0.0.1", "localhost"};
	char right[32];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(right, sizeof(right), "%s:%d", names[i], port);
		if (!strcasecmp(value, right))
			return 1;
	}
	return 0;
}

/* Cuts the next line off. NULL: the head has ended. */
static char *next_line(char **at)
{
	char *line = *at, *end = strstr(line, "\r\n");

	if (!end || end == line)
		return NULL;
	*end = '\0';
	*at = end + 2;
	return line;
}

/* "GET /path HTTP/1.1". 0, or the status. */
static int parse_line(char *line, const char **ret_method, const char **ret_path)
{
	char *path = strchr(line, ' '), *version = path ? strchr(path + 1, ' ') : NULL;

	if (!version || path == line || path[1] != '/' || (strcmp(version, " HTTP/1.1") != 0 && strcmp(version, " HTTP/1.0") != 0))
		return 400;
	*path = *version = '\0';
	*ret_method = line;
	*ret_path = path + 1;
	return 0;
}

/* The value of the only Host. NULL: there is none, there are two, or a line is no header. */
static const char *find_host(char *at)
{
	const char *host = NULL;
	char *line, *value, *end;

	while ((line = next_line(&at))) {
		value = line + strcspn(line, ": \t");
		if (value == line || *value != ':')
			return NULL;
		*value++ = '\0';
		if (strcasecmp(line, "host") != 0)
			continue;
		if (host)
			return NULL;
		value += strspn(value, " \t");
		for (end = value + strlen(value); end > value && (end[-1] == ' ' || end[-1] == '\t'); end--)
			end[-1] = '\0';
		host = value;
	}
	return host;
}

/* No control characters, and no end of a line but CR LF. */
static int is_text(const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c == '\r'   ? i + 1 == size || text[i + 1] != '\n'
		    : c == '\n' ? !i || text[i - 1] != '\r'
		                : c == 0x7f || (c < 0x20 && c != '\t'))
			return 0;
	}
	return 1;
}

int pp_http_parse(const char *text, size_t size, const struct pp_http_gate *gate, struct pp_http_request *ret_request)
{
	static const char *const methods[] = {"GET", "HEAD", "OPTIONS"}; /* enum pp_http_method */
	const char *end = memmem(text, size, "\r\n\r\n", 4), *method, *path, *host;
	char head[PP_HTTP_MOST + 1], *at = head, *line;
	size_t length = end ? (size_t)(end - text) + 4 : size;

	if (length > PP_HTTP_MOST || (!end && size == PP_HTTP_MOST))
		return 431;
	if (!end)
		return 0;
	if (!is_text(text, length))
		return 400;
	memcpy(head, text, length);
	head[length] = '\0';
	line = next_line(&at);
	if (!line || parse_line(line, &method, &path))
		return 400;
	host = find_host(at);
	if (!host)
		return 400;
	if (!is_host(host, gate->port) || !is_token(path, gate->token))
		return 404;
	path += PP_HTTP_TOKEN + 2;
	if (strlen(path) >= sizeof(ret_request->name))
		return 404;
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		if (!strcmp(method, methods[i])) {
			ret_request->method = (enum pp_http_method)i;
			snprintf(ret_request->name, sizeof(ret_request->name), "%s", path);
			return 200;
		}
	return 405;
}

static const char *reason_of(int status)
{
	switch (status) {
	case 200:
		return "OK";
	case 204:
		return "No Content";
	case 400:
		return "Bad Request";
	case 404:
		return "Not Found";
	case 405:
		return "Method Not Allowed";
	case 431:
		return "Request Header Fields Too Large";
	default:
		return "Internal Server Error";
	}
}

size_t pp_http_head(char *to, size_t size, const struct pp_http_answer *answer)
{
	FILE *f = fmemopen(to, size, "w");
	long length;

	if (!f)
		return 0;
	fprintf(f, "HTTP/1.1 %d %s\r\nConnection: close\r\n", answer->status, reason_of(answer->status));
	if (answer->status != 204)
		fprintf(f, "Content-Length: %llu\r\n", (unsigned long long)answer->length);
	if (answer->type) /* the address has the token: no other site may get it */
		fprintf(f,
		        "Content-Type: %s\r\nX-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\nReferrer-Policy: "
		        "no-referrer\r\n",
		        answer->type);
	if (answer->status == 405)
		fputs("Allow: GET, HEAD\r\n", f);
	if (answer->is_for_viewer)
		fprintf(f, "Access-Control-Allow-Origin: %s\r\n", viewer_origin);
	if (answer->is_for_viewer && answer->status == 204) /* browsers ask before a public page reads from this machine */
		fputs("Access-Control-Allow-Methods: GET\r\nAccess-Control-Allow-Private-Network: true\r\n", f);
	fputs("\r\n", f);
	length = ftell(f);
	return fclose(f) || length < 0 || (size_t)length >= size ? 0 : (size_t)length;
}
