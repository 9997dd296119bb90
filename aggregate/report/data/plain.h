/* The first screen as plain HTML: what stands in the file for readers without JavaScript, previews, mail, screen readers, search.
 * In: struct pp_page. Out: HTML, one function per marker of page/page.html; texts are escaped. Called by report.c; one thread. */
#pragma once

#include "aggregate/report/data/page.h"

/* PP_PLAIN(marker, function): what stands in the place of <!--marker-->. */
#define PP_PLAIN_PARTS(X)                                                                                                          \
	X(meta, pp_plain_meta)         /* title and description: the sentence */                                                   \
	X(job, pp_plain_job)           /* program, ranks, hosts, device, steps, date */                                            \
	X(head, pp_plain_head)         /* the sentence, and four facts */                                                          \
	X(strip, pp_plain_strip)       /* step times as SVG */                                                                     \
	X(heat, pp_plain_heat)         /* ranks x steps as PNG */                                                                  \
	X(ranks, pp_plain_ranks)       /* at most ten ranks in the usual step, as a table */                                       \
	X(findings, pp_plain_findings) /* the other findings */                                                                    \
	X(quality, pp_plain_quality)   /* what qualifies them */                                                                   \
	X(next, pp_plain_next)         /* the next command */                                                                      \
	X(sections, pp_plain_sections) /* a line for each section, which app.js opens */

#define PP_PLAIN_DECLARE(marker, function) void function(struct pp_page *p);
PP_PLAIN_PARTS(PP_PLAIN_DECLARE)
#undef PP_PLAIN_DECLARE
