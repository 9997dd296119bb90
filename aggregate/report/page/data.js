/* What every part of the page uses: elements, numbers as people read them, the data unpacked, the state in the #hash. */
'use strict';

/* Elements are made here and nowhere else: text is text, whatever a host or a range is called. */
function el(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false)
      continue;
    if (name.startsWith('on'))
      e.addEventListener(name.slice(2), value);
    else if (name === 'style')
      Object.assign(e.style, value);
    else
      e.setAttribute(name, value === true ? '' : value);
  }
  for (const child of children.flat(Infinity))
    if (child !== null && child !== undefined && child !== false)
      e.append(child);
  return e;
}

const NB = '\u00a0'; /* a number and its unit stay together */

/* Of quantities that are never below 0: unknown is null, in files of earlier versions -1. */
function isKnown(v) {
  return v !== null && v !== undefined && v >= 0;
}

/* As printf rounds: of two equally near values the even one. The summary's numbers are printed by printf. */
function fixed(v, digits) {
  const tie = (v * 2 ** (digits + 1)) % 2 === 1, low = Math.floor(v * 10 ** digits);
  return (tie && low % 2 === 0 ? low / 10 ** digits : v).toFixed(digits);
}

const Format = {
  /* A name in at most so many letters, cut at its end: arguments first. Where not even the function's name fits, what stands before
   * it goes: "void at::native::add<4, Functor<float>>(...)" is "void at::native::add<4\u2026", and "add\u2026". */
  short(text, most) {
    if (text.length <= most)
      return text;
    const cut = (t, n) => t.slice(0, n - 1).replace(/[\s,<(:]+$/, '') + '\u2026',
          bare = text.replace(/\((anonymous namespace|anonymous)\)|operator\(\)/g, t => '_'.repeat(t.length)),
          at = bare.search(/[<(]/), head = at > 0 ? text.slice(0, at) : text;
    if (head.length < most)
      return cut(text, most);
    const own = head.replace(/^.*(\s|::)(?=\S)/, '');
    return at > 0 && own ? (own.length < most ? own + '\u2026' : cut(own, most)) : cut(text, most);
  },
  /* 3 significant digits; the unit is chosen by what will be shown: 999.6 is 1.00 of the next. The rules of core/base/units.c. */
  scaled(value, units, least = 0.9995) {
    const size = Math.abs(value);
    let unit = units[units.length - 1];
    for (const u of units)
      if (size >= least * u[0]) {
        unit = u;
        break;
      }
    const v = size / unit[0];
    const digits = unit[2] ? 0 : v >= 99.95 ? 0 : v >= 9.995 ? 1 : 2;
    return (value < 0 ? '\u2212' : '') + fixed(v, digits) + NB + unit[1];
  },
  time(ns) {
    if (ns === null || ns === undefined || Number.isNaN(ns))
      return '\u2013';
    return Format.scaled(Math.sign(ns) * Math.round(Math.abs(ns)), [[1e9, 's'], [1e6, 'ms'], [1e3, '\u00b5s'], [1, 'ns', true]]);
  },
  bytes(b) {
    return Format.scaled(b,
        [[2 ** 60, 'EiB'], [2 ** 50, 'PiB'], [2 ** 40, 'TiB'], [2 ** 30, 'GiB'], [2 ** 20, 'MiB'], [1024, 'KiB'], [1, 'B', true]],
        1023.5 / 1024);
  },
  rate(b) {
    return Format.scaled(b, [[2 ** 30, 'GiB/s'], [2 ** 20, 'MiB/s'], [1024, 'KiB/s'], [1, 'B/s']]);
  },
  count(n) {
    if (typeof n !== 'number')
      return String(n);
    if (!Number.isInteger(n))
      return Math.abs(n) >= 1e6 || (n && Math.abs(n) < 1e-3) ? n.toExponential(2) : String(+n.toPrecision(4));
    return String(Math.abs(n)).replace(/\B(?=(\d{3})+$)/g, NB).replace(/^/, n < 0 ? '\u2212' : '');
  },
  /* Above 100 where a part runs on several threads or devices at once. */
  share(part, whole) {
    if (!(whole > 0) || part === null)
      return '\u2013';
    const p = 100 * part / whole;
    return (p && p < 0.05 ? '<' + NB + '0.1' : fixed(p, p >= 99.95 ? 0 : 1)) + NB + '%';
  },
  by(unit, value) {
    if (value === null || value === undefined || value === '')
      return '\u2013';
    if (typeof value !== 'number')
      return String(value);
    return unit === 'ns'                          ? Format.time(value)
        : unit === 'byte'                         ? Format.bytes(value)
        : unit === 'byte/s'                       ? Format.rate(value)
        : unit && unit !== '1' && unit !== '1e-9' ? Format.count(value) + NB + unit
                                                  : Format.count(value);
  },
  /* The unit of a scale: one for all ticks, so that they compare. */
  axis(unit, most) {
    const steps = unit === 'ns' ? [[1e9, 's'], [1e6, 'ms'], [1e3, '\u00b5s'], [1, 'ns']]
        : unit === 'byte'       ? [[2 ** 30, 'GiB'], [2 ** 20, 'MiB'], [1024, 'KiB'], [1, 'B']]
                                : [[1, unit && unit !== '1' ? unit : '']];
    return steps.find(s => most >= s[0]) || steps[steps.length - 1];
  },
  /* "step time (ms)" */
  titled(name, unit) {
    return unit ? `${name} (${unit})` : name;
  },
};

/* Round numbers from 0 to at least `most`. */
function ticks(most, wanted) {
  if (!(most > 0))
    return [0];
  const raw = most / wanted, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map(m => m * power).find(s => s >= raw * 0.999);
  const list = [];
  for (let i = 0; i * step <= most * 1.0001; i++)
    list.push(i * step);
  return list;
}

const Pack = {
  short: 4096, /* letters */
  types: {u1: [Uint8Array, 1], u2: [Uint16Array, 2], u4: [Uint32Array, 4], f8: [Float64Array, 8]},

  coded(text) {
    const plain = atob(text), coded = new Uint8Array(plain.length);
    for (let i = 0; i < plain.length; i++) /* Uint8Array.from() takes many times as long */
      coded[i] = plain.charCodeAt(i);
    return coded;
  },
  async inflate(text) {
    const stream = new Blob([Pack.coded(text)]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  },
  /* Values of which the lowest bytes come first. Null: unknown. */
  join(planes, Type, width, n) {
    if (width === 1)
      return planes;
    const bytes = new Uint8Array(n * width);
    for (let b = 0; b < width; b++)
      for (let i = 0, from = b * n; i < n; i++)
        bytes[i * width + b] = planes[from + i];
    const values = new Type(bytes.buffer);
    return Type === Float64Array && values.some(Number.isNaN) ? Array.from(values, v => Number.isNaN(v) ? null : v) : values;
  },
  async unpack(packed) {
    const [Type, width] = Pack.types[packed.t];
    return Pack.join(await Pack.inflate(packed.z), Type, width, packed.n);
  },

  unpackNow(packed) {
    const [Type, width] = Pack.types[packed.t];
    return Pack.join(Inflate.all(Pack.coded(packed.z)), Type, width, packed.n);
  },

  /* Every packed array of a tree, in place: short ones at once, as a stream takes longer to begin than they to unpack. */
  all(node) {
    const jobs = [], put = async (at, key, packed) => at[key] = await Pack.unpack(packed);
    const walk = at => {
      for (const [key, value] of Object.entries(at)) {
        if (!value || typeof value !== 'object')
          continue;
        if (typeof value.z !== 'string' || !(value.t in Pack.types))
          walk(value);
        else if (value.z.length < Pack.short)
          at[key] = Pack.unpackNow(value);
        else
          jobs.push(put(at, key, value));
      }
    };
    walk(node);
    return Promise.all(jobs);
  },
};

/* The view as text behind '#': a link shows the same. Keys are few and short; unknown ones are kept. */
const State = {
  values: new URLSearchParams(location.hash.slice(1)),
  listeners: [],

  get(key, fallback) {
    const value = State.values.get(key);
    return value === null ? fallback : value;
  },
  number(key, fallback) {
    const value = State.values.get(key);
    return value === null || value === '' || Number.isNaN(+value) ? fallback : +value;
  },
  set(changes) {
    State.change(changes);
    State.write();
    State.notify();
  },
  /* What only one chart shows, and changes with each frame: nothing else is drawn again, and the address follows a little later. */
  keep(changes) {
    State.change(changes);
    clearTimeout(State.timer);
    State.timer = setTimeout(State.write, 200);
  },
  change(changes) {
    for (const [key, value] of Object.entries(changes)) {
      if (value === null || value === undefined || value === '')
        State.values.delete(key);
      else
        State.values.set(key, value);
    }
  },
  write() {
    clearTimeout(State.timer);
    const text = State.values.toString();
    State.own = text ? '#' + text : '';
    history.replaceState(null, '', State.own || location.pathname + location.search);
  },
  notify() {
    for (const f of State.listeners)
      f();
  },
  on(f) {
    State.listeners.push(f);
  },
};

addEventListener('hashchange', () => {
  if (location.hash === State.own)
    return;
  State.values = new URLSearchParams(location.hash.slice(1));
  State.notify();
});

/* Has it come into view since the page was opened? If not, f is called when it does. On paper all is in view. */
function seen(element, f) {
  if (element.dataset.seen || Pod.printing)
    return true;
  if (!element.dataset.watched) {
    element.dataset.watched = 'true';
    const watcher = new IntersectionObserver(list => {
      if (!list.some(e => e.isIntersecting))
        return;
      watcher.disconnect();
      element.dataset.seen = 'true';
      f();
    }, {rootMargin: '200px'});
    watcher.observe(element);
  }
  return false;
}

function css(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/* A canvas as sharp as the screen, of the width its parent gives. */
function fit(canvas, height) {
  const ratio = devicePixelRatio || 1, width = Math.max(200, Math.floor(canvas.parentElement.clientWidth));
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.height = height + 'px';
  const c = canvas.getContext('2d');
  c.setTransform(ratio, 0, 0, ratio, 0, 0);
  c.clearRect(0, 0, width, height);
  c.font = '12px ' + css('--font');
  return {c, width, height};
}

const Card = {
  show(x, y, lines) {
    const card = document.getElementById('card');
    card.replaceChildren(...lines);
    card.hidden = false;
    const box = card.getBoundingClientRect();
    card.style.left = Math.max(8, x + 16 + box.width > innerWidth ? x - box.width - 16 : x + 16) + 'px';
    card.style.top = Math.max(8, Math.min(y + 12, innerHeight - box.height - 8)) + 'px';
  },
  hide() {
    document.getElementById('card').hidden = true;
  },
};

function download(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], {type})), a = el('a', {href: url, download: name});
  document.body.append(a);
  a.click();
  a.remove();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

/* Quartiles of sorted numbers, nearest value: none is made up. */
function quartile(sorted, quarter) {
  return sorted.length ? sorted[Math.floor((sorted.length - 1) * quarter / 4)] : null;
}

const Pod = {
  dark: {3: '#4371c4', 8: '#b07844'}, /* colours of categories that are too dark on a dark ground */
  between: 12,                        /* colour of what happens between steps: 11 is that of small categories */
  small_page: 4 << 20,                /* values of planes that are unpacked before the first view */

  async load() {
    Object.assign(Pod, JSON.parse(document.getElementById('pod').textContent));
    document.getElementById('pod').textContent = '';
    const {cell} = Pod; /* its planes wait until they are shown */
    Pod.cell = null;
    await Pack.all(Pod);
    Pod.cell = cell;
    Pod.plane = Object.fromEntries(Pod.cell.plane.map(p => [p.key, p]));
    if (Pod.plane.kept_ns)
      Pod.plane.kept_ns.what = KEPT_WHAT;
    Pod.stepShown = Array.from({length: Pod.cell.steps}, (unused, i) => Pod.step.number[i * Pod.cell.stride]);
    Pod.workers = Pod.worker.n;
    Pod.present = (s, w) => !!Pod.plane.present && Pod.plane.present.data[s * Pod.workers + w] === 1;
    Pod.at = (plane, s, w) => plane.data[s * Pod.workers + w];
    Pod.categoryPlanes = Pod.cell.plane.filter(p => p.category);
    for (const plane of Pod.cell.plane.filter(p => p.key.includes('/')))
      Pod.adopt(plane);
    Pod.small = Pod.small || [];
    Pod.finding = Pod.finding || [];
    Pod.step_of = new Map(Pod.stepShown.map((n, s) => [n, s]));
    Pod.rank_of = new Map(Array.from(Pod.worker.rank, (rank, w) => [rank, w]));
    const first = ['present', 'step_ns', State.get('colour', Pod.answer.colour)].map(key => Pod.plane[key]);
    await Pod.need(cell.plane.length * cell.steps * Pod.workers <= Pod.small_page ? cell.plane : first);
  },
  ready(plane) {
    return !plane.data.z;
  },
  /* Those that are still packed, with what says where they are known. */
  waiting(planes) {
    return [...new Set(planes.filter(p => p).flatMap(p => p.mask ? [p, p.mask] : [p]))].filter(p => !Pod.ready(p));
  },
  /* Unpacks planes. Null where they are here. */
  need(planes) {
    const waiting = Pod.waiting(planes);
    const load = async p => {
      p.data = await Pack.unpack(p.data);
      delete p.coming;
    };
    return waiting.length ? Promise.all(waiting.map(p => p.coming || (p.coming = load(p)))) : null;
  },
  /* Draws once these planes are here; at once where they are. Returns whether they were. */
  later(planes, draw) {
    if (Pod.printing)
      Pod.waiting(planes).forEach(p => p.data = Pack.unpackNow(p.data));
    const coming = Pod.need(planes);
    if (coming)
      coming.then(draw, App.failed);
    return !coming;
  },
  /* Planes of which a column of categories is made. */
  stack() {
    return [Pod.plane.present, Pod.plane.step_ns, Pod.plane.wait_ns, Pod.plane.kept_ns, ...Pod.categoryPlanes];
  },
  /* A plane of another source: its name in words, and the plane that says in which cells it is known, where there is one. */
  adopt(plane) {
    const [group, variable] = plane.key.split('/'),
                  masks = Pod.cell.plane.filter(p => p.key.startsWith(group + '/') && /(^|_)present$/.test(p.key.split('/')[1]));
    const stem = p => p.key.split('/')[1].replace(/_?present$/, '');
    plane.isMask = masks.includes(plane);
    plane.mask = masks.filter(p => variable.startsWith(stem(p))).sort((a, b) => stem(b).length - stem(a).length)[0];
    plane.name = group.replaceAll('_', ' ') + ': ' + variable.replace(/_(ns|bytes)$/, '').replaceAll('_', ' ');
  },
  /* A rank's role in /role; -1: it has none. */
  role(w) {
    return Pod.table('role') ? Pod.worker.role[w] : -1;
  },
  roleName(role) {
    const t = Pod.table('role'), at = t ? Array.from(Pod.column(t, 'role')).indexOf(role) : -1;
    return at < 0 ? 'no role' : `role ${role} (ranks ${Pod.column(t, 'role_ranks')[at]})`;
  },
  has(plane, s, w) {
    return Pod.present(s, w) && Pod.at(plane, s, w) !== null && (!plane.mask || Pod.at(plane.mask, s, w) > 0);
  },
  colour(id) {
    const c = Pod.category.find(k => k.id === id);
    if (c && Pod.dark[id] && document.documentElement.dataset.theme === 'dark')
      return Pod.dark[id];
    return c ? c.colour : css(id === Pod.between ? '--soft' : '--rest');
  },
  table(group, dim) {
    return Pod.table_list.find(t => t.group === group && (!dim || t.dim === dim));
  },
  column(table, name) {
    const c = table && table.column.find(k => k.name === name);
    return c ? c.data : [];
  },
  smallOf(group, name) {
    const s = Pod.small.find(k => k.group === group && k.name === name);
    return s ? s.data : [];
  },
  /* of worker w: mean over its steps */
  mean(values, w) {
    return Pod.worker.steps[w] && values[w] !== null ? values[w] / Pod.worker.steps[w] : null;
  },
  workerName(w) {
    return 'rank ' + Pod.worker.rank[w];
  },
};
