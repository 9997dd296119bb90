/* still.c and png.c: the strip's bars by kind of step, and a picture that decodes to the colours of its values. */
#include "aggregate/report/data/still.h"

#include <zlib.h>

#include "tests/unit/aggregate/report/data/first_kit.h"

enum { PIXELS = 1 << 16, MIDDLE = 1 + PP_STILL_SHADES, MOST = 1 + 2 * PP_STILL_SHADES };

static int64_t rank_3(size_t rank, size_t step)
{
	return rank == 3 ? step == 7 ? 40 * MS : 5 * MS : 0;
}

static int64_t all_every_10(size_t rank, size_t step)
{
	(void)rank;
	return step % 10 == 4 ? 400 * MS : 0;
}

static char *strip_of(const struct screen *s)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	CHECK_INT(pp_still_strip(&s->d, &s->first, f), 0);
	fclose(f);
	return text;
}

static size_t count(const char *text, const char *what)
{
	size_t n = 0;

	for (; (text = strstr(text, what)); text++)
		n++;
	return n;
}

TEST(strip)
{
	struct screen *s = screen_of(4, 4, 50, PP_CATEGORY_OUTPUT, all_every_10);
	char *text = strip_of(s);

	CHECK(strstr(text, "viewBox=\"0 0 50 100\"") != NULL);
	CHECK(strstr(text, "Time of 50 steps, of the slowest rank: 45 usual, 5 periodic (every 10 steps).") != NULL);
	CHECK_INT(count(text, "M"), 50);
	CHECK_INT(count(text, "<path class=\"u\""), 1);
	CHECK_INT(count(strstr(text, "<path class=\"p\""), "M"), 5);
	CHECK_INT(count(strstr(text, "<path class=\"p\""), "V0.0h"), 5); /* cut at the end of the axis */
	free(text);
	screen_free(s);
}

/* Of more steps than bars a bar has the rarest kind. */
TEST(many_steps)
{
	enum { STEPS = 3 * PP_STILL_BARS };
	struct screen *s = screen_of(2, 2, STEPS, PP_CATEGORY_OUTPUT, NULL);
	char *text;

	s->first.regimes.letter[100] = PP_REGIME_ODD;
	text = strip_of(s);
	CHECK_INT(count(text, "M"), PP_STILL_BARS);
	CHECK(strstr(text, "<path class=\"o\" d=\"M33.1 100V") != NULL);
	CHECK_INT(count(strstr(text, "<path class=\"o\""), "M"), 1);
	free(text);
	screen_free(s);
}

TEST(no_steps)
{
	struct screen *s = screen_of(2, 2, 1, PP_CATEGORY_OUTPUT, NULL);
	struct pp_dataset none = {.steps = 0};
	struct pp_still_heat heat;
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	CHECK_INT(pp_still_strip(&none, &s->first, f), 0);
	fclose(f);
	CHECK_STR(text, "");
	free(text);
	CHECK_INT(pp_still_heat_of(&s->d, &s->first, &heat), 1);
	CHECK_INT(pp_still_heat_of(&none, &s->first, &heat), 1);
	screen_free(s);
}

/* Late by 5 ms is the scale; by 40 ms it is cut; the others are pale, below 5 % of the step. */
TEST(heat)
{
	struct screen *s = screen_of(8, 4, 20, PP_CATEGORY_INPUT, rank_3);
	struct pp_still_heat heat;

	CHECK_INT(pp_still_heat_of(&s->d, &s->first, &heat), 0);
	CHECK_STR(heat.what, "Input, over the median of the ranks of the step");
	CHECK_INT(heat.png.width, 20);
	CHECK_INT(heat.png.height, 8);
	CHECK_INT(heat.scale_ns, 5 * MS);
	CHECK_INT(heat.png.pixel[3 * 20 + 7], MOST);
	CHECK_INT(heat.png.pixel[3 * 20 + 9], MOST);
	CHECK_INT(heat.png.pixel[2 * 20 + 9], MIDDLE);
	CHECK(heat.colour[MOST][3] == 255 && heat.colour[MIDDLE][3] == 20 && heat.colour[0][3] == 0);
	CHECK(heat.colour[MOST][0] > heat.colour[MOST][2] && heat.colour[1][0] < heat.colour[1][2]);
	pp_still_heat_release(&heat);
	s->d.cell[9 * 8 + 2].present = 0;
	CHECK_INT(pp_still_heat_of(&s->d, &s->first, &heat), 0);
	CHECK_INT(heat.png.pixel[2 * 20 + 9], 0);
	pp_still_heat_release(&heat);
	s->first.findings = 0; /* as of a session of an older podprof */
	CHECK_INT(pp_still_heat_of(&s->d, &s->first, &heat), 0);
	CHECK_STR(heat.what, "Step time");
	pp_still_heat_release(&heat);
	screen_free(s);
}

