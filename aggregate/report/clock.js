/* The clock error between ranks: hosts' clocks against rank 0's, the bound over time, and what contradicts it. */
'use strict';

const Clocks = {
  most: 48,   /* lines; of more hosts those with the largest bounds */
  points: 16, /* of a segment: its bound is a parabola */

  quality(name) {
    return Pod.smallOf('quality', name)[0] || 0;
  },
  known(bound) {
    return bound !== null && bound < 9e18; /* the largest int64: not joined */
  },

  /* Rows of /clock by host; empty where the file is of an earlier podprof. */
  load() {
    const t = Pod.table('clock', 'host'), c = name => Pod.column(t, name),
          of = Pod.column(Pod.table('clock', 'worker'), 'worker_host');
    if (Clocks.hosts || !t)
      return Clocks.hosts = Clocks.hosts || [];
    const ticks = new Map();
    Clocks.hosts = Array.from({length: t.shown}, (unused, i) => {
      const own = c('own')[i] || 'clock of row ' + i;
      if (!ticks.has(own))
        ticks.set(own, ticks.size + 1);
      return {
        row: c('host')[i],
        name: c('name')[i],
        ticks: ticks.get(own),
        parent: c('parent')[i],
        hops: c('hops')[i],
        bound: c('host_bound_ns')[i],
        drift: c('hops')[i] && Clocks.known(c('host_bound_ns')[i]) ? -c('host_drift_ppb')[i] / 1000 : null,
        driftError: Clocks.known(c('host_drift_error_ppb')[i]) ? c('host_drift_error_ppb')[i] / 1000 : null,
        offset: c('host_offset_ns')[i],
        trips: c('trips')[i],
        lost: c('lost')[i],
        claimed: c('claim_known')[i] === 1,
        synchronised: c('claim_synchronised')[i] === 1,
        error: c('claim_error_ns')[i],
        most: c('claim_error_most_ns')[i],
        by: c('claim_by')[i],
        changes: c('changes_lost')[i],
        ranks: [],
        samples: [],
        segments: []
      };
    });
    const byRow = Clocks.byRow = new Map(Clocks.hosts.map(h => [h.row, h]));
    of.forEach((row, w) => byRow.has(row) && byRow.get(row).ranks.push(w));
    Clocks.each('sample', (h, c, i) => h.samples.push({time: c('time_ns')[i], half: c('half_ns')[i]}));
    Clocks.each('stretch', (h, c, i) => h.segments.push({
      begin: c('begin_ns')[i],
      end: c('end_ns')[i],
      from: c('bound_begin_ns')[i],
      to: c('bound_end_ns')[i],
      hump: c('bound_hump_ns')[i]
    }));
    Clocks.each('change', h => h.changes++);
    return Clocks.hosts;
  },
  each(dim, f) {
    const t = Pod.table('clock', dim), c = name => Pod.column(t, name);
    for (let i = 0; t && i < t.shown; i++)
      if (Clocks.byRow.has(c(dim + '_host')[i]))
        f(Clocks.byRow.get(c(dim + '_host')[i]), c, i);
  },
  /* How many clocks these hosts have. */
  count() {
    return new Set(Clocks.load().map(h => h.ticks)).size;
  },
  ppm(h) {
    const error = h.driftError, n = error === null ? 0 : error >= 1 ? 1 : error >= 0.1 ? 2 : 3;
    return (error === null ? 'about ' : '') + (+h.drift.toFixed(n) < 0 ? '\u2212' : '+') + Math.abs(h.drift).toFixed(n) +
        (error === null ? '' : ` \u00b1${NB}${(Math.ceil(error * 10 ** n) / 10 ** n).toFixed(n)}`) + NB + 'ppm';
  },
  unjoined() {
    return Clocks.load().filter(h => !Clocks.known(h.bound));
  },
  attention() {
    return Clocks.unjoined().length > 0 || Clocks.load().some(h => h.changes > 0) || Clocks.quality('causality_violated') > 0;
  },

  section() {
    const hosts = Clocks.load(), title = el('h2', {}, 'Clock');
    if (!Groups.has('clock'))
      return Groups.absent('clock', 'Clock', '');
    const workers = Pod.table('clock', 'worker'),
          table = workers && tableOf(workers, 'clock-worker', '/clock by worker', {label: 'Ranks'}).element;
    if (!hosts.length)
      return [
        title,
        el('p', {class: 'lead'},
            `Times of ranks of one clock compare to ${
                Format.time(Pod.sum.bound_ns)}. What hosts know of their clocks is not in this file.`),
        table
      ];
    Clocks.box = el('div', {class: 'chartbox', id: 'clock-chart', style: {height: '220px'}});
    Clocks.text = el('p', {class: 'lead', style: {margin: '14px 0 0'}});
    return [
      title, el('p', {class: 'lead', id: 'clock-lead'}, Clocks.lead()), Clocks.notes(),
      Clocks.drawn().length && typeof Chart !== 'undefined' ? [Clocks.text, Clocks.box] : null, Clocks.table(),
      el('details', {}, el('summary', {}, 'Every reading as a table'), table, Clocks.readings())
    ];
  },
  lead() {
    const clocks = Clocks.count(), n = Clocks.hosts.length, worst = Clocks.drawn()[0];
    if (clocks === 1)
      return `${
          n === 1 ? 'One host' : Format.count(n) + ' hosts'}, one clock: times of all ranks are ticks of it and compare to \u00b1${
          NB}${Format.time(Pod.sum.bound_ns)}.`;
    return `${Format.count(clocks)} clocks of ${Format.count(n)} hosts. ` +
        (worst ? `Times of any two ranks${Clocks.unjoined().length ? ' whose clocks are joined' : ''} compare to \u00b1${NB}${
                     Format.time(Pod.sum.bound_ns)}; ` +
                    `worst is ${worst.name}, whose times are at most ${
                        Format.time(worst.bound)} off those of rank 0\u2019s host. What is smaller is a tie.`
               : 'No two of them could be joined: only ranks of one clock are compared.');
  },
  /* What contradicts the bounds, steps of the wall clocks, and what NTP and PTP claim of them. */
  notes() {
    const n = Clocks.quality('causality_pairs'), violated = Clocks.quality('causality_violated'),
          inverted = Clocks.quality('causality_inverted');
    const item = (text, bad) => el('li', {class: bad ? 'bad' : null}, text),
          warnings = Array.from(Pod.column(Pod.table('quality', 'warning'), 'warning'));
    const list = [
      n ? item(`Causality: ${Format.count(violated)} of ${
                   Format.count(n)} exits from collectives lie before an arrival on another clock by more than the bounds of both` +
                  (violated ? `, by up to ${Format.time(Clocks.quality('causality_worst_ns'))}: a bound is wrong there`
                          : inverted ? `; ${Format.count(inverted)} more do within the bounds`
                                     : '') +
                  '. Messages are not checked.',
              violated > 0)
                                     : Clocks.hosts.length > 1 &&
              item('Causality: no collective of all its ranks went across two clocks that are joined. Messages are not checked.')
    ];
    for (const w of warnings.filter(w => w.startsWith('clock: ') && !w.includes('exits from collectives')))
      list.push(item(Clocks.typeset(w), true));
    return el('ul', {class: 'notes', id: 'clock-notes'}, list, item(Clocks.claims()));
  },
  typeset(warning) {
    return typeset(sentence(capital(warning.slice('clock: '.length)))).replaceAll('+-', '\u00b1').replace(/ -(?=\d)/g, ' \u2212');
  },
  claims() {
    if (Clocks.hosts.length === 1)
      return `What NTP or PTP claim of the host\u2019s date, shown and not believed: ${Clocks.claim(Clocks.hosts[0])}.`;
    const claims = Clocks.hosts.filter(h => h.claimed), good = claims.filter(h => h.synchronised).sort((a, b) => b.error - a.error),
          silent = Clocks.hosts.length - claims.length;
    const words = [
      good.length &&
          `${Format.count(good.length)} synchronised, within ${Format.time(good[0].error)}, at most ${
              Format.time(good[0].most)}, at ${good[0].name} (${good[0].by})`,
      claims.length > good.length && `${Format.count(claims.length - good.length)} ${good.length ? '' : 'hosts '}not synchronised`,
      silent > 0 && `${Format.count(silent)} silent`
    ].filter(w => w);
    return `What NTP or PTP claim of the hosts\u2019 dates, shown and not believed: ${words.join('; ')}.`;
  },

  claim(h) {
    return !h.claimed
        ? 'nothing'
        : (h.synchronised ? `within ${Format.time(h.error)}, at most ${Format.time(h.most)}` : 'not synchronised') + ` (${h.by})`;
  },

  table() {
    const h = Clocks.hosts;
    const columns = [
      {name: 'host', text: true, get: i => h[i].name},
      {name: 'ranks', get: i => h[i].ranks.length},
      {name: 'clock', what: 'hosts of one number count the same ticks', get: i => h[i].ticks},
      column('bound', 'ns', 'largest error of its times against those of rank 0\u2019s host',
          i => Clocks.known(h[i].bound) ? h[i].bound : null,
          (i, v) => v === null ? el('span', {class: 'bad'}, 'not joined')
              : v === 0        ? 'the same clock'
                               : Format.time(v)),
      column('best burst', 'ns', 'half of the smallest interval that a burst of round trips left',
          i => h[i].samples.length ? Math.min(...h[i].samples.map(s => s.half)) : null),
      column('drift', '',
          'how much faster it runs than the clock of rank 0\u2019s host: the mean from its first comparison to its last',
          i => h[i].drift, (i, v) => v === null ? '\u2013' : Clocks.ppm(h[i])),
      {name: 'compared with', text: true, get: i => h[i].parent || '\u2013'},
      {name: 'bursts', what: 'of round trips: in the window, one before it and one behind it', get: i => h[i].samples.length},
      {name: 'trips', what: 'since the job began', get: i => h[i].trips},
      {name: 'lost', what: 'trips that nobody answered in time', get: i => h[i].lost},
      {name: 'date changes', what: 'steps of the wall clock and sleeps in the window', get: i => h[i].changes},
      {
        name: 'claim of the date',
        text: true,
        class: 'wide',
        what: 'by NTP or PTP; shown and not believed',
        get: i => Clocks.claim(h[i])
      },
    ];
    const shown = Clocks.count() > 1
        ? columns
        : columns.filter(c => ['host', 'ranks', 'clock', 'date changes', 'claim of the date'].includes(c.name));
    return new Table({id: 'clock-hosts', title: 'Clocks of hosts', label: 'Hosts', columns: shown, rows: h.length, first: 12})
        .element;
  },
  readings() {
    const names =
        {sample: 'Comparisons', stretch: 'Bound over time', change: 'Steps of the wall clock', wall: 'Readings of the wall clock'};
    return Object.entries(names).map(
        ([dim, label]) => Pod.table('clock', dim) && tableOf(Pod.table('clock', dim), 'clock-' + dim, label, {label}).element);
  },

  /* Hosts that have a bound to draw, the largest first. */
  drawn() {
    return Clocks.load().filter(h => Clocks.known(h.bound) && h.bound > 0 && h.segments.length).sort((a, b) => b.bound - a.bound);
  },
  line(h) {
    return h.segments.flatMap(
        s => Clocks.known(s.from) && Clocks.known(s.to) ? Array.from({length: Clocks.points + 1}, (unused, k) => {
          const f = k / Clocks.points;
          return {x: (s.begin + (s.end - s.begin) * f) / 1e9, y: s.from + (s.to - s.from) * f + 4 * s.hump * f * (1 - f)};
        }) : [{x: s.begin / 1e9, y: NaN}]);
  },
  draw() {
    const hosts = Clocks.box ? Clocks.drawn() : [], now = [document.documentElement.dataset.theme, Viewer.worker].join();
    if (!hosts.length || typeof Chart === 'undefined' || Clocks.painted === now)
      return;
    Clocks.painted = now;
    const pinned = hosts.find(h => h.ranks.includes(Viewer.worker)),
          shown = hosts.filter((h, i) => i < Clocks.most || h === pinned);
    const colour = h => h === pinned ? css('--ink')
        : h === hosts[0]             ? css('--attention')
                                     : css('--rest'),
          most = Math.max(...shown.flatMap(h => Clocks.line(h)).map(p => p.y || 0), 1);
    const [size, unit] = Format.axis('ns', most), soft = css('--soft'), font = {family: css('--font'), size: 12},
                 marks = ticks(most / size, 4), step = marks[1] || 1;
    Clocks.text.textContent =
        `Bound over time: how far each host\u2019s times may be off those of rank 0\u2019s host. Largest: ${hosts[0].name}, ${
            Format.time(hosts[0].bound)} (${pinned === hosts[0] ? 'strong, the pinned rank\u2019s host' : 'red'})` +
        (pinned && pinned !== hosts[0] ? '; strong: the pinned rank\u2019s host' : '') +
        '. Dots: what a burst of round trips left' +
        (shown.length < hosts.length ? `; the ${shown.length} largest of ${hosts.length} hosts.` : '.');
    if (Clocks.chart)
      Clocks.chart.destroy();
    const canvas = el('canvas', {role: 'img', 'aria-label': Clocks.text.textContent + ' The tables below have the numbers.'});
    Clocks.box.replaceChildren(canvas);
    const data = (h, points, more) => ({
      label: h.name,
      data: points.map(p => ({x: p.x, y: p.y / size})),
      borderColor: colour(h),
      backgroundColor: colour(h),
      tension: 0,
      order: h === pinned  ? 0
          : h === hosts[0] ? 1
                           : 2,
      ...more
    });
    const dots = h =>
        h.samples
            .filter(s => Clocks.known(s.half) && s.time >= h.segments[0].begin && s.time <= h.segments[h.segments.length - 1].end)
            .map(s => ({x: s.time / 1e9, y: s.half}));
    Clocks.chart = new Chart(canvas, {
      type: 'line',
      data: {
        datasets: shown.flatMap(
            h => [data(h, Clocks.line(h), {borderWidth: colour(h) === css('--rest') ? 1 : 1.75, pointRadius: 0, pointHitRadius: 4}),
                data(h, dots(h), {showLine: false, pointRadius: h === hosts[0] || h === pinned ? 3 : 2})])
      },
      options: {
        animation: false,
        maintainAspectRatio: false,
        responsive: true,
        parsing: false,
        interaction: {mode: 'nearest', intersect: false},
        plugins: {legend: {display: false}, tooltip: {enabled: false, external: tip => Clocks.hover(tip, size)}},
        scales: {
          x: {
            type: 'linear',
            grid: {display: false},
            ticks: {color: soft, font, callback: v => +v.toPrecision(6) + NB + 's', maxTicksLimit: 9}
          },
          y: {
            beginAtZero: true,
            max: marks.length * step,
            grid: {color: css('--rule'), drawBorder: false, drawTicks: false},
            ticks: {color: soft, font, padding: 8, stepSize: step, callback: v => v ? +v.toPrecision(4) + NB + unit : '0'}
          }
        }
      }
    });
  },
  hover(context, size) {
    const tip = context.tooltip, point = tip.dataPoints && tip.dataPoints[0];
    if (!point || tip.opacity === 0)
      return Card.hide();
    const box = context.chart.canvas.getBoundingClientRect();
    Card.show(box.left + tip.caretX, box.top + tip.caretY, [
      el('b', {}, point.dataset.label),
      el('div', {}, `\u00b1${NB}${Format.time(point.raw.y * size)} at ${Format.time(point.raw.x * 1e9)}`)
    ]);
  },
};
