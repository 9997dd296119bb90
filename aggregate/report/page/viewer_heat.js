/* The heat map: steps across, ranks down, one quantity as colour. Draws on a canvas and reports what was pointed at. */
'use strict';

/* Where the colours begin and end. A few extreme steps must not make all others look alike: what is more than three times the
 * median of the steps' largest values, in at most a tenth of the steps, has the last colour. A rank that is slow in most steps is
 * not clipped: it is what is looked for. */
function colourScale(plane, difference) {
  const far = 3, tenth = 0.9, {steps} = Pod.cell, {workers} = Pod, value = plane.data,
        here = Pod.plane.present && Pod.plane.present.data, mask = plane.mask && plane.mask.data;
  const has = i => here && here[i] === 1 && value[i] !== null && (!mask || mask[i] > 0);
  const fence = middle => {
    const list = [];
    for (let s = 0; s < steps; s++) {
      let most = -1;
      for (let i = s * workers; i < (s + 1) * workers; i++)
        if (has(i))
          most = Math.max(most, middle === null ? value[i] : Math.abs(value[i] - middle));
      if (most >= 0)
        list.push(most);
    }
    const of = Float64Array.from(list).sort(), last = of.length - 1;
    return Math.max(far * of[last >> 1], of[Math.floor(last * tenth)]);
  };
  let n = 0, least = Infinity, most = -Infinity;
  for (let i = 0; i < steps * workers; i++)
    if (has(i)) {
      n++;
      least = value[i] < least ? value[i] : least;
      most = value[i] > most ? value[i] : most;
    }
  if (!n)
    return {low: 0, high: 1, least: 0, most: 0, median: 0, cut: false, t: () => 0};
  if (difference) {
    const seen = new Float64Array(n);
    for (let i = 0, k = 0; i < steps * workers; i++)
      if (has(i))
        seen[k++] = value[i];
    const median = seen.sort()[(n - 1) >> 1], reach = fence(median), whole = Math.max(most - median, median - least),
          span = reach > 0 && whole > reach ? reach : whole || 1;
    return {
      low: median - span,
      high: median + span,
      least,
      most,
      median,
      cut: whole > span,
      t: v => 0.5 + (v - median) / (2 * span)
    };
  }
  const reach = fence(null), high = reach > 0 && most > reach ? reach : most, low = least > 0.5 * high ? least : 0;
  return {low, high, least, most, median: null, cut: high < most, t: v => high > low ? (v - low) / (high - low) : 0};
}

/* The title of a vertical axis, at the left edge of a canvas. */
function sideTitle(c, text, middle) {
  c.save();
  c.translate(2, middle);
  c.rotate(-Math.PI / 2);
  c.textAlign = 'center';
  c.textBaseline = 'top';
  c.fillStyle = css('--soft');
  c.fillText(text, 0, 0);
  c.restore();
}

/* 1, 2, 5, 10 ...: marks that people count by. */
function roundUp(n) {
  for (let power = 1;; power *= 10)
    for (const m of [1, 2, 5])
      if (m * power >= n)
        return m * power;
}

class HeatMap {
  static headings = 24; /* more groups than this have no lines of their own */

  /* options: onhover(step, worker, event) or (null), onpick(step, worker), onname(worker): a click on a rank's name */
  constructor(options) {
    Object.assign(this, options);
    this.canvas = el('canvas', {
      class: 'heat',
      tabindex: '0',
      role: 'img',
      'aria-describedby': 'viewer-details',
      onmousemove: e => this.point(e, false),
      onmouseleave: () => this.onhover(null),
      onclick: e => this.point(e, true),
      onkeydown: e => this.onkey(e)
    });
    this.legend = el('canvas', {class: 'legend', role: 'img'});
    this.legendText = el('div', {class: 'legendtext'});
    this.order = [];
    this.groups = [];
    this.left = 0;
  }

