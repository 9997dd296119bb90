/* Input: what steps wait for it, by rank, and whether the data loader's workers had time left. */
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
        emptyText(Pod.sum.cells ? 'No step waited for input that has a name.' : 'No step is complete.',
            'PyTorch\u2019s data loader is found by podprof run; in other programs mark the wait for the next batch with ' +
                'podprof_range_push_as(name, PODPROF_INPUT): it is then the category Input in every chart above.')
      ];
    const sum = Pod.sum.category[Input.id - 1], ns = Pod.worker.category[Input.id - 1], w = Pod.worker,
          samples = Pod.column(table, 'loader_samples'), busy = Pod.column(table, 'loader_busy');
    const means = Array.from({length: Pod.workers}, (unused, i) => Pod.mean(ns, i)),
          most = Math.max(...means.map(v => v === null ? 0 : v)), at = means.indexOf(most);
    const seen = Array.from({length: Pod.workers}, (unused, i) => i).filter(i => samples[i] > 0),
          share = seen.reduce((all, i) => all + busy[i], 0) / Math.max(1, seen.length);
    const columns = [
      {name: 'rank', get: i => w.rank[i]}, {name: 'host', text: true, get: i => w.host[i]},
      {name: 'input', unit: 'ns', what: 'what its step waits for it, mean of a step', get: i => means[i]},
      column('of its step', '', '', i => w.step_ns[i] > 0 ? ns[i] / w.step_ns[i] : null,
          (i, v) => v === null ? '\u2013' : Format.share(v, 1)),
      ...table ? [column('loader\u2019s workers busy', '', 'share of its data loader\u2019s workers that was at work, on the whole',
                     i => samples[i] > 0 ? busy[i] : null, (i, v) => v === null ? '\u2013' : Format.share(v, 1))]
               : []
    ];
    return [
      title,
      el('p', {class: 'lead', id: 'input-told'}, `Steps wait for input ${Format.share(sum, Pod.sum.all_ns)} of their time`,
          Pod.workers > 1 && most > 0 ? `, most on ${Pod.workerName(at)}: ${Format.time(most)} a step` : '', '.',
          seen.length ? ` The workers of the data loaders are busy ${Format.share(share, 1)} of the time: near 100${
                            NB}% they have nothing to spare.`
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
