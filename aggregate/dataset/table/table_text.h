/* A table as text. In: rows, and the names of their texts. Out: CSV or JSON. */
#pragma once

#include "aggregate/dataset/table/table.h"

/* CSV: a line of names and one per row; JSON: an object of columns. Texts and codes' words are written out. */
void pp_table_csv(const struct pp_table *t, const struct pp_intern *names, FILE *to);
/* The same CSV for a spreadsheet: a text that begins with =, +, -, @, a tab or CR has a ' before it. */
void pp_table_sheet(const struct pp_table *t, const struct pp_intern *names, FILE *to);
void pp_table_json(const struct pp_table *t, const struct pp_intern *names, FILE *to);
