/* Input: how long steps wait for it, by rank, and whether the data loader's worker processes had time left. */
'use strict';

const Input = {
  id: 6,

  has() {
    return Pod.sum.cells > 0 && (Pod.sum.category[Input.id - 1] > 0 || Groups.has('input'));
  },
  section() {
    const title = el('h2', {}, 'Input'), table = Pod.table('input', 'worker');
    if (!Input.has())
      return [
        title,
        emptyText(Pod.sum.cells ? 'No input was recorded in any step.' : 'No step is complete.',
            '\u2018podprof run\u2019 records PyTorch\u2019s DataLoader. In other programs, mark the wait for the next batch with ' +
                'podprof_range_push_as(name, PODPROF_INPUT). It is then the category Input in every chart.')
      ];
    const sum = Pod.sum.category[Input.id - 1], ns = Pod.worker.category[Input.id - 1], w = Pod.worker,
          samples = Pod.column(table, 'loader_samples'), busy = Pod.column(table, 'loader_busy');
    const means = Array.from({length: Pod.workers}, (unused, i) => Pod.mean(ns, i)),
          most = Math.max(...means.map(v => v === null ? 0 : v)), at = means.indexOf(most);
    const seen = Array.from({length: Pod.workers}, (unused, i) => i).filter(i => samples[i] > 0),
          share = seen.reduce((all, i) => all + busy[i], 0) / Math.max(1, seen.length);
    const columns = [
      {name: 'rank', get: i => w.rank[i]}, {name: 'host', text: true, get: i => w.host[i]},
      {name: 'input', unit: 'ns', what: 'mean time per step that this rank waits for input', get: i => means[i]},
      column('of its step', '', 'input, as a share of its step time', i => w.step_ns[i] > 0 ? ns[i] / w.step_ns[i] : null,
          (i, v) => v === null ? '\u2013' : Format.share(v, 1)),
      ...table ? [column('worker processes busy', '', 'mean share of its DataLoader\u2019s worker processes that were at work',
                     i => samples[i] > 0 ? busy[i] : null, (i, v) => v === null ? '\u2013' : Format.share(v, 1))]
               : []
    ];
    return [
      title,
      el('p', {class: 'lead', id: 'input-lead'},
          `Waiting for input takes ${Format.share(sum, Pod.sum.all_ns)} of all ranks\u2019 step time`,
          Pod.workers > 1 && most > 0 ? `. Rank ${Pod.worker.rank[at]} waits longest: ${Format.time(most)} per step` : '', '.',
          seen.length ? ` The DataLoaders\u2019 worker processes are busy ${Format.share(share, 1)} of the time. Near 100${
                            NB}%, use more of them.`
                      : ''),
      new Table({
        id: 'input',
        title: 'Input by rank',
        columns,
        rows: Pod.workers,
        first: 12,
        sort: '-2',
        pick: i => State.set({rank: w.rank[i]}),
        picked: i => i === Viewer.worker
      }).element
    ];
  },
};
