/* Any bytes as the inside of a host's share, with a head that is right: an error with a sentence, or what a leader makes of all
 * shares; see fuzz.h. */
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

#include "aggregate/analyze/finish.h"
#include "aggregate/dataset/merge.h"
#include "aggregate/tools/tools.h"
#include "aggregate/write/text/text.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/aggregate/dataset/block_kit.h"

enum { HEAD = 40, UNPACKED = 16, PACKED = 24, CHECKSUM = 32 };

/* Stored, not deflated: what the reader inflates is what libFuzzer made. */
static uint8_t *pack(const struct pp_dataset *good, const uint8_t *inner, size_t size, size_t *ret_size)
{
	uLongf packed = compressBound(size) + 64;
	uint64_t unpacked = size, length;
	uint8_t *bytes = malloc(HEAD + packed);
	void *head = NULL;
	uint32_t checksum;

	if (!bytes || pp_block_write(good, &head, ret_size, NULL) || compress2(bytes + HEAD, &packed, inner, size, 0) != Z_OK)
		abort();
	memcpy(bytes, head, HEAD);
	free(head);
	length = packed;
	checksum = (uint32_t)crc32_z(0, bytes + HEAD, packed);
	memcpy(bytes + UNPACKED, &unpacked, sizeof(unpacked));
	memcpy(bytes + PACKED, &length, sizeof(length));
	memcpy(bytes + CHECKSUM, &checksum, sizeof(checksum));
	*ret_size = HEAD + packed;
	return bytes;
}

static void use(const struct pp_dataset *good, struct pp_dataset *share)
{
	const struct pp_dataset *part[2] = {good, share};
	struct pp_dataset all;
	FILE *nowhere;

	if (pp_dataset_merge(part, 2, &all, NULL))
		return;
	if (!pp_dataset_finish(&all, NULL) && !pp_tools_run(&all, NULL) && (nowhere = fopen("/dev/null", "w"))) {
		pp_text_write(&all, NULL, nowhere);
		fclose(nowhere);
	}
	pp_dataset_release(&all);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct pp_intern *names = pp_intern_new();
	struct pp_dataset good, back;
	struct pp_err err = {""};
	uint8_t *block;
	size_t n;

	kit_seed = 0x2545f4914f6cdd1dULL; /* the same other host each time */
	good = kit_dataset(names, 2, 3, 3);
	block = pack(&good, bytes, size, &n);
	if (!pp_block_read(block, n, names, &back, &err)) {
		use(&good, &back);
		pp_dataset_release(&back);
	} else {
		CHECK(err.text[0] && !strchr(err.text, '\n'));
	}
	free(block);
	pp_dataset_release(&good);
	pp_intern_free(names);
	if (test_failures)
		abort();
	return 0;
}
