/* NVTX's injection, and the tool that stands behind podprof in its chain. */
#pragma once

/* Calls the chained tool's function of this name with `argument`; 0 without such a tool. */
int pp_nvtx_chain(const char *function, void *argument);
