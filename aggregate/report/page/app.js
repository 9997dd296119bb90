/* Puts the page together: sections in their order, the rail with its dots, light and dark; draws again when something changes. */
'use strict';

const Theme = {
  system: matchMedia('(prefers-color-scheme: dark)'),
  dark() {
    const chosen = State.get('theme', '');
    return chosen ? chosen === 'dark' : Theme.system.matches;
  },
  apply() {
    const name = Theme.dark() ? 'dark' : 'light';
    if (document.documentElement.dataset.theme === name)
      return false;
    document.documentElement.dataset.theme = name;
    return true;
  },
  button() {
    const b = el('button', {type: 'button', id: 'theme', onclick: () => State.set({theme: Theme.dark() ? 'light' : 'dark'})});
    Theme.label = () => {
      b.textContent = Theme.dark() ? 'Light' : 'Dark';
      b.setAttribute('aria-label', Theme.dark() ? 'Switch to light colours' : 'Switch to dark colours');
    };
    Theme.label();
    return el('div', {class: 'theme'}, b);
  },
};

const KNOWN = [
  'collective', 'communicator', 'channel', 'clock', 'quality', 'input', 'op', 'op_stats', 'op_idle', 'kernel', 'kernel_stats',
  'precision', 'memory', 'slowest', 'window', 'input_op', 'input_stage', 'input_wait', 'step_statistics', 'allocator',
  'memory_timeline', 'memory_peak', 'all_reduce', 'torch_memory', 'blame', 'blame_step', 'finding', 'what_if', 'message_size',
  'advice', 'role', 'budget'
];
const MEANING = {
  process: 'CPU time, context switches and page faults of each rank and its children, counted by the operating system.',
  file: 'Files that the ranks read and wrote through MPI.',
  memory: 'Memory of each rank and its children, sampled by the keeper.',
  memory_pool: 'Pools of memory of CUDA devices, from which cudaMallocAsync gives: largest size and most in use in the window.',
  neighbour: 'From which ranks each rank receives in neighbourhood collectives, and so for which it waits.',
  lone_call: 'Calls that may wait, or make progress for other ranks, and belong to no collective or message that is known.',
  trace_file: 'The files of other profilers that this session was made from: events read, and what was left out.',
  state: 'Clock rates, power and pressure of hosts and GPUs over time.',
  gpu: 'State of each GPU in the window, by NVML: clock, power and reason are of samples under load.',
  device_speed: 'How long each rank takes for kernels that other ranks run too: 1 is the median of the others.',
  port: 'What the network ports of each host counted in the window, of all programs.',
};
const NAME = {
  process: 'Processes',
  file: 'Files',
  lone_call: 'Other calls',
  device_speed: 'Speed of devices',
  gpu: 'GPUs',
  port: 'Network ports',
  memory_pool: 'Memory pools',
  neighbour: 'Neighbours',
  state: 'State over time',
  trace_file: 'Traces'
};

function capital(text) {
  return text[0].toUpperCase() + text.slice(1);
}

/* id, name in the rail, what makes its content, needs attention?, nothing to show? */
function sections() {
  const waits = Pod.sum.wait_ns > 0.05 * Pod.sum.all_ns, {lost} = Verdict.lost(),
        one = name => Pod.smallOf('quality', name)[0] || 0;
  const doubt = lost > 0 || Verdict.missing().length > 0 || one('violations') > 0 || Pod.answer.qualifiers.length > 0 ||
      Array.from(Pod.column(Pod.table('quality', 'warning'), 'warning')).some(isNews);
  const source = (group, name, how) => Groups.has(group) ? [group, name, () => Groups.generic(group, name, MEANING[group])]
                                                         : [group, name, () => Groups.absent(group, name, how), false, true];
  const other = [...new Set([
    ...Pod.table_list, ...Pod.small
  ].map(t => t.group).concat(Pod.cell.plane.filter(p => p.key.includes('/')).map(p => p.key.split('/')[0])))]
                    .filter(g => !KNOWN.includes(g));
  const none = !Pod.sum.cells;
  return [
    ['verdict', 'Verdict', () => Verdict.section(), none || waits || Pod.answer.qualifiers.length > 0],
    ['steps', 'Step time', () => Overview.section(), none, none], ['viewer', 'Pod viewer', () => Viewer.section(), false, none],
    ['waiting', 'Who waited', () => Waiting.section(), waits, !Pod.table('collective')],
    ['blame', 'Blame', () => Blame.section(), false, !Pod.table('blame')],
    ['advice', 'Advice', () => Advice.section(), false, !Pod.table('advice')],
    ['timeline', 'Timeline', () => Trace.section(), false, !Pod.timeline],
    ['workers', 'Ranks', () => Groups.workers(), Pod.worker.status.some(s => s !== 'delivered')],
    ['input', 'Input', () => Input.section(), false, !Input.has()],
    ['op', 'Operators', () => Operators.section(), false, !Operators.has()],
    ['kernel', 'Kernels', () => Kernels.section(), false, !Kernels.has()],
    ['collectives', 'Collectives', () => Collectives.section(), false, !Collectives.has()],
    ['skyline', 'Memory skyline', () => Skyline.section(), false, !Skyline.has()],
    ['memory', 'Memory', () => Memory.section(), false, !Memory.has()], ...other.map(g => source(g, NAME[g] || capital(g), '')),
    ...['channel', 'communicator']
        .filter(g => Groups.has(g))
        .map(g => [g, {channel: 'Channels', communicator: 'Communicators'}[g],
                 () => Groups.generic(g, {channel: 'Channels', communicator: 'Communicators'}[g], {
                   channel: 'Point-to-point messages by sender and receiver, over the whole window.',
                   communicator: 'Groups of ranks that communicate.'
                 }[g])]),
    ['clock', 'Clock', () => Clocks.section(), Clocks.attention(), !Groups.has('clock')],
    ['quality', 'Quality', () => Groups.quality(), doubt], ['run', 'Run', () => Groups.run()]
  ];
}

