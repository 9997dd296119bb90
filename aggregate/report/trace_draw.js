/* Draws the timeline: rows of ranks and their tracks, events by colour, waiting hatched, flows, the clock error to scale. */
'use strict';

const TRACE = {
  label: 200,
  head: 24,
  lane: 16,
  gap: 4,
  drawn: 2000
};
const TRACE_STEPS = 0, TRACE_CUT_BEGIN = 1, TRACE_CUT_END = 2;

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

  /* Rows from top to bottom: a rank (its main track with all depths in one lane), or one track of an opened rank. */
  layout(ranks, open) {
    const t = Pod.timeline, many = new Set(t.rank.map(r => r.host)).size > 1;
    let y = 0;
    this.rows = [];
    for (const r of ranks) {
      const rank = t.rank[r], own = t.track.map((k, i) => i).filter(i => t.track[i].rank === r),
            main = own.find(i => t.track[i].main) ?? own.find(i => t.track[i].of !== TRACE_STEPS);
      const opened = open.has(rank.rank);
      this.rows.push({
        rank: r,
        track: opened ? null : main,
        flat: true,
        y,
        height: TRACE.lane,
        opened,
        name: `rank ${rank.rank}` + (many ? ` on ${rank.host}` : '')
      });
      y += TRACE.lane + TRACE.gap;
      for (const i of opened ? own : []) {
        const height = TRACE.lane * Math.max(1, t.track[i].depths);
        this.rows.push({rank: r, track: i, flat: false, y, height, name: t.track[i].name});
        y += height + TRACE.gap;
      }
    }
    this.total = y;
  }
  x(time) {
    return TRACE.label + (time - this.from) * this.scale;
  }
  y(row, depth) {
    return TRACE.head + row.y - this.scroll + (row.flat ? 0 : depth * TRACE.lane);
  }

  /* view: from, to, hits (by name; null: no search), selected (number), range, wait. */
  paint(view, height) {
    const {c, width} = fit(this.canvas, height);
    Object.assign(this, {c, width, height, from: view.from, to: view.to, view});
    this.scale = (width - TRACE.label) / (view.to - view.from);
    this.scroll = Math.max(0, Math.min(this.scroll, this.total + TRACE.head - height));
    this.fills = new Map();
    this.hatches = [];
    this.texts = [];
    this.torn = [];
    this.boxes = []; /* for the pointer: x, width, y, number, merged */
    this.visible = 0;
    for (const row of this.rows)
      if (row.track !== undefined && row.track !== null && this.y(row, 0) < height && this.y(row, 0) + row.height > TRACE.head)
        this.track(row);
    c.save();
    c.beginPath();
    c.rect(TRACE.label, TRACE.head, width - TRACE.label, height - TRACE.head);
    c.clip();
    this.gaps();
    this.flush();
    this.arrows();
    this.marks();
    c.restore();
    this.axis();
    this.names();
  }

  track(row) {
    this.flat = row.flat;
    for (const chunk of TraceData.loaded()) {
      const lanes = chunk.lanes[row.track] || [];
      lanes.forEach((lane, depth) => {
        this.inner = lanes[depth + 1];
        this.lane(row, chunk, lane, this.y(row, depth));
      });
    }
  }
  nests(e, i) {
    const k = this.inner ? lowerBound(e.begin, this.inner, e.begin[i]) : 0;
    return !!this.inner && k < this.inner.length && e.begin[this.inner[k]] < e.begin[i] + e.length[i];
  }
  lane(row, chunk, lane, y) {
    const {begin, length, name, category} = chunk.event, from = this.from - chunk.begin, to = this.to - chunk.begin,
                                pixel = 1 / this.scale;
    let k = Math.max(0, lowerBound(begin, lane, from) - 1);
    while (k < lane.length && begin[lane[k]] < to) {
      const i = lane[k];
      if (begin[i] + length[i] < from) {
        k++;
        continue;
      }
      let next = k + 1;
      if (length[i] < pixel) { /* all that is less than a pixel in this pixel is one bar */
        const edge = (Math.floor((begin[i] - from) * this.scale) + 1) / this.scale + from;
        next = Math.max(next, lowerBound(begin, lane, edge, k));
        if (next - 1 > k && length[lane[next - 1]] >= pixel)
          next--;
      }
      this.visible += next - k;
      let hit = !this.view.hits;
      for (let m = k; m < next && !hit; m++)
        hit = this.view.hits[name[lane[m]]] === 1;
      const x = Math.max(TRACE.label - 2, this.x(chunk.begin + begin[i])),
            right = Math.min(this.width + 2, this.x(chunk.begin + begin[i] + length[i]));
      this.box(chunk, i, x, Math.max(1, right - x - (right - x > 3 ? 1 : 0)), y, next - k, hit, category[i]);
      k = next;
    }
  }
  box(chunk, i, x, w, y, merged, hit, category) {
    const e = chunk.event, colour = category ? Pod.colour(category) : '#9aa0a6',
          key = (hit ? '1' : '0') + colour + chunk.event.depth[i], h = TRACE.lane - 2;
    if (!this.fills.has(key))
      this.fills.set(key, []);
    this.fills.get(key).push(x, y, w, h);
    this.boxes.push({x, w, y, number: chunk.first + i, merged});
    if (merged > 1)
      return;
    const d = e.detail[i] - 1;
    if (d >= 0 && chunk.call.has[d] & TRACE_HAS.wait && chunk.call.wait[d] > 0) {
      const wide = Math.min(this.x(chunk.begin + e.begin[i] + chunk.call.wait[d]), x + w) - x;
      if (wide >= 1)
        this.hatches.push([x, y, wide, h, colour, hit]);
    }
    if (e.flags[i] & (TRACE_CUT_BEGIN | TRACE_CUT_END))
      this.torn.push([x, y, w, h, e.flags[i]]);
    if (w > 28 && hit && (!this.flat || !this.nests(e, i))) /* others cover part of a name in a closed rank */
      this.texts.push([x, y, w, h, Pod.timeline.name[e.name[i]], colour]);
  }

  flush() {
    const {c} = this;
    for (const [key, list] of [...this.fills].sort((a, b) => a[0].slice(8) - b[0].slice(8))) /* the inner over the outer */ {
      c.globalAlpha = key[0] === '1' ? 1 : 0.2;
      c.fillStyle = key.slice(1, 8);
      for (let k = 0; k < list.length; k += 4)
        c.fillRect(list[k], list[k + 1], list[k + 2], list[k + 3]);
    }
    for (const [x, y, w, h, colour, hit] of this.hatches) {
      c.globalAlpha = hit ? 1 : 0.2;
      c.fillStyle = Hatch.of(c, colour);
      c.fillRect(x, y, w, h);
    }
    c.globalAlpha = 1;
    c.fillStyle = css('--ground');
    for (const [x, y, w, h, flags] of this.torn)
      for (let k = 0; k < h && w > 6; k += 4) {
        if (flags & TRACE_CUT_BEGIN)
          c.fillRect(x, y + k, 2, 2);
        if (flags & TRACE_CUT_END)
          c.fillRect(x + w - 2, y + k, 2, 2);
      }
    c.textBaseline = 'middle';
    c.textAlign = 'left';
    for (const [x, y, w, h, name, colour] of this.texts) {
      const left = Math.max(x, TRACE.label) + 4, room = Math.floor((x + w - left - 3) / 7);
      if (room < 3)
        continue;
      c.fillStyle = inkOn(colour);
      c.fillText(Format.name(name, room), left, y + h / 2 + 1, x + w - left);
    }
  }

  /* Steps that are not in the page, or not yet inflated. */
  gaps() {
    const {c} = this, t = Pod.timeline;
    for (const s of t.step) {
      const x = this.x(s.begin), w = this.x(s.end) - x, absent = s.chunk === null;
      if (x + w < TRACE.label || x > this.width || (!absent && t.chunk[s.chunk].lanes))
        continue;
      c.fillStyle = css('--faint');
      c.fillRect(x, TRACE.head, w, this.height);
      c.fillStyle = css('--soft');
      if (w > 120)
        c.fillText(absent ? `step ${s.number}: not in this page` : `step ${s.number}: loading`, Math.max(x, TRACE.label) + 6,
            TRACE.head + 12);
    }
  }

  /* Where an event stands: of a closed rank its main track, of an opened one its own. */
  place(number) {
    const at = TraceData.find(number);
    if (!at)
      return null;
    const e = at.c.event, row = this.rows.find(r => r.track === e.track[at.i]);
    if (!row || TraceData.off.has(e.category[at.i]))
      return null;
    const begin = at.c.begin + e.begin[at.i];
    return {begin: this.x(begin), end: this.x(begin + e.length[at.i]), y: this.y(row, e.depth[at.i]) + TRACE.lane / 2 - 1};
  }
  arrows() {
    const {c, view} = this;
    this.flows = 0;
    c.strokeStyle = css('--ink');
    c.fillStyle = css('--ink');
    for (const flow of view.selected === null ? [] : TraceData.flowsOf(view.selected)) {
      const a = this.place(flow.from), b = this.place(flow.to);
      if (!a || !b)
        continue;
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
  }
  /* The selected event, its clock error at the end of its wait, and the selected range of time. */
  marks() {
    const {c, view} = this, one = view.selected === null ? null : TraceData.of(view.selected),
              at = one && this.place(view.selected);
    c.strokeStyle = css('--ink');
    c.lineWidth = 2;
    if (at)
      c.strokeRect(at.begin, at.y - TRACE.lane / 2 + 1, Math.max(2, at.end - at.begin), TRACE.lane - 2);
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
      c.globalAlpha = 0.15;
      c.fillStyle = css('--accent');
      c.fillRect(x, TRACE.head, this.x(view.range[1]) - x, this.height);
      c.globalAlpha = 1;
    }
  }

  axis() {
    const {c, width, from, to} = this, origin = Pod.timeline.begin, step = ticks(to - from, 6)[1],
                           [size, unit] = Format.axis('ns', to - origin);
    const digits = Math.max(0, Math.ceil(-Math.log10(step / size)));
    c.fillStyle = css('--ground');
    c.fillRect(0, 0, width, TRACE.head);
    c.fillStyle = css('--soft');
    c.strokeStyle = css('--rule');
    c.textBaseline = 'middle';
    c.textAlign = 'left';
    for (let at = Math.ceil((from - origin) / step) * step; at <= to - origin; at += step) {
      const x = Math.round(this.x(origin + at)) + 0.5;
      c.beginPath();
      c.moveTo(x, 14);
      c.lineTo(x, TRACE.head);
      c.stroke();
      if (x < width - 60)
        c.fillText((at / size).toFixed(Math.min(digits, 9)) + NB + unit, x + 4, 10);
    }
    c.strokeStyle = css('--ink');
    for (const s of Pod.timeline.step)
      if (s.begin >= from && s.begin <= to) {
        const x = Math.round(this.x(s.begin)) + 0.5;
        c.beginPath();
        c.moveTo(x, TRACE.head - 5);
        c.lineTo(x, TRACE.head);
        c.stroke();
      }
  }
  names() {
    const {c, height} = this;
    c.save();
    c.beginPath();
    c.rect(0, TRACE.head, this.width, height);
    c.clip();
    c.fillStyle = css('--ground');
    c.fillRect(0, TRACE.head, TRACE.label - 1, height);
    c.textBaseline = 'middle';
    for (const row of this.rows) {
      const y = this.y(row, 0) + TRACE.lane / 2;
      if (y < 0 || y > height + TRACE.lane)
        continue;
      c.fillStyle = css(row.flat ? '--ink' : '--soft');
      c.fillText(Format.name((row.flat ? (row.opened ? '\u25be ' : '\u25b8 ') : '    ') + row.name, 28), 2, y);
      if (row.flat && Pod.timeline.rank[row.rank].missing) {
        c.fillStyle = css('--soft');
        c.fillText(Pod.timeline.rank[row.rank].missing, TRACE.label + 6, y);
      }
    }
    c.restore();
  }

  /* The innermost box under a point. */
  at(x, y) {
    for (let k = this.boxes.length - 1; k >= 0; k--) {
      const b = this.boxes[k];
      if (y >= b.y && y < b.y + TRACE.lane - 1 && x >= b.x - 1 && x <= b.x + b.w + 1 && x >= TRACE.label && y >= TRACE.head)
        return b;
    }
    return null;
  }
  rowAt(y) {
    return this.rows.find(r => y >= this.y(r, 0) && y < this.y(r, 0) + r.height + TRACE.gap);
  }
}
