/* The pod viewer's section: the selected step with a column for every rank, the selected rank over all steps, hover card. */
'use strict';

const Viewer = {
  selects: [],
  section() {
    if (!Pod.cell.steps || !Pod.workers)
      return emptyText('No rank has a complete step.',
          'Choose steps that the job reaches (--steps A:B). Without marks the whole window is one step.');
    Viewer.columns = new Columns({
      id: 'step-ranks',
      height: 240,
      axis: 'rank',
      onhover: (i, e) => Viewer.hover(i === null ? null : Select.from, i === null ? null : Viewer.order[i], e),
      onpick: i => Viewer.pin(Select.from, Viewer.order[i]),
      onkey: Viewer.key
    });
    Viewer.over = new Columns({
      id: 'rank-steps',
      height: 150,
      axis: 'step number',
      numbers: 'steps of the pinned rank as a table',
      parts: partNames(),
      onhover: (i, e) => Viewer.hover(i, i === null ? null : Select.worker, e),
      onpick: i => Viewer.pin(i, Select.worker),
      onkey: Viewer.key
    });
    Viewer.details = el('div', {class: 'details', id: 'viewer-details', 'aria-live': 'polite'});
    Viewer.title = el('h3', {id: 'pinned-title'});
    Viewer.overTitle = el('h3', {});
    const ids = Pod.categoryPlanes.map(p => p.category);
    return [
      el('p', {class: 'lead'}, 'The selected step of every rank, and every step of the selected rank, by category.'),
      Viewer.controls(),
      el('div', {class: 'pinned'},
          el('div', {}, Viewer.title, Viewer.columns.element, legend(ids, Pod.sum.wait_ns > 0), Viewer.overTitle,
              Viewer.over.element),
          Viewer.details),
      Viewer.table(), Bands.section(), Together.parts(),
      Pod.left_out.length > 0 && el('ul', {class: 'notes', style: {marginTop: '14px'}}, Pod.left_out.map(t => el('li', {}, t)))
    ];
  },

  select(label, id, options, key) {
    const e = el(
        'select', {id, onchange: () => State.set({[key]: e.value})}, options.map(([value, text]) => el('option', {value}, text)));
    Viewer.selects.push([e, key]);
    return el('label', {}, label, e);
  },
  controls() {
    const hosts = [...new Set(Pod.worker.host)].sort((a, b) => a.localeCompare(b, 'en', {numeric: true}));
    if (Pod.workers < 2)
      return null;
    return el('div', {class: 'controls'},
        Viewer.select('Group by', 'group',
            [['', 'nothing'], ...hosts.length > 1 ? [['host', 'host']] : [], ...Pod.table('role') ? [['role', 'role']] : []],
            'group'),
        Viewer.select('Sort', 'sort',
            [['rank', 'rank'], ['host', 'host'], ['late', 'stragglers first'], ['shown', 'largest value of the heat map first']],
            'sort'),
        hosts.length > 1 &&
            Viewer.select(
                'Host', 'host', [['', 'all ' + Format.count(hosts.length)], ...hosts.map(h => [h, h || '(none)'])], 'host'),
        Pod.table('role') &&
            Viewer.select('Role', 'role',
                [['', 'all'], ...Array.from(Pod.column(Pod.table('role'), 'role'), r => [String(r), Pod.roleName(r)])], 'role'));
  },

  /* Which ranks, and in which order. */
  read() {
    if (!Select.plane)
      return;
    const now =
        ['host', 'role', 'group', 'sort'].map(key => State.get(key, '')).join('|') + Select.plane.key + Pod.ready(Select.plane);
    if (now !== Viewer.sortedFor)
      Viewer.order = Viewer.sorted();
    Viewer.sortedFor = now;
  },
  sorted() {
    const host = State.get('host', ''), role = State.get('role', ''), by = State.get('sort', 'rank'),
          all = Array.from({length: Pod.workers}, (unused, w) => w);
    const list = all.filter(w => (!host || Pod.worker.host[w] === host) && (role === '' || String(Pod.role(w)) === role));
    if (by === 'host')
      list.sort((a, b) => Pod.worker.host[a].localeCompare(Pod.worker.host[b], 'en', {numeric: true}) || a - b);
    else if (by === 'late')
      list.sort((a, b) => Pod.worker.kept_ns[b] - Pod.worker.kept_ns[a] || a - b);
    else if (by === 'shown' && Pod.ready(Select.plane)) {
      const sum = new Float64Array(Pod.workers);
      for (let s = 0; s < Pod.cell.steps; s++)
        for (const w of list)
          sum[w] += Pod.at(Select.plane, s, w);
      list.sort((a, b) => sum[b] - sum[a] || a - b);
    }
    return Viewer.grouped(list.length ? list : all);
  },
  /* Ranks of a group stand together, the groups in the order of their first ranks. */
  grouped(list) {
    const by = State.get('group', ''),
          of = by === 'host' ? w => Pod.worker.host[w]
        : by === 'role'      ? w => Pod.role(w)
                             : null,
          map = new Map();
    Viewer.groups = [];
    if (!of)
      return list;
    for (const w of list)
      map.has(of(w)) ? map.get(of(w)).push(w) : map.set(of(w), [w]);
    const order = [...map].sort(
        (a, b) => State.get('sort', 'rank') === 'rank' || State.get('sort', '') === 'host' ? Table.compare(a[0], b[0]) : 0);
    let from = 0;
    for (const [value, ranks] of order) {
      const name = by === 'host' ? (value || '(no host)') : Pod.roleName(value);
      Viewer.groups.push({name, from, to: from += ranks.length});
    }
    return order.flatMap(([, ranks]) => ranks);
  },

  draw() {
    if (!Viewer.columns)
      return;
    for (const [e, key] of Viewer.selects)
      e.value = State.get(key, {sort: 'rank', host: '', role: '', group: ''}[key]);
    Bands.draw();
    Viewer.pinned();
  },
  /* The columns, once all that they stack is unpacked, and that is when they come into view. */
  pinned() {
    Viewer.title.textContent = `Step ${Pod.stepShown[Select.from]}, every rank`;
    Viewer.overTitle.textContent = `${Pod.workerName(Select.worker)}, every step`;
    if (Pod.stack().some(p => p && !Pod.ready(p)) && !seen(Viewer.title, Viewer.pinned))
      return;
    if (!Pod.later(Pod.stack(), () => Viewer.pinned()))
      return;
    const item = (s, w, label) => ({label, segments: Viewer.segments(s, w), total: Pod.at(Pod.plane.step_ns, s, w)});
    Viewer.columns.show(Viewer.order.map(w => item(Select.from, w, String(Pod.worker.rank[w]))),
        Viewer.order.indexOf(Select.worker), 'Time of the pinned step by rank');
    Viewer.over.show(
        Pod.stepShown.map((n, s) => item(s, Select.worker, String(n))), Select.from, `Steps of ${Pod.workerName(Select.worker)}`);
    Viewer.details.replaceChildren(
        el('h3', {}, 'Selected'), ...Viewer.describe(Select.from, Select.worker), Pod.timeline ? Viewer.timelineButton() : '');
  },
  timelineButton() {
    const w = Select.worker;
    return el('button', {type: 'button', id: 'to-timeline', style: {marginTop: '8px'}, onclick: () => Viewer.timeline(w)},
        `Timeline of ${Pod.workerName(w)}`);
  },
  /* Pins the rank, opens its threads in the timeline, and goes there. */
  timeline(w) {
    if (!Pod.timeline)
      return;
    const rank = Pod.worker.rank[w], at = Pod.timeline.rank.findIndex(r => r.rank === rank);
    State.set({rank, at: 'timeline', 't.from': '', 't.to': '', 't.open': [...new Set([...Trace.open, rank])].join(',')});
    App.show('timeline');
    Trace.toRank(at);
  },

  segments(s, w) {
    return Pod.present(s, w) ? segmentsOf(p => Pod.at(p, s, w), Pod.at(Pod.plane.wait_ns, s, w)) : [];
  },
  /* rank, host, step, its straggler, total, each category, largest category */
  describe(s, w) {
    const head = [
      el('div', {}, el('b', {}, Pod.workerName(w)), Pod.worker.host[w] ? ' on ' + Pod.worker.host[w] : '',
          Pod.role(w) >= 0 && `, role ${Pod.role(w)}`),
      el('div', {}, `step ${Pod.stepShown[s]}, ${Viewer.straggler(s)}`)
    ];
    if (!Pod.present(s, w))
      return [
        ...head,
        el('div', {},
            Pod.worker.status[w].startsWith('missing') ? `This rank is ${Pod.worker.status[w]}.`
                                                       : 'No data for this step on this rank.')
      ];
    if (!Pod.later(Pod.stack(), () => Card.hide()))
      return [...head, el('div', {}, 'Unpacking the categories ...')];
    const total = Pod.at(Pod.plane.step_ns, s, w), parts = Viewer.segments(s, w), kept = Pod.at(Pod.plane.kept_ns, s, w),
          sums = new Map();
    for (const p of parts)
      sums.set(p.id, {ns: p.ns + (sums.has(p.id) ? sums.get(p.id).ns : 0), name: p.name.replace(', waiting', '')});
    const largest = [...sums.values()].sort((a, b) => b.ns - a.ns)[0], plane = Select.plane,
          plain = plane.category || ['step_ns', 'wait_ns', 'kept_ns'].includes(plane.key);
    return [
      ...head,
      el('table', {},
          el('tr', {}, el('td', {}, 'step time'), el('td', {class: 'num', 'data-v': total}, Format.time(total)), el('td')),
          breakdownRows(parts, total),
          Pod.workers > 1 &&
              el('tr', {}, el('td', {}, KEPT), el('td', {class: 'num', 'data-v': kept}, Viewer.kept(kept)), el('td')),
          !plain &&
              el('tr', {}, el('td', {}, plane.name),
                  el('td', {class: 'num'},
                      !Pod.ready(plane)          ? '\u2026'
                          : Pod.has(plane, s, w) ? Format.by(plane.unit, Pod.at(plane, s, w))
                                                 : 'not recorded'),
                  el('td'))),
      el('div', {}, 'Largest category: ', el('b', {}, largest ? largest.name : '\u2013'))
    ];
  },
  /* Waiting below the clock error is of nobody. */
  kept(ns) {
    return ns > 0 && ns <= Pod.sum.bound_ns ? 'tie' : Format.time(ns);
  },
  straggler(s) {
    return Pod.workers < 2 ? 'the only rank' : stragglerOf(s * Pod.cell.stride);
  },
  hover(s, w, event) {
    if (s === null || w === null || w === undefined)
      Card.hide();
    else
      Card.show(event.clientX, event.clientY, Viewer.describe(s, w));
  },

  pin(s, w) {
    Select.set({from: s, worker: w});
  },
  move(steps, workers) {
    const at = Viewer.order.indexOf(Select.worker),
          next = Math.max(0, Math.min(Viewer.order.length - 1, (at < 0 ? 0 : at) + workers));
    Viewer.pin(Select.from + steps, workers ? Viewer.order[next] : Select.worker);
  },
  key(event) {
    if (event.key === 'Enter')
      return Viewer.timeline(Select.worker);
    const move = {
      ArrowLeft: [-1, 0],
      ArrowRight: [1, 0],
      ArrowUp: [0, -1],
      ArrowDown: [0, 1],
      PageUp: [-10, 0],
      PageDown: [10, 0],
      Home: [-Pod.cell.steps, 0],
      End: [Pod.cell.steps, 0]
    }[event.key];
    if (!move || event.ctrlKey || event.metaKey || event.altKey)
      return;
    event.preventDefault();
    Viewer.move(...move);
  },

  /* The numbers of the pinned step's columns. */
  table() {
    const at = plane => w => Pod.ready(plane) && Pod.has(plane, Select.from, w) ? Pod.at(plane, Select.from, w) : null;
    const columns = [
      {name: 'rank', get: w => Pod.worker.rank[w]}, {name: 'host', text: true, get: w => Pod.worker.host[w]},
      ...Select.quantities().map(p => ({
        name: p.name,
        unit: p.unit,
        what: p.what,
        minor: !['step_ns', 'wait_ns', 'kept_ns'].includes(p.key) && !p.category,
        get: at(p)
      }))
    ];
    const table = new Table({
      id: 'cells',
      title: 'Every rank in the selected step',
      columns,
      rows: Pod.workers,
      pick: w => Select.set({worker: w}),
      picked: w => w === Select.worker
    });
    const box = details('Details: the selected step as a table', table.element);
    box.addEventListener('toggle', () => Pod.later(Pod.cell.plane, () => table.draw()));
    return box;
  },
};

/* One quantity on the whole page. */
const KEPT = 'kept others waiting', KEPT_WHAT = 'mean time per step that each other rank waits for this rank';
