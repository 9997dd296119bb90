/* Which calls count, and which one fails. See torture.h; the wrappers are in torture_calls.c.
 * TORTURE_PAGE file of counts; TORTURE_FROM modules, "podprof,libpodprof,libhdf5"; TORTURE_ROLE keeper, cli or guest;
 * TORTURE_KIND, TORTURE_N which call fails (0: count only); TORTURE_ALL all calls from the n-th on;
 * TORTURE_ERRNO; TORTURE_SHORT; TORTURE_TEXT offsets in the program. */
#include "tests/torture/torture.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { RANGES = 8, ENVIRONMENT = 96 };

struct range {
	uintptr_t begin, end, base;
	char name[48];
};

static struct torture_page *page;
static struct range range[RANGES];
static int ranges;
static int chosen_kind = -1, chosen_all, chosen_errno, chosen_short;
static uint64_t chosen_n;
static char text_sign;
static unsigned long text_begin, text_end;
static _Thread_local int inside;

static const char *const kinds[TORTURE_KINDS] = {"alloc", "open", "name", "file", "mmap", "read", "write", "process"};

void *torture_next(const char *name)
{
	void *found = dlsym(RTLD_NEXT, name);

	if (!found)
		abort(); /* a wrapper of something that libc does not have: a mistake of this test */
	return found;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* TORTURE_TEXT "+begin-end" or "-begin-end": only, or all but, these offsets: what of a program is a library linked into it. */
static int is_chosen_text(uintptr_t offset)
{
	return !text_sign || (offset >= text_begin && offset < text_end) == (text_sign == '+');
}

/* "libpodprof" is libpodprof.so and libpodprof-mpi.so; "podprof" is the program. */
static int is_chosen(const char *name)
{
	const char *from = getenv("TORTURE_FROM");

	for (const char *p = from; p && *p; p += strcspn(p, ","), p += *p == ',') {
		size_t n = strcspn(p, ",");

		if (!strncmp(name, p, n) && (name[n] == '\0' || name[n] == '.' || name[n] == '-' || name[n] == '_'))
			return 1;
	}
	return 0;
}

static int add_module(struct dl_phdr_info *info, size_t size, void *data)
{
	char self[4096];
	const char *path = info->dlpi_name;
	int *first = data;

	(void)size;
	if (*first) {
		ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

		*first = 0;
		self[n > 0 ? n : 0] = '\0';
		path = self;
	}
	if (!is_chosen(base_name(path)))
		return 0;
	for (int i = 0; i < info->dlpi_phnum && ranges < RANGES; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
			continue;
		range[ranges].base = info->dlpi_addr;
		range[ranges].begin = info->dlpi_addr + p->p_vaddr;
		range[ranges].end = range[ranges].begin + p->p_memsz;
		snprintf(range[ranges].name, sizeof(range[ranges].name), "%s", base_name(path));
		ranges++;
	}
	return 0;
}

static int role_fits(int argc, char **argv)
{
	const char *role = getenv("TORTURE_ROLE");
	int is_podprof = argc > 0 && !strcmp(base_name(argv[0]), "podprof");
	int is_keeper = is_podprof && argc > 1 && !strcmp(argv[1], "keeper");

	if (!role)
		return 1;
	return !strcmp(role, is_keeper ? "keeper" : is_podprof ? "cli" : "guest");
}

static void open_page(const char *path)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0);
	long at = fd < 0 ? -1 : syscall(SYS_mmap, NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (fd >= 0)
		syscall(SYS_close, fd);
	if (at != -1)
		page = (struct torture_page *)at;
}

__attribute__((constructor)) static void start(int argc, char **argv)
{
	const char *path = getenv("TORTURE_PAGE"), *kind = getenv("TORTURE_KIND"), *n = getenv("TORTURE_N");
	int first = 1;

	if (!path || !role_fits(argc, argv))
		return;
	chosen_n = n ? strtoull(n, NULL, 10) : 0;
	for (int i = 0; kind && i < TORTURE_KINDS; i++)
		if (!strcmp(kind, kinds[i]))
			chosen_kind = i;
	chosen_all = getenv("TORTURE_ALL") != NULL;
	chosen_short = getenv("TORTURE_SHORT") != NULL;
	chosen_errno = getenv("TORTURE_ERRNO") ? (int)strtol(getenv("TORTURE_ERRNO"), NULL, 10) : 0;
	if (getenv("TORTURE_TEXT"))
		sscanf(getenv("TORTURE_TEXT"), "%c%lx-%lx", &text_sign, &text_begin, &text_end);
	dl_iterate_phdr(add_module, &first);
	if (ranges)
		open_page(path);
}

static const struct range *range_of(uintptr_t at)
{
	for (int i = 0; i < ranges; i++)
		if (at >= range[i].begin && at < range[i].end)
			return &range[i];
	return NULL;
}

int torture_hits(enum torture_kind kind, const char *function, const void *caller)
{
	const struct range *r;
	uint64_t n;

	if (!page || inside)
		return 0;
	r = range_of((uintptr_t)caller);
	if (!r || !is_chosen_text((uintptr_t)caller - r->base))
		return 0;
	n = atomic_fetch_add(&page->calls[kind], 1) + 1;
	if ((int)kind != chosen_kind || !chosen_n || (chosen_all ? n < chosen_n : n != chosen_n))
		return 0;
	if (!atomic_fetch_add(&page->fired, 1)) {
		inside = 1;
		snprintf(page->what, sizeof(page->what), "%s %s+0x%lx", function, r->name,
		         (unsigned long)((uintptr_t)caller - r->base));
		inside = 0;
	}
	return 1;
}

int torture_error(int usual)
{
	return chosen_errno ? chosen_errno : usual;
}

int torture_is_short(void)
{
	return chosen_short;
}

char *const *torture_environment(char *const *argv, char *const *env)
{
	static const char *const ours[] = {"LD_PRELOAD", "TORTURE_PAGE", "TORTURE_FROM",  "TORTURE_ROLE",  "TORTURE_KIND",
	                                   "TORTURE_N",  "TORTURE_ALL",  "TORTURE_ERRNO", "TORTURE_SHORT", "TORTURE_TEXT"};
	static char *changed[ENVIRONMENT + 1];
	static char text[sizeof(ours) / sizeof(ours[0])][4200];
	int n = 0;

	if (!argv[0] || !argv[1] || strcmp(argv[1], "keeper") || !getenv("TORTURE_PAGE"))
		return env;
	for (char *const *v = env; *v && n < ENVIRONMENT; v++)
		changed[n++] = *v;
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]) && n < ENVIRONMENT; i++) {
		if (!getenv(ours[i]))
			continue;
		snprintf(text[i], sizeof(text[i]), "%s=%s", ours[i], getenv(ours[i]));
		changed[n++] = text[i];
	}
	changed[n] = NULL;
	return changed;
}
