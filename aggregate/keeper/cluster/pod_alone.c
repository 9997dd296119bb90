/* Implements pod.h where libzmq or protobuf-c is missing: every keeper is alone. Called by keeper.c, request.c, writing.c. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "aggregate/keeper/cluster/pod.h"
#include "aggregate/keeper/cluster/pod_gather.h"
#include "aggregate/keeper/cluster/pod_ranks.h"
#include "aggregate/keeper/cluster/pod_request.h"
#include "aggregate/keeper/net/rendezvous_point.h"

int pp_pod_new(const struct pp_pod_options *o, struct pp_pod **ret_pod)
{
	char path[4200];

	(void)ret_pod;
	snprintf(path, sizeof(path), "%s/" PP_RENDEZVOUS_POINT_WANTED, o->spool);
	unlink(path); /* podprof run waits for an answer */
	return -ENOTSUP;
}

void pp_pod_free(struct pp_pod *p)
{
	(void)p;
}

int pp_pod_run(struct pp_pod *p)
{
	(void)p;
	return 0;
}

int pp_pod_wait(struct pp_pod *p, int fd, int ms)
{
	(void)p;
	(void)fd;
	(void)ms;
	return 0;
}

int pp_pod_may_close(struct pp_pod *p, int over, int asked)
{
	(void)p;
	(void)asked;
	return over;
}

int pp_pod_is_sharing(const struct pp_pod *p)
{
	(void)p;
	return 0;
}

uint64_t pp_pod_windows_done(const struct pp_pod *p)
{
	(void)p;
	return 0;
}

void pp_pod_set_windows_done(struct pp_pod *p, uint64_t number)
{
	(void)p;
	(void)number;
}

int pp_pod_is_done(const struct pp_pod *p)
{
	(void)p;
	return 0;
}

const char *pp_pod_session(const struct pp_pod *p)
{
	(void)p;
	return NULL;
}

enum pp_pod_role pp_pod_role(const struct pp_pod *p)
{
	(void)p;
	return PP_POD_ALONE;
}

int pp_pod_pace(const struct pp_pod *p)
{
	(void)p;
	return 100;
}

const char *pp_pod_why(struct pp_pod *p)
{
	(void)p;
	return "";
}

const struct pp_pod_rank *pp_pod_ranks(const struct pp_pod *p, size_t *ret_ranks)
{
	(void)p;
	*ret_ranks = 0;
	return NULL;
}

void pp_pod_send_request(struct pp_pod *p, uint32_t number, enum pp_ask_kind kind, int64_t first, int64_t last, uint32_t level)
{
	(void)p;
	(void)number;
	(void)kind;
	(void)first;
	(void)last;
}

void pp_pod_send_over(struct pp_pod *p)
{
	(void)p;
}

int pp_pod_ask(struct pp_pod *p, uint32_t client, const char *line)
{
	(void)p;
	(void)client;
	(void)line;
	return -ENOTCONN;
}

void pp_pod_forget(struct pp_pod *p, uint32_t client)
{
	(void)p;
	(void)client;
}

int pp_pod_next_line(struct pp_pod *p, struct pp_pod_client_line *ret_line)
{
	(void)p;
	(void)ret_line;
	return 0;
}

void pp_pod_answer(struct pp_pod *p, const struct pp_pod_client_line *line)
{
	(void)p;
	(void)line;
}

struct pp_gather *pp_pod_gather(struct pp_pod *p, const struct pp_pod_window *w)
{
	(void)p;
	(void)w;
	return NULL;
}

void pp_pod_gathering(struct pp_pod *p, int has_child)
{
	(void)p;
	(void)has_child;
}
