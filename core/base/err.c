/* Sentences of errors; used everywhere. */
#include "core/base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/plain.h"

int pp_err_set(struct pp_err *err, int code, const char *fmt, ...)
{
	va_list args;

	if (!err)
		return code;
	va_start(args, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, args);
	va_end(args);
	pp_plain(err->text, "");
	return code;
}

int pp_err_wrap(struct pp_err *err, int code, const char *fmt, ...)
{
	char context[sizeof(err->text)];
	va_list args;
	size_t n, room;

	if (!err)
		return code;
	va_start(args, fmt);
	vsnprintf(context, sizeof(context), fmt, args);
	va_end(args);
	n = strlen(pp_plain(context, ""));
	if (n > sizeof(err->text) - 3)
		n = sizeof(err->text) - 3;
	room = sizeof(err->text) - n - 2;
	memmove(err->text + n + 2, err->text, room);
	err->text[sizeof(err->text) - 1] = '\0';
	memcpy(err->text, context, n);
	memcpy(err->text + n, ": ", 2);
	return code;
}
