/* Formats numbers for people, in every sentence and table of the keeper and the CLI. Pure, any thread.
 * Format in aggregate/report/page/data.js prints the same texts; tests/report/report_charts.py compares them. */
#pragma once

#include <stdint.h>

enum { PP_TEXT_UNIT = 24 };

/* 3 significant digits and the unit that fits: "84.1 ms". Returns `text`. */
const char *pp_text_time(char text[PP_TEXT_UNIT], int64_t ns);
/* A share: "12.3 %", "< 0.1 %", "100 %". Returns `text`. */
const char *pp_text_percent(char text[PP_TEXT_UNIT], double percent);
/* The same for bytes, in powers of 1024: "1.21 GiB". Returns `text`. */
const char *pp_text_bytes(char text[PP_TEXT_UNIT], uint64_t bytes);
/* Blanks between thousands: "1 204". Returns `text`. */
const char *pp_text_count(char text[PP_TEXT_UNIT], uint64_t n);
