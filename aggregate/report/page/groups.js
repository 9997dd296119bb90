/* Ranks, tables of other sources as they are, quality, and the run. */
'use strict';

/* An absent source is no news on every run: the tables below name it. */
function isNews(warning) {
  return !(warning.startsWith('/') && warning.includes(' is absent:')) && !/by the default rule|unknown category/.test(warning);
}

const Groups = {
  workers() {
    const w = Pod.worker, mean = values => i => Pod.mean(values, i);
    if (!Pod.workers)
      return [
        el('h2', {}, 'Ranks'), emptyText('No rank delivered data.', '\u2018podprof doctor\u2019 shows what works on this host.')
      ];
    const caused = (i, v) => v > 0 && v <= w.kept_error_ns[i] ? 'tie' : Format.time(v), several = Pod.workers > 1,
          large = [...Pod.category].sort((a, b) => Pod.sum.category[b.id - 1] - Pod.sum.category[a.id - 1]).slice(0, 2);
    const columns = [
      {name: 'rank', get: i => w.rank[i]},
      {name: 'host', text: true, get: i => w.host[i]},
      ...w.coordinates.some(x => x) ? [{name: 'coordinates', text: true, get: i => w.coordinates[i]}] : [],
      {name: 'status', text: true, get: i => w.status[i], show: (i, v) => el('span', {class: v === 'delivered' ? null : 'bad'}, v)},
      {name: 'steps', minor: true, get: i => w.steps[i]},
      {name: 'step time', unit: 'ns', what: 'mean over its steps', get: mean(w.step_ns)},
      {name: 'waiting', unit: 'ns', what: 'mean time per step that this rank waits for others', get: mean(w.wait_ns)},
      column('of its step', '', 'its waiting, as a share of its step time',
          i => w.steps[i] && w.step_ns[i] && w.wait_ns[i] !== null ? w.wait_ns[i] / w.step_ns[i] : null,
          (i, v) => v === null ? '\u2013' : Format.share(w.wait_ns[i], w.step_ns[i])),
      ...several ? [
        column(KEPT, 'ns', KEPT_WHAT, i => w.kept_ns[i], caused),
        column('straggler in', '', 'steps in which the others waited longest for this rank', i => w.late_steps[i],
            (i, v) => `${Format.count(v)} of ${Format.count(Pod.sum.steps)} steps`),
        {
          ...column('clock error \u2264', 'ns', 'largest error of \u201ckept others waiting\u201d',
              i => w.kept_ns[i] > 0 ? w.kept_error_ns[i] : null),
          minor: true
        }
      ] : [],
      {name: 'largest category', what: 'with its share of this rank\u2019s step time', text: true, get: i => Groups.largest(i)},
      ...Pod.category.filter((k, i) => Pod.sum.category[i] > 0)
          .map(
              k => ({name: k.name, minor: !large.includes(k), unit: 'ns', what: 'mean per step', get: mean(w.category[k.id - 1])})),
      {name: 'records', minor: true, get: i => w.records[i]},
      {name: 'local rank', minor: true, what: 'rank within its host', get: i => w.local_rank[i]},
      {name: 'pid', minor: true, get: i => w.pid[i], show: (i, v) => String(v)},
    ];
    return [
      el('h2', {}, 'Ranks'), el('p', {class: 'lead'}, 'Mean per step of each rank. A click on a row selects the rank.'), new Table({
        id: 'workers',
        title: 'Ranks',
        columns,
        rows: Pod.workers,
        first: 24,
        pick: i => Select.set({worker: i}),
        picked: i => i === Select.worker
      }).element,
      Groups.topology()
    ];
  },
  /* Which rank is where. */
  topology() {
    const w = Pod.worker, device = i => [w.device[i], w.device_name[i]].filter(x => x).join(' ');
    if (Pod.workers < 2)
      return null;
    const columns = [
      {name: 'rank', get: i => w.rank[i]}, {name: 'host', text: true, get: i => w.host[i]},
      {name: 'local rank', what: 'rank within its host', get: i => w.local_rank[i] < 0 ? null : w.local_rank[i]},
      {name: 'device', text: true, get: device}, {
        name: 'device UUID',
        text: true,
        what: 'numbers of devices are each process\'s own (CUDA_VISIBLE_DEVICES); equal UUIDs are one device',
        get: i => w.device_uuid[i] || ''
      },
      {name: 'PCI', text: true, what: 'PCI bus id of the device', get: i => w.device_pci[i] || ''},
      {name: 'clock domain', what: 'timestamps of one domain are comparable', get: i => w.domain[i]}
    ];
    return details('Details: where each rank runs',
        new Table({id: 'topology', title: 'Where each rank runs', columns, rows: Pod.workers, first: 24}).element);
  },
  largest(i) {
    let best = 0;
    Pod.category.forEach((k, c) => {
      if (Pod.worker.category[c][i] > Pod.worker.category[best][i])
        best = c;
    });
    return Pod.worker.steps[i] ? `${Pod.category[best].name}, ${Format.share(Pod.worker.category[best][i], Pod.worker.step_ns[i])}`
                               : '\u2013';
  },

  /* Every group that no section shows, one below the other. */
  others() {
    const known = new Set(KNOWN), names = [...Pod.table_list,
      ...Pod.small].map(t => t.group).concat(Pod.cell.plane.filter(p => p.key.includes('/')).map(p => p.key.split('/')[0]));
    const list = [...new Set(names)].filter(g => !known.has(g)).concat(['channel', 'communicator'].filter(g => Groups.has(g)));
    return list.length
        ? list.map(g => el('div', {class: 'group', id: 'group-' + g}, Groups.generic(g, NAME[g] || capital(g), MEANING[g])))
        : el('p', {class: 'empty'}, 'This session has no other tables.');
  },

  /* A group of pod.h5 that has no section of its own making: charts and tables. Samples that a chart shows, and numbers about them,
   * are details. */
  generic(group, title, lead) {
    const small = Pod.small.filter(s => s.group === group),
          tables = Pod.table_list.filter(t => t.group === group && (t.column.length > 1 || t.column[0].name !== t.dim));
    const planes = Pod.cell.plane.filter(p => p.key.startsWith(group + '/') && !p.isMask);
    const parts = [el('h2', {}, title)], raw = [];
    if (lead)
      parts.push(el('p', {class: 'lead'}, lead));
    if (small.length)
      raw.push(Groups.scalars(small));
    if (planes.length)
      parts.push(el('p', {class: 'lead'}, 'By step and rank, as a colour of the pod viewer: ',
          planes.map((p, i) => [i ? ', ' : '',
                         el('a', {
                           href: '#',
                           onclick: e => {
                             e.preventDefault();
                             State.set({colour: p.key});
                             App.show('viewer');
                           },
                           title: p.what
                         },
                             p.name.slice(group.length + 2))]),
          '.'));
    for (const t of tables) {
      const id = group + '-' + t.dim, chart = Samples.of(t, id), role = t.column.find(c => c.name === 'role');
      const table = (name, more) =>
          tableOf(t, name, `/${group} by ${t.dim}`, {label: tables.length > 1 ? t.dim : null, ...more}).element;
      parts.push(chart);
      if (chart || (group === 'process' && t.dim === 'sample')) {
        raw.push(table(id, {}));
      } else if (role && role.data.includes('self')) { /* one per rank, of no interest */
        if (role.data.some(r => r !== 'self'))
          parts.push(table(id, {only: i => role.data[i] !== 'self'}));
        raw.push(table(id + '-all', {}));
      } else {
        parts.push(table(id, {}));
      }
    }
    if (raw.length)
      parts.push(details(Samples.charts.some(c => c.key.startsWith(group + '-')) ? 'Details: every sample' : 'Details', raw));
    return parts;
  },
  scalars(small) {
    return el('dl', {class: 'run'},
        small.map(s => [el('dt', {title: s.what}, capital(s.what || plainName(s.name))),
                      el('dd', {}, Array.from(s.data, v => Format.by(s.unit, v)).join(', '))]));
  },
  absent(group, title, how, ofFiles) {
    return [el('h2', {}, title), emptyText(absentReason(group) || `This dataset has no /${group}.`, how, ofFiles)];
  },
  has(group) {
    return Pod.table_list.some(t => t.group === group) || Pod.small.some(s => s.group === group) ||
        Pod.cell.plane.some(p => p.key.startsWith(group + '/'));
  },

  quality() {
    const {lost, records} = Verdict.lost(),
                 parts = [el('h2', {}, 'Quality'), el('p', {class: 'lead'}, 'Data quality: losses, missing ranks, warnings.')];
    const bad = text => el('li', {class: 'bad'}, text), plain = text => el('li', {}, text),
          one = name => Pod.smallOf('quality', name)[0] || 0;
    const missing = Pod.table('quality', 'missing'), warnings = Pod.table('quality', 'warning');
    parts.push(el('ul', {class: 'notes', id: 'quality-notes', style: {marginBottom: '22px'}},
        lost ? bad(`${Format.count(lost)} records were lost, ${Format.count(records)} were read.`)
             : plain(`No record lost of ${Format.count(records)}.`),
        missing ? Pod.column(missing, 'missing').length &&
                Array.from(Pod.column(missing, 'missing'),
                    (rank, i) => bad(`Rank ${rank} is missing: ${Pod.column(missing, 'missing_reason')[i]}.`))
                : plain(Pod.run.ranks_asked === 1 ? 'The rank delivered data.'
                                                  : `All ${Format.count(Pod.run.ranks_asked)} ranks delivered data.`),
        plain(`Steps were found by the rule \u2018${Pod.run.step_rule || 'none'}\u2019, confidence ${
            Pod.run.step_confidence.toFixed(2)}.${Pod.run.step_parts ? ` Of each: ${Pod.run.step_parts}.` : ''}`),
        Pod.workers > 1 && Pod.sum.bound_ns > 0
            ? plain(`Clock error between two ranks \u2264${NB}${Format.time(Pod.sum.bound_ns)}.`)
            : null,
        Clocks.devices() && plain(Clocks.devices()),
        one('violations')
            ? bad(Format.count(one('violations')) +
                  ' collectives ended before their last arrival by more than the clock error: the real clock error is larger.')
            : null,
        Pod.answer.level && plain(typeset(`Level: ${ended(Pod.answer.level)}`)),
        plain(typeset(`Overhead: ${ended(Pod.answer.overhead)}`)),
        warnings && Array.from(Pod.column(warnings, 'warning')).filter(isNews).map(w => bad(sentence(w))),
        Pod.left_out.map(plain)));
    const absent = Groups.absentTable();
    parts.push(Groups.overhead(), Groups.losses(), Groups.byDefault(),
        absent && details('Details: what this dataset does not have', absent));
    return parts;
  },
  /* What podprof took, as far as the file says. */
  overhead() {
    const one = name => Pod.smallOf('quality', name)[0] || 0, w = Pod.worker, r = Pod.run,
          each = Array.from({length: Pod.workers}, (unused, i) => w.steps[i] ? w.records[i] / w.steps[i] : null)
                     .filter(v => v !== null)
                     .sort((a, b) => a - b);
    const rows = [
      [
        'CPU time of the keepers',
        one('keeper_cpu_ns')
            ? `${Format.time(one('keeper_cpu_ns'))}${r.hosts > 1 ? `, ${Format.count(r.hosts)} hosts together` : ''}`
                                                                 : 'unknown'
      ],
      ['In the ranks, an estimate', Groups.recording(one('record_cost_ps') / 1000)],
      ['Largest memory of a keeper', one('keeper_rss_bytes') ? Format.bytes(one('keeper_rss_bytes')) : 'unknown'],
      [
        'Records per rank and step',
        each.length ? `${Format.count(+quartile(each, 2).toPrecision(3))} (median; ${Format.count(+each[0].toPrecision(3))} to ${
                          Format.count(+each[each.length - 1].toPrecision(3))})`
                    : 'no step'
      ],
      ['Records of all ranks', Format.count(Array.from(w.records).reduce((a, b) => a + b, 0))],
      ...Pod.pod_bytes > 0 ? [['Size of pod.h5', Format.bytes(Pod.pod_bytes)]] : [],
      [
        'Not measured',
        'podprof\u2019s memory inside the application, its time there between records, ' +
            'and traffic between keepers. Benchmarks: docs/performance.md'
      ]
    ];
    return el('div', {}, el('h3', {}, 'What podprof itself took'),
        el('dl', {class: 'run', id: 'overhead', style: {margin: '6px 0 18px'}},
            rows.map(([k, v]) => [el('dt', {}, k), el('dd', {}, v)])));
  },
  /* Of a record: what a keeper measured on its host. */
  recording(each) {
    const {recording_ns: ns, records_per_step: records} = Pod.answer;
    return ns > 0 ? `${Format.time(ns)} per step and rank, ${Format.share(ns, Pod.sum.all_ns / Pod.sum.cells)} of the step: ${
                        Format.count(records)} records, ${Format.time(each)} each (measured on this node)`
                  : 'unknown';
  },
  losses() {
    const causes = Pod.table('quality', 'cause'), dropped = Pod.smallOf('quality', 'dropped');
    if (!causes || !dropped.length)
      return null;
    const names = Pod.column(causes, 'cause'), n = names.length,
          sums = names.map((unused, c) => Array.from({length: Pod.workers}, (u, w) => dropped[w * n + c]));
    const rows =
        names.map((name, c) => ({name, all: sums[c].reduce((a, b) => a + b, 0), worst: sums[c].indexOf(Math.max(...sums[c]))}))
            .filter(r => r.all > 0);
    if (!rows.length)
      return null;
    const columns = [
      {name: 'cause', text: true, get: i => rows[i].name.replaceAll('_', ' ')},
      {name: 'records lost', get: i => rows[i].all},
      {name: 'most on', text: true, get: i => Pod.workerName(rows[i].worst)},
      {name: 'meaning', text: true, class: 'wide', get: i => Pod.loss[rows[i].name] || ''},
    ];
    return new Table(
        {id: 'losses', title: 'Records lost by cause', label: 'Records lost by cause', columns, rows: rows.length, sort: '-1'})
        .element;
  },
  byDefault() {
    const t = Pod.table('quality', 'unclassified');
    if (!t)
      return null;
    const calls = Pod.column(t, 'unclassified_calls'), one = name => Pod.smallOf('quality', name)[0] || 0, all = one('events');
    const ns = Pod.column(t, 'unclassified_ns'), sum = Array.from(ns).reduce((a, b) => a + b, 0), columns = [
      {name: 'range', text: true, class: 'wide', get: i => Pod.column(t, 'unclassified')[i]},
      {name: 'exclusive time', unit: 'ns', what: 'sum over all ranks and steps', get: i => ns[i]},
      {name: 'of all step time', get: i => ns[i], show: (i, v) => Format.share(v, Pod.sum.all_ns)},
      ...calls.length ? [
        {name: 'calls', what: 'that began in a step', get: i => calls[i]},
        {name: 'of all events', get: i => calls[i], show: (i, v) => Format.share(v, all)}
      ] : [],
    ];
    return [
      el('div', {style: {marginTop: '22px'}}, new Table({
        id: 'defaults',
        title: 'Ranges of unknown category',
        label: 'Ranges of unknown category, counted as Host compute',
        columns,
        rows: t.shown,
        sort: '-1'
      }).element),
      el('p', {class: 'lead', style: {marginTop: '6px'}},
          `${Format.share(sum, Pod.sum.all_ns)} of all step time` +
              (all ? ` and ${Format.share(one('events_unclassified'), all)} of ${
                         Format.count(all)} events are in ranges that no rule matches. `
                   : ' is in ranges that no rule matches. '),
          'podprof_range_push_as() gives a range a category. docs/steps.md lists the names that podprof knows.')
    ];
  },
  absentTable() {
    const t = Pod.table('quality', 'absent');
    if (!t)
      return null;
    const columns = [
      {name: 'group', text: true, get: i => '/' + Pod.column(t, 'absent')[i]},
      {name: 'reason', text: true, class: 'wide', get: i => Pod.column(t, 'absent_reason')[i]},
    ];
    return el('div', {style: {marginTop: '22px'}},
        new Table({id: 'absent', title: 'Groups that are not in the dataset', label: 'Not in this dataset', columns, rows: t.shown})
            .element);
  },

  run() {
    const r = Pod.run, window = r.window_end_ns - r.window_begin_ns, when = new Date(r.window_begin_s * 1000);
    const asked = r.steps_asked_last > r.steps_asked_first ? `${r.steps_asked_first} to ${r.steps_asked_last - 1}`
                                                           : 'the last steps that fit the window buffer';
    const rows = [
      ['Command', el('span', {class: 'mono', id: 'run-command'}, r.command || '\u2013')],
      ['Options', el('span', {class: 'mono'}, r.options || 'defaults')], ['Session', r.session], ['Job', r.job || '\u2013'],
      [
        'Window',
        `${r.epoch_realtime_ns ? when.toISOString().replace('T', ' ').slice(0, 19) + ' UTC' : 'no date'}, ${Format.time(window)}`
      ],
      ['Steps requested', asked],
      [
        'Ranks',
        `${Format.count(r.ranks_delivered)} of ${Format.count(r.ranks_asked)} delivered data, on ${Format.count(r.hosts)} host${
            r.hosts === 1 ? '' : 's'}`
      ],
      ['Devices', el('span', {id: 'run-devices'}, Groups.devices())],
      ...(r.rendezvous ? [['Hosts found by', el('span', {id: 'run-rendezvous'}, r.rendezvous)]] : []),
      [
        'Versions',
        `recorded by podprof ${r.podprof_version}, page by podprof ${r.made_by}, format ${r.format_version}` + Groups.versions()
      ]
    ];
    return [
      el('h2', {}, 'Run'), el('dl', {class: 'run'}, rows.map(([k, v]) => [el('dt', {}, k), el('dd', {}, v)])), Groups.hosts(),
      Groups.window()
    ];
  },
  /* Kinds of devices with their numbers: "8 GPU (NVIDIA H100), on 2 ranks". */
  devices() {
    const w = Pod.worker, by = new Map();
    for (let i = 0; i < Pod.workers; i++) {
      const name = w.device[i] + (w.device_name[i] ? ` (${w.device_name[i]})` : ''), row = by.get(name) || {devices: 0, ranks: 0};
      if (w.devices[i] > 0)
        by.set(name, {devices: row.devices + w.devices[i], ranks: row.ranks + 1});
    }
    const text = ([name, r]) => `${Format.count(r.devices)} ${name}, on ${Format.count(r.ranks)} rank${r.ranks === 1 ? '' : 's'}`;
    return by.size ? [...by].map(text).join('; ') : 'none recorded: CPU only';
  },
  /* When each rank was asked for the window and when it recorded. */
  window() {
    const table = Pod.table('window'), small = Pod.small.filter(s => s.group === 'window');
    return table &&
        details('Details: when each rank entered the window', small.length > 0 && Groups.scalars(small),
            tableOf(table, 'window-worker', '/window by rank', {}).element);
  },
  versions() {
    const other = [...new Set(Pod.worker.version)].filter(v => v && v !== Pod.run.podprof_version);
    return other.length ? ', collector ' + other.join(', ') : '';
  },
  hosts() {
    const byHost = new Map();
    for (let w = 0; w < Pod.workers; w++) {
      const h = Pod.worker.host[w],
            row = byHost.get(h) || {host: h, ranks: 0, first: Pod.worker.rank[w], step: 0, worst: w, steps: 0, device: ''};
      row.ranks++;
      row.step += Pod.worker.step_ns[w];
      row.worst = Pod.worker.kept_ns[w] > Pod.worker.kept_ns[row.worst] ? w : row.worst;
      row.steps += Pod.worker.steps[w];
      row.device = [Pod.worker.device[w], Pod.worker.device_name[w]].filter(x => x).join(' ');
      byHost.set(h, row);
    }
    const rows = [...byHost.values()];
    if (!rows.length)
      return null;
    const columns = [
      {name: 'host', text: true, get: i => rows[i].host},
      {name: 'ranks', get: i => rows[i].ranks},
      {name: 'first rank', get: i => rows[i].first},
      {name: 'device', text: true, get: i => rows[i].device},
      column('step time', 'ns', 'mean over its ranks and steps', i => rows[i].steps ? rows[i].step / rows[i].steps : null),
      column(KEPT, 'ns', 'of its rank that kept others waiting longest: ' + KEPT_WHAT, i => Pod.worker.kept_ns[rows[i].worst],
          (i, v) => v > 0 ? `${Format.time(v)} (${Pod.workerName(rows[i].worst)})` : Format.time(0)),
    ];
    const choose = i => {
      State.set({host: rows[i].host});
      App.show('viewer');
    };
    const pick = rows.length > 1 ? choose : null;
    const table = new Table({id: 'hosts', title: 'Hosts', label: 'Hosts', columns, rows: rows.length, pick});
    return el('div', {style: {marginTop: '18px'}}, table.element);
  },
};
