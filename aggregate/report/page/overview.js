/* Step time by category, with the numbers behind the first screen's sentences. */
'use strict';

/* "173..180, 182..199": none that is not there; of many parts only how many steps there are. */
function stepsOf(n) {
  const parts = [];
  for (let i = 0, begin = 0; i < n.length; i++)
    if (i + 1 === n.length || n[i + 1] !== n[i] + 1) {
      parts.push(i === begin ? `${n[i]}` : `${n[begin]}\u2013${n[i]}`);
      begin = i + 1;
    }
  return parts.length > 4 ? `${Format.count(n.length)} steps of ${n[0]}\u2013${n[n.length - 1]}` : 'steps ' + parts.join(', ');
}

/* The answer: its sentences and its numbers are those of summary.txt. See aggregate/tools/answer.h. */
const Verdict = {
  /* The rank that each other rank waited for longest; null where no rank waited. */
  worst() {
    let worst = -1;
    for (let w = 0; w < Pod.workers; w++)
      if (Pod.worker.kept_ns[w] > 0 && (worst < 0 || Pod.worker.kept_ns[w] > Pod.worker.kept_ns[worst]))
        worst = w;
    return worst < 0 ? null : worst;
  },
  came(w) {
    return !Pod.worker.status[w].startsWith('missing');
  },
  lost() {
    const lost = Pod.smallOf('quality', 'dropped').reduce((a, b) => a + b, 0);
    return {lost, records: Array.from(Pod.worker.records).reduce((a, b) => a + b, 0)};
  },
  missing() {
    return Pod.worker.status.map((s, w) => Verdict.came(w) ? -1 : w).filter(w => w >= 0);
  },
  tiles() {
    const s = Pod.sum, a = Pod.answer, {lost, records} = Verdict.lost(), r = Pod.run;
    const tile = (key, value, notes, bad) => el('div', {}, el('div', {class: 'k'}, key),
        el('div', {class: bad ? 'v bad' : 'v'}, value), notes.filter(n => n).map(n => el('div', {class: 'n'}, n)));
    const step = tile(Pod.workers > 1 ? 'Step time, slowest rank' : 'Step time',
        el('span', {id: 'step-time', 'data-v': a.usual_ns}, s.cells ? Format.time(a.usual_ns) : '\u2013'), [
          s.steps > 1 ? `median of ${Format.count(a.usual_steps)}${a.usual_steps < s.steps ? ' usual' : ''} steps`
              : s.steps ? 'one step'
                        : 'no complete step',
          s.steps > 1 && 'half IQR ' + Format.time(a.spread_ns),
          s.longest_step !== undefined && `slowest: step ${s.longest_step}, ${Format.time(s.longest_ns)}`
        ]);
    const gain = a.gain_rank >= 0 && a.gain_ns > 0 &&
        tile('Potential gain', el('span', {id: 'gain', 'data-v': a.gain_ns}, Format.time(a.gain_ns)),
            [`${s.steps > 1 ? 'per step ' : ''}at most, if rank ${a.gain_rank} matched the median of the other ranks`]);
    const wait = s.wait_ns > 0 &&
        tile('Waiting for other ranks',
            el('span', {id: 'wait-time', 'data-v': s.wait_ns}, s.cells ? Format.time(s.wait_ns / s.cells) : '\u2013'), [
              `per step, mean of all ${Format.count(Pod.workers)} ranks`,
              `${Format.share(s.wait_ns, s.all_ns)} of all ranks\u2019 step time`
            ]);
    const unseen = s.wait_ns === null && Pod.workers > 1 && s.cells > 0 &&
        tile('Waiting for other ranks', el('span', {id: 'wait-time'}, 'unknown'),
            ['no recorded operation tells for which rank a rank waited']);
    const part = Pod.worker.status.filter((v, w) => Verdict.came(w) && v !== 'delivered' && !v.startsWith('salvaged')).length;
    const ranks = tile('Ranks delivered', `${Format.count(r.ranks_delivered)} of ${Format.count(r.ranks_asked)}`,
        [
          part > 0 && `${Format.count(part)} with incomplete data`,
          lost ? `${Format.count(lost)} records lost, ${Format.count(records)} read` : `no record lost of ${Format.count(records)}`
        ],
        lost > 0 || part > 0 || r.ranks_delivered < r.ranks_asked);
    return el('div', {class: 'figures'}, step, gain, wait || unseen, ranks);
  },
  /* The numbers and sentences behind the first screen's. */
  evidence() {
    const a = Pod.answer,
          line = (id, name, text) => text && el('p', {class: 'evidence', id}, el('b', {}, name + ': '), typeset(ended(text)));
    return [Verdict.tiles(), line('straggler', 'Straggler', a.straggler), line('efficiency', 'Efficiency', a.efficiency)];
  },
};

