/* The sections of podprof diff's page, and what puts it together. Data: the JSON of 'podprof diff --json', and what the board
 * (diff_board.js) draws; docs/diff.md. */
'use strict';

const Diff = JSON.parse(document.getElementById('diff').textContent);

const WORDS = {
  longer: 'longer',
  shorter: 'shorter',
  no_difference: 'no difference',
  undecided: 'undecided',
  unknown: 'unknown'
};
const LAST = Diff.runs[Diff.runs.length - 1].run, IS_TREND = Diff.runs.length > 2;

function svg(tag, attributes, ...children) {
  const e = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes))
    e.setAttribute(name, value);
  e.append(...children);
  return e;
}

function signed(ns) {
  return ns === null ? '\u2013' : (ns > 0 ? '+' : '') + Format.time(ns);
}

function interval(n) {
  return n.low_ns === null ? '\u2013' : signed(n.low_ns) + ' to ' + signed(n.high_ns);
}

function percentOf(part, whole) {
  if (part === null)
    return '\u2013';
  const percent = whole > 0 ? Math.abs(100 * part / whole).toFixed(1) : '';
  return percent ? (percent === '0.0' ? '' : part > 0 ? '+' : '\u2212') + percent + NB + '%' : '\u2013';
}

/* Colour repeats what the words say. */
function resultOf(n) {
  return el('span', {class: n.result === 'longer' ? 'bad' : null}, WORDS[n.result]);
}

const last = Diff.against_first[Diff.against_first.length - 1];

/* A bar from the middle: to the right longer, to the left shorter; pale where it is no difference. */
function changeBar(n, largest) {
  const half = 70, part = largest > 0 ? Math.min(1, Math.abs(n.change_ns) / largest) : 0, width = Math.max(part * half, 0.5);
  const real = n.result === 'longer' || n.result === 'shorter';
  return svg('svg', {width: 2 * half, height: 12, 'aria-hidden': 'true'}, svg('rect', {
    x: n.change_ns < 0 ? half - width : half,
    y: 1,
    width,
    height: 10,
    fill: !real           ? 'var(--rest)'
        : n.change_ns > 0 ? 'var(--attention)'
                          : 'var(--good)'
  }),
      svg('line', {x1: half, x2: half, y1: 0, y2: 12, stroke: 'var(--soft)'}));
}

/* Usual step time of each run, with its interval. */
function stepChart() {
  const row = 30, left = 40, right = 110, width = 760, height = Diff.runs.length * row + 26;
  const most = Math.max(...Diff.runs.map(r => r.step_ns + (r.half_interval_ns || 0))), [unit, name] = Format.axis('ns', most);
  const marks = ticks(most / unit, 6), end = Math.max(marks[marks.length - 1] * unit, most) || 1;
  const x = ns => left + (width - left - right) * Math.max(0, ns) / end;
  const text =
      Diff.runs
          .map(r => `${r.run} ${Format.time(r.step_ns)}` + (r.half_interval_ns ? ` \u00b1 ${Format.time(r.half_interval_ns)}` : ''))
          .join('; ');
  const chart = svg('svg', {
    viewBox: `0 0 ${width} ${height}`,
    style: 'width:100%;max-width:960px;display:block',
    role: 'img',
    'aria-label': 'Usual step time of the slowest rank with its 99 % interval: ' + text,
    'font-size': 12,
    fill: 'var(--ink)'
  });
  for (const m of marks)
    chart.append(svg('line', {x1: x(m * unit), x2: x(m * unit), y1: 0, y2: height - 20, stroke: 'var(--rule)'}),
        svg('text', {x: x(m * unit), y: height - 5, 'text-anchor': 'middle', fill: 'var(--soft)'}, m + NB + name));
  Diff.runs.forEach((r, i) => {
    const y = i * row + row / 2, half = r.half_interval_ns || 0;
    chart.append(svg('text', {x: 4, y: y + 4, 'font-weight': 600}, r.run),
        svg('rect', {x: left, y: y - 7, width: Math.max(1, x(r.step_ns) - left), height: 14, fill: 'var(--rest)'}),
        svg('line', {x1: x(r.step_ns - half), x2: x(r.step_ns + half), y1: y, y2: y, stroke: 'var(--ink)', 'stroke-width': 2}),
        ...[-half, half].map(
            h => svg('line',
                {x1: x(r.step_ns + h), x2: x(r.step_ns + h), y1: y - 5, y2: y + 5, stroke: 'var(--ink)', 'stroke-width': 2})),
        svg('text', {x: x(r.step_ns + half) + 8, y: y + 4}, Format.time(r.step_ns)));
  });
  return chart;
}

