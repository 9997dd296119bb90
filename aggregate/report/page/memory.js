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
    Memory.box = el('div', {class: 'chartbox', id: 'memory-timeline', style: {height: '240px'}});
    Memory.note = el('p', {class: 'lead'});
    Memory.peak = el('div', {});
    return [
      el('h2', {}, 'Memory'),
      el('p', {class: 'lead'},
          'Calls of allocators of frameworks and of devices (GPU_0: by CUPTI): memory in use, and what was allocated at the peak.'),
      el('div', {class: 'controls'}, el('label', {}, 'Allocator', select)), Memory.fields, Memory.box, Memory.legend(), Memory.note,
      Memory.peak, ...below
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
    const item = (colour, name, line) =>
        el('li', {}, el('span', {class: line ? 'swatch line' : 'swatch', style: {backgroundColor: colour}}), name);
    return el('ul', {class: 'legendlist'}, Memory.parts.map(([, name, colour]) => item(colour, name)),
        item('var(--ink)', 'fragmentation (right axis)', true));
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
    if (!Memory.box)
      return;
    const list = Memory.list(), a = list.find(x => x.key === State.get('allocator', '')) || list[0],
          now = [a.key, document.documentElement.dataset.theme].join();
    if (Memory.drawn === now)
      return;
    Memory.drawn = now;
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
    Memory.note.textContent = notes.join(' ');
    Memory.note.hidden = !notes.length;
    if (Memory.chart)
      Memory.chart.destroy();
    Memory.chart = null;
    if (typeof Chart === 'undefined' || !rows.length) {
      Memory.box.replaceChildren(el('p', {class: 'missing'},
          rows.length ? 'The chart is missing: podprof was built without Chart.js.'
                      : 'This page has no points of this allocator; pod.h5 has them.'));
      return;
    }
    const canvas = el('canvas', {role: 'img', 'aria-label': `Memory of ${a.title} over time`});
    Memory.box.replaceChildren(canvas);
    Memory.chart = new Chart(canvas, Memory.config(rows, of));
  },
  config(rows, of) {
    const most = Math.max(1, ...rows.map(i => of.in_use_bytes[i] + Math.max(0, of.free_bytes[i]))),
          [size, unit] = Format.axis('byte', most);
    const soft = css('--soft'), font = {family: css('--font'), size: 12}, first = of.time_ns[rows[0]],
          long = of.time_ns[rows[rows.length - 1]] - first, [scale, timeUnit] = Format.axis('ns', long);
    const area = ([key, label, colour]) => ({
      label,
      data: rows.map(i => ({x: (of.time_ns[i] - first) / scale, y: Math.max(0, of[key][i]) / size})),
      stepped: 'before',
      fill: key === 'stack_bytes' ? 'origin' : '-1',
      borderColor: colour,
      backgroundColor: colour + '99',
      borderWidth: 1,
      pointRadius: 0,
      stack: 'memory',
      yAxisID: 'y'
    });
    const shares = rows.some(i => isKnown(of.fragmentation[i])), datasets = Memory.parts.map(area);
    if (shares)
      datasets.push({
        label: 'fragmentation',
        data: rows.map(
            i => ({x: (of.time_ns[i] - first) / scale, y: isKnown(of.fragmentation[i]) ? 100 * of.fragmentation[i] : null})),
        stepped: 'before',
        borderColor: css('--ink'),
        borderWidth: 1.25,
        pointRadius: 0,
        yAxisID: 'share'
      });
    return {
      type: 'line',
      data: {datasets},
      options: {
        animation: false,
        maintainAspectRatio: false,
        responsive: true,
        parsing: false,
        interaction: {mode: 'index', intersect: false},
        plugins: {legend: {display: false}, tooltip: {enabled: false, external: tip => Memory.hover(tip, rows, of)}},
        scales: {
          x: {
            type: 'linear',
            min: 0,
            max: long / scale || 1,
            grid: {display: false},
            ticks: {color: soft, font, maxTicksLimit: 9},
            title: axisTitle(Format.titled('time since its first call', timeUnit))
          },
          y: {
            stacked: true,
            beginAtZero: true,
            grid: {color: css('--rule'), drawBorder: false, drawTicks: false},
            ticks: {color: soft, font, padding: 8, maxTicksLimit: 6},
            title: axisTitle(Format.titled('memory', unit))
          },
          ...shares ? {
            share: {
              position: 'right',
              min: 0,
              max: 100,
              grid: {display: false},
              ticks: {color: soft, font},
              title: axisTitle('fragmentation (%)')
            }
          }
                    : {}
        }
      }
    };
  },
  hover(context, rows, of) {
    const tip = context.tooltip, point = tip.dataPoints && tip.dataPoints[0];
    if (!point || tip.opacity === 0)
      return Card.hide();
    const box = context.chart.canvas.getBoundingClientRect(), i = rows[point.dataIndex];
    const known = [
      ['time since the job began', Format.time(of.time_ns[i])], ['requested', Memory.bytes(of.requested_bytes[i])],
      ['allocated', of.bytes[i] < -1 ? '\u2212' + Format.bytes(-of.bytes[i]) : Memory.bytes(of.bytes[i])], ['operator', of.op[i]],
      ['step', of.step[i] < 0 ? '' : of.step[i]], ['region', of.region[i]], ['data type', of.type[i]], ['shape', of.shape[i]],
      ['memory in use', Memory.bytes(of.in_use_bytes[i])],
      ['fragmentation', isKnown(of.fragmentation[i]) ? Memory.share(of.fragmentation[i]) : '']
    ];
    Card.show(box.left + tip.caretX, box.top + tip.caretY, [
      el('b', {}, of.action[i]), el('table', {}, known.filter(([, v]) => v !== '' && v !== 'unknown').map(([k,
        v]) => el('tr', {}, el('td', {}, k), el('td', {class: 'num'}, String(v)))))
    ]);
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
