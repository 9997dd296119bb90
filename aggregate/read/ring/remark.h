/* Sentences for /quality about a rank: each text once. Pure. */
#pragma once

#include <stdint.h>

#include "core/capture/metadata.h"

/* Adds the text, cut to PP_REMARK_TEXT, to the list unless it is there; counts it where the PP_REMARKS places are full. */
void pp_remark_add(char (*remark)[PP_REMARK_TEXT], uint32_t *remarks, const char *text);
