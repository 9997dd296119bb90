/* Clients whose requests were passed on to the leader, when its last line and its end come at once; the pod is a stand-in. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "aggregate/keeper/capture/request_client.h"
#include "aggregate/keeper/cluster/pod.h"
#include "aggregate/keeper/cluster/pod_request.h"
#include "tests/test.h"

static struct pp_pod_client_line queue[2];
static int queued;

/* The linker puts these in the place of the pod's own. */
enum pp_pod_role __wrap_pp_pod_role(const struct pp_pod *p); /* NOLINT(bugprone-reserved-identifier): the linker's name */
int __wrap_pp_pod_next_line(struct pp_pod *p, struct pp_pod_client_line *ret_line); /* NOLINT(bugprone-reserved-identifier) */
const char *__wrap_pp_pod_why(struct pp_pod *p);                                    /* NOLINT(bugprone-reserved-identifier) */

enum pp_pod_role __wrap_pp_pod_role(const struct pp_pod *p)
{
	(void)p;
	return PP_POD_ALONE;
}

int __wrap_pp_pod_next_line(struct pp_pod *p, struct pp_pod_client_line *ret_line)
{
	(void)p;
	if (!queued)
		return 0;
	*ret_line = queue[0];
	queue[0] = queue[1];
	queued--;
	return 1;
}

const char *__wrap_pp_pod_why(struct pp_pod *p)
{
	(void)p;
	return "it has ended";
}

/* What the client reads until its end. */
static void said(int fd, char *text, size_t size)
{
	ssize_t n;

	memset(text, 0, size);
	for (size_t at = 0; at + 1 < size && (n = read(fd, text + at, size - 1 - at)) > 0; at += (size_t)n)
		;
	close(fd);
}

static void pass_on(struct pp_requests *r, int slot, uint32_t number, int *ret_end)
{
	int fd[2];

	CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	r->client[slot] = (struct pp_client){.fd = fd[0], .state = PP_CLIENT_PASSED_ON, .number = number};
	*ret_end = fd[1];
}

TEST(answers_before_the_end)
{
	struct pp_requests *r = calloc(1, sizeof(*r));
	char text[256];
	int answered, lost;

	for (int i = 0; i < PP_REQUEST_SLOTS; i++)
		r->client[i].fd = -1;
	pass_on(r, 0, 7, &answered);
	pass_on(r, 1, 8, &lost);
	queue[0] = (struct pp_pod_client_line){.client = 7, .text = "wait a moment\n"};
	queue[1] = (struct pp_pod_client_line){.client = 7, .ended = 1, .text = "done\nsteps 5..7 captured\n"};
	queued = 2;
	CHECK_INT(pp_requests_pod(r), 0);
	said(answered, text, sizeof(text));
	CHECK_STR(text, "wait a moment\ndone\nsteps 5..7 captured\n");
	said(lost, text, sizeof(text));
	CHECK_STR(text, "failed\nlost the connection to the keeper of rank 0's host: it has ended");
	CHECK_INT(r->client[0].state, PP_CLIENT_FREE);
	CHECK_INT(r->client[1].state, PP_CLIENT_FREE);
	free(r);
}

int main(void)
{
	answers_before_the_end();
	return test_end();
}
