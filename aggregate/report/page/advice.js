/* Advice: what to do, with the numbers that support it and what it would save, the largest first. Of /advice. */
'use strict';

const Advice = {
  most: 12, /* cards */

  section() {
    const t = Pod.table('advice'), of = name => Pod.column(t, name), title = el('h2', {}, 'Advice');
    if (!t)
      return [
        title,
        emptyText(absentReason('advice') || 'This dataset has no /advice.',
            'Each rule of advice needs its evidence, for example waiting, input or kernels. ' +
                '\u2018podprof doctor\u2019 shows which sources work.')
      ];
    const order = Array.from({length: t.shown}, (unused, i) => i).sort((a, b) => of('cost_ns')[b] - of('cost_ns')[a] || a - b);
    const cost = i => of('cost_ns')[i] > 0 ? `${Format.time(of('cost_ns')[i])} per step` : 'not about time';
    const about = i => of('advice_worker')[i] >= 0 ? 'rank ' + of('advice_worker')[i] : 'all ranks';
    const card = i =>
        el('li', {}, el('div', {class: 'cost'}, el('b', {}, cost(i)), el('span', {}, Advice.about(of('advice_worker')[i]))),
            el('div', {}, el('p', {class: 'do'}, withCommands(sentence(of('advice')[i]))),
                el('p', {class: 'why'}, typeset(sentence(of('evidence')[i])))));
    const columns = [
      column(
          'cost', 'ns', 'mean time per step and rank that it is about; empty: it is not about time', i => of('cost_ns')[i] || null),
      column('of the step', '', 'of the mean step of all ranks', i => of('cost_ns')[i] || null,
          (i, v) => v ? Format.share(v, Pod.sum.cells ? Pod.sum.all_ns / Pod.sum.cells : 0) : '\u2013'),
      {name: 'about', text: true, get: about}, {name: 'advice', text: true, class: 'wide', get: i => of('advice')[i]},
      {name: 'evidence', text: true, class: 'wide', get: i => of('evidence')[i]},
      {name: 'rule', text: true, minor: true, get: i => of('rule')[i]}
    ];
    return [
      title,
      el('p', {class: 'lead'},
          'What to do, the most expensive first, each with its evidence. ' +
              'The cost is the most that the change can save.'),
      el('ol', {class: 'advice', id: 'advice-list'}, order.slice(0, Advice.most).map(card)),
      order.length > Advice.most && el('p', {class: 'lead'}, `${Format.count(order.length - Advice.most)} more are in the table.`),
      details('Details: all advice as a table', new Table({
        id: 'advice',
        title: 'Advice',
        columns,
        rows: t.shown,
        first: 24,
        sort: '-0',
        pick: i => of('advice_worker')[i] >= 0 && State.set({rank: of('advice_worker')[i]})
      }).element)
    ];
  },
  about(rank) {
    if (rank < 0 || !Pod.rank_of.has(rank))
      return rank < 0 ? 'all ranks' : 'rank ' + rank;
    return el('a', {
      href: '#viewer',
      onclick: e => {
        State.set({rank});
        App.go(e, 'viewer');
      }
    },
        'rank ' + rank);
  },
};