/* A command stands in quotes, or behind a colon. It is shown as it is to be typed. */
function withCommands(text) {
  const command = /'((?:podprof|xprof|mpirun|srun) [^']+)'|(?<=: )((?:podprof|xprof|mpirun|srun) .*?)(?=[,;] |$)/g, parts = [];
  let at = 0;
  for (const m of text.matchAll(command)) {
    parts.push(typeset(text.slice(at, m.index)), el('code', {class: 'mono'}, m[1] || m[2]));
    at = m.index + m[0].length;
  }
  return [...parts, at < text.length ? typeset(ended(text.slice(at))) : null];
}

/* The summary's plain text as print: a number keeps its unit, apostrophes bend. */
function typeset(text) {
  return text.replace(/(\d) (ns|us|ms|s|min|h|%)(?![a-z])/g, (all, digit, unit) => digit + NB + (unit === 'us' ? '\u00b5s' : unit))
      .replaceAll('<= ', '\u2264' + NB)
      .replace(/(^|[\s(])'([^']+)'/g, '$1\u2018$2\u2019')
      .replaceAll('\'', '\u2019');
}

const Overview = {
  section() {
    if (!Pod.sum.cells)
      return [
        el('h2', {}, 'Step time'),
        emptyText('No step is complete on any rank of this session.',
            'Mark steps with podprof_step_begin() or a repeating NVTX range, and choose steps that the job reaches (--steps A:B).')
      ];
    Overview.chart = new Columns({
      id: 'step-chart',
      height: 270,
      axis: 'step number',
      y: {title: 'time per step', unit: 'ns'},
      describe: i => Overview.describe(i),
      onpick: i => Select.set({from: Select.nearest(Pod.step.number[i])}),
      numbers: 'step time by category of every step as a table',
      parts: Overview.stack().map(s => s.name)
    });
    return [
      Verdict.evidence(),
      el('p', {class: 'lead'}, 'Columns: time by category, mean over ranks. ',
          Pod.workers > 1 ? 'Lines: the slowest and the fastest rank of each step. A gap between the lines shows imbalance. ' +
                  'Close lines over tall hatched columns show ranks that wait for each other.'
                          : 'Line: the step time.'),
      Overview.chart.element, Overview.legend(), Overview.table(), Kernels.note(), Overview.devices(), Overview.steps()
    ];
  },
  legend() {
    const list = legend(Pod.category.filter((k, i) => Pod.sum.category[i] > 0).map(k => k.id), Pod.sum.wait_ns > 0);
    list.append(...plotLegend(
        Pod.workers > 1 ? [{name: 'slowest rank', colour: 'var(--ink)'}, {name: 'fastest rank', colour: 'var(--soft)'}] : [
          {name: 'step time', colour: 'var(--ink)'}
        ]).children);
    return list;
  },
  /* From the bottom up: what a column is made of, {id, name, hatched, of: ns of step i, mean over ranks}. */
  stack() {
    const s = Pod.step, order = k => COMMUNICATION.includes(k.id) ? 20 + k.id : k.id,
          mean = f => i => f(i) / Math.max(1, s.count[i]), wait = i => Math.min(s.wait_ns[i], s.category[COMMUNICATION[0] - 1][i]);
    return Pod.category.filter((k, i) => Pod.sum.category[i] > 0).sort((a, b) => order(a) - order(b)).flatMap(k => {
      const all = i => s.category[k.id - 1][i];
      return k.id !== COMMUNICATION[0] ? [{id: k.id, name: k.name, of: mean(all)}] : [
        {id: k.id, name: k.name, of: mean(i => all(i) - wait(i))},
        {id: k.id, name: k.name + ', waiting', hatched: true, of: mean(wait)}
      ];
    });
  },
  draw() {
    if (!Overview.chart)
      return;
    const s = Pod.step, parts = Overview.stack();
    Overview.items = Overview.items || Array.from(s.number, (n, i) => {
      const segments = parts.map(({of, ...part}) => ({...part, ns: of(i)}));
      return {label: String(n), segments, total: segments.reduce((all, p) => all + p.ns, 0)};
    });
    Overview.chart.show(Overview.items, s.number.indexOf(Pod.stepShown[Select.from]), 'Step time by category over steps', [
      {name: Pod.workers > 1 ? 'slowest rank' : 'step time', colour: css('--ink'), values: s.max_ns},
      ...Pod.workers > 1 ? [{name: 'fastest rank', colour: css('--soft'), values: s.min_ns}] : []
    ]);
  },
  describe(i) {
    const s = Pod.step, mean = v => v / Math.max(1, s.count[i]);
    return [
      el('b', {}, 'step ' + s.number[i]), Pod.workers > 1 && el('div', {}, stragglerOf(i)),
      el('table', {},
          breakdownRows(Pod.category.map((k, c) => ({id: k.id, name: k.name, ns: mean(s.category[c][i])})), mean(s.step_ns[i])),
          Pod.workers > 1 &&
              [
                el('tr', {}, el('td', {}, `slowest: ${s.worst[i] >= 0 ? Pod.workerName(s.worst[i]) : '\u2013'}`),
                    el('td', {class: 'num'}, Format.time(s.max_ns[i]))),
                el('tr', {}, el('td', {}, 'fastest rank'), el('td', {class: 'num'}, Format.time(s.min_ns[i])))
              ])
    ].filter(line => line);
  },
  /* Means per step by category, each with its share, its spread over ranks and the rank that has most. */
  table() {
    const s = Pod.sum, rows = [], many = Pod.workers > 1;
    Pod.category.forEach((k, i) => {
      if (!s.category[i])
        return;
      const means = Array.from({length: Pod.workers}, (unused, w) => Pod.mean(Pod.worker.category[i], w));
      const sorted = means.filter(v => v !== null).sort((a, b) => a - b), worst = means.indexOf(sorted[sorted.length - 1]);
      const wait = k.id === 10 ? Math.min(s.wait_ns, s.category[i]) : 0;
      rows.push({
        name: [swatch(k.colour), k.name],
        of: k.id,
        colour: k.colour,
        parts: [[s.category[i] - wait], [wait, true]],
        cells: [
          [Format.time(s.category[i] / s.cells), s.category[i]], [Format.share(s.category[i], s.all_ns)],
          ...many ? [...[0, 2, 4].map(q => [Format.time(quartile(sorted, q))]), Pod.workerName(worst)] : []
        ]
      });
      const rest = s.category[i] - s.wait_ns - s.transfer_ns;
      if (k.id === 10)
        for (const [name, ns] of [['wait', s.wait_ns], ['transfer', s.transfer_ns],
                 ['other calls, not split', rest > s.category[i] / 100 ? rest : 0]]
                 .filter(([, ns]) => ns > 0))
          rows.push({
            name,
            sub: true,
            cells: [[Format.time(ns / s.cells), ns], [Format.share(ns, s.all_ns)], ...many ? ['', '', '', ''] : []]
          });
    });
    const heads = ['Category', '', 'mean', 'of the step', ...many ? ['least', 'median', 'most', 'most on'] : []];
    return el('div', {class: 'scroll'},
        el('p', {class: 'lead', style: {margin: '16px 0 2px'}},
            `Exclusive time per step${many ? ', mean over all ranks. Least, median and most compare the ranks' : ''}.`),
        barTable('breakdown', 'Exclusive time per step by category', heads, rows));
  },
  /* The device operators with most self time. */
  devices() {
    const t = Pod.table('op_stats', 'rank'), of = name => Pod.column(t, name),
          list = Array.from({length: t ? t.shown : 0}, (unused, i) => i)
                     .filter(i => of('host_or_device')[i] === 'Device' && !of('is_idle')[i]);
    if (!list.length)
      return null;
    const percent = i => of('device_self_percent_no_idle')[i];
    const rows = list.slice(0, 10).map(i => ({
      name: Format.short(of('name')[i], 30),
      title: of('name')[i],
      colour: Pod.colour(1),
      parts: [[percent(i)]],
      cells: [
        [Format.time(of('self_ns')[i]), of('self_ns')[i]], [Format.share(percent(i), 100)],
        [Format.share(of('device_cumulative_percent_no_idle')[i], 100)], of('type')[i]
      ]
    }));
    return el('div', {class: 'scroll', style: {marginTop: '22px'}}, el('h3', {}, 'Top operators on devices'),
        el('p', {class: 'lead'}, 'Self time over all ranks and steps, as a share of the self time of all device operators.'),
        barTable('device-ops', 'Ten device operators with most self time',
            ['Operator', '', 'self time', 'of devices', 'cumulative', 'type'], rows));
  },
  /* Over the steps: of all ranks, or of one. */
  statistics() {
    const t = Pod.table('step_statistics'), of = name => Pod.column(t, name);
    if (!t)
      return null;
    const ns = (name, key, what) => ({name, unit: 'ns', what, get: i => of(key)[i]});
    const columns = [
      {name: 'rank', text: true, get: i => of('worker')[i] < 0 ? 'all' : String(of('worker')[i]), sort: i => of('worker')[i]},
      {name: 'category', text: true, get: i => of('category')[i]},
      {name: 'steps', minor: true, get: i => of('steps')[i]},
      ns('mean', 'mean_ns', 'per step'),
      ns('standard deviation', 'deviation_ns', 'over the steps'),
      ns('least', 'min_ns', 'of a step'),
      ns('most', 'max_ns', 'of a step'),
    ];
    return new Table({
      id: 'step-statistics',
      title: 'Statistics of step time and categories',
      label: 'Mean, standard deviation and range over steps',
      columns,
      rows: t.shown,
      first: 12
    }).element;
  },
  steps() {
    const s = Pod.step, ns = name => ({name: name[0], unit: 'ns', what: name[2], get: i => s[name[1]][i]});
    const columns = [
      {name: 'step', get: i => s.number[i]},
      {name: 'ranks', get: i => s.count[i]},
      ...[['fastest', 'min_ns', 'fastest rank'], ['25 %', 'q25_ns', 'lower quartile over ranks'],
          ['median', 'median_ns', 'median over ranks'], ['75 %', 'q75_ns', 'upper quartile over ranks'],
          ['slowest', 'max_ns', 'slowest rank']]
          .map(ns),
      {name: 'slowest rank', get: i => s.worst[i] < 0 ? null : Pod.worker.rank[s.worst[i]]},
      {name: 'mean waiting', unit: 'ns', what: 'mean over ranks', get: i => s.count[i] ? s.wait_ns[i] / s.count[i] : null},
      {
        name: 'straggler',
        what: 'the rank that the others waited for most',
        get: i => s.latest[i] < 0 ? null : Pod.worker.rank[s.latest[i]]
      },
    ];
    const slowest = Pod.table('slowest');
    return details('Details: every step as a table', new Table({
      id: 'steps',
      title: 'Step time of every step over ranks',
      columns,
      rows: s.n,
      pick: i => Select.set({from: Select.nearest(s.number[i])})
    }).element,
        Overview.statistics(), slowest && tableOf(slowest, 'slowest-step', 'Slowest rank of each step', {
          label: 'Slowest rank of each step, and how much longer than the median rank'
        }).element);
  },
};

