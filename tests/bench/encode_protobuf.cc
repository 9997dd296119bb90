/* protobuf C++ as the peer of the encoder and as a second reader of its bytes; see encode.h. The only C++ of the tree, tests only. */
#include "tests/bench/encode.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include <google/protobuf/arena.h>
#include <google/protobuf/stubs/common.h>

#include "xplane.pb.h"

namespace x = podprof::xplane;

namespace
{

void fill_line(x::XLine *line, const encode_source *e, size_t events, uint32_t stats)
{
	line->mutable_events()->Reserve(static_cast<int>(events));
	for (size_t i = 0; i < events; i++) {
		x::XEvent *event = line->add_events();

		event->set_metadata_id(e[i].metadata);
		event->set_offset_ps(e[i].offset_ps);
		event->set_duration_ps(e[i].duration_ps);
		if (stats)
			event->mutable_stats()->Reserve(static_cast<int>(stats));
		for (uint32_t s = 0; s < stats; s++) {
			x::XStat *stat = event->add_stats();

			stat->set_metadata_id(2 + s);
			if (s == 1)
				stat->set_ref_value(e[i].value[s]);
			else
				stat->set_int64_value(static_cast<int64_t>(e[i].value[s]));
		}
	}
}

size_t serialise(const x::XLine &line, uint8_t *to, size_t room)
{
	size_t bytes = line.ByteSizeLong();

	if (bytes > room || !line.SerializeToArray(to, static_cast<int>(bytes)))
		return 0;
	return bytes;
}

x::XLine *reused_line()
{
	static x::XLine *line = new x::XLine;

	return line;
}

/* The first block is given to the arena and survives Reset(): from the second batch on nothing is allocated. */
google::protobuf::Arena *reused_arena()
{
	static std::vector<char> block(size_t{16} << 20);
	static google::protobuf::Arena *arena = [] {
		google::protobuf::ArenaOptions options;

		options.initial_block = block.data();
		options.initial_block_size = block.size();
		return new google::protobuf::Arena(options);
	}();

	return arena;
}

void set_value(x::XStat *to, const encode_event::encode_stat &from)
{
	double d;

	to->set_metadata_id(from.id);
	switch (from.kind) {
	case ENCODE_DOUBLE:
		memcpy(&d, &from.bits, sizeof(d));
		to->set_double_value(d);
		break;
	case ENCODE_UINT:
		to->set_uint64_value(from.bits);
		break;
	case ENCODE_INT:
		to->set_int64_value(static_cast<int64_t>(from.bits));
		break;
	case ENCODE_REF:
		to->set_ref_value(from.bits);
		break;
	}
}

void set_event(x::XEvent *to, const encode_event &from)
{
	to->set_metadata_id(from.metadata);
	to->set_offset_ps(from.offset_ps);
	to->set_duration_ps(from.duration_ps);
	for (uint32_t s = 0; s < from.stats; s++)
		set_value(to->add_stats(), from.stat[s]);
}

encode_event::encode_stat get_value(const x::XStat &from)
{
	encode_event::encode_stat to = {from.metadata_id(), 0, 0};
	double d = from.double_value();

	switch (from.value_case()) {
	case x::XStat::kDoubleValue:
		to.kind = ENCODE_DOUBLE;
		memcpy(&to.bits, &d, sizeof(d));
		break;
	case x::XStat::kUint64Value:
		to.kind = ENCODE_UINT;
		to.bits = from.uint64_value();
		break;
	case x::XStat::kInt64Value:
		to.kind = ENCODE_INT;
		to.bits = static_cast<uint64_t>(from.int64_value());
		break;
	case x::XStat::kRefValue:
		to.kind = ENCODE_REF;
		to.bits = from.ref_value();
		break;
	default:
		break;
	}
	return to;
}

encode_event get_event(const x::XEvent &from)
{
	encode_event to = {from.metadata_id(), from.offset_ps(), from.duration_ps(), static_cast<uint32_t>(from.stats_size()), {}};

	for (int s = 0; s < from.stats_size() && s < ENCODE_STATS; s++)
		to.stat[s] = get_value(from.stats(s));
	return to;
}

/* Maps in order of their keys, so that the text is one. */
template <class Map> void add_names(std::string *text, const Map &map)
{
	std::vector<int64_t> keys;

	for (const auto &entry : map)
		keys.push_back(entry.first);
	std::sort(keys.begin(), keys.end());
	for (int64_t key : keys)
		*text += std::to_string(key) + "=" + std::to_string(map.at(key).id()) + " " + map.at(key).name() + "\n";
}

std::string all_names(const x::XSpace &space)
{
	std::string text;

	for (const std::string &host : space.hostnames())
		text += "host " + host + "\n";
	for (const x::XPlane &plane : space.planes()) {
		text += "plane " + std::to_string(plane.id()) + " " + plane.name() + "\n";
		for (const x::XLine &line : plane.lines())
			text += "line " + std::to_string(line.id()) + " " + line.name() + "\n";
		add_names(&text, plane.event_metadata());
		add_names(&text, plane.stat_metadata());
	}
	return text;
}

} // namespace

