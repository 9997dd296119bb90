#!/usr/bin/python3
"""Reads a Trace Event Format file with Python's JSON parser: events that nest, flows that begin and end on their slices. Prints its counts.
Usage: chrome_read.py FILE [--made EXPORT_MADE]: with --made, the program writes FILE first and its counts must be found."""
import argparse
import decimal
import gzip
import json
import subprocess
import sys


class Fault(Exception):
    """The file breaks a rule of its format."""


def check(condition, text):
    if not condition:
        raise Fault(text)


def refuse(text):
    raise Fault(f'{text} is no JSON')


def read(path):
    with (gzip.open if path.endswith('.gz') else open)(path, 'rt', encoding='utf-8') as file:
        return json.load(file, parse_float=decimal.Decimal, parse_constant=refuse)


def ns(value):
    whole = value * 1000
    check(whole == int(whole), f'{value} us is no whole ns')
    return int(whole)


def check_nesting(slices):
    """On each thread of the file what begins within a slice ends within it."""
    is_open = {}
    for begin, end, thread, name in sorted(slices, key=lambda row: (row[0], -row[1])):
        stack = is_open.setdefault(thread, [])
        while stack and stack[-1] <= begin:
            stack.pop()
        check(not stack or end <= stack[-1], f'{name} at {begin} ns overlaps another of its thread')
        stack.append(end)


def check_flows(events, slices):
    begins = {(thread, begin) for begin, _end, thread, _name in slices}
    sides = {'s': {}, 'f': {}}
    for event in events:
        if event['ph'] in sides:
            check(event['id'] not in sides[event['ph']], f'flow {event["id"]} twice')
            check(((event['pid'], event['tid']), ns(event['ts'])) in begins, f'flow {event["id"]} binds to no slice')
            sides[event['ph']][event['id']] = ns(event['ts'])
    check(set(sides['s']) == set(sides['f']), 'a flow has one end')
    check(all(time <= sides['f'][flow] for flow, time in sides['s'].items()), 'a flow goes back in time')
    return len(sides['s'])


def counts(trace):
    events = trace['traceEvents']
    check({event['ph'] for event in events} <= set('XMCisf'), 'an event of another kind')
    slices = [(ns(event['ts']), ns(event['ts']) + ns(event.get('dur', 0)), (event['pid'], event['tid']), event['name'])
              for event in events if event['ph'] in 'Xi']
    named = {(event['pid'], event['tid']) for event in events if event['name'] == 'thread_name'}
    check(all(row[2] in named for row in slices), 'a thread has no name')
    check_nesting(slices)
    return {'slices': len(slices), 'flows': check_flows(events, slices), 'samples': sum(event['ph'] == 'C' for event in events),
            'ranks': sum(event['name'] == 'process_name' for event in events)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('file')
    parser.add_argument('--made')
    arguments = parser.parse_args()
    want = None
    if arguments.made:
        kind = 'chrome.gz' if arguments.file.endswith('.gz') else 'chrome'
        want = json.loads(subprocess.run([arguments.made, kind, arguments.file], check=True, capture_output=True).stdout)
    try:
        trace = read(arguments.file)
        got = counts(trace)
        check(want is None or got == want, f'{got} in the file, {want} in the timeline')
        if want:
            call = [event for event in trace['traceEvents'] if event['name'] == 'MPI_Allreduce'][0]
            check(call['args']['waited for rank'] == 2 and call['args']['communicator'] == 'MPI_COMM_WORLD', f'notes of {call}')
            check(trace['otherData']['date at ts 0 ns'] == '1700000000000000000', 'another date')
        print(json.dumps(got))
    except Fault as fault:
        print(f'{arguments.file}: {fault}', file=sys.stderr)
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
