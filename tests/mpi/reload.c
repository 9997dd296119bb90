/* MPI that comes and goes with a plugin, twice, as mpich.sh runs it: reload PLUGIN. The plugin is built with AS_PLUGIN. */
#include <dlfcn.h>
#include <stdio.h>
#include <sys/mman.h>

#ifdef AS_PLUGIN
#include <mpi.h>

int use(void);
int use(void)
{
	int one = 1, sum = 0;

	MPI_Init(NULL, NULL);
	MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Finalize();
	return sum;
}
#else
int main(int argc, char **argv)
{
	for (int i = 0; i < 2 && argc > 1; i++) {
		void *plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
		int (*use)(void) = plugin ? (int (*)(void))dlsym(plugin, "use") : NULL;

		if (!use)
			return 1;
		printf("sum %d\n", use());
		fflush(stdout);
		dlclose(plugin);
		/* it comes back elsewhere */
		mmap(NULL, 64 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	}
	return 0;
}
#endif
