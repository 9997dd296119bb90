/* The leader's word to ranks elsewhere, and what clients of other hosts say and hear. Called by pod.c and request.c. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "aggregate/keeper/capture/windows.h"
#include "aggregate/keeper/cluster/pod_state.h"
#include "aggregate/keeper/control.h"

enum { WORD_OVER = 100 }; /* no kind that ranks know */

/* Into this host's page, as request.c does where the leader is. */
void pp_pod_take_word(struct pp_pod *p, int peer, const struct pp_wire *m)
{
	const struct pp_wire_tell *t = &m->tell;
	struct pp_control *c = p->o.control;

	(void)peer;
	if (t->kind == WORD_OVER && !pp_step_windows_many(&p->o.settings->windows))
		pp_pod_drop(p->o.job, 0);
	/* What is held is of a capture that was taken back, or has brought its share. */
	if (p->is_done && t->kind <= PP_ASK_NOW &&
	    (t->kind != PP_ASK_NOTHING || p->word.kind == PP_ASK_STEPS || p->word.kind == PP_ASK_AGREE))
		pp_windows_drop_all(p->o.job);
	p->is_done |= t->kind == WORD_OVER;
	p->news = 1;
	if (t->kind > PP_ASK_NOW)
		return;
	p->word.number = t->number;
	p->word.kind = (enum pp_ask_kind)t->kind;
	p->word.first = t->first;
	p->word.last = t->last;
	if (!c)
		return;
	atomic_store_explicit(&c->request_kind, t->kind, memory_order_relaxed);
	atomic_store_explicit(&c->request_first, t->first, memory_order_relaxed);
	atomic_store_explicit(&c->request_last, t->last, memory_order_relaxed);
	/* Release: the rest is there when the bell is seen. */
	atomic_store_explicit(&c->bell, t->number, memory_order_release);
}

static struct pp_wire word_of(const struct pp_pod *p)
{
	struct pp_wire m = {.kind = PP_WIRE_TELL};

	m.tell = (struct pp_wire_tell){p->word.number, (uint32_t)p->word.kind, p->word.first, p->word.last};
	return m;
}

void pp_pod_tell_one(struct pp_pod *p, int peer)
{
	struct pp_wire m = word_of(p);

	if (p->word.number)
		pp_net_send(p->net, peer, &m, NULL);
}

void pp_pod_tell(struct pp_pod *p, uint32_t number, enum pp_ask_kind kind, int64_t first, int64_t last)
{
	if (!p)
		return;
	p->word.number = number;
	p->word.kind = kind;
	p->word.first = first;
	p->word.last = last;
	p->word.told_us = pp_pod_now_us();
	if (kind != PP_ASK_NOTHING)
		pp_pod_clock_want(p);
	for (size_t i = 0; p->state == PP_POD_LISTENING && i < p->peers; i++)
		if (p->peer[i].joined && !p->peer[i].gone)
			pp_pod_tell_one(p, (int)i);
}

void pp_pod_tell_over(struct pp_pod *p)
{
	struct pp_wire m = {.kind = PP_WIRE_TELL, .tell.kind = WORD_OVER};

	for (size_t i = 0; p && p->state == PP_POD_LISTENING && i < p->peers; i++)
		if (p->peer[i].joined && !p->peer[i].gone)
			pp_net_send(p->net, (int)i, &m, NULL);
}

void pp_pod_take_words(struct pp_pod *p, int peer, const struct pp_wire *m)
{
	const struct pp_wire_words *w = &m->words;
	struct pp_pod_words *to = &p->queue[p->queued];

	if (p->queued == PP_POD_QUEUE) {
		pp_keeper_log("words of a client elsewhere are lost: too many at a time");
		return;
	}
	*to = (struct pp_pod_words){.peer = peer, .client = w->client, .ended = w->ended};
	snprintf(to->text, sizeof(to->text), "%.*s", (int)(w->size < sizeof(to->text) ? w->size : sizeof(to->text) - 1), w->text);
	p->queued++;
	p->news = 1;
}

int pp_pod_heard(struct pp_pod *p, struct pp_pod_words *ret_words)
{
	if (!p || !p->queued)
		return 0;
	*ret_words = p->queue[0];
	memmove(p->queue, p->queue + 1, --p->queued * sizeof(p->queue[0]));
	return 1;
}

static int send_words(struct pp_pod *p, int peer, uint32_t client, int ended, const char *text)
{
	struct pp_wire m = {.kind = PP_WIRE_WORDS_OF};

	m.words = (struct pp_wire_words){client, ended, text, strlen(text)};
	return pp_net_send(p->net, peer, &m, NULL) ? -ENOTCONN : 0;
}

int pp_pod_ask(struct pp_pod *p, uint32_t client, const char *line)
{
	return p && p->state == PP_POD_JOINED ? send_words(p, 0, client, 0, line) : -ENOTCONN;
}

void pp_pod_forget(struct pp_pod *p, uint32_t client)
{
	if (p && p->state == PP_POD_JOINED)
		send_words(p, 0, client, 1, "");
}

void pp_pod_answer(struct pp_pod *p, const struct pp_pod_words *words)
{
	if (p && p->state == PP_POD_LISTENING)
		send_words(p, words->peer, words->client, words->ended, words->text);
}
