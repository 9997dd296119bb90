/* Reads mangled names of C++; see demangle_parse.h. Each part's text is made behind those before it in one room of fixed size, so a
 * name whose substitutions repeat each other ends there. */
#include "aggregate/read/demangle_parse.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "aggregate/read/demangle_room.h"

struct name { /* of a function or type */
	struct piece text;
	const char *qualifiers;    /* behind the parameters */
	struct arguments *found;   /* gets those of the last part; is_template: it has such */
	int is_template, is_plain; /* is_plain: constructor and others without a type to return */
};

/* NOLINTBEGIN(misc-no-recursion): so is the grammar, and DEPTH_MOST bounds it */
static struct piece type(struct parse *p);
static struct piece encoding(struct parse *p, int is_top);
static void name(struct parse *p, struct name *n);
static struct piece template_arguments(struct parse *p, struct arguments *to);

static const struct {
	const char code[3], *text;
} operators[] = {
        {"nw", "operator new"}, {"na", "operator new[]"}, {"dl", "operator delete"}, {"da", "operator delete[]"},
        {"ng", "operator-"},    {"ad", "operator&"},      {"de", "operator*"},       {"co", "operator~"},
        {"pl", "operator+"},    {"mi", "operator-"},      {"ml", "operator*"},       {"dv", "operator/"},
        {"rm", "operator%"},    {"an", "operator&"},      {"or", "operator|"},       {"eo", "operator^"},
        {"aS", "operator="},    {"pL", "operator+="},     {"mI", "operator-="},      {"mL", "operator*="},
        {"dV", "operator/="},   {"ls", "operator<<"},     {"rs", "operator>>"},      {"eq", "operator=="},
        {"ne", "operator!="},   {"lt", "operator<"},      {"gt", "operator>"},       {"le", "operator<="},
        {"ge", "operator>="},   {"nt", "operator!"},      {"aa", "operator&&"},      {"oo", "operator||"},
        {"pp", "operator++"},   {"mm", "operator--"},     {"pt", "operator->"},      {"cl", "operator()"},
        {"ix", "operator[]"},
};

static struct piece operator_name(struct parse *p)
{
	for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++)
		if (p->end - p->at > 1 && !memcmp(p->at, operators[i].code, 2)) {
			p->at += 2;
			return constant(p, operators[i].text);
		}
	return bad(p);
}

/* Types up to E or the end, with commas; "v" alone is none of them. */
static struct piece types(struct parse *p)
{
	struct piece one[ARGUMENTS];
	uint32_t count = 0, from;

	if (peek(p) == 'v' && (p->end - p->at == 1 || strchr("E.", p->at[1]))) {
		p->at++;
		return since(p, p->used);
	}
	while (!p->is_bad && p->at < p->end && !strchr("E.", *p->at)) {
		if (count == ARGUMENTS)
			return bad(p);
		one[count] = type(p);
		count += one[count].length != 0;
	}
	from = p->used;
	for (uint32_t i = 0; i < count; i++) {
		add_text(p, i ? ", " : "");
		add_piece(p, one[i]);
	}
	return since(p, from);
}

/* U l <types> E [number] _  or  U t [number] _ */
static struct piece unnamed(struct parse *p)
{
	int is_lambda = peek_2(p) == 'l', before = p->in_lambda;
	struct piece of = {0};
	uint32_t from, n;
	char text[32];

	if (!is_lambda && peek_2(p) != 't')
		return bad(p);
	p->at += 2;
	if (is_lambda) {
		p->in_lambda = 1;
		of = types(p);
		p->in_lambda = before;
		if (!take(p, 'E'))
			return bad(p);
	}
	n = peek(p) == '_' ? 1 : number(p) + 2;
	if (!take(p, '_'))
		return bad(p);
	from = p->used;
	snprintf(text, sizeof(text), "%s#%u}", is_lambda ? ")" : "", n);
	add_text(p, is_lambda ? "{lambda(" : "{unnamed type");
	add_piece(p, of);
	add_text(p, text);
	return since(p, from);
}

