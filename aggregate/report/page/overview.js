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
  domains() {
    return new Set(Array.from({length: Pod.workers}, (unused, w) => w).filter(Verdict.came).map(w => Pod.worker.domain[w])).size;
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
  bars: 240, /* more steps than this are drawn in groups */

  section() {
    if (!Pod.sum.cells)
      return [
        el('h2', {}, 'Step time'),
        emptyText('No step is complete on any rank of this session.',
            'Mark steps with podprof_step_begin() or a repeating NVTX range, and choose steps that the job reaches (--steps A:B).')
      ];
    const box = el('div', {class: 'chartbox'});
    Overview.box = box;
    return [
      Verdict.evidence(),
      el('p', {class: 'lead'}, 'Columns: time by category, mean over ranks. ',
          Pod.workers > 1 ? 'Lines: the slowest and the fastest rank of each step. A gap between the lines shows imbalance. ' +
                  'Close lines over tall hatched columns show ranks that wait for each other.'
                          : 'Line: the step time.'),
      box, Overview.legend(), Overview.table(), Kernels.note(), Overview.devices(), Overview.steps()
    ];
  },
  legend() {
    const list = legend(Pod.category.filter((k, i) => Pod.sum.category[i] > 0).map(k => k.id), Pod.sum.wait_ns > 0);
    list.append(el('li', {}, el('span', {class: 'swatch line', style: {backgroundColor: 'var(--ink)'}}),
        Pod.workers > 1 ? 'slowest rank' : 'step time'));
    if (Pod.workers > 1)
      list.append(el('li', {}, el('span', {class: 'swatch line', style: {backgroundColor: 'var(--soft)'}}), 'fastest rank'));
    return list;
  },
  groups() {
    const n = Pod.step.n, size = Math.ceil(n / Overview.bars);
    return Array.from({length: Math.ceil(n / size)}, (unused, g) => ({from: g * size, to: Math.min(n, (g + 1) * size)}));
  },
  draw() {
    if (!Overview.box)
      return;
    if (Overview.chart)
      Overview.chart.destroy();
    if (typeof Chart === 'undefined') {
      Overview.box.replaceChildren(el('p', {class: 'missing', id: 'no-chart'},
          'The chart is missing: podprof was built without Chart.js. ' +
              'The table below has the same numbers. To get the chart: apt-get install libjs-chart.js, build podprof again, ' +
              'remove report.html, and run \u2018podprof report\u2019.'));
      Overview.box.style.height = 'auto';
      return;
    }
    const canvas =
        el('canvas', {id: 'step-chart', role: 'img', 'aria-label': 'Step time over steps; the table below has the same numbers'});
    Overview.box.replaceChildren(canvas);
    Overview.chart = new Chart(canvas, Overview.config());
  },
  config() {
    const groups = Overview.groups(), s = Pod.step,
          over = (g, f) => Math.max(...Array.from({length: g.to - g.from}, (unused, i) => f(g.from + i)));
    const sum = (g, values) => values.slice(g.from, g.to).reduce((a, b) => a + b, 0);
    const most = Math.max(...s.max_ns), [size, unit] = Format.axis('ns', most), soft = css('--soft'), ground = css('--ground');
    const shown = Pod.category.filter((k, i) => Pod.sum.category[i] > 0);
    const order = k => k.id === 10 || k.id === 3 ? 20 + k.id : k.id;
    const bar = (label, colour, value) => ({
      type: 'bar',
      label,
      stack: 'step',
      order: 2,
      backgroundColor: colour,
      borderColor: ground,
      borderWidth: groups.length > 150 ? 0 : {top: 1},
      borderSkipped: false,
      barPercentage: 1,
      categoryPercentage: groups.length > 60 ? 1 : 0.86,
      data: groups.map(g => value(g) / Math.max(1, sum(g, s.count)) / size)
    });
    const wait = g => Math.min(sum(g, s.wait_ns), sum(g, s.category[COMMUNICATION[0] - 1])),
          hatch = Hatch.of(document.createElement('canvas').getContext('2d'), Pod.colour(COMMUNICATION[0]));
    const datasets =
        shown.sort((a, b) => order(a) - order(b))
            .flatMap(k => k.id !== COMMUNICATION[0]
                    ? [bar(k.name, k.colour, g => sum(g, s.category[k.id - 1]))]
                    : [bar(k.name, k.colour, g => sum(g, s.category[k.id - 1]) - wait(g)), bar(k.name + ', waiting', hatch, wait)]);
    const line = (label, colour, value) => ({
      type: 'line',
      label,
      order: 1,
      borderColor: colour,
      backgroundColor: colour,
      borderWidth: 1.5,
      stack: label,
      pointRadius: groups.length < 4 ? 3 : 0,
      pointHitRadius: 6,
      tension: 0,
      data: groups.map(g => value(g) / size)
    });
    datasets.push(line('slowest rank', css('--ink'), g => over(g, i => s.max_ns[i])));
    if (Pod.workers > 1)
      datasets.push(line('fastest rank', soft, g => -over(g, i => -s.min_ns[i])));
    const label = g => g.to - g.from === 1 ? String(s.number[g.from]) : `${s.number[g.from]}\u2013${s.number[g.to - 1]}`;
    const font = {family: css('--font'), size: 12};
    return {
      data: {labels: groups.map(label), datasets},
      options: {
        animation: false,
        maintainAspectRatio: false,
        responsive: true,
        events: ['mousemove', 'mouseout', 'click'],
        interaction: {mode: 'index', intersect: false},
        onClick: (e, found) => found.length && Select.set({from: Select.nearest(s.number[groups[found[0].index].from])}),
        plugins: {legend: {display: false}, tooltip: {enabled: false, external: t => Overview.hover(t, groups)}},
        scales: {
          x: {
            stacked: true,
            grid: {display: false, color: css('--rule')},
            border: {color: css('--rule')},
            ticks: {color: soft, font, maxRotation: 0, autoSkipPadding: 14},
            title: axisTitle('step number')
          },
          y: {
            stacked: true,
            beginAtZero: true,
            grid: {color: css('--rule'), drawBorder: false, drawTicks: false},
            max: ticks(most / size, 5).length * ticks(most / size, 5)[1],
            ticks: {color: soft, font, padding: 8, stepSize: ticks(most / size, 5)[1]},
            title: axisTitle(Format.titled('time per step', unit))
          }
        }
      }
    };
  },
  hover(context, groups) {
    const tip = context.tooltip, g = tip.dataPoints && tip.dataPoints.length ? groups[tip.dataPoints[0].dataIndex] : null;
    if (!g || tip.opacity === 0)
      return Card.hide();
    const box = context.chart.canvas.getBoundingClientRect(), i = g.from, s = Pod.step;
    const total = s.step_ns[i] / Math.max(1, s.count[i]);
    Card.show(box.left + tip.caretX, box.top + tip.caretY, [
      el('b', {},
          g.to - g.from === 1 ? 'step ' + s.number[i] : `step ${s.number[i]}, first of ${s.number[i]}\u2013${s.number[g.to - 1]}`),
      Pod.workers > 1 && el('div', {}, stragglerOf(i)),
      el('table', {},
          breakdownRows(
              Pod.category.map((k, c) => ({id: k.id, name: k.name, ns: s.category[c][i] / Math.max(1, s.count[i])})), total),
          Pod.workers > 1 &&
              [
                el('tr', {}, el('td', {}, `slowest: ${s.worst[i] >= 0 ? Pod.workerName(s.worst[i]) : '\u2013'}`),
                    el('td', {class: 'num'}, Format.time(s.max_ns[i]))),
                el('tr', {}, el('td', {}, 'fastest rank'), el('td', {class: 'num'}, Format.time(s.min_ns[i])))
              ])
    ]);
  },
  /* Means per step by category, each with its share, its spread over ranks and the rank that has most. */
  table() {
    const s = Pod.sum, most = Math.max(...s.category), rows = [];
    Pod.category.forEach((k, i) => {
      if (!s.category[i])
        return;
      const means = Array.from({length: Pod.workers}, (unused, w) => Pod.mean(Pod.worker.category[i], w));
      const sorted = means.filter(v => v !== null).sort((a, b) => a - b), worst = means.indexOf(sorted[sorted.length - 1]);
      const wait = k.id === 10 ? Math.min(s.wait_ns, s.category[i]) : 0,
            width = ns => ({width: 100 * ns / most + '%', backgroundColor: k.colour});
      rows.push(el('tr', {'data-category': k.id},
          el('td', {class: 'name'}, el('span', {class: 'swatch', style: {backgroundColor: k.colour}}), k.name),
          el('td', {class: 'bar'},
              el('div', {class: 'track'}, s.category[i] > wait && el('span', {style: width(s.category[i] - wait)}),
                  wait > 0 && el('span', {class: 'hatched', style: width(wait)}))),
          el('td', {class: 'num', 'data-v': s.category[i]}, Format.time(s.category[i] / s.cells)),
          el('td', {class: 'num'}, Format.share(s.category[i], s.all_ns)), Pod.workers > 1 && [
            el('td', {class: 'num'}, Format.time(sorted[0])), el('td', {class: 'num'}, Format.time(quartile(sorted, 2))),
            el('td', {class: 'num'}, Format.time(sorted[sorted.length - 1])), el('td', {}, Pod.workerName(worst))
          ]));
      const rest = s.category[i] - s.wait_ns - s.transfer_ns;
      if (k.id === 10)
        for (const [name, ns] of [['wait', s.wait_ns], ['transfer', s.transfer_ns],
                 ['other calls, not split', rest > s.category[i] / 100 ? rest : 0]]
                 .filter(([, ns]) => ns > 0))
          rows.push(el('tr', {class: 'sub'}, el('td', {class: 'name'}, name), el('td'),
              el('td', {class: 'num', 'data-v': ns}, Format.time(ns / s.cells)),
              el('td', {class: 'num'}, Format.share(ns, s.all_ns)), Pod.workers > 1 && [1, 2, 3, 4].map(() => el('td'))));
    });
    const heads = ['Category', '', 'mean', 'of the step', ...Pod.workers > 1 ? ['least', 'median', 'most', 'most on'] : []];
    return el('div', {class: 'scroll'},
        el('p', {class: 'lead', style: {margin: '16px 0 2px'}},
            `Exclusive time per step${Pod.workers > 1 ? ', mean over all ranks. Least, median and most compare the ranks' : ''}.`),
        el('table', {class: 'bars', id: 'breakdown', 'aria-label': 'Exclusive time per step by category'},
            el('thead', {}, el('tr', {}, heads.map((h, i) => el('th', {scope: 'col', class: i > 1 && i < 7 ? 'num' : null}, h)))),
            el('tbody', {}, rows)));
  },
  /* The device operators with most self time. */
  devices() {
    const t = Pod.table('op_stats', 'rank'), of = name => Pod.column(t, name),
          list = Array.from({length: t ? t.shown : 0}, (unused, i) => i)
                     .filter(i => of('host_or_device')[i] === 'Device' && !of('is_idle')[i]);
    if (!list.length)
      return null;
    const percent = i => of('device_self_percent_no_idle')[i], first = list.slice(0, 10), most = percent(first[0]) || 1;
    const bar = i => el('span', {style: {width: 100 * percent(i) / most + '%', backgroundColor: Pod.colour(1)}});
    const rows = first.map(
        i => el('tr', {}, el('td', {class: 'name op', title: of('name')[i]}, Format.short(of('name')[i], 30)),
            el('td', {class: 'bar'}, el('div', {class: 'track'}, bar(i))),
            el('td', {class: 'num', 'data-v': of('self_ns')[i]}, Format.time(of('self_ns')[i])),
            el('td', {class: 'num'}, Format.share(percent(i), 100)),
            el('td', {class: 'num'}, Format.share(of('device_cumulative_percent_no_idle')[i], 100)), el('td', {}, of('type')[i])));
    const heads = ['Operator', '', 'self time', 'of devices', 'cumulative', 'type'];
    return el('div', {class: 'scroll', style: {marginTop: '22px'}}, el('h3', {}, 'Top operators on devices'),
        el('p', {class: 'lead'}, 'Self time over all ranks and steps, as a share of the self time of all device operators.'),
        el('table', {class: 'bars', id: 'device-ops', 'aria-label': 'Ten device operators with most self time'},
            el('thead', {}, el('tr', {}, heads.map((h, i) => el('th', {scope: 'col', class: i > 1 && i < 5 ? 'num' : null}, h)))),
            el('tbody', {}, rows)));
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
                                 : `straggler: ${Pod.workerName(w)} (each other rank waits ${Format.time(kept)} for it)`;
}

function axisTitle(text) {
  return {display: true, text, color: css('--soft'), font: {family: css('--font'), size: 12}, padding: 2};
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
