/* Writes a pp_dataset to bytes and reads it back; see block.h. Called by the keeper. Fields: block_fields.c. */
#include "aggregate/dataset/block.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "aggregate/dataset/block_fields.h"
#include "aggregate/dataset/block_io.h"
#include "aggregate/dataset/describe_job.h"

static const char magic[8] = "ppblock";

struct head {
	char magic[8];
	uint32_t version, byte_order;
	uint64_t unpacked, packed; /* bytes of what follows */
	uint32_t checksum;         /* of it, packed */
	uint32_t tables;           /* pp_table_schema() */
};

enum { BYTE_ORDER_MARK = 0x01020304, DEFLATE_MOST = 1032, DEFLATE_LEVEL = 3 /* 6: half a percent less in twice the time */ };

/* Of this build: made once, as a pod has thousands of shares. */
static uint32_t schema(void)
{
	static uint32_t made;

	if (!made)
		made = pp_table_schema(pp_table_desc, PP_TABLES) ^ pp_table_schema(pp_job_desc, 1);
	return made;
}

int pp_block_write(const struct pp_dataset *d, void **ret_bytes, size_t *ret_size, struct pp_err *err)
{
	/* Reading and writing share the same lines; writing does not change the dataset. */
	struct pp_dataset view = *d;
	struct pp_block_io io = {.names = d->names};
	struct head head = {.version = PP_BLOCK_VERSION, .byte_order = BYTE_ORDER_MARK, .tables = schema()};
	uLongf packed;
	uint8_t *bytes = NULL;
	int rc;

	pp_block_fields(&io, &view);
	packed = compressBound(io.at);
	if (!io.fault)
		bytes = malloc(sizeof(head) + packed);
	if (!bytes || compress2(bytes + sizeof(head), &packed, io.bytes, io.at, DEFLATE_LEVEL) != Z_OK) {
		if (io.fault == -EBADMSG)
			rc = pp_err_set(err, -EINVAL, "cannot send this host's share: %s is out of its range", io.what);
		else
			rc = pp_err_set(err, -ENOMEM, "cannot send this host's share: no memory");
		free(bytes);
		free(io.bytes);
		return rc;
	}
	memcpy(head.magic, magic, sizeof(magic));
	head.unpacked = io.at;
	head.packed = packed;
	head.checksum = (uint32_t)crc32_z(0, bytes + sizeof(head), packed);
	memcpy(bytes, &head, sizeof(head));
	free(io.bytes);
	*ret_bytes = bytes;
	*ret_size = sizeof(head) + packed;
	return 0;
}

/* As uncompress(), but for its checksum: that of all packed bytes has been compared. 0 or -EBADMSG. */
/* NOLINTNEXTLINE(readability-non-const-parameter): zlib writes there */
static int inflate_all(uint8_t *out, size_t size, const uint8_t *body, size_t packed)
{
	z_stream z = {.next_in = (uint8_t *)body, .next_out = out};
	int code = inflateInit(&z);

	if (code != Z_OK)
		return -EBADMSG;
	inflateValidate(&z, 0);
	do {
		const size_t in = packed - (size_t)(z.next_in - body), room = size - (size_t)(z.next_out - out);

		z.avail_in = (uInt)(in < INT_MAX ? in : INT_MAX);
		z.avail_out = (uInt)(room < INT_MAX ? room : INT_MAX);
		code = inflate(&z, Z_NO_FLUSH);
	} while (code == Z_OK);
	inflateEnd(&z);
	return code == Z_STREAM_END && z.next_out == out + size ? 0 : -EBADMSG;
}

static int unpack(const void *bytes, size_t size, uint8_t **ret_bytes, size_t *ret_size, struct pp_err *err)
{
	const uint8_t *body = (const uint8_t *)bytes + sizeof(struct head);
	struct head head;
	uint8_t *out;

	if (size < sizeof(head) || memcmp(bytes, magic, sizeof(magic)) != 0)
		return pp_err_set(err, -EBADMSG, "%zu bytes are no host's share", size);
	memcpy(&head, bytes, sizeof(head));
	if (head.byte_order != BYTE_ORDER_MARK)
		return pp_err_set(err, -ENOTSUP, "a host's share is refused: its byte order is another");
	if (head.version != PP_BLOCK_VERSION)
		return pp_err_set(err, -ENOTSUP, "a host's share is refused: version %u, not %d", (unsigned)head.version,
		                  PP_BLOCK_VERSION);
	if (head.tables != schema())
		return pp_err_set(err, -ENOTSUP, "a host's share is refused: its tables are of another version");
	if (head.packed != size - sizeof(head) || head.checksum != (uint32_t)crc32_z(0, body, size - sizeof(head)))
		return pp_err_set(err, -EBADMSG, "a host's share of %zu bytes is refused: it is cut or changed", size);
	if (head.unpacked / DEFLATE_MOST > head.packed || head.unpacked >= PP_BLOCK_MEMORY(head.packed))
		return pp_err_set(err, -EBADMSG, "a host's share is refused: its size does not fit its contents");
	out = malloc(head.unpacked + 1);
	if (!out)
		return pp_err_set(err, -ENOMEM, "a host's share is lost: no memory");
	if (inflate_all(out, head.unpacked, body, head.packed)) {
		free(out);
		return pp_err_set(err, -EBADMSG, "a host's share is refused: it cannot be unpacked");
	}
	*ret_bytes = out;
	*ret_size = head.unpacked;
	return 0;
}

int pp_block_read(const void *bytes, size_t size, struct pp_intern *names, struct pp_dataset *ret_dataset, struct pp_err *err)
{
	struct pp_block_io io = {.reads = 1, .interned = names, .budget = PP_BLOCK_MEMORY(size)};
	struct pp_dataset d = {.names = names};
	int rc = unpack(bytes, size, &io.bytes, &io.size, err);

	if (rc < 0)
		return rc;
	io.budget -= io.size;
	pp_block_fields(&io, &d);
	if (!io.fault && io.at != io.size)
		pp_block_fault(&io, -EBADMSG, "what comes after its end");
	free(io.bytes);
	if (!io.fault) {
		*ret_dataset = d;
		return 0;
	}
	pp_dataset_release(&d);
	if (io.fault == -ENOMEM)
		return pp_err_set(err, -ENOMEM, "a host's share is lost: no memory");
	return pp_err_set(err, -EBADMSG, "a host's share is refused: %s is wrong", io.what);
}
