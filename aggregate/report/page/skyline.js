/* Memory skyline: memory of all ranks at the same instants; which rank runs out first, and whether ranks peak together. */
'use strict';

const Skyline = {
  near: 0.95,    /* of a rank's own peak */
  flat: 0.05,    /* of the peak: what changes less does not change */
  sure: 0.6,     /* of the change that a straight line explains, for growth */
  together: 0.8, /* of the ranks near their peaks at once */

  has() {
    return Pod.skyline.length > 0;
  },
  section() {
    const title = el('h2', {}, 'Memory skyline');
    if (!Skyline.has())
      return [
        title,
        emptyText(`No memory was recorded over time: ${absentReason('memory') || 'this dataset has no /memory.'}`,
            'The keeper samples the memory of each rank; PyTorch\u2019s shim and CUPTI add that of devices. ' +
                '\u2018podprof doctor\u2019 shows what works on this host.',
            'Traces have the calls of an allocator if their profiler recorded memory (PyTorch: profile_memory=True).')
      ];
    const select = el('select', {id: 'skyline-source', onchange: () => State.set({skyline: select.value})},
        Pod.skyline.map(
            (s, i) => el('option', {value: String(i)}, s.kind === 'allocator' ? `Allocator ${s.name || '(no name)'}` : s.name)));
    Skyline.select = select;
    Skyline.notes = el('ul', {class: 'notes', id: 'skyline-notes', 'aria-live': 'polite'});
    Skyline.sum = Skyline.chart('skyline-sum', 'sum over ranks');
    Skyline.most = Skyline.chart('skyline-most', 'rank with most');
    Skyline.box = el('div', {});
    Skyline.tables = new Map();
    return [
      title,
      el('p', {class: 'lead'},
          'Memory of all ranks at the same instants: their sum, the rank with most, ' +
              'and how many ranks are near (at 95 % of) their own peaks.'),
      el('div', {class: 'controls'}, el('label', {}, 'Memory', select)), Skyline.notes, el('h3', {}, 'Sum over ranks'),
      Skyline.sum.element, el('h3', {style: {marginTop: '12px'}}, 'Rank with most'), Skyline.most.element, Skyline.box
    ];
  },
  chart(id, title) {
    return new Plot({
      id,
      height: 170,
      x: {},
      y: {title: 'memory', unit: 'byte'},
      describe: i => Skyline.describe(i),
      numbers: title + ' as a table',
      onpick: (i, s) => s.rank && s.rank[i] >= 0 && State.set({rank: s.rank[i]})
    });
  },
  source() {
    return Pod.skyline[State.number('skyline', 0)] || Pod.skyline[0];
  },
  isSteps(s) {
    return s.kind === 'torch';
  },
  when(s, x) {
    return Skyline.isSteps(s) ? `step ${Math.round(x)}`
        : x > s.at[0] ? `${Format.time(x - s.at[0])} after the first sample`
                      : 'at the first sample';
  },
  describe(i) {
    const s = Skyline.source();
    return [
      el('b', {}, Skyline.when(s, s.at[i])),
      el('table', {},
          [
            ['all ranks', Format.bytes(s.sum[i])],
            ['most', s.most_rank[i] < 0 ? '\u2013' : `${Format.bytes(s.most[i])}, rank ${s.most_rank[i]}`],
            ['near their peaks', `${Format.count(s.near[i])} of ${Format.count(s.changing[i])} whose memory changes`]
          ].map(([k, v]) => el('tr', {}, el('td', {}, k), el('td', {class: 'num'}, v))))
    ];
  },

  /* Per unit of time or step, where memory grows steadily and still does at the end; else null. */
  growth(s, i) {
    const v = s.series, span = s.at[s.at.length - 1] - s.at[0];
    const grows = v.slope[i] > 0 && v.fit[i] >= Skyline.sure && v.slope[i] * span >= Skyline.flat * v.peak[i] &&
        v.last[i] >= Skyline.near * v.peak[i];
    return grows ? v.slope[i] : null;
  },
  left(s, i) {
    return s.series.limit[i] > 0 ? s.series.limit[i] - s.series.peak[i] : null;
  },
  /* Time or steps until the limit, if it goes on like this. */
  until(s, i) {
    const g = Skyline.growth(s, i), v = s.series;
    return g && v.limit[i] > 0 ? Math.max(0, v.limit[i] - v.last[i]) / g : null;
  },
  name(s, i) {
    return `rank ${s.series.rank[i]}` + (s.kind === 'torch' ? `, cuda:${s.series.device[i]}` : '');
  },
  per(s, slope) {
    return Skyline.isSteps(s) ? `${Format.bytes(slope)} per step` : `${Format.bytes(slope * 1e9)} per second`;
  },
  span(s, x) {
    return Skyline.isSteps(s) ? `${Format.count(Math.floor(x))} more step${Math.floor(x) === 1 ? '' : 's'}` : Format.time(x);
  },

  /* Which rank runs out first. */
  first(s) {
    const n = s.series.rank.length, all = Array.from({length: n}, (unused, i) => i),
          least = (list, f) => list.reduce((a, b) => f(b) < f(a) ? b : a);
    const soon = all.filter(i => Skyline.until(s, i) !== null), room = all.filter(i => Skyline.left(s, i) !== null),
          growing = all.filter(i => Skyline.growth(s, i) !== null);
    if (soon.length) {
      const i = least(soon, k => Skyline.until(s, k));
      return `First to run out: ${Skyline.name(s, i)}. It grows by ${Skyline.per(s, Skyline.growth(s, i))} and has ${
          Format.bytes(Skyline.left(
              s, i))} left of ${Format.bytes(s.series.limit[i])}: ${Skyline.span(s, Skyline.until(s, i))} if it goes on like this.`;
    }
    if (room.length) {
      const i = least(room, k => Skyline.left(s, k));
      return `Least room: ${Skyline.name(s, i)}, ${Format.bytes(Skyline.left(s, i))} of ${
          Format.bytes(s.series.limit[i])} are free at its peak. ${growing.length ? '' : 'No rank grows steadily.'}`;
    }
    if (growing.length) {
      const i = least(growing, k => -Skyline.growth(s, k));
      return `Fastest growth: ${Skyline.name(s, i)}, ${
          Skyline.per(s, Skyline.growth(s, i))}. Its limit is not recorded, so when it runs out is unknown.`;
    }
    return 'No rank grows steadily. Limits are not recorded for this memory.';
  },
  /* Whether ranks peak together: at the instant of the largest sum, of the ranks whose memory changes. */
  peaks(s) {
    const at = s.sum.reduce((best, v, i) => v > s.sum[best] ? i : best, 0), known = s.known[at], changing = s.changing[at],
          share = changing ? s.near[at] / changing : 0, all = Array.from(s.series.peak).reduce((a, b) => a + b, 0);
    const sum = `Largest sum: ${Format.bytes(s.sum[at])}, ${Skyline.when(s, s.at[at])}, ${
        Format.share(s.sum[at], all)} of the sum of all ranks\u2019 own peaks. `;
    if (s.series.rank.length < 2)
      return sum;
    if (!changing)
      return sum + 'No rank\u2019s memory changes by more than 5 % of its peak.';
    if (changing < 2)
      return sum + `The memory of only one of ${Format.count(known)} ranks changes by more than 5 % of its peak.`;
    return sum +
        `Of the ${Format.count(changing)} ranks whose memory changes by more than 5 %, ${Format.count(s.near[at])} ${
            s.near[at] === 1 ? 'is' : 'are'} near their own peaks then: they ${
            share >= Skyline.together           ? 'peak together'
                : share >= 1 - Skyline.together ? 'peak partly together'
                                                : 'peak at different times'}.`;
  },

  draw() {
    if (!Skyline.box)
      return;
    const s = Skyline.source();
    Skyline.select.value = String(Pod.skyline.indexOf(s));
    const notes = [Skyline.first(s), Skyline.peaks(s)];
    Skyline.notes.replaceChildren(...notes.map(t => el('li', {}, t)));
    const steps = Skyline.isSteps(s), x = Array.from(s.at, v => steps ? v : v - s.at[0]),
          axis = steps ? {title: 'step number', label: v => Number.isInteger(v) ? String(v) : '', zero: false}
                       : {title: 'time since the first sample', unit: 'ns', zero: false};
    const some = values => Array.from(values, (v, i) => s.known[i] ? v : null);
    Skyline.sum.x = Skyline.most.x = axis;
    Skyline.sum.show({
      lines: [{name: 'sum', x, y: some(s.sum), colour: css('--accent'), stepped: true, plain: true}],
      what: `Sum of memory over ranks. ${notes[1]}`
    });
    Skyline.most.show({
      lines: [{name: 'most', x, y: some(s.most), rank: s.most_rank, colour: css('--accent'), stepped: true, plain: true}],
      what: `Memory of the rank with most. ${notes[0]}`
    });
    Skyline.table(s);
  },
  table(s) {
    const key = Pod.skyline.indexOf(s), v = s.series;
    if (!Skyline.tables.has(key)) {
      const bytes = f => i => f(i) === null || f(i) < 0 ? null : f(i);
      const columns = [
        {name: 'rank', get: i => v.rank[i]}, ...s.kind === 'torch' ? [{name: 'device', get: i => v.device[i]}] : [],
        {name: 'host', text: true, get: i => Pod.rank_of.has(v.rank[i]) ? Pod.worker.host[Pod.rank_of.get(v.rank[i])] : ''},
        {name: 'peak', unit: 'byte', get: i => v.peak[i]},
        {name: 'peak at', text: true, get: i => Skyline.when(s, v.peak_at[i]), sort: i => v.peak_at[i]},
        {name: 'first', minor: true, unit: 'byte', get: i => v.first[i]}, {name: 'last', unit: 'byte', get: i => v.last[i]},
        {name: 'limit', unit: 'byte', what: 'of its device or allocator, where it was recorded', get: bytes(i => v.limit[i])},
        {name: 'left', unit: 'byte', what: 'limit less peak', get: i => Skyline.left(s, i)}, {
          name: Skyline.isSteps(s) ? 'growth per step' : 'growth per second',
          unit: 'byte',
          what: 'where it is steady and lasts to the end',
          get: i => Skyline.growth(s, i) === null ? null : Skyline.growth(s, i) * (Skyline.isSteps(s) ? 1 : 1e9)
        },
        {
          name: 'full in',
          what: 'if it goes on like this',
          get: i => Skyline.until(s, i),
          show: (i, x) => x === null ? '\u2013' : Skyline.span(s, x)
        }
      ];
      Skyline.tables.set(key, new Table({
        id: 'skyline-' + key,
        title: 'Memory by rank',
        label: 'Memory by rank',
        columns,
        rows: v.rank.length,
        first: 12,
        sort: '-' + columns.findIndex(c => c.name === 'peak'),
        pick: i => State.set({rank: v.rank[i]}),
        picked: i => Pod.rank_of.get(v.rank[i]) === Select.worker
      }));
    }
    Skyline.box.replaceChildren(Skyline.tables.get(key).element);
    Skyline.tables.get(key).fit();
  },
};
