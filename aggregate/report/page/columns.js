/* Stacked columns on a canvas, one per rank or step: categories with a gap of one point, waiting hatched over communication. */
'use strict';

const COMMUNICATION = [10, 3];

/* Of one (step, rank): segments from the bottom up, {id, name, ns, hatched}. Waiting is part of communication: 10, then 3. */
function segmentsOf(value, waiting) {
  const list = [];
  let wait = waiting;
  const hatched = {};
  for (const id of COMMUNICATION) {
    const plane = Pod.categoryPlanes.find(p => p.category === id);
    hatched[id] = plane ? Math.min(wait, value(plane)) : 0;
    wait -= hatched[id];
  }
  const order = p => COMMUNICATION.includes(p.category) ? 20 + p.category
      : p.category === 9                                ? 15
      : p.category > 10                                 ? 16
                                                        : p.category;
  for (const plane of [...Pod.categoryPlanes].sort((a, b) => order(a) - order(b))) {
    const ns = value(plane), part = hatched[plane.category] || 0;
    if (ns - part > 0)
      list.push({id: plane.category, name: plane.name, ns: ns - part});
    if (part > 0)
      list.push({id: plane.category, name: plane.name + ', waiting', ns: part, hatched: true});
  }
  return list;
}

/* The names that segments can have. */
function partNames() {
  return Pod.categoryPlanes.flatMap(p => COMMUNICATION.includes(p.category) ? [p.name, p.name + ', waiting'] : [p.name]);
}

const Hatch = {
  cache: new Map(),
  /* 45 degrees, over the colour of its category. */
  of(context, colour) {
    const ground = css('--ground'), key = colour + ground;
    if (!Hatch.cache.has(key)) {
      const size = 8, tile = el('canvas', {width: size, height: size}), c = tile.getContext('2d');
      c.fillStyle = colour;
      c.fillRect(0, 0, size, size);
      c.strokeStyle = ground;
      c.lineWidth = 2;
      c.beginPath();
      for (const shift of [-size, 0, size]) {
        c.moveTo(shift - 1, size + 1);
        c.lineTo(shift + size + 1, -1);
      }
      c.stroke();
      Hatch.cache.set(key, tile);
    }
    return context.createPattern(Hatch.cache.get(key), 'repeat');
  },
};

class Columns extends Plot {
  /* options: those of Plot; axis: what a column stands for; parts: names of the segments, for its own table; describe, onhover and
   * onpick get the index of a column */
  constructor(options) {
    super({kind: 'columns', x: {title: options.axis}, y: {title: 'time', unit: 'ns'}, items: [], ...options});
  }

  /* items: {label, segments, total}; picked: index; what: says what a column is; over: lines over them, {name, colour, values} */
  show(items, picked, what, over = []) {
    Object.assign(this, {items, picked, over});
    super.show({what});
  }
  isEmpty() {
    return !this.items.length;
  }
  made(title) {
    const of = (i, name) => this.items[i].segments.find(s => s.name === name)?.ns ?? 0;
    const columns = [
      {name: this.axis, text: true, get: i => this.items[i].label, sort: i => i},
      ...this.over.map((o, k) => column(o.name, 'ns', '', i => this.over[k].values[i])),
      ...this.parts.map(name => column(name, 'ns', '', i => of(i, name)))
    ];
    return new Table({id: `${this.id}-numbers`, title, columns, rows: this.items.length, first: 12});
  }
  count() {
    return this.items.length;
  }

  /* More columns than points: the tallest stands for those beside it. */
  bins(room) {
    const n = this.items.length, wide = Math.min(n, Math.max(1, Math.floor(room))),
          high = i => this.over.length ? this.over[0].values[i] : this.items[i].total;
    return Array.from({length: wide}, (unused, b) => {
      let best = Math.floor(b * n / wide);
      for (let i = best; i < Math.floor((b + 1) * n / wide); i++)
        if (high(i) > high(best))
          best = i;
      return best;
    });
  }

