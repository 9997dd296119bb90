/* Forked readers; see workers.h. Called by cmd_analyze.c. */
#include "launchers/analyze/workers.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SHOW_MS = 100, NONE = -1, PIPE_BYTES = 1 << 20 };

struct slot {                 /* shared: what a process does */
	_Atomic int64_t file; /* place in `order`; NONE: none */
	_Atomic uint64_t bytes;
};

struct shared {
	_Atomic size_t next; /* place in `order` */
	struct slot slot[];
};

struct head { /* of a result in a pipe; `why` is in it, `size` bytes follow */
	uint64_t place, size;
	struct pp_analyze_whose whose;
	int32_t read_as;
	char why[sizeof(((struct pp_analyze_file *)0)->why)];
};

struct process {
	pid_t pid;
	int fd; /* -1: it has ended */
	struct head head;
	size_t got; /* of the head, then of the block */
	char *block;
};

struct workers {
	struct pp_analyze_file *file;
	size_t *order; /* indexes of files, largest first */
	size_t count, done;
	uint64_t bytes_done, bytes_all;
	const struct pp_analyze_options *o;
	struct shared *shared;
	struct process *process;
	size_t processes;
};

static void progress(void *context, uint64_t bytes_read, uint64_t bytes)
{
	(void)bytes;
	atomic_store_explicit(&((struct slot *)context)->bytes, bytes_read, memory_order_relaxed);
}