function runTable() {
  const at = (list, i) => i ? list[i - 1].step : null;
  const change = (name, list) => ({
    name,
    text: true,
    get: i => at(list, i) ? `${signed(at(list, i).change_ns)}, ${WORDS[at(list, i).result]}` : '\u2013',
    sort: i => at(list, i) ? at(list, i).change_ns : null
  });
  return new Table({
    id: 'runs',
    title: 'Sessions',
    rows: Diff.runs.length,
    columns: [
      {name: 'run', text: true, get: i => Diff.runs[i].run}, {name: 'session', text: true, get: i => Diff.runs[i].session},
      column('steps', '', null, i => Diff.runs[i].steps),
      column('usual steps', '', 'Not exceptional, and after the last change', i => Diff.runs[i].usual_steps),
      column('ranks', '', null, i => Diff.runs[i].ranks_delivered),
      column('step time', 'ns', 'Of the slowest rank, in usual steps', i => Diff.runs[i].step_ns),
      column('99 % \u00b1', 'ns', 'Half of the interval of that time', i => Diff.runs[i].half_interval_ns),
      column('exceptional', '', 'Steps that are much longer than the usual ones', i => Diff.runs[i].exceptional.steps),
      column('longer each', 'ns', 'Median', i => Diff.runs[i].exceptional.steps ? Diff.runs[i].exceptional.each_ns : null),
      ...(IS_TREND ? [change('against the run before', Diff.against_before)] : []), change('against A', Diff.against_first),
      {name: 'given as', text: true, minor: true, class: 'wide', get: i => Diff.runs[i].given}
    ]
  });
}

function roleName(g) {
  const role = Diff.roles[g];
  return role.role === null ? 'all ranks' : `role ${role.role}: ranks ${role.rank_list}`;
}

/* Its first ranks; all that are known stand in the title, and in the CSV. */
function roleCell(g) {
  const role = Diff.roles[g], name = roleName(g), short = name.length > 26 ? name.slice(0, 25) + '\u2026' : name;
  return el('span', {title: `${name} (${role.ranks})${role.why ? ': ' + role.why : ''}`}, short);
}

function categoryRows() {
  const rows = [];
  Diff.roles.forEach((role, g) => {
    for (const [name, n] of Object.entries(last.roles[g]))
      if (n.a_ns || n.b_ns || (name === 'wait' && n.result === 'unknown'))
        rows.push({g, name: name === 'wait' || name === 'transfer' ? 'of communication: ' + name : name, key: name, n});
  });
  return rows;
}

