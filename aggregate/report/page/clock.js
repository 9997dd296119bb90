/* The clock error between ranks: hosts' clocks against rank 0's, the error over time, and what contradicts it. */
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

  /* What order proves of the times of devices, of all ranks the worst; null: no device. */
  devices() {
    const t = Pod.table('quality', 'worker'), of = name => Array.from(t ? Pod.column(t, name) : Pod.smallOf('quality', name)),
          least = of('device_least_ns'), most = of('device_most_ns'), shift = of('device_shift_ns'),
          ranks = least.map((x, i) => i).filter(i => least[i] !== null && shift[i] !== null);
    if (!ranks.length)
      return null;
    const late = Math.max(...ranks.map(i => shift[i] - least[i])),
          early = ranks.some(i => most[i] === null) ? null : Math.max(...ranks.map(i => most[i] - shift[i]));
    return `By the order of launches and waits, times of devices are at most ${Format.time(late)} too late, and ${
        early === null ? 'by an unknown time' : `at most ${Format.time(early)}`} too early, beside the host\u2019s.`;
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
        isAligned: c('host_joined_by')[i] === 2,
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
    return (error === null ? 'about ' : '') + (+h.drift.toFixed(n) < 0 ? '\u2212' : '+') + Math.abs(h.drift).toFixed(n) + NB +
        'ppm' + (error === null ? '' : ` (error \u2264${NB}${(Math.ceil(error * 10 ** n) / 10 ** n).toFixed(n)})`);
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
          table = workers && tableOf(workers, 'clock-worker', '/clock by rank', {label: 'Ranks'}).element;
    if (!hosts.length)
      return [
        title,
        el('p', {class: 'lead'},
            Pod.sum.bound_ns > 0 && `Clock error between two ranks of one clock \u2264${NB}${Format.time(Pod.sum.bound_ns)}. `,
            'This file has no data on the clocks of hosts.'),
        table && details('Details: every reading as a table', table)
      ];
    if (Clocks.drawn().length)
      Clocks.plot = new Plot({
        id: 'clock-chart',
        x: {title: 'time since the job began', unit: 'ns'},
        y: {title: 'clock error', unit: 'ns'},
        describe: (
            i, s) => [el('b', {}, s.name), el('div', {}, `clock error \u2264${NB}${Format.time(s.y[i])} at ${Format.time(s.x[i])}`)]
      });
    Clocks.text = el('p', {class: 'lead', style: {margin: '14px 0 0'}});
    return [
      title, el('p', {class: 'lead', id: 'clock-lead'}, Clocks.lead()), Clocks.notes(),
      Clocks.plot && [Clocks.text, Clocks.plot.element], Clocks.table(),
      details('Details: every reading as a table', table, Clocks.readings())
    ];
  },
  lead() {
    const clocks = Clocks.count(), n = Clocks.hosts.length, worst = Clocks.drawn()[0],
          hosts = n === 1 ? 'One host' : Format.count(n) + ' hosts',
          error = `clock error \u2264${NB}${Format.time(Pod.sum.bound_ns)}`;
    if (clocks === 1)
      return `${hosts}: all ranks share one clock, ${error} between two ranks.`;
    return `${hosts} with ${Format.count(clocks)} clocks${
               Clocks.hosts.some(h => h.isAligned) ? ', aligned by the ends of collectives: their spread is the error' : ''}. ` +
        (worst ? `${capital(error)} between any two ranks${Clocks.unjoined().length ? ' of compared clocks' : ''}. ` +
                    `Host ${worst.name} is worst: clock error \u2264${NB}${Format.time(worst.bound)} against rank 0\u2019s host. ` +
                    'Smaller differences are shown as \u201ctie\u201d.'
               : 'No two clocks could be compared, so only ranks with a common clock are compared.');
  },
  /* What contradicts the clock error, changes of the wall clocks, and what NTP and PTP report of them. */
  notes() {
    const n = Clocks.quality('causality_pairs'), violated = Clocks.quality('causality_violated'),
          inverted = Clocks.quality('causality_inverted');
    const item = (text, bad) => el('li', {class: bad ? 'bad' : null}, text),
          warnings = Array.from(Pod.column(Pod.table('quality', 'warning'), 'warning'));
    const exits = `Check of the clock error: ${Format.count(violated)} of ${Format.count(n)} exits from collectives`;
    const list =
        [n ? item(violated ? `${exits} lie before an arrival on another clock by more than the clock error, by up to ${
                                 Format.time(Clocks.quality('causality_worst_ns'))}. The real clock error is larger.`
                           : `${exits} contradict it` +
                         (inverted ? `. ${Format.count(inverted)} exits lie before an arrival within the clock error.` : '.'),
                 violated > 0)
           : Clocks.hosts.length > 1 &&
                  item('Check of the clock error: not possible, no collective has ranks of two compared clocks.')];
    for (const w of warnings.filter(w => w.startsWith('clock: ') && !w.includes('exits from collectives')))
      list.push(item(Clocks.typeset(w), true));
    return el('ul', {class: 'notes', id: 'clock-notes'}, list, item(Clocks.claims()));
  },
  typeset(warning) {
    return typeset(sentence(capital(warning.slice('clock: '.length)))).replaceAll('+-', '\u00b1').replace(/ -(?=\d)/g, ' \u2212');
  },
  /* The wall clocks matter for dates only. */
  claims() {
    const only = 'Wall clocks affect absolute dates only.';
    if (Clocks.hosts.length === 1)
      return `Wall clock: ${Clocks.claim(Clocks.hosts[0])}. ${only}`;
    const claims = Clocks.hosts.filter(h => h.claimed), good = claims.filter(h => h.synchronised).sort((a, b) => b.error - a.error),
          silent = Clocks.hosts.length - claims.length;
    const words = [
      good.length &&
          `${Format.count(good.length)} NTP-synchronised (largest error at ${good[0].name}: estimated ${
              Format.time(good[0].error)}, at most ${Format.time(good[0].most)}, ${good[0].by})`,
      claims.length > good.length && `${Format.count(claims.length - good.length)} not NTP-synchronised`,
      silent > 0 && `${Format.count(silent)} unknown`
    ].filter(w => w);
    return `Wall clocks of the hosts: ${words.join(', ')}. ${only}`;
  },

  claim(h) {
    return !h.claimed
        ? 'unknown'
        : (h.synchronised ? `NTP-synchronised, estimated error ${Format.time(h.error)}, at most ${Format.time(h.most)}`
                          : 'not NTP-synchronised') +
            ` (${h.by})`;
  },

  table() {
    const h = Clocks.hosts;
    const columns = [
      {name: 'host', text: true, get: i => h[i].name},
      {name: 'ranks', get: i => h[i].ranks.length},
      {name: 'clock', what: 'hosts with the same number share a clock', get: i => h[i].ticks},
      column('clock error \u2264', 'ns', 'largest error of a difference to a timestamp of rank 0\u2019s host',
          i => Clocks.known(h[i].bound) ? h[i].bound : null,
          (i, v) => v === null ? el('span', {class: 'bad'}, 'unknown')
              : v === 0        ? 'the same clock'
                               : Format.time(v)),
      column('best burst', 'ns', 'clock error of the best burst of round trips',
          i => h[i].samples.length ? Math.min(...h[i].samples.map(s => s.half)) : null),
      column('drift', '',
          'how much faster its clock runs than that of rank 0\u2019s host: mean from the first comparison to the last',
          i => h[i].drift, (i, v) => v === null ? '\u2013' : Clocks.ppm(h[i])),
      {name: 'compared with', text: true, get: i => h[i].parent || '\u2013'},
      {
        name: 'bursts',
        minor: true,
        what: 'bursts of round trips: in the window, one before it and one after it',
        get: i => h[i].samples.length
      },
      {name: 'trips', minor: true, what: 'round trips since the job began', get: i => h[i].trips},
      {name: 'lost', minor: true, what: 'round trips without an answer in time', get: i => h[i].lost},
      {name: 'date changes', what: 'changes of the wall clock and sleeps of the host in the window', get: i => h[i].changes},
      {
        name: 'wall clock',
        text: true,
        class: 'wide',
        what: 'as NTP or PTP reports it; affects absolute dates only',
        get: i => Clocks.claim(h[i])
      },
    ];
    const shown = Clocks.count() > 1
        ? columns
        : columns.filter(c => ['host', 'ranks', 'clock', 'date changes', 'wall clock'].includes(c.name));
    return new Table({id: 'clock-hosts', title: 'Clocks of hosts', label: 'Hosts', columns: shown, rows: h.length, first: 12})
        .element;
  },
  readings() {
    const names = {
      sample: 'Comparisons',
      stretch: 'Clock error over time',
      change: 'Changes of the wall clock',
      wall: 'Readings of the wall clock'
    };
    return Object.entries(names).map(
        ([dim, label]) => Pod.table('clock', dim) && tableOf(Pod.table('clock', dim), 'clock-' + dim, label, {label}).element);
  },

  /* Hosts that have a bound to draw, the largest first. */
  drawn() {
    return Clocks.load().filter(h => Clocks.known(h.bound) && h.bound > 0 && h.segments.length).sort((a, b) => b.bound - a.bound);
  },
  line(h) {
    const x = [], y = [];
    for (const s of h.segments) {
      const joined = Clocks.known(s.from) && Clocks.known(s.to);
      for (let k = 0; k <= (joined ? Clocks.points : 0); k++) {
        const f = k / Clocks.points;
        x.push(s.begin + (s.end - s.begin) * f);
        y.push(joined ? s.from + (s.to - s.from) * f + 4 * s.hump * f * (1 - f) : null);
      }
    }
    return {x, y, plain: true};
  },
  bursts(h) {
    const list = h.samples.filter(
        s => Clocks.known(s.half) && s.time >= h.segments[0].begin && s.time <= h.segments[h.segments.length - 1].end);
    return {x: list.map(s => s.time), y: list.map(s => s.half)};
  },
  draw() {
    if (!Clocks.plot)
      return;
    const hosts = Clocks.drawn(), isPinned = h => h.ranks.includes(Select.worker), pinned = hosts.find(isPinned);
    const {shown, text} = Plot.many(hosts, Clocks.most, isPinned);
    Clocks.text.textContent = 'Clock error of each host against rank 0\u2019s host. ' +
        `${pinned === hosts[0] ? 'Strong, the pinned rank\u2019s host' : 'Blue'}: ${hosts[0].name}, with the largest error, ${
            Format.time(hosts[0].bound)}. ` +
        (pinned && pinned !== hosts[0] ? `Strong: ${pinned.name}, the pinned rank\u2019s host. ` : '') +
        'Dots: clock error of one burst of round trips.' +
        (text && ` Shown: the ${text} hosts with the largest error of ${hosts.length}.`);
    Clocks.plot.show({
      lines: shown.map(h => ({...h, ...Clocks.line(h)})),
      points: shown.map(h => ({...h, ...Clocks.bursts(h), size: h.width ? 2 : 3})),
      what: Clocks.text.textContent
    });
  },
};