const App = {
  async start() {
    Theme.apply();
    await Pod.load();
    const list = sections(), main = document.getElementById('main'), rail = document.getElementById('rail');
    document.title = `${Pod.run.program} ${Pod.run.session} \u2013 podprof`;
    main.replaceChildren(...list.map(([id, name, make]) => el('section', {id, 'aria-label': name}, make())));
    rail.append(el('div', {class: 'brand'}, 'podprof'),
        ...list.map(([id, name, make, attention, empty]) =>
                        el('a', {href: '#' + id, 'data-id': id, class: empty ? 'empty' : null, onclick: e => App.go(e, id)}, name,
                            attention && el('span', {class: 'dot', role: 'img', 'aria-label': 'needs attention'}))),
        Theme.button());
    document.getElementById('skip').addEventListener('click', e => {
      e.preventDefault();
      main.focus();
    });
    State.on(() => App.draw());
    App.draw();
    Theme.system.addEventListener('change', () => App.draw());
    new ResizeObserver(() => App.resized()).observe(main);
    addEventListener('beforeprint', () => App.printing(true));
    addEventListener('afterprint', () => App.printing(false));
    addEventListener('scroll', () => App.mark(), {passive: true});
    addEventListener('keydown', e => {
      if (e.target === document.body || e.target === main)
        if (['ArrowLeft', 'ArrowRight'].includes(e.key) && Viewer.heat)
          Viewer.key(e);
    });
    if (State.get('at', ''))
      document.getElementById(State.get('at', ''))?.scrollIntoView();
    App.mark();
    document.documentElement.dataset.ready = 'true';
  },
  go(event, id) {
    event.preventDefault();
    State.set({at: id === 'verdict' ? '' : id});
    document.getElementById(id).scrollIntoView();
    App.mark(id);
  },
  /* The rail follows what is read. */
  mark(given) {
    const all = [...document.querySelectorAll('section')],
          top = all.filter(s => s.getBoundingClientRect().top < innerHeight * 0.35).pop() || all[0];
    const id = given ||
        (scrollY < 8                                                                 ? all[0].id
                : innerHeight + scrollY >= document.documentElement.scrollHeight - 2 ? all[all.length - 1].id
                                                                                     : top.id);
    for (const a of document.querySelectorAll('#rail a'))
      a.dataset.id === id ? a.setAttribute('aria-current', 'true') : a.removeAttribute('aria-current');
  },
  draw() {
    const changed = Theme.apply();
    Theme.label();
    Card.hide();
    Viewer.draw();
    Waiting.draw();
    Blame.draw();
    Trace.draw();
    Samples.draw();
    Clocks.draw();
    Input.draw();
    Memory.draw();
    Collectives.draw();
    Skyline.draw();
    if (changed || !Overview.chart)
      Overview.draw();
    const idle = OpStats.withIdle();
    if (changed || App.idle !== idle)
      Pie.draw();
    App.idle = idle;
  },
  resized() {
    const width = document.getElementById('main').clientWidth;
    if (width === App.width)
      return;
    App.width = width;
    Table.list.forEach(t => t.fit());
    Viewer.draw();
    Waiting.draw();
    Blame.draw();
    Trace.draw();
    Collectives.draw();
    Skyline.draw();
  },
  /* Paper is light, and has what was never scrolled to. Nothing may come later: the browser prints what is drawn now. */
  printing(on) {
    if (on)
      App.theme = document.documentElement.dataset.theme;
    document.documentElement.dataset.theme = on ? 'light' : App.theme;
    Pod.printing = on;
    for (const part of [Overview, Pie, Viewer, Waiting, Blame, Trace, Samples, Clocks, Input, Memory, Collectives, Skyline])
      try {
        part.draw();
      } catch (e) {
        App.failed(e);
      }
  },
  failed(e) {
    document.getElementById('main').prepend(el('p', {class: 'missing bad'}, `A part of this page cannot be shown: ${e.message}.`));
    console.error(e);
  },
};

App.start().catch(e => {
  document.getElementById('main').replaceChildren(el('p', {class: 'missing', id: 'failed'},
      `This page cannot show its data: ${e.message}. ` +
          'Use a browser of 2023 or newer (DecompressionStream), or read summary.txt beside it.'));
  console.error(e);
});
