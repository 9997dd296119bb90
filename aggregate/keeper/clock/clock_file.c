/* The file of a host's clock; see clock_file.h. Called by pod_clock.c and clock_salvage.c. */
#include "aggregate/keeper/clock/clock_file.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aggregate/keeper/clock/clock_packet.h"
#include "core/ring/ring_file.h"

static const char magic[8] = "PPCLOCKS";
static const double FAR = 0x1p52;          /* band.c refuses points farther from their group's origin, */
static const int64_t EDGE = INT64_MAX / 4; /* and times beyond this one */

_Static_assert(sizeof(struct pp_clock_file_head) == 280, "no padding: heads are compared as bytes");

struct record {
	union {
		struct pp_clock_file_head head; /* of the first record */
		struct pp_clock_file_burst burst;
	} of;
	uint64_t check;
};

static uint64_t check_of(const struct record *r)
{
	static const uint8_t key[PP_CLOCK_KEY] = "podprof clocks.";

	return pp_siphash(key, r, offsetof(struct record, check));
}

static void path_of(const char *spool, const char *end, char path[4200])
{
	snprintf(path, 4200, "%.4096s/" PP_SPOOL_CLOCKS "%s", spool, end);
}

static int write_all(int fd, const void *bytes, size_t size)
{
	for (size_t at = 0; at < size;) {
		ssize_t n = write(fd, (const char *)bytes + at, size - at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -ENOSPC;
		at += (size_t)n;
	}
	return 0;
}

static int write_records(int fd, const struct pp_clock_file_head *head, const struct pp_clock_file_burst *burst, size_t bursts)
{
	struct record r;
	int rc = 0;

	memset(&r, 0, sizeof(r));
	if (head) {
		r.of.head = *head;
		r.check = check_of(&r);
		rc = write_all(fd, &r, sizeof(r));
	}
	for (size_t i = 0; i < bursts && !rc; i++) {
		memset(&r, 0, sizeof(r));
		r.of.burst = burst[i];
		r.check = check_of(&r);
		rc = write_all(fd, &r, sizeof(r));
	}
	return rc;
}

int pp_clock_file_fits(const struct pp_clock_file *f, struct pp_clock_file_head *head)
{
	memcpy(head->magic, magic, sizeof(head->magic));
	head->version = PP_CLOCK_FILE_VERSION;
	head->byte_order = PP_RING_BYTE_ORDER;
	head->record_bytes = sizeof(struct record);
	/* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): both were made by this process, field by field */
	return !memcmp(&f->head, head, sizeof(*head));
}

int pp_clock_file_write(struct pp_clock_file *f, const char *spool, const struct pp_clock_file_head *head,
                        const struct pp_clock_file_burst *burst, size_t bursts, int anew, struct pp_err *err)
{
	char path[4200], part[4200];
	int fd, rc;

	path_of(spool, "", path);
	path_of(spool, ".part", part);
	fd = anew ? open(part, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600)
	          : open(path, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
	rc = fd < 0 ? -errno : write_records(fd, anew ? head : NULL, burst, bursts);
	if (fd >= 0)
		close(fd);
	if (!rc && anew && rename(part, path))
		rc = -errno;
	if (rc && anew)
		unlink(part);
	if (rc) {
		memset(f, 0, sizeof(*f));
		return pp_err_set(err, rc, "cannot write '%s': %s. podprof salvage will not know this clock", path, strerror(-rc));
	}
	f->records = bursts + (anew ? 0 : f->records);
	f->head = *head;
	return 0;
}

static int is_pair(const struct pp_clock_pair *p)
{
	return p->tick <= (pp_tick)EDGE && p->raw_ns >= 0 && p->raw_ns <= EDGE && p->width_ns >= 0 && p->width_ns <= EDGE &&
	       p->realtime_ns <= INT64_MAX / 2 && p->realtime_ns >= INT64_MIN / 2;
}

/* Ends its texts too. */
static int is_head(struct pp_clock_file_head *h)
{
	h->boot_id[sizeof(h->boot_id) - 1] = h->timens_ns[sizeof(h->timens_ns) - 1] = '\0';
	h->parent_host[sizeof(h->parent_host) - 1] = '\0';
	return h->tick_kind <= PP_TICK_CNTVCT && h->hops >= 0 && h->hops <= 16 && h->ticks_per_ns > 1e-3 && h->ticks_per_ns < 100 &&
	       h->rate > 1e-5 && h->rate < 1e5 && h->wander >= 0 && h->wander < 1 && is_pair(&h->first);
}

static int is_hull(const struct pp_band_point *p, uint32_t points)
{
	for (uint32_t i = 0; i < points; i++)
		if (!(fabs(p[i].x) <= 2 * FAR && fabs(p[i].y) <= 2 * FAR && (!i || p[i].x >= p[i - 1].x)))
			return 0;
	return 1;
}

static int is_time(int64_t t)
{
	return t >= -EDGE && t <= EDGE;
}

static int is_burst(const struct pp_clock_file_burst *b)
{
	const struct pp_band_group *g = &b->group;

	return is_pair(&b->now) && g->ups <= PP_BAND_POINTS && g->downs <= PP_BAND_POINTS && is_time(g->x) && is_time(g->y) &&
	       is_time(g->first) && is_hull(g->up, g->ups) && is_hull(g->down, g->downs) && g->least >= 0 &&
	       g->samples <= INT32_MAX && b->round_ns >= 0 && b->cpu_ns >= 0;
}

/* Plain files only: nothing waits for a writer, and whoever planted a link learns nothing. */
static int open_file(const char *path, uint64_t *ret_size)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	int rc;

	if (fd < 0)
		return -errno;
	rc = fstat(fd, &st) ? -errno : S_ISREG(st.st_mode) ? 0 : -EBADMSG;
	if (rc)
		close(fd);
	*ret_size = rc ? 0 : (uint64_t)st.st_size;
	return rc ? rc : fd;
}

static int read_record(int fd, size_t at, struct record *r)
{
	size_t have = 0;

	while (have < sizeof(*r)) {
		ssize_t n = pread(fd, (char *)r + have, sizeof(*r) - have, (off_t)(at * sizeof(*r) + have));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return 0;
		have += (size_t)n;
	}
	return r->check == check_of(r);
}

static int read_bursts(int fd, struct pp_clock_saved *k, struct pp_err *err)
{
	struct pp_band_options o = {.rate = k->head.rate, .wander = k->head.wander};
	struct record r;
	int rc = pp_band_init(&k->band, &o, err);

	while (!rc && k->records <= PP_CLOCK_FILE_RECORDS && read_record(fd, k->records + 1, &r) && is_burst(&r.of.burst)) {
		k->last = r.of.burst;
		if (r.of.burst.group.ups || r.of.burst.group.downs)
			*pp_band_begin(&k->band, r.of.burst.group.x, r.of.burst.group.y) = r.of.burst.group;
		k->records++;
	}
	return rc;
}

int pp_clock_file_read(const char *spool, struct pp_clock_saved *ret, struct pp_err *err)
{
	struct pp_clock_saved k = {.records = 0};
	char path[4200];
	struct record r;
	uint64_t size = 0;
	int fd, rc;

	path_of(spool, "", path);
	fd = open_file(path, &size);
	if (fd == -ENOENT)
		return fd;
	if (fd < 0)
		return pp_err_set(err, fd, "'%s' is not used: %s", path, fd == -EBADMSG ? "it is not a plain file" : strerror(-fd));
	memset(&r, 0, sizeof(r));
	if (!read_record(fd, 0, &r) && memcmp(r.of.head.magic, magic, sizeof(magic)) != 0)
		rc = pp_err_set(err, -EBADMSG, "'%s' is not used: it is not a file of podprof's clocks", path);
	else if (r.of.head.version != PP_CLOCK_FILE_VERSION || r.of.head.byte_order != PP_RING_BYTE_ORDER ||
	         r.of.head.record_bytes != sizeof(r))
		rc = pp_err_set(err, -EBADMSG, "'%s' is not used: another version of podprof wrote it", path);
	else if (r.check != check_of(&r) || !is_head(&r.of.head))
		rc = pp_err_set(err, -EBADMSG, "'%s' is not used: it is damaged", path);
	else {
		k.head = r.of.head;
		rc = read_bursts(fd, &k, err);
		if (!rc && !k.records)
			rc = pp_err_set(err, -EBADMSG, "'%s' is not used: it has no whole comparison", path);
	}
	close(fd);
	if (rc) {
		pp_clock_saved_release(&k);
		return rc;
	}
	k.ignored = size > (k.records + 1) * sizeof(r) ? (size_t)(size - (k.records + 1) * sizeof(r)) : 0;
	*ret = k;
	return 0;
}

void pp_clock_saved_release(struct pp_clock_saved *k)
{
	pp_band_release(&k->band);
	memset(k, 0, sizeof(*k));
}