function categoryTable() {
  const rows = categoryRows(), largest = Math.max(...rows.map(r => Math.abs(r.n.change_ns)), 0);
  const each = Diff.runs.map((run, i) => column(run.run, 'ns', `Usual step in ${run.run}, mean of the ranks`, k => {
    const at = Diff.against_first[Math.max(i - 1, 0)].roles[rows[k].g][rows[k].key];
    return i ? at.b_ns : at.a_ns;
  }));
  return new Table({
    id: 'category',
    first: 20,
    title: 'Categories per role',
    rows: rows.length,
    columns: [
      ...(Diff.roles.length > 1 ? [{name: 'role', text: true, get: i => roleName(rows[i].g), show: i => roleCell(rows[i].g)}] : []),
      {name: 'category', text: true, get: i => rows[i].name}, ...each,
      {name: `change to ${LAST}`, unit: 'ns', get: i => rows[i].n.change_ns, show: (i, v) => signed(v)}, {
        name: 'shorter | longer',
        text: true,
        minor: true,
        get: i => Math.round(rows[i].n.change_ns),
        show: i => changeBar(rows[i].n, largest)
      },
      {
        name: 'of the step',
        what: 'Change, of the role\u2019s step time in A',
        get: i => rows[i].n.change_ns,
        show: (i, v) => percentOf(v, last.roles[rows[i].g].step.a_ns)
      },
      {name: 'result', text: true, get: i => WORDS[rows[i].n.result], show: i => resultOf(rows[i].n)},
      {name: '99 % interval', text: true, minor: true, get: i => interval(rows[i].n)}, {
        ...column('noise floor', 'ns', 'The largest difference of two quarters of one session, at least 1 % of the step',
            i => rows[i].n.floor_ns),
        minor: true
      }
    ]
  });
}

/* Against the run before: every step up or down of a longer series. */
function jumpTable() {
  const rows = [];
  for (const pair of Diff.against_before)
    Diff.roles.forEach((role, g) => {
      for (const [name, n] of Object.entries(pair.roles[g]))
        if (n.result === 'longer' || n.result === 'shorter')
          rows.push({pair, g, name, n});
    });
  if (!rows.length)
    return el('p', {class: 'missing'}, 'No category changed significantly from one session to the next.');
  return new Table({
    id: 'jump',
    first: 20,
    title: 'Changes from one session to the next',
    rows: rows.length,
    columns: [
      {name: 'from, to', text: true, get: i => rows[i].pair.from + ' to ' + rows[i].pair.to},
      ...(Diff.roles.length > 1 ? [{name: 'role', text: true, get: i => roleName(rows[i].g), show: i => roleCell(rows[i].g)}] : []),
      {name: 'category', text: true, get: i => rows[i].name}, column('before', 'ns', null, i => rows[i].n.a_ns),
      column('after', 'ns', null, i => rows[i].n.b_ns),
      {name: 'change', unit: 'ns', get: i => rows[i].n.change_ns, show: (i, v) => signed(v)},
      {name: 'result', text: true, get: i => WORDS[rows[i].n.result], show: i => resultOf(rows[i].n)},
      {name: '99 % interval', text: true, minor: true, get: i => interval(rows[i].n)}
    ]
  }).element;
}

function rankTable() {
  const rows = Diff.ranks_changed;
  if (!rows.length)
    return el('p', {class: 'missing'}, `No rank of ${Diff.ranks_compared} changed more than the other ranks of its role.`);
  return new Table({
    id: 'rank',
    title: 'Ranks that changed',
    rows: rows.length,
    columns: [
      column('rank', '', null, i => rows[i].rank), {name: 'own time in', text: true, get: i => rows[i].quantity},
      column('A', 'ns', null, i => rows[i].a_ns), column(LAST, 'ns', null, i => rows[i].b_ns),
      {name: 'change', unit: 'ns', get: i => rows[i].change_ns, show: (i, v) => signed(v)}, {
        name: 'usual change',
        unit: 'ns',
        what: 'Of the ranks of its role',
        get: i => rows[i].usual_change_ns,
        show: (i, v) => signed(v)
      },
      {
        ...column('noise', 'ns', 'Its change, and that against the usual one, are larger than this', i => rows[i].noise_ns),
        minor: true
      }
    ]
  }).element;
}

