/* What all charts have in common: the selected steps, rank, quantity and finding. In the address: steps=10-12, rank, colour, scale,
 * find. Whoever shows something reads Select; whoever changes it calls Select.set(), and everything is drawn again. */
'use strict';

const Select = {
  from: 0, /* first and last selected step: indexes into Pod.stepShown */
  to: 0,
  worker: 0, /* index, not rank */
  plane: null,
  difference: false, /* colour: over the median of the ranks of the same step */
  find: 0,           /* the finding that is open: 0 is the sentence itself */

  /* The nearest step that is in the page: of large sessions it has every n-th. */
  nearest(number) {
    return Pod.stepShown.reduce((best, n, i) => Math.abs(n - number) < Math.abs(Pod.stepShown[best] - number) ? i : best, 0);
  },
  /* The step whose slowest rank is nearest to the usual step. */
  usual() {
    const far = s => Math.abs(Pod.step.max_ns[s * Pod.cell.stride] - Pod.answer.usual_ns);
    let best = 0;
    for (let s = 0; s < Pod.cell.steps; s++)
      if (far(s) < far(best))
        best = s;
    return best;
  },
  /* The rank that each other rank waited for longest; -1 where no rank waited. */
  latest() {
    const kept = Pod.worker.kept_ns;
    let latest = -1;
    for (let w = 0; w < Pod.workers; w++)
      if (kept[w] > 0 && (latest < 0 || kept[w] > kept[latest]))
        latest = w;
    return latest;
  },
  none: {key: '', name: '', unit: '', data: []}, /* of a session without steps */
  quantities() {
    return Pod.cell.plane.filter(p => p.key !== 'present' && p.key !== 'blame_reason' && !p.isMask);
  },
  /* What the address says; what it does not say is the evidence of the open finding. */
  read() {
    const list = Select.quantities(), evidence = Pod.finding[State.number('find', 0)] || Pod.finding[0] || {};
    Select.find = State.number('find', 0);
    const given = State.get('steps', State.get('step', ''))
                      .split('-') /* step: links of earlier versions */.map(t => t === '' ? NaN : +t),
          steps = given.some(Number.isNaN) ? [evidence.from ?? null, evidence.to ?? null] : [given[0], given[given.length - 1]];
    if (steps[0] === null)
      Select.from = Select.to = Select.usual();
    else
      [Select.from, Select.to] = steps.map(Select.nearest).sort((a, b) => a - b);
    const rank = State.number('rank', evidence.rank ?? -1), w = Array.from(Pod.worker.rank).indexOf(rank);
    Select.worker = w >= 0 ? w : Math.max(0, Select.latest());
    Select.plane = list.find(p => p.key === State.get('colour', evidence.colour || Pod.answer.colour)) ||
        list.find(p => p.key === 'step_ns') || list[0] || Select.none;
    const isOver = evidence.colour && evidence.kind !== 'category' ? evidence.difference : Select.plane.category;
    Select.difference = State.get('scale', isOver ? 'difference' : 'value') === 'difference' && Pod.workers > 1;
  },
  /* Any of from, to (indexes), worker (index), colour (key of a plane), scale, find. */
  set(changes) {
    const c = {};
    if ('from' in changes) {
      const last = Math.max(0, Pod.cell.steps - 1), clip = i => Math.max(0, Math.min(last, i));
      c.steps = `${Pod.stepShown[clip(changes.from)]}-${Pod.stepShown[clip(changes.to ?? changes.from)]}`;
    }
    if ('worker' in changes)
      c.rank = Pod.worker.rank[changes.worker];
    for (const key of ['colour', 'scale', 'find'])
      if (key in changes)
        c[key] = changes[key];
    State.set(c);
  },
  /* Back to the evidence of a finding, all at once. */
  open(find) {
    State.set({find: find || '', steps: '', rank: '', colour: '', scale: ''});
  },
};
