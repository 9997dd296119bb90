/* Operators: the ten with most self time as bars, then all of them as a table. */
'use strict';

const Operators = {
  top: 10,

  has() {
    return Pod.operator.n > 0 && Pod.sum.cells > 0;
  },
  section() {
    const title = el('h2', {}, 'Operators');
    if (!Operators.has())
      return [
        title,
        emptyText(absentReason('op') || 'No range and no call began in a complete step.',
            '\u2018podprof run\u2019 records the operators of PyTorch without a change to the script. ' +
                'In other programs it records ranges of podprof.h and NVTX, and MPI calls.')
      ];
    return [
      title,
      el('p', {class: 'lead'},
          'Ranges and calls by name, on all threads, and what devices ran: mean per step and rank. ' +
              'Self time is the time less the ranges nested in it on the same thread. ',
          'A range counts in the step in which it begins.'),
      Operators.bars(), Operators.table(), Operators.left(), OpStats.section()
    ];
  },
  /* No column where devices ran nothing: all rows would be the host's. */
  hasDevices() {
    return (Pod.operator.side || []).includes('Device');
  },
  mean() {
    return Pod.sum.all_ns / Pod.sum.cells;
  },
  colour(i) {
    const k = Pod.category.find(c => c.name === Pod.operator.category[i]);
    return k ? k.colour : css('--rest');
  },
  bars() {
    const o = Pod.operator, n = Math.min(Operators.top, Array.from(o.self_ns).filter(v => v > 0).length), many = Pod.workers > 1;
    const row = i => ({
      name: [
        swatch(Operators.colour(i)), Format.short(o.name[i], 36), Operators.hasDevices() && o.side[i] === 'Device' && ' on device'
      ],
      title: o.name[i],
      colour: Operators.colour(i),
      parts: [[o.self_ns[i]]],
      cells: [
        [Format.time(o.self_ns[i]), o.self_ns[i]], [Format.share(o.self_ns[i], Operators.mean())], [Operators.calls(o.calls[i])],
        ...many ? [[Format.time(o.most_ns[i])], o.worst[i] >= 0 ? 'rank ' + o.worst[i] : '\u2013'] : []
      ]
    });
    const rows = Array.from({length: n}, (unused, i) => row(i)),
          heads = ['Operator', '', 'self time', 'of the step', 'calls', ...many ? ['most', 'most on'] : []];
    const shown = [...new Set(Array.from({length: n}, (unused, i) => o.category[i]))];
    return [
      el('div', {class: 'scroll'}, barTable('operators-top', 'Operators with the largest self time, per step', heads, rows)),
      legend(Pod.category.filter(k => shown.includes(k.name)).map(k => k.id), false)
    ];
  },
  calls(v) {
    return v >= 99.95 || Number.isInteger(v) ? Format.count(Math.round(v)) : v.toFixed(v < 0.095 ? 3 : v < 9.95 ? 2 : 1);
  },
  table() {
    const o = Pod.operator, ns = (name, key, what) => ({name, unit: 'ns', what, get: i => o[key][i]}), many = Pod.workers > 1,
          devices = Operators.hasDevices();
    const ofRanks = [
      {...ns('least', 'least_ns', 'self time per step on the rank with the least'), minor: true},
      ns('most', 'most_ns', 'self time per step on the rank with the most'),
      column('most on', '', 'rank with the most self time', i => o.worst[i] < 0 ? null : o.worst[i],
          (i, v) => v === null ? '\u2013' : String(v)),
    ];
    const ofDevices = column('most on device', '', 'of the devices of that rank', i => o.device[i] < 0 ? null : o.device[i],
        (i, v) => v === null ? '\u2013' : String(v));
    const columns = [
      {name: 'operator', text: true, class: 'wide', get: i => o.name[i]},
      {name: 'category', text: true, get: i => o.category[i], show: (i, v) => el('span', {}, swatch(Operators.colour(i)), ' ' + v)},
      ...(devices ? [{name: 'on', text: true, what: 'what ran it: Host or Device', get: i => o.side[i]}] : []),
      {name: 'calls', what: 'per step, mean over ranks', get: i => o.calls[i], show: (i, v) => Operators.calls(v)},
      ns('self', 'self_ns', 'self time per step, mean over ranks'),
      column('of the step', '', 'self time, as a share of the mean step; the threads of a rank add up',
          i => o.self_ns[i] / Operators.mean(), (i, v) => Format.share(v, 1)),
      ns('total', 'total_ns', 'time per step with the nested ranges, mean over ranks; a recursive operator counts each level'),
      {
        name: 'self per call',
        minor: true,
        unit: 'ns',
        what: 'mean self time of one call',
        get: i => o.calls[i] > 0 ? o.self_ns[i] / o.calls[i] : null
      },
      {...ns('longest', 'longest_ns', 'the longest single call, with the nested ranges'), minor: true},
      ...(many ? ofRanks : []),
      ...(Array.from(o.device).some(d => d >= 0) ? [ofDevices] : []),
      {name: 'source', minor: true, text: true, what: 'how it was recorded', get: i => o.source[i]},
    ];
    return el('div', {style: {marginTop: '22px'}}, new Table({
      id: 'operators',
      title: 'Operators',
      label: 'All operators',
      columns,
      rows: o.n,
      first: 20,
      sort: devices ? '-4' : '-3',
      ...many ? {pick: i => o.worst[i] >= 0 && State.set({rank: o.worst[i]})} : {}
    }).element);
  },
  left() {
    const one = name => Pod.smallOf('op', name)[0] || 0, list = [];
    if (one('cut'))
      list.push(`${Format.count(one('cut'))} range${one('cut') === 1 ? ' that crosses' : 's that cross'} the window\u2019s edge ${
          one('cut') === 1 ? 'is' : 'are'} not counted.`);
    if (one('rest'))
      list.push(`The dataset omits ${Format.count(one('rest'))} operators with the least time, ${
          Format.time(one('rest_ns'))} over all ranks and steps: it holds at most 4${NB}096 per rank.`);
    return list.length ? el('ul', {class: 'notes', id: 'operators-left'}, list.map(t => el('li', {}, t))) : null;
  },
};
