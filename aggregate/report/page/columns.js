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

class Columns {
  /* options: height, axis (what a column stands for), onhover(i, event) or (null), onpick(i) */
  constructor(options) {
    Object.assign(this, {height: 220}, options);
    this.canvas = el('canvas', {
      class: 'columns',
      role: 'img',
      tabindex: '0',
      onmousemove: e => this.point(e, false),
      onmouseleave: () => this.onhover && this.onhover(null),
      onclick: e => this.point(e, true),
      onkeydown: e => this.onkey && this.onkey(e)
    });
    this.items = [];
  }

  /* items: {label, segments, total}; picked: index; what: says what a column is */
  show(items, picked, what) {
    Object.assign(this, {items, picked, what});
    this.draw();
  }

  /* More columns than points: the tallest stands for those beside it. */
  bins(room) {
    const n = this.items.length, wide = Math.min(n, Math.max(1, Math.floor(room)));
    return Array.from({length: wide}, (unused, b) => {
      let best = Math.floor(b * n / wide);
      for (let i = best; i < Math.floor((b + 1) * n / wide); i++)
        if (this.items[i].total > this.items[best].total)
          best = i;
      return best;
    });
  }

  draw() {
    if (!this.canvas.parentElement || !this.items.length)
      return;
    const {c, width, height} = fit(this.canvas, this.height), most = Math.max(...this.items.map(i => i.total), 1);
    const [size, unit] = Format.axis('ns', most), marks = ticks(most / size, 4), left = 66, bottom = 40, top = 10;
    const plot = height - bottom - top, scale = plot / most;
    this.shown = this.bins(width - left - 4);
    const step = (width - left - 4) / this.shown.length, gap = step >= 4 ? Math.max(1, Math.min(12, step * 0.18)) : 0;
    Object.assign(this, {left, stepSize: step});
    c.textAlign = 'right';
    c.textBaseline = 'middle';
    for (const m of marks) {
      const y = Math.round(top + plot - m * size * scale) + 0.5;
      c.strokeStyle = css('--rule');
      c.beginPath();
      c.moveTo(left, y);
      c.lineTo(width, y);
      c.stroke();
      c.fillStyle = css('--soft');
      c.fillText(String(m), left - 8, y);
    }
    sideTitle(c, Format.titled('time', unit), top + plot / 2);
    this.shown.forEach((i, b) => this.column(c, this.items[i], left + b * step + gap / 2, step - gap, top + plot, scale));
    this.frame(c, step, top, plot);
    this.names(c, step, top + plot + 7);
    this.canvas.setAttribute(
        'aria-label', `${this.what}: ${Format.count(this.items.length)} columns, tallest ${Format.time(most)}`);
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

  names(c, step, y) {
    const widest = Math.max(...this.shown.slice(0, 300).map(i => c.measureText(this.items[i].label).width));
    const every = roundUp(Math.ceil((widest + 10) / step));
    c.fillStyle = css('--soft');
    c.textBaseline = 'top';
    c.textAlign = 'center';
    for (let b = 0; b < this.shown.length; b += every)
      c.fillText(this.items[this.shown[b]].label, this.left + (b + 0.5) * step, y);
    c.fillText(this.axis + (this.shown.length < this.items.length ? ' (each column is the tallest of those beside it)' : ''),
        this.left + step * this.shown.length / 2, y + 17);
  }

  point(event, pick) {
    const b = Math.floor((event.offsetX - this.left) / this.stepSize);
    const i = this.shown && b >= 0 && b < this.shown.length ? this.shown[b] : null;
    if (pick) {
      if (i !== null && this.onpick)
        this.onpick(i);
    } else if (this.onhover) {
      this.onhover(i, event);
    }
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