static int64_t rank_0_every_10(size_t rank, size_t step)
{
	return rank == 0 && step % 10 == 4 ? 400 * MS : 0;
}

/* The scale of a finding about exceptional steps is theirs. */
TEST(exceptional)
{
	struct screen *s = screen_of(4, 4, 50, PP_CATEGORY_OUTPUT, rank_0_every_10);
	struct pp_still_heat heat;

	CHECK_INT(s->first.finding[0]->kind, PP_FINDING_PERIODIC);
	CHECK_INT(pp_still_heat_of(&s->d, &s->first, &heat), 0);
	CHECK_INT(heat.scale_ns, 400 * MS);
	CHECK_INT(heat.png.pixel[4], MOST);
	CHECK_INT(heat.png.pixel[5], MIDDLE);
	pp_still_heat_release(&heat);
	screen_free(s);
}

/* A pixel of several ranks and steps has the extreme one of them. */
TEST(large)
{
	struct screen *s = screen_of(200, 8, 20, PP_CATEGORY_INPUT, rank_3);
	struct pp_still_heat heat;

	CHECK_INT(pp_still_heat_of(&s->d, &s->first, &heat), 0);
	CHECK_INT(heat.png.height, PP_STILL_ROWS);
	CHECK_INT(heat.workers, 4);
	CHECK_INT(heat.steps, 1);
	CHECK_INT(heat.png.pixel[9], MOST);
	CHECK_INT(heat.png.pixel[1 * 20 + 9], MIDDLE);
	pp_still_heat_release(&heat);
	screen_free(s);
}

static size_t from_base64(unsigned char *to, const char *text)
{
	static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint32_t bits = 0;
	size_t n = 0;

	for (size_t i = 0; text[i] && text[i] != '='; i++) {
		bits = bits << 6 | (uint32_t)(strchr(digit, text[i]) - digit);
		if (i % 4)
			to[n++] = (unsigned char)(bits >> (6 - 2 * (i % 4)));
	}
	return n;
}

static uint32_t word_at(const unsigned char *b)
{
	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

/* Every chunk has its check sum; the pixels inflate to what they were. */
static void check_png(const struct pp_png *png, const unsigned char *b, size_t size)
{
	unsigned char raw[PIXELS];
	uLongf length = sizeof(raw);
	size_t at = 8, chunks = 0;

	CHECK(size > 8 && !memcmp(b, "\x89PNG\r\n\x1a\n", 8));
	while (at + 12 <= size) {
		const uint32_t n = word_at(b + at);
		const unsigned char *data = b + at + 8;

		CHECK_INT(word_at(data + n), crc32(0, b + at + 4, n + 4));
		if (!memcmp(b + at + 4, "IHDR", 4)) {
			CHECK_INT(word_at(data), png->width);
			CHECK_INT(word_at(data + 4), png->height);
		} else if (!memcmp(b + at + 4, "PLTE", 4)) {
			CHECK_INT(n, 3 * png->colours);
			CHECK(!memcmp(data + 3, png->colour[1], 3));
		} else if (!memcmp(b + at + 4, "tRNS", 4)) {
			CHECK_INT(data[1], png->colour[1][3]);
		} else if (!memcmp(b + at + 4, "IDAT", 4)) {
			CHECK_INT(uncompress(raw, &length, data, n), Z_OK);
		}
		at += n + 12;
		chunks++;
	}
	CHECK_INT(at, size);
	CHECK_INT(chunks, 5);
	CHECK_INT(length, (png->width + (size_t)1) * png->height);
	for (size_t y = 0; y < png->height && length < sizeof(raw); y++) {
		CHECK_INT(raw[y * (png->width + 1)], 0);
		CHECK(!memcmp(raw + y * (png->width + 1) + 1, png->pixel + y * png->width, png->width));
	}
}

TEST(png)
{
	static const uint8_t colour[][4] = {{0, 0, 0, 0}, {1, 2, 3, 4}, {250, 251, 252, 253}};
	uint8_t pixel[31 * 7];
	const struct pp_png png = {.width = 31, .height = 7, .pixel = pixel, .colour = colour, .colours = 3};
	static unsigned char bytes[PIXELS];
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	for (size_t i = 0; i < sizeof(pixel); i++)
		pixel[i] = (uint8_t)(i * i % 3);
	CHECK_INT(pp_png_put(&png, f), 0);
	fclose(f);
	CHECK_INT(size % 4, 0);
	check_png(&png, bytes, from_base64(bytes, text));
	free(text);
}

int main(void)
{
	strip();
	many_steps();
	no_steps();
	heat();
	exceptional();
	large();
	png();
	return test_end();
}
