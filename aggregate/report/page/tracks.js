/* The timeline in the board: the selected steps, one row per rank at the heat map's edges (Board.rows, Board.y). Zoom and selected
 * event are those of the section "Timeline" (trace_view.js). Of steps and ranks without events in the page it shows the time by
 * category. */
'use strict';

const TRACKS = {
  track: 14, /* least height of one track of an opened rank */
  axis: 18,  /* below the rows */
  label: 96, /* names of tracks, where a rank is open */
  word: 18,  /* least height of a bar with a name; of the selected rank: */
  chosen: 11,
  two: 7,      /* least height of a closed rank that shows its devices too */
  beside: 0.7, /* how much of the steps beside the selection is covered */
  notch: 3     /* pixels between two rows */
};

/* Its layout: Board's rows; what TraceDraw does with events, and what only the board has. */
class TracksDraw extends TraceDraw {
  constructor(canvas) {
    super(canvas);
    this.head = 0;
    this.foot = TRACKS.axis;
  }
  paint(view, rows, edges) {
    const height = Math.round(edges[rows.length]) + this.foot;
    this.begin(view, fit(this.canvas, height));
    this.c.font = '11px ' + css('--font');
    this.place_rows(rows, edges);
    this.scale = (this.width - this.left) / (view.to - view.from);
    this.once = new Set();
    this.notes = []; /* at the right end of a row */
    this.waits = false;
    this.clip();
    this.ground();
    this.events();
    this.rows.forEach(row => row.planes && this.planes(row));
    this.flush();
    this.beside();
    this.rows.forEach(row => row.head && this.borders(row));
    this.shares();
    this.arrows();
    this.marks();
    this.dragged();
    this.c.restore();
    this.labels();
    this.frame();
    this.axis();
  }
  place_rows(rows, edges) {
    this.rows = [];
    this.board = [];
    this.left = 0;
    rows.forEach((row, k) => {
      const high = edges[k + 1] - edges[k],
            gap = high > 8 ? TRACKS.notch
          : high > 3       ? 0.6
                           : 0,
            own = Tracks.layout(row, Math.max(1, high - gap), k), top = edges[k] + gap / 2;
      for (const r of own)
        this.rows.push({...r, y: top + r.y, board: k, gap});
      this.board.push({top, height: Math.max(1, high - gap), gap, row});
      if (own.length > 1 && own.some(r => r.name))
        this.left = TRACKS.label;
    });
    this.find();
  }
  named(name) {
    const {bar, rank, chosen} = this.row;
    if (chosen && bar >= TRACKS.chosen)
      return true;
    if (bar < (this.row.open ? TRACKS.chosen : TRACKS.word) || this.once.has(name) ||
        this.wide < 7 * Pod.timeline.name[name].length + 10)
      return false;
    this.once.add(name);
    return true;
  }
  box(chunk, i, x, w, y, merged, hit, category) {
    this.wide = w;
    super.box(chunk, i, x, w, y, merged, hit, category);
  }
  ground() {
    const {c} = this;
    c.fillStyle = css('--panel');
    for (const r of this.rows)
      c.fillRect(this.left, r.y, this.width, r.height);
  }
  /* Hatching needs three pixels; below it is a lighter colour. */
  hatch() {
    this.waits = this.waits || this.hatches.length > 0;
    const low = this.hatches.filter(h => h[3] < 3), {c} = this;
    this.hatches = this.hatches.filter(h => h[3] >= 3);
    super.hatch();
    for (const [x, y, w, h] of low) {
      c.globalAlpha = 0.6;
      c.fillStyle = this.ink.ground;
      c.fillRect(x, y, w, h);
    }
    c.globalAlpha = 1;
  }
  /* Time by category where there are no events: which came first is not known. */
  planes(row) {
    for (const {at, begin} of Tracks.positions()) {
      if (row.planes !== true && !row.planes.has(at))
        continue;
      if (!Pod.present(at, row.worker))
        continue;
      let from = begin;
      for (const part of segmentsOf(p => Pod.at(p, at, row.worker) || 0, Pod.at(Pod.plane.wait_ns, at, row.worker) || 0)) {
        const x = Math.round(this.x(from)), right = Math.round(this.x(from += part.ns)), colour = this.colour(part.id);
        if (right <= this.left || x >= this.width)
          continue;
        const key = part.id * 2 + 1, list = this.fills[key] || (this.fills[key] = []);
        const w = Math.max(1, right - x - (right - x > 3 ? 1 : 0));
        list.push(x, row.y, w, row.bar);
        if (part.hatched)
          this.hatches.push([x, row.y, w, row.bar, colour, true]);
      }
    }
  }
  /* A line from 0 to the largest value in the page. A value stands until the next one: none is made up between. */
  chart(row) {
    const {c} = this, {time, value, unit} = row.counter, n = time.length, floor = row.y + row.bar - 1;
    row.counter.most = row.counter.most || value.reduce((a, b) => Math.max(a, b), 0) || 1;
    const y = k => floor - Math.max(0, value[k]) / row.counter.most * (row.bar - 2);
    c.beginPath();
    c.strokeStyle = this.ink.accent;
    c.lineWidth = 1.5;
    let before = null;
    for (let k = 0; k < n; k++) {
      const x = this.x(time[k], row.shift);
      if (k + 1 < n && this.x(time[k + 1], row.shift) < this.left)
        continue;
      if (before === null)
        c.moveTo(x, y(k));
      else
        c.lineTo(x, before);
      c.lineTo(x, before = y(k));
      if (x > this.width)
        break;
    }
    c.stroke();
    c.lineWidth = 1;
    this.notes.push([row, `at most ${Format.by(unit, row.counter.most)}`]);
  }
  /* How busy a device was, and what a line reaches. */
  shares() {
    const {c} = this;
    c.textBaseline = 'middle';
    c.textAlign = 'right';
    for (const row of this.rows)
      if (row.device && row.bar >= TRACKS.chosen && Tracks.share(row) !== null)
        this.notes.push([row, (this.left ? '' : `GPU ${row.device - 1} `) + `busy ${Tracks.share(row)}`]);
    for (const [row, text] of this.notes) {
      const wide = c.measureText(text).width + 8;
      if (wide > (this.width - this.left) / 2)
        continue;
      c.fillStyle = this.ink.ground;
      c.fillRect(this.width - wide, row.y, wide, row.bar);
      c.fillStyle = this.ink.ink;
      c.fillText(text, this.width - 4, row.y + row.bar / 2 + 0.5);
    }
    c.textAlign = 'left';
  }
  /* Steps beside the selection are pale. */
  beside() {
    const {c} = this;
    c.globalAlpha = TRACKS.beside;
    c.fillStyle = this.ink.ground;
    for (const {top, height, row} of this.board) {
      const [from, to] = Tracks.selectedOf(row), left = this.x(from), right = this.x(to);
      if (left > this.left)
        c.fillRect(this.left, top, left - this.left, height);
      if (right < this.width)
        c.fillRect(right, top, this.width - right, height);
    }
    c.globalAlpha = 1;
  }
  borders(row) {
    const {c} = this, {top, height, gap} = this.board[row.board];
    c.fillStyle = this.ink.ink;
    for (const time of Tracks.stepsOf(row.rank, this.chunks)) {
      const x = this.x(time, row.shift);
      if (x > this.left + 1 && x < this.width)
        c.fillRect(x - 0.5, top - gap / 2, 1, height + gap);
    }
  }
  /* What would fill the view. */
  dragged() {
    const {c} = this, drag = Tracks.drag;
    if (!drag || !drag.moved)
      return;
    c.globalAlpha = 0.15;
    c.fillStyle = this.ink.accent;
    c.fillRect(Math.min(drag.x, drag.now), 0, Math.abs(drag.now - drag.x), this.height);
    c.globalAlpha = 1;
  }
  /* Names of tracks, of the rank that stands for a band, and why a rank has no events. */
  labels() {
    const {c} = this;
    c.textBaseline = 'middle';
    c.textAlign = 'left';
    for (const row of this.rows) {
      if (!this.left || row.bar < TRACKS.chosen - 1)
        continue;
      const name = row.name || (row.device ? `GPU ${row.device - 1} busy` : 'main thread');
      c.fillStyle = row.chosen ? this.ink.ink : this.ink.soft;
      c.fillText(Format.short(row.head && row.band ? row.band : name, 17), 0, row.y + row.bar / 2, TRACKS.label - 4);
    }
    for (const {top, height, row} of this.board) {
      if (this.left || row.band === undefined || height < TRACKS.chosen)
        continue;
      const text = Pod.workerName(row.worker), wide = c.measureText(text).width + 8;
      c.fillStyle = this.ink.ground;
      c.fillRect(this.left, top, wide, Math.min(16, height));
      c.fillStyle = this.ink.ink;
      c.fillText(text, this.left + 4, top + Math.min(16, height) / 2);
    }
  }
  frame() {
    const {c} = this, at = this.board.findIndex(b => b.row.worker === Select.worker);
    if (at < 0 || this.board.length < 3)
      return;
    const {top, height, gap} = this.board[at];
    c.strokeStyle = this.ink.accent;
    c.lineWidth = 1.5;
    c.strokeRect(0.75, Math.max(0.75, top - gap / 2), this.width - 1.5, Math.max(3, height + gap));
    c.lineWidth = 1;
  }
  axis() {
    const {c, from, to, width, height} = this, origin = Tracks.origin, span = to - from, raw = ticks(span, 6)[1],
                               [size, unit] = Format.axis('ns', span), top = height - this.foot;
    let digits = 0;
    while (digits < 9 && Math.abs(raw / size * 10 ** digits - Math.round(raw / size * 10 ** digits)) > 1e-6)
      digits++;
    c.fillStyle = this.ink.soft;
    c.textBaseline = 'middle';
    let first = true;
    for (let at = Math.ceil((from - origin) / raw - 1e-9) * raw; at <= to - origin; at += raw) {
      const x = this.x(origin + at),
            text = (Math.abs(at) < raw / 2 ? '0' : (at / size).toFixed(digits).replace('-', '\u2212')) + (first ? NB + unit : '');
      c.fillRect(Math.min(width - 1, x), top, 1, 4);
      c.textAlign = x - this.left < 12 ? 'left' : 'center';
      if (x < width - 24)
        c.fillText(text, x, top + 11);
      first = false;
    }
    c.textAlign = 'left';
  }
}

