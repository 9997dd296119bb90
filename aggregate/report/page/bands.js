/* Large pods: percentiles over ranks of one quantity per step, the ranks with most by name, and groups of ranks by host and role to
 * look into. The colour of the pod viewer chooses the quantity. */
'use strict';

const Bands = {
  names: ['least', '25 %', 'median', '75 %', 'most'],

  section() {
    if (!Pod.band || Pod.workers < 2)
      return null;
    Bands.plot = new Plot({
      id: 'bands',
      height: 190,
      x: {title: 'step number', label: v => Number.isInteger(v) ? String(v) : ''},
      y: {title: 'time per step', unit: 'ns'},
      describe: i => Bands.describe(i),
      onpick: i => Select.set({from: Select.nearest(Bands.view.x[i])})
    });
    Bands.title = el('h3', {id: 'bands-title', style: {marginTop: '18px'}});
    Bands.note = el('p', {class: 'lead', style: {margin: '0'}});
    const at = q => i => Bands.view && Bands.view.q ? Bands.view.q[q][i] : null;
    Bands.table = new Table({
      id: 'bands-table',
      title: 'Percentiles over ranks by step',
      columns: [
        {name: 'step', get: i => Bands.view ? Bands.view.x[i] : null},
        ...Bands.names.map((name, q) => column(name, 'ns', 'over ranks', at(q))), {
          name: 'most on',
          what: 'rank',
          get: i => Bands.view && Bands.view.worst[i] >= 0 ? Pod.worker.rank[Bands.view.worst[i]] : null
        }
      ],
      rows: Pod.band.bins,
      first: 24,
      pick: i => Select.set({from: Select.nearest(Bands.view.x[i])})
    });
    return el('div', {}, Bands.title, Bands.note, Bands.plot.element, plotLegend([
      {name: 'median', colour: 'var(--accent)'}, {name: '25 % to 75 %', colour: 'var(--accent)', wide: true, alpha: 0.45},
      {name: 'least to most', colour: 'var(--accent)', wide: true, alpha: 0.18}
    ]),
        details('Details: percentiles of every step as a table', Bands.table.element),
        Bands.meansOf = el('p', {class: 'lead', style: {margin: '14px 0 0'}}), Bands.groups());
  },

  /* The quantity of the viewer; step time where it has no time. */
  plane() {
    return Select.plane && Select.plane.unit === 'ns' ? Select.plane : Pod.plane.step_ns;
  },
  /* Of all ranks the file has them, of every step. */
  given(plane) {
    const b = Pod.band.quantity.find(k => k.key === plane.key);
    return b && {x: Array.from(Pod.band.first, s => Pod.step.number[s]), q: b.q.map(v => Array.from(v)), worst: b.worst};
  },
  /* Of some ranks they are computed, of the steps of this page. */
  computed(plane, list) {
    const view = {x: [], q: [[], [], [], [], []], worst: []}, size = Math.ceil(Pod.cell.steps / 1000);
    for (let from = 0; from < Pod.cell.steps; from += size) {
      const values = [];
      let worst = -1, most = -Infinity;
      for (let s = from; s < Math.min(Pod.cell.steps, from + size); s++)
        for (const w of list)
          if (Pod.has(plane, s, w)) {
            const v = Pod.at(plane, s, w);
            values.push(v);
            if (v > most) {
              most = v;
              worst = w;
            }
          }
      const sorted = Float64Array.from(values).sort(), n = sorted.length;
      view.x.push(Pod.stepShown[from]);
      view.worst.push(worst);
      [0, (n - 1) >> 2, (n - 1) >> 1, n - 1 - ((n - 1) >> 2), n - 1].forEach((i, q) => view.q[q].push(n ? sorted[i] : null));
    }
    return view;
  },
  chosen() {
    return State.get('host', '') || State.get('role', '') ? Viewer.order : null;
  },

  draw() {
    if (!Bands.plot)
      return;
    const plane = Bands.plane(), list = Bands.chosen(),
          now = [plane.key, list ? State.get('host', '') + '/' + State.get('role', '') : ''].join();
    if (now !== Bands.drawn) {
      const view = list ? Pod.later([Pod.plane.present, plane], () => Bands.draw()) && Bands.computed(plane, list)
                        : Bands.given(plane) ||
              (Pod.later([Pod.plane.present, plane], () => Bands.draw()) && Bands.computed(plane, Viewer.order));
      if (!view)
        return;
      Bands.drawn = now;
      Bands.view = view;
      Bands.table.refill(view.x.length);
      Bands.tables.forEach(t => t.draw());
    }
    Bands.meansOf.textContent =
        `Means per step of: ${plane.name}.` + (plane === Select.plane ? '' : ` ${Select.plane.name} has no means of ranks.`);
    const {x, q, worst} = Bands.view, colour = css('--accent'), known = q[2].map((v, i) => v === null ? -1 : i).filter(i => i >= 0),
                 of = v => known.map(i => v[i]), kx = of(x);
    Bands.title.textContent = `${plane.name}: percentiles over ${
        list ? Format.count(list.length) + ' chosen' : 'all ' + Format.count(Pod.workers)} ranks, every step`;
    const top = q[4].reduce((best, v, i) => v !== null && (best < 0 || v > q[4][best]) ? i : best, -1);
    Bands.note.textContent = top < 0 ? 'No rank has this quantity.'
                                     : `Largest: ${Pod.workerName(worst[top])} in step ${x[top]}, ${
                                           Format.time(q[4][top])}; the median of that step is ${Format.time(q[2][top])}.`;
    Bands.plot.show({
      bands: [
        {x: kx, low: of(q[0]), high: of(q[4]), colour, alpha: 0.16}, {x: kx, low: of(q[1]), high: of(q[3]), colour, alpha: 0.34}
      ],
      lines: [{name: 'median', x, y: q[2], colour, plain: x.length > 40}],
      mark: Pod.stepShown[Select.from],
      what: Bands.title.textContent + '. ' + Bands.note.textContent
    });
  },
  describe(i) {
    const {x, q, worst} = Bands.view;
    return [
      el('b', {}, `step ${x[i]}`),
      el('table', {},
          Bands.names.map(
              (name, k) => el('tr', {}, el('td', {}, name + (k === 4 && worst[i] >= 0 ? `: ${Pod.workerName(worst[i])}` : '')),
                  el('td', {class: 'num'}, Format.time(q[k][i])))))
    ];
  },

  /* Mean per step of a rank in the chosen quantity, from sums over all its steps; null: not known so. */
  mean(w) {
    const plane = Bands.plane(), r = Pod.worker;
    if (plane.category && plane.category <= Pod.category.length)
      return Pod.mean(r.category[plane.category - 1], w);
    if (plane.key === 'kept_ns')
      return r.kept_ns[w];
    if (['step_ns', 'wait_ns', 'transfer_ns'].includes(plane.key))
      return Pod.mean(r[plane.key], w);
    if (plane.key === 'blame_ns')
      return Blame.ranks().has(r.rank[w]) ? Blame.ranks().get(r.rank[w]).ns / Math.max(1, Pod.sum.steps) : 0;
    return null;
  },
  /* Hosts and roles as rows; a click shows only their ranks. */
  groups() {
    const rows = [], hosts = new Set(Pod.worker.host);
    const add = (kind, name, value, list) => rows.push({kind, name, value, list});
    const by = f => {
      const map = new Map();
      for (let w = 0; w < Pod.workers; w++)
        map.has(f(w)) ? map.get(f(w)).push(w) : map.set(f(w), [w]);
      return map;
    };
    if (hosts.size > 1)
      by(w => Pod.worker.host[w]).forEach((list, host) => add('host', host || '(none)', host, list));
    if (Pod.table('role'))
      by(w => Pod.role(w)).forEach((list, role) => add('role', Pod.roleName(role), String(role), list));
    Bands.tables = [];
    if (!rows.length)
      return null;
    /* Means of a group's ranks, sorted; made once a quantity. */
    const sorted = i => {
      const key = Bands.plane().key, row = rows[i];
      if (row.key !== key) {
        row.key = key;
        row.sorted = row.list.map(w => [Bands.mean(w), w]).filter(([v]) => v !== null).sort((a, b) => a[0] - b[0]);
      }
      return row.sorted;
    };
    const at = part => i => {
      const s = sorted(i);
      return s.length ? s[part === 4 ? s.length - 1 : Math.floor((s.length - 1) * part / 4)][0] : null;
    };
    const table = new Table({
      id: 'groups',
      title: 'Groups of ranks by host and role',
      label: 'Groups of ranks',
      columns: [
        {name: 'by', text: true, get: i => rows[i].kind}, {name: 'group', text: true, get: i => rows[i].name},
        {name: 'ranks', get: i => rows[i].list.length},
        ...Bands.names.map((name, q) => column(name, 'ns', 'over the ranks of the group', at(q))),
        {name: 'most on', what: 'rank', get: i => sorted(i).length ? Pod.worker.rank[sorted(i)[sorted(i).length - 1][1]] : null}
      ],
      rows: rows.length,
      first: 8,
      sort: '-7',
      pick: i => State.set(Bands.isChosen(rows[i]) ? {host: '', role: ''} : {host: '', role: '', [rows[i].kind]: rows[i].value}),
      picked: i => Bands.isChosen(rows[i])
    });
    Bands.tables.push(table);
    return el('div', {style: {marginTop: '14px'}}, table.element);
  },
  isChosen(row) {
    return row.value !== '' && State.get(row.kind, '') === row.value;
  },
};
