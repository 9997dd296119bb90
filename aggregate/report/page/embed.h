/* The page's sources, made at build time by embed.cmake. In: page.html, diff.html, *.css, *.js of this directory. Used by
 * report.c and launchers/diff/page.c. */
#pragma once

#include <stddef.h>

extern const char pp_embed_page[], pp_embed_style[], pp_embed_boot[];
extern const char pp_embed_diffpage[]; /* of podprof diff --html */
/* The programs of both pages, by gzip: boot.js inflates them. */
extern const unsigned char pp_embed_app[], pp_embed_diffapp[];
extern const size_t pp_embed_app_size, pp_embed_diffapp_size;
