/* One chart for lines, bands between lines and points, on linear or logarithmic axes. The pointer and the arrow keys reach
 * each point, Enter and a click choose it; a table beside it has the numbers. */
'use strict';

class Plot {
  /* options: id, height, x and y: {title, unit, log, label(value)}, describe(series, i): lines of the card, onpick(series, i) */
  constructor(options) {
    Object.assign(this, {height: 220, bands: [], lines: [], points: [], cursor: null}, options);
    this.canvas = el('canvas', {
      class: 'plot',
      id: this.id,
      role: 'img',
      tabindex: '0',
      onmousemove: e => this.hover(e),
      onmouseleave: () => Card.hide(),
      onblur: () => {
        this.cursor = null;
        Card.hide();
        this.draw();
      },
      onclick: e => this.pick(this.near(e)),
      onkeydown: e => this.key(e)
    });
    this.element = el('div', {}, this.canvas);
  }

  /* bands: {x, low, high, colour}; lines: {name, x, y, colour, width, dash, stepped}; points: {name, x, y, low, high, colour,
   * shape}; mark: an x that is pinned; what: says what the chart shows. */
  show(view) {
    Object.assign(this, {bands: [], lines: [], points: [], mark: null}, view);
    this.cursor = null;
    this.draw();
  }

  series() {
    return [...this.lines, ...this.points];
  }

  static range(axis, values) {
    let low = Infinity, high = -Infinity;
    for (const list of values)
      for (const v of list)
        if (v !== null && (!axis.log || v > 0)) {
          low = Math.min(low, v);
          high = Math.max(high, v);
        }
    if (low > high)
      return [axis.log ? 1 : 0, 1];
    if (axis.log)
      return high / low < 8 ? [low / 8, high * 8] : [low / 1.3, high * 1.3];
    if (axis.zero !== false)
      low = Math.min(0, low);
    return high > low ? [low, high] : [low, low + 1];
  }

  /* Values of the marks of an axis, and how each reads. */
  static marks(axis, [low, high], room) {
    if (axis.log) {
      const base = axis.unit.startsWith('byte') ? 4 : 10, list = [];
      for (let v = base ** Math.floor(Math.log(low) / Math.log(base)); v <= high; v *= base)
        if (v >= low)
          list.push(v);
      const every = Math.max(1, Math.ceil(list.length / room));
      return {list: list.filter((v, i) => i % every === 0), text: v => Format.by(axis.unit, v), unit: ''};
    }
    if (axis.label)
      return {list: ticks(high - low, room).map(v => v + low).filter(v => v <= high), text: axis.label, unit: ''};
    const [size, unit] = Format.axis(axis.unit, high);
    return {
      list: ticks((high - low) / size, room).map(v => low + v * size).filter(v => v <= high * 1.0001),
      text: v => String(+(v / size).toPrecision(5)),
      unit
    };
  }

  draw() {
    if (!this.canvas.parentElement || !this.canvas.parentElement.clientWidth)
      return;
    const {c, width, height} = fit(this.canvas, this.height), bottom = 42, top = 12, right = 14;
    const all = [
      ...this.bands.map(b => [...b.low, ...b.high]), ...this.lines.map(l => l.y),
      ...this.points.map(p => [...p.y, ...(p.low || []), ...(p.high || [])])
    ];
    const xs = [...this.bands, ...this.lines, ...this.points].map(s => s.x);
    Object.assign(this, {xr: Plot.range({zero: false, ...this.x}, xs), yr: Plot.range(this.y, all)});
    const marks = Plot.marks(this.y, this.yr, 4),
          left = Math.ceil(Math.max(...marks.list.map(v => c.measureText(marks.text(v)).width), 20)) + 34;
    this.box = {left, top, wide: width - left - right, high: height - top - bottom};
    this.axes(c);
    this.bands.forEach(b => this.band(c, b));
    this.lines.forEach(l => this.line(c, l));
    this.points.forEach(p => this.dots(c, p));
    this.pins(c);
    this.canvas.setAttribute('aria-label',
        `${this.what}. ${this.series().length ? 'Arrow keys move from point to point. ' : ''}The table below has the numbers.`);
  }

  static place(axis, [low, high], v) {
    return axis.log ? Math.log(v / low) / Math.log(high / low) : (v - low) / (high - low);
  }
  at(x, y) {
    const {left, top, wide, high} = this.box;
    return [left + wide * Plot.place(this.x, this.xr, x), top + high * (1 - Plot.place(this.y, this.yr, y))];
  }

  axes(c) {
    const {left, top, wide, high} = this.box, xm = Plot.marks(this.x, this.xr, Math.max(2, Math.floor(wide / 90))),
                            ym = Plot.marks(this.y, this.yr, 4);
    c.strokeStyle = css('--rule');
    c.fillStyle = css('--soft');
    c.textAlign = 'right';
    c.textBaseline = 'middle';
    for (const v of ym.list) {
      const y = Math.round(this.at(this.xr[0], v)[1]) + 0.5;
      c.beginPath();
      c.moveTo(left, y);
      c.lineTo(left + wide, y);
      c.stroke();
      c.fillText(ym.text(v), left - 8, y);
    }
    c.textAlign = 'center';
    c.textBaseline = 'top';
    for (const v of xm.list)
      c.fillText(xm.text(v), this.at(v, this.yr[0])[0], top + high + 7);
    c.fillText(Format.titled(this.x.title, xm.unit), left + wide / 2, top + high + 24);
    sideTitle(c, Format.titled(this.y.title, ym.unit), top + high / 2);
  }

