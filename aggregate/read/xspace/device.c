/* Reads what the texts of device planes and their events tell; see device.h. */
#include "aggregate/read/xspace/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/read/xspace/value.h"
#include "core/base/grow.h"
#include "core/base/hash.h"
#include "core/base/utf8.h"
#include "core/capture/side.h"

/* A number behind `key` at the begin of the text or behind a blank or a new line; `most` in ret_number. Returns how many. */
static int numbers(const char *text, size_t length, const char *key, int most, double *ret_number)
{
	const size_t n = strlen(key);
	const char *p = text, *end;
	char number[64];
	int found = 0;

	if (!length) /* then there may be no text */
		return 0;
	end = text + length;
	while ((p = memmem(p, (size_t)(end - p), key, n)) && p != text && p[-1] != ' ' && p[-1] != '\n')
		p += n;
	if (!p)
		return 0;
	p += n;
	length = (size_t)(end - p) < sizeof(number) ? (size_t)(end - p) : sizeof(number) - 1;
	memcpy(number, p, length);
	number[length] = '\0';
	for (char *at = number, *next; found < most; at = next + 1) {
		double value = strtod(at, &next);

		if (next == at)
			break;
		ret_number[found++] = value;
		if (*next != ',')
			break;
	}
	return found;
}

static uint32_t whole(double value)
{
	return value > 0 && value < 4294967295.0 ? (uint32_t)value : 0;
}

uint64_t pp_xdevice_bytes(const char *text, size_t length)
{
	double bytes;

	if (!numbers(text, length, "num_bytes:", 1, &bytes) && !numbers(text, length, "size:", 1, &bytes))
		return 0;
	return bytes > 0 && bytes < 1e18 ? (uint64_t)bytes : 0;
}

static void read_launch(const char *text, size_t length, double occupancy, struct pp_launch *l)
{
	double value[3];

	*l = (struct pp_launch){.occupancy = -1};
	if (numbers(text, length, "regs:", 1, value))
		l->registers = whole(value[0]);
	if (numbers(text, length, "static_shared:", 1, value) || numbers(text, length, "shm:", 1, value))
		l->static_shared = whole(value[0]);
	if (numbers(text, length, "dynamic_shared:", 1, value))
		l->dynamic_shared = whole(value[0]);
	for (int i = numbers(text, length, "grid:", 3, value); i-- > 0;)
		l->grid[i] = whole(value[i]);
	for (int i = numbers(text, length, "block:", 3, value); i-- > 0;)
		l->block[i] = whole(value[i]);
	if (!numbers(text, length, "occ_pct:", 1, value))
		value[0] = occupancy;
	if (value[0] >= 0 && value[0] <= 100)
		l->occupancy = (float)value[0];
}

uint32_t pp_xdevice_launch(struct pp_xread *x, const char *details, size_t length, double occupancy)
{
	struct pp_launch l;
	uint32_t launch;

	read_launch(details, length, occupancy, &l);
	launch = pp_launch_put(&x->launch, &l);
	x->no_memory |= !launch;
	x->rank.launch = x->launch.launch;
	x->rank.launches = x->launch.launches;
	return launch;
}

static void copy_text(char *to, size_t size, const struct pp_xvalue *v)
{
	size_t n = v->is_text && v->length < 256 ? v->length : 0;
	char good[3 * 256] = "";

	pp_utf8_repair(good, (const char *)v->text, n);
	snprintf(to, size, "%.*s", pp_utf8_fit(good, (int)size - 1), good);
}

/* Devices of two kinds may have one number: the later one gets the next that is unused. */
static int is_known(const struct pp_xread *x, struct pp_xplane *p, struct pp_device *d)
{
	for (size_t i = 0; i < x->rank.devices; i++) {
		const struct pp_device *other = &x->rank.device[i];

		if (other->number != d->number)
			continue;
		if (other->own == d->own && !strcmp(other->kind, d->kind))
			return 1;
		d->number = p->device = d->number + 1;
		i = SIZE_MAX; /* from the first on */
	}
	return 0;
}

void pp_xdevice_add(struct pp_xread *x, struct pp_xplane *p)
{
	struct pp_wire w = {p->all.data, p->all.data + p->all.size};
	struct pp_device d = {.number = p->device, .own = p->device};
	unsigned major = 0, minor = 0;
	char vendor[24] = "";
	struct pp_field f;

	snprintf(d.kind, sizeof(d.kind), "%.*s", (int)sizeof(d.kind) - 1, p->device_kind);
	x->rank.device_replay |= strstr(p->name, " (replay)") != NULL; /* as podprof names a device that a stand-in gave */
	while (pp_wire_next(&w, &f) == PP_WIRE_FIELD) {
		enum pp_xs_kind kind = PP_XS_NONE;
		struct pp_xvalue v;

		if (pp_field_is(&f, 6, PP_WIRE_BYTES))
			kind = pp_xvalue_read(x, p, &f, &v);
		if (kind == PP_XS_DEVICE_NAME)
			copy_text(d.name, sizeof(d.name), &v);
		else if (kind == PP_XS_DEVICE_VENDOR)
			copy_text(vendor, sizeof(vendor), &v);
		else if (kind == PP_XS_COMPUTE_MAJOR)
			major = (unsigned)(v.number & 0xff);
		else if (kind == PP_XS_COMPUTE_MINOR)
			minor = (unsigned)(v.number & 0xff);
		else if (kind == PP_XS_MEMORY_SIZE)
			d.memory = v.number;
		else if (kind == PP_XS_OWN_NUMBER && v.number < UINT32_MAX)
			d.own = (uint32_t)v.number;
	}
	if (!d.name[0] && major)
		snprintf(d.name, sizeof(d.name), "%s%scompute capability %u.%u", vendor, vendor[0] ? " " : "", major, minor);
	if (is_known(x, p, &d))
		return;
	if (PP_GROW(x->rank.device, x->rank.devices, x->devices_room)) {
		x->no_memory = 1;
		return;
	}
	x->rank.device[x->rank.devices++] = d;
}
