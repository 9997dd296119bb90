/* The one error type: functions return a code (0 or -errno) and write the sentence into struct pp_err. The function that
 * detects the error writes the sentence; callers may add context in front. No allocation, any thread. */
#pragma once

struct pp_err {
	char text[1024];
};

/* Write the sentence and return `code` (0 or -errno). `err` may be NULL. */
int pp_err_set(struct pp_err *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Put "context: " in front of the sentence; returns `code` unchanged. */
int pp_err_wrap(struct pp_err *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
