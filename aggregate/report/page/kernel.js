/* Operators and kernels by name and by type as bars, and their tables: /op_stats, /kernel_stats and /precision. */
'use strict';

const BY = 'what its category rests on, of all ranks the weakest: a rule of yours, the kind of record, what launched it, ' +
    'the name of a known function, words, nothing';

/* Parts of a whole, the largest first; the rest is one part. */
class Parts {
  static list = [];
  static most = 9;

  /* parts(): [{name, ns, rest}]; rest: drawn in grey. */
  constructor(id, title, colour, parts) {
    Object.assign(this, {id, title, colour, parts});
    this.element = el('div', {}, el('h3', {}, title), this.box = el('div', {class: 'scroll'}));
    Parts.list.push(this);
  }
  static draw() {
    Parts.list.forEach(p => p.draw());
  }
  shown() {
    const all = this.parts().filter(p => p.ns > 0).sort((a, b) => b.ns - a.ns), rest = all.slice(Parts.most);
    const ns = rest.reduce((a, p) => a + p.ns, 0);
    return [...all.slice(0, Parts.most), ...ns > 0 ? [{name: `${Format.count(rest.length)} others`, ns, rest: true}] : []];
  }
  draw() {
    const parts = this.shown(), all = parts.reduce((a, p) => a + p.ns, 0);
    this.box.replaceChildren(barTable(this.id, this.title, ['Name', '', 'time', 'of all'], parts.map(p => ({
      name: Format.short(p.name || 'no type', 34),
      title: p.name || 'no type',
      colour: p.rest ? 'var(--rest)' : this.colour,
      parts: [[p.ns]],
      cells: [[Format.time(p.ns), p.ns], [Format.share(p.ns, all)]]
    }))));
  }
}

const OpStats = {
  table() {
    return Pod.table('op_stats', 'rank');
  },
  withIdle() {
    return State.get('op.idle', '') === '1';
  },
  rows() {
    const t = OpStats.table(), idle = Pod.column(t, 'is_idle');
    return Array.from({length: t.shown}, (unused, i) => i).filter(i => OpStats.withIdle() || !idle[i]);
  },
  parts(side, by) {
    const t = OpStats.table(), at = Pod.column(t, 'host_or_device'), name = Pod.column(t, by), self = Pod.column(t, 'self_ns'),
          idle = Pod.column(t, 'is_idle'), sums = new Map();
    for (const i of OpStats.rows().filter(i => at[i] === side)) {
      const one = sums.get(name[i]) || {name: name[i], ns: 0, rest: !!idle[i]};
      one.ns += self[i];
      sums.set(name[i], one);
    }
    return [...sums.values()];
  },
  section() {
    if (!OpStats.table())
      return null;
    const sides = ['Host', 'Device'].filter(s => Pod.column(OpStats.table(), 'host_or_device').includes(s));
    const charts = sides.flatMap(
        s => [['name', 'operator'], ['type', 'type']].map(([by, word]) => new Parts(`parts-${s}-${by}`.toLowerCase(),
                                                              `${s}: self time by ${word}`, Pod.colour(s === 'Device' ? 1 : 4),
                                                              () => OpStats.parts(
                                                                  s, by)).element));
    const box = el('input', {
      type: 'checkbox',
      id: 'op-idle',
      checked: OpStats.withIdle() ? '' : null,
      onchange: () => State.set({'op.idle': box.checked ? '1' : ''})
    });
    return [
      el('h3', {style: {marginTop: '26px'}}, 'Operator statistics'),
      el('p', {class: 'lead'},
          'Sums over all ranks and steps. Shares are of the self time of all operators of the host, or of the devices. ',
          'Idle is step time in which none of them runs.'),
      el('div', {class: 'controls'}, el('label', {}, box, 'Include Idle')), el('div', {class: 'parts'}, charts), OpStats.list()
    ];
  },
  list() {
    const t = OpStats.table(), of = name => i => Pod.column(t, name)[i],
          ns = (name, key, what) => ({name, unit: 'ns', what, get: of(key)});
    const share = (name, key, what) =>
        column(name, '', what, i => of(OpStats.withIdle() ? key : key + '_no_idle')(i) / 100, (i, v) => Format.share(v, 1));
    /* only where a kernel says something of them */
    const used = !Array.from(Pod.column(t, 'tensor_core_percent')).some(isKnown) ? [] : [{
      ...column('tensor cores', '', 'kernels that use them, of the time of its kernels of which this is known',
          i => isKnown(of('tensor_core_percent')(i)) ? of('tensor_core_percent')(i) / 100 : null,
          (i, v) => v === null ? '\u2013' : Format.share(v, 1)),
      minor: true
    }];
    let table = null;
    State.on(() => table && (table.given = OpStats.rows())); /* before the table draws itself */
    table = new Table({
      id: 'opstats',
      title: 'Operator statistics',
      columns: [
        {name: 'operator', text: true, class: 'wide', get: of('name')},
        {name: 'place', what: 'by self time, devices first', get: of('rank')},
        {name: 'host or device', text: true, get: of('host_or_device')},
        {name: 'type', text: true, get: of('type')},
        {name: 'occurrences', what: 'sum over ranks and steps', get: of('occurrences')},
        ns('total', 'total_ns', 'time with nested operators'),
        {...ns('avg total', 'avg_ns', 'mean of an occurrence'), minor: true},
        ns('self', 'self_ns', 'time without nested operators'),
        {...ns('avg self', 'avg_self_ns', 'mean of an occurrence'), minor: true},
        share('device self %', 'device_self_percent', 'of all self time on devices'),
        share('device cumulative %', 'device_cumulative_percent', 'sum up to this row, in the order of place'),
        share('host self %', 'host_self_percent', 'of all self time on hosts'),
        share('host cumulative %', 'host_cumulative_percent', 'sum up to this row, in the order of place'),
        ...used,
        {name: 'by', minor: true, text: true, what: BY, get: i => of('by')(i) || '\u2013'},
      ],
      rows: t.shown,
      first: 20,
      sort: '1',
    });
    table.given = OpStats.rows();
    table.draw();
    return table.element;
  },
};

