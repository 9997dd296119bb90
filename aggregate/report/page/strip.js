/* The strip: one column per step, as long as its slowest rank took; its regime by shape and colour. Drawn by board.js, and for each
 * run of podprof diff by diff_board.js, which gives its own steps. */
'use strict';

const Strip = {
  head: 14,   /* of the chart, for the values of columns that are cut */
  reach: 3.2, /* usual steps: where the axis ends */

  /* Of several steps the one that a column shows: the longest. */
  shown(first, behind, {most_ns} = Board) {
    let best = first;
    for (let s = first + 1; s < behind; s++)
      if (most_ns[s] > most_ns[best])
        best = s;
    return best;
  },
  draw() {
    const box = document.getElementById('strip'), {c, width, height} = Board.canvas(box, Strip.label()), place = Board.place(width),
          usual = Board.usual(), most = Math.max(...Board.columns(place.wide).map(([a, b]) => Board.most_ns[Strip.shown(a, b)])),
          top = Math.max(1, Math.min(most, usual > 0 ? usual * Strip.reach : most) * 1.04), tall = height - Strip.head,
          y = v => height - tall * Math.min(v, top) / top;
    c.fillStyle = css('--tint');
    c.fillRect(place.x(Select.from), 0, place.x(Select.to + 1) - place.x(Select.from), height);
    const cut = Strip.bars(c, place, y, top, height);
    if (usual > 0)
      Strip.usual(c, place, y(usual), usual);
    Strip.change(c, place, height);
    Board.frame(c, place.x(Select.from), 0, place.x(Select.to + 1) - place.x(Select.from), height + 2);
    Strip.numbers(c, cut, place, height);
    Strip.legend();
  },
  label() {
    const counts = Strip.kinds().map(([, text]) => text).join(', ');
    return `Step time of ${Format.count(Pod.cell.steps)} steps, of the slowest rank. ${counts ? capital(counts) + '. ' : ''}` +
        `Selected: ${Board.steps()}. Arrow keys move the selection, with Shift they extend it.`;
  },
  /* Draws the columns; returns the values of those that are cut: [value, middle]. */
  bars(c, place, y, top, height, of = Board) {
    const columns = Board.columns(place.wide, of.most_ns.length), wide = place.wide / columns.length,
          bar = Math.max(1, wide > 4 ? wide - 2 : wide - 1),
          colour = Object.fromEntries(Object.keys(REGIME).map(k => [k, css(REGIME[k].colour)])), ground = css('--ground'),
          start = Board.hatch(c, colour.s), cut = [];
    columns.forEach(([first, behind], i) => {
      const v = of.most_ns[Strip.shown(first, behind, of)], x = place.left + wide * i + (wide - bar) / 2,
            kind = Board.rarest([...of.regime.slice(first, behind)].join(''));
      if (!(v >= 0))
        return;
      c.fillStyle = kind === 's' ? start : colour[kind];
      if (kind === 'p' && bar > 4.5) {
        c.strokeStyle = colour.p;
        c.lineWidth = 2;
        c.strokeRect(x + 1, y(v) + 1, bar - 2, height - y(v));
        c.lineWidth = 1;
      } else {
        c.fillRect(x, y(v), bar, height - y(v));
      }
      if (v > top) {
        c.fillStyle = ground;
        c.fillRect(x - 1, Strip.head + 8, bar + 2, 3);
        cut.push([v, x + bar / 2]);
      }
    });
    return cut;
  },
  usual(c, place, y, usual) {
    c.strokeStyle = css('--ink');
    c.setLineDash([3, 3]);
    c.beginPath();
    c.moveTo(place.left, Math.round(y) + 0.5);
    c.lineTo(place.left + place.wide, Math.round(y) + 0.5);
    c.stroke();
    c.setLineDash([]);
    c.fillStyle = css('--ink');
    c.textAlign = 'right';
    c.fillText(Board.isSmall() && !Board.isLarge() ? Format.time(usual).split(NB)[0] : Format.time(usual), place.left - 6, y);
  },
  change(c, place, height) {
    const at = Pod.answer.change, s = at === null || at === undefined ? -1 : Select.nearest(at);
    if (s > 0)
      Strip.changeAt(c, place, height, s, at);
  },
  changeAt(c, place, height, s, at) {
    const x = Math.round(place.x(s)) - 1, text = `change at step ${at}`, isLeft = x - place.left > c.measureText(text).width + 8;
    c.fillStyle = css('--ink');
    c.fillRect(x, 0, 1.5, height);
    c.textAlign = isLeft ? 'right' : 'left';
    c.fillText(text, x + (isLeft ? -6 : 8), 6);
    Strip.taken = isLeft ? [x - 6 - c.measureText(text).width, x] : [x, x + 8 + c.measureText(text).width];
  },
  /* Values above cut columns, as many as find room; of few steps their numbers. */
  numbers(c, cut, place, height) {
    Strip.values(c, cut);
    c.fillStyle = '#16191d';
    for (let s = 0; Board.isFew() && s < Pod.cell.steps; s++)
      c.fillText(String(Pod.stepShown[s]), (place.x(s) + place.x(s + 1)) / 2, height - 9);
  },
  values(c, cut) {
    const {taken} = Strip; /* by the word at a change */
    let free = 0;
    Strip.taken = null;
    c.textAlign = 'center';
    for (const [v, x] of cut) {
      const text = Format.time(v).split(NB)[0], half = c.measureText(text).width / 2 + 1;
      if (x - half < free || (taken && x + half > taken[0] && x - half < taken[1]))
        continue;
      free = x + half;
      c.fillStyle = css('--ground');
      c.fillRect(x - half, 0, 2 * half, 13);
      c.fillStyle = css('--ink');
      c.fillText(text, x, 7);
    }
  },
  /* [letter, text] of the regimes that occur. */
  kinds() {
    const letters = Pod.step.regime || '', {change, period} = Pod.answer, counts = {};
    for (const k of letters)
      counts[k] = (counts[k] || 0) + 1;
    if (Board.isFew())
      return [['u', `${Pod.cell.steps} step${Pod.cell.steps === 1 ? '' : 's'}: too few to tell usual from exceptional`]];
    const since = counts.b ? 'usual since: ' : 'usual ', every = period ? `every ${Format.count(period)} steps: ` : 'periodic ';
    return [
      ['s', 'start-up '], ['b', change || change === 0 ? `before step ${change}: ` : 'before the change '], ['u', since],
      ['p', every], ['o', 'one-off ']
    ].filter(([k]) => counts[k])
        .map(([k, text]) => [k, text + Format.count(counts[k])]);
  },
  /* A key of the legend. */
  key(k, text) {
    return el('span', {class: 'key'}, el('i', {
      class: {p: 'sw ring', s: 'sw hatched'}[k] || 'sw',
      style: {backgroundColor: `var(${REGIME[k].colour})`, borderColor: `var(${REGIME[k].colour})`}
    }),
        text);
  },
  legend() {
    document.getElementById('strip-bar').replaceChildren(el('b', {}, 'Step time'), ...Strip.kinds().map(([k,
      text]) => Strip.key(k, text)));
  },
};
