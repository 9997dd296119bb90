/* Where the time of the selected steps goes: two bars (the selected rank, the median of the others), the fixed line of values,
 * and the table of the selection. Drawn by board.js. */
'use strict';

const Mix = {
  order: [1, 2, 4, 5, 6, 8, 10, 3, 7, 9, 11], /* categories of a bar from left to right */

  start() {
    const box = document.getElementById('selection');
    box.hidden = false;
    Mix.table = el('table');
    Mix.note = el('p', {class: 'n'});
    box.append(
        el('div', {class: 'scroll', role: 'region', tabindex: '0', 'aria-label': 'Table of the selection'}, Mix.table), Mix.note);
    box.addEventListener('toggle', () => Mix.drawTable());
    Mix.ranks = el('details', {id: 'band-ranks', hidden: true}, el('summary', {}, ''), el('div', {class: 'in'}));
    document.getElementById('line').append(Mix.ranks);
  },
  planes() {
    const list = Pod.categoryPlanes;
    return [...list].sort((a, b) => Mix.place(a.category) - Mix.place(b.category));
  },
  place(category) {
    const at = Mix.order.indexOf(category);
    return at < 0 ? Mix.order.length : at;
  },
  /* Parts of a step by a function that knows each plane's value: {name, id, ns, hatched}. Waiting is part of communication. */
  parts(value) {
    const list = [], known = Pod.plane.wait_ns ? value(Pod.plane.wait_ns) : null;
    let wait = isKnown(known) ? known : 0;
    for (const plane of Mix.planes()) {
      const id = plane.category, all = value(plane) || 0, isLink = COMMUNICATION.includes(id),
            part = isLink ? Math.min(wait, all) : 0;
      wait -= part;
      if (isLink && isKnown(known) && (id === 10 || part > 0))
        list.push({name: id === 10 ? 'waiting' : 'waiting in device collectives', id, ns: part, hatched: true});
      list.push({name: id === 10 && isKnown(known) ? 'transfer' : plane.name, id, ns: all - part});
    }
    return list;
  },
  /* Mean of the steps that rank w has, per plane; null where it has none. */
  mean(plane, w, from, to) {
    let sum = 0, n = 0;
    for (let s = from; s <= to; s++)
      if (Pod.has(plane, s, w)) {
        sum += Pod.at(plane, s, w);
        n++;
      }
    return n ? sum / n : null;
  },
  ofRank(w, from, to) {
    const has = Array.from({length: to - from + 1}, (unused, i) => i + from).some(s => Pod.present(s, w));
    return has ? Mix.parts(plane => Mix.mean(plane, w, from, to)) : [];
  },
  /* Of the ranks of a percentile, from what the file has of it per step. */
  ofBand(band, from, to) {
    return Mix.parts(plane => Mix.bandMean(plane.key, band, from, to));
  },
  bandMean(key, band, from, to) {
    const q = Pod.band && Pod.band.quantity.find(k => k.key === key);
    let sum = 0, n = 0;
    for (let s = from; q && s <= to; s++) {
      const v = q.q[band][Mix.bin(s * Pod.cell.stride)];
      if (isKnown(v)) {
        sum += v;
        n++;
      }
    }
    return n ? sum / n : null;
  },
  bin(step) {
    const {bins, first} = Pod.band;
    let b = Math.min(bins - 1, Math.floor(step * bins / Pod.step.n));
    while (b + 1 < bins && first[b + 1] <= step)
      b++;
    while (b > 0 && first[b] > step)
      b--;
    return b;
  },
  ofRow(row, from, to) {
    return row.band === undefined ? Mix.ofRank(row.worker, from, to) : Mix.ofBand(row.band, from, to);
  },
  /* Of each part the median of the other ranks. */
  ofOthers(from, to) {
    if (Board.isLarge())
      return Mix.ofBand(2, from, to);
    const all = Array.from({length: Pod.workers}, (unused, w) => w)
                    .filter(w => w !== Select.worker)
                    .map(w => Mix.ofRank(w, from, to))
                    .filter(list => list.length);
    return (all[0] || []).map(p => {
      const of = all.map(list => (list.find(k => k.name === p.name) || {ns: 0}).ns).sort((a, b) => a - b);
      return {...p, ns: of[(of.length - 1) >> 1]};
    });
  },

  draw() {
    const box = document.getElementById('mix');
    if (!Mix.ready())
      return;
    const {from, to, worker} = Select, own = Mix.ofRank(worker, from, to), others = Pod.workers > 1 ? Mix.ofOthers(from, to) : [],
                     sum = list => list.reduce((n, p) => n + p.ns, 0), most = Math.max(1, sum(own), sum(others));
    box.replaceChildren(...Mix.line(Pod.workerName(worker), own, most),
        ...Pod.workers > 1 ? Mix.line(Pod.workers === 2 ? 'other rank' : 'median of others', others, most) : []);
    Mix.drawTable();
    Mix.drawRanks();
  },
  /* Of large pods the planes are unpacked after the first view, one by one. */
  ready() {
    const planes = [...Pod.stack(), Pod.plane.transfer_ns];
    Mix.isHere = !Pod.waiting(planes).length || (Pod.printing && Pod.later(planes, () => {}));
    if (!Mix.isHere && !Mix.coming) {
      Mix.coming = true;
      requestAnimationFrame(() => setTimeout(() => Mix.fetch(planes).catch(App.failed)));
    }
    return Mix.isHere;
  },
  async fetch(planes) {
    for (const p of planes)
      await Pod.need([p]);
    Board.draw();
  },
  line(name, list, most) {
    const shown = list.filter(p => p.ns > 0), largest = [...shown].sort((a, b) => b.ns - a.ns)[0],
          words = shown.map(p => `${p.name} ${Format.time(p.ns)}`).join(', ') || 'not recorded';
    return [
      el('b', {}, name),
      el('div', {role: 'img', 'aria-label': `${name}, mean of ${Board.steps()}: ${words}`},
          shown.filter(p => p.ns > 0.002 * most).map(p => el('i', {
            class: p.hatched ? 'hatched' : null,
            title: `${p.name} ${Format.time(p.ns)}`,
            style: {width: 100 * p.ns / most + '%', backgroundColor: Pod.colour(p.id)}
          }))),
      el('span', {}, largest ? `${largest.name} ${Format.time(largest.ns)}` : 'not recorded')
    ];
  },
  /* Text on a category: white or dark, what is read better. */
  ink(colour) {
    const part = i => {
      const v = parseInt(colour.slice(i, i + 2), 16) / 255;
      return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    };
    const light = colour[0] === '#' ? 0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5) : 0.5;
    return 1.05 / (light + 0.05) >= (light + 0.05) / 0.0586 ? '#ffffff' : '#16191d';
  },

  /* One step of one rank in words: its time and what it is made of. */
  words(s, w) {
    if (!Pod.present(s, w))
      return Pod.worker.status[w].startsWith('missing') ? Pod.worker.status[w] : 'not recorded';
    const step = Format.time(Pod.at(Pod.plane.step_ns, s, w)), {plane} = Select;
    if (!Mix.isHere)
      return step;
    const total = Pod.at(Pod.plane.step_ns, s, w),
          list = Mix.ofRank(w, s, s).filter(p => p.ns >= 0.005 * total || p.name === 'waiting'),
          isPart = plane.category || ['step_ns', 'wait_ns', 'transfer_ns'].includes(plane.key),
          more =
              isPart ? '' : `; ${plane.name} ${Pod.has(plane, s, w) ? Format.by(plane.unit, Pod.at(plane, s, w)) : 'not recorded'}`;
    return `${step} = ${list.map(p => `${p.name} ${Format.time(p.ns)}`).join(' + ')}${more}`;
  },
  /* The selection as numbers: rows of the board, mean of the selected steps. */
  drawTable() {
    if (!document.getElementById('selection').open || !Mix.isHere)
      return;
    const {from, to} = Select, rows = Board.rows.map(r => Mix.ofRow(r, from, to)),
                 names = [...new Set(rows.flat().filter(p => p.ns > 0).map(p => p.name))];
    const step = r =>
              r.band === undefined ? Mix.mean(Pod.plane.step_ns, r.worker, from, to) : Mix.bandMean('step_ns', r.band, from, to),
          cell = v => el('td', {class: 'num', 'data-v': v ?? ''}, v === null || v === undefined ? '\u2013' : Format.time(v));
    Mix.table.replaceChildren(
        el('thead', {}, el('tr', {}, ['mean per step', 'step', ...names].map(n => el('th', {scope: 'col'}, n)))),
        el('tbody', {},
            Board.rows.map((r, i) => el('tr', {'aria-current': r.worker === Select.worker ? 'true' : null},
                               el('th', {scope: 'row'}, r.band === undefined ? Pod.workerName(r.worker) : r.name), cell(step(r)),
                               names.map(n => cell((rows[i].find(p => p.name === n) || {}).ns))))));
    Mix.note.textContent = Board.isLarge() ? 'Percentiles are of each column by itself.' : '';
  },

  /* Ranks nearest to a percentile, by host. */
  listBand(band) {
    Mix.band = band;
    Mix.ranks.hidden = false;
    Mix.ranks.open = true;
    Mix.drawRanks();
  },
  drawRanks() {
    const most = 24;
    if (Mix.band === undefined)
      return;
    const order = Board.byWork(), n = order.length, part = [0, 1, 3, 5, 7, 8].map(k => Math.round(n * k / 8)),
          list = order.slice(part[Mix.band], part[Mix.band + 1]), hosts = new Map();
    for (const w of list) {
      const host = Pod.worker.host[w] || '(no host)';
      hosts.set(host, [...hosts.get(host) || [], Pod.worker.rank[w]]);
    }
    const lines = [...hosts].sort((a, b) => b[1].length - a[1].length || a[0].localeCompare(b[0], 'en', {numeric: true}));
    const shown = lines.length > most ? `: the first ${most} of ${Format.count(lines.length)} hosts` : '';
    Mix.ranks.firstChild.textContent = `${Format.count(list.length)} ranks nearest to: ${Board.bands[Mix.band]}${shown}`;
    Mix.ranks.lastChild.replaceChildren(...lines.slice(0, most).map(
        ([host, ranks]) => el('p', {}, el('b', {}, host), ': ', Mix.ranges(ranks.sort((a, b) => a - b)))));
  },
  forgetBand() {
    Mix.band = undefined;
    Mix.ranks.hidden = true;
  },
  ranges(ranks) {
    const parts = [];
    ranks.forEach((r, i) => {
      if (i && r === ranks[i - 1] + 1)
        parts[parts.length - 1][1] = r;
      else
        parts.push([r, r]);
    });
    return parts.map(([a, b]) => a === b ? `${a}` : `${a}\u2013${b}`).join(', ');
  },
};
