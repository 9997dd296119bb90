/* The first screen: the verdict with its evidence and the data quality, then the time of a step by category. */
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

const Verdict = {
  /* The rank that the others waited for most; null where nobody waited, or the clock cannot tell. */
  worst() {
    let worst = -1;
    for (let w = 0; w < Pod.workers; w++)
      if (Pod.worker.late_ns[w] > 0 && (worst < 0 || Pod.worker.late_ns[w] > Pod.worker.late_ns[worst]))
        worst = w;
    return worst < 0 ? null : worst;
  },
  /* How long one other rank waits for it per step. */
  lateEach(w) {
    const cells = Pod.sum.steps * Verdict.peers(w).length;
    return cells > 0 ? Pod.worker.late_ns[w] / cells : 0;
  },
  /* |error| of that, by the clocks. */
  errorEach(w) {
    const cells = Pod.sum.steps * Verdict.peers(w).length;
    return cells > 0 ? Pod.worker.late_error_ns[w] / cells : 0;
  },
  came(w) {
    return !Pod.worker.status[w].startsWith('missing');
  },
  domains() {
    return new Set(Array.from({length: Pod.workers}, (unused, w) => w).filter(Verdict.came).map(w => Pod.worker.domain[w])).size;
  },
  /* Who can be said to wait for it: ranks that came, of the same clock. */
  peers(w) {
    return Array.from({length: Pod.workers}, (unused, i) => i)
        .filter(i => i !== w && Verdict.came(i) && Pod.worker.domain[i] === Pod.worker.domain[w]);
  },
  others(w) {
    const peers = Verdict.peers(w);
    if (peers.length === 1)
      return 'rank ' + Pod.worker.rank[peers[0]];
    return 'the other ' + Format.count(peers.length) + ' ranks' + (Verdict.domains() > 1 ? ' of its clock' : '');
  },
  evidence() {
    const w = Verdict.worst();
    if (!Pod.sum.cells)
      return 'No rank delivered a complete step.';
    if (w === null && Verdict.domains() > 1)
      return 'No rank waited for another of its own clock in a collective operation; of ranks of two clocks nobody can say.';
    if (w === null || Pod.workers < 2)
      return Pod.workers < 2 ? 'One rank: there is nobody to wait for.' : 'No rank waited for another in a collective operation.';
    const each = Verdict.lateEach(w), error = Verdict.errorEach(w);
    if (each <= error)
      return `Who waited for whom is a tie: ${Format.time(each)} a step is below the clocks\u2019 bounds of \u00b1${NB}${
          Format.time(error)}.`;
    const text =
        `${Verdict.others(w)} waited ${Format.time(each)} \u00b1${NB}${Format.time(error)} a step each for ${Pod.workerName(w)}; ` +
        `in ${Format.count(Pod.worker.late_steps[w])} of ${Format.count(Pod.sum.steps)} steps it cost the most.`;
    return text[0].toUpperCase() + text.slice(1);
  },
  /* The step that moves the means and not the median; nothing where there is none. The summary's rule: text_table.c. */
  longest() {
    const all = Pod.step.max_ns, most = Math.max(...all);
    return Pod.sum.steps > 1 && most > 2 * Pod.sum.median_ns
        ? `; longest ${Format.time(most)}, step ${Pod.step.number[all.indexOf(most)]}: means count it`
        : '';
  },
  lost() {
    const lost = Pod.smallOf('quality', 'dropped').reduce((a, b) => a + b, 0);
    return {lost, records: Array.from(Pod.worker.records).reduce((a, b) => a + b, 0)};
  },
  missing() {
    return Pod.worker.status.map((s, w) => s.startsWith('missing') ? w : -1).filter(w => w >= 0);
  },
  doubts() {
    const {lost, records} = Verdict.lost(), list = [], missing = Verdict.missing();
    if (missing.length)
      list.push(`${Format.count(missing.length)} of ${Format.count(Pod.run.ranks_asked)} ranks are missing`);
    if (lost)
      list.push(`${Format.count(lost)} records lost beside ${Format.count(records)} read`);
    const table = Pod.table('quality', 'unclassified'),
          ns = table ? Array.from(Pod.column(table, 'unclassified_ns')).reduce((a, b) => a + b, 0) : 0;
    if (ns > 0.01 * Pod.sum.all_ns)
      list.push(`${Format.share(ns, Pod.sum.all_ns)} of all step time is host compute by the default rule alone`);
    if (Pod.run.step_confidence < 0.95)
      list.push(`steps were found by the rule '${Pod.run.step_rule || 'none'}', confidence ${Pod.run.step_confidence.toFixed(2)}`);
    if (Verdict.domains() > 1)
      list.push(`${Format.count(Verdict.domains())} clocks that are not joined: nobody is said to wait for a rank of another one`);
    const violated = Clocks.quality('causality_violated'), set = Clocks.load().filter(h => h.changes > 0).length;
    if (set)
      list.push(`${
          set === 1
              ? 'a host\u2019s date was'
              : Format.count(set) + ' hosts\u2019 dates were'} set in the window: dates are in doubt, times between ranks are not`);
    if (violated)
      list.push(`${Format.count(violated)} of ${
          Format.count(Clocks.quality('causality_pairs'))} exits from collectives contradict the clocks\u2019 bounds`);
    else if (Pod.smallOf('quality', 'violations')[0])
      list.push(`${
          Format.count(Pod.smallOf(
              'quality', 'violations')[0])} collectives end before their last arrival: the clocks are worse than their bound`);
    return list;
  },
  head() {
    const r = Pod.run, n = Pod.step.number, hosts = new Set(Pod.worker.host.filter(h => h)).size;
    const whole = n.length === 1 && r.step_rule.startsWith('window'), of = r.kept && !whole ? ` (${r.kept} kept)` : '';
    const steps = whole ? `the ${r.kept ? 'last ' + r.kept : 'window'} as one step`
        : !n.length     ? 'no steps'
        : n.length === 1? 'step ' + n[0]
                        : stepsOf(n);
    const when = new Date(r.window_begin_s * 1000);
    return el('header', {class: 'head'}, el('h1', {}, programOf(r.command)),
        el('span', {},
            `${Format.count(r.ranks_delivered)} of ${Format.count(r.ranks_asked)} rank${r.ranks_asked === 1 ? '' : 's'}`),
        el('span', {}, `${Format.count(hosts)} host${hosts === 1 ? '' : 's'}`), el('span', {id: 'run-steps'}, steps + of),
        el('time', {datetime: when.toISOString(), title: 'UTC ' + when.toISOString()},
            when.toLocaleString(undefined, {dateStyle: 'medium', timeStyle: 'medium'})),
        el('span', {}, 'session ' + r.session));
  },
  section() {
    const s = Pod.sum, mean = s.cells ? s.all_ns / s.cells : 0, {lost, records} = Verdict.lost(), doubts = Verdict.doubts();
    const figure = (key, value, note, bad) =>
        el('div', {}, el('div', {class: 'k'}, key), el('div', {class: bad ? 'v bad' : 'v'}, value), el('div', {class: 'n'}, note));
    return [
      Verdict.head(), el('p', {class: 'verdict', id: 'verdict-text'}, typeset(sentence(Pod.verdict))),
      el('p', {class: 'evidence'}, Verdict.evidence()),
      el('p', {class: 'doubt'}, el('b', {}, 'Doubt: '),
          doubts.length
              ? doubts.join('; ') + '.'
              : `none found: nothing lost, every rank delivered, times of different ranks compare to ${Format.time(s.bound_ns)}.`),
      el('div', {class: 'figures'},
          figure('Step time, slowest rank',
              el('span', {id: 'step-time', 'data-v': s.median_ns}, s.cells ? Format.time(s.median_ns) : '\u2013'),
              `median of ${Format.count(s.steps)} step${s.steps === 1 ? '' : 's'}, \u00b1${NB}${
                  Format.time(s.spread_ns)} half the middle half${Verdict.longest()}`),
          figure('Waiting for other ranks',
              el('span', {id: 'wait-time', 'data-v': s.wait_ns}, s.cells ? Format.time(s.wait_ns / s.cells) : '\u2013'),
              `of ${Format.time(mean)}, a mean rank's step: ${Format.share(s.wait_ns, s.all_ns)}`),
          figure('Records lost', Format.count(lost), `beside ${Format.count(records)} read`, lost > 0),
          figure('Clock bound', Format.time(s.bound_ns),
              `of a difference between two ranks${Verdict.domains() > 1 ? ' whose clocks are joined' : ''}; below it: tie`))
    ];
  },
};