/* One part of a name, and its tags; `outer`: what it is in, for constructors. */
static struct piece part(struct parse *p, struct piece outer, struct name *n)
{
	char c = peek(p);
	struct piece x, last = outer;
	uint32_t from;

	if (c == 'L')
		p->at++;
	if (is_digit(peek(p)))
		x = source_name(p);
	else if (c == 'U')
		x = unnamed(p);
	else if ((c == 'C' || c == 'D') && is_digit(peek_2(p))) {
		for (uint32_t i = 0, depth = 0; i < outer.length; i++) { /* from behind its last :: */
			char at = p->room[outer.from + i];

			depth += (at == '<') - (uint32_t)(at == '>');
			if (at == ':' && !depth)
				last = (struct piece){.from = outer.from + i + 1, .length = outer.length - i - 1};
		}
		for (uint32_t i = 0; i < last.length; i++)
			if (p->room[last.from + i] == '<')
				last.length = i;
		p->at += 2;
		n->is_plain = 1;
		from = p->used;
		add_text(p, c == 'D' ? "~" : "");
		add_piece(p, last);
		x = since(p, from);
	} else
		x = operator_name(p);
	while (take(p, 'B')) {
		struct piece tag = source_name(p);

		from = p->used;
		add_piece(p, x);
		add_text(p, "[abi:");
		add_piece(p, tag);
		add_text(p, "]");
		x = since(p, from);
	}
	return x;
}

static struct piece substitution(struct parse *p)
{
	static const struct {
		char code;
		const char *text;
	} known[] = {{'a', "std::allocator"}, {'b', "std::basic_string"}, {'s', "std::string"},
	             {'i', "std::istream"},   {'o', "std::ostream"},      {'d', "std::iostream"}};
	uint32_t n;

	p->at++;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (take(p, known[i].code))
			return constant(p, known[i].text);
	n = sequence(p);
	return n < p->substitutions ? p->substitution[n] : bad(p);
}

static struct piece template_parameter(struct parse *p)
{
	uint32_t n, from;
	char text[24];
	const struct argument *a;

	p->at++;
	n = sequence(p);
	if (p->is_bad)
		return bad(p);
	if (p->in_lambda) {
		snprintf(text, sizeof(text), "auto:%u", n + 1);
		return constant(p, text);
	}
	if (!p->arguments || n >= p->arguments->count)
		return bad(p);
	a = &p->arguments->one[n];
	if (!a->is_pack)
		return a->text;
	p->saw_pack = 1;
	p->pack_count = a->count;
	if (p->pack_at >= 0)
		return (uint32_t)p->pack_at < a->count ? p->member[a->first + (uint32_t)p->pack_at] : bad(p);
	from = p->used;
	add_piece(p, a->text);
	return since(p, from);
}

static struct piece nested(struct parse *p, struct name *n)
{
	struct piece cur = {0};
	static const char *const qualifiers[] = {"", " const", " volatile", " const volatile"};
	int is_const = 0, is_volatile = 0;

	p->at++;
	while (!p->is_bad && strchr("rVK", peek(p)) && peek(p)) {
		is_const |= peek(p) == 'K';
		is_volatile |= peek(p) == 'V';
		p->at++;
	}
	if (peek(p) == 'R' || peek(p) == 'O')
		return bad(p);
	n->qualifiers = qualifiers[is_const + 2 * is_volatile];
	while (!p->is_bad && !take(p, 'E')) {
		char c = peek(p);
		int is_known = 0;

		n->is_template = 0;
		if (c == 'S' && peek_2(p) == 't' && !cur.length) {
			p->at += 2;
			cur = constant(p, "std");
			is_known = 1;
		} else if (c == 'S' && !cur.length) {
			cur = substitution(p);
			is_known = 1;
		} else if (c == 'T' && !cur.length)
			cur = template_parameter(p);
		else if (c == 'I' && cur.length) {
			cur = join(p, cur, last_of(p, cur) == '<' ? " " : "", template_arguments(p, n->found));
			n->is_template = 1;
		} else if (c == 'M')
			p->at++;
		else {
			struct piece x = part(p, cur, n);

			cur = cur.length ? join(p, cur, "::", x) : x;
		}
		if (!is_known && peek(p) != 'E')
			remember(p, cur);
	}
	return cur;
}

