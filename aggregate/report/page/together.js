/* Of the pod viewer what its charts do not show: collectives by operation (see collectives.js), channels, topology, and what is
 * known to be wrong. */
'use strict';

const Together = {
  parts() {
    return [Together.channels(), Together.diagnostics()];
  },
  communicator(id) {
    Together.names = Together.names || communicatorNames();
    return Together.names.get(idKey(id)) || 'unknown';
  },
  allReduce() {
    const t = Pod.table('all_reduce'), of = name => Pod.column(t, name);
    if (!t)
      return null;
    const mean = (key, i) => of('occurrences')[i] && of(key)[i] !== null ? of(key)[i] / of('occurrences')[i] : null;
    const columns = [
      {name: 'operation', text: true, get: i => of('operation')[i]},
      {name: 'communicator', text: true, get: i => Together.communicator(of('communicator')[i])},
      {name: 'ranks', get: i => of('ranks')[i]},
      {name: 'operations', get: i => of('occurrences')[i]},
      {name: 'bytes', unit: 'byte', what: 'mean of an operation', get: i => mean('bytes', i)},
      {
        name: 'duration',
        unit: 'ns',
        what: 'from the last arrival to the last exit, mean of an operation; unknown where clocks are not joined',
        get: i => of('timed')[i] ? of('duration_ns')[i] / of('timed')[i] : null
      },
      {name: 'bus bandwidth', unit: 'byte/s', what: 'mean over that time', get: i => of('busbw')[i] || null},
      {name: 'wait', unit: 'ns', what: 'sum over ranks, mean of an operation', get: i => mean('wait_ns', i)},
      {name: 'transfer', unit: 'ns', minor: true, what: 'sum over ranks, mean of an operation', get: i => mean('transfer_ns', i)},
    ];
    if (of('device_ranks') && Array.from(of('device_ranks')).some(x => x))
      columns.push(...Together.onDevices(of));
    return el('div', {style: {marginTop: '22px'}}, new Table({
      id: 'all-reduce',
      title: 'Collectives by operation',
      label: 'Collectives by operation',
      columns,
      rows: t.shown,
      first: 12,
      sort: '-7'
    }).element);
  },
  /* Columns of operations that ran on devices, where there is one. */
  onDevices(of) {
    const mean = (key, ranks, i) => of(ranks)[i] && of(key)[i] !== null ? of(key)[i] / of(ranks)[i] : null;
    const how = i => [of('algorithm')[i], of('protocol')[i]].filter(x => x).join(' ');
    return [
      {
        name: 'on device',
        unit: 'ns',
        what: 'its kernel, mean of an operation and rank',
        get: i => mean('device_ns', 'device_ranks', i)
      },
      {
        name: 'exposed',
        unit: 'ns',
        what: 'part of it that no other work of the devices hid; empty where the kernels were not recorded',
        get: i => mean('exposed_ns', 'exposed_ranks', i)
      },
      {name: 'algorithm', text: true, get: how},
      {name: 'channels', minor: true, what: 'of NCCL, the most', get: i => of('channels')[i] || null},
    ];
  },
  channels() {
    const t = Pod.table('channel');
    return t &&
        el('p', {class: 'lead', style: {marginTop: '14px'}},
            `${Format.count(t.rows)} pair${t.rows === 1 ? '' : 's'} of ranks sent messages or wrote to each other: see `,
            el('a', {href: '#group-channel', onclick: e => App.go(e, 'group-channel')}, 'Channels'), ' and ',
            el('a', {href: '#collectives', onclick: e => App.go(e, 'collectives')}, 'Collectives'), '.');
  },
  diagnostics() {
    const t = Pod.table('quality', 'warning'), list = Array.from(Pod.column(t, 'warning')).filter(isNews), most = 6;
    if (!list.length)
      return null;
    return [
      el('h3', {style: {marginTop: '18px'}}, 'Diagnostics'),
      el('ul', {class: 'notes', id: 'diagnostics'}, list.slice(0, most).map(x => el('li', {class: 'bad'}, sentence(x))),
          list.length > most &&
              el('li', {}, `${Format.count(list.length - most)} more: see `,
                  el('a', {href: '#quality', onclick: e => App.go(e, 'quality')}, 'Quality'), '.'))
    ];
  },
};