const Tracks = Object.assign({}, TraceMove, {
  /* What stands in the box was for readers without JavaScript. */
  start(box) {
    Trace.prepare();
    Tracks.canvas = el('canvas', {
      id: 'lanes-canvas',
      role: 'application',
      tabindex: '0',
      onpointerdown: e => Tracks.press(e),
      onpointermove: e => Tracks.point(e),
      onpointerup: e => Tracks.release(e),
      onpointercancel: () => Tracks.drag = null,
      onpointerleave: () => {
        Tracks.pointer = null;
        Tracks.say(null);
      },
      onwheel: e => Tracks.drawing.scale && Tracks.wheeled(e),
      onkeydown: e => Tracks.keyed(e)
    });
    box.replaceChildren(Tracks.canvas);
    Tracks.drawing = new TracksDraw(Tracks.canvas);
    Tracks.event = el('p', {id: 'lanes-event', 'aria-live': 'polite', hidden: true});
    document.getElementById('line').append(Tracks.event);
    Tracks.more = el('span', {id: 'lanes-more'});
    Tracks.full = el('button', {type: 'button', id: 'lanes-full', onclick: () => Tracks.widen()}, 'Full width');
  },
  draw() {
    if (!Tracks.drawing || !Pod.cell.steps || !Pod.workers)
      return;
    Trace.read();
    Tracks.paint();
  },
  later() {
    if (!Tracks.waiting && Tracks.drawing)
      Tracks.waiting = requestAnimationFrame(() => Tracks.paint());
  },
  paint() {
    cancelAnimationFrame(Tracks.waiting);
    Tracks.waiting = 0;
    Tracks.geometry();
    Tracks.prepare();
    Tracks.drawing.paint({
      from: Tracks.from,
      to: Tracks.to,
      hits: TraceData.hits,
      selected: Trace.selected,
      range: null,
      arrows: new Set(),
    },
        Tracks.rows, Tracks.edges);
    Tracks.heading();
    Tracks.legend(document.getElementById('lanes-legend'));
    Tracks.describe();
  },

  /* The board's rows. Before there are any, equal ones. */
  geometry() {
    const all = Board.rows || Array.from({length: Math.min(64, Pod.workers)}, (unused, worker) => ({worker}));
    Tracks.rows = all;
    Tracks.edges = Board.y;
    if (!Board.y || Board.y.length !== all.length + 1) {
      const high = Math.min(Math.max(236, Math.min(560, innerHeight - 592)), all.length * 52);
      Tracks.edges = Array.from({length: all.length + 1}, (unused, k) => high * k / all.length);
    }
  },
  /* What is in view, and what has to come first. */
  prepare() {
    const t = Pod.timeline;
    Tracks.rank = t ? Tracks.rankOf(Select.worker) : -1;
    const loaded = TraceData.loaded().length;
    if (loaded !== Tracks.ownOf) {
      Tracks.ownOf = loaded;
      Tracks.own = new Map();
      Tracks.shares = new Map();
    }
    Tracks.first = t ? Trace.stepOf(Select.from) : -1;
    Tracks.last = t ? Trace.stepOf(Select.to) : -1;
    Tracks.known = Tracks.first >= 0 && Tracks.last >= 0;
    Tracks.separate = Tracks.known && t.rank.some(r => r.bound === null && !r.missing) && t.rank.length > 1;
    Tracks.place = null;
    if (t) {
      const [from, to] = Trace.zoomed || Tracks.span(), far = Tracks.separate ? Tracks.spread() : 0;
      const at = Trace.selected === null ? NaN : t.chunk.indexOf(TraceData.chunkOf(Trace.selected));
      TraceData.need((chunk, i) => !!TraceData.hits || chunk.step === null || (chunk.begin < to + far && chunk.end > from - far) ||
              Math.abs(i - at) <= 1,
          Trace.came, Trace.failed);
    }
    const span = Tracks.span();
    Tracks.origin = span[0];
    [Tracks.from, Tracks.to] = Trace.zoomed || span;
    Tracks.withPlanes = Tracks.positions().some(p => p.absent) || Tracks.rows.some(row => Tracks.rankOf(row.worker) < 0);
    Tracks.ready = !Tracks.withPlanes || Pod.later(Pod.stack(), () => Tracks.later());
  },
  /* Index into the timeline's ranks of a worker whose events are in the page; -1: they are not. */
  rankOf(worker) {
    const t = Pod.timeline;
    if (!t)
      return -1;
    if (!Tracks.index) {
      const tracks = traceOf(t.track);
      Tracks.tracks = tracks;
      Tracks.index = new Map(t.rank.map((r, i) => [r.rank, r.missing || !tracks[i].length ? -1 : i]));
    }
    return Tracks.index.get(Pod.worker.rank[worker]) ?? -1;
  },
  /* Where steps begin: at the first rank's begin, or, without a timeline, one after the other. `absent`: no events in the page. */
  positions() {
    if (Tracks.place)
      return Tracks.place;
    const t = Pod.timeline, list = [], near = [Math.max(0, Select.from - 1), Math.min(Pod.cell.steps - 1, Select.to + 1)];
    let time = 0;
    for (let at = Tracks.known ? near[0] : Select.from; at <= (Tracks.known ? near[1] : Select.to); at++) {
      const k = t ? Trace.stepOf(at) : -1, step = k >= 0 ? t.step[k] : null, length = Pod.step.max_ns[at * Pod.cell.stride] || 0;
      if (Tracks.known && !step)
        continue;
      list.push(Tracks.known ? {at, begin: step.begin, end: step.end, absent: step.chunk === null}
                             : {at, begin: time, end: time += length, absent: true});
    }
    return Tracks.place = list;
  },
  span() {
    const list = Tracks.positions().filter(p => p.at >= Select.from && p.at <= Select.to), begin = list.length ? list[0].begin : 0;
    let end = list.reduce((most, p) => Math.max(most, p.end), begin + 1);
    if (Tracks.separate) {
      const lengths = Tracks.rows.map(row => Tracks.rankOf(row.worker))
                          .filter(r => r >= 0)
                          .map(r => Tracks.stepOf(r, Tracks.last)[1] - Tracks.stepOf(r, Tracks.first)[0]);
      end = begin + Math.max(1, ...lengths);
    }
    return [begin, end];
  },
  bounds() {
    const list = Tracks.positions();
    return Pod.timeline ? [Pod.timeline.low, Pod.timeline.high] : [list[0].begin, list[list.length - 1].end];
  },
  /* Begin and end of a step on a rank: its own where it is known. */
  stepOf(rank, k) {
    const t = Pod.timeline, key = rank * t.step.length + k;
    if (Tracks.own.has(key))
      return Tracks.own.get(key);
    const step = t.step[k], name = `step ${step.number}`, track = Tracks.tracks[rank].find(i => t.track[i].of === TRACE_OF.steps);
    let found = [step.begin, step.end];
    for (const c of track === undefined ? [] : TraceData.loaded()) {
      if (c.step !== null && c.step !== k)
        continue;
      for (const i of c.whole[track]?.[0] || [])
        if (t.name[c.event.name[i]] === name)
          found = [c.begin + c.event.begin[i], c.begin + c.event.begin[i] + c.event.length[i]];
    }
    Tracks.own.set(key, found);
    return found;
  },
  /* Begins of a rank's steps, and the end of the last one. */
  stepsOf(rank, chunks) {
    const t = Pod.timeline, track = Tracks.tracks[rank].find(i => t.track[i].of === TRACE_OF.steps), list = [];
    for (const c of track === undefined ? [] : chunks)
      for (const i of c.whole[track]?.[0] || [])
        list.push(c.begin + c.event.begin[i]);
    return list;
  },
  shift(rank) {
    return Tracks.separate ? Tracks.stepOf(rank, Tracks.first)[0] - Pod.timeline.step[Tracks.first].begin : 0;
  },
  /* How far the ranks' clocks are apart. */
  spread() {
    return Tracks.rows.map(row => Tracks.rankOf(row.worker))
        .filter(r => r >= 0)
        .reduce((most, r) => Math.max(most, Math.abs(Tracks.shift(r))), 0);
  },
  /* Of a row of the board the selected time, on the axis. */
  selectedOf(row) {
    const rank = Tracks.rankOf(row.worker), span = Tracks.span();
    if (!Tracks.known || rank < 0)
      return span;
    const shift = Tracks.shift(rank);
    return [Tracks.stepOf(rank, Tracks.first)[0] - shift, Tracks.stepOf(rank, Tracks.last)[1] - shift];
  },

  /* Of a row of the board, what is drawn in its height: one or several tracks. */
  layout(row, high) {
    const rank = Tracks.rankOf(row.worker), chosen = row.worker === Select.worker,
          absent = Tracks.positions().filter(p => p.absent), band = row.band === undefined ? '' : Pod.workerName(row.worker),
          size = {rank, chosen, band, worker: row.worker, flat: true, shift: rank < 0 ? 0 : Tracks.shift(rank)},
          one = (y, height, more) => ({...size, y, height, level: height, bar: height, tracks: [], ...more});
    if (rank < 0 || !Tracks.known)
      return [one(0, high, {planes: Tracks.ready ? true : new Set(), head: rank >= 0})];
    const planes = absent.length && Tracks.ready ? new Set(absent.map(p => p.at)) : null, open = Tracks.openOf(rank, high),
          devices = traceDevices(Tracks.tracks[rank]);
    if (open) {
      const each = high / open.length, bar = Math.min(each - 1.5, 26);
      return open.map((track, k) => one(k * each, bar, {...track, open: true, head: k === 0, planes: k === 0 ? planes : null}));
    }
    const main = Tracks.mainOf(rank), tracks = main === undefined ? [] : [main];
    if (!devices.length || high < TRACKS.two)
      return [one(0, high, {tracks, head: true, planes})];
    const word = high >= 26 ? 12 * devices.length : 0, below = word && word <= 0.6 * high ? word : Math.max(1, high * 0.4),
          each = below / devices.length, above = Math.max(1, high - below);
    return [
      one(0, above > 4 ? above - 1 : above, {tracks, head: true, planes}),
      ...devices.map(([device, streams], k) => one(above + k * each, each > 4 ? each - 1 : each, {device, streams}))
    ];
  },
  mainOf(rank) {
    const t = Pod.timeline, own = Tracks.tracks[rank];
    return own.find(i => t.track[i].main) ?? own.find(i => t.track[i].of === TRACE_OF.thread) ?? own[0];
  },
  /* Tracks of an open rank: threads, streams, when each device was busy, its clock and power. Streams that mostly copy are one
   * track, so are those of collectives. null: there is no room for them, or nothing but the main thread. */
  openOf(rank, high) {
    const t = Pod.timeline, most = Math.floor(high / TRACKS.track), main = Tracks.mainOf(rank), list = [],
          threads = Tracks.tracks[rank].filter(i => t.track[i].of === TRACE_OF.thread && i !== main && TraceData.weight(i).events);
    for (const [device, streams] of traceDevices(Tracks.tracks[rank])) {
      const joined = {copies: [], collectives: []};
      for (const i of streams) {
        const {events, kind} = TraceData.weight(i);
        if (events && kind === 'compute')
          list.push({tracks: [i], name: Tracks.streams([i])});
        else if (events)
          joined[kind].push(i);
      }
      for (const tracks of Object.values(joined))
        if (tracks.length)
          list.push({tracks, name: Tracks.streams(tracks)});
      list.push({device, streams, name: `GPU ${device - 1} busy`});
    }
    const room = most - 1 - list.length;
    if (room < 0 || (!list.length && (!threads.length || most < 2)))
      return null;
    const shown =
              threads.sort((a, b) => TraceData.weight(b).events - TraceData.weight(a).events).slice(0, room).sort((a, b) => a - b),
          lines = t.counter.filter(k => k.rank === rank && /clock|power/i.test(k.name) && k.time.length)
                      .slice(0, room - shown.length)
                      .map(counter => ({counter, name: counter.name}));
    return [{tracks: [main], name: 'main thread'}, ...shown.map(i => ({tracks: [i], name: Tracks.thread(i)})), ...list, ...lines];
  },
  thread(i) {
    return Pod.timeline.track[i].name.replace(/^rank \d+ /, '');
  },
  streams(list) {
    const name = list.map(i => Pod.timeline.track[i].name.replace(/^.*\bstream /i, '').trim());
    return (list.length > 1 ? 'streams ' : 'stream ') + name.join(', ');
  },
  /* Most tracks of any row, were all open: the board may give them room. */
  wanted() {
    const t = Pod.timeline;
    return t
        ? Math.max(1, ...Tracks.rows.map(row => Tracks.rankOf(row.worker)).map(r => r >= 0 && Tracks.openOf(r, 1e4)?.length || 1))
        : 1;
  },
  /* How much of the selected steps a device had work. null: not known. */
  share(row) {
    const key = `${row.rank} ${row.device} ${Select.from} ${Select.to}`;
    if (!Tracks.shares.has(key))
      Tracks.shares.set(key, Tracks.busyOf(row));
    return Tracks.shares.get(key);
  },
  busyOf(row) {
    const [from, to] = [Tracks.stepOf(row.rank, Tracks.first)[0], Tracks.stepOf(row.rank, Tracks.last)[1]], t = Pod.timeline,
                 wanted = t.chunk.filter(c => c.begin < to && c.end > from);
    if (!(to > from) || wanted.some(c => !c.levels) ||
        Tracks.positions().some(p => p.absent && p.at >= Select.from && p.at <= Select.to))
      return null;
    const parts = [];
    for (const c of wanted) {
      const {begin, end, n} = TraceData.busy(c, row.streams);
      for (let k = 0; k < n; k++)
        parts.push([Math.max(from, c.begin + begin[k]), Math.min(to, c.begin + end[k])]);
    }
    let sum = 0, right = from;
    for (const [a, b] of parts.sort((p, q) => p[0] - q[0]))
      if (b > Math.max(a, right)) {
        sum += b - Math.max(a, right);
        right = b;
      }
    return Format.share(sum, to - from);
  },

  /* Behind the board's heading: the zoom, what is missing, and the way to the full width. */
  heading() {
    const whole = Tracks.span(), parts = [
      Tracks.separate && !Board.title && ['lanes-clock', 'no common clock: do not compare times of two ranks', 'warn'],
      Trace.zoomed &&
          ['lanes-zoom', `${Format.time(Tracks.to - Tracks.from)} of ${Format.time(whole[1] - whole[0])}, Escape goes back`],
      Tracks.lacking() && ['lanes-why', Tracks.lacking()], Trace.problem && ['lanes-problem', Trace.problem, 'warn']
    ];
    const key = JSON.stringify(parts), bar = document.getElementById('lanes-bar'),
          [a, b] = [Pod.stepShown[Select.from], Pod.stepShown[Select.to]], what = a === b ? `step ${a}` : `steps ${a}\u2013${b}`;
    if (!Board.title)
      bar.replaceChildren(el('b', {}, `Timeline of ${what}`));
    if (key !== Tracks.said)
      Tracks.more.replaceChildren(
          ...parts.filter(Boolean).map(([id, text, look]) => el('span', {id, class: look, title: text}, text)),
          Pod.timeline ? Tracks.full : '');
    Tracks.said = key;
    bar.append(Tracks.more);
    Tracks.canvas.setAttribute('aria-label',
        `Timeline of ${what}, ${
            Format.count(Tracks.rows.length)} rows: a and d move, w and s zoom, arrows go from event to event, Escape goes back.`);
  },
  /* What is drawn by category, and why. */
  lacking() {
    const absent = Tracks.positions().filter(p => p.absent && p.at >= Select.from && p.at <= Select.to).length,
          ranks = Tracks.rows.filter(row => Tracks.rankOf(row.worker) < 0).length, by = 'time by category, its order is unknown';
    if (!Pod.timeline)
      return `${by}: ${ended(Pod.timeline_why || 'this page was made without a timeline').replace(/[.]$/, '')}`;
    return absent || !Tracks.known ? `events of ${absent > 1 ? 'these steps are' : 'this step are'} not in this page: ${by}`
        : ranks ? `${Format.count(ranks)} rank${ranks > 1 ? 's' : ''} without events in this page: ${by}`
                : '';
  },
  /* Categories that occur in the selected steps. */
  legend(box) {
    const d = Tracks.drawing, key = `${Select.from} ${Select.to} ${Tracks.rows.length} ${Theme.dark()}`;
    if (key !== Tracks.legendOf) {
      Tracks.legendOf = key;
      Tracks.occurs = new Set();
    }
    const before = Tracks.occurs.size;
    d.colours.forEach((colour, id) => Tracks.occurs.add(id));
    if (d.waits)
      Tracks.occurs.add('wait');
    if (Tracks.occurs.size === before && before)
      return;
    const swatch = (colour, hatched) => el('span', {class: 'sw' + (hatched ? ' hatched' : ''), style: {backgroundColor: colour}}),
          item = (colour, text, hatched) => el('span', {class: 'key'}, swatch(colour, hatched), text);
    box.replaceChildren(...Pod.category.filter(k => Tracks.occurs.has(k.id))
                            .map(k => item(Pod.colour(k.id), k.name.replace('collective communication', 'collective'))),
        Tracks.occurs.has('wait') ? item(Pod.colour(Tracks.occurs.has(10) ? 10 : 3), 'waiting for other ranks', true) : '');
  },

  /* The selected event in one line: its numbers, and what it waited for. */
  describe() {
    const one = Tracks.one(), key = `${Trace.selected} ${TraceData.loaded().length}`;
    if (key === Tracks.described)
      return;
    Tracks.described = key;
    Tracks.event.hidden = !one;
    if (!one)
      return;
    const flows = TraceData.flowsOf(one.number), waiting = TracePanes.waiting(one.call), shown = 3;
    const end = flow => {
      const out = flow.from === one.number, other = out ? flow.to : flow.from, to = TraceData.of(other);
      return el('button', {type: 'button', 'data-to': other, onclick: () => Tracks.select(other, true)},
          `${TRACE_ENDS[Pod.timeline.flow[flow.kind]][out ? 0 : 1]} ${
              to ? `rank ${to.rank}: ${Format.short(to.name, 40)}` : 'an event of another step'}`);
    };
    Tracks.event.replaceChildren(el('b', {title: one.name}, Format.short(one.name || '(no name)', 60)),
        ` rank ${one.rank}${one.step === null ? '' : `, step ${one.step}`}: ${Format.time(one.length)}, itself ${
            Format.time(one.self)}, ` +
            `${TracePanes.category(one.category)}` + (waiting ? `; ${waiting}` : ''),
        ...flows.slice(0, shown).map(end), flows.length > shown ? ` and ${Format.count(flows.length - shown)} more` : '');
  },
  /* In the board's fixed line. */
  say(text) {
    const line = document.getElementById('say');
    if (text || !Board.say)
      line.textContent = text || '';
    else
      Board.say(Select.from, Select.worker);
  },
  hover(x, y) {
    const d = Tracks.drawing, box = d.at(x, y), row = d.rowAt(y), one = box && box.merged === 1 && TraceData.of(box.number);
    if (one) {
      const waiting = TracePanes.waiting(one.call);
      return Tracks.say(
          `${Format.short(one.name, 80)}, rank ${one.rank}: ${Format.time(one.length)}${waiting ? `, ${waiting}` : ''}`);
    }
    if (box)
      return Tracks.say(`${Format.count(box.merged)} events: zoom in to see each`);
    if (row && row.counter)
      return Tracks.say(Tracks.sample(row, d));
    return Tracks.say(row
            ? Pod.workerName(row.worker) + (row.device ? `: GPU ${row.device - 1} busy ${Tracks.share(row) ?? 'unknown'}` : '')
            : null);
  },
  sample({counter, shift}) {
    const time = Tracks.timeAt(Tracks.pointer.x) + shift, k = counter.time.findLastIndex(at => at <= time);
    return k < 0 ? null : `${counter.name}: ${Format.by(counter.unit, counter.value[k])}`;
  },

  press(e) {
    if (e.button !== 0)
      return;
    Tracks.canvas.setPointerCapture(e.pointerId);
    Tracks.drag = {x: e.offsetX, now: e.offsetX, y: e.offsetY, moved: false};
  },
  point(e) {
    const drag = Tracks.drag;
    Tracks.pointer = {x: e.offsetX, y: e.offsetY};
    if (!drag) {
      Tracks.hover(e.offsetX, e.offsetY);
      return;
    }
    drag.now = Math.max(Tracks.drawing.left, e.offsetX);
    drag.moved = drag.moved || Math.abs(drag.now - drag.x) > 4;
    if (drag.moved)
      Tracks.later();
  },
  /* What was dragged over fills the view. */
  release(e) {
    const drag = Tracks.drag;
    Tracks.drag = null;
    if (drag && drag.moved) {
      const [a, b] = [drag.x, drag.now].map(x => Tracks.timeAt(Math.max(Tracks.drawing.left, x))).sort((p, q) => p - q);
      Tracks.show(a, b);
    } else if (drag)
      Tracks.click(e.offsetX, e.offsetY);
  },
  click(x, y) {
    const d = Tracks.drawing, box = d.at(x, y), k = d.board.findIndex(b => y < b.top + b.height + b.gap / 2);
    if (Pod.timeline)
      Tracks.select(box && box.merged === 1 ? box.number : null);
    if (k >= 0 && d.board[k].row.worker !== Select.worker)
      Select.set({worker: d.board[k].row.worker});
  },
  reveal(one) {
    const worker = Pod.rank_of.get(one.rank);
    Tracks.revealTime(one);
    if (worker !== undefined && worker !== Select.worker)
      Select.set({worker});
  },
  widen() {
    App.show('timeline');
    Trace.drawing?.canvas.focus({preventScroll: true});
  },
  search() {
    Tracks.widen();
    Trace.input?.focus();
  },
  help() {
    Tracks.widen();
    if (Trace.keys)
      Trace.keys.open = true;
  },
  enter() {
    Tracks.widen();
  },
  /* The event first, then the zoom, then the evidence of the finding. */
  back() {
    if (Trace.selected !== null)
      Trace.keep({sel: ''});
    else if (Trace.zoomed)
      Tracks.home();
    else
      Select.open(Select.find);
  },
});
