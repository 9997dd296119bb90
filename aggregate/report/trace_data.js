/* Events of the timeline: chunks inflated when the view needs them, and of each track and depth the events in order of time. */
'use strict';

const TRACE_EVENT = [
  ['begin', 'T'], ['length', 'T'], ['self', 'T'], ['track', 'u4'], ['name', 'u4'], ['detail', 'u4'], ['depth', 'u2'],
  ['kind', 'u1'], ['category', 'u1'], ['flags', 'u1']
];
const TRACE_DETAIL = [
  ['comm', 'u4'], ['sequence', 'u4'], ['request', 'u4'], ['peer', 'u4'], ['last', 'u4'], ['tag', 'u4'], ['has', 'u4'],
  ['wait', 'T'], ['bound', 'f8'], ['sent', 'f8'], ['received', 'f8']
];
const TRACE_FLOW = [['from', 'u4'], ['to', 'u4'], ['kind', 'u1']];
const TRACE_HAS = {
  sequence: 1,
  wait: 2,
  tag: 4
};

/* The first of a lane's events that begins at or after `time`. */
function lowerBound(begin, lane, time, from = 0) {
  let low = from, high = lane.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (begin[lane[middle]] < time)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

const TraceData = {
  off: new Set(), /* categories that the legend switched off */

  async load(chunk) {
    const planes = await Pack.inflate(chunk.lazy);
    let at = 0;
    const columns = (list, n) => Object.fromEntries(list.map(([name, type]) => {
      const [Type, width] = Pack.types[type === 'T' ? (chunk.wide ? 'f8' : 'u4') : type];
      const part = planes.subarray(at, at += n * width);
      return [name, Pack.join(part, Type, width, n)];
    }));
    chunk.event = columns(TRACE_EVENT, chunk.events);
    chunk.call = columns(TRACE_DETAIL, chunk.details);
    chunk.arrow = columns(TRACE_FLOW, chunk.flows);
    if (at !== planes.length)
      throw new Error(`a part of the timeline has ${planes.length} bytes, not ${at}`);
    chunk.lazy = '';
    TraceData.index(chunk);
  },
  /* Lanes: [track][depth] holds events, none of which overlap. Events of categories that are off are in none, and counted. */
  index(chunk) {
    const e = chunk.event, lanes = [];
    chunk.hidden = 0;
    for (let i = 0; i < chunk.events; i++) {
      if (TraceData.off.has(e.category[i])) {
        chunk.hidden++;
        continue;
      }
      const track = lanes[e.track[i]] || (lanes[e.track[i]] = []);
      (track[e.depth[i]] || (track[e.depth[i]] = [])).push(i);
    }
    chunk.lanes = lanes.map(track => track.map(lane => Uint32Array.from(lane)));
  },
  loaded() {
    return Pod.timeline.chunk.filter(c => c.lanes);
  },
  /* Starts what is missing of a range of time; `done` is called when something came. */
  need(from, to, done, failed) {
    for (const chunk of Pod.timeline.chunk)
      if (!chunk.asked && (chunk.step === null || (chunk.begin < to && chunk.end > from))) {
        chunk.asked = true;
        TraceData.load(chunk).then(done, failed);
      }
    return Pod.timeline.chunk.filter(c => c.asked && !c.lanes).length;
  },
  /* The chunk and index of a number of an event; null: its chunk is not inflated. */
  find(number) {
    const c = Pod.timeline.chunk.find(k => number >= k.first && number < k.first + k.events);
    return c && c.lanes ? {c, i: number - c.first} : null;
  },
  flowsOf(number) {
    const list = [];
    for (const c of TraceData.loaded())
      for (let k = 0; k < c.flows; k++)
        if (c.arrow.from[k] === number || c.arrow.to[k] === number)
          list.push({from: c.arrow.from[k], to: c.arrow.to[k], kind: c.arrow.kind[k]});
    return list;
  },
  /* What the details and the tests read of one event. */
  of(number) {
    const at = TraceData.find(number);
    if (!at)
      return null;
    const {c, i} = at, e = c.event, t = Pod.timeline, track = t.track[e.track[i]], d = e.detail[i] - 1, k = c.call;
    const call = d < 0 ? null : {
      comm: k.comm[d] ? t.comm[k.comm[d] - 1] : null,
      sequence: k.has[d] & TRACE_HAS.sequence ? k.sequence[d] : null,
      tag: k.has[d] & TRACE_HAS.tag ? k.tag[d] | 0 : null,
      wait: k.has[d] & TRACE_HAS.wait ? k.wait[d] : null,
      request: k.request[d],
      peer: k.peer[d] - 2,
      last: k.last[d] - 1,
      bound: k.bound[d],
      sent: k.sent[d],
      received: k.received[d]
    };
    return {
      number,
      begin: c.begin + e.begin[i],
      length: e.length[i],
      self: e.self[i],
      name: t.name[e.name[i]],
      category: e.category[i],
      flags: e.flags[i],
      depth: e.depth[i],
      step: c.step === null ? null : t.step[c.step].number,
      track,
      rank: t.rank[track.rank].rank,
      call
    };
  },
};