const Kernels = {
  has() {
    return !!Pod.table('kernel_stats', 'rank');
  },
  /* "83 % 16-bit, 17 % 32-bit"; null: no computation of a device was recorded. */
  precision() {
    const t = Pod.table('precision', 'precision');
    if (!t)
      return null;
    const name = Pod.column(t, 'precision'), ns = Array.from(Pod.column(t, 'compute_ns')), all = ns.reduce((a, b) => a + b, 0);
    return !name.some((n, i) => n !== 'unknown' && ns[i] > 0)
        ? null
        : name.map((n, i) => ({n, ns: ns[i]}))
              .filter(p => p.ns > 0)
              .sort((a, b) => b.ns - a.ns)
              .map(p => `${Format.share(p.ns, all)} ${p.n === 'unknown' ? 'of unknown precision' : p.n}`)
              .join(', ');
  },
  note() {
    const text = Kernels.precision();
    return text && el('p', {class: 'evidence precision', style: {marginTop: '10px'}}, el('b', {}, 'Device compute: '), text, '.');
  },
  section() {
    const title = el('h2', {}, 'Kernels');
    if (!Kernels.has())
      return [title, emptyText(absentReason('kernel') || 'No kernel was recorded.', '')];
    const t = Pod.table('kernel_stats', 'rank'), name = Pod.column(t, 'name'), total = Pod.column(t, 'total_ns');
    const parts = () => {
      const sums = new Map();
      name.forEach((n, i) => sums.set(n, (sums.get(n) || 0) + total[i]));
      return [...sums].map(([n, ns]) => ({name: n, ns}));
    };
    return [
      title,
      el('p', {class: 'lead'},
          'Sums over all ranks and steps: kernels by name, operator and shape of launch. ' +
              'Use of tensor cores is inferred from names.'),
      Kernels.note(), new Parts('parts-kernel', 'Total time by kernel', Pod.colour(1), parts).element, Kernels.table(t)
    ];
  },
  table(t) {
    const cut = n => n.length > 100 ? el('span', {title: n}, Format.short(n, 100)) : n;
    const of = key => i => Pod.column(t, key)[i], known = key => i => of(key)(i) || null;
    const xyz = key => i => of(key + '_x')(i) ? ['x', 'y', 'z'].map(k => of(key + '_' + k)(i)).join(', ') : '\u2013';
    const word = key => ({text: true, get: i => ['unknown', 'no', 'yes'][of(key)(i)] || of(key)(i)});
    const ns = (n, key, more) => ({name: n, unit: 'ns', get: of(key), ...more});
    return new Table({
      id: 'kernels',
      title: 'Kernels',
      columns: [
        {name: 'kernel', text: true, class: 'wide', get: of('name'), show: (i, v) => cut(v)},
        {name: 'place', what: 'by total time', get: of('rank')},
        ns('total', 'total_ns'),
        column('share', '', 'of the time of all kernels', i => of('percent')(i) / 100, (i, v) => Format.share(v, 1)),
        {name: 'occurrences', get: of('occurrences')},
        ns('avg', 'avg_ns'),
        ns('min', 'min_ns', {minor: true}),
        ns('max', 'max_ns', {minor: true}),
        {
          name: 'operator',
          text: true,
          class: 'wide',
          what: 'that launched it',
          get: i => of('op')(i) || '\u2013',
          show: (i, v) => cut(v)
        },
        {name: 'registers', what: 'of a thread', get: known('registers')},
        {
          name: 'shared static',
          unit: 'byte',
          minor: true,
          what: 'memory of a block; in Kineto files with the dynamic one',
          get: of('static_shared_bytes')
        },
        {name: 'shared dynamic', unit: 'byte', minor: true, what: 'memory of a block', get: of('dynamic_shared_bytes')},
        {name: 'block', text: true, what: 'threads along x, y, z', get: xyz('block')},
        {name: 'grid', text: true, what: 'blocks along x, y, z', get: xyz('grid')},
        column('occupancy', '', 'theoretical; in Kineto files its estimate of the achieved one',
            i => isKnown(of('occupancy_percent')(i)) ? of('occupancy_percent')(i) / 100 : null,
            (i, v) => v === null ? '\u2013' : Format.share(v, 1)),
        {name: 'tensor core eligible', ...word('tensor_core_eligible'), what: 'by the name of the operator'},
        {name: 'tensor core used', ...word('tensor_core_used'), what: 'by the name of the kernel'},
        {name: 'precision', text: true, minor: true, get: of('precision')},
        {name: 'activity', text: true, minor: true, get: of('activity')},
        {name: 'by', text: true, minor: true, what: BY, get: i => of('by')(i) || '\u2013'},
      ],
      rows: t.shown,
      first: 20,
      sort: '1',
    }).element;
  },
};
