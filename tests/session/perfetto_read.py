#!/usr/bin/python3
"""Reads a Perfetto trace strictly, with the classes of the `perfetto` package: no unknown fields, slices that nest, flows with two ends,
names that resolve, times that map to dates. Prints its counts as JSON; exits 1 with the first fault.
Usage: perfetto_read.py TRACE [--made EXPORT_MADE]: with --made, the program writes TRACE first and its counts must be found."""
import argparse
import json
import subprocess
import sys

JOB, DATE, BOOT = 64, 1, 6


class Fault(Exception):
    """The trace breaks a rule of its format."""


def check(condition, text):
    if not condition:
        raise Fault(text)


def no_unknown(message, unknown_fields, path='Trace'):
    """Every field at every depth has a name in the public format."""
    unknown = unknown_fields(message)
    check(len(unknown) == 0, f'{path}: field {[field.field_number for field in unknown]} is unknown')
    for field, value in message.ListFields():
        if field.message_type:
            for part in value if field.is_repeated else [value]:
                no_unknown(part, unknown_fields, f'{path}.{field.name}')


class Trace:
    """What the packets say, each checked against those before it."""

    def __init__(self, trace):
        self.process, self.track, self.counter = {}, {}, {}
        self.names = {'event_categories': {}, 'event_names': {}, 'debug_annotation_names': {}, 'debug_annotation_string_values': {}}
        self.clock, self.default, self.primary = {}, None, None
        self.events = []  # (time, place in file, event)
        self.attributes = {}
        self.is_cleared = False
        for number, packet in enumerate(trace.packet):
            self.take(number, packet)
        self.slices = []  # (track, begin, end, name, category, annotations, flows that begin, flows that end)
        self.values = []
        self.nest()

    def take(self, number, packet):
        check(packet.trusted_packet_sequence_id == 1, f'packet {number} has no sequence')
        if packet.sequence_flags & 1:
            self.is_cleared = True
        check(self.is_cleared, f'packet {number} comes before the state is cleared')
        if packet.HasField('trace_packet_defaults'):
            self.default = packet.trace_packet_defaults.timestamp_clock_id
        if packet.HasField('clock_snapshot'):
            check(not self.events, 'the clocks come after events')
            self.clock = {clock.clock_id: clock.timestamp for clock in packet.clock_snapshot.clocks}
            self.primary = packet.clock_snapshot.primary_trace_clock
        for attribute in packet.trace_attributes.attribute:
            self.attributes[attribute.key] = attribute.string_value or attribute.long_value
        for kind, names in self.names.items():
            for name in getattr(packet.interned_data, kind):
                check(name.iid and name.iid not in names, f'{kind} {name.iid} twice')
                names[name.iid] = name.str.decode() if kind == 'debug_annotation_string_values' else name.name
        if packet.HasField('track_descriptor'):
            self.describe(packet.track_descriptor)
        if packet.HasField('track_event'):
            check(packet.sequence_flags & 2, f'packet {number} does not say that it needs names')
            check(packet.track_event.track_uuid in self.track, f'packet {number} is of no track')
            self.events.append((packet.timestamp, number, packet.track_event))

    def describe(self, track):
        check(track.uuid and track.uuid not in self.process and track.uuid not in self.track, f'track {track.uuid} twice')
        if track.HasField('process'):
            check(track.process.pid not in [other.process.pid for other in self.process.values()], f'pid {track.process.pid} twice')
            self.process[track.uuid] = track
        else:
            check(track.parent_uuid in self.process, f'track {track.name} has no process')
            self.track[track.uuid] = track

    def note(self, note):
        check(note.name_iid in self.names['debug_annotation_names'], f'annotation {note.name_iid} has no name')
        kind = note.WhichOneof('value')
        check(kind in ('bool_value', 'int_value', 'pointer_value', 'string_value_iid'), f'an annotation is a {kind}')
        value = getattr(note, kind)
        if kind == 'string_value_iid':
            check(value in self.names['debug_annotation_string_values'], f'text {value} is missing')
            value = self.names['debug_annotation_string_values'][value]
        return self.names['debug_annotation_names'][note.name_iid], value

    def begin(self, time, event):
        check(not event.name_iid or event.name_iid in self.names['event_names'], f'name {event.name_iid} is missing')
        for category in event.category_iids:
            check(category in self.names['event_categories'], f'category {category} is missing')
        notes = [self.note(note) for note in event.debug_annotations]
        check(len(dict(notes)) == len(notes), 'an annotation is there twice')
        return [event.track_uuid, time, time, self.names['event_names'].get(event.name_iid, ''),
                [self.names['event_categories'][category] for category in event.category_iids], dict(notes), list(event.flow_ids),
                list(event.terminating_flow_ids)]

    def nest(self):
        """In the order of times, and of the file where those are equal, as readers sort them."""
        is_open = {uuid: [] for uuid in self.track}
        self.events.sort(key=lambda row: row[:2])
        for time, _number, event in self.events:
            stack = is_open[event.track_uuid]
            if event.type == event.TYPE_SLICE_END:
                check(stack, f'an end without a begin at {time}')
                stack.pop()[2] = time
            elif event.type == event.TYPE_COUNTER:
                check(self.track[event.track_uuid].HasField('counter'), 'a value on a track that is no counter')
                self.values.append((event.track_uuid, time, event.double_counter_value))
            else:
                check(event.type in (event.TYPE_SLICE_BEGIN, event.TYPE_INSTANT), f'an event of type {event.type}')
                self.slices.append(self.begin(time, event))
                if event.type == event.TYPE_SLICE_BEGIN:
                    stack.append(self.slices[-1])
        for uuid, stack in is_open.items():
            check(not stack, f'{len(stack)} slices of {self.track[uuid].name} have no end')

    def flows(self):
        """Each goes from an earlier slice to a later one."""
        begun, ended = {}, set()
        for place, row in enumerate(self.slices):
            for flow in row[7]:
                check(flow in begun and flow not in ended, f'flow {flow} ends before it begins, or twice')
                check(begun[flow] != place, f'flow {flow} goes nowhere')
                ended.add(flow)
            for flow in row[6]:
                check(flow not in begun, f'flow {flow} begins twice')
                begun[flow] = place
        check(set(begun) == ended, f'{len(set(begun) - ended)} flows have no end')
        return len(ended)

    def date(self, time):
        """ns after 1970 of a packet's time; None where the trace has no dates."""
        if self.default == BOOT:
            check(not self.clock, 'a clock that no packet uses')
            return None
        check(self.default == JOB and self.primary == DATE and set(self.clock) == {JOB, DATE}, 'the job clock has no date')
        return time - self.clock[JOB] + self.clock[DATE]