  /* plane: a quantity; order: worker indices from top to bottom; groups: [{name, from, to}] of that order; step, worker: what is
   * pinned */
  show(view) {
    Object.assign(this, view);
    const now = [this.plane.key, this.difference].join();
    if (now !== this.scaled)
      this.scale = colourScale(this.plane, this.difference);
    this.scaled = now;
    this.draw();
  }

  labels(c) {
    const names = this.compact() ? this.groups.slice(0, 400).map(g => Format.name(g.name, 18))
                                 : this.order.slice(0, 400).map(w => String(Pod.worker.rank[w]));
    return Math.ceil(Math.max(16, ...names.map(n => c.measureText(n).width))) + 32;
  }
  /* Many groups: their names stand beside the rows instead of the ranks'. */
  compact() {
    return this.groups.length > HeatMap.headings;
  }
  /* Places of the groups, each below its heading. */
  place(rows) {
    const named = this.groups.length > 1 && !this.compact(), list = named ? this.groups : [{name: '', from: 0, to: rows}];
    const heading = named ? 20 : 0, plot = Math.min(560, Math.max(Math.max(1, Math.min(26, Math.floor(420 / rows))) * rows, 48));
    let y = this.top = 8;
    this.rowSize = plot / rows;
    this.blocks = list.map(g => {
      const block = {...g, y: y + heading, heading};
      y = block.y + (g.to - g.from) * this.rowSize;
      return block;
    });
    this.plotHeight = y - this.top;
  }
  rowY(r) {
    const b = this.blocks.find(k => r >= k.from && r < k.to) || this.blocks[0];
    return b.y + (r - b.from) * this.rowSize;
  }

  draw() {
    if (!this.order.length || !Pod.cell.steps)
      return;
    const rows = this.order.length, cols = Pod.cell.steps;
    this.place(rows);
    const {c, width, height} = fit(this.canvas, this.plotHeight + 46), left = this.labels(c), plotWidth = width - left - 8;
    Object.assign(this, {left, plotWidth, colSize: plotWidth / cols});
    const ramp = Ramp.stops(), table = Ramp.table(this.difference ? ramp.difference : ramp.time);
    if (this.rowSize >= 6 && this.colSize >= 4)
      this.drawCells(c, table);
    else
      this.blocks.forEach(b => this.drawImage(c, table, b));
    this.drawGroups(c);
    this.drawAxes(c, height);
    this.drawPins(c);
    this.drawLegend(table);
    this.canvas.setAttribute('aria-label',
        `${this.plane.name} of ${Format.count(cols)} steps (across) and ${Format.count(rows)} ranks (down${
            this.groups.length > 1 ? ', in ' + Format.count(this.groups.length) + ' groups' : ''}), ` +
            `from ${Format.by(this.plane.unit, this.scale.least)} to ${Format.by(this.plane.unit, this.scale.most)}. ` +
            `Arrow keys move the pinned step and rank${Pod.timeline ? ', Enter shows the rank in the timeline' : ''}; ` +
            'the table of the pinned step has the numbers.');
  }

  colourOf(table, s, w) {
    return table[Math.max(0, Math.min(255, Math.round(255 * this.scale.t(Pod.at(this.plane, s, w)))))];
  }

  drawCells(c, table) {
    const absent = css('--rule');
    for (let r = 0; r < this.order.length; r++)
      for (let s = 0; s < Pod.cell.steps; s++) {
        const x = this.left + Math.round(s * this.colSize), y = Math.round(this.rowY(r));
        const w = Math.max(1, this.left + Math.round((s + 1) * this.colSize) - x - 1);
        const h = Math.max(1, Math.round(this.rowY(r) + this.rowSize) - y - 1);
        if (!Pod.has(this.plane, s, this.order[r])) {
          c.strokeStyle = absent;
          c.beginPath();
          c.moveTo(x, y + h);
          c.lineTo(x + w, y);
          c.stroke();
          continue;
        }
        c.fillStyle = `rgb(${this.colourOf(table, s, this.order[r])})`;
        c.fillRect(x, y, w, h);
      }
  }

