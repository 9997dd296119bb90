/* Beside the timeline's canvas: legend and switches, hover card, details of an event, sums of a selected time. */
'use strict';

const TRACE_ENDS = {
  /* [kind of flow]: what the other end is to the event, by direction */
  collective: ['waited for', 'was waited for by'],
  message: ['sent to', 'received from'],
  launch: ['launched', 'launched by'],
  request: ['completed by', 'begun by']
};
const TRACE_FLAGS = [[1, 'It began before what was recorded.'], [2, 'It ended after what was recorded.'], [8, 'It failed.']];
const TRACE_SHOWN = 12;

/* Controls that are one stop of the tab key: the arrow keys lead from one to the next. */
function oneStop(tag, attributes, ...children) {
  const box = el(tag, attributes, ...children), all = () => [...box.querySelectorAll('button, input[type=checkbox]')],
        here = () => all().filter(e => e.offsetParent);
  const stop = to => all().forEach(e => e.tabIndex = e === to ? 0 : -1);
  box.addEventListener('focusin', e => all().includes(e.target) && stop(e.target));
  box.addEventListener('keydown', e => {
    const by = {ArrowRight: 1, ArrowLeft: -1}[e.key], list = here(), at = list.indexOf(e.target);
    if (!by || at < 0)
      return;
    e.preventDefault();
    list[(at + by + list.length) % list.length].focus();
  });
  stop(all()[0]);
  return box;
}

