/* Input: how long steps wait for it, by rank and step, what of its stages takes most time, and every input operation. */
'use strict';

const Input = {
  id: 6,

  has() {
    return Pod.sum.cells > 0 && (Pod.sum.category[Input.id - 1] > 0 || Groups.has('input') || Groups.has('input_op'));
  },
  section() {
    const title = el('h2', {}, 'Input');
    if (!Input.has())
      return [
        title,
        emptyText(Pod.sum.cells ? 'No input was recorded in any step.' : 'No step is complete.',
            '\u2018podprof run\u2019 records PyTorch\u2019s DataLoader. In other programs, mark the wait for the next batch with ' +
                'podprof_range_push_as(name, PODPROF_INPUT). It is then the category Input in every chart.',
            'In files, names decide what is input. \u2018podprof analyze --rules FILE\u2019 adds names.')
      ];
    return [title, Input.lead(), Input.wait(), Input.byRank(), Input.stages(), Input.operations(), Input.left()];
  },

  /* The words of input_bound; the thresholds are those of aggregate/tools/input_stage.c. */
  bound() {
    const percent = 100 * Pod.sum.category[Input.id - 1] / Pod.sum.all_ns;
    return percent >= 20 ? 'Highly input bound (20 % or more)'
        : percent >= 5   ? 'Moderately input bound (5 to 20 %)'
                         : 'Not input bound (below 5 %)';
  },
  lead() {
    const sum = Pod.sum.category[Input.id - 1], means = Input.means(), most = Math.max(...means.map(v => v === null ? 0 : v)),
          at = means.indexOf(most), table = Pod.table('input', 'worker'), samples = Pod.column(table, 'loader_samples'),
          busy = Pod.column(table, 'loader_busy'), largest = Input.largest();
    const seen = Array.from({length: Pod.workers}, (unused, i) => i).filter(i => samples[i] > 0),
          share = seen.reduce((all, i) => all + busy[i], 0) / Math.max(1, seen.length);
    return [
      el('p', {class: 'evidence', id: 'input-bound'}, el('b', {}, typeset(Input.bound())), ': waiting for input takes ',
          `${Format.share(sum, Pod.sum.all_ns)} of all ranks\u2019 step time.`),
      el('p', {class: 'lead', id: 'input-lead'},
          Pod.workers > 1 && most > 0 ? `Rank ${Pod.worker.rank[at]} waits longest: ${Format.time(most)} per step. ` : '',
          largest ? `Of the input operations\u2019 self time, ${largest.name} takes ${Format.share(largest.percent, 100)}. ` : '',
          seen.length ? `The DataLoaders\u2019 worker processes are busy ${Format.share(share, 1)} of the time. Near 100${
                            NB}%, use more of them.`
                      : '')
    ];
  },
  means() {
    return Array.from({length: Pod.workers}, (unused, i) => Pod.mean(Pod.worker.category[Input.id - 1], i));
  },

  /* Range over ranks of each step's wait. */
  wait() {
    const t = Pod.table('input_wait', 'step');
    if (!t || t.shown < 2)
      return null;
    const of = name => Pod.column(t, name),
          s = Input.steps =
              {number: of('step'), least: of('least_ns'), mean: of('mean_ns'), most: of('most_ns'), rank: of('worker')};
    Input.plot = new Plot({
      id: 'input-wait',
      height: 180,
      x: {title: 'step number', label: v => Number.isInteger(v) ? String(v) : ''},
      y: {title: 'wait for input', unit: 'ns'},
      describe: i => Input.describe(i),
      onpick: i => Select.set({from: Select.nearest(s.number[i])})
    });
    return [
      el('h3', {}, 'Wait for input by step'), Input.plot.element,
      details('Details: wait for input of every step', tableOf(t, 'input-wait', 'Wait for input of every step over ranks', {
        pick: i => Select.set({from: Select.nearest(of('step')[i])})
      }).element)
    ];
  },
  draw() {
    if (!Input.plot)
      return;
    const s = Input.steps, x = s.number, colour = Pod.colour(Input.id), many = Pod.workers > 1, line = {x, colour, width: 1};
    Input.plot.show({
      bands: [{x, low: many ? s.least : Array.from(x, () => 0), high: s.most, colour, alpha: 0.2}],
      lines: many ? [
        {...line, name: 'rank with the most', y: s.most}, {...line, name: 'rank with the least', y: s.least},
        {x, name: 'mean of the ranks', y: s.mean, colour: css('--ink'), width: 2, plain: true}
      ] : [{...line, name: 'wait for input', y: s.most}],
      mark: Pod.stepShown[Select.from],
      what: many ? 'Wait for input over steps: the rank with the most, the one with the least, and the mean of the ranks'
                 : 'Wait for input over steps'
    });
  },
  describe(i) {
    const s = Input.steps, row = (name, ns) => el('tr', {}, el('td', {}, name), el('td', {class: 'num'}, Format.time(ns)));
    return [
      el('b', {}, 'step ' + s.number[i]),
      el('table', {},
          Pod.workers > 1
              ? [row(`most: rank ${s.rank[i]}`, s.most[i]), row('mean of the ranks', s.mean[i]), row('least', s.least[i])]
              : row('wait for input', s.most[i]))
    ];
  },

  byRank() {
    const ns = Pod.worker.category[Input.id - 1], w = Pod.worker, table = Pod.table('input', 'worker'), means = Input.means(),
          samples = Pod.column(table, 'loader_samples'), busy = Pod.column(table, 'loader_busy');
    const columns = [
      {name: 'rank', get: i => w.rank[i]}, {name: 'host', text: true, get: i => w.host[i]},
      {name: 'input', unit: 'ns', what: 'mean time per step that this rank waits for input', get: i => means[i]},
      column('of its step', '', 'input, as a share of its step time', i => w.step_ns[i] > 0 ? ns[i] / w.step_ns[i] : null,
          (i, v) => v === null ? '\u2013' : Format.share(v, 1)),
      ...table ? [column('worker processes busy', '', 'mean share of its DataLoader\u2019s worker processes that were at work',
                     i => samples[i] > 0 ? busy[i] : null, (i, v) => v === null ? '\u2013' : Format.share(v, 1))]
               : []
    ];
    return el('div', {style: {marginTop: '22px'}}, new Table({
      id: 'input',
      title: 'Input by rank',
      label: 'Wait for input by rank',
      columns,
      rows: Pod.workers,
      first: 12,
      sort: '-2',
      pick: i => State.set({rank: w.rank[i]}),
      picked: i => i === Select.worker
    }).element);
  },

  /* Rows of /input_stage over all ranks. */
  all() {
    const t = Pod.table('input_stage'), of = name => Pod.column(t, name);
    return t ? Array.from({length: t.shown}, (unused, i) => i)
                   .filter(i => of('worker')[i] < 0)
                   .map(i => ({name: of('category')[i], self: of('self_ns')[i], percent: of('percent')[i], count: of('count')[i]}))
             : [];
  },
  largest() {
    return Input.all().sort((a, b) => b.self - a.self)[0];
  },
  stages() {
    const list = Input.all();
    if (!list.length)
      return null;
    const rows = list.map(s => ({
      name: capital(s.name),
      colour: Pod.colour(Input.id),
      parts: [[s.self]],
      cells: [[Format.time(s.self), s.self], [Format.share(s.percent, 100)], [Format.count(s.count)]]
    }));
    return el('div', {class: 'scroll', style: {marginTop: '22px'}}, el('h3', {}, 'Where input takes its time'),
        el('p', {class: 'lead'},
            'Self time of input operations on all threads and ranks, also outside of steps. ' +
                'Operations beside the training thread do not delay a step; only the wait above does.'),
        barTable('input-stages', 'Self time by stage of input', ['Stage', '', 'self time', 'of input', 'calls'], rows));
  },

  /* Operations over all ranks; one row per name and stage. */
  operations() {
    const t = Pod.table('input_op'), of = name => Pod.column(t, name);
    if (!t)
      return null;
    const by = new Map();
    for (let i = 0; i < t.shown; i++) {
      const key = of('category')[i] + ' ' + of('name')[i],
            row =
                by.get(key) || {name: of('name')[i], category: of('category')[i], count: 0, total: 0, self: 0, most: -1, rank: -1};
      row.count += of('count')[i];
      row.total += of('total_ns')[i];
      row.self += of('self_ns')[i];
      if (of('self_ns')[i] > row.most)
        Object.assign(row, {most: of('self_ns')[i], rank: of('worker')[i]});
      by.set(key, row);
    }
    const rows = [...by.values()], total = rows.reduce((a, r) => a + r.total, 0), self = rows.reduce((a, r) => a + r.self, 0);
    const share = (name, key, all) => column(name, '', null, i => rows[i][key], (i, v) => Format.share(v, all));
    const columns = [
      {name: 'operation', text: true, class: 'wide', get: i => rows[i].name}, {name: 'count', get: i => rows[i].count},
      {name: 'total time', unit: 'ns', what: 'duration, with nested operations', get: i => rows[i].total},
      share('of total', 'total', total),
      {name: 'self time', unit: 'ns', what: 'duration less nested input operations', get: i => rows[i].self},
      share('of self', 'self', self), {name: 'stage', text: true, get: i => rows[i].category},
      ...Pod.workers > 1 ? [{name: 'most on', what: 'rank with the most self time', get: i => rows[i].rank}] : []
    ];
    return el('div', {style: {marginTop: '22px'}}, new Table({
      id: 'input-ops',
      title: 'Input operations',
      label: 'Input operations, over all ranks',
      columns,
      rows: rows.length,
      first: 20,
      sort: '-4'
    }).element);
  },
  left() {
    const one = name => Pod.smallOf('input_op', name)[0] || 0, list = [];
    if (one('cut'))
      list.push(
          `${Format.count(one('cut'))} input operation${one('cut') === 1 ? ' that crosses' : 's that cross'} the edge of the ` +
          `recorded time ${one('cut') === 1 ? 'is' : 'are'} not counted.`);
    if (one('rest'))
      list.push(`The dataset omits ${Format.count(one('rest'))} input operations with the least time, ${
          Format.time(one('rest_ns'))} over all ranks: it holds at most 4${NB}096 per rank.`);
    return list.length ? el('ul', {class: 'notes', id: 'input-left'}, list.map(t => el('li', {}, t))) : null;
  },
};
