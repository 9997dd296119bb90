/* The section "Timeline": what is in view, pointer, keys, search, switches; its state stands in the #hash (t.from ...). Zoom,
 * selected event and search are the board's too (tracks.js): both show the same. */
'use strict';

const TRACE_KEYS = [
  ['a d', 'move left and right; also shift and wheel, or drag'],
  ['w s', 'zoom in and out at the pointer; also ctrl and wheel'],
  ['\u2190 \u2192', 'event before and after on the same track'],
  ['\u2191 \u2193', 'event around it or the row above; event in it or the row below'],
  ['Enter', 'open or close the rank of the selected event'],
  ['f', 'show the selected event'],
  ['0', 'show the selected steps'],
  ['m', 'select the time of the selected event'],
  ['/', 'search by name'],
  ['n p', 'next and previous hit'],
  ['Escape', 'clear the selection'],
  ['?', 'show the keys'],
];

const Trace = {
  selected: null,
  range: null,
  tool: 'pan',
  arrows: new Set(),
  open: new Set(),

  /* Steps without events in the page too. */
  prepare() {
    const t = Pod.timeline;
    if (t) {
      t.low = t.step.reduce((low, s) => Math.min(low, s.begin), t.begin);
      t.high = t.step.reduce((high, s) => Math.max(high, s.end), t.end);
    }
  },
  section() {
    const t = Pod.timeline, title = el('h2', {}, 'Timeline');
    Trace.prepare();
    if (!t)
      return [title, emptyText(`This page has no timeline: ${ended(Pod.timeline_why || 'it was made without one')}`)];
    const canvas = el('canvas', {
      class: 'trace',
      id: 'trace',
      role: 'application',
      tabindex: '0',
      'aria-label': 'Timeline',
      onpointerdown: e => Trace.press(e),
      onpointermove: e => Trace.point(e),
      onpointerup: e => Trace.release(e),
      onpointercancel: () => Trace.drag = null,
      onpointerleave: () => {
        Trace.pointer = null;
        Card.hide();
      },
      onwheel: e => Trace.wheel(e),
      onkeydown: e => Trace.keyed(e)
    });
    Trace.drawing = new TraceDraw(canvas);
    Trace.status = el('p', {class: 'legendtext', id: 'trace-status'});
    Trace.keys = el('details', {id: 'trace-keys'}, el('summary', {}, 'Keys'),
        el('dl', {class: 'run'}, TRACE_KEYS.map(([key, what]) => [el('dt', {class: 'mono'}, key), el('dd', {}, what)])));
    return [
      title,
      el('p', {class: 'lead'},
          (t.rank.some(r => r.bound === null) ? 'Each rank on its own clock' : 'All ranks on the job\u2019s clock') +
              ': the selected steps and their neighbours. ' +
              'Click a rank to open its threads, streams and requests. ' +
              'Click an event for its details and its arrows. Hatched: waiting for other ranks. ',
          sentence(t.clock), t.replay ? ' A stand-in of the device\u2019s library gave the device records.' : ''),
      Trace.controls(), TracePanes.legend(), el('div', {}, canvas), Trace.status, TracePanes.section(), Trace.keys,
      t.left_out.length > 0 &&
          el('ul', {class: 'notes', id: 'trace-left', style: {marginTop: '14px'}},
              t.left_out.map(text => el('li', {}, sentence(text))))
    ];
  },
  controls() {
    const button = (text, what, onclick) => el('button', {type: 'button', title: what, 'aria-label': what, onclick}, text);
    const tool = (name, text, what) => el('button',
        {type: 'button', title: what, 'data-tool': name, 'aria-pressed': 'false', onclick: () => Trace.choose(name)}, text);
    Trace.tools = [
      tool('pan', 'Move', 'Drag to move in time and over the ranks'),
      tool('select', 'Select time', 'Drag to select a range of time')
    ];
    Trace.input = el('input', {
      type: 'search',
      id: 'trace-search',
      'aria-label': 'Search events by name',
      spellcheck: 'false',
      autocomplete: 'off',
      oninput: () => Trace.keep({q: Trace.input.value}),
      onkeydown: e => Trace.searching(e)
    });
    Trace.found = el('span', {class: 'count', id: 'trace-found', 'aria-live': 'polite'});
    return oneStop('div', {class: 'controls', role: 'toolbar', 'aria-label': 'Timeline'},
        el('div', {role: 'group', 'aria-label': 'Tool', class: 'group'}, Trace.tools),
        el('div', {role: 'group', 'aria-label': 'View', class: 'group'}, button('\u2212', 'Zoom out', () => Trace.zoom(1.5)),
            button('+', 'Zoom in', () => Trace.zoom(1 / 1.5)), button('\u2190', 'Move left', () => Trace.pan(-0.25)),
            button('\u2192', 'Move right', () => Trace.pan(0.25)),
            button('Selected steps', 'Show the selected steps and their neighbours', () => Trace.home()),
            button('Selected event', 'Show the selected event', () => Trace.fitEvent())),
        el('div', {role: 'group', 'aria-label': 'Ranks', class: 'group'},
            button('Open all', 'Open all ranks', () => Trace.keep({open: Pod.timeline.rank.map(r => r.rank).join(',')})),
            button('Close all', 'Close all ranks', () => Trace.keep({open: ''}))),
        el('label', {}, 'Search', Trace.input),
        el('div', {role: 'group', 'aria-label': 'Hits', class: 'group'}, button('\u2039', 'Previous hit', () => Trace.hit(-1)),
            button('\u203a', 'Next hit', () => Trace.hit(1))),
        Trace.found);
  },
  choose(name) {
    Trace.tool = name;
    Trace.later();
  },

  /* State: short names here, "t." in the address. */
  keep(changes) {
    State.keep(Object.fromEntries(Object.entries(changes).map(([key, value]) => ['t.' + key, value])));
    Trace.read();
    Trace.later();
    Tracks.later();
  },
  numbers(key) {
    return new Set(State.get('t.' + key, '').split(',').filter(text => text !== '' && !Number.isNaN(+text)).map(Number));
  },
  read() {
    if (!Pod.timeline)
      return Trace.follow();
    const number = State.number('t.sel', null), range = State.get('t.range', '').split('-').map(Number),
          off = State.get('t.off', ''), wanted = State.get('t.q', ''), open = State.get('t.open', '');
    Trace.follow();
    Trace.arrows = Trace.numbers('arrows');
    if (off !== Trace.offText) {
      Trace.offText = off;
      TraceData.off = Trace.numbers('off');
      TraceData.loaded().forEach(chunk => {
        TraceData.index(chunk);
        TraceData.count(chunk);
      });
    }
    if (wanted !== Trace.wanted) {
      Trace.wanted = wanted;
      TraceData.search(wanted);
    }
    Trace.selected = number !== null && TraceData.chunkOf(number) ? number : null;
    Trace.range = range.length === 2 && range[1] > range[0] ? range : null;
    TracePanes.changed = true;
    if (!Trace.drawing)
      return;
    if (Trace.input.value !== wanted)
      Trace.input.value = wanted;
    if (open !== Trace.openText) {
      Trace.openText = open;
      Trace.open = Trace.numbers('open');
      Trace.drawing.layout(Trace.open);
    }
    [Trace.from, Trace.to] = Trace.zoomed || Trace.around();
  },
  /* The zoom of the address, until other steps are selected. */
  follow() {
    const from = State.number('t.from', null), to = State.number('t.to', null), step = `${Select.from}-${Select.to}`,
          given = from !== null && to !== null && to > from, own = from === Trace.zoomed?.[0] && to === Trace.zoomed?.[1];
    if (given && (!own || step === Trace.step))
      Trace.zoomed = [from, to];
    else {
      if (given)
        State.keep({'t.from': '', 't.to': ''});
      Trace.zoomed = null;
    }
    Trace.step = step;
  },
  /* Index of a step of the page; -1: the timeline does not have it. */
  stepOf(at) {
    const number = Pod.cell.steps ? Pod.stepShown[at] : null;
    return Pod.timeline.step.findIndex(s => s.number === number);
  },
  /* The selected steps and their neighbours. */
  around() {
    const t = Pod.timeline, first = Trace.stepOf(Select.from), last = Trace.stepOf(Select.to),
          any = t.step.findIndex(s => s.chunk !== null), from = first >= 0 ? first : any, to = last >= from ? last : from;
    if (from < 0)
      return [t.low, Math.max(t.high, t.low + 1)];
    const near = t.step.slice(Math.max(0, from - 1), to + 2), begin = near[0].begin, end = Math.max(...near.map(s => s.end)),
          edge = 0.01 * (end - begin);
    return [begin - edge, end + edge];
  },
  bounds() {
    return [Pod.timeline.low, Pod.timeline.high];
  },
  /* Brings a rank's rows into view; -1: this page has none of it. */
  toRank(at) {
    const d = Trace.drawing, row = d && d.rows.find(r => r.rank === at);
    if (!d)
      return;
    if (row)
      d.scroll = Math.max(0, row.y - TRACE.head);
    Trace.problem = row ? Trace.problem : 'This page has no events of that rank; pod.h5 and the event files have them. ';
    Trace.later();
  },
  reveal(one) {
    if (!Trace.drawing.ofTrack[one.trackNumber])
      Trace.keep({open: [...Trace.open, one.rank].join(',')});
    Trace.revealTime(one);
    const d = Trace.drawing, top = d.rowOf(one.trackNumber).y, y = top + one.depth * TRACE.level,
          room = d.height - TRACE.head - 2 * TRACE.level;
    if (y < d.scroll || y > d.scroll + room)
      d.scroll = Math.max(0, y - room / 2);
    Trace.later();
  },
  toggle(rank) {
    const open = new Set(Trace.open);
    if (!open.delete(rank))
      open.add(rank);
    Trace.keep({open: [...open].join(',')});
  },
  draw() {
    if (!Trace.drawing)
      return;
    Trace.read();
    Trace.paint();
  },
  later() {
    if (!Trace.waiting && Trace.drawing)
      Trace.waiting = requestAnimationFrame(() => Trace.paint());
  },
  came() {
    TracePanes.changed = true;
    Trace.later();
    Tracks.later();
  },
  failed(e) {
    Trace.problem = `A part of the timeline cannot be shown: ${e.message}. `;
    console.error(e);
    Trace.later();
  },
  paint() {
    cancelAnimationFrame(Trace.waiting);
    Trace.waiting = 0;
    const d = Trace.drawing;
    TraceData.need(Trace.wants(), Trace.came, Trace.failed);
    Trace.loading = TraceData.loading();
    d.paint({
      from: Trace.from,
      to: Trace.to,
      hits: TraceData.hits,
      selected: Trace.selected,
      range: Trace.range,
      arrows: Trace.arrows,
      steps: [Pod.stepShown[Select.from], Pod.stepShown[Select.to]],
      rank: Pod.timeline.rank.findIndex(r => r.rank === Pod.worker.rank[Select.worker])
    },
        Math.round(Math.max(120, Math.min(560, d.total + TRACE.head + 4))));
    TracePanes.draw();
  },

  /* Which chunks: of events outside of steps, of what is in view or selected, of all steps while a name is searched. Arrows of the
   * selected event may come from the steps beside its own, and lead there. */
  wants() {
    const {range} = Trace, from = Math.min(Trace.from, range ? range[0] : Infinity),
          to = Math.max(Trace.to, range ? range[1] : -Infinity), list = Pod.timeline.chunk,
          at = Trace.selected === null ? NaN : list.indexOf(TraceData.chunkOf(Trace.selected));
    return (chunk, i) => !!TraceData.hits || chunk.step === null || (chunk.begin < to && chunk.end > from) || Math.abs(i - at) <= 1;
  },

  /* For tests: what is loaded, drawn and found. */
  stats() {
    const list = TraceData.loaded(), sum = key => list.reduce((n, c) => n + (c[key] || 0), 0), d = Trace.drawing;
    return {
      events: sum('events'),
      flows: sum('flows'),
      hidden: sum('hidden'),
      hits: sum('found'),
      drawn: d.visible,
      arrows: d.flows,
      loading: Trace.loading,
      from: Trace.from,
      to: Trace.to,
      selected: Trace.selected
    };
  },
};
