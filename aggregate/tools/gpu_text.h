/* Why the device of a late rank takes longer, in words. In: /gpu, /device_speed. Out: text behind a finding. Called by
 * finding.c. */
#pragma once

#include "aggregate/dataset/dataset.h"

enum { PP_GPU_TEXT = 200 };

/* "GPU 2: clock 28 % below the others under load (1425 of 1980 MHz), power cap", "it takes 1.30 times as long for equal
 * kernels", or "equal kernels take as long as on other ranks: it has more to do". "": nothing is known. ret_next: what to do; ""
 * as well. */
void pp_gpu_text(const struct pp_dataset *d, const struct pp_table *speeds, int32_t rank, char text[PP_GPU_TEXT],
                 char next[PP_GPU_TEXT]);
