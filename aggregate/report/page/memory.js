/* Memory: allocators of frameworks and devices: peak, memory in use over time, what was allocated at the peak; what PyTorch's
 * caching allocator held; then the memory of processes. */
'use strict';

const Memory = {
  parts: [['stack_bytes', 'stack', '#D7263D'], ['heap_bytes', 'heap', '#FF9F1C'], ['free_bytes', 'free', '#13805A']],
  tables: new Map(),

  has() {
    return !!Pod.table('allocator') || !!Pod.table('torch_memory', 'row') || Groups.has('memory');
  },
  section() {
    const how = '\u2018podprof doctor\u2019 shows which sources work on this host.',
          ofFiles = 'Traces have the calls of an allocator if their profiler recorded memory (PyTorch: profile_memory=True).';
    const process =
        Groups.has('memory') ? Groups.generic('memory', 'Memory', MEANING.memory) : Groups.absent('memory', 'Memory', how, ofFiles);
    const below = [Memory.torch(), Groups.has('memory') && [el('h3', {style: {marginTop: '28px'}}, 'Processes'), process.slice(1)]];
    if (!Pod.table('allocator'))
      return below[0] ? [el('h2', {}, 'Memory'), ...below] : process;
    const list = Memory.list(),
          select = el('select', {id: 'allocator', onchange: () => State.set({allocator: select.value})},
              list.map(a => el('option', {value: a.key}, a.title)));
    Memory.select = select;
    Memory.fields = el('dl', {class: 'run', id: 'allocator-fields'});
    Memory.plot = new Plot({
      id: 'memory-timeline',
      height: 240,
      x: {title: 'time since its first call', unit: 'ns'},
      y: {title: 'memory', unit: 'byte'},
      describe: i => Memory.point(i),
      numbers: 'memory over time as a table'
    });
    Memory.shares = new Plot({
      id: 'memory-fragmentation',
      height: 110,
      x: {title: 'time since its first call', unit: 'ns'},
      y: {title: 'fragmentation (%)', label: v => String(v), top: 100},
      describe: i => Memory.point(i),
      numbers: 'fragmentation over time as a table'
    });
    Memory.note = el('p', {class: 'lead'});
    Memory.peak = el('div', {});
    return [
      el('h2', {}, 'Memory'),
      el('p', {class: 'lead'},
          'Calls of allocators of frameworks and of devices (GPU_0: by CUPTI): memory in use, and what was allocated at the peak.'),
      el('div', {class: 'controls'}, el('label', {}, 'Allocator', select)), Memory.fields, Memory.plot.element, Memory.legend(),
      Memory.shares.element, Memory.note, Memory.peak, ...below
    ];
  },
  /* PyTorch's caching allocator by rank and device, beside what CUPTI counted there. */
  torch() {
    const t = Pod.table('torch_memory', 'row'), of = name => Pod.column(t, name), rows = new Map();
    for (let i = 0; t && i < t.shown; i++) {
      const key = `${of('worker')[i]}:${of('device')[i]}`, row = rows.get(key) || {at: i, steps: 0, retries: 0, out: 0};
      row.at = of('step')[i] >= of('step')[row.at] ? i : row.at;
      row.steps++;
      row.retries += Number(of('retries')[i]);
      row.out += Number(of('out_of_memory')[i]);
      rows.set(key, row);
    }
    if (!rows.size)
      return null;
    const list = [...rows.values()], last = key => i => of(key)[list[i].at];
    const cupti = i => {
      const a = (Pod.table('allocator')
              ? Memory.list()
              : []).find(x => x.worker === last('worker')(i) && x.allocator === `GPU_${last('device')(i)}`);
      return a ? a.peak_bytes : null;
    };
    const columns = [
      {name: 'rank', get: last('worker')}, {name: 'device', get: last('device')},
      {name: 'steps', what: 'on this page', get: i => list[i].steps},
      {name: 'held, peak', unit: 'byte', what: 'by the allocator, in use or not, so far', get: last('reserved_peak_bytes')},
      {name: 'held', unit: 'byte', what: 'at the end of the last step', get: last('reserved_bytes')},
      {name: 'in use, peak', unit: 'byte', what: 'by tensors, so far', get: last('allocated_peak_bytes')},
      {name: 'in use', unit: 'byte', what: 'by tensors at the end of the last step', get: last('allocated_bytes')}, {
        name: 'CUPTI, peak',
        unit: 'byte',
        what: 'of the device\u2019s own calls that were recorded; earlier ones are not in it',
        get: cupti
      },
      {name: 'retries', what: 'gave all unused memory back to try again, in these steps', get: i => list[i].retries},
      {name: 'out of memory', what: 'in these steps', get: i => list[i].out}
    ];
    return el('div', {style: {marginTop: '28px'}}, new Table({
      id: 'torch-memory',
      title: 'PyTorch\u2019s caching allocator',
      label: 'PyTorch\u2019s caching allocator',
      columns,
      rows: list.length,
      first: 16,
      sort: '-3'
    }).element);
  },
  /* One per rank and allocator, the largest peak first. */
  list() {
    if (!Memory.all) {
      const t = Pod.table('allocator'), many = Pod.workers > 1;
      Memory.all = Array
                       .from({length: t.shown},
                           (unused, i) => {
                             const a = Object.fromEntries(t.column.map(c => [c.name, c.data[i]]));
                             return {
                               ...a,
                               key: `${a.worker}:${a.allocator}`,
                               title: (many ? `rank ${a.worker}: ` : '') + (a.allocator || '(no name)')
                             };
                           })
                       .sort((a, b) => b.peak_bytes - a.peak_bytes);
    }
    return Memory.all;
  },
  legend() {
    return plotLegend(
        [...Memory.parts.map(([, name, colour]) => ({name, colour, wide: true})), {name: 'memory in use', colour: 'var(--ink)'}]);
  },
  bytes(b) {
    return isKnown(b) ? Format.bytes(b) : 'unknown';
  },
  /* The device's total is for all its users: what this allocator can get is less. */
  capacity(a) {
    return !isKnown(a.capacity_bytes) && a.device_bytes > 0 ? `${Memory.bytes(a.device_bytes)}, the device's total`
                                                            : Memory.bytes(a.capacity_bytes);
  },
  share(v) {
    return isKnown(v) ? Format.share(v, 1) : 'unknown';
  },

  draw() {
    if (!Memory.plot)
      return;
    const list = Memory.list(), a = list.find(x => x.key === State.get('allocator', '')) || list[0];
    Memory.select.value = a.key;
    Memory.describe(a);
    Memory.timeline(a);
    Memory.alive(a);
  },
  describe(a) {
    const t = Pod.table('memory_timeline'), first = Memory.rows(t, a)[0],
          at = first === undefined ? '' : `, ${Format.time(a.peak_time_ns - Pod.column(t, 'time_ns')[first])} after its first call`;
    const rows = [
      ['Allocations', Format.count(a.allocations)],
      [
        'Deallocations',
        Format.count(a.deallocations) +
            (a.unmatched ? `, ${Format.count(a.unmatched)} of memory that was allocated before the recording` : '')
      ],
      ['Capacity', Memory.capacity(a)], ['Peak of the heap since the program started', Memory.bytes(a.peak_since_start_bytes)],
      ['Peak in the recorded time', `${Memory.bytes(a.peak_bytes)}${at}${a.peak_step >= 0 ? `, step ${a.peak_step}` : ''}`],
      ['At that peak: stack', Memory.bytes(a.stack_bytes)], ['At that peak: heap', Memory.bytes(a.heap_bytes)],
      ['At that peak: free', Memory.bytes(a.free_bytes)], ['At that peak: fragmentation', Memory.share(a.fragmentation)]
    ];
    Memory.fields.replaceChildren(...rows.flatMap(([k, v]) => [el('dt', {}, k), el('dd', {}, v)]));
  },
  /* Rows of a table that are this allocator's. */
  rows(table, a) {
    const worker = Pod.column(table, 'worker'), name = Pod.column(table, 'allocator'), list = [];
    for (let i = 0; table && i < table.shown; i++)
      if (worker[i] === a.worker && name[i] === a.allocator)
        list.push(i);
    return list;
  },
  timeline(a) {
    const t = Pod.table('memory_timeline'), rows = Memory.rows(t, a),
          of = Object.fromEntries((t ? t.column : []).map(c => [c.name, c.data]));
    const notes = [];
    if (a.timeline_left_out)
      notes.push(`The chart has ${Format.count(rows.length)} points: of the other ${Format.count(a.timeline_left_out)} calls, ` +
          'each had no more memory in use than the point beside it.');
    if (a.is_counted)
      notes.push('The allocator did not report its size: the heap is the sum of the recorded calls.');
    if (!rows.length)
      notes.push('This page has no points of this allocator; pod.h5 has them.');
    Memory.note.textContent = notes.join(' ');
    Memory.note.hidden = !notes.length;
    Object.assign(Memory, {shown: rows, of});
    const x = rows.map(i => of.time_ns[i] - of.time_ns[rows[0]]),
          one = {x, colour: css('--ink'), width: 1.25, stepped: true, plain: true};
    let low = x.map(() => 0);
    const bands = Memory.parts.map(([key, name, colour]) => {
      const value = rows.map(i => Math.max(0, of[key][i])), high = value.map((v, k) => v + low[k]),
            band = {x, low, high, value, name, colour, alpha: 0.6, stepped: true};
      low = high;
      return band;
    });
    Memory.plot.show({
      bands,
      lines: [{...one, name: 'memory in use', y: rows.map(i => of.in_use_bytes[i])}],
      what: `Memory of ${a.title} over time`
    });
    const y = rows.map(i => isKnown(of.fragmentation[i]) ? 100 * of.fragmentation[i] : null);
    Memory.plot.element.hidden = !rows.length;
    Memory.shares.element.hidden = y.every(v => v === null);
    Memory.shares.show({lines: [{...one, name: 'fragmentation', y}], what: `Fragmentation of ${a.title} over time`});
  },
  point(k) {
    const i = Memory.shown[k], of = Memory.of;
    const known = [
      ['time since the job began', Format.time(of.time_ns[i])], ['requested', Memory.bytes(of.requested_bytes[i])],
      ['allocated', of.bytes[i] < -1 ? '\u2212' + Format.bytes(-of.bytes[i]) : Memory.bytes(of.bytes[i])], ['operator', of.op[i]],
      ['step', of.step[i] < 0 ? '' : of.step[i]], ['region', of.region[i]], ['data type', of.type[i]], ['shape', of.shape[i]],
      ['memory in use', Memory.bytes(of.in_use_bytes[i])],
      ['fragmentation', isKnown(of.fragmentation[i]) ? Memory.share(of.fragmentation[i]) : '']
    ];
    return [
      el('b', {}, of.action[i]), el('table', {}, known.filter(([, v]) => v !== '' && v !== 'unknown').map(([k,
        v]) => el('tr', {}, el('td', {}, k), el('td', {class: 'num'}, String(v)))))
    ];
  },
  alive(a) {
    const t = Pod.table('memory_peak'), rows = Memory.rows(t, a),
          of = Object.fromEntries((t ? t.column : []).map(c => [c.name, c.data]));
    if (!Memory.tables.has(a.key) && rows.length) {
      const label = {rest: '(smaller allocations)', earlier: '(allocated before the recording)', stack: '(stack)'};
      const text = (name, key) => ({name, text: true, get: i => of[key][rows[i]]});
      const columns = [
        {name: 'operator', text: true, class: 'wide', get: i => label[of.kind[rows[i]]] || of.op[rows[i]] || '(unknown)'},
        {name: 'allocated', unit: 'byte', what: 'size of each', get: i => of.bytes[rows[i]]}, {
          name: 'requested',
          unit: 'byte',
          what: 'size of each',
          get: i => of.requested_bytes[rows[i]] < 0 ? null : of.requested_bytes[rows[i]]
        },
        {name: 'occurrences', get: i => of.occurrences[rows[i]]}, {
          name: 'all',
          unit: 'byte',
          what: 'allocated size of all occurrences',
          get: i => of.bytes[rows[i]] * of.occurrences[rows[i]]
        },
        {
          name: 'of the peak\u2019s step',
          minor: true,
          what: 'occurrences that were allocated in the step of the peak',
          get: i => of.of_peak_step[rows[i]]
        },
        text('region', 'region'), text('data type', 'type'), text('shape', 'shape')
      ];
      Memory.tables.set(a.key, new Table({
        id: 'memory-peak',
        title: 'Allocated at the peak',
        label: `Allocated at the peak: ${a.title}`,
        columns,
        rows: rows.length,
        first: 20,
        sort: '-4'
      }));
    }
    const table = Memory.tables.get(a.key);
    Memory.peak.replaceChildren(table ? table.element : '');
    if (table)
      table.fit();
  },
};
