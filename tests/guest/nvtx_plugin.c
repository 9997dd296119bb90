/* A library with NVTX ranges that comes and goes: loaded and unloaded by nvtx_marks.c. */
#include <nvtx3/nvToolsExt.h>

void plugin_work(void);

void plugin_work(void)
{
	nvtxRangePushA("plugin work");
	nvtxMarkA("plugin mark");
	nvtxRangePop();
	nvtxRangePushA("left open by the plugin");
}
