/* JSON of `--json`, of comparisons and of site logs: objects and lists whose commas, names and brackets are always right. In:
 * values in their order. Out: text on a stream; no memory, so no error but the stream's. Called by every verb with --json and by
 * fleet/job.c.
 * It does not call yajl_gen, although libyajl reads Kineto files. yajl_gen writes invalid UTF-8 and '<' as they are, and 0.1 with
 * 20 digits, so texts and numbers would still come from json.h; it takes 1.3 times as long and saves only what is below. libyajl
 * has had no release since 2014 and RHEL 10 does not ship it: a podprof that is built without it must still write JSON. */
#pragma once

#include <stdint.h>
#include <stdio.h>

struct pp_json { /* begins as {.to = stream} */
	FILE *to;
	uint64_t lists, filled; /* one bit per depth: it is a list; it has a value */
	unsigned depth;
	int is_line; /* the next value begins a line */
};

/* `name` of a member of an object; NULL: the value is in a list, or the whole text. */
void pp_json_open(struct pp_json *j, const char *name);
void pp_json_open_list(struct pp_json *j, const char *name);
/* Ends the innermost object or list. */
void pp_json_close(struct pp_json *j);
/* The next value, or bracket that ends this object or list, begins a line. */
void pp_json_line(struct pp_json *j);

/* Text NULL, INT64_MIN, NAN and infinity: null. Integers beyond PP_JSON_EXACT are text. */
void pp_json_add_text(struct pp_json *j, const char *name, const char *text);
void pp_json_add_int(struct pp_json *j, const char *name, int64_t value);
void pp_json_add_real(struct pp_json *j, const char *name, double value);
/* Values of which JSON has its own words. */
void pp_json_add_bool(struct pp_json *j, const char *name, int value);
void pp_json_add_null(struct pp_json *j, const char *name);
/* A number as printf() writes it: with all digits of 64 bits, or with fewer digits than a double has. NAN, infinity: null. */
void pp_json_add_number(struct pp_json *j, const char *name, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Identifiers of 64 bits: text of 16 hexadecimal digits. */
void pp_json_add_id(struct pp_json *j, const char *name, uint64_t id);
