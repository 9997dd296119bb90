/* The heat map: steps across, ranks down, one quantity as colour. Draws on a canvas and reports what was pointed at. */
'use strict';

const Ramp = {
  /* One hue, faint to strong, so that what is large stands out on either ground; and a diverging one around the middle. */
  stops() {
    const read = name => css(name).split(/\s+/).map(hex => [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16)));
    return {time: read('--ramp-time'), difference: read('--ramp-difference')};
  },
  mix(stops, t) {
    const x = Math.min(1, Math.max(0, t)) * (stops.length - 1), i = Math.min(stops.length - 2, Math.floor(x)), f = x - i;
    return stops[i].map((v, k) => Math.round(v + (stops[i + 1][k] - v) * f));
  },
  /* 256 colours, mixed once. */
  table(stops) {
    return Array.from({length: 256}, (unused, i) => Ramp.mix(stops, i / 255));
  },
};

/* Where the colours begin and end. A few extreme steps must not make all others look alike: what is more than three times the
 * median of the steps' largest values, in at most a tenth of the steps, has the last colour. A rank that is slow in most steps is
 * not clipped: it is what is looked for. */
function colourScale(plane, difference) {
  const seen = [], far = 3, tenth = 0.9;
  const fence = middle => {
    const list = [];
    for (let s = 0; s < Pod.cell.steps; s++) {
      let most = -1;
      for (let w = 0; w < Pod.workers; w++)
        if (Pod.has(plane, s, w))
          most = Math.max(most, middle === null ? Pod.at(plane, s, w) : Math.abs(Pod.at(plane, s, w) - middle));
      if (most >= 0)
        list.push(most);
    }
    const of = Float64Array.from(list).sort(), last = of.length - 1;
    return Math.max(far * of[last >> 1], of[Math.floor(last * tenth)]);
  };
  for (let s = 0; s < Pod.cell.steps; s++)
    for (let w = 0; w < Pod.workers; w++)
      if (Pod.has(plane, s, w))
        seen.push(Pod.at(plane, s, w));
  const sorted = Float64Array.from(seen).sort(), n = sorted.length;
  if (!n)
    return {low: 0, high: 1, most: 0, median: 0, cut: false, t: () => 0};
  const least = sorted[0], most = sorted[n - 1], median = sorted[(n - 1) >> 1];
  if (difference) {
    const reach = fence(median), whole = Math.max(most - median, median - least),
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
  return {low, high, least, most, median, cut: high < most, t: v => high > low ? (v - low) / (high - low) : 0};
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
  /* options: onhover(step, worker, event) or (null), onpick(step, worker) */
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
    this.left = 0;
  }

  /* plane: a quantity; order: worker indices from top to bottom; step, worker: what is pinned */
  show(view) {
    Object.assign(this, view);
    this.scale = colourScale(this.plane, this.difference);
    this.draw();
  }

  labels(c) {
    const names = this.order.map(w => String(Pod.worker.rank[w]));
    return Math.ceil(Math.max(16, ...names.slice(0, 400).map(n => c.measureText(n).width))) + 32;
  }

  draw() {
    if (!this.order.length || !Pod.cell.steps)
      return;
    const rows = this.order.length, cols = Pod.cell.steps;
    const rowHeight = Math.max(1, Math.min(26, Math.floor(420 / rows))), plotHeight = Math.min(560, Math.max(rowHeight * rows, 48));
    const {c, width, height} = fit(this.canvas, plotHeight + 46), left = this.labels(c), plotWidth = width - left - 8;
    Object.assign(this, {left, plotWidth, plotHeight, top: 8, rowSize: plotHeight / rows, colSize: plotWidth / cols});
    const ramp = Ramp.stops(), table = Ramp.table(this.difference ? ramp.difference : ramp.time);
    if (this.rowSize >= 6 && this.colSize >= 4)
      this.drawCells(c, table);
    else
      this.drawImage(c, table);
    this.drawAxes(c, height);
    this.drawPins(c);
    this.drawLegend(table);
    this.canvas.setAttribute('aria-label',
        `${this.plane.name} of ${Format.count(cols)} steps (across) and ${Format.count(rows)} ranks (down), ` +
            `from ${Format.by(this.plane.unit, this.scale.least)} to ${Format.by(this.plane.unit, this.scale.most)}. ` +
            'Arrow keys move the pinned step and rank; the table of the pinned step has the numbers.');
  }

  colourOf(table, s, w) {
    return table[Math.max(0, Math.min(255, Math.round(255 * this.scale.t(Pod.at(this.plane, s, w)))))];
  }

  drawCells(c, table) {
    const absent = css('--rule');
    for (let r = 0; r < this.order.length; r++)
      for (let s = 0; s < Pod.cell.steps; s++) {
        const x = this.left + Math.round(s * this.colSize), y = this.top + Math.round(r * this.rowSize);
        const w = Math.max(1, this.left + Math.round((s + 1) * this.colSize) - x - 1);
        const h = Math.max(1, this.top + Math.round((r + 1) * this.rowSize) - y - 1);
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
  drawImage(c, table) {
    const ratio = devicePixelRatio || 1, rows = this.order.length, cols = Pod.cell.steps;
    const wide = Math.min(cols, Math.round(this.plotWidth * ratio)), high = Math.min(rows, Math.round(this.plotHeight * ratio));
    const image = new ImageData(wide, high), middle = this.difference ? this.scale.median : -Infinity,
          best = new Float64Array(wide * high).fill(-1);
    for (let r = 0; r < rows; r++) {
      const y = Math.floor(r * high / rows), w = this.order[r];
      for (let s = 0; s < cols; s++) {
        if (!Pod.has(this.plane, s, w))
          continue;
        const at = y * wide + Math.floor(s * wide / cols), v = Pod.at(this.plane, s, w),
              far = this.difference ? Math.abs(v - middle) : v;
        if (far <= best[at])
          continue;
        best[at] = far;
        const colour = this.colourOf(table, s, w);
        image.data.set([colour[0], colour[1], colour[2], 255], at * 4);
      }
    }
    const buffer = el('canvas', {width: wide, height: high});
    buffer.getContext('2d').putImageData(image, 0, 0);
    c.imageSmoothingEnabled = false;
    c.drawImage(buffer, this.left, this.top, this.plotWidth, this.plotHeight);
  }

  drawAxes(c) {
    c.fillStyle = css('--soft');
    c.textAlign = 'right';
    c.textBaseline = 'middle';
    const every = roundUp(Math.ceil(14 / this.rowSize));
    for (let r = 0; r < this.order.length; r += every)
      c.fillText(String(Pod.worker.rank[this.order[r]]), this.left - 8, this.top + (r + 0.5) * this.rowSize);
    c.textAlign = 'center';
    c.textBaseline = 'top';
    const numbers = Pod.stepShown, wide = c.measureText(String(numbers[numbers.length - 1])).width + 18;
    const gap = roundUp(Math.ceil(wide / this.colSize));
    for (let s = 0; s < numbers.length; s += gap)
      c.fillText(String(numbers[s]), this.left + (s + 0.5) * this.colSize, this.top + this.plotHeight + 6);
    c.fillText('step number', this.left + this.plotWidth / 2, this.top + this.plotHeight + 24);
    sideTitle(c, 'rank', this.top + this.plotHeight / 2);
  }

  /* A narrow row or column is marked at its ends: a line over it would hide what it shows. */
  drawPins(c) {
    const row = this.order.indexOf(this.worker), x = Math.round(this.left + (this.step + 0.5) * this.colSize) - 1,
          y = Math.round(this.top + (row + 0.5) * this.rowSize) - 1, right = this.left + this.plotWidth,
          low = this.top + this.plotHeight;
    c.strokeStyle = c.fillStyle = css('--ink');
    c.lineWidth = 1.5;
    if (this.step >= 0 && this.colSize >= 5)
      c.strokeRect(this.left + this.step * this.colSize - 1, this.top - 1, this.colSize + 1, this.plotHeight + 1);
    else if (this.step >= 0)
      [this.top - 7, low + 1].forEach(from => c.fillRect(x, from, 2, 6));
    if (row >= 0 && this.rowSize >= 5)
      c.strokeRect(this.left - 1, this.top + row * this.rowSize - 1, this.plotWidth + 1, this.rowSize + 1);
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
    const x = event.offsetX - this.left, y = event.offsetY - this.top;
    const s = Math.floor(x / this.colSize), r = Math.floor(y / this.rowSize);
    if (s < 0 || s >= Pod.cell.steps || r < 0 || r >= this.order.length)
      this.onhover(null);
    else if (pick)
      this.onpick(s, this.order[r]);
    else
      this.onhover(s, this.order[r], event);
  }

  /* The middle of a cell on the page, for programs that drive the map. */
  middleOf(s, w) {
    const box = this.canvas.getBoundingClientRect();
    return {
      x: box.left + this.left + (s + 0.5) * this.colSize,
      y: box.top + this.top + (this.order.indexOf(w) + 0.5) * this.rowSize
    };
  }
}
