/* Workers, tables of other sources as they are, quality, and the run. */
'use strict';

/* That a group is absent for want of a source is no news on every run; the tables below say it. */
function isNews(warning) {
  return !(warning.startsWith('/') && warning.includes(' is absent:')) && !warning.includes('by the default rule');
}

const Groups = {
  workers() {
    const w = Pod.worker, mean = values => i => Pod.mean(values, i);
    if (!Pod.workers)
      return [el('h2', {}, 'Workers'), emptyText('No rank delivered anything.', 'podprof doctor says what works on this node.')];
    const columns = [
      {name: 'rank', get: i => w.rank[i]},
      {name: 'host', text: true, get: i => w.host[i]},
      {name: 'status', text: true, get: i => w.status[i], show: (i, v) => el('span', {class: v === 'delivered' ? null : 'bad'}, v)},
      {name: 'steps', get: i => w.steps[i]},
      {name: 'step', unit: 'ns', what: 'mean over its steps', get: mean(w.step_ns)},
      {name: 'waiting', unit: 'ns', what: 'mean of a step', get: mean(w.wait_ns)},
      {name: 'kept others waiting', unit: 'ns', what: 'mean of a step, all other ranks together', get: mean(w.late_ns)},
      ...Pod.category.filter((k, i) => Pod.sum.category[i] > 0)
          .map(k => ({name: k.name, unit: 'ns', what: 'mean of a step', get: mean(w.category[k.id - 1])})),
      {name: 'largest', what: 'category that takes most of its step', text: true, get: i => Groups.largest(i)},
      {name: 'records', get: i => w.records[i]},
      {name: 'local', what: 'rank within its host', get: i => w.local_rank[i]},
      {name: 'pid', get: i => w.pid[i], show: (i, v) => String(v)},
    ];
    return [
      el('h2', {}, 'Workers'),
      el('p', {class: 'lead'}, 'Means over the steps of each rank. A click shows the rank in the pod viewer.'), new Table({
        id: 'workers',
        title: 'Workers',
        columns,
        rows: Pod.workers,
        pick: i => {
          State.set({rank: w.rank[i]});
          document.getElementById('viewer').scrollIntoView();
        },
        picked: i => i === Viewer.worker
      }).element
    ];
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

  /* A group of pod.h5 that has no section of its own making: scalars, then its tables. */
  generic(group, title, lead) {
    const small = Pod.small.filter(s => s.group === group),
          tables = Pod.table_list.filter(t => t.group === group && (t.column.length > 1 || t.column[0].name !== t.dim));
    const planes = Pod.cell.plane.filter(p => p.key.startsWith(group + '/') && !p.isMask);
    const parts = [el('h2', {}, title)];
    if (lead)
      parts.push(el('p', {class: 'lead'}, lead));
    if (small.length)
      parts.push(el('dl', {class: 'run'},
          small.map(s => [el('dt', {title: s.what}, capital(s.what || plainName(s.name))),
                        el('dd', {}, Array.from(s.data, v => Format.by(s.unit, v)).join(', '))])));
    if (planes.length)
      parts.push(el('p', {class: 'lead'}, 'By step and worker, a colour of the pod viewer: ',
          planes.map((p, i) => [i ? ', ' : '',
                         el('a', {
                           href: '#',
                           onclick: e => {
                             e.preventDefault();
                             State.set({colour: p.key});
                             document.getElementById('viewer').scrollIntoView();
                           },
                           title: p.what
                         },
                             p.name.slice(group.length + 2))]),
          '.'));
    for (const t of tables) {
      parts.push(Timeline.of(t, group + '-' + t.dim));
      parts.push(tableOf(t, group + '-' + t.dim, `/${group} by ${t.dim}`, {label: tables.length > 1 ? t.dim : null}).element);
    }
    return parts;
  },
  absent(group, title, how) {
    return [el('h2', {}, title), emptyText(absentReason(group) || `This dataset has no /${group}.`, how)];
  },
  has(group) {
    return Pod.table_list.some(t => t.group === group) || Pod.small.some(s => s.group === group) ||
        Pod.cell.plane.some(p => p.key.startsWith(group + '/'));
  },

  quality() {
    const {lost, records} = Verdict.lost(),
                 parts = [el('h2', {}, 'Quality'), el('p', {class: 'lead'}, 'What to hold against the numbers of this page.')];
    const bad = text => el('li', {class: 'bad'}, text), plain = text => el('li', {}, text),
          one = name => Pod.smallOf('quality', name)[0] || 0;
    const missing = Pod.table('quality', 'missing'), warnings = Pod.table('quality', 'warning'),
          window = Pod.run.window_end_ns - Pod.run.window_begin_ns;
    parts.push(el('ul', {class: 'notes', id: 'quality-notes', style: {marginBottom: '22px'}},
        lost ? bad(`${Format.count(lost)} records lost beside ${Format.count(records)} read.`)
             : plain(`Nothing lost of ${Format.count(records)} records.`),
        missing ? Pod.column(missing, 'missing').length &&
                Array.from(Pod.column(missing, 'missing'),
                    (rank, i) => bad(`Rank ${rank} is missing: ${Pod.column(missing, 'missing_reason')[i]}.`))
                : plain(`All ${Format.count(Pod.run.ranks_asked)} ranks delivered.`),
        plain(`Steps by the rule '${Pod.run.step_rule || 'none'}', confidence ${Pod.run.step_confidence.toFixed(2)}.`),
        plain(`Times of two ranks compare to \u00b1${NB}${Format.time(Pod.sum.bound_ns)}.`),
        one('violations')
            ? bad(Format.count(one('violations')) +
                  ' collectives end before their last arrival by more than the bound: the clocks are worse than they say.')
            : null,
        one('crossed') ? plain(`${Format.count(one('crossed'))} ranges of one thread overlap without nesting.`) : null,
        plain(`podprof itself: ${Format.time(one('keeper_cpu_ns'))} CPU time of the keeper` +
            (window > 0 ? ` (${Format.share(one('keeper_cpu_ns'), window)} of the window on one core)` : '') +
            `, ${Format.bytes(one('keeper_rss_bytes'))} memory at most.`),
        warnings && Array.from(Pod.column(warnings, 'warning')).filter(isNews).map(w => bad(sentence(w))),
        Pod.left_out.map(plain)));
    parts.push(Groups.losses(), Groups.byDefault(), Groups.absentTable());
    return parts;
  },
  losses() {
    const causes = Pod.table('quality', 'cause'), dropped = Pod.smallOf('quality', 'dropped');
    if (!causes || !dropped.length)
      return null;
    const names = Pod.column(causes, 'cause'), n = names.length,
          sums = names.map((unused, c) => Array.from({length: Pod.workers}, (u, w) => dropped[w * n + c]));
    const rows =
        names.map((name, c) => ({name, all: sums[c].reduce((a, b) => a + b, 0), worst: sums[c].indexOf(Math.max(...sums[c]))}));
    const columns = [
      {name: 'cause', text: true, get: i => rows[i].name.replaceAll('_', ' ')},
      {name: 'records lost', get: i => rows[i].all},
      {name: 'most on', text: true, get: i => rows[i].all ? Pod.workerName(rows[i].worst) : '\u2013'},
      {name: 'what it means', text: true, class: 'wide', get: i => Pod.loss[rows[i].name] || ''},
    ];
    return new Table({id: 'losses', title: 'Records lost by cause', label: 'Records lost by cause', columns, rows: n, sort: '-1'})
        .element;
  },
  byDefault() {
    const t = Pod.table('quality', 'unclassified');
    if (!t)
      return null;
    const ns = Pod.column(t, 'unclassified_ns'), columns = [
      {name: 'range', text: true, class: 'wide', get: i => Pod.column(t, 'unclassified')[i]},
      {name: 'exclusive time, all ranks and steps', unit: 'ns', get: i => ns[i]},
      {name: 'of all step time', get: i => ns[i], show: (i, v) => Format.share(v, Pod.sum.all_ns)},
    ];
    return [
      el('div', {style: {marginTop: '22px'}}, new Table({
        id: 'defaults',
        title: 'Ranges that only the default rule knows',
        label: 'Counted as host compute by the default rule alone',
        columns,
        rows: t.shown,
        sort: '-1'
      }).element),
      el('p', {class: 'lead', style: {marginTop: '6px'}},
          'podprof_range_push_as() gives a range its category; docs/steps.md lists the names that are known.')
    ];
  },
  absentTable() {
    const t = Pod.table('quality', 'absent');
    if (!t)
      return null;
    const columns = [
      {name: 'group', text: true, get: i => '/' + Pod.column(t, 'absent')[i]},
      {name: 'why', text: true, class: 'wide', get: i => Pod.column(t, 'absent_reason')[i]},
    ];
    return el('div', {style: {marginTop: '22px'}},
        new Table({id: 'absent', title: 'Groups that are not in the dataset', label: 'Not in this dataset', columns, rows: t.shown})
            .element);
  },

  run() {
    const r = Pod.run, window = r.window_end_ns - r.window_begin_ns, when = new Date(r.window_begin_s * 1000);
    const asked = r.steps_asked_last > r.steps_asked_first ? `${r.steps_asked_first} to ${r.steps_asked_last - 1}`
                                                           : 'the last ones that fit the window buffer';
    const rows = [
      ['Command', el('span', {class: 'mono', id: 'run-command'}, r.command || '\u2013')],
      ['Options', el('span', {class: 'mono'}, r.options || 'defaults')], ['Session', r.session], ['Job', r.job || '\u2013'],
      ['Window', `${when.toISOString().replace('T', ' ').slice(0, 19)} UTC, ${Format.time(window)}`], ['Steps asked for', asked],
      [
        'Ranks',
        `${Format.count(r.ranks_delivered)} of ${Format.count(r.ranks_asked)} delivered, on ${Format.count(r.hosts)} host${
            r.hosts === 1 ? '' : 's'}`
      ],
      ...(r.rendezvous ? [['Other hosts', el('span', {id: 'run-rendezvous'}, r.rendezvous)]] : []),
      [
        'Versions',
        `podprof ${r.podprof_version} recorded, ${r.made_by} made this page; format ${r.format_version}` + Groups.versions()
      ]
    ];
    return [
      el('h2', {}, 'Run'), el('dl', {class: 'run'}, rows.map(([k, v]) => [el('dt', {}, k), el('dd', {}, v)])), Groups.hosts()
    ];
  },
  versions() {
    const other = [...new Set(Pod.worker.version)].filter(v => v && v !== Pod.run.podprof_version);
    return other.length ? '; ranks ran ' + other.join(', ') : '';
  },
  hosts() {
    const byHost = new Map();
    for (let w = 0; w < Pod.workers; w++) {
      const h = Pod.worker.host[w],
            row = byHost.get(h) || {host: h, ranks: 0, first: Pod.worker.rank[w], step: 0, late: 0, steps: 0, device: ''};
      row.ranks++;
      row.step += Pod.worker.step_ns[w];
      row.late += Pod.worker.late_ns[w];
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
      column('step', 'ns', 'mean over its ranks and steps', i => rows[i].steps ? rows[i].step / rows[i].steps : null),
      column('kept others waiting', 'ns', 'by its ranks, mean of a rank\u2019s step',
          i => rows[i].steps ? rows[i].late / rows[i].steps : null),
    ];
    const choose = i => {
      State.set({host: rows[i].host});
      document.getElementById('viewer').scrollIntoView();
    };
    const pick = rows.length > 1 ? choose : null;
    const table = new Table({id: 'hosts', title: 'Hosts', label: 'Hosts', columns, rows: rows.length, pick});
    return el('div', {style: {marginTop: '18px'}}, table.element);
  },
};