def read(path):
    try:
        from google.protobuf.unknown_fields import UnknownFieldSet
        from perfetto.protos.perfetto.trace import perfetto_trace_pb2
    except ImportError:
        print('skipped: no perfetto package')
        sys.exit(77)
    trace = perfetto_trace_pb2.Trace()
    with open(path, 'rb') as file:
        trace.ParseFromString(file.read())
    no_unknown(trace, UnknownFieldSet)
    return Trace(trace)


def check_made(trace, want):
    """The timeline of tests/bench/timeline_make.c: rank 2 is late, the others wait for it."""
    got = {'slices': len(trace.slices), 'flows': trace.flows(), 'samples': len(trace.values), 'ranks': len(trace.process)}
    check(got == want, f'{got} in the trace, {want} in the timeline')
    check(trace.date(trace.slices[0][1]) == 1700000000000000000 + 1000000, 'the first event has another date')
    calls = [row for row in trace.slices if row[3] == 'MPI_Allreduce']
    check(calls and all(row[4] == ['Host communication'] for row in calls), 'calls without their category')
    for row in calls:
        note, pid = row[5], trace.process[trace.track[row[0]].parent_uuid].process.pid
        is_late = pid == 1000002
        check(note['communicator'] == 'MPI_COMM_WORLD' and note['communicator id'] == 0x5eed, f'communicator of {note}')
        check(is_late == ('waited for rank' not in note), f'who waits: {note}')
        check(is_late or (note['waited for rank'] == 2 and 1000000 < note['waited ns'] <= row[2] - row[1]), f'wait of {note}')
        check(note['self time ns'] == row[2] - row[1] and note['clock error ns'] == 41, f'times of {note}')
    names = [process.process.process_name for process in trace.process.values()]
    check(names[:2] == ['rank 0 (node000)', 'rank 1 (node000)'], f'processes {names}')
    for uuid in trace.process:
        first = min((t for t in trace.track.values() if t.parent_uuid == uuid), key=lambda t: t.sibling_order_rank)
        check(first.name == 'steps', f'the first track is {first.name}')


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('trace')
    parser.add_argument('--made')
    arguments = parser.parse_args()
    want = None
    if arguments.made:
        want = json.loads(subprocess.run([arguments.made, 'perfetto', arguments.trace], check=True, capture_output=True).stdout)
    try:
        trace = read(arguments.trace)
        if want:
            check_made(trace, want)
        first = trace.date(min(row[1] for row in trace.slices)) if trace.slices else None
        print(json.dumps({'slices': len(trace.slices), 'flows': trace.flows(), 'samples': len(trace.values), 'ranks': len(trace.process),
                          'first_date_ns': first, 'attributes': trace.attributes}))
    except Fault as fault:
        print(f'{arguments.trace}: {fault}', file=sys.stderr)
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