/* Z <encoding> E <name> [_ digit | __ number _] */
static struct piece local(struct parse *p, struct name *n)
{
	struct piece in;

	p->at++;
	in = encoding(p, 0);
	if (!take(p, 'E'))
		return bad(p);
	if (take(p, 's'))
		return join(p, in, "::", constant(p, "string literal"));
	if (peek(p) == 'd')
		return bad(p);
	name(p, n);
	if (take(p, '_')) {
		if (take(p, '_')) {
			number(p);
			if (!take(p, '_'))
				return bad(p);
		} else
			number(p);
	}
	return join(p, in, "::", n->text);
}

static void name(struct parse *p, struct name *n)
{
	char c = peek(p);
	int is_known = 0;

	if (++p->depth > DEPTH_MOST)
		bad(p);
	n->qualifiers = n->qualifiers ? n->qualifiers : "";
	n->is_template = 0;
	if (c == 'N')
		n->text = nested(p, n);
	else if (c == 'Z')
		n->text = local(p, n);
	else {
		if (c == 'S' && peek_2(p) == 't') {
			struct piece std;

			p->at += 2;
			std = constant(p, "std");
			n->text = join(p, std, "::", part(p, std, n));
		} else if (c == 'S') {
			n->text = substitution(p);
			is_known = 1;
		} else
			n->text = part(p, (struct piece){0}, n);
		if (peek(p) == 'I') {
			if (!is_known)
				remember(p, n->text);
			n->text = join(p, n->text, "", template_arguments(p, n->found));
			n->is_template = 1;
		}
	}
	p->depth--;
}

/* L <type> <value> E */
static struct piece literal(struct parse *p)
{
	static const char *const suffix[] = {"i", "", "j", "u", "l", "l", "m", "ul", "x", "ll", "y", "ull"};
	char code = peek_2(p);
	const char *behind = NULL, *value;
	struct piece of;
	uint32_t from;

	p->at++;
	if (take(p, '_')) { /* a name */
		of = take(p, 'Z') ? encoding(p, 0) : bad(p);
		return take(p, 'E') ? of : bad(p);
	}
	of = type(p);
	value = p->at;
	while (p->at < p->end && *p->at != 'E')
		p->at++;
	if (p->is_bad || p->at == p->end)
		return bad(p);
	if (code == 'b' && p->at - value == 1 && (*value == '0' || *value == '1')) {
		from = p->used;
		add_text(p, *value == '1' ? "true" : "false");
		p->at++;
		return since(p, from);
	}
	for (size_t i = 0; i < sizeof(suffix) / sizeof(suffix[0]); i += 2)
		if (code == *suffix[i])
			behind = suffix[i + 1];
	from = p->used;
	if (!behind) {
		add_text(p, "(");
		add_piece(p, of);
		add_text(p, ")");
	}
	if (code == 'f' || code == 'd')
		add_text(p, "[");
	if (*value == 'n') {
		add_text(p, "-");
		value++;
	}
	add(p, value, (size_t)(p->at - value));
	add_text(p, code == 'f' || code == 'd' ? "]" : behind ? behind : "");
	p->at++;
	return since(p, from);
}

/* X <expression> E, of which the forms are read that stand alone: a parameter, a literal, the address of a name. */
static struct piece expression(struct parse *p)
{
	struct piece x;

	p->at++;
	if (peek(p) == 'T')
		x = template_parameter(p);
	else if (peek(p) == 'L')
		x = literal(p);
	else if (peek(p) == 'a' && peek_2(p) == 'd') {
		p->at += 2;
		x = peek(p) == 'L' ? literal(p) : bad(p);
		x = join(p, constant(p, last_of(p, x) == ')' ? "&(" : "&"), "", x);
		if (last_of(p, x) == ')')
			x = join(p, x, "", constant(p, ")"));
	} else
		return bad(p);
	return take(p, 'E') ? x : bad(p);
}