  /* More cells than points: of the cells under a point the one farthest from the ordinary is shown, so that none hides. */
  drawImage(c, table, block) {
    const ratio = devicePixelRatio || 1, rows = block.to - block.from, cols = Pod.cell.steps, tall = rows * this.rowSize;
    const wide = Math.min(cols, Math.round(this.plotWidth * ratio)), high = Math.max(1, Math.min(rows, Math.round(tall * ratio)));
    const image = new ImageData(wide, high), middle = this.difference ? this.scale.median : -Infinity,
          best = new Float64Array(wide * high).fill(-1);
    const value = this.plane.data, mask = this.plane.mask && this.plane.mask.data, here = Pod.plane.present.data, {workers} = Pod,
          pixels = new Uint32Array(image.data.buffer), ink = table.map(k => (255 << 24 | k[2] << 16 | k[1] << 8 | k[0]) >>> 0);
    for (let r = 0; r < rows; r++) {
      const y = Math.floor(r * high / rows), w = this.order[block.from + r];
      for (let s = 0; s < cols; s++) {
        const cell = s * workers + w;
        if (here[cell] !== 1 || value[cell] === null || (mask && !(mask[cell] > 0)))
          continue;
        const at = y * wide + Math.floor(s * wide / cols), v = value[cell], far = this.difference ? Math.abs(v - middle) : v;
        if (far <= best[at])
          continue;
        best[at] = far;
        pixels[at] = ink[Math.max(0, Math.min(255, Math.round(255 * this.scale.t(v))))];
      }
    }
    const buffer = el('canvas', {width: wide, height: high});
    buffer.getContext('2d').putImageData(image, 0, 0);
    c.imageSmoothingEnabled = false;
    c.drawImage(buffer, this.left, block.y, this.plotWidth, tall);
  }

  /* Headings, or of many groups their names at the side and lines between them. */
  drawGroups(c) {
    c.textAlign = 'left';
    c.textBaseline = 'middle';
    for (const b of this.blocks)
      if (b.heading) {
        c.fillStyle = css('--ink');
        c.fillText(
            Format.name(`${b.name}: ${Format.count(b.to - b.from)} rank${b.to - b.from === 1 ? '' : 's'}`, 70), this.left, b.y - 9);
      }
    if (!this.compact())
      return;
    let free = 0;
    c.textAlign = 'right';
    for (const g of this.groups) {
      const y = this.rowY(g.from), middle = y + (g.to - g.from) * this.rowSize / 2;
      if ((g.to - g.from) * this.rowSize >= 5) {
        c.fillStyle = css('--ground');
        c.fillRect(this.left, Math.round(y) - 1, this.plotWidth, 1);
      }
      if (middle >= free) {
        c.fillStyle = css('--soft');
        c.fillText(Format.name(g.name, 18), this.left - 8, middle);
        free = middle + 14;
      }
    }
  }

  drawAxes(c) {
    c.fillStyle = css('--soft');
    c.textAlign = 'right';
    c.textBaseline = 'middle';
    const every = roundUp(Math.ceil(14 / this.rowSize));
    for (const b of this.compact() ? [] : this.blocks)
      for (let r = b.from; r < b.to; r += every)
        c.fillText(String(Pod.worker.rank[this.order[r]]), this.left - 8, this.rowY(r) + 0.5 * this.rowSize);
    c.textAlign = 'center';
    c.textBaseline = 'top';
    const numbers = Pod.stepShown, wide = c.measureText(String(numbers[numbers.length - 1])).width + 18;
    const gap = roundUp(Math.ceil(wide / this.colSize));
    for (let s = 0; s < numbers.length; s += gap)
      c.fillText(String(numbers[s]), this.left + (s + 0.5) * this.colSize, this.top + this.plotHeight + 6);
    c.fillText('step number', this.left + this.plotWidth / 2, this.top + this.plotHeight + 24);
    sideTitle(c, this.compact() ? this.groupedBy : 'rank', this.top + this.plotHeight / 2);
  }

