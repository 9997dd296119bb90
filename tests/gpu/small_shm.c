/* Preloaded: /dev/shm has 8 MB free, as in a container. For gpu_nccl_real. */
#include <string.h>
#include <sys/statvfs.h>

int statvfs(const char *path, struct statvfs *fs)
{
	unsigned long blocks = strcmp(path, "/dev/shm") != 0 ? 1ul << 30 : 2048;

	memset(fs, 0, sizeof(*fs));
	fs->f_bsize = fs->f_frsize = 4096;
	fs->f_blocks = fs->f_bfree = fs->f_bavail = blocks;
	return 0;
}