/* keeps_members: the members of a pack are wanted later. */
static void one_argument(struct parse *p, struct argument *a, int keeps_members)
{
	*a = (struct argument){.first = p->members};
	if (take(p, 'J')) {
		struct piece member[PACK_MOST];
		uint32_t count = 0, from;

		while (!p->is_bad && !take(p, 'E')) {
			struct argument one;

			if (count == PACK_MOST) {
				bad(p);
				return;
			}
			one_argument(p, &one, 0);
			member[count++] = one.text;
		}
		if (keeps_members && count > ARGUMENTS - p->members) {
			bad(p);
			return;
		}
		a->first = p->members;
		a->count = count;
		a->is_pack = 1;
		from = p->used;
		for (uint32_t i = 0; i < count; i++) {
			add_text(p, i ? ", " : "");
			add_piece(p, member[i]);
			if (keeps_members)
				p->member[p->members++] = member[i];
		}
		a->text = since(p, from);
	} else if (peek(p) == 'L')
		a->text = literal(p);
	else if (peek(p) == 'X')
		a->text = expression(p);
	else
		a->text = type(p);
}

static struct piece template_arguments(struct parse *p, struct arguments *to)
{
	struct arguments *list = to;
	struct argument one;
	uint32_t from, count = 0;
	struct piece text[ARGUMENTS];
	int has = 0;

	p->at++;
	if (list)
		list->count = 0;
	while (!p->is_bad && !take(p, 'E')) {
		if (count == ARGUMENTS)
			return bad(p);
		one_argument(p, &one, list != NULL);
		text[count++] = one.text;
		if (list) {
			list->one[count - 1] = one;
			list->count = count;
		}
	}
	from = p->used;
	add_text(p, "<");
	for (uint32_t i = 0; i < count; i++) {
		if (!text[i].length)
			continue;
		add_text(p, has ? ", " : "");
		add_piece(p, text[i]);
		has = 1;
	}
	add_text(p, !p->is_bad && p->room[p->used - 1] == '>' ? " >" : ">");
	return since(p, from);
}

static const char *builtin(char c)
{
	static const char *const text[26] = {
	        ['v' - 'a'] = "void",        ['w' - 'a'] = "wchar_t",
	        ['b' - 'a'] = "bool",        ['c' - 'a'] = "char",
	        ['a' - 'a'] = "signed char", ['h' - 'a'] = "unsigned char",
	        ['s' - 'a'] = "short",       ['t' - 'a'] = "unsigned short",
	        ['i' - 'a'] = "int",         ['j' - 'a'] = "unsigned int",
	        ['l' - 'a'] = "long",        ['m' - 'a'] = "unsigned long",
	        ['x' - 'a'] = "long long",   ['y' - 'a'] = "unsigned long long",
	        ['n' - 'a'] = "__int128",    ['o' - 'a'] = "unsigned __int128",
	        ['f' - 'a'] = "float",       ['d' - 'a'] = "double",
	        ['e' - 'a'] = "long double", ['g' - 'a'] = "__float128",
	        ['z' - 'a'] = "...",
	};

	return c >= 'a' && c <= 'z' ? text[c - 'a'] : NULL;
}

/* The mark of a pointer or reference, where it belongs. */
static struct piece pointed(struct parse *p, struct piece to, const char *mark)
{
	uint32_t from = p->used;
	struct piece x;

	if (!to.split) {
		if (mark[0] == '&' && last_of(p, to) == '&') /* references of references are one */
			mark = "";
		add_piece(p, to);
		add_text(p, mark);
		return since(p, from);
	}
	add(p, p->room + to.from, to.split);
	add_text(p, p->room[to.from + to.split - 1] == ' ' ? "(" : "");
	add_text(p, mark);
	x = since(p, from);
	add_text(p, p->room[to.from + to.split] == ')' ? "" : ")");
	if (p->room[to.from + to.split] == '[')
		add_text(p, " ");
	add(p, p->room + to.from + to.split, to.length - to.split);
	to = since(p, from);
	to.split = x.length;
	return to;
}

