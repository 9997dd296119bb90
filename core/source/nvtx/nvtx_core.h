/* What the handlers of NVTX's default domain share with those of other domains. Any thread. */
#pragma once

#include <stdint.h>
#include <wchar.h>

/* Id of a range that begins, unique in the process: slot and a count of the thread, no shared line. */
uint64_t pp_nvtx_new_range(void);
/* The same as pp_nvtx_category_name(), for a wide text. */
void pp_nvtx_category_wide(uint16_t domain, uint32_t category, const wchar_t *wide);