size_t encode_protobuf(enum encode_way way, const struct encode_source *e, size_t events, uint32_t stats, uint8_t *to, size_t room)
{
	size_t bytes;

	if (way == ENCODE_FRESH) {
		x::XLine line;

		fill_line(&line, e, events, stats);
		return serialise(line, to, room);
	}
	if (way == ENCODE_ARENA) {
		google::protobuf::Arena *arena = reused_arena();
		x::XLine *line = google::protobuf::Arena::CreateMessage<x::XLine>(arena);

		fill_line(line, e, events, stats);
		bytes = serialise(*line, to, room);
		arena->Reset();
		return bytes;
	}
	reused_line()->Clear();
	fill_line(reused_line(), e, events, stats);
	return serialise(*reused_line(), to, room);
}

size_t encode_protobuf_again(uint8_t *to, size_t room)
{
	return serialise(*reused_line(), to, room);
}

const char *encode_protobuf_version(void)
{
	static const std::string version = google::protobuf::internal::VersionString(GOOGLE_PROTOBUF_VERSION);

	return version.c_str();
}

long encode_protobuf_read(const uint8_t *bytes, size_t size, int plane, int line, struct encode_event *ret, size_t room, char *text,
                          size_t text_room)
{
	x::XSpace space;
	std::string names;

	if (!space.ParseFromArray(bytes, static_cast<int>(size)) || plane >= space.planes_size() ||
	    line >= space.planes(plane).lines_size())
		return -1;
	const x::XLine &l = space.planes(plane).lines(line);

	for (int i = 0; i < l.events_size() && static_cast<size_t>(i) < room; i++)
		ret[i] = get_event(l.events(i));
	names = all_names(space);
	if (names.size() + 1 > text_room)
		return -1;
	memcpy(text, names.c_str(), names.size() + 1);
	return l.events_size();
}

size_t encode_protobuf_space(const struct encode_event *e, size_t events, uint8_t *to, size_t room)
{
	x::XSpace space;
	x::XPlane *plane = space.add_planes();
	x::XLine *line = plane->add_lines();

	for (size_t i = 0; i < events; i++)
		set_event(line->add_events(), e[i]);
	size_t bytes = space.ByteSizeLong();

	return bytes <= room && space.SerializeToArray(to, static_cast<int>(bytes)) ? bytes : 0;
}

size_t encode_protobuf_event(const struct encode_event *e, uint8_t *to, size_t room)
{
	x::XEvent event;

	set_event(&event, *e);
	size_t bytes = event.ByteSizeLong();

	return bytes <= room && event.SerializeToArray(to, static_cast<int>(bytes)) ? bytes : 0;
}
