/* Programs that LD_PRELOAD does not reach: static ones, those with other rights, those of another word size; see loadable.h. */
#include "launchers/run/loadable.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { SEGMENTS = 128, SCRIPTS = 4 };

static int find(const char *command, char file[PATH_MAX])
{
	const char *path = getenv("PATH");

	if (strchr(command, '/'))
		return snprintf(file, PATH_MAX, "%s", command) < PATH_MAX;
	for (path = path ? path : "/bin:/usr/bin"; path; path = strchr(path, ':') ? strchr(path, ':') + 1 : NULL) {
		int length = (int)strcspn(path, ":");
		struct stat st;

		if (snprintf(file, PATH_MAX, "%.*s%s%s", length, path, length ? "/" : "", command) < PATH_MAX && !stat(file, &st) &&
		    !S_ISDIR(st.st_mode) && !access(file, X_OK))
			return 1;
	}
	return 0;
}

/* The interpreter of a script's first line; 0: it is none. */
static int interpreter(const char *head, char file[PATH_MAX])
{
	size_t length;

	if (strncmp(head, "#!", 2) != 0)
		return 0;
	head += 2 + strspn(head + 2, " \t");
	length = strcspn(head, " \t\r\n");
	if (!length || length >= PATH_MAX)
		return 0;
	memcpy(file, head, length);
	file[length] = '\0';
	return 1;
}

/* Does the kernel give it rights that its caller has not? Then the loader looks at no path of LD_PRELOAD. */
static int has_other_rights(const char *file)
{
	struct stat st;

	if (stat(file, &st))
		return 0;
	if (st.st_mode & S_ISUID && st.st_uid != getuid())
		return 1;
	if ((st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && st.st_gid != getgid())
		return 1;
	return getuid() && getxattr(file, "security.capability", NULL, 0) > 0;
}

/* 1: without a loader; 0: with one, or no ELF file that could be read. */
static int is_static(int fd, const Elf64_Ehdr *head)
{
	Elf64_Phdr segment[SEGMENTS];
	size_t bytes = head->e_phnum * sizeof(segment[0]);

	if (head->e_phentsize != sizeof(segment[0]) || !head->e_phnum || head->e_phnum > SEGMENTS ||
	    pread(fd, segment, bytes, (off_t)head->e_phoff) != (ssize_t)bytes)
		return 0;
	for (size_t i = 0; i < head->e_phnum; i++)
		if (segment[i].p_type == PT_INTERP)
			return 0;
	return 1;
}

static const char *fault(const char *file, int fd, const Elf64_Ehdr *head)
{
	if (memcmp(head->e_ident, ELFMAG, SELFMAG) != 0)
		return NULL;
	if (has_other_rights(file))
		return "is setuid, setgid or has capabilities: the loader keeps podprof out. Run a copy without these rights";
	if (head->e_ident[EI_CLASS] != ELFCLASS64)
		return sizeof(void *) == 8 ? "is a 32-bit program, podprof is for 64 bit. Build it for 64 bit" : NULL;
	if ((head->e_type == ET_EXEC || head->e_type == ET_DYN) && is_static(fd, head))
		return "is statically linked: podprof cannot be loaded into it. Link it without -static";
	return NULL;
}

int pp_loadable(const char *command, char *why, size_t size)
{
	char file[PATH_MAX];
	const char *what = NULL;

	if (!find(command, file))
		return 1;
	for (int i = 0; i < SCRIPTS; i++) {
		union {
			char text[PATH_MAX + 16];
			Elf64_Ehdr elf;
		} head = {""};
		int fd = open(file, O_RDONLY | O_CLOEXEC);
		ssize_t n = fd < 0 ? -1 : pread(fd, head.text, sizeof(head.text) - 1, 0);

		if (n >= (ssize_t)sizeof(head.elf))
			what = fault(file, fd, &head.elf);
		else if (n < 0 && has_other_rights(file)) /* often one that may be run, but not read */
			what = "is setuid, setgid or has capabilities: the loader keeps podprof out. Run a copy without these "
			       "rights";
		if (fd >= 0)
			close(fd);
		if (what || n <= 0 || !interpreter(head.text, file))
			break;
	}
	if (what)
		snprintf(why, size, "'%s' %s. Only programs that it starts can be recorded", file, what);
	return !what;
}