/* The rank that the others waited for most in step i of all. */
function stragglerOf(i) {
  const w = Pod.step.latest[i], kept = Pod.step.kept_ns[i];
  return w < 0                   ? (Pod.step.wait_ns[i] === null ? 'straggler: unknown' : 'no straggler')
      : kept <= Pod.sum.bound_ns ? 'straggler: tie (the waiting is below the clock error)'
                                 : `straggler: ${Pod.workerName(w)} (the other ranks wait ${Format.time(kept)} for it on average)`;
}

/* Rows of a hover card: what there is, largest first. */
function breakdownRows(parts, total) {
  return parts.filter(p => p.ns > 0)
      .sort((a, b) => b.ns - a.ns)
      .map(
          p => el('tr', {},
              el('td', {}, el('span', {class: p.hatched ? 'swatch hatched' : 'swatch', style: {backgroundColor: Pod.colour(p.id)}}),
                  ' ' + p.name),
              el('td', {class: 'num'}, Format.time(p.ns)), el('td', {class: 'num'}, Format.share(p.ns, total))));
}

/* Why a section is empty, and what helps: where podprof recorded the job, or where the session was made from files. */
function emptyText(why, how, ofFiles) {
  const cure = Pod.table('trace_file') ? ofFiles : how;
  return el('div', {class: 'empty'}, el('p', {}, why), cure && el('p', {}, cure));
}
