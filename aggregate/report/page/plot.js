/* The charts of the page: lines, bands between lines and points here, stacked columns in columns.js. Axes are linear or
 * logarithmic. The pointer and the arrow keys reach each point, Enter and a click choose it. A table has the numbers: another one,
 * or its own. */
'use strict';

class Plot {
  /* options: id, height, x and y: {title, unit, log, zero, top, label(value)}, describe(i, series): lines of the card,
   * onpick(i, series), onkey(event), numbers: the title of its own table, where no other one has the numbers */
  constructor(options) {
    Object.assign(this, {height: 220, bands: [], lines: [], points: [], cursor: null}, options);
    this.canvas = el('canvas', {
      class: this.kind || 'plot',
      id: this.id,
      role: 'img',
      tabindex: '0',
      onmousemove: e => this.hover(e),
      onmouseleave: () => this.leave(),
      onblur: () => {
        if (!this.cursor)
          return;
        this.cursor = null;
        this.leave();
        this.draw();
      },
      onclick: e => this.pick(this.near(e)),
      onkeydown: e => this.onkey ? this.onkey(e) : this.key(e)
    });
    this.element = el('div', {}, el('div', {}, this.canvas), this.numbers && this.numbersBox());
  }

  /* bands: {x, low, high, colour, alpha, stepped, name, value: where it is one part of a sum}
   * lines: {name, x, y, colour, width, dash, stepped, plain: no dots}; points: {name, x, y, low, high, colour, shape, size}
   * mark: an x that is pinned; what: says what the chart shows. */
  show(view) {
    Object.assign(this, {bands: [], lines: [], points: [], mark: null}, view);
    this.cursor = null;
    this.canvas.setAttribute('aria-label', this.what); /* until it is drawn, which a closed one is not */
    this.draw();
    if (this.table)
      this.table.refill(this.count());
  }

  series() {
    return [...this.lines, ...this.points];
  }
  isEmpty() {
    return false;
  }

  /* Made when it is opened: many charts have thousands of points. */
  numbersBox() {
    const box = details('Details: ' + this.numbers);
    box.addEventListener('toggle', () => {
      if (!this.table)
        box.append((this.table = this.made(this.numbers)).element);
      this.table.fit();
    });
    return box;
  }
  made(title) {
    const columns = [
      {name: 'line', text: true, get: i => this.list[i].name}, column(this.x.title || 'x', this.x.unit, '', i => this.list[i].x),
      column(this.y.title, this.y.unit, '', i => this.list[i].y)
    ];
    return new Table({id: `${this.id}-numbers`, title, columns, rows: this.count(), first: 12});
  }
  /* How many rows; and keeps them. */
  count() {
    const parts = this.bands.filter(b => b.value).map(b => ({...b, y: b.value}));
    this.list = [...parts, ...this.series()].flatMap(
        s => Array.from(s.x, (x, i) => ({name: s.name, x, y: s.y[i]})).filter(r => r.y !== null));
    return this.list.length;
  }

  static range(axis, values) {
    let low = Infinity, high = axis.top || -Infinity;
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
    const [size, unit] = axis.label ? [1, ''] : Format.axis(axis.unit, high), step = ticks((high - low) / size, room)[1] * size,
                 first = Math.ceil(low / step - 1e-6), list = [];
    for (let k = first; k * step <= high + step * 1e-4; k++)
      list.push(k * step);
    return {list, text: axis.label || (v => String(+(v / size).toPrecision(7))), unit};
  }

