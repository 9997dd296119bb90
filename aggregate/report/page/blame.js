/* Blame: who made others wait, for which reason, in which pattern over steps, and what the step would take without it. Of /blame,
 * /blame_step, /finding and /what_if. */
'use strict';

const Blame = {
  kinds: [
    'persistent', 'sudden', 'growing', 'phase', 'noise', 'rotating', 'link', 'periodic', 'one-off', 'irregular', 'start-up',
    'input', 'output', 'unsplit', 'not recorded', 'largest part'
  ],
  subjects: ['rank', 'host', 'input', 'communicator', 'ranks', 'link'],

  reason(code) {
    const k = Pod.category.find(c => c.id === code);
    return k ? k.name : ['Between steps', 'Slow link'][code - Pod.category.length - 1] || 'Unknown reason';
  },
  colour(code) {
    return Pod.category.some(c => c.id === code) ? Pod.colour(code)
        : code === Pod.category.length + 1       ? css('--soft')
                                                 : css('--rest');
  },
  /* Per rank over reasons: {ns, direct, error, steps, parts: [{reason, ns}]}. */
  ranks() {
    if (!Blame.byRank) {
      const t = Pod.table('blame'), of = name => Pod.column(t, name);
      Blame.byRank = new Map();
      for (let i = 0; t && i < t.shown; i++) {
        const rank = of('worker')[i], row = Blame.byRank.get(rank) || {rank, ns: 0, direct: 0, error: 0, steps: 0, parts: []};
        row.ns += of('blame_ns')[i];
        row.direct += of('direct_ns')[i];
        row.error += of('error_ns')[i];
        row.steps = Math.max(row.steps, of('steps')[i]);
        row.parts.push({reason: of('reason')[i], ns: of('blame_ns')[i]});
        Blame.byRank.set(rank, row);
      }
      for (const row of Blame.byRank.values())
        row.parts.sort((a, b) => b.ns - a.ns);
    }
    return Blame.byRank;
  },
  steps() {
    return Math.max(1, Pod.sum.steps);
  },

  section() {
    const title = el('h2', {}, 'Blame');
    if (!Pod.table('blame'))
      return [
        title,
        emptyText(absentReason('blame') || 'This dataset has no /blame.',
            'Blame needs collectives or messages whose waiting is known: record all ranks of the job. ' +
                '\u2018podprof doctor\u2019 shows what works on this host.',
            'Trace files of other profilers have no common clock: waiting between ranks is unknown.')
      ];
    const rows = [...Blame.ranks().values()], t = Pod.table('blame');
    return [
      title,
      el('p', {class: 'lead'},
          'All waiting of all ranks, each part charged to the first rank that was late for a reason of its own: ' +
              'a rank that is late only ' +
              'because it waited itself passes it on. All blame together is all waiting. ',
          t.shown < t.rows && `This page has the ${Format.count(t.shown)} largest of ${Format.count(t.rows)} rows.`),
      el('p', {class: 'evidence', id: 'blame-sentence'}, el('b', {}, 'Bottleneck: '), typeset(ended(Pod.answer.bottleneck))),
      Pod.answer.what_if && el('p', {class: 'evidence'}, el('b', {}, 'What if: '), typeset(ended(Pod.answer.what_if))),
      Blame.legend(rows), Blame.table(rows), Blame.charts(), Blame.findings(), Blame.whatIf(),
      details('Details: blame by rank and reason', Blame.raw(t))
    ];
  },
  legend(rows) {
    const codes = [...new Set(rows.flatMap(r => r.parts.map(p => p.reason)))].sort((a, b) => a - b);
    return el('ul', {class: 'legendlist', 'aria-label': 'Colours', style: {marginTop: '12px'}},
        el('li', {class: 'title'}, 'Reason:'),
        codes.map(c => el('li', {}, el('span', {class: 'swatch', style: {backgroundColor: Blame.colour(c)}}), Blame.reason(c))));
  },
  tie(row) {
    return row.ns <= row.error;
  },

  /* One bar per rank, stacked by reason. */
  table(rows) {
    const most = Math.max(1, ...rows.map(r => r.ns)), per = ns => ns / Blame.steps();
    const bar = row => el('div', {
      class: 'track stack',
      role: 'img',
      'aria-label': row.parts.map(p => `${Blame.reason(p.reason)} ${Format.time(per(p.ns))}`).join(', ')
    },
        row.parts.filter(p => p.ns > 0).map(p => el('span', {
          title: `${Blame.reason(p.reason)}: ${Format.time(per(p.ns))} per step`,
          style: {width: 100 * p.ns / most + '%', backgroundColor: Blame.colour(p.reason)}
        })));
    const host = i => Pod.rank_of.has(rows[i].rank) ? Pod.worker.host[Pod.rank_of.get(rows[i].rank)] : '';
    const columns = [
      {name: 'rank', get: i => rows[i].rank},
      {name: 'host', text: true, minor: true, get: host},
      ...Pod.table('role')
          ? [{name: 'role', minor: true, get: i => Pod.rank_of.has(rows[i].rank) ? Pod.role(Pod.rank_of.get(rows[i].rank)) : null}]
          : [],
      {name: 'by reason', text: true, get: i => rows[i].ns, show: i => bar(rows[i])},
      column('blame per step', 'ns', 'waiting of all ranks, summed, that goes back to this rank', i => per(rows[i].ns),
          (i, v) => Blame.tie(rows[i]) ? 'tie' : Format.time(v)),
      column('of all waiting', '', 'of all ranks in all steps', i => rows[i].ns, (i, v) => Format.share(v, Pod.sum.wait_ns)),
      {name: 'main reason', text: true, get: i => Blame.tie(rows[i]) ? '\u2013' : Blame.reason(rows[i].parts[0].reason)},
      {
        ...column('for this very rank', '', 'share of its blame; the rest waited for ranks that had waited for it',
            i => rows[i].direct, (i, v) => Format.share(v, rows[i].ns)),
        minor: true
      },
      {name: 'steps', what: 'with blame', get: i => rows[i].steps},
      {name: 'clock error \u2264', unit: 'ns', minor: true, what: 'of the blame per step', get: i => Math.ceil(per(rows[i].error))},
    ];
    const pick = i => State.set({rank: rows[i].rank});
    return new Table({
      id: 'blame',
      title: 'Who made others wait',
      label: 'Who made others wait',
      columns,
      rows: rows.length,
      first: 12,
      sort: '-' + columns.findIndex(c => c.name === 'blame per step'),
      pick,
      picked: i => Pod.rank_of.get(rows[i].rank) === Select.worker
    }).element;
  },

  charts() {
    if (!Pod.plane.blame_ns)
      return el('p', {class: 'lead', style: {marginTop: '14px'}}, 'This dataset has no blame by step.');
    const hover = (i, e, lines) => i === null ? Card.hide() : Card.show(e.clientX, e.clientY, lines(i));
    const parts = [...new Set([...Blame.ranks().values()].flatMap(r => r.parts.map(p => Blame.reason(p.reason))))];
    Blame.pinned = new Columns({
      id: 'blame-ranks',
      numbers: 'blame of the pinned step as a table',
      parts,
      height: 170,
      axis: 'rank',
      onhover: (i, e) => hover(i, e, k => Blame.describe(Select.from, Viewer.order[k])),
      onpick: i => Select.set({worker: Viewer.order[i]}),
      onkey: Viewer.key
    });
    Blame.over = new Columns({
      id: 'blame-steps',
      numbers: 'blame of every step as a table',
      parts,
      height: 170,
      axis: 'step number',
      onhover: (i, e) => hover(i, e,
          s => [el('b', {}, `step ${Pod.stepShown[s]}`),
              el('table', {},
                  Blame.ofStep(s).map(
                      p => el('tr', {}, el('td', {}, Blame.reason(p.reason)), el('td', {class: 'num'}, Format.time(p.ns)))))]),
      onpick: i => Select.set({from: i}),
      onkey: Viewer.key
    });
    Blame.pinnedTitle = el('h3', {id: 'blame-step-title', style: {marginTop: '22px'}});
    Blame.pinnedNote = el('p', {class: 'lead', id: 'blame-step', style: {margin: '0 0 4px'}, 'aria-live': 'polite'});
    Blame.overTitle = el('h3', {style: {marginTop: '14px'}}, 'Every step: blame of all ranks, by main reason');
    return el('div', {}, Blame.pinnedTitle, Blame.pinnedNote, Blame.pinned.element, Blame.overTitle, Blame.over.element);
  },
  planes() {
    return [Pod.plane.present, Pod.plane.wait_ns, Pod.plane.blame_ns, Pod.plane.blame_reason];
  },
  why(s, w) {
    return Pod.plane.blame_reason ? Pod.at(Pod.plane.blame_reason, s, w) : 0;
  },
  segment(reason, ns) {
    return {id: reason === Pod.category.length + 1 ? Pod.between : reason, name: Blame.reason(reason), ns};
  },
  /* Sums over ranks, by main reason: made once. */
  ofStep(s) {
    if (!Blame.sums)
      Blame.sums = Pod.stepShown.map((n, at) => {
        const map = new Map();
        for (let w = 0; w < Pod.workers; w++) {
          const ns = Pod.at(Pod.plane.blame_ns, at, w);
          if (ns > 0)
            map.set(Blame.why(at, w), (map.get(Blame.why(at, w)) || 0) + ns);
        }
        return [...map].map(([reason, ns]) => ({reason, ns})).sort((a, b) => b.ns - a.ns);
      });
    return Blame.sums[s];
  },
  describe(s, w) {
    const ns = Pod.at(Pod.plane.blame_ns, s, w);
    return [
      el('b', {}, `${Pod.workerName(w)}, step ${Pod.stepShown[s]}`),
      el('div', {},
          ns === null  ? 'Whether another rank waited for it is unknown.'
              : ns > 0 ? `${Format.time(ns)} of waiting goes back to it, mainly: ${Blame.reason(Blame.why(s, w))}`
                       : 'No waiting goes back to it.')
    ];
  },
  draw() {
    if (!Blame.pinned)
      return;
    Blame.pinnedTitle.textContent = `Step ${Pod.stepShown[Select.from]}: blame of every rank`;
    if (Blame.planes().some(p => p && !Pod.ready(p)) && !seen(Blame.pinnedTitle, Blame.draw))
      return;
    if (!Pod.later(Blame.planes(), Blame.draw))
      return;
    const s = Select.from, sum = Blame.ofStep(s).reduce((all, p) => all + p.ns, 0), value = w => Pod.at(Pod.plane.blame_ns, s, w),
          worst = Viewer.order.reduce((best, w) => value(w) > value(best) ? w : best, Viewer.order[0]);
    Blame.pinnedNote.textContent = !sum
        ? Viewer.order.some(w => Pod.present(s, w) && Pod.at(Pod.plane.wait_ns, s, w) === null)
            ? 'It is unknown whether a rank waited for another one in this step.'
            : 'No rank waited for another one in this step.'
        : `${Format.time(sum)} of waiting, of all ranks together. Most goes back to ${Pod.workerName(worst)}: ${
              Format.time(value(worst))} (${Format.share(value(worst), sum)} of it), mainly ${Blame.reason(Blame.why(s, worst))}.`;
    const item = (label, parts) => ({label, segments: parts, total: parts.reduce((all, p) => all + p.ns, 0)});
    Blame.pinned.show(
        Viewer.order.map(w => item(String(Pod.worker.rank[w]), value(w) > 0 ? [Blame.segment(Blame.why(s, w), value(w))] : [])),
        Viewer.order.indexOf(Select.worker), `Blame of the pinned step by rank. ${Blame.pinnedNote.textContent}`);
    Blame.over.show(Pod.stepShown.map((n, at) => item(String(n), Blame.ofStep(at).map(p => Blame.segment(p.reason, p.ns)))), s,
        'Blame of all ranks by step');
  },

  findings() {
    const t = Pod.table('finding'), of = name => Pod.column(t, name);
    if (!t)
      return null;
    const columns = [
      {name: 'kind', text: true, get: i => Blame.kinds[of('kind')[i]] || 'unknown'},
      {name: 'of', text: true, get: i => of('who')[i] || 'no rank'},
      {name: 'main reason', text: true, get: i => Blame.reason(of('finding_reason')[i])},
      column('costs per step', 'ns', 'what a step gains without it', i => of('finding_gain_ns')[i] || null),
      column('of the usual step', '', '', i => of('finding_gain_ns')[i] || null, (i, v) => Format.share(v, of('usual_ns')[i])),
      column('seen in', '', 'steps', i => of('finding_steps')[i],
          (i, v) => `${Format.count(v)} of ${Format.count(of('of_steps')[i])} steps`),
      {name: 'first step', minor: true, get: i => of('finding_first')[i]},
      column('period', '', 'steps from one to the next', i => of('finding_period')[i] || null),
      {name: 'what was found', text: true, class: 'wide', get: i => of('finding')[i]},
      {name: 'next', text: true, class: 'wide', get: i => of('finding_next')[i]}
    ];
    const pick = i => Select.open(i);
    return el('div', {style: {marginTop: '26px'}},
        new Table({id: 'finding', title: 'Findings', label: 'Findings', columns, rows: t.shown, first: 12, sort: '-3', pick})
            .element);
  },
  whatIf() {
    const t = Pod.table('what_if'), of = name => Pod.column(t, name);
    if (!t)
      return el('p', {class: 'lead', style: {marginTop: '14px'}}, 'This dataset has no replays of its steps (/what_if).');
    const gain = v => v === null ? 'unknown' : v > 0 ? Format.time(v) : v < 0 ? Format.time(v) + ' (longer)' : 'none';
    const columns = [
      {name: 'what if', text: true, class: 'wide', get: i => of('what_if')[i]},
      column('gain per step', 'ns', 'mean step as measured, less that of the replay', i => of('gain_ns')[i], (i, v) => gain(v)),
      column('of the step', '', 'of the mean step as measured',
          i => of('before_ns')[i] > 0 && of('gain_ns')[i] !== null ? of('gain_ns')[i] / of('before_ns')[i] : null,
          (i, v) => v === null ? '\u2013' : (v < 0 ? '\u2212' : '') + Format.share(Math.abs(of('gain_ns')[i]), of('before_ns')[i])),
      column('measured', 'ns', 'mean time from step to step, of the rank with most', i => of('before_ns')[i]),
      column('replayed', 'ns', 'the same of the replay', i => of('after_ns')[i]),
      {name: 'by', text: true, minor: true, get: i => Blame.subjects[of('subject')[i]] || 'unknown'},
      {name: 'assumes', text: true, class: 'wide', get: i => of('assumes')[i]}
    ];
    return el('div', {style: {marginTop: '26px'}}, new Table({
      id: 'what-if',
      title: 'What if: the step replayed',
      label: 'What if: the step replayed',
      columns,
      rows: t.shown,
      first: 12,
      sort: '-1'
    }).element);
  },
  raw(t) {
    const of = name => Pod.column(t, name);
    const columns = [
      {name: 'rank', get: i => of('worker')[i]}, {name: 'reason', text: true, get: i => Blame.reason(of('reason')[i])},
      {name: 'blame', unit: 'ns', what: 'summed over steps and waiting ranks', get: i => of('blame_ns')[i]},
      {name: 'for this very rank', unit: 'ns', get: i => of('direct_ns')[i]},
      {name: 'clock error \u2264', unit: 'ns', get: i => of('error_ns')[i]}, {name: 'steps', get: i => of('steps')[i]}
    ];
    return new Table({id: 'blame-reasons', title: 'Blame by rank and reason', columns, rows: t.shown, first: 24}).element;
  },
};
