/* JSON for the page and exports, streamed. Text is safe inside a <script>: it contains no '<', '>', '&'. Called by the page's
 * data, by exports and by json_object.c. */
#pragma once

#include <stdint.h>
#include <stdio.h>

/* Whole numbers up to here are exact in the page; larger ones become text. */
#define PP_JSON_EXACT ((int64_t)1 << 53)

/* One value each. Text has U+FFFD where it is no UTF-8. Beyond PP_JSON_EXACT a number is text; INT64_MIN, NAN, infinity: null. */
void pp_json_text(FILE *to, const char *text);
void pp_json_int(FILE *to, int64_t value);
void pp_json_real(FILE *to, double value);
/* Arrays: short ones as numbers, long ones as {"t":type,"n":count,"z":base64 of deflated bytes, low bytes of all first}.
 * 0, or -ENOMEM. */
int pp_json_ints(FILE *to, const int64_t *value, size_t n);
int pp_json_reals(FILE *to, const double *value, size_t n);
/* Writes n values of `width` bytes: the lowest bytes of all of them first, as similar values compress better so. */
void pp_json_plane(unsigned char *bytes, const uint64_t *bits, size_t n, size_t width);
/* Base64, without quotes; pp_json_deflated(): of the deflated bytes. 0, or -ENOMEM. */
void pp_json_base64(FILE *to, const unsigned char *p, size_t n);
int pp_json_deflated(FILE *to, unsigned char *bytes, size_t size);