function causeTable() {
  const rows = Diff.causes;
  if (!rows.length)
    return el('p', {class: 'missing'},
        `No rank and reason of ${Diff.causes_below_floor} changed by more than the noise floor of the step.`);
  return new Table({
    id: 'cause',
    title: 'Causes of waiting',
    rows: rows.length,
    columns: [
      column('rank', '', 'Rank that was late', i => rows[i].rank), {name: 'reason', text: true, get: i => rows[i].reason},
      column('A', 'ns', 'Waiting per step and other rank', i => rows[i].a_ns), column(LAST, 'ns', null, i => rows[i].b_ns),
      {name: 'change', unit: 'ns', get: i => rows[i].change_ns, show: (i, v) => signed(v)}
    ]
  }).element;
}

function collectiveTable() {
  const rows = Diff.collectives;
  if (!rows.length)
    return el('p', {class: 'missing'},
        'No collective of MPI, NCCL or torch.distributed was recorded in the steps, and podprof sees no others.');
  const part = (name, key) => [column(name + ' A', 'ns', `Usual ${name} of an operation and rank`, i => rows[i][key].a_ns),
      {name: 'change', unit: 'ns', get: i => rows[i][key].change_ns, show: (i, v) => signed(v)},
      {name: 'result', text: true, minor: true, get: i => WORDS[rows[i][key].result], show: i => resultOf(rows[i][key])}];
  const bandwidth = n => n.a_bytes_per_s || n.b_bytes_per_s;
  return new Table({
    id: 'collective',
    title: 'Collectives',
    rows: rows.length,
    columns: [
      {name: 'call', text: true, get: i => rows[i].call}, column('ranks A', '', 'Size of the communicator', i => rows[i].a_ranks),
      column('ranks ' + LAST, '', 'Size of the communicator', i => rows[i].b_ranks),
      {name: 'changed', text: true, get: i => rows[i].changed ? 'yes' : 'no'}, ...part('wait', 'wait'),
      ...part('transfer', 'transfer'), {
        ...column(
            'busbw A', 'byte/s', 'Usual one of an operation', i => bandwidth(rows[i].busbw) ? rows[i].busbw.a_bytes_per_s : null),
        minor: true
      },
      {
        ...column('busbw ' + LAST, 'byte/s', 'Usual one of an operation',
            i => bandwidth(rows[i].busbw) ? rows[i].busbw.b_bytes_per_s : null),
        minor: true
      },
      {...column('per step A', '', 'Operations per step', i => rows[i].a_per_step), minor: true},
      {...column('per step ' + LAST, '', 'Operations per step', i => rows[i].b_per_step), minor: true}
    ]
  }).element;
}

function operatorTable() {
  const rows = Diff.operators;
  if (!rows.length)
    return el('p', {class: 'missing'},
        Diff.operators_below_floor
            ? `None of ${Diff.operators_below_floor} operators changed by more than the noise floor of the step.`
            : 'No operator was recorded.');
  return new Table({
    id: 'operator',
    title: 'Operators',
    rows: rows.length,
    columns: [
      {name: 'operator', text: true, class: 'wide', get: i => rows[i].name}, {name: 'on', text: true, get: i => rows[i].side},
      column('self time A', 'ns', 'Mean per step and rank', i => rows[i].a_ns), column(LAST, 'ns', null, i => rows[i].b_ns),
      {name: 'change', unit: 'ns', get: i => rows[i].change_ns, show: (i, v) => signed(v)},
      {...column('calls A', '', 'Per step and rank', i => rows[i].a_calls), minor: true},
      {...column('calls ' + LAST, '', 'Per step and rank', i => rows[i].b_calls), minor: true}
    ]
  }).element;
}

function environmentTable() {
  const rows = Diff.environment;
  if (!rows.length)
    return el('p', {class: 'missing'},
        `All ${Diff.environment_equal} facts that are compared are equal: command, hosts, ranks, devices, versions, options.`);
  return new Table({
    id: 'environment',
    title: 'Surroundings that differ',
    rows: rows.length,
    columns: [
      {name: 'what', text: true, get: i => rows[i].what},
      ...Diff.runs.map((run, r) => ({name: run.run, text: true, class: 'wide', get: i => rows[i].values[r] || 'unknown'}))
    ]
  }).element;
}