  /* A narrow row or column is marked at its ends: a line over it would hide what it shows. */
  drawPins(c) {
    const row = this.order.indexOf(this.worker), x = Math.round(this.left + (this.step + 0.5) * this.colSize) - 1,
          y = Math.round(this.rowY(row) + 0.5 * this.rowSize) - 1, right = this.left + this.plotWidth,
          low = this.top + this.plotHeight;
    c.strokeStyle = c.fillStyle = css('--ink');
    c.lineWidth = 1.5;
    if (this.step >= 0 && this.colSize >= 5)
      c.strokeRect(this.left + this.step * this.colSize - 1, this.top - 1, this.colSize + 1, this.plotHeight + 1);
    else if (this.step >= 0)
      [this.top - 7, low + 1].forEach(from => c.fillRect(x, from, 2, 6));
    if (row >= 0 && this.rowSize >= 5)
      c.strokeRect(this.left - 1, this.rowY(row) - 1, this.plotWidth + 1, this.rowSize + 1);
    else if (row >= 0)
      [this.left - 7, right + 1].forEach(from => c.fillRect(from, y, 6, 2));
    c.lineWidth = 1;
  }

  drawLegend(table) {
    if (!this.legend.parentElement)
      return;
    const {c, width} = fit(this.legend, 34), bar = Math.min(260, width), {low, high, most, cut, median, least} = this.scale;
    for (let x = 0; x < bar; x++) {
      c.fillStyle = `rgb(${table[Math.round(255 * x / (bar - 1))]})`;
      c.fillRect(x, 0, 1, 10);
    }
    const say = v => Format.by(this.plane.unit, v), signed = v => (v > 0 ? '+' : '') + say(v);
    c.fillStyle = css('--soft');
    c.textBaseline = 'top';
    c.textAlign = 'left';
    c.fillText(this.difference ? (cut ? '\u2264 ' : '') + signed(low - median) : say(low), 0, 15);
    c.textAlign = 'right';
    c.fillText((cut ? '\u2265 ' : '') + (this.difference ? signed(high - median) : say(high)), bar, 15);
    c.textAlign = 'center';
    c.fillText(this.difference ? 'median' : '', bar / 2, 15);
    const title = this.plane.name + (this.plane.what && !this.plane.key.includes('/') ? ': ' + this.plane.what : '') +
        (this.difference ? `: difference from the median, ${say(median)}` : '');
    this.legendText.textContent = title +
        (!cut                     ? ''
                : this.difference ? `. Extreme values share the last colours: smallest ${say(least)}, largest ${say(most)}`
                                  : `. Extreme values share the last colour: largest ${say(most)}`);
    this.legend.setAttribute('aria-label', `${this.legendText.textContent}. Colours from ${say(low)} to ${say(high)}`);
  }

  point(event, pick) {
    const s = Math.floor((event.offsetX - this.left) / this.colSize),
          b = (this.blocks || []).find(k => event.offsetY >= k.y && event.offsetY < k.y + (k.to - k.from) * this.rowSize);
    const r = b ? Math.min(b.to - 1, b.from + Math.floor((event.offsetY - b.y) / this.rowSize)) : -1;
    if (r >= 0 && s < 0 && pick && this.onname && !this.compact())
      this.onname(this.order[r]);
    else if (s < 0 || s >= Pod.cell.steps || r < 0)
      this.onhover(null);
    else if (pick)
      this.onpick(s, this.order[r]);
    else
      this.onhover(s, this.order[r], event);
  }

  /* The middle of a cell on the page, for programs that drive the map. */
  middleOf(s, w) {
    const box = this.canvas.getBoundingClientRect();
    return {x: box.left + this.left + (s + 0.5) * this.colSize, y: box.top + this.rowY(this.order.indexOf(w)) + 0.5 * this.rowSize};
  }
}
