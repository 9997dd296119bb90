/* Loads a library that is linked with libmpi, RTLD_LOCAL, and runs its main: libmpi never enters the global scope, as with the
 * mpi4py wheel and other plugins. rtld_local LIBRARY [FUNCTION]. Run by guest_table.py. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	if (!library) {
		fprintf(stderr, "cannot load the library: %s\n", argc > 1 ? dlerror() : "no name given");
		return 2;
	}
	int (*run)(int, char **) = (int (*)(int, char **))dlsym(library, "zoo_main");
	return run ? run(argc, argv) : 2;
}