  heights() {
    return [this.items.map(i => i.total), ...this.over.map(o => o.values)];
  }
  across() {
    this.shown = this.bins(this.box.wide);
    this.x.title = this.axis + (this.shown.length < this.items.length ? ' (each column is the tallest of those beside it)' : '');
    const x = this.shown.map((i, b) => b);
    this.lines = this.over.map(o => ({...o, x, y: this.shown.map(i => o.values[i]), width: 1.5, plain: x.length > 3}));
    return [-0.5, this.shown.length - 0.5];
  }
  get left() {
    return this.box.left;
  }
  get stepSize() {
    return this.box.wide / this.shown.length;
  }
  places(c) {
    const widest = Math.max(...this.shown.slice(0, 300).map(i => c.measureText(this.items[i].label).width)),
          every = roundUp(Math.ceil((widest + 10) / this.stepSize));
    return {list: this.shown.map((i, b) => b).filter(b => b % every === 0), text: b => this.items[this.shown[b]].label, unit: ''};
  }
  label() {
    return `${this.what}: ${Format.count(this.items.length)} columns, tallest ${Format.time(this.yr[1])}`;
  }

  layers(c) {
    const {top, high} = this.box, step = this.stepSize, gap = step >= 4 ? Math.max(1, Math.min(12, step * 0.18)) : 0;
    this.shown.forEach(
        (i, b) => this.column(c, this.items[i], this.left + b * step + gap / 2, step - gap, top + high, high / this.yr[1]));
    super.layers(c);
    this.frame(c, step, top, high);
  }
  column(c, item, from, room, floor, scale) {
    const x = room < 4 ? Math.floor(from) : from, wide = room < 4 ? Math.max(1, Math.ceil(from + room) - x) : room;
    let y = floor;
    for (const part of item.segments) {
      const high = part.ns * scale, colour = Pod.colour(part.id);
      y -= high;
      if (high < 0.3)
        continue;
      c.fillStyle = part.hatched ? Hatch.of(c, colour) : colour;
      c.fillRect(x, y, wide, high > 2.5 ? high - 1 : high); /* the gap of one point, where there is room */
    }
  }

  frame(c, step, top, plot) {
    const at = this.shown.indexOf(this.picked);
    if (at < 0)
      return;
    c.strokeStyle = c.fillStyle = css('--ink');
    c.lineWidth = 1.5;
    if (step >= 5)
      c.strokeRect(this.left + at * step + 0.5, top - 4, step - 1, plot + 5);
    else /* a line over it would hide what it shows */
      [top - 9, top + plot + 1].forEach(y => c.fillRect(Math.round(this.left + (at + 0.5) * step) - 1, y, 2, 6));
    c.lineWidth = 1;
  }

  series() {
    return this.shown ? [{x: this.shown.map((i, b) => b), y: this.shown.map(i => this.items[i].total)}] : [];
  }
  near(event) {
    const b = this.box ? Math.floor((event.offsetX - this.left) / this.stepSize) : -1;
    return b >= 0 && b < this.shown.length ? [0, b] : null;
  }
  of(at) {
    return [this.shown[at[1]]];
  }
}

/* Legend of the categories that a chart has. */
function legend(ids, waiting) {
  const swatch = (colour, hatched) => el('span', {class: hatched ? 'swatch hatched' : 'swatch', style: {backgroundColor: colour}});
  const list = Pod.category.filter(k => ids.includes(k.id)).map(k => el('li', {}, swatch(k.colour), k.name));
  if (ids.includes(11))
    list.push(el('li', {}, swatch(css('--rest')), 'Small categories'));
  if (waiting)
    list.push(el('li', {}, swatch(Pod.colour(COMMUNICATION[0]), true), 'hatched: waiting for other ranks'));
  return el('ul', {class: 'legendlist', 'aria-label': 'Colours'}, el('li', {class: 'title'}, 'Category:'), list);
}