  band(c, b) {
    c.beginPath();
    b.x.forEach((x, i) => c.lineTo(...this.at(x, b.high[i])));
    for (let i = b.x.length - 1; i >= 0; i--)
      c.lineTo(...this.at(b.x[i], b.low[i]));
    c.closePath();
    c.globalAlpha = b.alpha || 0.25;
    c.fillStyle = b.colour;
    c.fill();
    c.globalAlpha = 1;
    if (b.x.length === 1) { /* one step: a line from end to end */
      const [x, low] = this.at(b.x[0], b.low[0]);
      c.fillRect(x - 3, this.at(b.x[0], b.high[0])[1], 6, Math.max(1, low - this.at(b.x[0], b.high[0])[1]));
    }
  }

  line(c, l) {
    c.beginPath();
    let before = null, open = false;
    l.x.forEach((x, i) => {
      if (l.y[i] === null || (this.y.log && l.y[i] <= 0)) {
        open = false;
        return;
      }
      const [px, py] = this.at(x, l.y[i]);
      if (l.stepped && open)
        c.lineTo(px, before);
      open ? c.lineTo(px, py) : c.moveTo(px, py);
      open = true;
      before = py;
    });
    c.strokeStyle = l.colour;
    c.lineWidth = l.width || 1.75;
    c.setLineDash(l.dash || []);
    c.stroke();
    c.setLineDash([]);
    c.lineWidth = 1;
    if (l.x.length < 40 && !l.plain)
      l.x.forEach((x, i) => l.y[i] !== null && Plot.dot(c, ...this.at(x, l.y[i]), l.colour, l.shape || 0, 3));
  }

  /* Shapes, so that colours alone do not carry meaning. */
  static dot(c, x, y, colour, shape, size) {
    c.fillStyle = c.strokeStyle = colour;
    c.beginPath();
    if (shape % 4 === 0)
      c.arc(x, y, size, 0, 2 * Math.PI);
    else if (shape % 4 === 1)
      c.rect(x - size, y - size, 2 * size, 2 * size);
    else
      [[0, -1.3], [1.2, 0.9], [-1.2, 0.9]].forEach(
          ([dx, dy]) => c.lineTo(x + size * dx, y + size * dy * (shape % 4 === 2 ? 1 : -1)));
    c.closePath();
    c.fill();
  }

  dots(c, p) {
    p.x.forEach((x, i) => {
      const [px, py] = this.at(x, p.y[i]);
      if (p.low) {
        c.strokeStyle = p.colour;
        c.beginPath();
        c.moveTo(px, this.at(x, p.low[i])[1]);
        c.lineTo(px, this.at(x, p.high[i])[1]);
        c.stroke();
      }
      Plot.dot(c, px, py, p.colour, p.shape || 0, 4);
    });
  }

  pins(c) {
    const {top, high} = this.box;
    c.strokeStyle = css('--ink');
    if (this.mark !== null && this.mark >= this.xr[0] && this.mark <= this.xr[1]) {
      const x = Math.round(this.at(this.mark, this.yr[0])[0]) + 0.5;
      c.beginPath();
      c.moveTo(x, top - 6);
      c.lineTo(x, top + high + 5);
      c.stroke();
    }
    const s = this.cursor && this.series()[this.cursor[0]];
    if (!s || s.y[this.cursor[1]] === null)
      return;
    c.lineWidth = 2;
    c.beginPath();
    c.arc(...this.at(s.x[this.cursor[1]], s.y[this.cursor[1]]), 7, 0, 2 * Math.PI);
    c.stroke();
    c.lineWidth = 1;
  }

  /* The nearest point of any line: [series, index], or null. */
  near(event) {
    let best = null, least = 28;
    this.series().forEach((s, k) => s.x.forEach((x, i) => {
      if (s.y[i] === null || !this.box)
        return;
      const [px, py] = this.at(x, s.y[i]), far = Math.hypot((px - event.offsetX) * 1.5, py - event.offsetY);
      if (far < least) {
        least = far;
        best = [k, i];
      }
    }));
    return best;
  }
  hover(event) {
    const at = this.near(event);
    at ? Card.show(event.clientX, event.clientY, this.describe(this.series()[at[0]], at[1])) : Card.hide();
  }
  pick(at) {
    if (at && this.onpick)
      this.onpick(this.series()[at[0]], at[1]);
  }
  key(event) {
    const move = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]}[event.key], all = this.series();
    if (event.key === 'Enter')
      return this.pick(this.cursor);
    if (!move || !all.length || event.ctrlKey || event.metaKey || event.altKey)
      return;
    event.preventDefault();
    event.stopPropagation();
    const [k, i] = this.cursor || [0, move[1] < 0 ? all[0].x.length : -1], to = (k + move[0] + all.length) % all.length;
    this.cursor = [to, Math.max(0, Math.min(all[to].x.length - 1, i + move[1]))];
    this.draw();
    const s = all[to], box = this.canvas.getBoundingClientRect(), y = s.y[this.cursor[1]];
    const [px, py] = this.at(s.x[this.cursor[1]], y === null ? this.yr[0] : y);
    Card.show(box.left + px, box.top + py, this.describe(s, this.cursor[1]));
  }
}

/* Lines of a legend with the shapes that a plot draws. */
function plotLegend(items) {
  return el('ul', {class: 'legendlist', 'aria-label': 'Lines'},
      items.map(
          i => el('li', {},
              el('span', {class: i.wide ? 'swatch' : 'swatch line', style: {backgroundColor: i.colour, opacity: i.alpha || 1}}),
              i.name)));
}
