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
const TRACE_OF = {
  steps: 0,
  thread: 1,
  stream: 2
}; /* enum pp_timeline_of */
const TRACE_HAS = {
  sequence: 1,
  wait: 2,
  tag: 4
};

/* The first of a level's events that begins at or after `time`. */
function lowerBound(begin, level, time, from = 0) {
  let low = from, high = level.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (begin[level[middle]] < time)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

const TraceData = {
  off: new Set(), /* categories that the legend switched off */
  hits: null,     /* by name, 1: the search found it */
  ends: null,     /* flows by event */
  weights: new Map(),

  async load(chunk) {
    const planes = await Pack.inflate(chunk.lazy);
    if (!chunk.levels) /* printing may have been faster */
      TraceData.take(chunk, planes);
  },
  take(chunk, planes) {
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
    chunk.categories = new Set(chunk.event.category);
    chunk.kinds = new Set(chunk.arrow.kind);
    chunk.whole = TraceData.sorted(chunk, () => true);
    TraceData.ends = null;
    TraceData.index(chunk);
    TraceData.count(chunk);
  },
  /* Levels: [track][depth] holds events, none of which overlap. */
  sorted(chunk, wanted) {
    const e = chunk.event, levels = [];
    for (let i = 0; i < chunk.events; i++)
      if (wanted(e.category[i])) {
        const track = levels[e.track[i]] || (levels[e.track[i]] = []);
        (track[e.depth[i]] || (track[e.depth[i]] = [])).push(i);
      }
    return levels.map(track => track.map(level => Uint32Array.from(level)));
  },
  /* What is drawn: events of categories that are off are in no level, and counted. */
  index(chunk) {
    const off = TraceData.off;
    chunk.levels = off.size ? TraceData.sorted(chunk, category => !off.has(category)) : chunk.whole;
    chunk.hidden = 0;
    for (let i = 0; off.size && i < chunk.events; i++)
      chunk.hidden += off.has(chunk.event.category[i]) ? 1 : 0;
  },
  /* Which names contain the text: [number of a name] is 1. null: nothing is searched. */
  search(text) {
    const wanted = text.trim().toLowerCase();
    TraceData.hits = wanted ? Uint8Array.from(Pod.timeline.name, name => name.toLowerCase().includes(wanted) ? 1 : 0) : null;
    TraceData.loaded().forEach(TraceData.count);
  },
  /* Of each level how many of its first n events are hits, so that a bar of many events need not look at each. */
  count(chunk) {
    const hits = TraceData.hits, {name} = chunk.event;
    chunk.found = 0;
    chunk.upTo = hits && chunk.levels.map(track => track.map(level => {
      const upTo = new Uint32Array(level.length + 1);
      for (let k = 0; k < level.length; k++)
        upTo[k + 1] = upTo[k] + hits[name[level[k]]];
      chunk.found += upTo[level.length];
      return upTo;
    }));
  },
  /* The hit that comes next in time (by: 1) or before (-1), from one event on, or from a time; null: there is none. */
  nextHit(number, time, by) {
    let best = null;
    for (const c of TraceData.loaded()) {
      const {begin, name, category} = c.event;
      for (let i = 0; i < c.events; i++) {
        const at = c.begin + begin[i], ahead = by * (at - time || (number === null ? 0 : c.first + i - number));
        if (ahead > 0 && TraceData.hits[name[i]] && !TraceData.off.has(category[i]) &&
            (!best || by * (best.at - at || best.number - c.first - i) > 0))
          best = {at, number: c.first + i};
      }
    }
    return best && best.number;
  },
  loaded() {
    return Pod.timeline ? Pod.timeline.chunk.filter(c => c.levels) : [];
  },
  /* Loads a chunk once. */
  get(chunk) {
    chunk.asked = chunk.asked || TraceData.load(chunk).catch(e => {
      chunk.failed = true;
      throw e;
    });
    return chunk.asked;
  },
  /* Starts those of the wanted chunks that are missing; `done` is called when something came. */
  need(wanted, done, failed) {
    Pod.timeline.chunk.forEach((chunk, i) => {
      if (Pod.printing && !chunk.levels && !chunk.failed && wanted(chunk, i)) {
        TraceData.take(chunk, Inflate.all(Pack.coded(chunk.lazy)));
        chunk.asked = Promise.resolve();
      }
      if (!chunk.asked && wanted(chunk, i))
        TraceData.get(chunk).then(done, failed);
    });
  },
  loading() {
    return Pod.timeline.chunk.filter(c => c.asked && !c.levels && !c.failed).length;
  },
  /* When any of these streams had work: begins and ends after the chunk's, made once per chunk. */
  busy(chunk, streams) {
    const key = streams[0], {begin, length} = chunk.event;
    chunk.work = chunk.work || new Map();
    if (chunk.work.has(key))
      return chunk.work.get(key);
    const list =
              streams.flatMap(i => (chunk.whole[i] || []).flatMap(level => Array.from(level))).sort((a, b) => begin[a] - begin[b]),
          work = {begin: new Float64Array(list.length), end: new Float64Array(list.length), n: 0};
    for (const i of list) {
      const last = work.n - 1;
      if (last >= 0 && begin[i] <= work.end[last])
        work.end[last] = Math.max(work.end[last], begin[i] + length[i]);
      else {
        work.begin[work.n] = begin[i];
        work.end[work.n++] = begin[i] + length[i];
      }
    }
    chunk.work.set(key, work);
    return work;
  },
  /* Of a track in the parts that are here: how many events, and what takes most of its time: compute, copies or collectives. */
  weight(track) {
    const loaded = TraceData.loaded(), kept = TraceData.weights.get(track);
    if (kept && kept.of === loaded.length)
      return kept;
    const sum = {compute: 0, copies: 0, collectives: 0};
    let events = 0;
    for (const c of loaded)
      for (const level of c.whole[track] || [])
        for (const i of level) {
          const category = c.event.category[i];
          sum[category === 1 ? 'compute' : category === 3 ? 'collectives' : 'copies'] += c.event.length[i];
          events++;
        }
    const found = {of: loaded.length, events, kind: Object.keys(sum).reduce((a, b) => sum[b] > sum[a] ? b : a)};
    TraceData.weights.set(track, found);
    return found;
  },
  /* The chunk of a number of an event, inflated or not. */
  chunkOf(number) {
    const list = Pod.timeline.chunk;
    let low = 0, high = list.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (list[middle].first + list[middle].events <= number)
        low = middle + 1;
      else
        high = middle;
    }
    return low < list.length && number >= list[low].first ? list[low] : null;
  },
  /* The chunk and index of a number of an event; null: its chunk is not inflated. */
  find(number) {
    const c = TraceData.chunkOf(number);
    return c && c.levels ? {c, i: number - c.first} : null;
  },
  /* Flows by the events at their ends: made when first asked for after a chunk came. */
  flowsOf(number) {
    if (!TraceData.ends) {
      TraceData.ends = new Map();
      const add = (end, flow) => TraceData.ends.has(end) ? TraceData.ends.get(end).push(flow) : TraceData.ends.set(end, [flow]);
      for (const c of TraceData.loaded())
        for (let k = 0; k < c.flows; k++) {
          const flow = {from: c.arrow.from[k], to: c.arrow.to[k], kind: c.arrow.kind[k]};
          add(flow.from, flow);
          add(flow.to, flow);
        }
    }
    return TraceData.ends.get(number) || [];
  },
  /* Of a level over all chunks, the events that overlap a range of time: f(chunk, index). `levels`: which of a chunk's. */
  over(track, depth, from, to, f, levels = 'levels') {
    for (const c of TraceData.loaded()) {
      const level = c[levels][track] && c[levels][track][depth], {begin, length} = c.event;
      if (!level)
        continue;
      for (let k = Math.max(0, lowerBound(begin, level, from - c.begin) - 1); k < level.length && c.begin + begin[level[k]] < to;
           k++)
        if (c.begin + begin[level[k]] + length[level[k]] > from || c.begin + begin[level[k]] >= from)
          f(c, level[k]);
    }
  },
  /* The event of a level whose begin is next after (by: 1) or before (-1) a time; null: there is none. */
  beside(track, depth, time, by) {
    let best = null;
    for (const c of TraceData.loaded()) {
      const level = c.levels[track] && c.levels[track][depth];
      if (!level)
        continue;
      const k =
          by > 0 ? lowerBound(c.event.begin, level, time - c.begin + 0.5) : lowerBound(c.event.begin, level, time - c.begin) - 1;
      if (k < 0 || k >= level.length)
        continue;
      const at = c.begin + c.event.begin[level[k]];
      if (!best || by * (best.at - at) > 0)
        best = {at, number: c.first + level[k]};
    }
    return best && best.number;
  },
  /* The event of a level at a time, or else the nearest before, or else after. */
  nearest(track, depth, time) {
    return TraceData.beside(track, depth, time + 0.5, -1) ?? TraceData.beside(track, depth, time, 1);
  },
  /* Events that overlap a range, by name and category: how many, their time inside of it, and the part of it that is their own. */
  sums(from, to) {
    const sums = new Map(), t = Pod.timeline;
    for (const c of TraceData.loaded())
      c.levels.forEach((levels, track) => levels.forEach((level, depth) => {
        if (t.track[track].of === TRACE_OF.steps) /* their time is that of the events in them */
          return;
        const {begin, length, self, name, category} = c.event;
        let k = Math.max(0, lowerBound(begin, level, from - c.begin) - 1);
        for (; k < level.length && c.begin + begin[level[k]] < to; k++) {
          const i = level[k], b = c.begin + begin[i], e = b + length[i];
          if (b < from && e <= from)
            continue;
          const key = name[i] * 256 + category[i], inside = Math.min(e, to) - Math.max(b, from);
          if (!sums.has(key))
            sums.set(key, {name: t.name[name[i]], category: category[i], count: 0, total: 0, self: 0});
          const sum = sums.get(key);
          sum.count++;
          sum.total += inside;
          sum.self += b >= from && e <= to ? self[i] : TraceData.own(track, depth, Math.max(b, from), Math.min(e, to));
        }
      }));
    return [...sums.values()].sort((a, b) => b.self - a.self);
  },
  /* Of an event that the range cuts: its part less those nested in it. Only events of threads are nested: others overlap. */
  own(track, depth, from, to) {
    let own = to - from;
    if (Pod.timeline.track[track].of === TRACE_OF.thread)
      TraceData.over(track, depth + 1, from, to, (c, i) => {
        const b = c.begin + c.event.begin[i];
        own -= Math.max(0, Math.min(b + c.event.length[i], to) - Math.max(b, from));
      }, 'whole');
    return own;
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
      trackNumber: e.track[i],
      rank: t.rank[track.rank].rank,
      call
    };
  },
};
