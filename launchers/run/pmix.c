/* libpmix by dlopen(); see pmix.h. Called by doctor_clock_rendezvous.c. */
#include "launchers/run/pmix.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/now.h"

/* Of PMIx 2 to 5, whose layout and numbers do not change. */
enum { KEY = 512, TYPE_STRING = 3, SCOPE_GLOBAL = 3, PAUSE_MS = 20 };

struct proc {
	char space[256];
	uint32_t rank;
};

struct value {
	uint16_t type;
	union {
		char *string;
		uint64_t room[8]; /* as much as any version's */
	} data;
};

struct pp_pmix {
	void *library;
	struct proc self;
	int (*init)(struct proc *self, void *info, size_t infos);
	int (*finalize)(const void *info, size_t infos);
	int (*put)(uint8_t scope, const char *key, struct value *value);
	int (*commit)(void);
	int (*get)(const struct proc *of, const char *key, const void *info, size_t infos, struct value **ret_value);
};

static void *open_library(void)
{
	const char *prefix = getenv("OPAL_PREFIX");
	char path[512];
	void *library = dlopen("libpmix.so.2", RTLD_NOW | RTLD_GLOBAL);

	if (!library && prefix && snprintf(path, sizeof(path), "%s/lib/libpmix.so.2", prefix) < (int)sizeof(path))
		library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	return library;
}

static int find_calls(struct pp_pmix *p)
{
	const struct {
		const char *name;
		void *to;
	} call[] = {{"PMIx_Init", &p->init},
	            {"PMIx_Finalize", &p->finalize},
	            {"PMIx_Put", &p->put},
	            {"PMIx_Commit", &p->commit},
	            {"PMIx_Get", &p->get}};

	for (size_t i = 0; i < sizeof(call) / sizeof(call[0]); i++) {
		void *found = dlsym(p->library, call[i].name);

		if (!found)
			return -ENOENT;
		memcpy(call[i].to, &found, sizeof(found));
	}
	return 0;
}

struct pp_pmix *pp_pmix_open(void)
{
	struct pp_pmix *p;

	if (!getenv("PMIX_NAMESPACE") || !getenv("PMIX_RANK"))
		return NULL;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->library = open_library();
	if (!p->library || find_calls(p) || p->init(&p->self, NULL, 0)) {
		free(p); /* the library stays: it may have threads */
		return NULL;
	}
	return p;
}

void pp_pmix_close(struct pp_pmix *p)
{
	if (p)
		p->finalize(NULL, 0);
	free(p);
}

int pp_pmix_put(struct pp_pmix *p, const char *key, const char *text)
{
	struct value value = {.type = TYPE_STRING};
	char name[KEY] = "", *copy = strdup(text);
	int rc;

	if (!copy)
		return -ENOMEM;
	snprintf(name, sizeof(name), "%s", key);
	value.data.string = copy;
	rc = p->put(SCOPE_GLOBAL, name, &value) || p->commit() ? -EIO : 0;
	explicit_bzero(copy, strlen(copy));
	free(copy);
	return rc;
}

static int get_once(struct pp_pmix *p, uint32_t rank, const char *key, char *ret_text, size_t size)
{
	struct proc of = {.rank = rank};
	struct value *value = NULL;
	char name[KEY] = "";
	int rc = -ENOENT;

	memcpy(of.space, p->self.space, sizeof(of.space));
	snprintf(name, sizeof(name), "%s", key);
	if (p->get(&of, name, NULL, 0, &value) || !value)
		return -ENOENT;
	if (value->type == TYPE_STRING && value->data.string) {
		snprintf(ret_text, size, "%s", value->data.string);
		free(value->data.string);
		rc = 0;
	}
	free(value);
	return rc;
}

int pp_pmix_get(struct pp_pmix *p, uint32_t rank, const char *key, int64_t end_ms, char *ret_text, size_t size)
{
	/* The server itself waits some seconds for processes that have not put yet. */
	while (get_once(p, rank, key, ret_text, size)) {
		if (pp_now_ms() >= end_ms)
			return -ETIMEDOUT;
		pp_nap_ms(PAUSE_MS);
	}
	return 0;
}

int pp_pmix_host(struct pp_pmix *p, uint32_t rank, char *ret_name, size_t size)
{
	return get_once(p, rank, "pmix.hname", ret_name, size);
}
