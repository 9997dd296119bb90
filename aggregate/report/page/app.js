/* Puts the page together: sections, what a link opens; draws again when something changes. */
'use strict';

const KNOWN = [
  'collective', 'communicator', 'channel', 'clock', 'quality', 'input', 'op', 'op_stats', 'op_idle', 'kernel', 'kernel_stats',
  'precision', 'memory', 'slowest', 'window', 'input_op', 'input_stage', 'input_wait', 'step_statistics', 'allocator',
  'memory_timeline', 'memory_peak', 'all_reduce', 'torch_memory', 'blame', 'blame_step', 'finding', 'what_if', 'message_size',
  'advice', 'role', 'budget', 'tf_data_pipeline', 'tf_data_iterator', 'tf_data_call', 'tf_data_node'
];
const MEANING = {
  channel: 'Point-to-point messages by sender and receiver, over the whole window.',
  communicator: 'Groups of ranks that communicate.',
  process: 'CPU time, context switches and page faults of each rank and its children, counted by the operating system.',
  file: 'Files that the ranks read and wrote through MPI.',
  memory: 'Memory of each rank and its children, sampled by the keeper.',
  memory_pool: 'Pools of memory of CUDA devices, from which cudaMallocAsync gives: largest size and most in use in the window.',
  neighbour: 'From which ranks each rank receives in neighbourhood collectives, and so for which it waits.',
  lone_call: 'Calls that may wait, or make progress for other ranks, and belong to no collective or message that is known.',
  trace_file: 'The files of other profilers that this session was made from: events read, and what was left out.',
  state: 'Clock rates, power and pressure of hosts and GPUs over time.',
  gpu: 'State of each GPU in the window, by NVML: clock, power and reason are of samples under load.',
  device_speed: 'How long each device takes for kernels that others run too: 1 is the median of the others.',
  port: 'What the network ports of each host counted in the window, of all programs.',
};
const NAME = {
  channel: 'Channels',
  communicator: 'Communicators',
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

/* The sections below the first screen: [what it shows, what draws it again]. Names, order and lines are in the file already, by
 * ../data/sections.def; each is made when it is opened. */
const SECTION = {
  steps: [() => Overview.section(), () => Overview.draw()],
  viewer: [() => Viewer.section(), () => Viewer.draw()],
  waiting: [() => Waiting.section(), () => Waiting.draw()],
  blame: [() => Blame.section(), () => Blame.draw()],
  advice: [() => Advice.section()],
  timeline: [() => Trace.section(), () => Trace.draw()],
  workers: [() => Groups.workers()],
  input: [() => Input.section(), () => Input.draw()],
  tfdata: [() => TfData.section(), () => TfData.draw()],
  op: [() => Operators.section(), () => Parts.draw()],
  kernel: [() => Kernels.section(), () => Parts.draw()],
  collectives: [() => Collectives.section(), () => Collectives.draw()],
  skyline: [() => Skyline.section(), () => Skyline.draw()],
  memory: [() => Memory.section(), () => Memory.draw()],
  tables: [() => Groups.others(), () => Samples.draw()],
  clock: [() => Clocks.section(), () => Clocks.draw()],
  quality: [() => Groups.quality()],
  run: [() => Groups.run()],
  absent: [() => App.absent().map(id => el('div', {class: 'group', id}, SECTION[id][0]()))],
};

const App = {
  async start() {
    Theme.apply();
    await Pod.load();
    Theme.start(() => App.draw());
    for (const e of document.querySelectorAll('details.section')) {
      e.addEventListener('toggle', () => App.opened(e));
      if (State.get('open', '').split(',').includes(e.id))
        e.open = true;
    }
    Select.read();
    Viewer.read();
    Board.start();
    State.on(() => App.draw());
    App.draw();
    new ResizeObserver(() => App.resized()).observe(document.getElementById('main'));
    addEventListener('beforeprint', () => App.printing(true));
    addEventListener('afterprint', () => App.printing(false));
    for (const a of document.querySelectorAll('a[href^="#"]'))
      a.addEventListener('click', e => App.go(e, a.getAttribute('href').slice(1)));
    if (State.get('at', ''))
      App.show(State.get('at', ''));
    document.documentElement.dataset.ready = 'true';
  },
  /* Makes a section when it is first opened; the address says which are open. */
  opened(e) {
    const [make, draw] = SECTION[e.id] || [], list = [...document.querySelectorAll('details.section[open]')].map(s => s.id);
    if (e.open && make && !e.dataset.made) {
      e.dataset.made = 'true';
      try {
        e.append(el('div', {class: 'body'}, make()));
        Table.list.filter(t => e.contains(t.element)).forEach(t => t.fit());
        if (draw)
          draw();
      } catch (error) {
        e.append(el('p', {class: 'missing bad'}, `This section cannot be shown: ${error.message}.`));
        console.error(error);
      }
    }
    if (!Pod.printing)
      State.keep({open: list.join(',')});
  },
  /* Sections that this session has no data for: what helps to get them stands in one section. */
  absent() {
    return (document.getElementById('absent')?.dataset.sections || '').split(' ').filter(id => id in SECTION);
  },
  /* Opens a section, and goes there. */
  show(id) {
    const parent = document.getElementById(id.startsWith('group-') ? 'tables' : App.absent().includes(id) ? 'absent' : '');
    for (const e of [parent, document.getElementById(id)])
      if (e && e.matches('details.section')) {
        e.open = true;
        App.opened(e);
      }
    document.getElementById(id)?.scrollIntoView();
  },
  go(event, id) {
    event.preventDefault();
    if (!id)
      return Select.open(0);
    State.keep({at: id});
    App.show(id);
    document.getElementById(id)?.focus({preventScroll: true});
  },
  draw() {
    Theme.apply();
    Card.hide();
    Select.read();
    Viewer.read();
    Board.draw();
    App.each();
  },
  /* Draws the sections that are open. */
  each() {
    for (const e of document.querySelectorAll('details.section[data-made]'))
      if (e.open && SECTION[e.id][1])
        SECTION[e.id][1]();
  },
  resized() {
    const width = document.getElementById('main').clientWidth;
    if (width === App.width)
      return;
    App.width = width;
    Table.list.forEach(t => t.fit());
    Board.draw();
    App.each();
  },
  /* Paper is light, and has what is open. Nothing may come later: the browser prints what is drawn now. */
  printing(on) {
    if (on)
      App.theme = document.documentElement.dataset.theme;
    document.documentElement.dataset.theme = on ? 'light' : App.theme;
    Pod.printing = on;
    try {
      Board.draw();
      App.each();
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
  document.getElementById('main').prepend(el('p', {class: 'missing', id: 'failed'},
      `The charts of this page cannot be shown: ${e.message}. Its text is complete without them.`));
  console.error(e);
});
