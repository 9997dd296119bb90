/* Collectives and messages: what of their time is hidden, late or slow (/budget), size against bandwidth (/message_size),
 * collectives by operation, late senders and receivers by pair. */
'use strict';

const Collectives = {
  colours: ['#1b4f91', '#d7263d', '#13805a', '#b0492f', '#8a5fc0', '#2a9db5', '#7f8f1e', '#d46aa0'],

  has() {
    return !!(Pod.table('budget') || Pod.table('message_size') || Pod.table('all_reduce') || Pod.table('collective', 'event') ||
        Pod.message);
  },
  section() {
    const title = el('h2', {}, 'Collectives');
    if (!Collectives.has())
      return [
        title,
        emptyText(absentReason('collective') || 'This dataset has no /collective.',
            'MPI collectives of Open MPI, MPICH and Intel MPI are recorded without a change to the program, ' +
                'those of NCCL by its profiler plug-in. ' +
                '\u2018podprof doctor\u2019 shows what works on this host.',
            'A trace file has collectives if podprof wrote it, or if PyTorch recorded their arguments (record_param_comms).')
      ];
    return [
      title,
      el('p', {class: 'lead'},
          'What communication costs the steps, by operation, and how fast data moves once the last rank has arrived. ' +
              'Operations whose ranks\u2019 clocks are not joined have no duration.'),
      Collectives.budget(), Collectives.sizes(),
      Together.allReduce() ||
          el('p', {class: 'lead'},
              Pod.table('collective', 'event')
                  ? 'This dataset has no sums of collectives by operation; \u201cWho waited\u201d lists the operations.'
                  : sentence(absentReason('collective')) || 'This dataset has no /collective.'),
      Collectives.messages()
    ];
  },

  /* Parts of the time of an operation: its column of /budget, name, colour. */
  parts() {
    return [
      {key: 'hidden_ns', name: 'hidden', what: 'the rank had other work, or other communication', colour: 'var(--rest)'}, {
        key: 'wait_ns',
        name: 'late',
        what: 'exposed: it waited for a rank that was late',
        colour: Pod.colour(COMMUNICATION[0]),
        hatched: true
      },
      {key: 'transfer_ns', name: 'slow', what: 'exposed: all ranks were there, data moved', colour: Pod.colour(COMMUNICATION[0])}, {
        key: 'unsplit_ns',
        name: 'not split',
        what: 'exposed: it is not known for whom it waits, for example in kernels on devices',
        colour: Pod.colour(COMMUNICATION[1])
      }
    ];
  },
  budget() {
    const t = Pod.table('budget'), of = name => Pod.column(t, name);
    if (!t)
      return el('p', {class: 'lead'},
          sentence(absentReason('budget')) || 'This dataset does not say what of the communication is hidden.');
    const parts = Collectives.parts(), cells = Math.max(1, Pod.sum.cells),
          per = (key, i) => of(key)[i] === null ? null : of(key)[i] / cells;
    const exposed = i => of('wait_ns')[i] + of('transfer_ns')[i] + of('unsplit_ns')[i];
    const shown = Array.from({length: t.shown}, (unused, i) => i), all = key => shown.reduce((sum, i) => sum + of(key)[i], 0);
    const most = Math.max(1, ...shown.map(i => of('time_ns')[i])), rest = t.shown < t.rows ? ' of the rows here' : '';
    const swatch = p => el('span', {class: p.hatched ? 'swatch hatched' : 'swatch', style: {backgroundColor: p.colour}});
    const bar = i => el('div',
        {class: 'track stack', role: 'img', 'aria-label': parts.map(p => `${p.name} ${Format.time(per(p.key, i))}`).join(', ')},
        parts.filter(p => of(p.key)[i] > 0).map(p => el('span', {
          title: `${p.name}: ${Format.time(per(p.key, i))} per step and rank`,
          class: p.hatched ? 'hatched' : null,
          style: {width: 100 * of(p.key)[i] / most + '%', backgroundColor: p.colour}
        })));
    const waits = [
      ['blocking_ns', 'blocking', 'what work of the rank waited for'],
      ['not_blocking_ns', 'not blocking', 'what no work waited for'],
      ['blocking_unknown_ns', 'blocking unknown', 'kernels of which it is not known']
    ];
    const columns = [
      {name: 'operation', text: true, get: i => of('operation')[i]}, {
        name: 'communicator',
        text: true,
        minor: true,
        get: i => /^0+$/.test(of('communicator')[i]) ? '\u2013' : Together.communicator(of('communicator')[i])
      },
      {name: 'time', text: true, what: 'hidden, late, slow, not split', get: i => of('time_ns')[i], show: i => bar(i)},
      column('exposed', 'ns', 'late, slow and not split, per step and rank', i => exposed(i) / cells),
      ...parts.map(p => column(p.name, 'ns', p.what + '; per step and rank', i => per(p.key, i))),
      ...waits.filter(([key, name]) => name === 'blocking' || all(key) > 0).map(([key, name,
        what]) => column(name, 'ns', `of the exposed time, ${what}; per step and rank`, i => per(key, i))),
      {name: 'calls', minor: true, what: 'of ranks, in all steps', get: i => of('calls')[i] || null}
    ];
    const exposure = (all('wait_ns') + all('transfer_ns') + all('unsplit_ns')) / cells;
    return el('div', {}, el('h3', {}, 'Hidden, late, slow'),
        el('p', {class: 'lead', id: 'budget-sum', style: {margin: '0'}},
            `Mean per step and rank${rest}: ${Format.time(exposure)} of communication is exposed, ${
                Format.time(all('blocking_ns') / cells)} of it blocking; ${Format.time(all('hidden_ns') / cells)} is hidden.`),
        el('ul', {class: 'legendlist', 'aria-label': 'Colours'}, el('li', {class: 'title'}, 'Time:'),
            parts.map(p => el('li', {title: p.what}, swatch(p), p.name))),
        new Table({
          id: 'budget',
          title: 'Hidden, late, slow: time of communication by operation',
          columns,
          rows: t.shown,
          first: 12,
          sort: '-' + columns.findIndex(c => c.name === 'exposed')
        }).element);
  },

  /* Rows of /message_size by call and number of ranks. */
  lines() {
    const t = Pod.table('message_size'), of = name => Pod.column(t, name), map = new Map();
    for (let i = 0; t && i < t.shown; i++) {
      const name = `${of('operation')[i].replace(/^MPI_/, '')}, ${Format.count(of('ranks')[i])} ranks`;
      map.has(name) ? map.get(name).push(i) : map.set(name, [i]);
    }
    return [...map]
        .map(([name, rows]) => ({
          name,
          rows: rows.sort((a, b) => of('from_bytes')[a] - of('from_bytes')[b]),
          bytes: rows.reduce((sum, i) => sum + of('bytes')[i], 0)
        }))
        .sort((a, b) => b.bytes - a.bytes);
  },
  sizes() {
    const t = Pod.table('message_size'), of = name => Pod.column(t, name),
          mean = i => of('bytes')[i] / Math.max(1, of('occurrences')[i]);
    if (!t)
      return el('p', {class: 'lead'}, sentence(absentReason('message_size')) || 'This dataset has no sizes of operations.');
    const all = Collectives.lines(), shown = all.slice(0, Collectives.colours.length);
    Collectives.shown = shown;
    Collectives.plot = new Plot({
      id: 'sizes',
      height: 280,
      x: {title: 'bytes of an operation (mean of its row)', unit: 'byte', log: true},
      y: {title: 'bus bandwidth', unit: 'byte/s', log: true},
      describe: (i, s) => {
        const row = s.rows[i];
        return [
          el('b', {}, s.name),
          el('table', {},
              [
                ['size', `${Format.bytes(of('from_bytes')[row])} to ${Format.bytes(2 * of('from_bytes')[row])}`],
                ['operations', Format.count(of('occurrences')[row])], ['most', Format.rate(of('busbw_most')[row])],
                ['median', Format.rate(of('busbw_median')[row])], ['least', Format.rate(of('busbw_least')[row])]
              ].map(([k, v]) => el('tr', {}, el('td', {}, k), el('td', {class: 'num'}, v))))
        ];
      }
    });
    const columns = [
      {name: 'operation', text: true, get: i => of('operation')[i]}, {name: 'ranks', get: i => of('ranks')[i]},
      {name: 'from', unit: 'byte', what: 'smallest size of the row; sizes are below twice that', get: i => of('from_bytes')[i]},
      {name: 'operations', get: i => of('occurrences')[i]}, {name: 'mean size', unit: 'byte', get: mean},
      {name: 'bus bandwidth, median', unit: 'byte/s', get: i => of('busbw_median')[i]},
      {name: 'least', unit: 'byte/s', get: i => of('busbw_least')[i]},
      {name: 'most', unit: 'byte/s', get: i => of('busbw_most')[i]}, {
        name: 'mean duration',
        unit: 'ns',
        what: 'from the last arrival to the last exit',
        get: i => of('duration_ns')[i] / Math.max(1, of('occurrences')[i])
      }
    ];
    return el('div', {}, el('h3', {style: {marginTop: '26px'}}, 'Size against bandwidth'),
        el('p', {class: 'lead', style: {margin: '0'}},
            'Point: median of the operations of one size; line through it: least to most.',
            shown.length < all.length && ` Shown: the ${shown.length} calls with most bytes of ${all.length}.`),
        Collectives.plot.element, Collectives.legend = el('div', {}),
        new Table({id: 'sizes', title: 'Size against bandwidth', columns, rows: t.shown, first: 12}).element);
  },
  draw() {
    if (!Collectives.plot)
      return;
    const t = Pod.table('message_size'), of = name => Pod.column(t, name);
    const points = Collectives.shown.map((l, k) => {
      const rows = l.rows.filter(i => of('busbw_median')[i] > 0), pick = name => rows.map(i => of(name)[i]);
      return {
        name: l.name,
        rows,
        shape: k,
        colour: Theme.dark() ? lighter(Collectives.colours[k]) : Collectives.colours[k],
        x: rows.map(i => Math.max(1, of('bytes')[i] / Math.max(1, of('occurrences')[i]))),
        y: pick('busbw_median'),
        low: rows.map(i => Math.max(of('busbw_least')[i], of('busbw_median')[i] / 1e6)),
        high: pick('busbw_most')
      };
    });
    Collectives.legend.replaceChildren(plotLegend(points.map(p => ({name: p.name, colour: p.colour, wide: true}))));
    Collectives.plot.show({points, what: `Bus bandwidth by size of ${points.map(p => p.name).join('; ')}`});
  },

  /* Point-to-point: who was late. */
  messages() {
    const m = Pod.message,
          title = el('h3', {id: 'messages-title', style: {marginTop: '26px'}}, 'Messages: late senders and late receivers');
    if (!m)
      return [
        title,
        el('p', {class: 'lead'}, 'No point-to-point message with both ends was recorded: messages have no waiting in this dataset.')
      ];
    const sum = key => Array.from(m[key]).reduce((a, b) => a + b, 0), steps = Math.max(1, Pod.sum.steps);
    const columns = [
      {name: 'sender', get: i => m.source[i]}, {name: 'receiver', get: i => m.destination[i]},
      {name: 'messages', get: i => m.count[i]}, {name: 'mean size', unit: 'byte', get: i => m.bytes[i] / Math.max(1, m.count[i])},
      column('receiver waits', 'ns', 'per step, for a late sender; exposed, in steps', i => m.receiver_ns[i] / steps),
      {name: 'late senders', what: 'messages whose receiver waited', get: i => m.late_senders[i]},
      column('sender waits', 'ns', 'per step, for a late receiver; exposed, in steps', i => m.sender_ns[i] / steps),
      {name: 'late receivers', what: 'messages whose sender waited', get: i => m.late_receivers[i]}
    ];
    return [
      title,
      el('p', {class: 'lead', id: 'messages-sum'},
          `${Format.count(m.messages)} messages between ${Format.count(m.pairs)} pair${m.pairs === 1 ? '' : 's'} of ranks${
              m.shown < m.pairs ? `, of which the ${Format.count(m.shown)} with most waiting are here` : ''}. `,
          `Per step, receivers wait ${Format.time(sum('receiver_ns') / steps)} for late senders, and senders ${
              Format.time(
                  sum('sender_ns') / steps)} for late receivers, summed over ${m.shown < m.pairs ? 'these' : 'all'} ranks.`),
      new Table({
        id: 'messages',
        title: 'Messages by sender and receiver',
        columns,
        rows: m.shown,
        first: 12,
        pick: i => State.set({rank: m.receiver_ns[i] >= m.sender_ns[i] ? m.source[i] : m.destination[i]})
      }).element
    ];
  },
};

/* A colour that stands out on a dark ground. */
function lighter(hex) {
  const mix = i => Math.round(parseInt(hex.slice(i, i + 2), 16) * 0.55 + 255 * 0.45).toString(16).padStart(2, '0');
  return '#' + mix(1) + mix(3) + mix(5);
}