  draw() {
    if (!this.canvas.parentElement || !this.canvas.parentElement.clientWidth || this.isEmpty())
      return;
    const {c, width, height} = fit(this.canvas, this.height), top = 12;
    this.yr = Plot.range(this.y, this.heights());
    const marks = Plot.marks(this.y, this.yr, 4),
          left = Math.ceil(Math.max(...marks.list.map(v => c.measureText(marks.text(v)).width), 20)) + 34;
    this.box = {left, top, wide: width - left - 14, high: height - top - 42};
    this.xr = this.across();
    this.axes(c, marks, this.places(c));
    this.layers(c);
    this.pins(c);
    this.canvas.setAttribute('aria-label', this.label());
  }
  heights() {
    return [
      ...this.bands.flatMap(b => [b.low, b.high]), ...this.lines.map(l => l.y),
      ...this.points.flatMap(p => [p.y, p.low || [], p.high || []])
    ];
  }
  across() {
    return Plot.range({zero: false, ...this.x}, [...this.bands, ...this.lines, ...this.points].map(s => s.x));
  }
  /* Of many lines, the largest first: as many as can be distinguished, and the pinned one, which is strong and drawn last. `text`:
   * how many these are, where it is not all. */
  static many(all, most, isPinned) {
    const shown = all.filter((l, i) => i < most || isPinned(l)).reverse().sort((a, b) => isPinned(a) - isPinned(b));
    const style = l => isPinned(l) ? {colour: css('--ink')}
        : l === all[0]             ? {colour: css('--accent')}
                                   : {colour: css('--rest'), width: 1};
    return {shown: shown.map(l => ({...l, ...style(l)})), text: shown.length < all.length ? String(shown.length) : ''};
  }

  /* The marks of the axis below. */
  places() {
    return Plot.marks(this.x, this.xr, Math.max(2, Math.floor(this.box.wide / 90)));
  }
  label() {
    return `${this.what}. ${this.series().length ? 'Arrow keys move from point to point. ' : ''}A table below has the numbers.`;
  }
  layers(c) {
    this.bands.forEach(b => this.band(c, b));
    this.lines.forEach(l => this.line(c, l));
    this.points.forEach(p => this.dots(c, p));
  }

  static place(axis, [low, high], v) {
    return axis.log ? Math.log(v / low) / Math.log(high / low) : (v - low) / (high - low);
  }
  at(x, y) {
    const {left, top, wide, high} = this.box;
    return [left + wide * Plot.place(this.x, this.xr, x), top + high * (1 - Plot.place(this.y, this.yr, y))];
  }

  axes(c, ym, xm) {
    const {left, top, wide, high} = this.box;
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
    const edge = (i, y) => {
      if (b.stepped && i)
        c.lineTo(this.at(b.x[i], 0)[0], this.at(0, y[i - 1])[1]);
      c.lineTo(...this.at(b.x[i], y[i]));
    };
    c.beginPath();
    b.x.forEach((x, i) => edge(i, b.high));
    for (let i = b.x.length - 1; i >= 0; i--) {
      c.lineTo(...this.at(b.x[i], b.low[i]));
      if (b.stepped && i)
        c.lineTo(this.at(b.x[i], 0)[0], this.at(0, b.low[i - 1])[1]);
    }
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
      Plot.dot(c, px, py, p.colour, p.shape || 0, p.size || 4);
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
  /* What a point is, for whoever made the chart. */
  of(at) {
    return [at[1], this.series()[at[0]]];
  }
  hover(event) {
    const at = this.near(event);
    if (this.onhover)
      return this.onhover(at && this.of(at)[0], event);
    at ? Card.show(event.clientX, event.clientY, this.describe(...this.of(at))) : Card.hide();
  }
  leave() {
    this.onhover ? this.onhover(null) : Card.hide();
  }
  pick(at) {
    if (at && this.onpick)
      this.onpick(...this.of(at));
  }
  key(event) {
    const move = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]}[event.key], all = this.series();
    if (event.key === 'Enter')
      return this.pick(this.cursor);
    if (!move || !all.length || !this.box || event.ctrlKey || event.metaKey || event.altKey)
      return;
    event.preventDefault();
    event.stopPropagation();
    const [k, i] = this.cursor || [0, move[1] < 0 ? all[0].x.length : -1], to = (k + move[0] + all.length) % all.length;
    this.cursor = [to, Math.max(0, Math.min(all[to].x.length - 1, i + move[1]))];
    this.draw();
    const s = all[to], box = this.canvas.getBoundingClientRect(), y = s.y[this.cursor[1]];
    const [px, py] = this.at(s.x[this.cursor[1]], y === null ? this.yr[0] : y);
    Card.show(box.left + px, box.top + py, this.describe(...this.of(this.cursor)));
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