static struct piece function_type(struct parse *p)
{
	struct piece to, of;
	uint32_t from;

	p->at++;
	take(p, 'Y');
	to = type(p);
	of = types(p);
	if (!take(p, 'E') || to.split)
		return bad(p);
	from = p->used;
	add_piece(p, to);
	add_text(p, " ");
	to = since(p, from);
	add_text(p, "(");
	add_piece(p, of);
	add_text(p, ")");
	of = since(p, from);
	of.split = to.length;
	return of;
}

static struct piece array_type(struct parse *p)
{
	struct piece of;
	const char *n = ++p->at;
	uint32_t from;
	size_t digits;

	while (is_digit(peek(p)))
		p->at++;
	digits = (size_t)(p->at - n);
	if (!take(p, '_'))
		return bad(p);
	of = type(p);
	if (of.split)
		return bad(p);
	from = p->used;
	add_piece(p, of);
	add_text(p, " ");
	of = since(p, from);
	add_text(p, "[");
	add(p, n, digits);
	add_text(p, "]");
	from = of.length;
	of = since(p, of.from);
	of.split = from;
	return of;
}

/* Dp <type>: the type for each member of the packs in it. */
static struct piece expansion(struct parse *p)
{
	const char *begin = p->at;
	const uint32_t before = p->substitutions;
	int pack_at = p->pack_at, saw = p->saw_pack;
	struct piece one[PACK_MOST];
	uint32_t count, from;

	p->saw_pack = 0;
	p->pack_at = -1;
	one[0] = type(p);
	count = p->saw_pack ? p->pack_count : 1;
	if (p->saw_pack && count <= PACK_MOST) {
		const char *end = p->at;
		const uint32_t after = p->substitutions;

		for (uint32_t i = 0; i < count && !p->is_bad; i++) {
			p->at = begin;
			p->substitutions = before;
			p->pack_at = (int)i;
			one[i] = type(p);
		}
		p->substitutions = after;
		p->at = p->is_bad ? p->end : end;
	} else if (p->saw_pack)
		return bad(p);
	p->pack_at = pack_at;
	p->saw_pack = saw;
	from = p->used;
	for (uint32_t i = 0; i < count; i++) {
		add_text(p, i ? ", " : "");
		add_piece(p, one[i]);
	}
	return since(p, from);
}

/* D and another letter. *ret_known: it is no substitution. */
static struct piece extended(struct parse *p, int *ret_known)
{
	static const struct {
		const char *code, *text;
	} known[] = {
	        {"Dn", "decltype(nullptr)"}, {"Di", "char32_t"}, {"Ds", "char16_t"},           {"Du", "char8_t"},    {"Da", "auto"},
	        {"Dc", "decltype(auto)"},    {"Dh", "half"},     {"DF16b", "std::bfloat16_t"}, {"DF16_", "_Float16"}};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		size_t length = strlen(known[i].code);

		if ((size_t)(p->end - p->at) >= length && !memcmp(p->at, known[i].code, length)) {
			p->at += length;
			*ret_known = 1;
			return constant(p, known[i].text);
		}
	}
	if (peek_2(p) != 'p')
		return bad(p);
	p->at += 2;
	return expansion(p);
}

/* Before a type: const and volatile behind it. */
static struct piece qualified(struct parse *p)
{
	int is_const = 0, is_volatile = 0;
	struct piece of;
	uint32_t from;

	while (peek(p) && strchr("rVK", peek(p))) {
		is_const |= peek(p) == 'K';
		is_volatile |= peek(p) == 'V';
		p->at++;
	}
	of = type(p);
	if (of.split && p->room[of.from + of.split] != '[')
		return bad(p);
	from = p->used;
	add(p, p->room + of.from, of.split ? of.split - 1 : of.length);
	if (is_const && !(of.length > 6 && !memcmp(p->room + p->used - 6, " const", 6)))
		add_text(p, " const");
	add_text(p, is_volatile ? " volatile" : "");
	if (!of.split)
		return since(p, from);
	add_text(p, " "); /* of an array's elements */
	is_const = (int)(p->used - from);
	add(p, p->room + of.from + of.split, of.length - of.split);
	of = since(p, from);
	of.split = (uint32_t)is_const;
	return of;
}

