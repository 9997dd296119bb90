/* Preloaded into podprof doctor: no signal reaches its children, as in a driver that hangs in the kernel. For gpu_doctor. */
#include <signal.h>
#include <sys/types.h>

int kill(pid_t pid, int number)
{
	(void)pid, (void)number;
	return 0;
}