const TracePanes = {
  legend() {
    const swatch = colour => el('span', {class: 'swatch', style: {backgroundColor: colour}});
    const box = (key, value, text, colour) => {
      const input = el('input', {
        type: 'checkbox',
        'data-key': key,
        'data-value': value,
        onchange: () => {
          const set = Trace.numbers(key);
          if (!set.delete(value))
            set.add(value);
          Trace.keep({[key]: [...set].join(',')});
        }
      });
      TracePanes.boxes.push(input);
      return el('label', {hidden: true}, input, colour && swatch(colour), text);
    };
    TracePanes.boxes = [];
    return [
      oneStop('div', {class: 'switches', role: 'group', 'aria-label': 'Categories', id: 'trace-legend'},
          el('span', {class: 'title'}, 'Category'),
          Pod.category.filter(k => k.id <= 10).map(k => box('off', k.id, k.name, k.colour)),
          box('off', 0, 'Steps and marks', TRACE.none)),
      TracePanes.arrows = oneStop('div', {class: 'controls switches', role: 'group', 'aria-label': 'Arrows', id: 'trace-arrows'},
          el('span', {class: 'title'}, 'All arrows'),
          Pod.timeline.flow.map(
              (word, kind) => box(
                  'arrows', kind, {collective: 'collectives', message: 'messages', launch: 'launches', request: 'requests'}[word])))
    ];
  },
  section() {
    TracePanes.details = el('div', {class: 'details', id: 'trace-details', 'aria-live': 'polite'});
    TracePanes.error = el('p', {class: 'legendtext', id: 'trace-error'});
    TracePanes.title = el('h3', {id: 'trace-range'});
    TracePanes.sums = [];
    const of = key => i => TracePanes.sums[i][key];
    TracePanes.table = new Table({
      id: 'tracesum',
      title: 'Events of the selected time',
      first: 20,
      sort: '-4',
      columns: [
        {name: 'name', text: true, class: 'wide', get: of('name')},
        {name: 'category', text: true, get: of('category'), minor: true},
        column('count', '', 'events that overlap the selected time', of('count')),
        column('total', 'ns', 'time of these events inside of the selected time', of('total')),
        column('self', 'ns', 'the same without the events nested in them', of('self'))
      ]
    });
    TracePanes.rangeBox = el('div', {}, TracePanes.title, TracePanes.table.element);
    return el('div', {class: 'pinned trace'}, TracePanes.rangeBox, el('div', {}, TracePanes.details, TracePanes.error));
  },

  draw() {
    TracePanes.say();
    if (!TracePanes.changed)
      return;
    TracePanes.changed = false;
    TracePanes.occurring();
    for (const input of TracePanes.boxes)
      input.checked = Trace.numbers(input.dataset.key).has(+input.dataset.value) === (input.dataset.key === 'arrows');
    for (const b of Trace.tools)
      b.setAttribute('aria-pressed', String(b.dataset.tool === Trace.tool));
    Trace.drawing.canvas.dataset.tool = Trace.tool;
    const key = `${Trace.selected} ${TraceData.loaded().length}`;
    if (key !== TracePanes.key) {
      TracePanes.key = key;
      TracePanes.details.replaceChildren(...TracePanes.describe());
    }
    if (!Trace.drag)
      TracePanes.selection();
  },
  /* Switches of what the parts that are here have, and of what the address switched. */
  occurring() {
    const has = {off: new Set(), arrows: new Set()};
    for (const c of TraceData.loaded()) {
      c.categories.forEach(id => has.off.add(id));
      c.kinds.forEach(kind => has.arrows.add(kind));
    }
    for (const input of TracePanes.boxes) {
      const {key, value} = input.dataset;
      input.parentElement.hidden = !has[key].has(+value) && !Trace.numbers(key).has(+value);
    }
    TracePanes.arrows.hidden = TracePanes.boxes.every(input => input.dataset.key !== 'arrows' || input.parentElement.hidden);
  },
  /* What changes with each frame. */
  say() {
    const d = Trace.drawing, stats = Trace.stats(), origin = Pod.timeline.low,
          part =
              [
                `${Format.count(d.visible)} events in view: ${Format.time(Trace.to - Trace.from)} from ${
                    Format.time(Trace.from - origin)} on`,
                stats.hidden && `${Format.count(stats.hidden)} events are hidden by their category`,
                d.notDrawn && `${Format.count(d.notDrawn)} arrows in view are not drawn`,
                Trace.loading && `${Format.count(Trace.loading)} parts are loading`
              ].filter(Boolean)
                  .join('; ') +
        '.';
    Trace.status.textContent = (Trace.problem || '') + part;
    d.canvas.setAttribute(
        'aria-label', `Timeline of ${Format.count(Pod.timeline.rank.length)} ranks: ${part} Press ? for the keys.`);
    const found =
        TraceData.hits ? `${Format.count(stats.hits)} hit${stats.hits === 1 ? '' : 's'}` + (Trace.loading ? ' so far' : '') : '';
    if (Trace.found.textContent !== found)
      Trace.found.textContent = found;
    const bound = d.error / d.scale;
    TracePanes.error.textContent = !(bound >= 0) ? ''
        : d.error > 1 ? `The bar at the end of the waiting is the clock error, ${Format.time(bound)} to each side.`
                      : `Clock error ${Format.time(bound)}: less than a pixel.`;
  },

  category(id) {
    return (Pod.category.find(k => k.id === id) || {name: 'none'}).name;
  },
  waiting(call) {
    if (!call || call.wait === null)
      return '';
    if (Number.isNaN(call.bound))
      return 'unknown: the ranks have no common clock';
    const error = ` (clock error ${Format.time(call.bound)})`;
    return call.wait <= 0         ? 'did not wait'
        : call.wait <= call.bound ? `tie: waited less than the clock error, ${Format.time(call.bound)}`
                                  : `waited ${Format.time(call.wait)}${call.last >= 0 ? ` for rank ${call.last}` : ''}${error}`;
  },
  hover(x, y, event) {
    const d = Trace.drawing, box = d.at(x, y), row = x < TRACE.label || !box ? d.rowAt(y) : null, t = Pod.timeline;
    const line = text => text && el('div', {}, text);
    let lines = null;
    if (box && box.merged > 1)
      lines = [el('b', {}, `${Format.count(box.merged)} events`), line('Click to zoom in.')];
    else if (box) {
      const one = TraceData.of(box.number);
      lines = [el('b', {}, one.name), line(Format.time(one.length)), line(TracePanes.waiting(one.call)), line(`rank ${one.rank}`)];
    } else if (row && y >= TRACE.head && row.counter)
      lines = TracePanes.sample(row.counter, Trace.timeAt(x));
    else if (row && y >= TRACE.head && row.device)
      lines = [el('b', {}, `GPU ${row.device - 1} busy`), line(`rank ${t.rank[row.rank].rank}: when any of its streams had work`)];
    else if (row && y >= TRACE.head && x < TRACE.label) {
      const rank = t.rank[row.rank];
      lines = [
        el('b', {}, row.flat ? `rank ${rank.rank}` : row.name), line(rank.host && 'on ' + rank.host),
        line(rank.bound === null ? 'its clock is not joined' : `clock error \u2264${NB}${Format.time(rank.bound)}`),
        line(rank.missing)
      ];
    }
    if (lines)
      Card.show(event.clientX, event.clientY, lines.filter(Boolean));
    else
      Card.hide();
  },
  sample(counter, time) {
    const k = counter.time.reduce((best, at, i) => Math.abs(at - time) < Math.abs(counter.time[best] - time) ? i : best, 0);
    return counter.time.length ? [
      el('b', {}, counter.name), el('div', {}, Format.by(counter.unit, counter.value[k])),
      el('div', {}, `at ${Format.time(counter.time[k] - Pod.timeline.low)}`)
    ]
                               : null;
  },

  describe() {
    const one = Trace.selected === null ? null : TraceData.of(Trace.selected);
    if (!one)
      return [el('h3', {}, 'Event'), el('p', {class: 'legendtext'}, 'Click an event, or press an arrow key in the timeline.')];
    const exact = ns => ({class: 'num', 'data-v': ns, title: `${Format.count(ns)} ns`});
    const row = (name, text, attributes) => text === null || text === undefined || text === ''
        ? null
        : el('tr', {}, el('td', {}, name), el('td', attributes || {class: 'num'}, text));
    const {call} = one, about = call && call.comm;
    return [
      el('h3', {}, one.name || '(no name)'),
      el('table', {}, row('category', TracePanes.category(one.category)),
          row('begin', Format.time(one.begin - Pod.timeline.low), exact(one.begin - Pod.timeline.low)),
          row('length', Format.time(one.length), exact(one.length)), row('self', Format.time(one.self), exact(one.self)),
          row('step', one.step === null ? 'none' : String(one.step)), row('track', one.track.name),
          row('communicator', about && `${about.name ? about.name + ', ' : ''}${Format.count(about.size)} ranks`),
          row('sequence', call && call.sequence !== null ? Format.count(call.sequence) : ''),
          row('peer or root',
              call &&
                  (call.peer >= 0 ? `rank ${call.peer}`
                          : call.peer === -2 ? 'any'
                                             : '')),
          row('sent', call && call.sent ? Format.bytes(call.sent) : ''),
          row('received', call && call.received ? Format.bytes(call.received) : ''),
          row('tag', call && call.tag !== null ? String(call.tag) : ''),
          row('request', call && call.request ? String(call.request) : '')),
      TracePanes.waiting(call) && el('p', {}, sentence(TracePanes.waiting(call))),
      ...TRACE_FLAGS.filter(([flag]) => one.flags & flag).map(([flag, text]) => el('p', {}, text)), TracePanes.ends(one.number)
    ].filter(Boolean);
  },
  ends(number) {
    const flows = TraceData.flowsOf(number), button = flow => {
      const out = flow.from === number, other = out ? flow.to : flow.from, end = TraceData.of(other);
      return el('li', {},
          el('button', {type: 'button', 'data-to': other, onclick: () => Trace.select(other, true)},
              `${TRACE_ENDS[Pod.timeline.flow[flow.kind]][out ? 0 : 1]} ` +
                  (end ? `rank ${end.rank}: ${end.name}` : 'an event of another step')));
    };
    return flows.length > 0 &&
        el('ul', {class: 'notes', 'aria-label': 'Arrows'}, flows.slice(0, TRACE_SHOWN).map(button),
            flows.length > TRACE_SHOWN && el('li', {}, `and ${Format.count(flows.length - TRACE_SHOWN)} more`));
  },

  selection() {
    const {range} = Trace, key = `${range} ${Trace.offText} ${TraceData.loaded().length}`;
    TracePanes.table.element.hidden = !range;
    TracePanes.title.textContent = range ? `Selected time: ${Format.time(range[1] - range[0])}` : 'Selected time';
    TracePanes.hint = TracePanes.hint ||
        TracePanes.rangeBox.appendChild(
            el('p', {class: 'legendtext'}, 'Drag with \u201cSelect time\u201d, or with shift, to add up the events of a time.'));
    TracePanes.hint.hidden = !!range;
    if (!range || key === TracePanes.summed)
      return;
    TracePanes.summed = key;
    TracePanes.sums = TraceData.sums(...range).map(sum => ({...sum, category: TracePanes.category(sum.category)}));
    TracePanes.table.refill(TracePanes.sums.length);
  },
};
