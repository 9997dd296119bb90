/* Feeds a fuzz target with the files of folders, in place of libFuzzer. Usage: fuzz_NAME FILE|DIR... */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "tests/fuzz/fuzz.h"

static int replay_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	struct stat st;
	uint8_t *bytes;
	size_t n;

	if (!f || fstat(fileno(f), &st)) {
		perror(path);
		exit(1);
	}
	bytes = malloc((size_t)st.st_size + 1);
	n = bytes ? fread(bytes, 1, (size_t)st.st_size, f) : 0;
	LLVMFuzzerTestOneInput(bytes, n);
	free(bytes);
	fclose(f);
	return 1;
}

static int replay(const char *path)
{
	DIR *dir = opendir(path);
	const struct dirent *e;
	int files = 0;

	if (!dir)
		return replay_file(path);
	while ((e = readdir(dir))) {
		char file[4096];

		if (e->d_name[0] != '.' && snprintf(file, sizeof(file), "%s/%s", path, e->d_name) < (int)sizeof(file))
			files += replay_file(file);
	}
	closedir(dir);
	return files;
}

int main(int argc, char **argv)
{
	int files = 0;

	for (int i = 1; i < argc; i++)
		files += replay(argv[i]);
	fprintf(stderr, "%d files\n", files);
	return files == 0;
}
