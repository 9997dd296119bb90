/* Draws the timeline: rows of ranks and their tracks, events by colour, waiting hatched, flows, the clock error to scale. Of the
 * section "Timeline"; tracks.js has the layout of the board. */
'use strict';

const TRACE = {
  label: 200,
  head: 42,
  level: 16,
  chart: 34,
  busy: 6, /* when a device of a closed rank had work */
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

/* By rank (index): the indexes of its tracks or counters. */
function traceOf(list) {
  const by = Pod.timeline.rank.map(() => []);
  list.forEach((k, i) => by[k.rank].push(i));
  return by;
}

/* Of a rank's tracks the devices: [number + 1, its streams]. */
function traceDevices(tracks) {
  const by = new Map();
  for (const i of tracks) {
    const {of, device} = Pod.timeline.track[i];
    if (of === TRACE_OF.stream && device)
      by.has(device) ? by.get(device).push(i) : by.set(device, [i]);
  }
  return [...by];
}

class TraceDraw {
  constructor(canvas) {
    this.canvas = canvas;
    this.rows = [];
    this.scroll = 0;
    this.head = TRACE.head;
    this.foot = 0;
  }

  /* Rows from top to bottom: a rank (its main track with all depths in one level), or one track or counter of an opened rank. A
   * row: rank (index), tracks, flat (all depths in one level), level (height of one), bar (height of what is drawn), shift (ns:
   * what its clock is ahead of the axis). */
  layout(open) {
    const t = Pod.timeline, many = new Set(t.rank.map(r => r.host)).size > 1, tracks = traceOf(t.track),
          counters = traceOf(t.counter), size = {level: TRACE.level, bar: TRACE.level - 2, gap: TRACE.gap, shift: 0};
    let y = 0;
    this.rows = [];
    for (let r = 0; r < t.rank.length; r++) {
      const rank = t.rank[r], own = tracks[r],
            main = own.find(i => t.track[i].main) ?? own.find(i => t.track[i].of !== TRACE_OF.steps);
      const opened = open.has(rank.rank);
      this.rows.push({
        ...size,
        rank: r,
        tracks: opened || main === undefined ? [] : [main],
        flat: true,
        head: true,
        y,
        height: TRACE.level,
        opened,
        name: `rank ${rank.rank}` + (many ? ` on ${rank.host}` : '')
      });
      y += TRACE.level + TRACE.gap;
      for (const [device, streams] of opened ? [] : traceDevices(own)) { /* close below their rank */
        const height = TRACE.busy;
        this.rows.push({...size, rank: r, tracks: [], device, streams, y: y - TRACE.gap - 1, height, bar: height, name: ''});
        y += height;
      }
      for (const i of opened ? own : []) {
        const height = TRACE.level * Math.max(1, t.track[i].depths);
        this.rows.push(
            {...size, rank: r, tracks: [i], flat: false, y, height, name: t.track[i].name.replace(`rank ${rank.rank} `, '')});
        y += height + TRACE.gap;
      }
      for (const i of opened ? counters[r] : []) {
        this.rows.push({...size, rank: r, tracks: [], counter: t.counter[i], y, height: TRACE.chart, name: t.counter[i].name});
        y += TRACE.chart + TRACE.gap;
      }
    }
    this.total = y;
    this.find();
  }
  find() {
    this.ofTrack = [];
    this.ofRank = [];
    for (const row of this.rows) {
      if (row.head)
        this.ofRank[row.rank] = row;
      for (const track of row.tracks)
        this.ofTrack[track] = row;
    }
  }
  x(time, shift = 0) {
    return this.left + (time - shift - this.from) * this.scale;
  }
  y(row, depth) {
    return this.head + row.y - this.scroll + (row.flat ? 0 : depth * row.level);
  }

  /* view: from, to, hits (by name; null: no search), selected (number), range, wait. */
  paint(view, height) {
    this.begin(view, fit(this.canvas, height));
    this.left = TRACE.label = this.width < 700 ? 120 : 200;
    this.scale = (this.width - this.left) / (view.to - view.from);
    this.scroll = Math.max(0, Math.min(this.scroll, this.total + this.head - height));
    this.clip();
    this.gaps();
    this.events();
    this.flush();
    this.arrows();
    this.marks();
    this.c.restore();
    this.axis();
    this.names();
  }
  begin(view, {c, width, height}) {
    Object.assign(this, {c, width, height, from: view.from, to: view.to, view});
    this.ink = Object.fromEntries(['ink', 'soft', 'rule', 'faint', 'ground', 'accent'].map(name => [name, css('--' + name)]));
    this.ink.edge = css('--edge');
    this.fills = []; /* [(depth, category, hit)]: x, y, width, height of each bar */
    this.colours = [];
    this.hatches = [];
    this.texts = [];
    this.torn = [];
    this.boxes = []; /* for the pointer: x, y, width, height, number, merged of each */
    this.visible = 0;
  }
  clip() {
    const {c} = this;
    c.save();
    c.beginPath();
    c.rect(this.left, this.head, this.width - this.left, this.height - this.head - this.foot);
    c.clip();
  }
  events() {
    const shown = this.rows.filter(row => this.y(row, 0) < this.height && this.y(row, 0) + row.height > this.head),
          shifts = shown.map(row => row.shift), low = Math.min(0, ...shifts), high = Math.max(0, ...shifts);
    this.chunks = TraceData.loaded().filter(k => k.begin <= this.to + high && k.end >= this.from + low);
    for (const row of shown)
      for (const track of row.tracks)
        this.track(row, track);
    shown.filter(row => row.counter).forEach(row => this.chart(row));
    shown.filter(row => row.device).forEach(row => this.busy(row));
  }

  track(row, track) {
    this.row = row;
    for (const chunk of this.chunks) {
      const levels = chunk.levels[track] || [];
      levels.forEach((level, depth) => {
        this.inner = levels[depth + 1];
        this.level(chunk, level, this.y(row, depth), this.view.hits && chunk.upTo[track][depth]);
      });
    }
  }
  /* When any stream of a device had work. */
  busy(row) {
    const {c} = this;
    c.fillStyle = css('--usual');
    for (const chunk of this.chunks) {
      const {begin, end, n} = TraceData.busy(chunk, row.streams);
      let right = -1;
      for (let k = 0; k < n; k++) {
        const x = this.x(chunk.begin + begin[k], row.shift), to = Math.max(x + 0.5, this.x(chunk.begin + end[k], row.shift));
        if (to < this.left || x > this.width || to <= right)
          continue;
        c.fillRect(Math.max(x, right), row.y, to - Math.max(x, right), row.bar);
        right = to;
      }
    }
  }
  nests(e, i) {
    const k = this.inner ? lowerBound(e.begin, this.inner, e.begin[i]) : 0;
    return !!this.inner && k < this.inner.length && e.begin[this.inner[k]] < e.begin[i] + e.length[i];
  }
  level(chunk, level, y, upTo) {
    const {begin, length, category} = chunk.event, {shift} = this.row, from = this.from + shift - chunk.begin,
                          to = this.to + shift - chunk.begin, pixel = 1 / this.scale;
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
      const x = Math.round(Math.max(this.left - 2, this.x(chunk.begin + begin[i], shift))),
            right = Math.round(Math.min(this.width + 2, this.x(chunk.begin + begin[i] + length[i], shift)));
      this.box(chunk, i, x, Math.max(1, right - x - (right - x > 3 ? 1 : 0)), y, next - k, hit, category[i]);
      k = next;
    }
  }
  box(chunk, i, x, w, y, merged, hit, category) {
    const e = chunk.event, h = this.row.bar, colour = this.colours[category] || this.colour(category),
          key = (e.depth[i] * 256 + category) * 2 + (hit ? 1 : 0), list = this.fills[key] || (this.fills[key] = []),
          last = list.length - 4;
    if (last >= 0 && list[last + 1] === y && list[last] <= x && list[last] + list[last + 2] >= x) /* they touch: one is drawn */
      list[last + 2] = Math.max(list[last + 2], x + w - list[last]);
    else
      list.push(x, y, w, h);
    this.boxes.push(x, y, w, h, chunk.first + i, merged);
    if (merged > 1)
      return;
    const d = e.detail[i] - 1, before = this.hatches.length;
    if (d >= 0 && chunk.call.has[d] & TRACE_HAS.wait && chunk.call.wait[d] > 0) {
      const wide = Math.min(this.x(chunk.begin + e.begin[i] + chunk.call.wait[d], this.row.shift), x + w) - x;
      if (wide >= 1)
        this.hatches.push([x, y, wide, h, colour, hit]);
    }
    if (e.flags[i] & (TRACE_CUT_BEGIN | TRACE_CUT_END))
      this.torn.push([x, y, w, h, e.flags[i]]);
    if (w > 28 && hit && this.named(e.name[i]) &&
        (!this.row.flat || !this.nests(e, i))) /* others cover part of a name in a closed rank */
      this.texts.push([x, y, w, h, Pod.timeline.name[e.name[i]], colour, this.hatches.length > before]);
  }
  colour(category) {
    return this.colours[category] = category ? Pod.colour(category) : TRACE.none;
  }
  named() {
    return true;
  }

  flush() {
    const {c} = this;
    this.fills.forEach((list, key) => { /* the inner over the outer */
      c.globalAlpha = key & 1 ? 1 : 0.2;
      c.fillStyle = this.colours[key >> 1 & 255];
      for (let k = 0; k < list.length; k += 4)
        c.fillRect(list[k], list[k + 1], list[k + 2], list[k + 3]);
      c.fillStyle = this.ink.edge; /* some colours are faint on white: a bar has a base line */
      for (let k = 0; k < list.length; k += 4)
        if (list[k + 3] > 8)
          c.fillRect(list[k], list[k + 1] + list[k + 3] - 1, list[k + 2], 1);
    });
    this.hatch();
    c.globalAlpha = 1;
    c.fillStyle = this.ink.ground;
    for (const [x, y, w, h, flags] of this.torn)
      for (let k = 0; k < h && w > 6; k += 4) {
        if (flags & TRACE_CUT_BEGIN)
          c.fillRect(x, y + k, 2, 2);
        if (flags & TRACE_CUT_END)
          c.fillRect(x + w - 2, y + k, 2, 2);
      }
    this.words();
  }
  hatch() {
    const {c} = this, patterns = new Map();
    for (const [x, y, w, h, colour, hit] of this.hatches) {
      if (!patterns.has(colour))
        patterns.set(colour, Hatch.of(c, colour));
      c.globalAlpha = hit ? 1 : 0.2;
      c.fillStyle = patterns.get(colour);
      c.fillRect(x, y, w, h);
      c.fillStyle = this.ink.edge;
      if (h > 8)
        c.fillRect(x, y + h - 1, w, 1);
    }
    c.globalAlpha = 1;
  }
  words() {
    const {c} = this;
    c.textBaseline = 'middle';
    c.textAlign = 'left';
    for (const [x, y, w, h, name, colour, hatched] of this.texts) {
      const left = Math.max(x, this.left) + 4, room = Math.floor((x + w - left - 3) / 7);
      if (room < 3)
        continue;
      const text = Format.short(name, room), wide = Math.min(c.measureText(text).width, x + w - left);
      if (hatched && wide > w / 2) /* that it waited says more than its name */
        continue;
      if (hatched) { /* no hatching behind letters */
        c.fillStyle = this.ink.ground;
        c.fillRect(left - 3, y + h / 2 - Math.min(16, h) / 2, wide + 6, Math.min(16, h));
      }
      c.fillStyle = hatched ? this.ink.ink : inkOn(colour);
      c.fillText(text, left, y + h / 2 + 1, wide);
    }
  }

  /* Steps that are not in the page, or not yet inflated. */
  gaps() {
    const {c} = this, t = Pod.timeline;
    for (const s of t.step) {
      const x = this.x(s.begin), w = this.x(s.end) - x, absent = s.chunk === null;
      if (x + w < this.left || x > this.width || (!absent && t.chunk[s.chunk].levels))
        continue;
      c.fillStyle = this.ink.faint;
      c.fillRect(x, this.head, w, this.height);
      c.fillStyle = this.ink.soft;
      if (w > 120)
        c.fillText(absent ? `step ${s.number}: not in this page` : `step ${s.number}: loading`, Math.max(x, this.left) + 6,
            this.head + 12);
    }
  }

  /* A counter over time, from 0 to its largest value in the page. A value stands until the next one: none is made up between. */
  chart(row) {
    const {c} = this, {time, value, unit} = row.counter, n = time.length, {shift} = row;
    if (!n)
      return;
    row.most = row.most || value.reduce((a, b) => Math.max(a, b), 0) || 1;
    const top = this.y(row, 0), floor = top + row.height - 1, y = v => floor - Math.max(0, v) / row.most * (row.height - 12);
    let k = 0;
    while (k + 1 < n && time[k + 1] < this.from + shift)
      k++;
    c.beginPath();
    c.moveTo(this.x(time[k], shift), floor);
    let x = this.x(time[k], shift), before = y(value[k]);
    for (; k < n; k++) {
      x = this.x(time[k], shift);
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
    const away = time[0] > this.to + shift || time[n - 1] < this.from + shift;
    c.fillText(`at most ${Format.by(unit, row.most)}${away ? '; no sample here' : ''}`, this.left + 6, top + 5);
  }

  /* Where an event stands: on its track, or on the row of its rank where that is closed. null: it is hidden, or not loaded. */
  place(number) {
    const at = TraceData.find(number);
    if (!at || TraceData.off.has(at.c.event.category[at.i]))
      return null;
    const e = at.c.event, i = at.i, row = this.rowOf(e.track[i]), begin = at.c.begin + e.begin[i];
    return row ? {
      begin: this.x(begin, row.shift),
      end: this.x(begin + e.length[i], row.shift),
      y: this.y(row, e.depth[i]) + row.bar / 2,
      h: row.bar,
      shift: row.shift
    }
               : null;
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
    if (!a || !b || Math.max(a.begin, b.begin) < this.left || Math.min(a.begin, b.begin) > this.width ||
        Math.max(a.y, b.y) < this.head || Math.min(a.y, b.y) > this.height)
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
      c.strokeRect(at.begin, at.y - at.h / 2, Math.max(2, at.end - at.begin), at.h);
    c.lineWidth = 1;
    const bound = one && one.call && one.call.wait !== null ? one.call.bound : NaN;
    this.error = bound * this.scale; /* pixels to each side */
    if (at && this.error > 1) {
      const x = this.x(one.begin + one.call.wait, at.shift), y = at.y;
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
      c.fillRect(x, this.head, right - x, this.height);
      c.globalAlpha = 1;
      for (const edge of [x, right])
        c.fillRect(edge - 0.5, this.head, 1, this.height);
      const middle = Math.max(this.left + w / 2, Math.min(this.width - w / 2, (x + right) / 2));
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
            pinned = s.number >= view.steps[0] && s.number <= view.steps[1];
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
      if (row.head && row.rank === this.view.rank) {
        c.fillStyle = this.ink.faint;
        c.fillRect(0, y - TRACE.level / 2 - 1, TRACE.label - 1, TRACE.level + 1);
      }
      c.fillStyle = row.head ? this.ink.ink : this.ink.soft;
      c.fillText(
          Format.short((row.head ? (row.opened ? '\u25be ' : '\u25b8 ') : '    ') + row.name, Math.floor(TRACE.label / 7)), 2, y);
      if (row.head && Pod.timeline.rank[row.rank].missing) {
        c.fillStyle = this.ink.soft;
        c.fillText('No events: ' + Pod.timeline.rank[row.rank].missing, TRACE.label + 6, y);
      }
    }
    c.restore();
  }

  /* The innermost box under a point. */
  at(x, y) {
    for (let k = this.boxes.length - 6; k >= 0; k -= 6) {
      const [left, top, w, h, number, merged] = this.boxes.slice(k, k + 6);
      if (y >= top && y < top + h + 1 && x >= left - 1 && x <= left + w + 1 && x >= this.left && y >= this.head)
        return {number, merged};
    }
    return null;
  }
  rowAt(y) {
    return this.rows.find(r => y >= this.y(r, 0) && y < this.y(r, 0) + r.height + r.gap);
  }
}