/* The summary's plain text as print: a number keeps its unit, apostrophes bend. */
function typeset(text) {
  return text.replace(/(\d) (ns|us|ms|s|min|h|%)(?![a-z])/g, (all, digit, unit) => digit + NB + (unit === 'us' ? '\u00b5s' : unit))
      .replaceAll('\'', '\u2019');
}

/* The job's name: that of the program, or of an interpreter's script. */
function programOf(command) {
  const words = command.split(' ').filter(w => w), base = w => w.split('/').pop();
  if (!words.length)
    return 'job';
  if (!/^(python[\d.]*|bash|sh)$/.test(base(words[0])))
    return base(words[0]);
  return base(words.slice(1).find(w => !w.startsWith('-')) || words[0]);
}

const Overview = {
  bars: 240, /* more steps than this are drawn in groups */

  section() {
    if (!Pod.sum.cells)
      return [
        el('h2', {}, 'Step time'),
        emptyText('No step is complete on the ranks of this session, so there is no time to divide.',
            'Mark steps by podprof_step_begin() or a repeating NVTX range, and ask for steps that the job reaches (--steps A:B).')
      ];
    const box = el('div', {class: 'chartbox'});
    Overview.box = box;
    return [
      el('h2', {}, 'Step time'),
      el('p', {class: 'lead'},
          'Columns: a mean rank\u2019s step by category. Lines: the slowest and the fastest rank of the step. ',
          Pod.workers > 1
              ? 'A gap between them is imbalance; equal lines with much communication are ranks that wait for each other.'
              : ''),
      box, Overview.legend(), Overview.table(), Overview.steps()
    ];
  },
  legend() {
    const list = legend(Pod.category.filter((k, i) => Pod.sum.category[i] > 0).map(k => k.id), Pod.sum.wait_ns > 0);
    list.append(el('li', {}, el('span', {class: 'swatch line', style: {backgroundColor: 'var(--ink)'}}), 'slowest rank'));
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
          'No chart here: podprof was built without Chart.js, which draws it. ' +
              'The table below has the same numbers. To have the chart: apt-get install libjs-chart.js, build podprof again, ' +
              'then \u2018podprof report\u2019 ' +
              'makes this page anew once report.html is removed.'));
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
        onClick: (e, found) => found.length && State.set({step: s.number[groups[found[0].index].from]}),
        plugins: {legend: {display: false}, tooltip: {enabled: false, external: t => Overview.hover(t, groups)}},
        scales: {
          x: {
            stacked: true,
            grid: {display: false, color: css('--rule')},
            border: {color: css('--rule')},
            ticks: {color: soft, font, maxRotation: 0, autoSkipPadding: 14},
            title: {display: true, text: 'step', color: soft, font, align: 'start', padding: 0}
          },
          y: {
            stacked: true,
            beginAtZero: true,
            grid: {color: css('--rule'), drawBorder: false, drawTicks: false},
            max: ticks(most / size, 5).length * ticks(most / size, 5)[1],
            ticks: {color: soft, font, padding: 8, stepSize: ticks(most / size, 5)[1], callback: v => v ? v + NB + unit : '0'}
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
      el('b', {}, g.to - g.from === 1 ? 'step ' + s.number[i] : `steps ${s.number[i]} to ${s.number[g.to - 1]}, first of them:`),
      el('table', {},
          breakdownRows(
              Pod.category.map((k, c) => ({id: k.id, name: k.name, ns: s.category[c][i] / Math.max(1, s.count[i])})), total),
          el('tr', {}, el('td', {}, 'slowest: ' + (s.worst[i] >= 0 ? Pod.workerName(s.worst[i]) : '\u2013')),
              el('td', {class: 'num'}, Format.time(s.max_ns[i]))),
          el('tr', {}, el('td', {}, 'fastest rank'), el('td', {class: 'num'}, Format.time(s.min_ns[i]))))
    ]);
  },
  /* Means of a step by category, each with its share, its spread over ranks and the rank that has most. */
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
        for (const [name, ns] of [['of it waiting in collectives', s.wait_ns], ['of it transfer in collectives', s.transfer_ns],
                 ...rest > s.category[i] / 100 ? [['of it other calls, not split', rest]] : []])
          rows.push(el('tr', {class: 'sub'}, el('td', {class: 'name'}, name), el('td'),
              el('td', {class: 'num', 'data-v': ns}, Format.time(ns / s.cells)),
              el('td', {class: 'num'}, Format.share(ns, s.all_ns)), Pod.workers > 1 && [1, 2, 3, 4].map(() => el('td'))));
    });
    const heads =
        ['Category', '', 'mean rank\u2019s step', 'of the step', ...Pod.workers > 1 ? ['least rank', 'median', 'most', 'on'] : []];
    return el('div', {class: 'scroll'},
        el('table', {class: 'bars', id: 'breakdown', 'aria-label': 'Exclusive time of a step by category'},
            el('thead', {}, el('tr', {}, heads.map((h, i) => el('th', {scope: 'col', class: i > 1 && i < 7 ? 'num' : null}, h)))),
            el('tbody', {}, rows)));
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
      {name: 'waiting, mean rank', unit: 'ns', get: i => s.count[i] ? s.wait_ns[i] / s.count[i] : null},
      {name: 'waited for most', get: i => s.latest[i] < 0 ? null : Pod.worker.rank[s.latest[i]]},
    ];
    return el('details', {}, el('summary', {}, 'Every step as a table'), new Table({
      id: 'steps',
      title: 'Step time of every step over ranks',
      columns,
      rows: s.n,
      pick: i => State.set({step: s.number[i]})
    }).element);
  },
};

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

function emptyText(why, how) {
  return el('div', {class: 'empty'}, el('p', {}, why), how && el('p', {}, how));
}
