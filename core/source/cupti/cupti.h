/* What other sources ask CUPTI's. */
#pragma once

/* 1: devices are recorded in this window. Any thread. */
int pp_cupti_is_on(void);