function lead(text) {
  return el('p', {class: 'lead'}, text);
}

/* What each section shows; the file has their names and lines (launchers/diff/sections.c). */
const SECTION = {
  steps: () => [lead('Usual step time of the slowest rank, with its 99 % interval.'), stepChart(), runTable().element],
  surroundings: () => [Diff.environment.length ? lead(`${Diff.environment_equal} other facts are equal.`) : '', environmentTable()],
  categories: () =>
      [lead(
           'Usual step, mean over the ranks of a role, of the last session against A. A change counts if its interval excludes 0 ' +
           'and it is larger than the noise floor.'),
          categoryTable().element],
  jumps: () => [jumpTable()],
  ranks: () => [lead('Own time of a rank, without waiting, that changed other than that of the ranks of its role.'), rankTable()],
  causes: () => [lead('Waiting of the other ranks that goes back to a rank and a reason, per step and other rank.'), causeTable()],
  collectives: () => [lead('By call and size of the communicator; usual value of an operation and rank.'), collectiveTable()],
  operators: () =>
      [lead('Only sums over all steps are known of operators: listed is what changed by more than the noise floor of the step.'),
          operatorTable()],
};

const App = {
  async start() {
    Theme.apply();
    Shown = JSON.parse(document.getElementById('board-data').textContent);
    await Pack.all(Shown);
    Runs.start(Shown);
    Grid.start(Shown);
    App.numbers();
    Theme.start(() => App.draw());
    App.draw();
    const open = State.get('open', '').split(',');
    for (const e of document.querySelectorAll('details.section')) {
      e.addEventListener('toggle', () => App.opened(e));
      e.open = open.includes(e.id);
      App.opened(e);
    }
    for (const a of document.querySelectorAll('a[href^="#"]'))
      a.addEventListener('click', e => App.go(e, a.getAttribute('href').slice(1)));
    App.show(State.get('at', ''));
    State.on(() => App.draw());
    new ResizeObserver(() => App.resized()).observe(document.getElementById('board'));
    addEventListener('beforeprint', () => App.printing(true));
    addEventListener('afterprint', () => App.printing(false));
    document.documentElement.dataset.ready = 'true';
  },
  draw() {
    Theme.apply();
    App.board();
  },
  board() {
    Runs.draw();
    Grid.draw();
  },
  numbers() {
    const e = document.getElementById('numbers');
    e.hidden = !Shown.rank.length;
    e.addEventListener('toggle', () => App.make(e, () => Grid.table().element));
  },
  make(e, parts) {
    if (e.open && !e.dataset.made) {
      e.dataset.made = 'true';
      e.append(el('div', {class: 'body'}, parts()));
      Table.list.filter(t => e.contains(t.element)).forEach(t => t.fit());
    }
  },
  opened(e) {
    App.make(e, SECTION[e.id]);
    State.keep({open: [...document.querySelectorAll('details.section[open]')].map(s => s.id).join(',')});
  },
  /* Opens a section, and goes there. */
  show(id) {
    const e = id && document.getElementById(id);
    if (!e)
      return;
    if (e.matches('details.section')) {
      e.open = true;
      App.opened(e);
    }
    e.scrollIntoView();
    e.focus({preventScroll: true});
  },
  go(event, id) {
    event.preventDefault();
    State.keep({at: id});
    App.show(id);
  },
  resized() {
    const {clientWidth, clientHeight} = document.getElementById('board'), size = clientWidth + 'x' + clientHeight;
    if (size === App.size)
      return;
    App.size = size;
    App.board();
    Table.list.forEach(t => t.fit());
  },
  /* Paper is light. */
  printing(on) {
    if (on)
      document.documentElement.dataset.theme = 'light';
    else
      Theme.apply();
    App.board();
  },
};

App.start().catch(e => {
  document.getElementById('main').prepend(
      el('p', {class: 'missing bad', id: 'failed'}, 'This page cannot show its data: ' + e.message));
  console.error(e);
});