static int put(int fd, const void *bytes, size_t size)
{
	for (size_t at = 0; at < size;) {
		ssize_t n = write(fd, (const char *)bytes + at, size - at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		at += (size_t)n;
	}
	return 0;
}

static void work(const struct workers *w, struct slot *slot, int fd)
{
	size_t place;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while ((place = atomic_fetch_add(&w->shared->next, 1)) < w->count) {
		/* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.ArraySubscript): init() has copied all of them */
		struct pp_analyze_file *f = &w->file[w->order[place]];
		struct head head = {.place = place};

		atomic_store(&slot->bytes, 0);
		atomic_store(&slot->file, (int64_t)place);
		pp_analyze_read(f, w->o, progress, slot);
		head.size = f->block ? f->size : 0;
		head.whose = f->whose;
		head.read_as = f->read_as;
		memcpy(head.why, f->why, sizeof(head.why));
		if (put(fd, &head, sizeof(head)) || put(fd, f->block, head.size))
			_exit(1);
		atomic_store(&slot->file, NONE);
		free(f->block);
		f->block = NULL;
	}
	_exit(0);
}

static int start(struct workers *w, size_t p)
{
	struct process *one = &w->process[p];
	int end[2];

	if (pipe2(end, O_CLOEXEC))
		return -errno;
	(void)fcntl(end[0], F_SETPIPE_SZ, PIPE_BYTES);
	atomic_store(&w->shared->slot[p].file, NONE);
	fflush(NULL);
	one->pid = fork();
	if (one->pid < 0) {
		int rc = -errno;

		close(end[0]);
		close(end[1]);
		return rc;
	}
	if (!one->pid) {
		for (size_t i = 0; i < w->processes; i++)
			if (w->process[i].fd >= 0)
				close(w->process[i].fd);
		close(end[0]);
		work(w, &w->shared->slot[p], end[1]);
	}
	close(end[1]);
	one->fd = end[0];
	one->got = 0;
	return 0;
}

static void take(struct workers *w, struct process *p)
{
	struct pp_analyze_file *f = &w->file[w->order[p->head.place]];

	f->block = p->head.size ? p->block : NULL;
	f->size = p->head.size;
	f->whose = p->head.whose;
	f->read_as = p->head.read_as;
	memcpy(f->why, p->head.why, sizeof(f->why));
	if (!f->block)
		free(p->block);
	w->done++;
	w->bytes_done += f->glance.bytes;
	p->block = NULL;
	p->got = 0;
}

/* Why a process died that read this file. */
static void explain(struct pp_analyze_file *file, int status)
{
	int by_signal = WIFSIGNALED(status), number = by_signal ? WTERMSIG(status) : WEXITSTATUS(status);

	if (by_signal && number == SIGKILL)
		snprintf(file->why, sizeof(file->why),
		         "cannot read '%s': its process was killed. Perhaps memory ran out; read it with fewer files at a time",
		         file->path);
	else if (by_signal && number == SIGBUS) /* of a mapped file */
		snprintf(file->why, sizeof(file->why),
		         "cannot read '%s': it became shorter while it was read, or its disk failed. Analyse it again when nobody "
		         "writes it",
		         file->path);
	else
		snprintf(file->why, sizeof(file->why), "cannot read '%s': podprof failed on it (%s %d). Please report it",
		         file->path, by_signal ? "signal" : "exit code", number);
}

/* The process has died: what it read is lost, and the next one goes on. */
static void bury(struct workers *w, size_t index)
{
	struct process *p = &w->process[index];
	int64_t place = atomic_load(&w->shared->slot[index].file);
	int status = 0;

	close(p->fd);
	p->fd = -1;
	free(p->block);
	p->block = NULL;
	while (waitpid(p->pid, &status, 0) < 0 && errno == EINTR)
		;
	if (place == NONE || place >= (int64_t)w->count)
		return;
	w->done++;
	explain(&w->file[w->order[place]], status);
	if (atomic_load(&w->shared->next) < w->count)
		(void)start(w, index);
}

/* One read() of what a process sends. */
static void receive(struct workers *w, size_t index)
{
	struct process *p = &w->process[index];
	int in_head = p->got < sizeof(p->head);
	size_t at = in_head ? p->got : p->got - sizeof(p->head), size = in_head ? sizeof(p->head) : p->head.size;
	ssize_t n = read(p->fd, (in_head ? (char *)&p->head : p->block) + at, size - at);

	if (n < 0 && errno == EINTR)
		return;
	if (n <= 0) {
		bury(w, index);
		return;
	}
	p->got += (size_t)n;
	if (in_head && p->got == sizeof(p->head) && p->head.size) {
		p->block = malloc(p->head.size);
		if (!p->block) {
			kill(p->pid, SIGKILL);
			return;
		}
	}
	if (p->got == sizeof(p->head) + p->head.size)
		take(w, p);
}

static void show_all(const struct workers *w, void (*show)(const struct pp_workers_seen *seen))
{
	struct pp_workers_seen seen = {.bytes = w->bytes_done, .bytes_all = w->bytes_all, .files = w->done, .files_all = w->count};

	for (size_t p = 0; p < w->processes; p++)
		if (w->process[p].fd >= 0 && atomic_load(&w->shared->slot[p].file) != NONE)
			seen.bytes += atomic_load_explicit(&w->shared->slot[p].bytes, memory_order_relaxed);
	show(&seen);
}

static void receive_all(struct workers *w, void (*show)(const struct pp_workers_seen *seen))
{
	struct pollfd *fds = calloc(w->processes, sizeof(*fds));

	for (size_t alive = 1; fds && alive;) {
		alive = 0;
		for (size_t p = 0; p < w->processes; p++) {
			fds[p] = (struct pollfd){.fd = w->process[p].fd, .events = POLLIN};
			alive += fds[p].fd >= 0;
		}
		if (alive && poll(fds, w->processes, show ? SHOW_MS : -1) > 0)
			for (size_t p = 0; p < w->processes; p++)
				if (fds[p].fd >= 0 && fds[p].revents)
					receive(w, p);
		if (show)
			show_all(w, show);
	}
	free(fds);
}

static int compare_bytes(const void *a, const void *b, void *files)
{
	const struct pp_analyze_file *file = files;
	const size_t x = *(const size_t *)a, y = *(const size_t *)b;

	if (file[x].glance.bytes != file[y].glance.bytes)
		return file[x].glance.bytes < file[y].glance.bytes ? 1 : -1;
	return (x > y) - (x < y);
}

static int init(struct workers *w, const size_t *index)
{
	w->order = malloc((w->count + 1) * sizeof(*w->order));
	w->process = calloc(w->processes, sizeof(*w->process));
	w->shared = mmap(NULL, sizeof(*w->shared) + w->processes * sizeof(w->shared->slot[0]), PROT_READ | PROT_WRITE,
	                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!w->order || !w->process || w->shared == MAP_FAILED)
		return -ENOMEM;
	for (size_t p = 0; p < w->processes; p++)
		w->process[p].fd = -1;
	memcpy(w->order, index, w->count * sizeof(*w->order));
	qsort_r(w->order, w->count, sizeof(*w->order), compare_bytes, w->file);
	for (size_t i = 0; i < w->count; i++)
		w->bytes_all += w->file[index[i]].glance.bytes;
	return 0;
}

int pp_workers_read(struct pp_analyze_file *file, const size_t *index, size_t count, size_t processes,
                    const struct pp_analyze_options *o, void (*show)(const struct pp_workers_seen *seen), struct pp_err *err)
{
	struct workers w = {.file = file, .count = count, .o = o, .processes = processes < count ? processes : count};
	size_t started = 0;
	int rc = 0;

	if (!count)
		return 0;
	w.processes += !w.processes;
	if (init(&w, index))
		rc = pp_err_set(err, -ENOMEM, "cannot read %zu files: no memory", count);
	for (size_t p = 0; p < w.processes && !rc; p++)
		started += start(&w, p) == 0;
	if (!rc && started)
		receive_all(&w, show);
	/* Those left where no process could be made. */
	for (size_t place = rc ? count : atomic_load(&w.shared->next); place < count; place++)
		/* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.ArraySubscript): the same */
		pp_analyze_read(&file[w.order[place]], o, NULL, NULL);
	if (w.shared && w.shared != MAP_FAILED)
		munmap(w.shared, sizeof(*w.shared) + w.processes * sizeof(w.shared->slot[0]));
	free(w.process);
	free(w.order);
	return rc;
}
