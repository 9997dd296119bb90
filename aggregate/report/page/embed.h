/* The page's sources as text, made at build time by embed.cmake. In: page.html, *.css, *.js of this directory.
 * Used by report.c. */
#pragma once

extern const char pp_embed_page[], pp_embed_style[], pp_embed_app[];
extern const char pp_embed_diffpage[], pp_embed_diffapp[]; /* of podprof diff --html; launchers/diff/page.c */