static struct piece class_type(struct parse *p, int *ret_known)
{
	struct name n = {0};
	char c = peek(p);

	if (c == 'T' || (c == 'S' && peek_2(p) != 't')) {
		struct piece x = c == 'T' ? template_parameter(p) : substitution(p);

		*ret_known = c == 'S';
		if (peek(p) != 'I')
			return x;
		if (c == 'T')
			remember(p, x);
		*ret_known = 0;
		return join(p, x, "", template_arguments(p, NULL));
	}
	if (c != 'N' && c != 'Z' && c != 'S' && !is_digit(c))
		return bad(p);
	name(p, &n);
	return n.text;
}

static struct piece type(struct parse *p)
{
	char c = peek(p);
	const char *simple = builtin(c);
	int is_known = 0;
	struct piece x;

	if (++p->depth > DEPTH_MOST || p->is_bad)
		return bad(p);
	if (simple) {
		p->at++;
		x = constant(p, simple);
		is_known = 1;
	} else if (c == 'P' || c == 'R' || c == 'O') {
		p->at++;
		x = pointed(p, type(p), c == 'P' ? "*" : c == 'R' ? "&" : "&&");
	} else if (c == 'K' || c == 'V' || c == 'r')
		x = qualified(p);
	else if (c == 'F')
		x = function_type(p);
	else if (c == 'A')
		x = array_type(p);
	else if (c == 'D')
		x = extended(p, &is_known);
	else if (c == 'u') {
		p->at++;
		x = source_name(p);
	} else
		x = class_type(p, &is_known);
	p->depth--;
	if (!is_known)
		remember(p, x);
	return x;
}

static struct piece encoding(struct parse *p, int is_top)
{
	struct arguments found, *before = p->arguments;
	struct name n = {.found = &found};
	struct piece to = {0}, of;
	int lambda_before = p->in_lambda;
	uint32_t from;

	found.count = 0;
	if (++p->depth > DEPTH_MOST)
		return bad(p);
	p->in_lambda = 0;
	name(p, &n);
	p->depth--;
	if (p->at == p->end || (peek(p) == 'E' && !is_top) || peek(p) == '.') { /* a variable */
		p->in_lambda = lambda_before;
		return n.text;
	}
	p->arguments = n.is_template ? &found : before;
	if (n.is_template && !n.is_plain)
		to = type(p);
	of = types(p);
	p->arguments = before;
	p->in_lambda = lambda_before;
	if (to.split)
		return bad(p);
	from = p->used;
	if (is_top && to.length) {
		add_piece(p, to);
		add_text(p, " ");
	}
	add_piece(p, n.text);
	add_text(p, "(");
	add_piece(p, of);
	add_text(p, ")");
	add_text(p, n.qualifiers);
	return since(p, from);
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the parts of the text are written to it */
const char *pp_demangle_parse(const char *text, size_t length, char *room, size_t *ret_length)
{
	struct parse p = {.at = text, .end = text + length, .room = room, .pack_at = -1};
	struct piece all;

	if (!take(&p, '_') || !take(&p, 'Z'))
		return NULL;
	all = encoding(&p, 1);
	if (!p.is_bad && peek(&p) == '.') { /* of a compiler's copy */
		struct piece behind = {0};
		uint32_t from = p.used;

		add_text(&p, " [clone ");
		add(&p, p.at, (size_t)(p.end - p.at));
		add_text(&p, "]");
		behind = since(&p, from);
		p.at = p.end;
		all = join(&p, all, "", behind);
	}
	if (p.is_bad || p.at != p.end || !all.length)
		return NULL;
	*ret_length = all.length;
	return room + all.from;
}
/* NOLINTEND(misc-no-recursion): of the grammar */
