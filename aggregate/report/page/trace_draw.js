/* Draws the timeline: rows of ranks and their tracks, events by colour, waiting hatched, flows, the clock error to scale. */
'use strict';

const TRACE = {
  label: 200,
  head: 42,
  level: 16,
  chart: 34,
  gap: 4,
  drawn: 2000,    /* arrows of all events */
  none: '#c3c8ce' /* colour of events without a category: steps, marks */
};
const TRACE_CUT_BEGIN = 1, TRACE_CUT_END = 2;

function inkOn(colour) {
  const [r, g, b] =
      [1, 3, 5].map(i => parseInt(colour.slice(i, i + 2), 16) / 255).map(v => v <= 0.04 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.18 ? '#000000' : '#ffffff';
}

class TraceDraw {
  constructor(canvas) {
    this.canvas = canvas;
    this.rows = [];
    this.scroll = 0;
  }

  /* Rows from top to bottom: a rank (its main track with all depths in one level), or one track or counter of an opened rank. */
  layout(open) {
    const t = Pod.timeline, many = new Set(t.rank.map(r => r.host)).size > 1, of = list => {
      const by = t.rank.map(() => []);
      list.forEach((k, i) => by[k.rank].push(i));
      return by;
    };
    const tracks = of(t.track), counters = of(t.counter);
    let y = 0;
    this.rows = [];
    for (let r = 0; r < t.rank.length; r++) {
      const rank = t.rank[r], own = tracks[r],
            main = own.find(i => t.track[i].main) ?? own.find(i => t.track[i].of !== TRACE_OF.steps);
      const opened = open.has(rank.rank);
      this.rows.push({
        rank: r,
        track: opened ? null : main,
        flat: true,
        y,
        height: TRACE.level,
        opened,
        name: `rank ${rank.rank}` + (many ? ` on ${rank.host}` : '')
      });
      y += TRACE.level + TRACE.gap;
      for (const i of opened ? own : []) {
        const height = TRACE.level * Math.max(1, t.track[i].depths);
        this.rows.push({rank: r, track: i, flat: false, y, height, name: t.track[i].name.replace(`rank ${rank.rank} `, '')});
        y += height + TRACE.gap;
      }
      for (const i of opened ? counters[r] : []) {
        this.rows.push({rank: r, track: null, counter: t.counter[i], flat: false, y, height: TRACE.chart, name: t.counter[i].name});
        y += TRACE.chart + TRACE.gap;
      }
    }
    this.total = y;
    this.ofTrack = [];
    this.ofRank = [];
    for (const row of this.rows) {
      if (row.flat)
        this.ofRank[row.rank] = row;
      if (row.track !== null && row.track !== undefined)
        this.ofTrack[row.track] = row;
    }
  }
  x(time) {
    return TRACE.label + (time - this.from) * this.scale;
  }
  y(row, depth) {
    return TRACE.head + row.y - this.scroll + (row.flat ? 0 : depth * TRACE.level);
  }

  /* view: from, to, hits (by name; null: no search), selected (number), range, wait. */
  paint(view, height) {
    const {c, width} = fit(this.canvas, height);
    Object.assign(this, {c, width, height, from: view.from, to: view.to, view});
    TRACE.label = width < 700 ? 120 : 200;
    this.scale = (width - TRACE.label) / (view.to - view.from);
    this.scroll = Math.max(0, Math.min(this.scroll, this.total + TRACE.head - height));
    this.ink = Object.fromEntries(['ink', 'soft', 'rule', 'faint', 'ground', 'accent'].map(name => [name, css('--' + name)]));
    this.chunks = TraceData.loaded().filter(k => k.begin <= view.to && k.end >= view.from);
    this.fills = new Map();
    this.colours = [];
    this.hatches = [];
    this.texts = [];
    this.torn = [];
    this.boxes = []; /* for the pointer: x, width, y, number, merged */
    this.visible = 0;
    const shown = this.rows.filter(row => this.y(row, 0) < height && this.y(row, 0) + row.height > TRACE.head);
    for (const row of shown)
      if (row.track !== undefined && row.track !== null)
        this.track(row);
    c.save();
    c.beginPath();
    c.rect(TRACE.label, TRACE.head, width - TRACE.label, height - TRACE.head);
    c.clip();
    this.gaps();
    shown.filter(row => row.counter).forEach(row => this.chart(row));
    this.flush();
    this.arrows();
    this.marks();
    c.restore();
    this.axis();
    this.names();
  }

  track(row) {
    this.flat = row.flat;
    for (const chunk of this.chunks) {
      const levels = chunk.levels[row.track] || [];
      levels.forEach((level, depth) => {
        this.inner = levels[depth + 1];
        this.level(chunk, level, this.y(row, depth), this.view.hits && chunk.upTo[row.track][depth]);
      });
    }
  }
  nests(e, i) {
    const k = this.inner ? lowerBound(e.begin, this.inner, e.begin[i]) : 0;
    return !!this.inner && k < this.inner.length && e.begin[this.inner[k]] < e.begin[i] + e.length[i];
  }
  level(chunk, level, y, upTo) {
    const {begin, length, category} = chunk.event, from = this.from - chunk.begin, to = this.to - chunk.begin,
                          pixel = 1 / this.scale;
    let k = Math.max(0, lowerBound(begin, level, from) - 1);
    while (k < level.length && begin[level[k]] < to) {
      const i = level[k];
      if (begin[i] + length[i] < from) {
        k++;
        continue;
      }
      let next = k + 1;
      if (length[i] < pixel) { /* all that is less than a pixel in this pixel is one bar */
        const edge = (Math.floor((begin[i] - from) * this.scale) + 1) / this.scale + from;
        next = Math.max(next, lowerBound(begin, level, edge, k));
        if (next - 1 > k && length[level[next - 1]] >= pixel)
          next--;
      }
      this.visible += next - k;
      const hit = !upTo || upTo[next] > upTo[k];
      const x = Math.round(Math.max(TRACE.label - 2, this.x(chunk.begin + begin[i]))),
            right = Math.round(Math.min(this.width + 2, this.x(chunk.begin + begin[i] + length[i])));
      this.box(chunk, i, x, Math.max(1, right - x - (right - x > 3 ? 1 : 0)), y, next - k, hit, category[i]);
      k = next;
    }
  }
  box(chunk, i, x, w, y, merged, hit, category) {
    const e = chunk.event,
          colour = this.colours[category] || (this.colours[category] = category ? Pod.colour(category) : TRACE.none),
          key = (hit ? '1' : '0') + colour + chunk.event.depth[i], h = TRACE.level - 2;
    let list = this.fills.get(key);
    if (!list)
      this.fills.set(key, list = []);
    const last = list.length - 4;
    if (last >= 0 && list[last + 1] === y && list[last] <= x && list[last] + list[last + 2] >= x) /* they touch: one is drawn */
      list[last + 2] = Math.max(list[last + 2], x + w - list[last]);
    else
      list.push(x, y, w, h);
    this.boxes.push({x, w, y, number: chunk.first + i, merged});
    if (merged > 1)
      return;
    const d = e.detail[i] - 1, before = this.hatches.length;
    if (d >= 0 && chunk.call.has[d] & TRACE_HAS.wait && chunk.call.wait[d] > 0) {
      const wide = Math.min(this.x(chunk.begin + e.begin[i] + chunk.call.wait[d]), x + w) - x;
      if (wide >= 1)
        this.hatches.push([x, y, wide, h, colour, hit]);
    }
    if (e.flags[i] & (TRACE_CUT_BEGIN | TRACE_CUT_END))
      this.torn.push([x, y, w, h, e.flags[i]]);
    if (w > 28 && hit && (!this.flat || !this.nests(e, i))) /* others cover part of a name in a closed rank */
      this.texts.push([x, y, w, h, Pod.timeline.name[e.name[i]], colour, this.hatches.length > before]);
  }

  flush() {
    const {c} = this;
    for (const [key, list] of [...this.fills].sort((a, b) => a[0].slice(8) - b[0].slice(8))) /* the inner over the outer */ {
      c.globalAlpha = key[0] === '1' ? 1 : 0.2;
      c.fillStyle = key.slice(1, 8);
      for (let k = 0; k < list.length; k += 4)
        c.fillRect(list[k], list[k + 1], list[k + 2], list[k + 3]);
    }
    const patterns = new Map();
    for (const [x, y, w, h, colour, hit] of this.hatches) {
      if (!patterns.has(colour))
        patterns.set(colour, Hatch.of(c, colour));
      c.globalAlpha = hit ? 1 : 0.2;
      c.fillStyle = patterns.get(colour);
      c.fillRect(x, y, w, h);
    }
    c.globalAlpha = 1;
    c.fillStyle = this.ink.ground;
    for (const [x, y, w, h, flags] of this.torn)
      for (let k = 0; k < h && w > 6; k += 4) {
        if (flags & TRACE_CUT_BEGIN)
          c.fillRect(x, y + k, 2, 2);
        if (flags & TRACE_CUT_END)
          c.fillRect(x + w - 2, y + k, 2, 2);
      }
    c.textBaseline = 'middle';
    c.textAlign = 'left';
    for (const [x, y, w, h, name, colour, hatched] of this.texts) {
      const left = Math.max(x, TRACE.label) + 4, room = Math.floor((x + w - left - 3) / 7);
      if (room < 3)
        continue;
      const text = Format.name(name, room), wide = Math.min(c.measureText(text).width, x + w - left);
      if (hatched && wide > w / 2) /* that it waited says more than its name */
        continue;
      c.fillStyle = colour; /* no hatching behind letters */
      c.fillRect(left - 2, y, wide + 4, h);
      c.fillStyle = inkOn(colour);
      c.fillText(text, left, y + h / 2 + 1, wide);
    }
  }

  /* Steps that are not in the page, or not yet inflated. */
  gaps() {
    const {c} = this, t = Pod.timeline;
    for (const s of t.step) {
      const x = this.x(s.begin), w = this.x(s.end) - x, absent = s.chunk === null;
      if (x + w < TRACE.label || x > this.width || (!absent && t.chunk[s.chunk].levels))
        continue;
      c.fillStyle = this.ink.faint;
      c.fillRect(x, TRACE.head, w, this.height);
      c.fillStyle = this.ink.soft;
      if (w > 120)
        c.fillText(absent ? `step ${s.number}: not in this page` : `step ${s.number}: loading`, Math.max(x, TRACE.label) + 6,
            TRACE.head + 12);
    }
  }

  /* A counter over time, from 0 to its largest value in the page. A value stands until the next one: none is made up between. */
  chart(row) {
    const {c} = this, {time, value, unit} = row.counter, n = time.length;
    if (!n)
      return;
    row.most = row.most || value.reduce((a, b) => Math.max(a, b), 0) || 1;
    const top = this.y(row, 0), floor = top + TRACE.chart - 1, y = v => floor - Math.max(0, v) / row.most * (TRACE.chart - 12);
    let k = 0;
    while (k + 1 < n && time[k + 1] < this.from)
      k++;
    c.beginPath();
    c.moveTo(this.x(time[k]), floor);
    let x = this.x(time[k]), before = y(value[k]);
    for (; k < n; k++) {
      x = this.x(time[k]);
      c.lineTo(x, before);
      before = y(value[k]);
      c.lineTo(x, before);
      if (x > this.width)
        break;
    }
    c.lineTo(x, floor);
    c.globalAlpha = 0.3;
    c.fillStyle = this.ink.accent;
    c.fill();
    c.globalAlpha = 1;
    c.fillStyle = this.ink.soft;
    c.textBaseline = 'middle';
    c.textAlign = 'left';
    const away = time[0] > this.to || time[n - 1] < this.from;
    c.fillText(`at most ${Format.by(unit, row.most)}${away ? '; no sample here' : ''}`, TRACE.label + 6, top + 5);
  }

  /* Where an event stands: on its track, or on the row of its rank where that is closed. null: it is hidden, or not loaded. */
  place(number) {
    const at = TraceData.find(number);
    if (!at || TraceData.off.has(at.c.event.category[at.i]))
      return null;
    const e = at.c.event, i = at.i, row = this.rowOf(e.track[i]), begin = at.c.begin + e.begin[i];
    return {begin: this.x(begin), end: this.x(begin + e.length[i]), y: this.y(row, e.depth[i]) + TRACE.level / 2 - 1};
  }
  rowOf(track) {
    return this.ofTrack[track] || this.ofRank[Pod.timeline.track[track].rank];
  }
  /* Those of the selected event, and of the kinds that are switched on. Too many at once would be a black area: those that are not
   * drawn are counted. */
  arrows() {
    const {c, view} = this, own = view.selected === null ? [] : TraceData.flowsOf(view.selected);
    this.flows = 0;
    this.notDrawn = 0;
    c.strokeStyle = this.ink.ink;
    c.fillStyle = this.ink.ink;
    c.globalAlpha = 0.45;
    if (view.arrows.size)
      for (const chunk of TraceData.loaded())
        for (let k = 0; k < chunk.flows; k++)
          if (view.arrows.has(chunk.arrow.kind[k]))
            this.arrow(chunk.arrow.from[k], chunk.arrow.to[k]);
    c.globalAlpha = 1;
    c.lineWidth = 1.5;
    for (const flow of own)
      this.arrow(flow.from, flow.to, true);
    c.lineWidth = 1;
  }
  arrow(from, to, always) {
    const a = this.place(from), b = this.place(to), {c} = this;
    if (!a || !b || Math.max(a.begin, b.begin) < TRACE.label || Math.min(a.begin, b.begin) > this.width ||
        Math.max(a.y, b.y) < TRACE.head || Math.min(a.y, b.y) > this.height)
      return;
    if (this.flows >= TRACE.drawn && !always) {
      this.notDrawn++;
      return;
    }
    this.flows++;
    const [x0, x1] = [a.begin, b.begin], bend = Math.max(24, Math.abs(x1 - x0) / 3);
    c.beginPath();
    c.moveTo(x0, a.y);
    c.bezierCurveTo(x0 + bend, a.y, x1 - bend, b.y, x1, b.y);
    c.stroke();
    c.beginPath();
    c.moveTo(x1, b.y);
    c.lineTo(x1 - 6, b.y - 3);
    c.lineTo(x1 - 6, b.y + 3);
    c.fill();
  }
  /* The selected event, its clock error at the end of its wait, and the selected range of time. */
  marks() {
    const {c, view} = this, one = view.selected === null ? null : TraceData.of(view.selected),
              at = one && this.place(view.selected);
    c.strokeStyle = this.ink.ink;
    c.lineWidth = 2;
    if (at)
      c.strokeRect(at.begin, at.y - TRACE.level / 2 + 1, Math.max(2, at.end - at.begin), TRACE.level - 2);
    c.lineWidth = 1;
    const bound = one && one.call && one.call.wait !== null ? one.call.bound : NaN;
    this.error = bound * this.scale; /* pixels to each side */
    if (at && this.error > 1) {
      const x = this.x(one.begin + one.call.wait), y = at.y;
      for (const [dx, dy, ex, ey] of [
               [-this.error, 0, this.error, 0], [-this.error, -4, -this.error, 4], [this.error, -4, this.error, 4]]) {
        c.beginPath();
        c.moveTo(x + dx, y + dy);
        c.lineTo(x + ex, y + ey);
        c.stroke();
      }
    }
    if (view.range) {
      const x = this.x(view.range[0]);
      const right = this.x(view.range[1]), text = Format.time(view.range[1] - view.range[0]), w = c.measureText(text).width + 10;
      c.globalAlpha = 0.15;
      c.fillStyle = this.ink.accent;
      c.fillRect(x, TRACE.head, right - x, this.height);
      c.globalAlpha = 1;
      for (const edge of [x, right])
        c.fillRect(edge - 0.5, TRACE.head, 1, this.height);
      const middle = Math.max(TRACE.label + w / 2, Math.min(this.width - w / 2, (x + right) / 2));
      c.fillRect(middle - w / 2, this.height - 22, w, 18);
      c.fillStyle = this.ink.ground;
      c.textAlign = 'center';
      c.fillText(text, middle, this.height - 12);
      c.textAlign = 'left';
    }
  }

  axis() {
    const {c, width, from, to} = this, origin = Pod.timeline.low, step = ticks(to - from, 6)[1],
                           [size, unit] = Format.axis('ns', to - origin);
    let digits = 0; /* as many as a step of the axis has: 2.5 ms has one */
    while (digits < 9 && Math.abs(step / size * 10 ** digits - Math.round(step / size * 10 ** digits)) > 1e-6)
      digits++;
    c.fillStyle = this.ink.ground;
    c.fillRect(0, 0, width, TRACE.head);
    c.fillStyle = this.ink.soft;
    c.strokeStyle = this.ink.rule;
    c.textBaseline = 'middle';
    c.textAlign = 'left';
    for (let at = Math.ceil((from - origin) / step) * step; at <= to - origin; at += step) {
      const x = Math.round(this.x(origin + at)) + 0.5;
      c.beginPath();
      c.moveTo(x, 14);
      c.lineTo(x, 20);
      c.stroke();
      if (x < width - 60)
        c.fillText((at / size).toFixed(digits) + NB + unit, x + 4, 10);
    }
    c.fillStyle = this.ink.soft;
    c.fillText('time', 2, 10);
    c.fillText('step', 2, 31);
    this.steps();
  }
  /* From the first rank's begin to the last one's end: they may overlap. The pinned one stands out. */
  steps() {
    const {c, from, to, view} = this;
    let room = TRACE.label;
    for (const s of Pod.timeline.step) {
      if (s.end < from || s.begin > to)
        continue;
      const left = Math.max(TRACE.label, this.x(s.begin)), right = Math.min(this.width, this.x(s.end)),
            pinned = s.number === view.step;
      c.fillStyle = pinned ? this.ink.accent : this.ink.faint;
      c.fillRect(left, 22, Math.max(1, right - left - 1), 17);
      const text = String(s.number), wide = c.measureText(text).width;
      if (left < room - 1 || right - left < wide + 8)
        continue;
      c.fillStyle = pinned ? this.ink.ground : this.ink.ink;
      c.fillText(text, left + 4, 31);
      room = left + wide + 8;
    }
  }
  names() {
    const {c, height} = this;
    c.save();
    c.beginPath();
    c.rect(0, TRACE.head, this.width, height);
    c.clip();
    c.fillStyle = this.ink.ground;
    c.fillRect(0, TRACE.head, TRACE.label - 1, height);
    c.textBaseline = 'middle';
    for (const row of this.rows) {
      const y = this.y(row, 0) + TRACE.level / 2;
      if (y < 0 || y > height + TRACE.level)
        continue;
      if (row.flat && row.rank === this.view.rank) {
        c.fillStyle = this.ink.faint;
        c.fillRect(0, y - TRACE.level / 2 - 1, TRACE.label - 1, TRACE.level + 1);
      }
      c.fillStyle = row.flat ? this.ink.ink : this.ink.soft;
      c.fillText(
          Format.name((row.flat ? (row.opened ? '\u25be ' : '\u25b8 ') : '    ') + row.name, Math.floor(TRACE.label / 7)), 2, y);
      if (row.flat && Pod.timeline.rank[row.rank].missing) {
        c.fillStyle = this.ink.soft;
        c.fillText('No events: ' + Pod.timeline.rank[row.rank].missing, TRACE.label + 6, y);
      }
    }
    c.restore();
  }

  /* The innermost box under a point. */
  at(x, y) {
    for (let k = this.boxes.length - 1; k >= 0; k--) {
      const b = this.boxes[k];
      if (y >= b.y && y < b.y + TRACE.level - 1 && x >= b.x - 1 && x <= b.x + b.w + 1 && x >= TRACE.label && y >= TRACE.head)
        return b;
    }
    return null;
  }
  rowAt(y) {
    return this.rows.find(r => y >= this.y(r, 0) && y < this.y(r, 0) + r.height + TRACE.gap);
  }
}
