/* The ranks that others waited for, the operations with most waiting, and when each rank arrived at one of them. */
'use strict';

const Waiting = {
  heads: ['rank', 'arrives after the first', 'waits', 'transfer'],

  section() {
    const operations = Pod.table('collective', 'event'), title = el('h2', {}, 'Who waited for whom');
    if (!operations)
      return [
        title,
        emptyText(absentReason('collective') || 'This dataset has no /collective.',
            'MPI collectives of Open MPI, MPICH and Intel MPI are recorded without a change to the program. ' +
                '\u2018podprof doctor\u2019 shows what works on this host.',
            'A trace file has collectives if podprof wrote it, or if PyTorch recorded their arguments (record_param_comms). ' +
                'Trace files of other profilers have no common clock: waiting between ranks is unknown.')
      ];
    return [
      title,
      el('p', {class: 'lead'},
          'In a collective, a rank waits from its own arrival until the last rank arrives whose data it needs. ' +
              'The waiting is attributed to that last rank. ' +
              'In a message, the receiver waits for a late sender, and the sender of a large message for a late receiver: see ',
          el('a', {href: '#collectives', onclick: e => App.go(e, 'collectives')}, 'Collectives'), '. ',
          Pod.sum.bound_ns > 0 &&
              `Clock error between two ranks \u2264${NB}${Format.time(Pod.sum.bound_ns)}${
                  Clocks.count() > 1 ? ' (smaller within a host)' : ''}; smaller waits are shown as \u201ctie\u201d.`),
      Waiting.operations(operations)
    ];
  },

  operations(source) {
    const c = name => Pod.column(source, name), wait = c('wait_ns'), bound = c('bound_ns'), last = c('last_worker'),
          event = c('event');
    const arrivals = new Map(Pod.arrival.map(a => [a.event, a]));
    Waiting.names = communicatorNames();
    const columns = [
      {name: 'operation', text: true, get: i => c('operation')[i].replace(/^MPI_/, '')},
      {name: 'step', get: i => c('step')[i], show: (i, v) => v === null ? 'outside' : String(v)},
      {name: 'communicator', text: true, get: i => Waiting.names.get(idKey(c('communicator')[i])) || 'unknown'},
      {name: 'sequence', minor: true, what: 'n-th collective on its communicator', get: i => c('sequence')[i]},
      {name: 'ranks', minor: true, get: i => c('ranks')[i]},
      {name: 'bytes', what: 'of the rank with most', unit: 'byte', get: i => c('bytes')[i]},
      {name: 'waiting of all ranks', unit: 'ns', get: i => wait[i]},
      column('last rank', '', 'unknown: the clocks of its ranks could not be compared', i => last[i],
          (i, v) => v < 0                                      ? 'unknown'
              : c('last_ns')[i] - c('first_ns')[i] <= bound[i] ? 'tie'
                                                               : String(v)),
      column('last after first', 'ns', 'last arrival less first arrival',
          i => last[i] < 0 ? null : c('last_ns')[i] - c('first_ns')[i]),
      {...column('clock error \u2264', 'ns', 'of the difference of two arrivals', i => last[i] < 0 ? null : bound[i]), minor: true},
      column('transfer', 'ns', 'time in the operation that is not waiting, summed over ranks', i => c('transfer_ns')[i]),
      {
        ...column('algbw', 'byte/s', 'bytes / (last exit - last arrival); empty where that time is below the clock error',
            i => c('algbw')[i], (i, v) => v > 0 ? Format.rate(v) : '\u2013'),
        minor: true
      },
      {
        ...column('busbw', 'byte/s', 'algbw scaled to what a link carries', i => c('busbw')[i],
            (i, v) => v > 0 ? Format.rate(v) : '\u2013'),
        minor: true
      },
    ];
    Waiting.tracks = el('div', {class: 'tracks'});
    Waiting.arrivals = arrivals;
    Waiting.source = source;
    Waiting.table = new Table({
      id: 'operations',
      title: 'Collective operations',
      label: 'Collective operations',
      columns,
      rows: source.shown,
      first: 15,
      sort: '-6',
      pick: i => State.set({operation: event[i]}),
      picked: i => event[i] === Waiting.picked()
    });
    return el('div', {style: {marginTop: '22px'}}, Waiting.tracks, Waiting.table.element);
  },
  picked() {
    const first = Pod.arrival.length ? Pod.arrival[0].event : null;
    return State.number('operation', first);
  },

  draw() {
    if (!Waiting.tracks)
      return;
    const picked = Waiting.picked(), source = Waiting.source, i = Array.from(Pod.column(source, 'event')).indexOf(picked),
          a = Waiting.arrivals.get(picked);
    if (i < 0)
      return Waiting.tracks.replaceChildren();
    const c = name => Pod.column(source, name)[i];
    const title = el('h3', {id: 'arrival-title'},
        `${c('operation')} of ${c('step') === null ? 'no step' : 'step ' + c('step')}: when each rank arrived`);
    if (!a)
      return Waiting.tracks.replaceChildren(title,
          el('p', {class: 'lead'},
              `This page holds the arrivals of the ${Pod.arrival.length} operations with most waiting. ` +
                  'pod.h5 has all of them, in /collective arrival_ns.'));
    const canvas = el('canvas', {
      role: 'img',
      tabindex: '0',
      id: 'arrivals',
      'aria-label': `Arrivals of ${a.worker.length} ranks; rank ${c('last_worker')} arrived last, ${
          Format.time(c('last_ns') - c('first_ns'))} after the first`
    });
    Waiting.tracks.replaceChildren(title,
        el('p', {class: 'lead'}, 'Hatched: waiting for the last rank. Plain: transfer. Vertical line: the last arrival.'),
        el('div', {}, canvas), details('Details: arrivals as a table', Waiting.arrivalTable(a, c('last_ns') - c('first_ns'))));
    Waiting.paint(canvas, a, c('last_ns') - c('first_ns'));
  },
  arrivalTable(a, last) {
    const cells = k => {
      const at = a.arrival_ns[k], to = a.exit_ns[k], wait = Math.min(to, Math.max(at, last));
      return [String(a.worker[k]), ...[at, wait - at, to - wait].map(ns => Format.time(ns))];
    };
    return el('table', {'aria-label': 'Arrivals'},
        el('thead', {}, el('tr', {}, Waiting.heads.map(h => el('th', {class: 'num'}, h)))),
        el('tbody', {}, Array.from(a.worker, (rank, k) => el('tr', {}, cells(k).map(v => el('td', {class: 'num'}, v))))));
  },
  /* Ranks down, time across; of very many ranks the first and the last ones to arrive. */
  paint(canvas, a, last) {
    let rows = Array.from(a.worker, (rank, k) => ({rank, from: a.arrival_ns[k], to: a.exit_ns[k]}));
    if (rows.length > 64) {
      rows.sort((x, y) => y.from - x.from);
      rows = [...rows.slice(0, 32), ...rows.slice(-32)];
    }
    const high = rows.length > 24 ? 10 : 16, {c, width} = fit(canvas, rows.length * high + 42), left = 58,
          most = Math.max(...rows.map(r => r.to), 1);
    const scale = (width - left - 50) / most, [size, unit] = Format.axis('ns', most), colour = Pod.colour(COMMUNICATION[0]);
    c.textBaseline = 'middle';
    rows.forEach((r, k) => {
      const y = k * high, wait = Math.min(r.to, Math.max(r.from, last)), bar = (from, to, fill) => {
        c.fillStyle = fill;
        c.fillRect(left + from * scale, y + 2, Math.max(to > from ? 1 : 0, (to - from) * scale), high - 4);
      };
      bar(r.from, wait, Hatch.of(c, colour));
      bar(wait, r.to, colour);
      c.textAlign = 'right';
      c.fillStyle = css('--soft');
      if (high > 12 || k % 2 === 0)
        c.fillText(String(r.rank), left - 8, y + high / 2);
    });
    c.textBaseline = 'top';
    c.textAlign = 'center';
    c.fillStyle = css('--soft');
    for (const m of ticks(most / size, 5))
      c.fillText(String(m), left + m * size * scale, rows.length * high + 8);
    c.fillText(Format.titled('time since the first arrival', unit), left + (width - left - 50) / 2, rows.length * high + 25);
    sideTitle(c, 'rank', rows.length * high / 2);
    const x = Math.round(left + last * scale) + 0.5;
    c.strokeStyle = css('--ink');
    c.beginPath();
    c.moveTo(x, 0);
    c.lineTo(x, rows.length * high + 4);
    c.stroke();
  },
};

/* As a key: a table has its identities as text where any of them is large. */
function idKey(id) {
  return typeof id === 'number' ? id.toString(16).padStart(16, '0') : String(id);
}

/* What a reader knows of a communicator: its name, else how many ranks it has; never its id. */
function communicatorNames() {
  const t = Pod.table('communicator', 'communicator'), of = name => Pod.column(t, name), names = new Map();
  for (let i = 0; t && i < t.shown; i++)
    names.set(idKey(of('id')[i]), of('name')[i] || (of('size')[i] ? `${Format.count(of('size')[i])} ranks` : of('role')[i]));
  return names;
}

function absentReason(group) {
  const t = Pod.table('quality', 'absent'), i = t ? Pod.column(t, 'absent').indexOf(group) : -1;
  return i < 0 ? '' : sentence(Pod.column(t, 'absent_reason')[i]);
}

/* As it stands behind a colon, and as a sentence of its own. */
function ended(text) {
  return text ? text + (/[.!?]$/.test(text) ? '' : '.') : '';
}
function sentence(text) {
  return text ? ended(text[0].toUpperCase() + text.slice(1)) : '';
}
